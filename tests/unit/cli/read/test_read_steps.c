/*
 * read_steps.h: what is read, printed and committed, and how a reading ends. No broker: libriffle
 * and the clock are the test's own here, and give what a script says.
 */
#include "cli/read/read_steps.h"

#include <errno.h>

#include "common/base/clock.h"
#include "consumer/reader/riffle_internal.h"
#include "tests/unit/capture.h"

/* ---- a library and a clock by script ---- */

/*
 * What each call gives, a letter each; the last one again and again. "o": a step, or a commit that
 * is done; "e": the end; "t": a time-out; "b": no broker; "x": expired; "s": a signal comes, and a
 * time-out; "S": a signal comes, and a step or a commit.
 */
static struct script {
	const char *open, *next, *flush;
	uint64_t position, first;
	int64_t now_ms;
	uint32_t lanes;
	uint64_t committed; /* of the run, before; UINT64_MAX: not known */
	bool untouched;
	int writes;      /* that are done before a signal ends one; 0: all are */
	char trace[512]; /* "r": a step was given; "cN": a commit of N was asked for, "!" done */
} script;
static struct stop stop;

static const struct riffle_sequence sequences[] = {
    {.domain = "web", .used = 5}, {.domain = "web", .used = 3}};
static const uint32_t tokens[10];

int64_t
clock_ms(void)
{
	return script.now_ms;
}

int64_t
clock_wall_ms(void)
{
	return 0;
}

void
clock_pause_ms(int64_t ms)
{
	script.now_ms += ms;
}

const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	(void)ms;
	out[0] = '\0';
	return out;
}

static void
trace(const char *what)
{
	size_t n = strlen(script.trace);

	snprintf(script.trace + n, sizeof(script.trace) - n, "%s", what);
}

static int
play(const char **events, int timeout_ms, struct riffle_error *e)
{
	char event = **events;

	if ((*events)[1] != '\0')
		++*events;
	if (event == 's' || event == 'S')
		stop_ask(&stop);
	snprintf(e->text, sizeof(e->text), "said %c", event);
	switch (event) {
	case 'o':
	case 'S': return e->code = RIFFLE_OK;
	case 'e': return e->code = RIFFLE_END;
	case 'b': return e->code = RIFFLE_ERROR_BROKER;
	case 'x':
		snprintf(e->text, sizeof(e->text), "gone: the earliest retained step is 70");
		return e->code = RIFFLE_ERROR_EXPIRED;
	case 'u': return e->code = RIFFLE_ERROR_USAGE;
	case 'd': return e->code = RIFFLE_ERROR_DATA;
	case 'l': return e->code = RIFFLE_ERROR_LOST;
	case 'm': return e->code = RIFFLE_ERROR_MEMORY;
	default: script.now_ms += timeout_ms; return e->code = RIFFLE_TIMEOUT;
	}
}

int
riffle_open(struct riffle **out, const struct riffle_options *o, struct riffle_error *e)
{
	script.first = script.position = o->start == RIFFLE_START_STEP ? o->step : 40;
	*out = play(&script.open, 0, e) == RIFFLE_OK ? (struct riffle *)&script : NULL;
	return e->code;
}

void
riffle_close(struct riffle *r)
{
	(void)r;
}

int
riffle_get_info(const struct riffle *r, struct riffle_info *out)
{
	(void)r;
	out->lanes = script.lanes;
	out->lanes_mine = 2;
	return RIFFLE_OK;
}

static int
give_step(const struct riffle_step **out, int timeout_ms, struct riffle_error *e)
{
	static struct riffle_step step = {
	    .sequences = 2, .tokens_each = 5, .tokens = tokens, .sequence = sequences};

	*out = NULL;
	if (play(&script.next, timeout_ms, e) != RIFFLE_OK)
		return e->code;
	step.step = script.position++;
	*out = &step;
	trace("r");
	return RIFFLE_OK;
}

