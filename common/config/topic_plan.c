#include "common/config/topic_plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"

enum {
	SEQUENCE_EXTRA = 64, /* ids, lengths, hash and the first spans of one sequence */
	WIDTH_MAX = 3,       /* bytes of a token; the plan does not read the tokenizer */
	RECORD_GROWTH = 3,   /* many short documents in one sequence: spans outweigh tokens */
	SEGMENT_BYTES_USUAL = 1 << 30,
	/* What a batch record holds beside its sequences: the head, and a name and index for each
	 * domain drawn. */
	HEAD_BYTES = 1024,
	HEAD_DOMAIN_BYTES = NAME_MAX_BYTES + 8,
};

size_t
topic_plan_plain_bytes(const struct config *c, unsigned token_width)
{
	assert(c->sequence_length >= 1);
	assert(token_width >= 1);
	return ((size_t)c->sequence_length + 1) * token_width + SEQUENCE_EXTRA;
}

size_t
topic_plan_sequence_bytes(const struct config *c, unsigned token_width)
{
	size_t keep = 0;

	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].keep.n > 0)
			keep = LIMIT_KEEP_BYTES;
	return topic_plan_plain_bytes(c, token_width) + keep;
}

size_t
topic_plan_lane_bytes(const struct config *c, unsigned token_width)
{
	assert(c->mix.lanes > 0);
	assert(c->mix.global_batch % c->mix.lanes == 0);
	return topic_plan_sequence_bytes(c, token_width) *
	       (config_global_batch_most(c) / c->mix.lanes);
}

size_t
topic_plan_record_bytes(const struct config *c)
{
	size_t in_lane = config_global_batch_most(c) / c->mix.lanes;
	size_t names = in_lane < c->domains_n ? in_lane : c->domains_n;

	return topic_plan_lane_bytes(c, WIDTH_MAX) + HEAD_BYTES + names * HEAD_DOMAIN_BYTES;
}

size_t
topic_plan_lane_sequences(const struct config *c)
{
	return (LIMIT_RECORD_BYTES - HEAD_BYTES) /
	       (topic_plan_sequence_bytes(c, WIDTH_MAX) + HEAD_DOMAIN_BYTES);
}

/* max.message.bytes for records that are about `bytes` large: generous, for it costs nothing. */
static size_t
message_bytes_max(size_t bytes)
{
	size_t most = bytes * RECORD_GROWTH + TOPIC_RECORD_SLACK;

	if (most < TOPIC_MESSAGE_BYTES_MIN)
		return TOPIC_MESSAGE_BYTES_MIN;
	return most < TOPIC_MESSAGE_BYTES_MAX ? most : TOPIC_MESSAGE_BYTES_MAX;
}

bool
topic_plan_has_set(const struct config *c, const struct config_domain *d, enum names_set set)
{
	assert(set <= SET_TEST);
	if (set == SET_TRAIN)
		return true;
	return config_is_split(d) ? c->split[set] > 0 : config_set_has_input(d, set);
}

static void
add(struct topic_plan *p, enum topic_kind kind, int partitions, size_t bytes)
{
	struct planned_topic *t = &p->topic[p->n++];

	assert(partitions >= 1);
	t->kind = kind;
	t->domain = -1;
	t->partitions = partitions;
	t->message_bytes_max = message_bytes_max(bytes);
}

static void
add_domains(struct topic_plan *p, const struct config *c)
{
	for (size_t i = 0; i < c->domains_n; i++)
		for (int set = SET_TRAIN; set < SETS_COUNT; set++) {
			const struct config_domain *d = &c->domains[i];
			struct planned_topic *t = &p->topic[p->n];

			if (!topic_plan_has_set(c, d, (enum names_set)set))
				continue;
			add(p, TOPIC_DOMAIN, (int)d->partitions,
			    topic_plan_sequence_bytes(c, WIDTH_MAX));
			t->domain = (int)i;
			t->set = (enum names_set)set;
			names_domain_topic(t->name, c->corpus, d->name, t->set);
		}
}

static void
add_named(struct topic_plan *p, enum topic_kind kind, const char *owner, const char *what,
    int partitions, size_t bytes)
{
	names_topic(p->topic[p->n].name, owner, what);
	add(p, kind, partitions, bytes);
}

static bool
has_arrivals(const struct config *c)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live && config_has_files(&c->domains[i]))
			return true;
	return false;
}

enum fail_code
topic_plan_open(struct topic_plan **out, const struct config *c, struct failure *f)
{
	size_t n_max = c->domains_n * SETS_COUNT + 7;
	struct topic_plan *p = calloc(1, sizeof(*p));

	if (p != NULL)
		p->topic = calloc(n_max, sizeof(*p->topic));
	if (p == NULL || p->topic == NULL) {
		topic_plan_close(p);
		return fail_memory(f);
	}
	add_domains(p, c);
	add_named(p, TOPIC_REJECTS, c->corpus, "rejects", 1, 0);
	if (has_arrivals(c))
		add_named(p, TOPIC_ARRIVALS, c->corpus, "arrivals", 1, 0);
	if (c->mix.name != NULL) {
		if (c->mix.partitions > 0)
			add_named(p, TOPIC_BATCHES, c->mix.name, "batches", (int)c->mix.partitions,
			    topic_plan_lane_bytes(c, WIDTH_MAX));
		if (c->mix.partitions < c->mix.lanes)
			add_named(p, TOPIC_LANES, c->mix.name, "lanes", (int)c->mix.lanes, 0);
		/* A ledger record grows with the domains, and by skips, requests and answers. */
		add_named(p, TOPIC_LEDGER, c->mix.name, "ledger", 1, TOPIC_LEDGER_BYTES);
		add_named(p, TOPIC_CONTROL, c->mix.name, "control", 1, 0);
		add_named(p, TOPIC_FEEDBACK, c->mix.name, "feedback", 1, 0);
	}
	assert(p->n <= n_max);
	*out = p;
	return FAIL_NONE;
}

void
topic_plan_close(struct topic_plan *p)
{
	if (p == NULL)
		return;
	free(p->topic);
	free(p);
}

static void
setting(struct topic_setting *s, const char *name, uint64_t value, uint64_t least)
{
	s->name = name;
	s->least = least;
	snprintf(s->value, sizeof(s->value), "%" PRIu64, value);
}

static void
setting_text(struct topic_setting *s, const char *name, const char *value)
{
	s->name = name;
	s->least = 0;
	snprintf(s->value, sizeof(s->value), "%s", value);
}

void
topic_plan_settings(struct topic_setting out[static TOPIC_SETTINGS], const struct config *c,
    const struct planned_topic *t)
{
	assert(t->message_bytes_max > 0);
	assert(t->message_bytes_max <= TOPIC_MESSAGE_BYTES_MAX);
	setting_text(&out[0], "retention.ms", "-1");
	setting_text(&out[1], "retention.bytes", "-1");
	setting_text(&out[2], "cleanup.policy", "delete");
	setting_text(&out[3], "compression.type", "producer");
	setting_text(&out[4], "message.timestamp.type", "CreateTime");
	setting(&out[5], "max.message.bytes", t->message_bytes_max, t->message_bytes_max);
	/* A record batch larger than a segment is refused. */
	setting(&out[6], "segment.bytes", SEGMENT_BYTES_USUAL, t->message_bytes_max);
	setting(&out[7], "min.insync.replicas", c->min_insync_replicas, c->min_insync_replicas);
}
