/*
 * reweight_loop.h: what is read, learned, requested and saved, call by call. No broker: the feed,
 * the ledger, requests, the learner, the state file and the clock are the test's own here, and
 * write down how they are called.
 */
#include "cli/reweight/reweight_loop.h"

#include <inttypes.h>

#include "cli/reweight/reweight_state.h"
#include "common/base/clock.h"
#include "common/terminal/progress.h"
#include "consumer/admin/request.h"
#include "consumer/feedback/feedback_feed.h"
#include "tests/unit/capture.h"
#include "tests/unit/printed.h"

enum { DOMAINS = 2, NEXT_MAX = 1000, NEVER = 1 << 30 };

/* ---- what the loop works with, by script ---- */

/* A record of the feed, after so much time. `run` NULL: it is no report. */
struct record {
	const char *run;
	int64_t step;
	uint32_t rank, world;
	const char *other; /* a domain whose loss is reported, too; NULL: none */
	int64_t after_ms;
};

enum answer { ACCEPTED, REFUSED, EARLIER, EARLIER_REFUSED, NO_MIXER, NO_ANSWER, STOPPED, BROKEN };

static struct script {
	const struct record *record;
	size_t records_n, at;
	int64_t low, end; /* of the topic; offset `low` holds the first record */
	int64_t limit, later_limit;
	int64_t later_ms, ended_ms; /* from then on the limit is the later one; the mix has ended */
	bool no_ledger;
	const enum answer *answer; /* one after the other; the last one again and again */
	const char *fails;         /* the call that fails once, */
	int fails_after;           /* after so many that do not */
	int64_t stop_ms;           /* a signal comes then */
	bool shown, excess;        /* write down progress; steps have an excess */
} script;

static int64_t now_ms;
static int nexts;
static uint64_t learned;
static struct stop stop;
static char trace[8192], logged[8192];
static struct ledger_domain drawn[] = {{.name = (char[]){"books"}, .raw_weight = 1},
    {.name = (char[]){"code"}, .raw_weight = 1}, {.name = (char[]){"web"}, .raw_weight = 3}};

static void
note(const char *format, ...) /* one line */
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	n += (size_t)vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
	assert_true(n + 2 < sizeof(trace));
	memcpy(trace + n, "\n", 2);
}

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	if (script.fails == NULL || strcmp(script.fails, call) != 0 || script.fails_after-- != 0)
		return FAIL_NONE;
	return fail(f, FAIL_BROKER, "%s failed", call);
}

int64_t
clock_ms(void)
{
	return now_ms;
}

int64_t
clock_wall_ms(void)
{
	return 0;
}

void
clock_pause_ms(int64_t ms)
{
	now_ms += ms;
}

const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	(void)ms;
	out[0] = '\0';
	return out;
}

void
progress_begin(
    struct progress *p, const char *what, const char *unit, uint64_t total, uint64_t skipped)
{
	*p = (struct progress){.what = what, .unit = unit, .total = total, .skipped = skipped};
	if (script.shown)
		note("%s: of %" PRIu64 " %s, skipped %" PRIu64, what, total, unit, skipped);
}

void
progress_show(struct progress *p)
{
	if (script.shown)
		note("done %" PRIu64, p->done);
}

void
progress_end(struct progress *p)
{
	(void)p;
	if (script.shown)
		note("progress ends");
}

enum fail_code
feedback_feed_open(struct feedback_feed **out, const char *mix, const struct properties *properties,
    size_t fetch_bytes, struct failure *f)
{
	assert_int_equal(properties->n, 0);
	note("open %s %zu", mix, fetch_bytes);
	*out = (struct feedback_feed *)&script;
	return may_fail("open", f);
}

void
feedback_feed_close(struct feedback_feed *d)
{
	assert_ptr_equal((void *)d, &script);
	note("close");
}

const char *
feedback_feed_topic(const struct feedback_feed *d)
{
	(void)d;
	return "pre.feedback";
}

enum fail_code
feedback_feed_ends(struct feedback_feed *d, int64_t *low, int64_t *high, struct failure *f)
{
	(void)d;
	*low = script.low;
	*high = script.end;
	return may_fail("ends", f);
}

enum fail_code
feedback_feed_seek(struct feedback_feed *d, int64_t offset_next, struct failure *f)
{
	(void)d;
	note("seek %" PRId64, offset_next);
	script.at = (size_t)(offset_next - script.low);
	return may_fail("seek", f);
}

int64_t
feedback_feed_position(const struct feedback_feed *d)
{
	(void)d;
	return script.low + (int64_t)script.at;
}