int
riffle_next(
    struct riffle *r, int timeout_ms, const struct riffle_step **out, struct riffle_error *e)
{
	(void)r;
	return give_step(out, timeout_ms, e);
}

uint64_t
riffle_position(const struct riffle *r)
{
	(void)r;
	return script.position;
}

int
riffle_commit_async(struct riffle *r, struct riffle_error *e)
{
	char text[32];

	(void)r, (void)e;
	snprintf(text, sizeof(text), "c%d", (int)script.position);
	trace(text);
	return RIFFLE_OK;
}

int
riffle_flush(struct riffle *r, int timeout_ms, struct riffle_error *e)
{
	(void)r;
	if (play(&script.flush, timeout_ms, e) == RIFFLE_OK)
		trace("!");
	return e->code;
}

int
riffle_find_committed(const struct riffle_options *o, uint64_t *step, struct riffle_error *e)
{
	(void)o, (void)e;
	*step = script.committed;
	return script.committed == UINT64_MAX ? RIFFLE_ERROR_BROKER : RIFFLE_OK;
}

size_t
riffle_metrics(const struct riffle *r, char *buffer, size_t room)
{
	(void)r;
	return (size_t)snprintf(buffer, room, "riffle 1\n");
}

int
riffle_validation_open(struct riffle_validation **out, const struct riffle_validation_options *o,
    struct riffle_error *e)
{
	(void)o;
	*out = play(&script.open, 0, e) == RIFFLE_OK ? (struct riffle_validation *)&script : NULL;
	return e->code;
}

void
riffle_validation_close(struct riffle_validation *v)
{
	(void)v;
}

int
riffle_validation_next(struct riffle_validation *v, int timeout_ms, const struct riffle_step **out,
    struct riffle_error *e)
{
	(void)v;
	return give_step(out, timeout_ms, e);
}

bool
riffle_validation_untouched(const struct riffle_validation *v)
{
	(void)v;
	return script.untouched;
}

/* ---- readings ---- */

static struct config_domain domain = {.name = (char[]){"web"}};
static struct config config = {.corpus = (char[]){"demo"},
    .domains = &domain,
    .domains_n = 1,
    .mix = {.name = (char[]){"pre"}, .lanes = 4}};

/* A pipe that nobody empties: the write ends with the signal. */
static ssize_t
interrupt(void *of, const char *bytes, size_t n)
{
	(void)of, (void)bytes;
	if (--script.writes > 0)
		return (ssize_t)n;
	stop_ask(&stop);
	errno = EINTR;
	return -1;
}

static struct script
script_of(const char *next, const char *flush)
{
	return (struct script){.open = "o",
	    .next = next,
	    .flush = flush,
	    .position = 40,
	    .lanes = 4,
	    .committed = 40,
	    .now_ms = 1000000};
}

typedef enum fail_code read_function(const struct read_steps_arguments *a, const struct config *c,
    const struct stop *stop, FILE *to, struct failure *f);

/* Reads by the script; `log`: what it says on stderr. */
static enum fail_code
read_by(read_function *function, const struct read_steps_arguments *a, char log[static 2048])
{
	struct capture c;
	char *text = NULL;
	size_t n = 0;
	FILE *to = script.writes > 0
		       ? fopencookie(NULL, "w", (cookie_io_functions_t){.write = interrupt})
		       : open_memstream(&text, &n);
	enum fail_code code;

	stop = (struct stop){0};
	capture_begin(&c);
	code = function(a, &config, &stop, to, &f);
	capture_end_lines(&c, log, 2048);
	fclose(to);
	free(text);
	return code;
}

