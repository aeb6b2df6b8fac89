#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "common/record/control.h"
#include "common/record/ledger.h"
#include "common/record/schema.h"
#include "tests/sim/inbox.h"
#include "tests/sim/world_kinds.h"

enum {
	ASK_MS = 10000,
	TEXT_MAX = 4096,
	DOCUMENTS_MAX = 64,
	BYTES = 256,
	LIVE_GIVEN = 3,      /* records of a live log that are there from the start */
	ORDER_STEPS = 2000,  /* draws that the order of all domains is taken from */
	EVERYTHING = 1 << 20 /* bytes of a transaction: more than any mix has */
};

static const char given[] = "given";

static void
give_up(const char *what, const struct failure *f)
{
	fprintf(stderr, "sim: %s: %s\n", what, f == NULL ? "it failed" : f->text);
	exit(1);
}

/* ---- files ---- */

static void
write_file(const char *folder, const char *name, const char *text, size_t n)
{
	char path[TEXT_MAX];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	to = fopen(path, "wb");
	if (to == NULL || fwrite(text, 1, n, to) != n || fclose(to) != 0)
		give_up(path, NULL);
}

/* A vocabulary of the 256 bytes; base64 of one byte is two digits (RFC 4648, section 4). */
static void
write_vocabulary(const char *folder)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[BYTES * 16];
	size_t n = 0;

	for (unsigned i = 0; i < BYTES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%c== %u\n", digits[i >> 2],
		    digits[(i & 3) << 4], i);
	write_file(folder, "bytes.tiktoken", text, n);
}

static void
write_documents(const char *folder, const char *name, unsigned documents)
{
	char text[DOCUMENTS_MAX * 80];
	size_t n = 0;

	for (unsigned i = 0; i < documents; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "{\"text\":\"%s: document %u%.*s\"}\n", name, i, (int)(i * 7 % 23),
		    " and what else it says");
	write_file(folder, name, text, n);
}

/* Documents of two kinds, in turns, for one input of several domains. */
static void
write_dealt(const char *folder, const char *name, unsigned documents)
{
	char text[DOCUMENTS_MAX * 80];
	size_t n = 0;

	for (unsigned i = 0; i < documents; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "{\"from\":\"%s\",\"text\":\"document %u%.*s\"}\n", i % 3 == 0 ? "y" : "x", i,
		    (int)(i * 5 % 23), " and what else it says");
	write_file(folder, name, text, n);
}

static struct config *
read_config(const char *folder, const char *text, int n)
{
	char path[TEXT_MAX];
	struct config *c;
	struct failure f;

	if (n < 0 || n >= TEXT_MAX)
		give_up("a configuration is too long", NULL);
	write_file(folder, "run.yml", text, (size_t)n);
	snprintf(path, sizeof(path), "%s/run.yml", folder);
	if (config_open(&c, path, &f) != FAIL_NONE)
		give_up("the configuration", &f);
	return c;
}

#define CORPUS                                                                                     \
	"corpus: c\n"                                                                              \
	"tokenizer: {file: bytes.tiktoken, pattern: gpt2, eos: \"~\"}\n"                           \
	"sequence_length: 8\n"                                                                     \
	"%s"                                                                                       \
	"domains:\n%s"

static const char *
corpus_of(const struct world_kind *k)
{
	return k->corpus == NULL ? "" : k->corpus;
}

static struct config *
make_config(const char *folder, const struct world_kind *k, uint32_t partitions,
    const char *weights, uint32_t lead)
{
	char text[TEXT_MAX], shared[64] = "";
	int n;

	if (partitions == 0)
		snprintf(shared, sizeof(shared), "  batches: derived\n");
	else if (partitions < k->lanes)
		snprintf(shared, sizeof(shared), "  partitions: %" PRIu32 "\n", partitions);
	n = snprintf(text, sizeof(text),
	    CORPUS "mix:\n"
		   "  name: m\n"
		   "  seed: 7\n"
		   "  global_batch: 8\n"
		   "  lanes: %" PRIu32 "\n"
		   "  max_lead_steps: %" PRIu32 "\n"
		   "  transaction_bytes: 1\n"
		   "  weights: %s\n%s%s",
	    corpus_of(k), k->domains, k->lanes, lead, weights, shared,
	    k->more == NULL ? "" : k->more);

	return read_config(folder, text, n);
}

