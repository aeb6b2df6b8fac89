#include "consumer/domain/domains.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/schedule/order.h"
#include "consumer/domain/partition_tail.h"
#include "consumer/domain/recipes.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	ASK_AGAIN_MS = 500,
	NAMED_MAX = 8, /* domains that a wait names; more are counted */
};

/* ---- memory ---- */

static void
close_facts(struct domains_facts *d)
{
	free(d->high);
	free(d->sequences);
	free(d->sealed);
	free(d->bytes);
}

void
domains_close(struct domains *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->n; i++)
		close_facts(&d->facts[i]);
	free(d->facts);
	free(d);
}

/* Appends a domain of which nothing is known yet. */
static enum fail_code
append(struct domains *d, const char *name, size_t partitions_n, bool live, struct failure *f)
{
	struct domains_facts *grown = realloc(d->facts, (d->n + 1) * sizeof(*grown)), *to;
	int known = config_domain_index(d->config, name);

	if (grown == NULL)
		return fail_memory(f);
	d->facts = grown;
	to = &grown[d->n];
	memset(to, 0, sizeof(*to));
	snprintf(to->name, sizeof(to->name), "%s", name);
	names_domain_topic(to->topic, d->config->corpus, name, SET_TRAIN);
	to->live = live;
	to->shuffle = known < 0 ? d->config->mix.shuffle : d->config->domains[known].shuffle;
	to->partitions_n = partitions_n;
	to->record_bytes = 1;
	to->high = calloc(partitions_n, sizeof(*to->high));
	to->sequences = calloc(partitions_n, sizeof(*to->sequences));
	to->sealed = calloc(partitions_n, sizeof(*to->sealed));
	to->bytes = calloc(partitions_n, sizeof(*to->bytes));
	if (live) { /* what is still to come counts: as large as a record may be */
		to->record_bytes_max = topic_plan_sequence_bytes(d->config, 3);
		to->record_bytes = to->record_bytes_max;
	}
	if (to->high == NULL || to->sequences == NULL || to->sealed == NULL || to->bytes == NULL) {
		close_facts(to);
		return fail_memory(f);
	}
	d->n++;
	return FAIL_NONE;
}

/* ---- what a last record says ---- */

static enum fail_code
check_tail(
    struct domains *d, const char *name, const struct partition_tail_at *at, struct failure *f)
{
	const struct config_tokenizer *t = &d->config->tokenizer;
	bool ours =
	    t->known && t->fingerprint == at->tail.tokenizer; /* then another is to change */

	if (at->tail.sequence_length != d->config->sequence_length)
		return fail(f, FAIL_CONFIG,
		    "topic %s has sequences of length %" PRIu32 ", the configuration says %" PRIu32
		    ": set sequence_length back, or make a second corpus and mix",
		    at->topic, at->tail.sequence_length, d->config->sequence_length);
	if (d->tokenizer == 0)
		d->tokenizer = at->tail.tokenizer;
	if (at->tail.tokenizer != d->tokenizer)
		return fail(f, FAIL_CONFIG,
		    "topic %s has tokenizer %016" PRIx64 ", the others have %016" PRIx64
		    "%s%s: one mix cannot hold two tokenizers. Publish one of them again with the "
		    "tokenizer of the other (`riffle %s %s --restart`), or leave its domain out",
		    at->topic, at->tail.tokenizer, d->tokenizer,
		    !t->known                        ? ""
		    : ours                           ? "; the former is that of "
		    : t->fingerprint == d->tokenizer ? "; the latter is that of "
						     : "; neither is that of ",
		    t->known ? t->file : "", config_publisher(d->config, name),
		    ours ? "DOMAIN" : name);
	return FAIL_NONE;
}

/* A partition's part in the sums of its domain is replaced. */
static void
take_tail(struct domains_facts *d, const struct partition_tail_at *at)
{
	const struct partition_tail *t = &at->tail;
	uint64_t sequences = t->sealed ? t->sealed_sequences : t->sequences, bytes = 0;
	size_t p = (size_t)at->partition;

	assert(p < d->partitions_n);
	d->changed = d->changed || d->sealed[p] != t->sealed || d->sequences[p] != sequences;
	d->high[p] = at->high;
	d->sealed[p] = t->sealed;
	d->sequences_total += sequences - d->sequences[p];
	d->sequences[p] = sequences;
	d->bytes[p] = t->record_bytes;
	if (t->record_bytes_max > d->record_bytes_max)
		d->record_bytes_max = t->record_bytes_max;
	for (size_t i = 0; i < d->partitions_n; i++)
		bytes += d->bytes[i];
	if (d->sequences_total > 0)
		d->record_bytes = bytes / d->sequences_total + 1;
}

