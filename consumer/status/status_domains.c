/*
 * Part of status_query: the domains of a status, and how long each is.
 *
 * The last record of each partition has its length: a sequence has its ordinal, an End the number
 * of sequences. So one record a partition is read, and none where the partition has not grown since
 * the last read: `seen` keeps what it held.
 */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"
#include "consumer/domain/partition_tail.h"
#include "consumer/domain/recipes.h"

/* The configuration's domains, then those that only the ledger knows. */
static enum fail_code
list_domains(struct status *st, struct failure *f)
{
	const struct config *c = st->config;
	const struct ledger *l = &st->ledger;
	size_t next = 0; /* the two lists often have the same order */

	assert(st->domain == NULL);
	st->domain = calloc(c->domains_n + l->domains_n + 1, sizeof(*st->domain));
	if (st->domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < c->domains_n; i++) {
		struct status_domain *d = &st->domain[st->domains_n++];

		*d = (struct status_domain){.configured = (int)i,
		    .mixed = -1,
		    .live = c->domains[i].live,
		    .sealed_length = -1,
		    .mixer_commit = -1};
		snprintf(d->name, sizeof(d->name), "%s", c->domains[i].name);
		/* Weights by size are not known before the mix has started. */
		d->weight = c->mix.name == NULL || isnan(c->mix.weight[i]) ? 0 : c->mix.weight[i];
	}
	for (size_t k = 0; k < l->domains_n; k++) {
		const struct ledger_domain *from = &l->domain[k];
		bool follows =
		    next < c->domains_n && strcmp(c->domains[next].name, from->name) == 0;
		int i = follows ? (int)next : config_domain_index(c, from->name);
		struct status_domain *d = &st->domain[i >= 0 ? (size_t)i : st->domains_n++];

		next = i >= 0 ? (size_t)i + 1 : next;
		if (i < 0) {
			*d = (struct status_domain){
			    .configured = -1, .sealed_length = -1, .mixer_commit = -1};
			snprintf(d->name, sizeof(d->name), "%s", from->name);
		}
		d->mixed = (int)k;
		d->weight = from->raw_weight;
		d->taken = from->taken;
		d->tokens = from->tokens - from->taken;
		d->epoch = from->epoch;
		d->position = from->position;
		d->state = from->state;
		d->live = from->live;
		d->owed = from->owed;
	}
	return FAIL_NONE;
}

/*
 * 0: there is no such topic, or it is not asked about. The plan has those of the configuration's
 * domains alone.
 */
static enum fail_code
count_partitions(struct status_query *q, const struct status *st, size_t domain, const char *topic,
    int *partitions, struct failure *f)
{
	const struct topics_report *r;
	const char *ignored;
	enum fail_code code;

	*partitions = 0;
	if (domain >= st->config->domains_n && st->domain[domain].state == LEDGER_LEFT)
		return FAIL_NONE; /* nobody draws from it: what its topic holds is of no interest */
	if (domain >= st->config->domains_n) {
		code = kafka_partitions(q->reader, topic, partitions, STATUS_QUERY_MS, f);
		if (code == FAIL_DENIED) /* a right for a domain that is none of this file's */
			*partitions = 0;
		return code == FAIL_DENIED ? FAIL_NONE : code;
	}
	r = status_query_topic(st, TOPIC_DOMAIN, (int)domain, &ignored);
	*partitions = r == NULL ? 0 : r->partitions;
	return FAIL_NONE;
}

/*
 * Makes room for the partitions that exist, and lists them; each entry has its partition as opaque.
 * What was read of them before stays true until ask_watermarks() finds that they have grown.
 */