enum fail_code
feedback_feed_next(struct feedback_feed *d, int timeout_ms, struct feedback_feed_record *out,
    bool *any, struct failure *f)
{
	static char mix[] = "pre", code[] = "code", web[] = "web", run[32], other[32];
	static struct feedback_loss loss[] = {{code, 4, 1, 2}, {web, 30, 2, 10}, {other, 1, 0, 1}};
	static struct feedback b = {.mix = mix, .run = run, .loss = loss};
	const struct record *r;

	(void)d;
	assert_true(++nexts < NEXT_MAX); /* the loop ends */
	*any = script.at < script.records_n;
	r = *any ? &script.record[script.at] : NULL;
	now_ms += r != NULL ? r->after_ms : timeout_ms;
	if (script.stop_ms > 0 && now_ms >= script.stop_ms)
		stop_ask(&stop);
	if (r == NULL)
		return may_fail("next", f);
	*out = (struct feedback_feed_record){.offset = feedback_feed_position(d)};
	script.at++;
	snprintf(out->reason, sizeof(out->reason), "no magic");
	if (r->run == NULL)
		return FAIL_NONE;
	snprintf(run, sizeof(run), "%s", r->run);
	snprintf(other, sizeof(other), "%s", r->other == NULL ? "" : r->other);
	b.step = r->step;
	b.rank = r->rank;
	b.world = r->world;
	b.losses_n = r->other == NULL ? 2 : 3;
	out->feedback = &b;
	return may_fail("next", f);
}

/* The state of the mix now, with domains that are the test's. */
static struct ledger
ledger_now(void)
{
	return (struct ledger){.domains_n = sizeof(drawn) / sizeof(drawn[0]),
	    .domain = drawn,
	    .step_next = now_ms >= script.later_ms ? script.later_limit : script.limit,
	    .kind = now_ms >= script.ended_ms ? LEDGER_END : LEDGER_STEPS};
}

enum fail_code
ledger_log_last(struct ledger_log *l, struct ledger *out, bool *any, struct failure *f)
{
	assert_ptr_equal((void *)l, &script);
	note("ledger at %" PRId64, now_ms);
	if (may_fail("ledger", f) != FAIL_NONE)
		return f->code;
	*any = !script.no_ledger;
	if (*any) {
		*out = ledger_now();
		out->domain = calloc(out->domains_n, sizeof(*out->domain));
		assert_non_null(out->domain);
		for (size_t i = 0; i < out->domains_n; i++)
			out->domain[i].name = strdup(drawn[i].name);
	}
	return FAIL_NONE;
}

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	assert_int_equal(o->properties->n, 0);
	assert_ptr_equal(o->stop, &stop);
	note("request to %s at %" PRId64, o->mix, now_ms);
	*out = (struct request *)&script;
	return may_fail("request", f);
}

void
request_close(struct request *r)
{
	assert_ptr_equal((void *)r, &script);
}

const struct ledger *
request_ledger(const struct request *r)
{
	static struct ledger last;

	(void)r;
	last = ledger_now();
	return &last;
}

void
request_who(char out[static REQUEST_WHO_BYTES])
{
	snprintf(out, REQUEST_WHO_BYTES, "me@host");
}

static enum answer
answer(void)
{
	return script.answer == NULL ? ACCEPTED : *script.answer;
}

static void
fill_answer(struct ledger_answer *out, bool accepted)
{
	*out = (struct ledger_answer){.accepted = accepted, .step = 77};
	if (!accepted)
		out->text = strdup("no room");
}

enum fail_code
request_earlier(
    struct request *r, const char *id, struct ledger_answer *out, bool *found, struct failure *f)
{
	(void)r;
	*found = answer() == EARLIER || answer() == EARLIER_REFUSED;
	if (*found) {
		note("earlier %s", id);
		fill_answer(out, answer() == EARLIER);
		script.answer++;
	}
	return may_fail("earlier", f);
}

enum fail_code
request_send(struct request *r, const struct control *c, size_t n, struct failure *f)
{
	(void)r;
	note("send %zu: %d at step %" PRId64 ", partition %d, %s by %s", n, (int)c->kind,
	    c->at_step, (int)c->partition, c->id, c->who);
	for (size_t i = 0; i < c->weights_n; i++)
		note("  %s %.12g", c->weight[i].domain, c->weight[i].weight);
	return may_fail("send", f);
}

bool
request_without_mixer(const struct request *r)
{
	bool without = answer() == NO_MIXER;

	(void)r;
	script.answer += without;
	return without;
}

enum fail_code
request_wait(struct request *r, const struct control *c, size_t n, struct ledger_answer *out,
    int timeout_ms, struct failure *f)
{
	enum answer a = answer();

	(void)r;
	note("wait %zu", n);
	if (script.answer != NULL)
		script.answer++;
	if (a == NO_ANSWER) {
		now_ms += timeout_ms;
		return fail(f, FAIL_TIMEOUT, "request %s is open", c->id);
	}
	if (a == STOPPED) {
		stop_ask(&stop);
		return fail(f, FAIL_STOPPED, "stopped");
	}
	if (a == BROKEN)
		return fail(f, FAIL_DATA, "the mix has ended");
	fill_answer(out, a == ACCEPTED);
	return may_fail("wait", f);
}

void
reweight_step(struct reweight *r, const struct losses_step *step)
{
	r->excess_seen = r->excess_seen || script.excess;
	learned++;
	note("learn %" PRId64 ": world %u, tokens %d %d", step->step, step->world,
	    (int)step->sum[0].tokens, (int)step->sum[1].tokens);
}

uint64_t
reweight_steps(const struct reweight *r)
{
	(void)r;
	return learned;
}

void
reweight_weights(const struct reweight *r, double *out)
{
	(void)r;
	out[0] = 0.4;
	out[1] = 0.6;
}

