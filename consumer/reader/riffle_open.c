#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "consumer/ledger/run_position.h"
#include "consumer/reader/riffle_state.h"

/* ---- what all of the library's functions share ---- */

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
	case FAIL_DENIED:
	case FAIL_TIMEOUT:
	case FAIL_FENCED:
	case FAIL_STOPPED: return RIFFLE_ERROR_BROKER;
	}
	return RIFFLE_ERROR_BROKER;
}

int
riffle_give(struct riffle_error *e, int code, const char *text)
{
	if (e != NULL) {
		e->code = code;
		snprintf(e->text, sizeof(e->text), "%s", text);
	}
	return code;
}

int
riffle_give_failure(struct riffle_error *e, const struct failure *f)
{
	return riffle_give(e, code_of(f->code), f->text);
}

int
riffle_check_process(pid_t process, const char *what, struct riffle_error *e)
{
	char text[FAILURE_TEXT_MAX];

	if (process == getpid())
		return RIFFLE_OK;
	snprintf(text, sizeof(text),
	    "this %s was opened by process %d and is used by process %d: its connections and "
	    "threads do not survive a fork; open one in the process that reads",
	    what, (int)process, (int)getpid());
	return riffle_give(e, RIFFLE_ERROR_USAGE, text);
}

enum fail_code
riffle_properties_copy(struct properties *out, const char *bootstrap,
    const struct riffle_property *property, size_t n, struct failure *f)
{
	*out = (struct properties){.item = calloc(n + 1, sizeof(*out->item))};
	if (out->item == NULL)
		return fail_memory(f);
	for (size_t i = bootstrap == NULL ? 1 : 0; i <= n; i++) {
		struct property *to = &out->item[out->n++];

		to->name = strdup(i == 0 ? "bootstrap.servers" : property[i - 1].name);
		to->value = strdup(i == 0 ? bootstrap : property[i - 1].value);
		if (to->name == NULL || to->value == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

void
riffle_properties_clear(struct properties *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->item[i].name);
		free(p->item[i].value);
	}
	free(p->item);
	*p = (struct properties){0};
}

/* ---- opening ---- */

enum fail_code
riffle_check_names(const struct riffle_options *o, struct failure *f)
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
	return FAIL_NONE;
}

static enum fail_code
check_options(const struct riffle_options *o, struct failure *f)
{
	if (riffle_check_names(o, f) != FAIL_NONE)
		return f->code;
	if (o->token_bytes != 2 && o->token_bytes != 4 && o->token_bytes != 8)
		return fail(
		    f, FAIL_USAGE, "token_bytes is %" PRIu32 "; it is 2, 4 or 8", o->token_bytes);
	if (o->start != RIFFLE_START_COMMITTED && o->start != RIFFLE_START_STEP)
		return fail(f, FAIL_USAGE, "start is neither COMMITTED nor STEP");
	if (o->start == RIFFLE_START_STEP && o->step >= RUN_POSITION_STEP_MAX)
		return fail(f, FAIL_USAGE, "step %" PRIu64 " is out of range", o->step);
	if (o->threads > PREFETCH_THREADS_MAX)
		return fail(f, FAIL_USAGE,
		    "threads is %" PRIu32 "; it is 1 to %d, or 0 for the preset", o->threads,
		    PREFETCH_THREADS_MAX);
	return FAIL_NONE;
}

static uint64_t
ahead_of(const struct riffle_options *o)
{
	return o->ahead_bytes == 0 ? RIFFLE_AHEAD_BYTES : o->ahead_bytes;
}

static enum fail_code
open_lanes(struct riffle *r, uint64_t ahead_bytes, struct failure *f)
{
	char group[2 * NAME_MAX_BYTES + 2];
	struct lanes_options lanes = {
	    .mix = r->reader.mix,
	    .group = group,
	    .rank = r->rank,
	    .world = r->world,
	    .properties = &r->properties,
	    .timeout_ms = r->reader.open_timeout_ms,
	    .ahead_bytes = ahead_bytes,
	};

	snprintf(group, sizeof(group), "%s.%s", r->reader.mix, r->reader.run);
	return lanes_open(&r->reader.lanes, &lanes, f);
}

/* The part that finding the run's commits needs. */
static enum fail_code
open_reader(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	struct reader *reader = &r->reader;
	uint32_t count;

	r->process = getpid();
	r->rank = o->rank;
	r->world = o->world;
	r->token_bytes = o->token_bytes;
	r->commit_every = o->commit_every;
	snprintf(reader->mix, sizeof(reader->mix), "%s", o->mix);
	snprintf(reader->run, sizeof(reader->run), "%s", o->run == NULL ? "trainers" : o->run);
	reader->start = o->start;
	reader->open_timeout_ms =
	    o->open_timeout_ms > 0 ? o->open_timeout_ms : READER_OPEN_TIMEOUT_MS;
	if (riffle_properties_copy(
		&r->properties, o->bootstrap, o->properties, o->properties_n, f) != FAIL_NONE ||
	    open_lanes(r, ahead_of(o), f) != FAIL_NONE)
		return f->code;
	count = lanes_count(reader->lanes);
	reader->lane = calloc(count, sizeof(*reader->lane));
	if (reader->lane == NULL)
		return fail_memory(f);
	step_check_init(&reader->check, reader->mix, lanes_total(reader->lanes), count, 0);
	reader->check.schedule_wanted = o->schedule;
	return FAIL_NONE;
}