static enum fail_code
list_partitions(struct status_query *q, struct status *st, rd_kafka_topic_partition_list_t *list,
    struct failure *f)
{
	for (size_t i = 0; i < st->domains_n; i++) {
		struct status_domain *d = &st->domain[i];
		char topic[TOPIC_MAX_BYTES + 1];
		int partitions;

		names_domain_topic(topic, st->config->corpus, d->name, SET_TRAIN);
		if (count_partitions(q, st, i, topic, &partitions, f) != FAIL_NONE)
			return f->code;
		if (partitions == 0)
			continue;
		assert(d->partition == NULL);
		d->partitions_n = (size_t)partitions;
		d->partition = calloc(d->partitions_n + 1, sizeof(*d->partition));
		if (d->partition == NULL)
			return fail_memory(f);
		for (size_t p = 0; p < d->partitions_n; p++) {
			rd_kafka_topic_partition_t *e =
			    rd_kafka_topic_partition_list_add(list, topic, (int32_t)p);

			e->opaque = &d->partition[p];
			if (i < st->config->domains_n && p < q->seen_n[i])
				d->partition[p] = q->seen[i][p];
		}
	}
	return FAIL_NONE;
}

/* Keeps a copy of what was read for the next read. */
static enum fail_code
keep_partitions(struct status_query *q, const struct status *st, struct failure *f)
{
	for (size_t i = 0; i < st->config->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];

		free(q->seen[i]);
		q->seen_n[i] = 0;
		q->seen[i] = calloc(d->partitions_n + 1, sizeof(*q->seen[i]));
		if (q->seen[i] == NULL)
			return fail_memory(f);
		if (d->partitions_n > 0)
			memcpy(q->seen[i], d->partition, d->partitions_n * sizeof(*q->seen[i]));
		q->seen_n[i] = d->partitions_n;
	}
	return FAIL_NONE;
}

void
status_partition_take(struct status_partition *p, int64_t low, int64_t high)
{
	if (low != p->low || high != p->high)
		*p = (struct status_partition){.low = low, .high = high};
	if (!p->known)
		p->sequences = (uint64_t)(high - low); /* until its last record is read */
}

static enum fail_code
ask_watermarks(struct status_query *q, rd_kafka_topic_partition_list_t *list, struct failure *f)
{
	size_t n = (size_t)list->cnt;
	int64_t *low = calloc(n + 1, sizeof(*low)), *high = calloc(n + 1, sizeof(*high));
	enum fail_code code;

	if (low == NULL || high == NULL)
		code = fail_memory(f);
	else
		code = kafka_watermarks_list(q->reader, list, low, high, STATUS_QUERY_MS, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++)
		status_partition_take(list->elems[i].opaque, low[i], high[i]);
	free(low);
	free(high);
	return code;
}

/*
 * Takes over the last record of a domain partition. One that cannot be read goes into the domain's
 * `bad`. If none came (time is up, offset high - 1 holds a marker, or was deleted meanwhile), the
 * partition stays unknown, and its length is taken from the watermarks.
 */
static void
take_tail(struct status_partition *p, const struct partition_tail_at *at, struct status_domain *d)
{
	d->partitions_late += !at->answered;
	if (at->known) {
		p->known = true;
		p->sealed = at->tail.sealed;
		p->sealed_sequences = at->tail.sealed_sequences;
		p->sequences = at->tail.sequences;
	}
	if (at->bad)
		snprintf(d->bad, sizeof(d->bad), "partition %d, offset %" PRId64 ": %s",
		    (int)at->partition, at->high - 1, at->reason);
}

/* The domain that a partition, an entry's opaque, belongs to. */
static struct status_domain *
domain_of(struct status *st, const struct status_partition *p)
{
	for (size_t i = 0; i < st->domains_n; i++)
		if (p >= st->domain[i].partition &&
		    p < st->domain[i].partition + st->domain[i].partitions_n)
			return &st->domain[i];
	abort(); /* every entry of the list points into a domain */
}

/* Reads the last record of each partition that holds records and has grown. */
static enum fail_code
ask_tails(struct status_query *q, struct status *st, const rd_kafka_topic_partition_list_t *list,
    struct failure *f)
{
	struct partition_tail_at at[PARTITION_TAIL_FEW_MAX];
	struct status_partition *of[PARTITION_TAIL_FEW_MAX];

