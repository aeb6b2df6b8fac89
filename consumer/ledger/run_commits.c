#include "consumer/ledger/run_commits.h"

#include <assert.h>
#include <stdlib.h>

#include "common/kafka/kafka.h"
#include "common/base/names.h"

struct run_commits {
	rd_kafka_t *rk;
	char group[TOPIC_MAX_BYTES + 1], topic[TOPIC_MAX_BYTES + 1];
	int64_t *offset_next; /* [room] */
	char **metadata;      /* [room]; all NULL between two questions */
	uint64_t *step;       /* [room] */
	size_t room;
};

enum fail_code
run_commits_open(struct run_commits **out, const char *mix, const char *run, const char *client,
    const struct config_properties *kafka, struct failure *f)
{
	struct run_commits *r = calloc(1, sizeof(*r));
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = kafka,
	    .client = client,
	    .asks_only = true,
	    .quiet = true};

	if (r == NULL)
		return fail_memory(f);
	names_topic(r->group, mix, run);
	names_topic(r->topic, mix, "batches");
	k.group = r->group;
	if (kafka_open(&r->rk, &k, f) != FAIL_NONE) {
		run_commits_close(r);
		return f->code;
	}
	*out = r;
	return FAIL_NONE;
}

void
run_commits_close(struct run_commits *r)
{
	if (r == NULL)
		return;
	kafka_close(r->rk);
	free(r->offset_next);
	free(r->metadata);
	free(r->step);
	free(r);
}

const char *
run_commits_group(const struct run_commits *r)
{
	return r->group;
}

/* Nothing in the arrays is kept: they are as long as the last question wants them. */
static enum fail_code
make_room(struct run_commits *r, size_t lanes, struct failure *f)
{
	if (lanes <= r->room)
		return FAIL_NONE;
	free(r->offset_next);
	free(r->metadata);
	free(r->step);
	r->offset_next = calloc(lanes, sizeof(*r->offset_next));
	r->metadata = calloc(lanes, sizeof(*r->metadata));
	r->step = calloc(lanes, sizeof(*r->step));
	r->room = lanes;
	if (r->offset_next != NULL && r->metadata != NULL && r->step != NULL)
		return FAIL_NONE;
	r->room = 0;
	return fail_memory(f);
}

enum fail_code
run_commits_ask(struct run_commits *r, size_t lanes, int timeout_ms, struct commits_position *at,
    struct failure *f)
{
	struct commits_position found;
	enum fail_code code;

	assert(lanes > 0);
	if (make_room(r, lanes, f) != FAIL_NONE ||
	    kafka_group_offsets(
		r->rk, r->topic, lanes, r->offset_next, r->metadata, timeout_ms, f) != FAIL_NONE)
		return f->code;
	code = commits_lowest(&found, r->step, r->offset_next, r->metadata, lanes, f);
	for (size_t i = 0; i < lanes; i++) {
		free(r->metadata[i]);
		r->metadata[i] = NULL;
	}
	if (code == FAIL_NONE)
		*at = found;
	return code;
}
