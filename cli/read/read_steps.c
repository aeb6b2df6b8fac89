#include "cli/read/read_steps.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "cli/metrics/metrics_listener.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/topic_plan.h"
#include "consumer/batches/step_search.h"
#include "consumer/reader/riffle_internal.h"

enum {
	SLICE_MS = 200,           /* of a wait, between two looks at the clock and at signals */
	WAITING_FIRST_MS = 10000, /* before a wait is explained for the first time */
	STOPPED_COMMIT_MS = 2000, /* for the last commit after a signal */
	SET_SEQUENCES = 64,       /* of a held-out set are one step */
	METRICS_GROWTH = 512,     /* of a text between two calls: digits, and a metric or two */
};

/* As KAFKA_STATS_MS, where the user says nothing else. */
static const struct riffle_property statistics = {"statistics.interval.ms", "5000"};

/* What was read of a mix, for the rate. */
struct tally {
	int64_t begun_ms, first_ms;
	uint64_t steps, committed, sequences, tokens;
	bool cut; /* of a further step a part is out */
};

/* An error of libriffle's as ours, with its sentence. `e` is one: neither OK nor the end. */
static enum fail_code
fail_riffle(struct failure *f, const struct riffle_error *e)
{
	static const enum fail_code codes[] = {
	    [RIFFLE_TIMEOUT] = FAIL_TIMEOUT,
	    [RIFFLE_ERROR_USAGE] = FAIL_CONFIG,
	    [RIFFLE_ERROR_MEMORY] = FAIL_MEMORY,
	    [RIFFLE_ERROR_BROKER] = FAIL_BROKER,
	    [RIFFLE_ERROR_DATA] = FAIL_DATA,
	    [RIFFLE_ERROR_EXPIRED] = FAIL_DATA,
	    [RIFFLE_ERROR_LOST] = FAIL_DATA,
	};

	assert(e->code > 0);
	assert((size_t)e->code < sizeof(codes) / sizeof(codes[0]));
	return fail(f, codes[e->code], "%s", e->text);
}

/* Opening failed: the signal ends its waits, too. */
static enum fail_code
fail_opening(struct failure *f, const struct riffle_error *e, const struct stop *stop)
{
	if (stop_asked(stop) && e->code == RIFFLE_ERROR_BROKER)
		return fail(f, FAIL_STOPPED, "%s", e->text);
	return fail_riffle(f, e);
}

/* The properties of `c` as the library takes them. Gives the array (free); NULL: no memory. */
static struct riffle_property *
properties_of(const struct config *c)
{
	struct riffle_property *list = calloc(c->kafka.n + 1, sizeof(*list));

	for (size_t i = 0; list != NULL && i < c->kafka.n; i++)
		list[i] = (struct riffle_property){c->kafka.item[i].name, c->kafka.item[i].value};
	return list;
}

/* ---- a mix ---- */

/* The next step, with an eye on signals: FAIL_STOPPED; *s NULL at the end of the mix. */
static enum fail_code
next_step(struct riffle *r, const struct read_steps_arguments *a, const struct stop *stop,
    const struct riffle_step **s, struct failure *f)
{
	int64_t begun_ms = clock_ms();
	struct riffle_error e;

	for (;;) {
		int code = stop_asked(stop) ? RIFFLE_END : riffle_next(r, SLICE_MS, s, &e);
		int64_t now_ms = clock_ms();

		/* A step that came together with the signal is still printed. */
		if (stop_asked(stop) && code != RIFFLE_OK)
			return fail(f, FAIL_STOPPED, "stopped by a signal");
		if (code == RIFFLE_OK || code == RIFFLE_END)
			return FAIL_NONE;
		if (code != RIFFLE_TIMEOUT ||
		    (a->timeout_s > 0 && now_ms - begun_ms >= (int64_t)a->timeout_s * 1000))
			return fail_riffle(f, &e);
	}
}

/*
 * Commits what is printed. A broker that is away is waited for as for a step; FAIL_STOPPED, at once
 * where the signal comes now, after STOPPED_COMMIT_MS where it came before.
 */
static enum fail_code
commit(struct riffle *r, const struct read_steps_arguments *a, const struct stop *stop,
    struct failure *f)
{
	int64_t begun_ms = clock_ms();
	struct log_reminder reminder = {0};
	int64_t stopped_ms = stop_asked(stop) ? STOPPED_COMMIT_MS : 0;
	struct riffle_error e;
	int code;