	for (int i = 0; i < list->cnt;) {
		size_t n = 0;

		for (; i < list->cnt && n < PARTITION_TAIL_FEW_MAX; i++) {
			const rd_kafka_topic_partition_t *e = &list->elems[i];
			struct status_partition *p = e->opaque;

			if (p->known || p->high <= p->low)
				continue;
			of[n] = p;
			at[n++] = (struct partition_tail_at){
			    .topic = e->topic, .partition = e->partition, .high = p->high};
		}
		if (partition_tail_read_many(
			q->reader, at, n, PARTITION_TAIL_FEW_MAX, STATUS_QUERY_MS, f) != FAIL_NONE)
			return f->code;
		for (size_t k = 0; k < n; k++)
			take_tail(of[k], &at[k], domain_of(st, of[k]));
	}
	return FAIL_NONE;
}

void
status_domain_sum(struct status_domain *d)
{
	int64_t length = 0;

	assert(d->sequences == 0);
	assert(d->sealed_length == -1);

	for (size_t p = 0; p < d->partitions_n; p++) {
		d->sequences += (int64_t)d->partition[p].sequences;
		d->partitions_sealed += d->partition[p].sealed;
		length += (int64_t)d->partition[p].sealed_sequences;
	}
	if (d->partitions_n > 0 && d->partitions_sealed == d->partitions_n)
		d->sealed_length = length;
}