static struct config *
make_producing(const char *folder, const struct world_kind *k)
{
	char text[TEXT_MAX];
	int n = snprintf(text, sizeof(text), CORPUS, corpus_of(k),
	    k->producing == NULL ? k->domains : k->producing);

	return read_config(folder, text, n);
}

/* One sequence a step, of all domains in turns: as producers see them, none of them is live. */
static struct config *
make_ordering(const char *folder, const struct world_kind *k)
{
	char text[TEXT_MAX];
	int n = snprintf(text, sizeof(text),
	    CORPUS "mix:\n"
		   "  name: o\n"
		   "  seed: 7\n"
		   "  global_batch: 1\n"
		   "  lanes: 1\n"
		   "  max_lead_steps: 0\n"
		   "  transaction_bytes: %d\n"
		   "  transaction_ms: 30000\n"
		   "  weights: uniform\n",
	    corpus_of(k), k->producing == NULL ? k->domains : k->producing, EVERYTHING);

	return read_config(folder, text, n);
}

/* By a name that is relative: each worker's files arrive in a folder of its own. */
static struct config *
make_inbox(const char *folder, const char *domains)
{
	char text[TEXT_MAX];
	struct config *c;
	int n = snprintf(text, sizeof(text),
	    "corpus: c\n"
	    "tokenizer: {file: %s/bytes.tiktoken, pattern: gpt2, eos: \"~\"}\n"
	    "sequence_length: 8\n"
	    "domains:\n%s",
	    folder, domains);

	c = read_config(folder, text, n);
	free(c->path);
	c->path = strdup("run.yml");
	return c;
}

/* ---- topics and logs ---- */

/* As `riffle topics --create` makes them. */
static void
make_topics(const struct config *c)
{
	struct topic_setting wanted[TOPIC_SETTINGS];
	struct topic_plan *plan;
	struct failure f = {0};

	if (topic_plan_open(&plan, c, &f) != FAIL_NONE)
		give_up("topics", &f);
	for (size_t i = 0; i < plan->n; i++) {
		struct cluster_topic *t = cluster_topic(plan->topic[i].name);

		if (t != NULL)
			continue;
		t = cluster_make_topic(plan->topic[i].name, plan->topic[i].partitions);
		topic_plan_settings(wanted, c, &plan->topic[i]);
		for (size_t k = 0; k < TOPIC_SETTINGS; k++) {
			struct cluster_setting *s = &t->setting[t->settings_n++];

			snprintf(s->name, sizeof(s->name), "%s", wanted[k].name);
			snprintf(s->value, sizeof(s->value), "%s", wanted[k].value);
		}
	}
	topic_plan_close(plan);
	if (c->mix.batches == MIX_BATCHES_DERIVED && cluster_topic(given) == NULL)
		cluster_make_topic(given, (int32_t)c->mix.lanes);
}

static struct world_bytes
copy(const struct cluster_record *r)
{
	struct world_bytes b = {malloc(r->n + 1), r->n};

	if (b.bytes == NULL)
		abort();
	memcpy(b.bytes, r->bytes, r->n);
	return b;
}

static void
must(size_t actor, const char *what)
{
	const struct world_outcome *o = &world_told()->outcome[actor];
	struct failure f = {.code = o->code};

	snprintf(f.text, sizeof(f.text), "%s", o->text);
	if (!o->done || o->code != FAIL_NONE)
		give_up(what, &f);
}

static void
keep_log(struct world_log *l)
{
	const struct cluster_partition *p = cluster_partition(l->topic, l->partition);

	if (p->end > WORLD_RECORDS_MAX)
		give_up("too many records in a domain", NULL);
	l->records_n = (size_t)p->end;
	for (size_t k = 0; k < l->records_n; k++)
		l->record[k] = copy(&p->record[k]);
}

static void
fill(struct world *w)
{
	for (size_t i = 0; i < w->parts_n; i++) {
		actor_produce(w, WORLD_PRODUCER_FIRST + i);
		must(WORLD_PRODUCER_FIRST + i, "producing without faults");
	}
	for (size_t i = 0; i < w->logs_n; i++)
		keep_log(&w->log[i]);
}

int64_t
world_log_length(const struct world_log *l)
{
	return (int64_t)l->records_n - (l->live ? 1 : 0);
}