/* ---- asking ---- */

static rd_kafka_topic_partition_list_t *
list_partitions(const struct domains *d, size_t first, bool live_only)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);

	for (size_t i = first; i < d->n; i++)
		for (size_t p = 0; p < d->facts[i].partitions_n; p++)
			if (d->facts[i].live || !live_only)
				rd_kafka_topic_partition_list_add(
				    list, d->facts[i].topic, (int32_t)p)
				    ->opaque = &d->facts[i];
	return list;
}

/*
 * Fills at[] and of[] with the partitions whose end differs from the one at which their last record
 * was read, and which hold something.
 */
static enum fail_code
find_moved(rd_kafka_t *reader, rd_kafka_topic_partition_list_t *list, struct partition_tail_at *at,
    struct domains_facts **of, size_t *n, struct failure *f)
{
	int64_t *low = calloc((size_t)list->cnt + 1, sizeof(*low));
	int64_t *high = calloc((size_t)list->cnt + 1, sizeof(*high));
	enum fail_code code = FAIL_NONE;

	*n = 0;
	if (low == NULL || high == NULL)
		code = fail_memory(f);
	else if (list->cnt > 0)
		code = kafka_watermarks_list(reader, list, low, high, ASK_TIMEOUT_MS, f);
	for (int i = 0; code == FAIL_NONE && i < list->cnt; i++) {
		struct domains_facts *d = list->elems[i].opaque;
		int32_t p = list->elems[i].partition;

		if (high[i] == d->high[p] || high[i] == low[i])
			continue;
		of[*n] = d;
		at[(*n)++] =
		    (struct partition_tail_at){.topic = d->topic, .partition = p, .high = high[i]};
	}
	free(low);
	free(high);
	return code;
}

static enum fail_code
take(struct domains *d, struct domains_facts *of, const struct partition_tail_at *at,
    struct failure *f)
{
	if (at->bad) {
		log_warning("mix: MIX-TAIL topic=%s partition=%d its last record: %s", at->topic,
		    (int)at->partition, at->reason);
		of->high[at->partition] = at->high; /* not read again: what follows may tell more */
	}
	if (!at->known) { /* deleted meanwhile, or the broker is slow: `high` makes it read again */
		of->unheard = of->unheard || !at->bad;
		return FAIL_NONE;
	}
	if (check_tail(d, of->name, at, f) != FAIL_NONE)
		return f->code;
	take_tail(of, at);
	return FAIL_NONE;
}