/* The mixer commits, for each partition, how many of its sequences are drawn in this epoch. */
static enum fail_code
ask_mixer_commits(struct status_query *q, struct status *st, rd_kafka_topic_partition_list_t *list,
    struct failure *f)
{
	if (st->config->mix.name == NULL)
		return FAIL_NONE;
	assert(q->mixer != NULL);
	if (kafka_commits(q->mixer, list, STATUS_QUERY_MS, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < list->cnt; i++) {
		struct status_domain *d = domain_of(st, list->elems[i].opaque);

		if (list->elems[i].offset < 0)
			continue;
		d->mixer_commit = d->mixer_commit < 0 ? 0 : d->mixer_commit;
		d->mixer_commit += list->elems[i].offset;
	}
	return FAIL_NONE;
}

/* Logs are compared with the configuration at the first read: neither changes while status runs. */
static enum fail_code
ask_recipes(struct status_query *q, struct status *st, struct failure *f)
{
	size_t n = st->config->domains_n;
	bool *there = calloc(n + 1, sizeof(*there));
	enum fail_code code = FAIL_NONE;

	if (there == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++)
		there[i] = st->domain[i].partitions_n > 0;
	if (q->differs == NULL) {
		q->differs = calloc(n + 1, sizeof(*q->differs));
		code = q->differs == NULL ? fail_memory(f)
					  : recipes_ask(q->differs, q->reader, st->config, there,
						STATUS_QUERY_MS, f);
		if (code != FAIL_NONE) {
			free(q->differs);
			q->differs = NULL;
		}
		st->late[STATUS_PART_RECIPES] = code == FAIL_TIMEOUT;
		if (code == FAIL_TIMEOUT)
			code = FAIL_NONE;
	}
	for (size_t i = 0; q->differs != NULL && i < n; i++)
		st->domain[i].differs = q->differs[i];
	free(there);
	return code;
}

/* The ledger's domains that a mixer would compare, and their topics. */
static void
list_looks(
    struct last_drawn_look *look, char (*topic)[TOPIC_MAX_BYTES + 1], const struct status *st)
{
	for (size_t i = 0; i < st->domains_n; i++) {
		const struct status_domain *d = &st->domain[i];
		bool drawn = d->state == LEDGER_ACTIVE || d->state == LEDGER_JOINING;

		if (d->mixed < 0 || d->partitions_n == 0 || (!drawn && d->configured < 0) ||
		    d->state == LEDGER_DROPPED)
			continue;
		names_domain_topic(topic[d->mixed], st->config->corpus, d->name, SET_TRAIN);
		look[d->mixed].topic = topic[d->mixed];
	}
}

static enum fail_code
compare_drawn(struct status_query *q, const struct status *st, struct failure *f)
{
	size_t n = st->ledger.domains_n;
	struct last_drawn_look *look = calloc(n + 1, sizeof(*look));
	char(*topic)[TOPIC_MAX_BYTES + 1] = calloc(n + 1, sizeof(*topic));
	enum fail_code code = FAIL_NONE;

	free(q->other);
	q->other = calloc(n + 1, sizeof(*q->other));
	q->others_n = n;
	if (look == NULL || topic == NULL || q->other == NULL)
		code = fail_memory(f);
	else
		list_looks(look, topic, st);
	if (code == FAIL_NONE)
		code =
		    last_drawn_compare(&q->drawn, look, n, &q->config->kafka, STATUS_QUERY_MS, f);
	for (size_t k = 0; code == FAIL_NONE && k < n; k++) {
		struct failure why;

		if (!look[k].other)
			continue;
		last_drawn_fail(&look[k], st->ledger.domain[k].name, &why);
		snprintf(q->other[k], sizeof(q->other[k]), "%.*s", (int)sizeof(q->other[k]) - 1,
		    why.text);
	}
	free(look);
	free(topic);
	return code;
}

/* Asked again once a domain's log has other ends than before. */
static enum fail_code
ask_drawn(struct status_query *q, struct status *st, struct failure *f)
{
	int64_t ends = 0;

	for (size_t i = 0; i < st->domains_n; i++)
		for (size_t p = 0; p < st->domain[i].partitions_n; p++)
			ends += st->domain[i].partition[p].low + st->domain[i].partition[p].high;
	if ((q->other == NULL || q->others_n != st->ledger.domains_n || q->others_of != ends) &&
	    compare_drawn(q, st, f) != FAIL_NONE)
		return f->code;
	q->others_of = ends;
	for (size_t i = 0; i < st->domains_n; i++)
		if (st->domain[i].mixed >= 0)
			memcpy(st->domain[i].other, q->other[st->domain[i].mixed],
			    sizeof(st->domain[i].other));
	return FAIL_NONE;
}

/*
 * Whether the ends are to be asked for. Else what the last read has seen of them stands; of domains
 * that only the ledger knows nothing is kept.
 */
static bool
ends_due(const struct status_query *q, const struct status *st)
{
	if (status_query_due(q, q->domains_ms, q->pace.domains_ms))
		return true;
	for (size_t i = 0; i < st->config->domains_n; i++)
		if (q->seen_n[i] != st->domain[i].partitions_n)
			return true;
	return st->domains_n > st->config->domains_n;
}

static enum fail_code
ask_ends(struct status_query *q, struct status *st, rd_kafka_topic_partition_list_t *list,
    struct failure *f)
{
	enum fail_code code = ask_watermarks(q, list, f);

	if (code == FAIL_NONE)
		code = ask_tails(q, st, list, f);
	if (code == FAIL_NONE)
		code = keep_partitions(q, st, f);
	q->domains_ms = code == FAIL_NONE ? q->now_ms : 0;
	for (size_t i = 0; i < st->domains_n; i++)
		if (st->domain[i].partitions_late > 0)
			q->domains_ms = 0; /* asked again by the next read */
	return code;
}

enum fail_code
status_domains_read(struct status_query *q, struct status *st, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(64);
	enum fail_code code = list_domains(st, f);

	if (code == FAIL_NONE)
		code = list_partitions(q, st, list, f);
	if (code == FAIL_NONE && ends_due(q, st))
		code = ask_ends(q, st, list, f);
	for (size_t i = 0; i < st->domains_n; i++)
		status_domain_sum(&st->domain[i]);
	if (code == FAIL_NONE)
		code = ask_recipes(q, st, f);
	if (code == FAIL_NONE)
		code = ask_drawn(q, st, f);
	if (code == FAIL_NONE)
		code = ask_mixer_commits(q, st, list, f);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}