/* What has not come yet stands behind the end, where nobody sees it. */
bool
world_arrive(const struct world_log *l)
{
	struct cluster_partition *p = cluster_partition(l->topic, l->partition);

	if (!l->live || p->end >= world_log_length(l))
		return false;
	p->end++;
	return true;
}

static void
hold_back(const struct world *w, int64_t records)
{
	for (size_t i = 0; i < w->logs_n; i++) {
		struct cluster_partition *p =
		    cluster_partition(w->log[i].topic, w->log[i].partition);
		int64_t length = world_log_length(&w->log[i]);

		if (w->log[i].live)
			p->end = records < length ? records : length;
	}
}

/* A record whose frame is not what its hash says: its last byte is the frame's. */
static void
damage(struct cluster_partition *p, int64_t offset)
{
	struct cluster_record *r = &p->record[offset];
	uint8_t *bytes = cluster_allocate(r->n);

	memcpy(bytes, r->bytes, r->n);
	bytes[r->n - 1] ^= 0x55;
	r->bytes = bytes;
}

/* The n records before `offset` once more, as after a producer's crash. */
static void
repeat(struct cluster_partition *p, int64_t offset, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		cluster_append(p);
	memmove(&p->record[offset + n], &p->record[offset],
	    (size_t)(p->end - n - offset) * sizeof(*p->record));
	memcpy(&p->record[offset], &p->record[offset - n], (size_t)n * sizeof(*p->record));
}

void
world_request(const struct control *c)
{
	struct cluster_partition *p = cluster_partition("m.control", 0);
	struct cluster_record *r;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	if (control_encode(c, &bytes, &n, &f) != FAIL_NONE)
		give_up("a request", &f);
	r = cluster_append(p);
	r->bytes = cluster_allocate(n);
	memcpy(r->bytes, bytes, n);
	r->n = n;
	free(bytes);
}

/* ---- lanes ---- */

bool
world_derived(const struct world *w)
{
	return w->partitions == 0;
}

/* By their definition (record/lane_map.h), and not by the code that is tested. */
struct cluster_partition *
world_lane(const struct world *w, uint32_t lane)
{
	if (world_derived(w))
		return cluster_partition(given, (int32_t)lane);
	return cluster_partition("m.batches", (int32_t)(lane * w->partitions / w->lanes));
}

bool
world_in_lane(const struct world *w, uint32_t lane, const struct cluster_record *r)
{
	const uint8_t key[] = {
	    (uint8_t)(lane >> 24), (uint8_t)(lane >> 16), (uint8_t)(lane >> 8), (uint8_t)lane};

	if (w->partitions == w->lanes || world_derived(w))
		return true;
	return r->key != NULL && r->key_n == sizeof(key) && memcmp(r->key, key, sizeof(key)) == 0;
}

const char *
world_commits(const struct world *w)
{
	return w->partitions < w->lanes ? "m.lanes" : "m.batches";
}

/* ---- the unfaulted run ---- */

static void
keep_batches(struct world *w)
{
	for (uint32_t lane = 0; lane < w->lanes; lane++) {
		const struct cluster_partition *p = world_lane(w, lane);
		size_t n = 0;

		for (int64_t i = 0; i < p->end; i++)
			if (p->record[i].fate == CLUSTER_COMMITTED &&
			    world_in_lane(w, lane, &p->record[i]) && n < WORLD_STEPS_MAX)
				w->batch[lane][n++] = copy(&p->record[i]);
		w->steps_n = n;
	}
}

/*
 * The same steps as those of the mix with copies, but for the hash of the schedule, which stands
 * behind the record's kind and the mix's name, and says that there are none.
 */
