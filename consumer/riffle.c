#include "consumer/riffle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/fault.h"
#include "consumer/commits.h"
#include "consumer/reader.h"

static int
code_of(enum fail_code code)
{
	switch (code) {
	case FAIL_NONE: return RIFFLE_OK;
	case FAIL_MEMORY: return RIFFLE_ERROR_MEMORY;
	case FAIL_USAGE:
	case FAIL_CONFIG: return RIFFLE_ERROR_USAGE;
	case FAIL_DATA: return RIFFLE_ERROR_DATA;
	case FAIL_IO:
	case FAIL_BROKER:
	case FAIL_TIMEOUT:
	case FAIL_FENCED:
	case FAIL_STOPPED: return RIFFLE_ERROR_BROKER;
	}
	return RIFFLE_ERROR_BROKER;
}

static int
give(struct riffle_error *e, int code, const char *text)
{
	if (e != NULL) {
		e->code = code;
		snprintf(e->text, sizeof(e->text), "%s", text);
	}
	return code;
}

static int
give_failure(const struct riffle *r, struct riffle_error *e, const struct failure *f)
{
	int code = code_of(f->code);

	if (r != NULL && r->expired)
		code = RIFFLE_ERROR_EXPIRED;
	if (r != NULL && r->lost)
		code = RIFFLE_ERROR_LOST;
	return give(e, code, f->text);
}

static enum fail_code
check_options(const struct riffle_options *o, struct failure *f)
{
	if (o->mix == NULL || !names_valid(o->mix))
		return fail(f, FAIL_USAGE,
		    "\"%s\" is not a name of a mix (letters, digits, '.', '_', '-', at most %d, a "
		    "letter or digit first)",
		    o->mix == NULL ? "" : o->mix, NAME_MAX_BYTES);
	if (o->run != NULL && !names_run_valid(o->run))
		return fail(f, FAIL_USAGE,
		    "\"%s\" is not a name of a run (letters, digits, '.', '_', '-', at most %d, a "
		    "letter or digit first; mixer and election are taken)",
		    o->run, NAME_MAX_BYTES);
	if (o->world == 0 || o->rank >= o->world)
		return fail(f, FAIL_USAGE,
		    "rank %" PRIu32 " is not in a world of %" PRIu32 " (ranks count from 0)",
		    o->rank, o->world);
	if (o->token_bytes != 2 && o->token_bytes != 4)
		return fail(
		    f, FAIL_USAGE, "token_bytes is %" PRIu32 "; it is 2 or 4", o->token_bytes);
	if (o->start != RIFFLE_START_COMMITTED && o->start != RIFFLE_START_STEP)
		return fail(f, FAIL_USAGE, "start is neither COMMITTED nor STEP");
	if (o->start == RIFFLE_START_STEP && o->step >= COMMITS_STEP_MAX)
		return fail(f, FAIL_USAGE, "step %" PRIu64 " is out of range", o->step);
	return FAIL_NONE;
}

/* The caller's properties, bootstrap first, as the Kafka layer takes them; borrows all texts. */
static enum fail_code
gather_properties(struct config_properties *out, const struct riffle_options *o, struct failure *f)
{
	static char bootstrap[] = "bootstrap.servers";

	*out = (struct config_properties){0};
	out->item = calloc(o->properties_n + 1, sizeof(*out->item));
	if (out->item == NULL)
		return fail_memory(f);
	/* Their type has no const, but they are only read. */
	if (o->bootstrap != NULL)
		out->item[out->n++] =
		    (struct config_property){bootstrap, (char *)(uintptr_t)o->bootstrap};
	for (size_t i = 0; i < o->properties_n; i++)
		out->item[out->n++] =
		    (struct config_property){(char *)(uintptr_t)o->properties[i].name,
			(char *)(uintptr_t)o->properties[i].value};
	return FAIL_NONE;
}

static enum fail_code
open_lanes(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	struct config_properties properties;
	char group[2 * NAME_MAX_BYTES + 2];
	struct lanes_options lanes = {
	    .mix = r->mix,
	    .group = group,
	    .rank = o->rank,
	    .world = o->world,
	    .properties = &properties,
	    .timeout_ms = r->open_timeout_ms,
	};
	enum fail_code code;

	snprintf(group, sizeof(group), "%s.%s", r->mix, r->run);
	if (gather_properties(&properties, o, f) != FAIL_NONE)
		return f->code;
	code = lanes_open(&r->lanes, &lanes, f);
	free(properties.item);
	return code;
}

static enum fail_code
open_reader(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	uint32_t count;

	snprintf(r->mix, sizeof(r->mix), "%s", o->mix);
	snprintf(r->run, sizeof(r->run), "%s", o->run == NULL ? "trainers" : o->run);
	r->start = o->start;
	r->commit_every = o->commit_every;
	r->open_timeout_ms = o->open_timeout_ms > 0 ? o->open_timeout_ms : READER_OPEN_TIMEOUT_MS;
	if (open_lanes(r, o, f) != FAIL_NONE)
		return f->code;
	count = lanes_count(r->lanes);
	r->lane = calloc(count, sizeof(*r->lane));
	if (r->lane == NULL)
		return fail_memory(f);
	if (step_decode_open(&r->decode, o->token_bytes, f) != FAIL_NONE)
		return f->code;
	step_check_init(&r->check, r->mix, lanes_total(r->lanes), count, 0);
	return reader_start(r, o->step, f);
}