	if (riffle_commit_async(r, &e) != RIFFLE_OK)
		return fail_riffle(f, &e);
	while ((code = riffle_flush(r, SLICE_MS, &e)) == RIFFLE_TIMEOUT) {
		int64_t now_ms = clock_ms();

		if (stop_asked(stop) && now_ms - begun_ms >= stopped_ms)
			return fail(f, FAIL_STOPPED, "stopped by a signal");
		if (a->timeout_s > 0 && now_ms - begun_ms >= (int64_t)a->timeout_s * 1000)
			break;
		if (log_reminder_due(&reminder, now_ms, WAITING_FIRST_MS))
			log_warning("read: READ-WAITING seconds=%" PRId64 ": %s",
			    (now_ms - begun_ms) / 1000, e.text);
	}
	return code == RIFFLE_OK ? FAIL_NONE : fail_riffle(f, &e);
}

/*
 * A write to a pipe that nobody empties ends with the signal: what is left of the step is dropped,
 * so that the end of the program does not wait for the pipe either; it is not committed.
 */
static enum fail_code
print_step(struct read_output *out, const struct riffle_step *s, uint32_t lanes,
    const struct stop *stop, FILE *to, struct tally *t, struct failure *f)
{
	errno = 0;
	if (read_output_step(out, s, lanes, f) == FAIL_NONE)
		return FAIL_NONE;
	if (!stop_asked(stop) || errno != EINTR)
		return f->code;
	__fpurge(to);
	t->cut = true;
	return fail(f, FAIL_STOPPED, "stopped by a signal");
}

/* The tokens of a step as all commands count them: S a full sequence, without padding. */
static uint64_t
targets(const struct riffle_step *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->sequences; i++)
		n += s->sequence[i].used - 1;
	return n;
}

/* Says why there are fewer steps than the user expects: than --steps, or any at all. */
static void
log_mix_end(const struct riffle *r, const struct read_steps_arguments *a, const struct tally *t)
{
	if (a->steps != UINT64_MAX)
		log_info("read: the mix ends before step %" PRIu64 ": %" PRIu64 " of %" PRIu64
			 " steps were read",
		    riffle_position(r), t->steps, a->steps);
	else if (t->steps == 0)
		log_info("read: mix %s ended before step %" PRIu64, a->mix, riffle_position(r));
}

/*
 * Step after step: read, print, commit. The end of the mix, --steps and a signal end it without a
 * failure. A step is printed before it is counted, so that print_rate() counts what is out.
 */
static enum fail_code
read_all(struct riffle *r, const struct read_steps_arguments *a, const struct stop *stop,
    struct read_output *out, FILE *to, struct tally *t, struct failure *f)
{
	const struct riffle_step *s = NULL;
	struct riffle_info info = {.size = sizeof(info)};

	riffle_get_info(r, &info);
	while (t->steps < a->steps) {
		enum fail_code code = next_step(r, a, stop, &s, f);

		if (code == FAIL_NONE && s == NULL)
			log_mix_end(r, a, t);
		if (code != FAIL_NONE || s == NULL)
			return code;
		code = print_step(out, s, info.lanes_mine, stop, to, t, f);
		if (code != FAIL_NONE)
			return code;
		if (t->steps++ == 0)
			t->first_ms = clock_ms();
		t->sequences += s->sequences;
		t->tokens += targets(s);
		if (a->commit_every > 0 && t->steps % a->commit_every == 0) {
			code = commit(r, a, stop, f);
			if (code != FAIL_NONE)
				return code;
			t->committed = t->steps;
		}
	}
	return FAIL_NONE;
}

bool
read_steps_owes_commit(uint64_t commit_every, uint64_t steps, uint64_t committed, bool cut)
{
	return commit_every > 0 && committed < steps && !cut;
}

/* However the reading ends without a failure, what is printed is committed where that is asked. */
static enum fail_code
read_mix(struct riffle *r, const struct read_steps_arguments *a, const struct stop *stop,
    struct read_output *out, FILE *to, struct tally *t, struct failure *f)
{
	enum fail_code code = read_all(r, a, stop, out, to, t, f);

	bool stopped = code == FAIL_STOPPED;

	if (code != FAIL_NONE && !stopped)
		return code;
	if (read_steps_owes_commit(a->commit_every, t->steps, t->committed, t->cut)) {
		code = commit(r, a, stop, f);
		if (code != FAIL_NONE && code != FAIL_STOPPED)
			return code;
		if (code == FAIL_NONE)
			t->committed = t->steps;
	}
	if (stopped)
		log_info("read: stopped before step=%" PRIu64 "%s", riffle_position(r),
		    a->commit_every == 0       ? ""
		    : t->committed == t->steps ? ": all steps before it are committed"
					       : ": the last steps before it are not committed");
	return FAIL_NONE;
}

/*
 * To stderr, for --format none:
 *
 *     read: steps=40 sequences=640 tokens=327680 first_step_ms=133 seconds=0.008 steps_per_s=...
 *
 * The rate counts from the first step on, as the opening and the seek are no part of it.
 */