static void
take_batches(struct world *w, const struct world *copied)
{
	enum { SCHEDULE_AT = SCHEMA_ENVELOPE_BYTES + 2 };
	struct cluster_partition *ledger = cluster_partition("m.ledger", 0);
	struct ledger l = {0};
	struct failure f;
	int64_t last = ledger->end;

	while (last > 0 && ledger->record[last - 1].fate != CLUSTER_COMMITTED)
		last--;
	if (last == 0 || ledger_decode(&l, ledger->record[last - 1].bytes,
			     ledger->record[last - 1].n, &f) != FAIL_NONE)
		give_up("the ledger", NULL);
	if (l.kind != LEDGER_END || l.step_next != (int64_t)copied->steps_n - 1)
		give_up("without copies the mix has another number of steps", NULL);
	w->steps_n = copied->steps_n;
	for (uint32_t lane = 0; lane < w->lanes; lane++)
		for (size_t i = 0; i < w->steps_n; i++) {
			const struct world_bytes *from = &copied->batch[lane][i];
			struct world_bytes *to = &w->batch[lane][i];

			*to = (struct world_bytes){malloc(from->n), from->n};
			if (to->bytes == NULL)
				abort();
			memcpy(to->bytes, from->bytes, from->n);
			for (unsigned k = 0; k < sizeof(l.schedule); k++)
				to->bytes[SCHEDULE_AT + k] = (uint8_t)(l.schedule >> 8 * k);
		}
	ledger_clear(&l);
}

const struct world_state *
world_state(const struct world *w, int64_t step_next, int64_t control_next)
{
	for (size_t i = 0; i < w->states_n; i++)
		if (w->state[i].step_next == step_next && w->state[i].control_next == control_next)
			return &w->state[i];
	return NULL;
}

bool
world_add_answers(char text[static WORLD_ANSWERS_MAX], const struct ledger *l)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < l->answers_n && n < WORLD_ANSWERS_MAX; i++)
		n += (size_t)snprintf(text + n, WORLD_ANSWERS_MAX - n, "%s %s at %" PRId64 " %s\n",
		    l->answer[i].id, l->answer[i].accepted ? "accepted" : "refused",
		    l->answer[i].step, l->answer[i].text == NULL ? "" : l->answer[i].text);
	return n < WORLD_ANSWERS_MAX;
}

static void
keep_state(struct world *w, const struct ledger *l, const struct cluster_record *r)
{
	const struct world_state *known = world_state(w, l->step_next, l->control_next);
	struct world_state *s = &w->state[known == NULL ? w->states_n : (size_t)(known - w->state)];

	if (s == &w->state[WORLD_STATES_MAX] || !world_add_answers(w->answers, l))
		give_up("too many states or answers", NULL);
	w->states_n += known == NULL;
	w->answers_n += l->answers_n;
	free(s->ledger.bytes);
	*s = (struct world_state){l->step_next, l->control_next, copy(r)};
}

static void
keep_ledger(struct world *w)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);

	for (int64_t i = 0; i < p->end; i++) {
		struct ledger l = {0};
		struct failure f;

		if (p->record[i].fate != CLUSTER_COMMITTED)
			continue;
		if (ledger_decode(&l, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE)
			give_up("the ledger", &f);
		keep_state(w, &l, &p->record[i]);
		w->text = w->text == NULL ? strdup(l.config) : w->text;
		ledger_clear(&l);
	}
}

static void
keep_taken(struct world *w)
{
	const struct cluster_partition *rejects = cluster_partition("c.rejects", 0);

	for (size_t i = 0; i < w->logs_n; i++) {
		const struct cluster_commit *c =
		    cluster_commit("m.mixer", w->log[i].topic, w->log[i].partition);

		w->taken[i] = c == NULL ? -1 : c->offset;
	}
	for (int64_t i = 0; i < rejects->end; i++)
		w->rejects_n += rejects->record[i].fate == CLUSTER_COMMITTED;
}

static void
mix_until(struct world *w, uint64_t step)
{
	actor_mix(w, 0, step);
	must(0, "mixing without faults");
	chance_wait(ASK_MS); /* markers */
}

/* Trainers that would hold the mixer back are all at the end. */
static void
run_unfaulted(struct world *w, const struct world *copied)
{
	struct cluster_partition *control = cluster_partition("m.control", 0);
	int64_t asked = control->end;
	const char *bad;

	for (uint32_t i = 0; i < w->lanes; i++) {
		struct cluster_commit c = {.group = "m.trainers",
		    .partition = (int32_t)i,
		    .metadata = cluster_copy_text("step=1000000")};

		snprintf(c.topic, sizeof(c.topic), "%s", world_commits(w));
		cluster_commit_set(&c);
	}
	/* Requests one by one, before the first step: all states that lie between them. */
	for (control->end = 0; control->end < asked; control->end++)
		mix_until(w, 0);
	mix_until(w, UINT64_MAX);
	if (world_derived(w))
		take_batches(w, copied);
	else
		keep_batches(w);
	keep_ledger(w);
	if (w->answers_n != (size_t)asked) {
		struct failure f;

		fail(&f, FAIL_DATA, "%" PRId64 " requests, answers: \"%s\"", asked, w->answers);
		give_up("mixing without faults", &f);
	}
	keep_taken(w);
	bad = w->free ? NULL : world_check_orders(w); /* of the others the checker does it */
	if (bad != NULL) {
		struct failure f;

		fail(&f, FAIL_DATA, "%s", bad);
		give_up(w->name, &f);
	}
}