static void
test_a_reading_of_a_mix_commits_what_is_out_however_it_ends(void **unused)
{
	static const struct {
		const char *next, *flush;
		uint64_t steps, every; /* steps 0: all */
		uint32_t timeout_s;
		enum fail_code code;
		const char *trace, *says; /* of the log, or of a failure */
		int64_t took_ms;
	} rows[] = {
	    {"o", "o", 2, 0, 0, FAIL_NONE, "rr", "", 0},
	    {"o", "o", 4, 2, 0, FAIL_NONE, "rrc42!rrc44!", "", 0},
	    {"o", "o", 3, 2, 0, FAIL_NONE, "rrc42!rc43!", "", 0},
	    {"ooe", "o", 5, 9, 0, FAIL_NONE, "rrc42!",
		"read: the mix ends before step 42: 2 of 5 steps were read", 0},
	    {"e", "o", 5, 9, 0, FAIL_NONE, "",
		"read: the mix ends before step 40: 0 of 5 steps were read", 0},
	    {"e", "o", 0, 9, 0, FAIL_NONE, "", "read: mix pre ended before step 40", 0},
	    {"oe", "o", 0, 0, 0, FAIL_NONE, "r", "", 0},
	    /* It waits forever, or timeout_s seconds for each step. */
	    {"tttttttttttto", "o", 1, 0, 0, FAIL_NONE, "r", "", 2400},
	    {"ttttot", "o", 9, 1, 1, FAIL_TIMEOUT, "rc41!", "said t", 1800},
	    {"t", "o", 9, 1, 2, FAIL_TIMEOUT, "", "said t", 2000},
	    {"ob", "o", 9, 9, 1, FAIL_BROKER, "r", "said b", 0},
	    {"od", "o", 9, 9, 0, FAIL_DATA, "r", "said d", 0},
	    {"ol", "o", 9, 9, 0, FAIL_DATA, "r", "said l", 0},
	    {"ou", "o", 9, 9, 0, FAIL_CONFIG, "r", "said u", 0},
	    {"om", "o", 9, 9, 0, FAIL_MEMORY, "r", "said m", 0},
	    {"ox", "o", 9, 9, 0, FAIL_DATA, "r", "earliest retained step is 70", 0},
	    /* After a signal it finishes the current step. */
	    {"os", "o", 9, 9, 0, FAIL_NONE, "rc41!",
		"read: stopped before step=41: all steps before it are committed", 200},
	    {"oS", "o", 9, 9, 0, FAIL_NONE, "rrc42!",
		"read: stopped before step=42: all steps before it are committed", 0},
	    {"oS", "o", 9, 0, 0, FAIL_NONE, "rr", "read: stopped before step=42\n", 0},
	    {"S", "o", 1, 1, 0, FAIL_NONE, "rc41!", "", 0},
	    /* After it two seconds are left for the last commit. */
	    {"oS", "t", 9, 9, 0, FAIL_NONE, "rrc42",
		"read: stopped before step=42: the last steps before it are not committed", 2000},
	    {"oS", "tttto", 9, 9, 0, FAIL_NONE, "rrc42!", "all steps before it are committed", 800},
	    /* The signal comes while a commit waits. */
	    {"o", "ts", 9, 1, 0, FAIL_NONE, "rc41c41", "the last steps before it are not committed",
		400 + 2000},
	    {"o", "tS", 9, 1, 0, FAIL_NONE, "rc41!", "all steps before it are committed", 200},
	    {"o", "t", 9, 1, 1, FAIL_TIMEOUT, "rc41", "said t", 1000},
	    {"o", "ttb", 9, 1, 0, FAIL_BROKER, "rc41", "said b", 400},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, next) {
		const struct read_steps_arguments a = {.mix = config.mix.name,
		    .run = "main",
		    .world = 1,
		    .steps = rows[i].steps == 0 ? UINT64_MAX : rows[i].steps,
		    .commit_every = rows[i].every,
		    .timeout_s = rows[i].timeout_s,
		    .format = READ_OUTPUT_STEPS};
		char log[2048];
		enum fail_code code;

		script = script_of(rows[i].next, rows[i].flush);
		code = read_by(read_steps_mix, &a, log);
		assert_int_equal(code, rows[i].code);
		assert_string_equal(script.trace, rows[i].trace);
		assert_int_equal(script.now_ms - 1000000, rows[i].took_ms);
		if (strstr(code == FAIL_NONE ? log : f.text, rows[i].says) == NULL)
			print_error("%s\n%s\n", log, f.text);
		assert_non_null(strstr(code == FAIL_NONE ? log : f.text, rows[i].says));
		if (rows[i].says[0] == '\0')
			assert_string_equal(log, "");
	}
}