enum fail_code
reweight_state_save(const struct reweight_job *job, struct failure *f)
{
	note("save at %" PRId64 ": next %" PRId64 ", counted %" PRId64 ", step %" PRId64
	     ", asked %" PRIu64 ", refused %" PRIu64 ", reports %" PRIu64,
	    now_ms, job->offset_next, job->offset_counted, job->step_next, job->asked, job->refused,
	    job->counts.reports);
	return may_fail("save", f);
}

/* ---- a learning ---- */

static const struct config config;
static char *names[DOMAINS] = {(char[]){"code"}, (char[]){"web"}};

static const struct reweight_job_arguments usual = {.mix = "pre",
    .run = "main",
    .method = REWEIGHT_ODM,
    .every = 2,
    .interval_s = 10,
    .until_step = INT64_MAX};

static struct reweight_job
opened(const struct reweight_job_arguments *a)
{
	static struct reweight learner;

	learner.excess_seen = false;
	learned = 0;
	return (struct reweight_job){.a = a,
	    .config = &config,
	    .domain = names,
	    .domains_n = DOMAINS,
	    .learner = &learner,
	    .id = "00000000000000ab",
	    .last_step = -1};
}

static enum fail_code
loop_run(struct reweight_job *job, const struct script *s)
{
	struct capture log;
	enum fail_code code;

	script = *s;
	now_ms = 100000;
	nexts = 0;
	trace[0] = '\0';
	stop = (struct stop){0};
	if (script.later_ms == 0)
		script.later_ms = NEVER;
	if (script.ended_ms == 0)
		script.ended_ms = NEVER;
	f = (struct failure){0};
	capture_begin(&log);
	code = reweight_loop(job, (struct ledger_log *)&script, &stop, &f);
	capture_end_lines(&log, logged, sizeof(logged));
	return code;
}

/* The lines of the log without their times. */
static void
logged_is(const char *expected)
{
	char lines[sizeof(logged)] = "";
	size_t n = 0;

	for (char *rest = NULL, *line = strtok_r(logged, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest))
		n += (size_t)snprintf(lines + n, sizeof(lines) - n, "%s\n", strchr(line, ' ') + 1);
	printed_compare(lines, expected);
}

#define RECORDS(r) .record = (r), .records_n = sizeof(r) / sizeof((r)[0])

#define RANK(run, step, rank, world)                                                               \
	{                                                                                          \
		run, step, rank, world, NULL, 0                                                    \
	}
/* A step whose only rank reports it, after so much time. */
#define WHOLE(step, after_ms)                                                                      \
	{                                                                                          \
		"main", step, 0, 1, NULL, after_ms                                                 \
	}

#define BEGUN         "open pre 0\nseek 0\nledger at 100000\n"
#define LEARNED(step) "learn " step ": world 1, tokens 2 10\n"
#define SENT(steps, at)                                                                            \
	"ledger at " at "\nrequest to pre at " at "\nsend 1: 0 at step -1, partition -1, "         \
	"reweight-00000000000000ab-" steps " by me@host\n  code 1.6\n  web 2.4\n"

/* ---- off line ---- */

static void
test_all_that_was_reported_is_learned_and_saved(void **unused)
{
	static const struct record records[] = {RANK("main", 0, 0, 2), RANK("main", 0, 1, 2),
	    RANK(NULL, 0, 0, 0), RANK(NULL, 0, 0, 0), RANK("mine", 1, 0, 1),
	    {"main", 1, 0, 2, "wep", 0}, {"main", 2, 1, 2, "wap", 0}, RANK("main", 2, 0, 2),
	    RANK("main", 9, 0, 2), RANK("main", 3, 0, 2), RANK("main", 3, 1, 2)};
	const struct script s = {RECORDS(records), .end = 10, .limit = 4, .shown = true};
	struct reweight_job job = opened(&usual);

	(void)unused;
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	printed_compare(trace,
	    BEGUN "reweight: of 10 records, skipped 0\n"
		  "done 1\n"
		  "learn 0: world 2, tokens 4 20\n"
		  "done 2\n"
		  "done 3\n"
		  "done 4\n"
		  "done 5\n"
		  "ledger at 100000\n"
		  "done 6\n"
		  "done 7\n"
		  "done 8\n"
		  "ledger at 100000\n"
		  "done 9\n"
		  "done 10\n"
		  "learn 2: world 2, tokens 4 20\n"
		  "progress ends\n"
		  "save at 100000: next 9, counted 10, step 3, asked 0, refused 0, reports 6\n"
		  "close\n");
	logged_is(
	    "warning reweight: REWEIGHT-MALFORMED topic=pre.feedback offset=2: no magic\n"
	    "warning reweight: REWEIGHT-DOMAIN rank 0 of run main reports losses that are dropped: "
	    "mix pre has no domain wep (did you mean web?); it has books, code, web\n");
	assert_int_equal(job.last_step, 2);
	assert_true(job.last.loss == 34.0 / 12 && job.last.excess == 3.0 / 12);
	assert_int_equal(job.last.tokens, 24);
	assert_int_equal(job.counts.reports, 6);
}