static void
print_rate(const struct tally *t)
{
	int64_t now_ms = clock_ms(), ms = now_ms - (t->steps == 0 ? t->begun_ms : t->first_ms);
	double seconds = (double)(ms < 1 ? 1 : ms) / 1000;

	log_plain(LOG_INFO,
	    "read: steps=%" PRIu64 " sequences=%" PRIu64 " tokens=%" PRIu64
	    " first_step_ms=%" PRId64 " seconds=%.3f steps_per_s=%.1f tokens_per_s=%.0f",
	    t->steps, t->sequences, t->tokens, t->steps == 0 ? -1 : t->first_ms - t->begun_ms,
	    seconds, (double)t->steps / seconds, (double)t->tokens / seconds);
}

/* Where the commits cannot be asked for, opening says so. */
static void
warn_of_going_back(const struct riffle_options *o)
{
	struct riffle_error ignored;
	uint64_t step;

	if (riffle_find_committed(o, &step, &ignored) == RIFFLE_OK && step > o->step)
		log_warning("read: READ-RUN-BACK run %s of mix %s has committed step %" PRIu64
			    ": reading from step %" PRIu64 " takes its commits back",
		    o->run, o->mix, step, o->step);
}

static char *
metrics_of(void *reader)
{
	size_t room = riffle_metrics(reader, NULL, 0) + METRICS_GROWTH;
	char *text = malloc(room);

	if (text != NULL)
		riffle_metrics(reader, text, room);
	return text;
}

/* Adds how to read the steps that are kept. */
static enum fail_code
fail_more_expired(struct failure *f)
{
	const char *earliest = strstr(f->text, STEP_SEARCH_EARLIEST);

	if (earliest == NULL)
		return f->code;
	earliest += strlen(STEP_SEARCH_EARLIEST);
	return fail_more(
	    f, "; `--from-step %.*s` starts there", (int)strspn(earliest, "0123456789"), earliest);
}

static enum fail_code
fail_lanes(const char *mix, uint32_t lanes, uint32_t wanted, struct failure *f)
{
	return fail(f, FAIL_CONFIG,
	    "topic %s.batches has %" PRIu32 " partitions, the configuration wants %" PRIu32
	    " (mix.lanes): set it back to %" PRIu32 ", or give mix.name another name%s",
	    mix, lanes, wanted, lanes,
	    lanes > wanted ? "; if partitions were added, `riffle topics` says what to do" : "");
}

enum fail_code
read_steps_mix(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f)
{
	struct riffle_property *properties = properties_of(c);
	struct riffle_options options = {
	    .size = sizeof(options),
	    .mix = a->mix,
	    .run = a->run,
	    .rank = a->rank,
	    .world = a->world,
	    .uneven = a->uneven,
	    .start = a->from_step_given ? RIFFLE_START_STEP : RIFFLE_START_COMMITTED,
	    .step = a->from_step,
	    .token_bytes = sizeof(uint32_t),
	    .properties = properties,
	    .properties_n = c->kafka.n,
	    .commit_every = a->commit_every,
	};
	/* --mix may name another mix than the configuration, whose lanes are then not known. */
	uint32_t lanes = a->mix == c->mix.name ? c->mix.lanes : 0;
	struct tally tally = {.begun_ms = clock_ms()};
	struct read_output *out = NULL;
	struct metrics_listener *listener = NULL;
	struct riffle *r = NULL;
	struct riffle_info info = {.size = sizeof(info)};
	struct riffle_error e;
	enum fail_code code;
	int opened;

	assert(a->rank < a->world);
	if (properties == NULL)
		return fail_memory(f);
	if (a->metrics.address != NULL && properties_value(&c->kafka, statistics.name) == NULL)
		properties[options.properties_n++] = statistics;
	if (a->from_step_given && a->commit_every > 0)
		warn_of_going_back(&options);
	code = read_output_open(&out, to, a->format, f);
	opened = code == FAIL_NONE ? riffle_open(&r, &options, &e) : RIFFLE_OK;
	if (opened != RIFFLE_OK)
		code = fail_opening(f, &e, stop);
	if (opened == RIFFLE_ERROR_EXPIRED)
		code = fail_more_expired(f);
	if (code == FAIL_NONE) {
		riffle_get_info(r, &info);
		if (lanes != 0 && info.lanes != lanes)
			code = fail_lanes(a->mix, info.lanes, lanes, f);
	}
	if (code == FAIL_NONE && a->metrics.address != NULL)
		code = metrics_listener_open(&listener, &a->metrics, metrics_of, r, f);
	if (code == FAIL_NONE)
		code = read_mix(r, a, stop, out, to, &tally, f);
	metrics_listener_close(listener);
	if (r != NULL && a->format == READ_OUTPUT_NONE)
		print_rate(&tally);
	riffle_close(r);
	read_output_close(out);
	free(properties);
	return code;
}