/* A step that is out in part is not counted, and nothing that counts it is committed. */
static void
test_a_write_that_the_signal_ends_commits_nothing(void **unused)
{
	const struct read_steps_arguments a = {.mix = config.mix.name,
	    .run = "main",
	    .world = 1,
	    .steps = 9,
	    .commit_every = 9,
	    .format = READ_OUTPUT_STEPS};
	char log[2048];

	(void)unused;
	script = script_of("o", "o");
	script.writes = 2;
	assert_int_equal(read_by(read_steps_mix, &a, log), FAIL_NONE);
	assert_string_equal(script.trace, "rr");
	assert_non_null(strstr(
	    log, "read: stopped before step=42: the last steps before it are not committed"));
}

static void
test_an_opening_that_fails_says_what_to_do(void **unused)
{
	static const struct {
		const char *open;
		uint32_t lanes;
		bool named; /* the mix is that of the configuration */
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {"o", 4, true, FAIL_NONE, ""},
	    {"o", 8, false, FAIL_NONE, ""}, /* of another mix they are not known */
	    {"o", 8, true, FAIL_CONFIG,
		"topic pre.batches has 8 partitions, the configuration wants 4 (mix.lanes): set it "
		"back to 8, or give mix.name another name; if partitions were added, `riffle "
		"topics` says what to do"},
	    {"o", 2, true, FAIL_CONFIG,
		"topic pre.batches has 2 partitions, the configuration wants 4 (mix.lanes): set it "
		"back to 2, or give mix.name another name"},
	    {"b", 4, true, FAIL_BROKER, "said b"},
	    {"u", 4, true, FAIL_CONFIG, "said u"},
	    {"x", 4, true, FAIL_DATA,
		"gone: the earliest retained step is 70; `--from-step 70` starts there"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, open) {
		const struct read_steps_arguments a = {
		    .mix = rows[i].named ? config.mix.name : "pre",
		    .run = "main",
		    .world = 1,
		    .steps = 1,
		    .format = READ_OUTPUT_NONE};
		char log[2048];
		enum fail_code code;

		script = script_of("o", "o");
		script.open = rows[i].open;
		script.lanes = rows[i].lanes;
		code = read_by(read_steps_mix, &a, log);
		assert_int_equal(code, rows[i].code);
		if (code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].says);
		else
			assert_non_null(strstr(log,
			    "read: steps=1 sequences=2 tokens=6 first_step_ms=0 seconds=0.001 "
			    "steps_per_s=1000.0 tokens_per_s=6000\n"));
	}
}