static void
test_reading_begins_where_the_last_run_stopped(void **unused)
{
	static const struct record records[] = {RANK("main", 5, 0, 2), RANK("main", 6, 0, 2),
	    RANK("main", 5, 1, 2), RANK("other", 6, 0, 2), RANK(NULL, 0, 0, 0),
	    RANK("main", 6, 1, 2)};
	const struct script s = {RECORDS(records), .low = 10, .end = 16, .limit = 7, .shown = true};
	struct reweight_job job = opened(&usual);

	(void)unused;
	job.offset_next = 11;
	job.offset_counted = 15; /* all but the last report were counted */
	job.step_next = 6;
	job.counts = (struct losses_counts){.reports = 30, .late = 31, .malformed = 32};
	learned = 6;
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	printed_compare(trace,
	    "open pre 0\n"
	    "seek 11\n"
	    "ledger at 100000\n"
	    "reweight: of 16 records, skipped 11\n"
	    "done 1\n"
	    "done 2\n"
	    "done 3\n"
	    "done 4\n"
	    "learn 6: world 2, tokens 4 20\n"
	    "done 5\n"
	    "progress ends\n"
	    "save at 100000: next 16, counted 16, step 7, asked 0, refused 0, reports 31\n"
	    "close\n");
	logged_is("");
	assert_int_equal(job.counts.late, 31);
	assert_int_equal(job.counts.malformed, 32);
	assert_int_equal(job.counts.other_run, 0);
}