/* ---- a held-out set ---- */

/* The next sequences, with an eye on signals: FAIL_STOPPED; *s NULL at the end of the set. */
static enum fail_code
next_of_set(struct riffle_validation *v, const struct read_steps_arguments *a,
    const struct stop *stop, const struct riffle_step **s, struct failure *f)
{
	int64_t begun_ms = clock_ms();
	struct riffle_error e;

	*s = NULL;
	while (!stop_asked(stop)) {
		int code = riffle_validation_next(v, SLICE_MS, s, &e);

		if (code == RIFFLE_OK || code == RIFFLE_END)
			return FAIL_NONE;
		if (code != RIFFLE_TIMEOUT ||
		    (a->timeout_s > 0 && clock_ms() - begun_ms >= (int64_t)a->timeout_s * 1000))
			return fail_riffle(f, &e);
	}
	return fail(f, FAIL_STOPPED, "stopped by a signal");
}

/* All of a set, or --steps of it; a set has no positions to commit. */
static enum fail_code
read_set(struct riffle_validation *v, const struct read_steps_arguments *a, const struct stop *stop,
    struct read_output *out, FILE *to, struct failure *f)
{
	struct tally t = {.begun_ms = clock_ms()};
	enum fail_code code = FAIL_NONE;
	const struct riffle_step *s;
	int64_t ms;

	for (; t.steps < a->steps; t.steps++) {
		code = next_of_set(v, a, stop, &s, f);
		if (code != FAIL_NONE || s == NULL)
			break;
		code = print_step(out, s, 1, stop, to, &t, f);
		if (code != FAIL_NONE)
			break;
		t.sequences += s->sequences;
		t.tokens += targets(s);
	}
	if (code == FAIL_STOPPED)
		return fail(f, code, "stopped after %" PRIu64 " sequences of the set", t.sequences);
	if (code != FAIL_NONE)
		return code;
	ms = clock_ms() - t.begun_ms;
	if (a->format == READ_OUTPUT_NONE)
		log_plain(LOG_INFO,
		    "read: domain=%s set=%s sequences=%" PRIu64 " tokens=%" PRIu64 " seconds=%.3f",
		    a->domain, names_set_text[a->set], t.sequences, t.tokens, (double)ms / 1000);
	return FAIL_NONE;
}

/* Not even an End was published: the producer has not run yet. */
static enum fail_code
fail_untouched(const struct read_steps_arguments *a, const struct config *c, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];

	names_domain_topic(topic, c->corpus, a->domain, a->set);
	return fail(f, FAIL_DATA, "topic %s holds nothing yet: `riffle %s %s` publishes it", topic,
	    config_publisher(c, a->domain), a->domain);
}

/* The library knows no configuration: adds that this one lacks the set. */
static enum fail_code
fail_opening_set(const struct read_steps_arguments *a, const struct config *c,
    const struct riffle_error *e, const struct stop *stop, struct failure *f)
{
	struct failure ignored;
	size_t d;

	if (fail_opening(f, e, stop) == FAIL_CONFIG &&
	    config_find_domain(&d, c, a->domain, &ignored) == FAIL_NONE &&
	    !topic_plan_has_set(c, &c->domains[d], a->set))
		fail_more(f, "; domain %s has no %s set in %s", a->domain, names_set_text[a->set],
		    c->path);
	return f->code;
}

enum fail_code
read_steps_set(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f)
{
	struct riffle_property *properties = properties_of(c);
	struct riffle_validation_options options = {
	    .size = sizeof(options),
	    .corpus = c->corpus,
	    .domain = a->domain,
	    .set = names_set_text[a->set],
	    .sequences = SET_SEQUENCES,
	    .token_bytes = sizeof(uint32_t),
	    .properties = properties,
	    .properties_n = c->kafka.n,
	};
	struct riffle_validation *v = NULL;
	struct read_output *out = NULL;
	struct riffle_error e;
	enum fail_code code;

	assert(a->domain != NULL);
	if (properties == NULL)
		return fail_memory(f);
	code = read_output_open(&out, to, a->format, f);
	if (code == FAIL_NONE && riffle_validation_open(&v, &options, &e) != RIFFLE_OK)
		code = fail_opening_set(a, c, &e, stop, f);
	if (code == FAIL_NONE && riffle_validation_untouched(v))
		code = fail_untouched(a, c, f);
	if (code == FAIL_NONE)
		code = read_set(v, a, stop, out, to, f);
	riffle_validation_close(v);
	read_output_close(out);
	free(properties);
	return code;
}
