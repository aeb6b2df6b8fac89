#include "consumer/admin/run_commit.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/batches/step_search.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/run_position.h"

enum {
	ASK_MS = 30000,
	AHEAD_BYTES = 1 << 20, /* a search needs single records */
};

struct run_commit {
	struct lanes *lanes;
	int64_t *offset_next; /* [lanes_count()]: of the step */
	uint64_t step;
};

/* A topic that was created again would give the offsets of other records, or of none. */
static enum fail_code
check_topic(struct lanes *l, const char *mix, const struct ledger *last, struct failure *f)
{
	uint32_t n = lanes_count(l);
	int64_t *low = calloc(n, sizeof(*low)), *high = calloc(n, sizeof(*high));
	enum fail_code code;

	if (low == NULL || high == NULL)
		code = fail_memory(f);
	else
		code = lanes_watermarks(l, low, high, ASK_MS, f);
	if (code == FAIL_NONE)
		code = batch_topic_judge(mix, last, lanes_map(l), lanes_first(l), high, n, f);
	free(low);
	free(high);
	return code;
}

enum fail_code
run_commit_find(struct run_commit **out, const char *mix, const char *run, uint64_t step,
    const struct ledger *last, const struct properties *properties, struct failure *f)
{
	char group[TOPIC_MAX_BYTES + 1];
	struct lanes_options o = {
	    .mix = mix,
	    .group = group,
	    .world = 1,
	    .properties = properties,
	    .timeout_ms = ASK_MS,
	    .ahead_bytes = AHEAD_BYTES,
	};
	struct step_search search = {.mix = mix, .step = step, .timeout_ms = ASK_MS};
	struct run_commit *r = calloc(1, sizeof(*r));
	bool expired;

	assert(names_run_valid(run));
	assert(step < LIMIT_STEP);
	if (r == NULL)
		return fail_memory(f);
	r->step = step;
	names_topic(group, mix, run);
	if (lanes_open(&r->lanes, &o, f) != FAIL_NONE ||
	    check_topic(r->lanes, mix, last, f) != FAIL_NONE)
		goto failed;
	r->offset_next = calloc(lanes_count(r->lanes), sizeof(*r->offset_next));
	if (r->offset_next == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (step_search_run(r->lanes, &search, r->offset_next, &expired, f) != FAIL_NONE)
		goto failed;
	*out = r;
	return FAIL_NONE;
failed:
	run_commit_close(r);
	return f->code;
}

void
run_commit_close(struct run_commit *r)
{
	if (r == NULL)
		return;
	lanes_close(r->lanes);
	free(r->offset_next);
	free(r);
}

enum fail_code
run_commit_set(struct run_commit *r, struct failure *f)
{
	char metadata[RUN_POSITION_TEXT_MAX];

	run_position_format(metadata, r->step, NULL);
	if (lanes_commit_begin(r->lanes, r->offset_next, metadata, f) != FAIL_NONE)
		return f->code;
	return lanes_commit_end(r->lanes, ASK_MS, f);
}

enum fail_code
run_commit_forget(
    const char *mix, const char *run, const struct properties *properties, struct failure *f)
{
	struct kafka_options k = {
	    .role = KAFKA_READER, .properties = properties, .client = "runs-forget"};
	char group[TOPIC_MAX_BYTES + 1];
	enum fail_code code;
	rd_kafka_t *rk;

	assert(names_run_valid(run));
	names_topic(group, mix, run);
	if (kafka_open(&rk, &k, f) != FAIL_NONE)
		return f->code;
	code = kafka_group_delete(rk, group, ASK_MS, f);
	kafka_close(rk);
	return code;
}

uint32_t
run_commit_lanes(const struct run_commit *r)
{
	return lanes_count(r->lanes);
}