static void
test_reports_that_are_gone_are_missed(void **unused)
{
	static const struct record records[] = {WHOLE(0, 0), WHOLE(1, 0)};
	static const struct {
		int64_t low, offset_next;
		enum fail_code code;
		const char *trace, *said; /* the failure, or what is logged */
	} rows[] = {
	    {0, 0, FAIL_NONE,
		BEGUN LEARNED("0") LEARNED("1") "save at 100000: next 2, counted 2, step 2, asked "
						"0, refused 0, reports 2\n"
						"close\n",
		""},
	    {8, 0, FAIL_NONE,
		"open pre 0\n"
		"seek 8\n"
		"ledger at 100000\n" LEARNED("0")
		    LEARNED("1") "save at 100000: next 10, counted 10, step 2, asked 0, refused 0, "
				 "reports 2\n"
				 "close\n",
		""},
	    {8, 7, FAIL_NONE,
		"open pre 0\n"
		"seek 8\n"
		"ledger at 100000\n" LEARNED("0")
		    LEARNED("1") "save at 100000: next 10, counted 10, step 2, asked 0, refused 0, "
				 "reports 2\n"
				 "close\n",
		"warning reweight: REWEIGHT-GAP topic=pre.feedback reports in 7..8 were deleted "
		"before they were read\n"},
	    {8, 8, FAIL_NONE,
		"open pre 0\n"
		"seek 8\n"
		"ledger at 100000\n" LEARNED("0")
		    LEARNED("1") "save at 100000: next 10, counted 10, step 2, asked 0, refused 0, "
				 "reports 2\n"
				 "close\n",
		""},
	    {8, 9, FAIL_NONE,
		"open pre 0\n"
		"seek 9\n"
		"ledger at 100000\n" LEARNED("1") "save at 100000: next 10, counted 10, step 2, "
						  "asked 0, refused 0, reports 1\n"
						  "close\n",
		""},
	    {8, 10, FAIL_NONE,
		"open pre 0\n"
		"seek 10\n"
		"ledger at 100000\n"
		"save at 100000: next 10, counted 10, step 0, asked 0, refused 0, reports 0\n"
		"close\n",
		""},
	    {8, 11, FAIL_DATA,
		"open pre 0\n"
		"close\n",
		"topic pre.feedback ends at offset 10, and what was learned rests on reports up to "
		"11: the topic was recreated; start over with --anew"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, trace) {
		const struct script s = {
		    RECORDS(records), .low = rows[i].low, .end = rows[i].low + 2, .limit = 9};
		struct reweight_job job = opened(&usual);

		job.offset_next = job.offset_counted = rows[i].offset_next;
		learned = 1;
		assert_int_equal(loop_run(&job, &s), rows[i].code);
		printed_compare(trace, rows[i].trace);
		if (rows[i].code == FAIL_NONE)
			logged_is(rows[i].said);
		else
			assert_string_equal(f.text, rows[i].said);
	}
}

static void
test_steps_from_until_step_on_are_not_learned(void **unused)
{
	static const struct record near[] = {WHOLE(0, 0), WHOLE(1, 0), WHOLE(2, 0), WHOLE(3, 0)},
				   far[] = {WHOLE(0, 0), WHOLE(5, 0), WHOLE(6, 0)};
	static const struct {
		const char *trace;
		const struct record *record;
		size_t n;
	} rows[] = {
	    {BEGUN LEARNED("0") LEARNED(
		 "1") "save at 100000: next 2, counted 2, step 2, asked 0, refused 0, reports 2\n"
		      "close\n",
		near, 4},
	    {BEGUN LEARNED(
		 "0") "save at 100000: next 2, counted 2, step 6, asked 0, refused 0, reports 2\n"
		      "close\n",
		far, 3},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, trace) {
		const struct script s = {
		    .record = rows[i].record, .records_n = rows[i].n, .end = 4, .limit = 9};
		struct reweight_job_arguments a = usual;
		struct reweight_job job;

		a.until_step = 2;
		job = opened(&a);
		assert_int_equal(loop_run(&job, &s), FAIL_NONE);
		printed_compare(trace, rows[i].trace);
		assert_int_equal(job.last_step, i == 0 ? 1 : 0);
	}
}

static void
test_why_there_is_nothing_to_learn_from(void **unused)
{
	static const struct record none[] = {RANK(NULL, 0, 0, 0)},
				   others[] = {RANK("mail", 0, 0, 1), RANK("eval", 0, 0, 1),
				       RANK("mail", 1, 0, 1), RANK(NULL, 0, 0, 0)},
				   many[] = {RANK("r0", 0, 0, 1), RANK("r1", 0, 0, 1),
				       RANK("r2", 0, 0, 1), RANK("r3", 0, 0, 1),
				       RANK("r4", 0, 0, 1), RANK("r5", 0, 0, 1),
				       RANK("r6", 0, 0, 1), RANK("r7", 0, 0, 1),
				       RANK("r8", 0, 0, 1)},
				   open[] = {RANK("main", 0, 0, 2), RANK("main", 9, 0, 2),
				       RANK("eval", 0, 0, 1), RANK(NULL, 0, 0, 0),
				       RANK(NULL, 0, 0, 0)},
				   unknown[] = {WHOLE(9, 0)};
	static const struct {
		const char *says;
		const struct record *record;
		size_t n;
	} rows[] = {
	    {"topic pre.feedback: run main has reported nothing: give losses to reader.trained(). "
	     "0 reports are of other runs, 0 are malformed",
		none, 0},
	    {"topic pre.feedback: run main has reported nothing: give losses to reader.trained(). "
	     "0 reports are of other runs, 1 are malformed",
		none, 1},
	    {"topic pre.feedback: run main has reported nothing: give losses to reader.trained(). "
	     "3 reports are of other runs, 1 are malformed (did you mean mail?); other runs are "
	     "mail, eval",
		others, 4},
	    {"topic pre.feedback: run main has reported nothing: give losses to reader.trained(). "
	     "9 reports are of other runs, 0 are malformed; other runs are r0, r1, r2, r3, r4, r5, "
	     "r6, r7",
		many, 9},
	    {"topic pre.feedback: no step was reported by all ranks of run main: 1 reports were of "
	     "it, 1 of other runs, 1 of steps that the mix has not published, 2 malformed; other "
	     "runs are eval",
		open, 5},
	    {"topic pre.feedback: no step was reported by all ranks of run main: 0 reports were of "
	     "it, 0 of other runs, 1 of steps that the mix has not published, 0 malformed",
		unknown, 1},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct script s = {.record = rows[i].record,
		    .records_n = rows[i].n,
		    .end = (int64_t)rows[i].n,
		    .limit = 9};
		struct reweight_job job = opened(&usual);

		assert_int_equal(loop_run(&job, &s), FAIL_DATA);
		assert_string_equal(f.text, rows[i].says);
		assert_null(strstr(trace, "save"));
		s.end++; /* a signal comes before more: that nothing was learned is no failure */
		s.stop_ms = 100001;
		job = opened(&usual);
		assert_int_equal(loop_run(&job, &s), FAIL_NONE);
		assert_non_null(strstr(logged, "info reweight: nothing was learned: "));
		assert_non_null(strstr(logged, rows[i].says));
		assert_null(strstr(trace, "save"));
	}
}

/* A signal ends the reading where it is: what is complete after an open step is kept for later. */
static void
test_a_signal_saves_what_is_learned(void **unused)
{
	static const struct record records[] = {
	    WHOLE(0, 0), RANK("main", 1, 0, 2), WHOLE(2, 5), WHOLE(3, 0)};
	const struct script s = {RECORDS(records), .end = 4, .limit = 9, .stop_ms = 100005};
	struct reweight_job job = opened(&usual);

	(void)unused;
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	printed_compare(trace,
	    BEGUN LEARNED(
		"0") "save at 100005: next 1, counted 3, step 1, asked 0, refused 0, reports 3\n"
		     "close\n");
	logged_is("");
}

static void
test_doremi_needs_an_excess(void **unused)
{
	static const struct record records[] = {WHOLE(0, 0), WHOLE(1, 0)};
	struct script s = {RECORDS(records), .end = 2, .limit = 9};
	struct reweight_job_arguments a = usual;
	struct reweight_job job;

	(void)unused;
	a.method = REWEIGHT_DOREMI;
	job = opened(&a);
	assert_int_equal(loop_run(&job, &s), FAIL_DATA);
	assert_string_equal(f.text,
	    "2 steps of run main were reported, and no excess above 0 in any: DoReMi needs "
	    "trainers that report their loss over a reference's; --method odm needs none");
	assert_null(strstr(trace, "save"));
	s.excess = true;
	job = opened(&a);
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	assert_non_null(strstr(trace, "save"));
	s.excess = false; /* live, it is found before the first request */
	a.live = true;
	job = opened(&a);
	assert_int_equal(loop_run(&job, &s), FAIL_DATA);
	assert_null(strstr(trace, "request"));
}

/* ---- live ---- */

static struct reweight_job_arguments
live(uint64_t every, uint64_t interval_s)
{
	struct reweight_job_arguments a = usual;

	a.live = true;
	a.every = every;
	a.interval_s = interval_s;
	return a;
}

static void
test_learned_weights_are_requested_of_the_mix(void **unused)
{
	static const struct record records[] = {WHOLE(0, 0), WHOLE(1, 0), WHOLE(2, 0), WHOLE(3, 0),
	    WHOLE(4, 0), WHOLE(5, 6000), WHOLE(6, 3999), WHOLE(7, 1), WHOLE(8, 1)};
	const struct script s = {RECORDS(records), .end = 2, .limit = 6, .later_ms = 106001,
	    .later_limit = 9, .ended_ms = 110001, .shown = true};
	const struct reweight_job_arguments a = live(2, 10);
	struct reweight_job job = opened(&a);

	(void)unused;
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	printed_compare(trace,
	    BEGUN "reweight: of 0 learned_steps, skipped 0\n" LEARNED("0") "done 1\n" LEARNED(
		"1") SENT("2",
		"100000") "wait 1\n"
			  "save at 100000: next 2, counted 2, step 2, asked 1, refused 0, reports "
			  "2\n"
			  "done 2\n" LEARNED("2") "done 3\n" LEARNED("3") "done 4\n" LEARNED(
			      "4") "done 5\n" LEARNED("5") "ledger at 106000\n"
							   "done 6\n"
							   "ledger at 109999\n" LEARNED(
							       "6") "done 7\n" LEARNED("7")
							       SENT("8",
								   "110000") "wait 1\n"
									     "save at 110000: next "
									     "8, counted 8, step "
									     "8, asked 2, refused "
									     "0, reports 8\n"
									     "done 8\n" LEARNED(
										 "8") "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "done 9\n"
										      "ledger at "
										      "112001\n"
										      "done 9\n"
										      "progress "
										      "ends\n"
										      "save at "
										      "112001: "
										      "next 9, "
										      "counted 9, "
										      "step 9, "
										      "asked 2, "
										      "refused 0, "
										      "reports 9\n"
										      "close\n");
	logged_is("info reweight: mix=pre learned_steps=2 id=reweight-00000000000000ab-2 "
		  "effective_step=77\n"
		  "info reweight: mix=pre learned_steps=8 id=reweight-00000000000000ab-8 "
		  "effective_step=77\n");
	assert_int_equal(job.asked, 2);
}

static void
test_requests_count_from_the_last_multiple_of_every(void **unused)
{
	static const struct record records[] = {WHOLE(7, 0), WHOLE(8, 0), WHOLE(9, 0)};
	const struct script ended = {RECORDS(records), .limit = 10, .ended_ms = 1};
	const struct script running = {
	    RECORDS(records), .limit = 20, .stop_ms = 100200, .shown = true};
	const struct reweight_job_arguments a = live(3, 0);
	struct reweight_job job = opened(&a);

	(void)unused;
	job.step_next = 7;
	learned = 7; /* 6 were when it was asked: two more are needed */
	assert_int_equal(loop_run(&job, &running), FAIL_NONE);
	printed_compare(trace, BEGUN
	    "reweight: of 0 learned_steps, skipped 7\n" LEARNED("7") "done 1\n" LEARNED("8") SENT(
		"9", "100000") "wait 1\n"
			       "save at 100000: next 2, counted 2, step 9, asked 1, refused 0, "
			       "reports 2\n"
			       "done 2\n" LEARNED("9") "done 3\n"
						       "done 3\n"
						       "progress ends\n"
						       "save at 100200: next 3, counted 3, step "
						       "10, asked 1, refused 0, reports 3\n"
						       "close\n");
	job = opened(&a);
	job.step_next = 7;
	learned = 7;
	assert_int_equal(loop_run(&job, &ended), FAIL_NONE);
	printed_compare(trace,
	    BEGUN LEARNED("7") LEARNED("8") LEARNED(
		"9") "save at 100000: next 3, counted 3, step 10, asked 0, refused 0, reports 3\n"
		     "close\n");
}

static void
test_what_the_mix_answers(void **unused)
{
	static const struct record records[] = {
	    WHOLE(0, 1), WHOLE(1, 1), WHOLE(2, 1), WHOLE(3, 1), WHOLE(4, 1), WHOLE(5, 1)};
	static const struct {
		enum answer answer[6];
		int64_t ended_ms;
		enum fail_code code;
		const char *failure;
		uint64_t asked, refused;
		const char *trace, *logged;
	} rows[] = {
	    {{REFUSED, REFUSED, REFUSED}, 100007, FAIL_DATA,
		"3 requests in a row; the last one: request reweight-00000000000000ab-3 was "
		"refused: no room",
		3, 3,
		BEGUN LEARNED("0")
		    SENT("1", "100001") "wait 1\n"
					"save at 100001: next 1, counted 1, step 1, asked 1, "
					"refused 1, reports 1\n" LEARNED("1") SENT("2",
					    "100002") "wait 1\n"
						      "save at 100002: next 2, counted 2, step 2, "
						      "asked 2, refused 2, reports 2\n" LEARNED("2")
							  SENT("3", "100003") "wait 1\n"
									      "close\n",
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-1 was "
		"refused: no room\n"
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-2 was "
		"refused: no room\n"},
	    {{REFUSED, REFUSED, ACCEPTED, REFUSED, REFUSED, ACCEPTED}, 100007, FAIL_NONE, "", 6, 4,
		/* clang-format off */
		BEGUN
		LEARNED("0")
		SENT("1", "100001")
		"wait 1\n"
		"save at 100001: next 1, counted 1, step 1, asked 1, refused 1, reports 1\n"
		LEARNED("1")
		SENT("2", "100002")
		"wait 1\n"
		"save at 100002: next 2, counted 2, step 2, asked 2, refused 2, reports 2\n"
		LEARNED("2")
		SENT("3", "100003")
		"wait 1\n"
		"save at 100003: next 3, counted 3, step 3, asked 3, refused 2, reports 3\n"
		LEARNED("3")
		SENT("4", "100004")
		"wait 1\n"
		"save at 100004: next 4, counted 4, step 4, asked 4, refused 3, reports 4\n"
		LEARNED("4")
		SENT("5", "100005")
		"wait 1\n"
		"save at 100005: next 5, counted 5, step 5, asked 5, refused 4, reports 5\n"
		LEARNED("5")
		SENT("6", "100006")
		"wait 1\n"
		"save at 100006: next 6, counted 6, step 6, asked 6, refused 4, reports 6\n"
		"ledger at 102006\n"
		"save at 102006: next 6, counted 6, step 6, asked 6, refused 4, reports 6\n"
		"close\n",
		/* clang-format on */
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-1 was "
		"refused: no room\n"
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-2 was "
		"refused: no room\n"
		"info reweight: mix=pre learned_steps=3 id=reweight-00000000000000ab-3 "
		"effective_step=77\n"
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-4 was "
		"refused: no room\n"
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-5 was "
		"refused: no room\n"
		"info reweight: mix=pre learned_steps=6 id=reweight-00000000000000ab-6 "
		"effective_step=77\n"},
	    {{EARLIER, EARLIER_REFUSED, NO_MIXER, NO_ANSWER, STOPPED}, NEVER, FAIL_NONE, "", 2, 1,
		BEGUN LEARNED(
		    "0") "ledger at 100001\n"
			 "request to pre at 100001\n"
			 "earlier reweight-00000000000000ab-1\n"
			 "save at 100001: next 1, counted 1, step 1, asked 1, refused 0, reports "
			 "1\n" LEARNED(
			     "1") "ledger at 100002\n"
				  "request to pre at 100002\n"
				  "earlier reweight-00000000000000ab-2\n"
				  "save at 100002: next 2, counted 2, step 2, asked 2, refused 1, "
				  "reports 2\n" LEARNED("2") SENT("3", "100003") LEARNED("3") SENT(
				      "4", "100004") "wait 1\n"
						     "ledger at 130004\n"
						     "save at 130004: next 4, counted 4, step 4, "
						     "asked 2, refused 1, reports 4\n" LEARNED("4")
							 SENT("5",
							     "130005") "wait 1\n"
								       "save at 130005: next 5, "
								       "counted 5, step 5, asked "
								       "2, refused 1, reports 5\n"
								       "close\n",
		"info reweight: mix=pre learned_steps=1 id=reweight-00000000000000ab-1 "
		"effective_step=77\n"
		"warning reweight: REWEIGHT-REFUSED request reweight-00000000000000ab-2 was "
		"refused: no room\n"
		"warning reweight: REWEIGHT-NO-ANSWER request reweight-00000000000000ab-3 is open: "
		"no mixer runs\n"
		"warning reweight: REWEIGHT-NO-ANSWER request reweight-00000000000000ab-4 is "
		"open\n"},
	    {{ACCEPTED, BROKEN}, NEVER, FAIL_DATA, "the mix has ended", 1, 0,
		BEGUN LEARNED("0") SENT("1", "100001") "wait 1\n"
						       "save at 100001: next 1, counted 1, step 1, "
						       "asked 1, refused 0, reports 1\n" LEARNED(
							   "1") SENT("2", "100002") "wait 1\n"
										    "close\n",
		"info reweight: mix=pre learned_steps=1 id=reweight-00000000000000ab-1 "
		"effective_step=77\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, trace) {
		const struct script s = {RECORDS(records), .limit = 6, .ended_ms = rows[i].ended_ms,
		    .answer = rows[i].answer};
		const struct reweight_job_arguments a = live(1, 0);
		struct reweight_job job = opened(&a);

		assert_int_equal(loop_run(&job, &s), rows[i].code);
		if (rows[i].code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
		printed_compare(trace, rows[i].trace);
		logged_is(rows[i].logged);
		assert_int_equal(job.asked, rows[i].asked);
		assert_int_equal(job.refused, rows[i].refused);
	}
}

/* Domains that are not drawn any more are not named; all others keep their sum. */
static void
test_weights_keep_the_sum_of_the_domains_that_are_learned(void **unused)
{
	static const struct record records[] = {WHOLE(0, 1)};
	static const struct {
		const char *sent;
		enum ledger_domain_state code, web;
		double code_weight, web_weight;
	} rows[] = {
	    {"\n  code 1.6\n  web 2.4\n", LEDGER_ACTIVE, LEDGER_ACTIVE, 1, 3},
	    {"\n  code 1.6\n  web 2.4\n", LEDGER_JOINING, LEDGER_ACTIVE, 0, 4},
	    {"\n  code 1\n", LEDGER_ACTIVE, LEDGER_LEFT, 1, 3},
	    {"\n  web 3\n", LEDGER_DROPPED, LEDGER_ACTIVE, 1, 3},
	    {"\n  code 0.4\n  web 0.6\n", LEDGER_ACTIVE, LEDGER_ACTIVE, 0, 0},
	    {"me@host\nwait", LEDGER_DROPPED, LEDGER_LEFT, 1, 3},
	};
	const struct ledger_domain code = drawn[1], web = drawn[2];

	(void)unused;
	EACH_NAMED_ROW(i, rows, sent) {
		const struct script s = {RECORDS(records), .limit = 1, .ended_ms = 100002};
		const struct reweight_job_arguments a = live(1, 0);
		struct reweight_job job = opened(&a);

		drawn[1].state = rows[i].code;
		drawn[2].state = rows[i].web;
		drawn[1].raw_weight = rows[i].code_weight;
		drawn[2].raw_weight = rows[i].web_weight;
		assert_int_equal(loop_run(&job, &s), FAIL_NONE);
		assert_non_null(strstr(trace, rows[i].sent));
		drawn[1] = code;
		drawn[2] = web;
	}
}

/* Without reports: looks every 2 s, saves every 10 s, and 30 s after the mix's end it ends. */
static void
test_what_time_alone_makes_due(void **unused)
{
	static const struct record records[] = {WHOLE(0, 300)};
	const struct script s = {RECORDS(records), .limit = 3, .ended_ms = 105000};
	const struct reweight_job_arguments a = live(100, 0);
	struct reweight_job job = opened(&a);

	(void)unused;
	assert_int_equal(loop_run(&job, &s), FAIL_NONE);
	printed_compare(trace,
	    BEGUN LEARNED(
		"0") "ledger at 102100\n"
		     "ledger at 104100\n"
		     "ledger at 106100\n"
		     "ledger at 108100\n"
		     "ledger at 110100\n"
		     "save at 110100: next 1, counted 1, step 1, asked 0, refused 0, reports 1\n"
		     "ledger at 112100\n"
		     "ledger at 114100\n"
		     "ledger at 116100\n"
		     "ledger at 118100\n"
		     "ledger at 120100\n"
		     "save at 120100: next 1, counted 1, step 1, asked 0, refused 0, reports 1\n"
		     "ledger at 122100\n"
		     "ledger at 124100\n"
		     "ledger at 126100\n"
		     "ledger at 128100\n"
		     "ledger at 130100\n"
		     "save at 130100: next 1, counted 1, step 1, asked 0, refused 0, reports 1\n"
		     "save at 130300: next 1, counted 1, step 1, asked 0, refused 0, reports 1\n"
		     "close\n");
	logged_is("");
}

/* ---- failures ---- */

static void
test_a_failure_ends_the_loop(void **unused)
{
	static const struct record records[] = {
	    WHOLE(0, 1), {"main", 1, 0, 1, "wep", 0}, WHOLE(3, 0)};
	static const struct {
		const char *call;
		int after;
	} rows[] = {
	    {"open", 0}, {"ends", 0}, {"seek", 0}, {"ledger", 0}, /* at the start */
	    {"ledger", 1},                                        /* before a request */
	    {"ledger", 2}, /* for the domain that the mix does not have */
	    {"ledger", 4}, /* for a step that it had not published */
	    {"ledger", 5}, /* after 2 s */
	    {"next", 0}, {"next", 20}, {"request", 0}, {"request", 1}, {"earlier", 0}, {"send", 0},
	    {"wait", 0}, {"save", 0}, /* after an answer */
	    {"save", 2},              /* after 10 s */
	    {"save", 4},              /* at the end */
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, call) {
		const struct script s = {RECORDS(records), .limit = 3, .fails = rows[i].call,
		    .fails_after = rows[i].after, .stop_ms = 125000};
		const struct reweight_job_arguments a = live(1, 0);
		struct reweight_job job = opened(&a);
		char expected[32];

		assert_int_equal(loop_run(&job, &s), FAIL_BROKER);
		snprintf(expected, sizeof(expected), "%s failed", rows[i].call);
		assert_string_equal(f.text, expected);
		assert_non_null(strstr(trace, "\nclose\n"));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_that_was_reported_is_learned_and_saved),
	    cmocka_unit_test(test_reading_begins_where_the_last_run_stopped),
	    cmocka_unit_test(test_reports_that_are_gone_are_missed),
	    cmocka_unit_test(test_steps_from_until_step_on_are_not_learned),
	    cmocka_unit_test(test_why_there_is_nothing_to_learn_from),
	    cmocka_unit_test(test_a_signal_saves_what_is_learned),
	    cmocka_unit_test(test_doremi_needs_an_excess),
	    cmocka_unit_test(test_learned_weights_are_requested_of_the_mix),
	    cmocka_unit_test(test_requests_count_from_the_last_multiple_of_every),
	    cmocka_unit_test(test_what_the_mix_answers),
	    cmocka_unit_test(test_weights_keep_the_sum_of_the_domains_that_are_learned),
	    cmocka_unit_test(test_what_time_alone_makes_due),
	    cmocka_unit_test(test_a_failure_ends_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