int
riffle_open(struct riffle **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct failure f = {0};
	struct riffle *r;
	int code;

	*out = NULL;
	if (check_options(options, &f) != FAIL_NONE)
		return give_failure(NULL, e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		fail_memory(&f);
		return give_failure(NULL, e, &f);
	}
	if (open_reader(r, options, &f) == FAIL_NONE) {
		*out = r;
		return RIFFLE_OK;
	}
	code = give_failure(r, e, &f);
	riffle_close(r);
	return code;
}

void
riffle_close(struct riffle *r)
{
	if (r == NULL)
		return;
	step_decode_close(r->decode);
	lanes_close(r->lanes);
	free(r->lane);
	free(r);
}

void
riffle_get_info(const struct riffle *r, struct riffle_info *out)
{
	*out = (struct riffle_info){
	    .lanes = lanes_total(r->lanes),
	    .lanes_mine = lanes_count(r->lanes),
	};
	if (!r->check.known)
		return;
	out->global_batch = r->check.global_batch;
	out->schedule = r->check.schedule;
	out->tokenizer = r->check.tokenizer;
	if (r->step.tokens_each > 0)
		out->sequence_length = (uint32_t)(r->step.tokens_each - 1);
}

uint64_t
riffle_position(const struct riffle *r)
{
	return r->check.step;
}

static enum fail_code
commit(struct riffle *r, struct failure *f)
{
	uint32_t count = lanes_count(r->lanes);
	int64_t *offset_next = malloc(count * sizeof(*offset_next));
	char metadata[COMMITS_TEXT_MAX];
	enum fail_code code;

	if (offset_next == NULL)
		return fail_memory(f);
	for (uint32_t i = 0; i < count; i++)
		offset_next[i] = r->lane[i].offset_next;
	commits_format(metadata, r->check.step);
	fault_point("read.before_commit");
	code = lanes_commit(r->lanes, offset_next, metadata, READER_COMMIT_TIMEOUT_MS, f);
	free(offset_next);
	if (code != FAIL_NONE)
		return fail_within(f, "committing step %" PRIu64, r->check.step);
	fault_point("read.after_commit");
	r->committed = r->check.step;
	return FAIL_NONE;
}

int
riffle_commit(struct riffle *r, struct riffle_error *e)
{
	struct failure f;

	if (commit(r, &f) != FAIL_NONE)
		return give_failure(r, e, &f);
	return RIFFLE_OK;
}

/* Steps that may be read without a commit before the mixer might have to wait for it. */
static uint64_t
commit_after(const struct riffle *r)
{
	uint64_t quarter = r->lead / 4;

	if (r->lead == 0 || r->commit_every <= quarter)
		return r->commit_every;
	return quarter == 0 ? 1 : quarter;
}

static bool
commit_is_due(const struct riffle *r)
{
	uint64_t since = r->check.step - r->committed;

	if (r->commit_every == 0 || since == 0)
		return false;
	return r->ended || since >= commit_after(r);
}

static int
give_timeout(const struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];

	snprintf(text, sizeof(text),
	    "step %" PRIu64 " of mix %s was not published within %d ms (is `riffle mix` running?)",
	    r->check.step, r->mix, timeout_ms);
	return give(e, RIFFLE_TIMEOUT, text);
}

static int
give_end(struct riffle *r, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];

	if (commit_is_due(r)) {
		int code = riffle_commit(r, e);

		if (code != RIFFLE_OK)
			return code;
	}
	snprintf(text, sizeof(text), "mix %s has ended; there is no step %" PRIu64, r->mix,
	    r->check.step);
	return give(e, RIFFLE_END, text);
}

int
riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e)
{
	int64_t deadline_ms = clock_ms() + (timeout_ms < 0 ? 0 : timeout_ms);
	struct failure f = {0};
	enum fail_code code;

	*out = NULL;
	r->expired = false;
	if (commit_is_due(r) && commit(r, &f) != FAIL_NONE)
		return give_failure(r, e, &f);
	code = r->ended ? FAIL_NONE : reader_collect(r, deadline_ms, &f);
	if (code == FAIL_TIMEOUT)
		return give_timeout(r, timeout_ms, e);
	if (code == FAIL_NONE && r->ended)
		return give_end(r, e);
	if (code == FAIL_NONE)
		code = reader_decode(r, &f);
	if (code != FAIL_NONE)
		return give_failure(r, e, &f);
	reader_finish(r);
	*out = &r->step;
	return RIFFLE_OK;
}

const char *
riffle_version(void)
{
	return RIFFLE_VERSION;
}