/* Asks about the domains from number `first` on. */
static enum fail_code
ask_from(struct domains *d, rd_kafka_t *reader, size_t first, bool live_only, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = list_partitions(d, first, live_only);
	struct partition_tail_at *at = calloc((size_t)list->cnt + 1, sizeof(*at));
	struct domains_facts **of = calloc((size_t)list->cnt + 1, sizeof(*of));
	enum fail_code code;
	size_t n = 0;

	for (size_t i = first; i < d->n; i++)
		d->facts[i].unheard = false;
	if (at == NULL || of == NULL)
		code = fail_memory(f);
	else
		code = find_moved(reader, list, at, of, &n, f);
	if (code == FAIL_NONE && n > 0)
		code = partition_tail_read_many(
		    reader, at, n, PARTITION_TAIL_MANY_MAX, ASK_TIMEOUT_MS, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		code = take(d, of[i], &at[i], f);
	free(at);
	free(of);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

enum fail_code
domains_ask(struct domains *d, rd_kafka_t *reader, bool live_only, struct failure *f)
{
	return ask_from(d, reader, 0, live_only, f);
}

/* The first partition that must be sealed and is not; NULL: there is none. */
static const struct domains_facts *
unsealed(const struct domains *d, size_t first, size_t *partition)
{
	for (size_t i = first; i < d->n; i++)
		for (size_t p = 0; p < d->facts[i].partitions_n; p++)
			if (!d->facts[i].live && !d->facts[i].sealed[p]) {
				*partition = p;
				return &d->facts[i];
			}
	return NULL;
}

/* ---- at the start ---- */

/* Partitions of a domain that have no End. */
static size_t
count_open(const struct domains_facts *d)
{
	size_t n = 0;

	for (size_t p = 0; p < d->partitions_n; p++)
		n += !d->sealed[p];
	return n;
}

/* Sequences that a mix has counted with; 0: it does not know the domain. */
static uint64_t
count_in_ledger(const struct ledger *l, const char *name)
{
	const struct ledger_domain *d = ledger_domain_named(l, name);

	return d == NULL ? 0 : ledger_domain_sequences(d);
}

/*
 * Whether the log is gone that the ledger counts with. A log whose end cannot be read, or did not
 * come in time, may still hold all.
 */
static bool
is_gone(const struct domains_facts *d, uint64_t counted)
{
	int64_t offsets = 0;

	for (size_t p = 0; p < d->partitions_n; p++)
		offsets += d->high[p];
	return !d->unheard && counted > d->sequences_total && counted > (uint64_t)offsets;
}

/* One domain that is waited for. *lost: the ledger counts more of it than its topic holds. */
static void
add_open(struct text *t, const struct domains_facts *d, const struct ledger *last, bool *lost)
{
	uint64_t counted = count_in_ledger(last, d->name);

	text_add(t, "domain=%s (%zu of %zu partitions have no End", d->name, count_open(d),
	    d->partitions_n);
	if (is_gone(d, counted)) {
		text_add(t,
		    "; topic %s holds %" PRIu64 " sequences, and the mix counts with %" PRIu64,
		    d->topic, d->sequences_total, counted);
		*lost = true;
	}
	text_add(t, ")");
}

/* The domains that one command publishes: named, unless there are too many. */
static void
add_command(struct text *t, const struct domains *d, const char *command, bool named, size_t *n)
{
	size_t of = 0;

	for (size_t i = 0; i < d->n; i++) {
		const struct domains_facts *at = &d->facts[i];

		if (at->live || count_open(at) == 0 ||
		    strcmp(config_publisher(d->config, at->name), command) != 0)
			continue;
		if (of++ == 0)
			text_add(t, "%s`riffle %s", (*n)++ == 0 ? "" : " and ", command);
		if (named)
			text_add(t, " %s", at->name);
	}
	text_add(t, of == 0 ? "" : "`");
}

char *
domains_missing(const struct domains *d, const struct ledger *last)
{
	struct text t = {0};
	size_t n = 0, commands = 0;
	bool lost = false;

	for (size_t i = 0; i < d->n; i++) {
		if (d->facts[i].live || count_open(&d->facts[i]) == 0)
			continue;
		if (n < NAMED_MAX) {
			text_add(&t, n == 0 ? "" : ", ");
			add_open(&t, &d->facts[i], last, &lost);
		}
		n++;
	}
	if (n == 0)
		text_add(&t,
		    "the first sequence of any domain of corpus=%s, which names the tokenizer: "
		    "`riffle produce` writes it",
		    d->config->corpus);
	if (n == 0)
		return text_take(&t);
	if (n > NAMED_MAX)
		text_add(&t, " and %zu more", n - NAMED_MAX);
	text_add(&t, ": ");
	add_command(&t, d, "produce", n <= NAMED_MAX, &commands);
	add_command(&t, d, "import", n <= NAMED_MAX, &commands);
	text_add(&t, commands > 1 ? " publish them" : n > 1 ? " publishes them" : " publishes it");
	if (lost)
		text_add(&t,
		    ". A log is gone that the mix has counted with: publish its domain from the "
		    "same files and with the same keys, because the mix continues only with equal "
		    "sequences");
	return text_take(&t);
}

static void
log_wait(const struct domains *d, const struct ledger *last)
{
	char *missing = domains_missing(d, last);

	if (missing != NULL)
		log_warning("mix: MIX-UNSEALED waiting for %s", missing);
	free(missing);
}

static enum fail_code
wait_sealed(struct domains *d, rd_kafka_t *reader, const struct ledger *last,
    domains_stopped *stopped, void *opaque, struct failure *f)
{
	struct log_reminder reminder = {0};

	for (;;) {
		size_t partition = 0;
		const struct domains_facts *open;

		if (ask_from(d, reader, 0, false, f) != FAIL_NONE)
			return f->code;
		open = unsealed(d, 0, &partition);
		if (open == NULL && d->tokenizer != 0)
			return FAIL_NONE;
		if (stopped == NULL || stopped(opaque))
			return fail(f, FAIL_STOPPED, "stopped while waiting for domain %s",
			    open == NULL ? "topics" : open->name);
		if (log_reminder_due(&reminder, clock_ms(), 0))
			log_wait(d, last);
		clock_pause_ms(ASK_AGAIN_MS);
	}
}

enum fail_code
domains_fail_changed(
    const struct config *c, const char *name, const char *kind, bool drawn, struct failure *f)
{
	fail(f, FAIL_CONFIG, "domain %s was published with another configuration: %s; set it back",
	    name, kind);
	if (!drawn)
		fail_more(f, ", or, if no mix draws from it yet, run `riffle %s %s --restart`",
		    config_publisher(c, name), name);
	return f->code;
}

/*
 * Whoever reads the configuration takes it for what the mix is made of. Sources may differ where an
 * append is still to come.
 */
static enum fail_code
check_recipes(
    const struct config *c, rd_kafka_t *reader, const struct ledger *last, struct failure *f)
{
	struct recipe_differences *differs = calloc(c->domains_n + 1, sizeof(*differs));
	enum fail_code code;

	if (differs == NULL)
		return fail_memory(f);
	code = recipes_ask(differs, reader, c, NULL, ASK_TIMEOUT_MS, f);
	for (size_t i = 0; code == FAIL_NONE && i < c->domains_n; i++) {
		const char *name = c->domains[i].name;

		if (differs[i].kind[0] != '\0')
			code = domains_fail_changed(
			    c, name, differs[i].kind, count_in_ledger(last, name) > 0, f);
		else if (differs[i].source[0] != '\0')
			log_warning("mix: MIX-SOURCE domain=%s was published from another source: "
				    "%s; the mix has what is in the log",
			    name, differs[i].source);
	}
	free(differs);
	return code;
}

enum fail_code
domains_open(struct domains **out, rd_kafka_t *reader, const struct config *c,
    const struct ledger *last, domains_stopped *stopped, void *opaque, struct failure *f)
{
	struct domains *d = calloc(1, sizeof(*d));

	if (d == NULL)
		return fail_memory(f);
	d->config = c;
	for (size_t i = 0; i < c->domains_n; i++)
		if (append(d, c->domains[i].name, c->domains[i].partitions, c->domains[i].live,
			f) != FAIL_NONE)
			goto failed;
	if (wait_sealed(d, reader, last, stopped, opaque, f) != FAIL_NONE ||
	    check_recipes(c, reader, last, f) != FAIL_NONE)
		goto failed;
	*out = d;
	return FAIL_NONE;
failed:
	domains_close(d);
	return f->code;
}

/* ---- while the mix runs ---- */

/* The domain that was added last. */
static enum fail_code
check_sealed(const struct domains *d, struct failure *f)
{
	size_t partition;
	const struct domains_facts *open = unsealed(d, d->n - 1, &partition);

	if (open == NULL)
		return FAIL_NONE;
	if (open->unheard)
		return fail(f, FAIL_TIMEOUT,
		    "domain %s: the last record of topic %s did not come within %d s", open->name,
		    open->topic, ASK_TIMEOUT_MS / 1000);
	return fail(f, FAIL_CONFIG,
	    "domain %s is not sealed: partition %zu of topic %s has no End yet; `riffle %s %s` "
	    "writes it",
	    open->name, partition, open->topic, config_publisher(d->config, open->name),
	    open->name);
}

void
domains_drop_last(struct domains *d)
{
	assert(d->n > 0);
	close_facts(&d->facts[--d->n]);
}

enum fail_code
domains_fail_missing(const struct config *c, rd_kafka_t *rk, const char *name, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];

	names_domain_topic(topic, c->corpus, name, SET_TRAIN);
	kafka_fail_missing(f, rk, topic);
	fail_more(f, ", `riffle %s %s` fills it", config_publisher(c, name), name);
	if (config_domain_index(c, name) < 0)
		fail_more(f, ", once the configuration has domains.%s", name);
	return fail_within(f, "domain %s", name);
}

enum fail_code
domains_add(struct domains *d, rd_kafka_t *reader, const char *name, bool live, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int partitions;

	if (!names_valid(name))
		return fail(f, FAIL_CONFIG, "'%s' is not a name of a domain", name);
	names_domain_topic(topic, d->config->corpus, name, SET_TRAIN);
	if (kafka_partitions(reader, topic, &partitions, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return domains_fail_missing(d->config, reader, name, f);
	if (partitions > ORDER_PARTITIONS_MAX)
		return fail(f, FAIL_CONFIG,
		    "domain %s: topic %s has %d partitions; a domain has at most %d", name, topic,
		    partitions, ORDER_PARTITIONS_MAX);
	if (append(d, name, (size_t)partitions, live, f) != FAIL_NONE)
		return f->code;
	if (ask_from(d, reader, d->n - 1, false, f) == FAIL_NONE && check_sealed(d, f) == FAIL_NONE)
		return FAIL_NONE;
	domains_drop_last(d);
	return f->code;
}