static void
test_commits_that_would_be_taken_back_are_warned_of(void **unused)
{
	static const struct {
		const char *claim;
		uint64_t from, committed, every;
		bool given, warned;
	} rows[] = {
	    {"it goes back", 30, 40, 1, true, true},
	    {"it goes on", 40, 40, 1, true, false},
	    {"it commits nothing", 30, 40, 0, true, false},
	    {"it starts at the commit", 30, 40, 1, false, false},
	    {"nobody knows", 30, UINT64_MAX, 1, true, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		const struct read_steps_arguments a = {.mix = config.mix.name,
		    .run = "main",
		    .world = 1,
		    .steps = 1,
		    .from_step = rows[i].from,
		    .from_step_given = rows[i].given,
		    .commit_every = rows[i].every,
		    .format = READ_OUTPUT_STEPS};
		char log[2048];

		script = script_of("o", "o");
		script.committed = rows[i].committed;
		assert_int_equal(read_by(read_steps_mix, &a, log), FAIL_NONE);
		assert_int_equal(script.first, rows[i].given ? rows[i].from : 40);
		assert_int_equal(strstr(log, "READ-RUN-BACK") != NULL, rows[i].warned);
		if (rows[i].warned)
			assert_non_null(strstr(log,
			    "READ-RUN-BACK run main of mix pre has committed step 40: reading from "
			    "step 30 takes its commits back"));
	}
}

static void
test_a_set_is_read_to_its_end_or_as_far_as_is_asked(void **unused)
{
	static const struct {
		const char *next;
		uint64_t steps;
		uint32_t timeout_s;
		bool untouched;
		enum fail_code code;
		const char *trace, *says;
	} rows[] = {
	    {"ooe", UINT64_MAX, 0, false, FAIL_NONE, "rr",
		"read: domain=web set=valid sequences=4 tokens=12 seconds="},
	    {"o", 3, 0, false, FAIL_NONE, "rrr", "sequences=6 tokens=18 "},
	    {"e", 3, 0, false, FAIL_NONE, "", "sequences=0 tokens=0 "},
	    {"ttto", 1, 0, false, FAIL_NONE, "r", "sequences=2 tokens=6 seconds=0.600"},
	    {"t", 1, 1, false, FAIL_TIMEOUT, "", "said t"},
	    {"od", 3, 0, false, FAIL_DATA, "r", "said d"},
	    {"os", 3, 0, false, FAIL_STOPPED, "r", "stopped after 2 sequences of the set"},
	    {"oS", 9, 0, false, FAIL_STOPPED, "rr", "stopped after 4 sequences of the set"},
	    {"o", 3, 0, true, FAIL_DATA, "",
		"topic demo.web.valid holds nothing yet: `riffle produce web` publishes it"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		const struct read_steps_arguments a = {.domain = "web",
		    .set = SET_VALID,
		    .world = 1,
		    .steps = rows[i].steps,
		    .timeout_s = rows[i].timeout_s,
		    .format = READ_OUTPUT_NONE};
		char log[2048];
		enum fail_code code;

		script = script_of(rows[i].next, "o");
		script.untouched = rows[i].untouched;
		code = read_by(read_steps_set, &a, log);
		assert_int_equal(code, rows[i].code);
		assert_string_equal(script.trace, rows[i].trace);
		assert_non_null(strstr(code == FAIL_NONE ? log : f.text, rows[i].says));
	}
}

static void
test_the_end_commits_what_is_out_whole_and_never_a_step_that_was_cut(void **unused)
{
	static const struct {
		uint64_t every, steps, committed;
		bool cut, owes;
	} row[] = {
	    {1, 5, 4, false, true},
	    {3, 5, 3, false, true},
	    {3, 5, 0, false, true},
	    {3, 5, 5, false, false},
	    {3, 0, 0, false, false},
	    {0, 5, 0, false, false}, /* nobody asked for commits */
	    {1, 5, 4, true, false},
	    {3, 5, 0, true, false},
	    {3, 0, 0, true, false},
	};

	(void)unused;
	EACH_ROW(i, row)
		assert_int_equal(read_steps_owes_commit(
				     row[i].every, row[i].steps, row[i].committed, row[i].cut),
		    row[i].owes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_end_commits_what_is_out_whole_and_never_a_step_that_was_cut),
	    cmocka_unit_test(test_a_reading_of_a_mix_commits_what_is_out_however_it_ends),
	    cmocka_unit_test(test_a_write_that_the_signal_ends_commits_nothing),
	    cmocka_unit_test(test_an_opening_that_fails_says_what_to_do),
	    cmocka_unit_test(test_commits_that_would_be_taken_back_are_warned_of),
	    cmocka_unit_test(test_a_set_is_read_to_its_end_or_as_far_as_is_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