struct world_told *
world_told(void)
{
	return cluster->world;
}

/* ---- the order of every domain's draws ---- */

static struct world_order *
order_of(struct world *w, const struct config *c, uint32_t domain)
{
	for (size_t i = 0; i < w->orders_n; i++)
		if (strcmp(w->order[i].domain, c->domains[domain].name) == 0)
			return &w->order[i];
	w->order[w->orders_n].domain = strdup(c->domains[domain].name);
	return &w->order[w->orders_n++];
}

static void
keep_draws(struct world *w, const struct config *c)
{
	const struct cluster_partition *p = cluster_partition("o.batches", 0);

	for (int64_t i = 0; i < p->end; i++) {
		struct sequence_payload_view payload;
		struct batch_drawn drawn;
		struct batch_view view;
		struct world_order *o;
		struct failure f;

		if (p->record[i].fate != CLUSTER_COMMITTED)
			continue;
		if (batch_decode(&view, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE ||
		    view.sequences_n != 1 || batch_next(&view, &drawn, &payload, &f) != FAIL_NONE)
			give_up("the order of draws", &f);
		o = order_of(w, c, drawn.domain);
		if (o->n < WORLD_RECORDS_MAX)
			o->draw[o->n++] = drawn;
	}
}

/* A mix of its own in the same topics, which are restored then. */
static void
keep_orders(struct world *w, const struct world_kind *k, const char *where)
{
	struct config *c = make_ordering(where, k), *mine = w->config;
	size_t n;
	void *before = cluster_save(&n);

	for (size_t i = 0; i < c->domains_n; i++)
		c->domains[i].on_end = MIX_END_REPEAT;
	for (size_t i = 0; i < w->logs_n; i++) /* with its End: none of them is live here */
		if (w->log[i].live)
			cluster_partition(w->log[i].topic, w->log[i].partition)->end =
			    (int64_t)w->log[i].records_n;
	make_topics(c);
	w->config = c;
	mix_until(w, ORDER_STEPS);
	keep_draws(w, c);
	w->config = mine;
	config_close(c);
	cluster_restore(before, n);
	free(before);
}

/* ---- a world ---- */

static void
add_log(struct world *w, struct world_part *s, size_t domain)
{
	const struct config_domain *d = &w->producing->domains[domain];
	struct world_log *l = &w->log[w->logs_n];

	if (w->logs_n == WORLD_LOGS_MAX)
		give_up("too many partitions of domains", NULL);
	l->domain = d->name;
	l->partition = (int32_t)s->partition;
	names_domain_topic(l->topic, "c", d->name, SET_TRAIN);
	for (size_t i = 0; i < w->config->domains_n; i++)
		if (strcmp(w->config->domains[i].name, d->name) == 0)
			l->live = w->config->domains[i].live;
	w->live = w->live || l->live;
	s->domain[s->domains_n] = domain;
	s->log[s->domains_n++] = w->logs_n++;
}

/* A part of each partition of each input; domains with `where` share the one that they name. */
static void
make_parts(struct world *w)
{
	const struct config *c = w->producing;

	for (size_t d = 0; d < c->domains_n; d++) {
		if (d > 0 && c->domains[d].where_field != NULL &&
		    c->domains[d - 1].where_field != NULL) {
			add_log(w, &w->part[w->parts_n - 1], d);
			continue;
		}
		for (uint32_t k = 0; k < c->domains[d].partitions; k++) {
			struct world_part *s = &w->part[w->parts_n++];

			if (w->parts_n > WORLD_PRODUCERS)
				give_up("too many producers", NULL);
			s->partition = k;
			s->partitions = c->domains[d].partitions;
			add_log(w, s, d);
		}
	}
}

const char *const world_feature_names[WORLD_FEATURES] = {
    [FEATURE_SKIP] = "skip",
    [FEATURE_QUARANTINE] = "quarantine",
    [FEATURE_PHASES] = "phases",
    [FEATURE_ROUNDS] = "rounds",
    [FEATURE_BATCH] = "batch",
    [FEATURE_LENDING] = "lending",
    [FEATURE_JOIN_LEAVE] = "join-leave",
    [FEATURE_RUNS] = "runs",
    [FEATURE_UNEVEN] = "uneven",
    [FEATURE_DERIVED] = "derived",
    [FEATURE_RETAIN] = "retain",
    [FEATURE_REPAIR] = "repair",
    [FEATURE_SPLIT_TOKENS] = "split-tokens",
    [FEATURE_LEAD] = "lead",
};

static uint32_t
features_of(const struct control *asked, size_t n)
{
	uint32_t features = 0;

	for (size_t i = 0; i < n; i++)
		features |=
		    (uint32_t)(asked[i].kind == LEDGER_SKIP) << FEATURE_SKIP |
		    (uint32_t)(asked[i].global_batch > 0) << FEATURE_BATCH |
		    (uint32_t)(asked[i].kind == LEDGER_JOIN || asked[i].kind == LEDGER_LEAVE)
			<< FEATURE_JOIN_LEAVE;
	return features;
}

static void
note_features(struct world *w, const struct world_kind *k)
{
	w->features_late = features_of(k->late, k->late_n);
	w->features = features_of(k->asked, k->asked_n) | (uint32_t)k->bad << FEATURE_QUARANTINE |
		      (uint32_t)(w->config->mix.phases_n > 0) << FEATURE_PHASES |
		      (uint32_t)(w->config->mix.epoch_size > 0) << FEATURE_ROUNDS |
		      (uint32_t)k->lends << FEATURE_LENDING |
		      (uint32_t)w->uneven << FEATURE_UNEVEN |
		      (uint32_t)world_derived(w) << FEATURE_DERIVED |
		      (uint32_t)(k->corpus != NULL) << FEATURE_SPLIT_TOKENS;
}

uint32_t
world_first_lane(const struct world *w, uint32_t rank, uint32_t ranks, uint32_t *n)
{
	uint32_t each = w->lanes / ranks, more = w->lanes % ranks;

	*n = each + (rank < more);
	return rank * each + (rank < more ? rank : more);
}

/*
 * In a cluster that holds nothing yet. Where there are no partitions of batches `copied` is the
 * world with copies.
 */
static void
open_world(struct world *w, const struct world_kind *k, uint32_t partitions,
    const struct world *copied, const char *where)
{
	w->name = k->name;
	w->lanes = k->lanes;
	w->partitions = partitions;
	w->ranks = k->ranks;
	w->config = make_config(where, k, partitions, k->weights, k->lead);
	if (k->accepted != NULL)
		w->accepted = make_config(where, k, partitions, k->accepted,
		    k->accepted_lead > 0 ? k->accepted_lead : k->lead);
	w->producing = make_producing(where, k);
	w->lends = k->lends;
	w->uneven = k->lanes % k->ranks != 0;
	note_features(w, k);
	memcpy(w->late, k->late, sizeof(w->late));
	w->late_n = k->late_n;
	make_parts(w);
	w->free = w->live || k->late_n > 0 || k->accepted != NULL;
	w->produces = !k->bad && !k->repeated && k->producing == NULL;
	cluster->world = cluster_allocate(sizeof(struct world_told));
	make_topics(w->config);
	make_topics(w->producing);
	for (size_t i = 0; i < k->asked_n; i++)
		world_request(&k->asked[i]);
	w->empty = cluster_save(&w->empty_n);
	fill(w);
	if (k->bad) {
		damage(cluster_partition("c.a", 0), 5);
		damage(cluster_partition("c.b", 1), 9);
	}
	if (k->repeated) {
		repeat(cluster_partition("c.a", 0), 12, 3);
		repeat(cluster_partition("c.d", 0), 4, 4);
	}
	if (w->free)
		keep_orders(w, k, where);
	memset(world_told(), 0, sizeof(*world_told()));
	hold_back(w, LIVE_GIVEN);
	w->filled = cluster_save(&w->filled_n);
	hold_back(w, WORLD_RECORDS_MAX);
	run_unfaulted(w, copied);
}

/* Files arrive: there is no mix, and what will be in the logs is not known before. */
static void
open_inbox(struct world *w, const struct world_inbox *k, const char *where)
{
	w->name = k->name;
	w->lanes = w->partitions = 1;
	w->config = make_inbox(where, k->domains);
	w->producing = make_inbox(where, k->domains);
	w->closing = make_inbox(where, k->closing);
	w->produces = true;
	make_parts(w);
	cluster->world = cluster_allocate(sizeof(struct world_told));
	make_topics(w->producing);
	w->empty = cluster_save(&w->empty_n);
}

static const char *const files[] = {"run.yml", "bytes.tiktoken", "a.jsonl", "b.1.jsonl",
    "b.2.jsonl", "d.jsonl", "e.jsonl", "l.1.jsonl", "l.2.jsonl", "w.jsonl"};
static char folder[] = P_tmpdir "/riffle-sim-XXXXXX";

void
world_close_all(struct world *w)
{
	char path[TEXT_MAX];

	for (size_t i = 0; i < WORLDS; i++) {
		config_close(w[i].config);
		config_close(w[i].accepted);
		config_close(w[i].producing);
		config_close(w[i].closing);
		free(w[i].text);
	}
	tokenizer_close(w[0].tokenizer);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	inbox_remove_all(folder, WORLD_WORKERS_MAX + 1);
	rmdir(folder);
}

/* Shared ones are fewer than lanes, one kind's more than another's; where it has several lanes. */
static uint32_t
partitions_of(const struct world_kind *k, size_t i, size_t form)
{
	if (form == 0)
		return k->lanes;
	return form == 2 ? 0 : 1 + (uint32_t)(i % (k->lanes - 1));
}

/* The three forms of n kinds, at w[3 * n]. */
static void
open_kinds(struct world *w, const struct world_kind *kinds, size_t n, struct tokenizer *tokenizer,
    const void *nothing, size_t nothing_n)
{
	for (size_t i = 0; i < 3 * n; i++) {
		const struct world_kind *k = &kinds[i % n];

		if (i / n == 1 && k->lanes == 1)
			continue;
		w[i].tokenizer = tokenizer;
		cluster_restore(nothing, nothing_n);
		open_world(&w[i], k, partitions_of(k, i, i / n), &w[i % n], folder);
	}
}

void
world_enter(unsigned worker)
{
	inbox_enter(folder, worker);
}

void
world_open_all(struct world *w)
{
	char vocabulary[TEXT_MAX];
	struct tokenizer_options o = {.file = vocabulary, .pattern = "gpt2", .eos = "~"};
	struct tokenizer *tokenizer;
	struct failure f;
	void *nothing;
	size_t n;

	if (mkdtemp(folder) == NULL)
		give_up("a folder for the input", NULL);
	write_vocabulary(folder);
	write_documents(folder, "a.jsonl", 24);
	write_documents(folder, "b.1.jsonl", 20);
	write_documents(folder, "b.2.jsonl", 14);
	write_documents(folder, "d.jsonl", 6);
	write_documents(folder, "e.jsonl", 9);
	write_documents(folder, "l.1.jsonl", 22);
	write_documents(folder, "l.2.jsonl", 22);
	write_dealt(folder, "w.jsonl", 30);
	snprintf(vocabulary, sizeof(vocabulary), "%s/bytes.tiktoken", folder);
	if (tokenizer_open(&tokenizer, &o, &f) != FAIL_NONE)
		give_up("the vocabulary", &f);
	cluster_open(0);
	nothing = cluster_save(&n);
	open_kinds(w, world_kinds, WORLD_KINDS, tokenizer, nothing, n);
	open_kinds(w + WORLD_MIXED_FIRST, world_mixed, WORLD_MIXED, tokenizer, nothing, n);
	for (size_t i = WORLD_MIXED_FIRST; i < WORLDS; i++)
		w[i].mixed = true;
	for (size_t i = 0; i < WORLD_INBOXES; i++) {
		cluster_restore(nothing, n);
		open_inbox(&w[WORLD_INBOX_FIRST + i], &world_inboxes[i], folder);
	}
	free(nothing);
}