static void
why(void *opaque, const struct reader *reader, char *reason, size_t room)
{
	struct riffle *r = opaque;

	if (r->watchdog == NULL)
		r->watchdog = watchdog_open(reader->mix, &r->properties);
	if (r->watchdog != NULL)
		watchdog_why(r->watchdog, reader->check.step, reader->check.lead, reason, room);
}

/* Finds the first step, and lets the threads begin. */
static enum fail_code
start(struct riffle *r, const struct riffle_options *o, struct failure *f)
{
	struct prefetch_options prefetch = {
	    .ahead_bytes = ahead_of(o),
	    .threads = o->threads == 0 ? RIFFLE_THREADS : o->threads,
	    .why = why,
	    .opaque = r,
	};
	uint32_t count = lanes_count(r->reader.lanes);

	r->offset_next = calloc(count, sizeof(*r->offset_next));
	if (r->offset_next == NULL)
		return fail_memory(f);
	if (reader_start(&r->reader, o->step, f) != FAIL_NONE)
		return f->code;
	r->position = r->reader.check.step;
	r->commit_position = r->position;
	r->placed = o->start == RIFFLE_START_STEP;
	for (uint32_t i = 0; i < count; i++)
		r->offset_next[i] = r->reader.lane[i].offset_next;
	r->info.lanes = lanes_total(r->reader.lanes);
	r->info.lanes_mine = count;
	if (step_pool_open(&r->pool, count, r->token_bytes, f) != FAIL_NONE ||
	    committer_open(&r->commits, r->reader.lanes, r->position, f) != FAIL_NONE ||
	    prefetch_open(&r->prefetch, &r->reader, r->pool, &prefetch, f) != FAIL_NONE)
		return f->code;
	prefetch_resume(r->prefetch);
	return FAIL_NONE;
}

static int
fail_open(const struct riffle *r, struct riffle_error *e, const struct failure *f)
{
	if (r->reader.expired)
		return riffle_give(e, RIFFLE_ERROR_EXPIRED, f->text);
	if (r->reader.lost)
		return riffle_give(e, RIFFLE_ERROR_LOST, f->text);
	return riffle_give_failure(e, f);
}

int
riffle_open(struct riffle **out, const struct riffle_options *options, struct riffle_error *e)
{
	struct failure f = {0};
	struct riffle *r;
	int code;

	*out = NULL;
	if (check_options(options, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		fail_memory(&f);
		return riffle_give_failure(e, &f);
	}
	if (open_reader(r, options, &f) == FAIL_NONE && start(r, options, &f) == FAIL_NONE) {
		*out = r;
		return RIFFLE_OK;
	}
	code = fail_open(r, e, &f);
	riffle_close(r);
	return code;
}

int
riffle_find_committed(const struct riffle_options *options, uint64_t *step, struct riffle_error *e)
{
	struct riffle_options o = *options;
	struct failure f = {0};
	struct riffle *r;
	int code = RIFFLE_OK;

	*step = 0;
	o.rank = 0;
	o.world = 1;
	o.token_bytes = sizeof(uint32_t);
	o.start = RIFFLE_START_COMMITTED;
	o.threads = 0;
	if (check_options(&o, &f) != FAIL_NONE)
		return riffle_give_failure(e, &f);
	r = calloc(1, sizeof(*r));
	if (r == NULL) {
		fail_memory(&f);
		return riffle_give_failure(e, &f);
	}
	if (open_reader(r, &o, &f) != FAIL_NONE ||
	    reader_committed(&r->reader, step, &f) != FAIL_NONE)
		code = fail_open(r, e, &f);
	riffle_close(r);
	return code;
}

/* What is on its way gets a moment to arrive. */
static void
drain(struct riffle *r)
{
	struct failure f;

	if (r->commits != NULL)
		committer_poll(r->commits, RIFFLE_CLOSE_TIMEOUT_MS, &f);
	if (r->reporter != NULL)
		reporter_flush(r->reporter, RIFFLE_CLOSE_TIMEOUT_MS, &f);
}

void
riffle_close(struct riffle *r)
{
	if (r == NULL || r->process != getpid())
		return; /* in a child of a fork nothing of it can be ended */
	drain(r);
	prefetch_close(r->prefetch);
	step_slot_take_back(r->given);
	if (r->next != NULL)
		step_pool_put(r->next);
	step_pool_close(r->pool);
	watchdog_close(r->watchdog);
	reporter_close(r->reporter);
	committer_close(r->commits);
	lanes_close(r->reader.lanes);
	riffle_properties_clear(&r->properties);
	free(r->reader.lane);
	free(r->offset_next);
	free(r);
}
