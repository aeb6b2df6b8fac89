#include "consumer/reader/resume_point.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/ledger.h"
#include "consumer/ledger/batch_topic.h"

/* What one call works with. */
struct finding {
	struct resume_point *out;
	struct lanes *lanes;
	const char *mix, *run;
	int timeout_ms;
	char **metadata; /* [total]; all NULL between two requests */
};

/* Fills the resume point from what the lanes have committed. */
static enum fail_code
ask_commits(struct finding *s, struct failure *f)
{
	struct resume_point *p = s->out;
	uint32_t total = lanes_total(s->lanes);
	enum fail_code code;

	assert(s->metadata[0] == NULL);
	code = lanes_committed(s->lanes, p->offset_next, s->metadata, s->timeout_ms, f);
	if (code == FAIL_NONE && run_position_lowest(&p->at, p->step, p->offset_next, s->metadata,
				     total, f) != FAIL_NONE)
		code = fail_within(f, "group %s.%s", s->mix, s->run);
	for (uint32_t i = 0; i < total; i++) {
		free(s->metadata[i]);
		s->metadata[i] = NULL;
	}
	return code;
}

/*
 * FAIL_DATA: the batch topic is not the one that the ledger describes, and a second look agrees.
 */
static enum fail_code
check_topic(struct finding *s, const struct ledger *last, struct failure *f)
{
	uint32_t n = lanes_count(s->lanes);
	int64_t *low = calloc(n, sizeof(*low)), *high = calloc(n, sizeof(*high));
	int64_t since_ms = 0;
	enum fail_code code;

	do {
		if (low == NULL || high == NULL)
			code = fail_memory(f);
		else
			code = lanes_watermarks(s->lanes, low, high, s->timeout_ms, f);
		if (code == FAIL_NONE)
			code = batch_topic_judge(
			    s->mix, last, lanes_map(s->lanes), lanes_first(s->lanes), high, n, f);
	} while (kafka_look_again(&since_ms, code == FAIL_DATA));
	free(low);
	free(high);
	return code;
}

/*
 * Fails where the topic is not the ledger's; fails, and sets `lost`, where the ledger's last record
 * knows the run beyond step 0.
 */
static enum fail_code
check_ledger(struct finding *s, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	struct ledger ledger = {0};
	enum fail_code code;
	uint8_t *bytes;
	uint64_t step;
	bool emptied;
	size_t n;

	assert(!s->out->at.all);
	names_topic(topic, s->mix, "ledger");
	if (lanes_last_record(s->lanes, topic, &bytes, &n, &emptied, s->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (emptied)
		return fail(f, FAIL_DATA,
		    "run %s of mix %s has no commit of every lane, and the records of topic %s, "
		    "which say where runs stand, were deleted. Name the step to start from",
		    s->run, s->mix, topic);
	if (bytes == NULL)
		return FAIL_NONE;
	code = ledger_decode(&ledger, bytes, n, f);
	free(bytes);
	if (code != FAIL_NONE)
		return fail_within(f, "topic %s, last record", topic);
	step = ledger_run_step(&ledger, s->run);
	code = check_topic(s, &ledger, f);
	ledger_clear(&ledger);
	if (code != FAIL_NONE)
		return code;
	if (step == 0)
		return FAIL_NONE;
	s->out->lost = true;
	return fail(f, FAIL_DATA,
	    "run %s of mix %s was at step %" PRIu64
	    ", as the ledger says, but the broker has no commit of group %s.%s for every lane: "
	    "they were deleted, or have expired. Name the step to start from, or set them again "
	    "(`riffle runs --reset %s --to %" PRIu64 "`)",
	    s->run, s->mix, step, s->mix, s->run, s->run, step);
}

/*
 * Asks for the commits, for the ledger where a lane has none, and for the commits once more where
 * the ledger says more than they do: resume_point.h tells why.
 */
static enum fail_code
find(struct finding *s, struct failure *f)
{
	struct resume_point *p = s->out;
	struct failure lost;

	if (ask_commits(s, f) != FAIL_NONE)
		return f->code;
	if (p->at.all || check_ledger(s, f) == FAIL_NONE)
		return FAIL_NONE;
	if (!p->lost)
		return f->code; /* the ledger could not be read */
	lost = *f;
	p->lost = false; /* not known, should the broker not answer this time */
	if (ask_commits(s, f) != FAIL_NONE)
		return f->code;
	p->lost = !p->at.all;
	if (p->lost)
		*f = lost;
	return p->lost ? f->code : FAIL_NONE;
}

enum fail_code
resume_point_find(struct resume_point *out, struct lanes *l, const char *mix, const char *run,
    int timeout_ms, struct failure *f)
{
	uint32_t total = lanes_total(l);
	struct finding s = {
	    .out = out,
	    .lanes = l,
	    .mix = mix,
	    .run = run,
	    .timeout_ms = timeout_ms,
	    .metadata = calloc(total, sizeof(*s.metadata)),
	};
	enum fail_code code;

	*out = (struct resume_point){
	    .offset_next = calloc(total, sizeof(*out->offset_next)),
	    .step = calloc(total, sizeof(*out->step)),
	};
	if (s.metadata == NULL || out->offset_next == NULL || out->step == NULL)
		code = fail_memory(f);
	else
		code = find(&s, f);
	free(s.metadata);
	return code;
}

void
resume_point_log(const struct resume_point *p, const char *mix, const char *run)
{
	const struct run_position *at = &p->at;

	assert(at->step <= at->step_ahead);
	assert(at->all || at->step == 0);
	if (!at->any)
		log_info("riffle: run %s of mix %s has committed nothing: it starts at step 0", run,
		    mix);
	else if (!at->all)
		log_info("riffle: run %s of mix %s has no commit of lane %zu: it starts at step 0",
		    run, mix, at->lane);
	else
		log_info("riffle: run %s of mix %s starts at step %" PRIu64
			 ", its lowest commit (the highest is %" PRIu64 ")",
		    run, mix, at->step, at->step_ahead);
}

void
resume_point_clear(struct resume_point *p)
{
	free(p->offset_next);
	free(p->step);
	*p = (struct resume_point){0};
}
