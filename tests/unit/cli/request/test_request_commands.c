/*
 * riffle weights, skip, requests and runs as whole commands: which call their words become. The
 * mix, its requests, the status of its runs and what prints them are the test's.
 */
#include <inttypes.h>

#include "cli/request/request_print.h"
#include "cli/request/requests_print.h"
#include "cli/request/runs_config.h"
#include "cli/request/runs_reset.h"
#include "cli/request/skip_print.h"
#include "cli/request/skip_requests.h"
#include "cli/request/weights_print.h"
#include "cli/signals.h"
#include "cli/status/status_print.h"
#include "consumer/admin/request.h"
#include "consumer/admin/request_list.h"
#include "consumer/status/status_query.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static char trace[2048];
static const char *fails; /* the call that fails */
static int handles;       /* that are open */

static void
note(const char *format, ...)
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	n += (size_t)vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
	assert_true(n < sizeof(trace));
}

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	return fails != NULL && strcmp(fails, call) == 0 ? fail(f, FAIL_BROKER, "%s failed", call)
							 : FAIL_NONE;
}

/* ---- the mix ---- */

static char web_name[] = "web", code_name[] = "code";
static struct ledger_domain mixed[] = {{.name = web_name}, {.name = code_name}};
static const struct ledger last = {.domain = mixed, .domains_n = 2};

enum fail_code
request_open(struct request **out, const struct request_options *o, struct failure *f)
{
	assert_ptr_equal(o->stop, signals_stop());
	assert_non_null(properties_value(o->properties, "bootstrap.servers"));
	if (may_fail("open", f) != FAIL_NONE)
		return f->code;
	note("%s", o->mix);
	handles++;
	*out = (struct request *)&handles;
	return FAIL_NONE;
}

void
request_close(struct request *r)
{
	handles -= r != NULL;
}

const struct ledger *
request_ledger(const struct request *r)
{
	assert_ptr_equal((const void *)r, &handles);
	return &last;
}

enum fail_code
request_new_id(char out[static REQUEST_ID_BYTES], const char *prefix, struct failure *f)
{
	(void)f;
	snprintf(out, REQUEST_ID_BYTES, "%s-new", prefix);
	return FAIL_NONE;
}

void
request_who(char out[static REQUEST_WHO_BYTES])
{
	snprintf(out, REQUEST_WHO_BYTES, "me@host");
}

static void
note_control(const struct control *c)
{
	static const char *const kind[] = {[LEDGER_WEIGHTS] = "weights",
	    [LEDGER_SKIP] = "skip",
	    [LEDGER_JOIN] = "join",
	    [LEDGER_LEAVE] = "leave",
	    [LEDGER_UNDO] = "undo",
	    [LEDGER_CANCEL] = "cancel"};

	note(": %s %s at %d", c->id, kind[c->kind], (int)c->at_step);
	for (size_t i = 0; i < c->weights_n; i++)
		note(" %s=%g", c->weight[i].domain, c->weight[i].weight);
	if (c->temperature != 0 || c->lr_scale != 0 || c->global_batch != 0)
		note(" t%g lr%g b%u", c->temperature, c->lr_scale, c->global_batch);
	if (c->domain != NULL)
		note(" %s/%d %d..%d", c->domain, (int)c->partition, (int)c->first, (int)c->end);
	if (c->request != NULL)
		note(" of %s", c->request);
}

static void
note_how(const struct request_print_how *how)
{
	assert_non_null(how->config);
	assert_null(how->to);
	note("; %s%s%s%d ms", how->dry_run ? "dry, " : "", how->json ? "json, " : "",
	    how->named ? "named, " : "", how->timeout_ms);
}

enum fail_code
request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f)
{
	assert_ptr_equal((void *)r, &handles);
	for (size_t i = 0; i < n; i++)
		note_control(&c[i]);
	note_how(how);
	return may_fail("print", f);
}

enum fail_code
request_print_earlier(
    struct request *r, const char *id, const struct request_print_how *how, struct failure *f)
{
	assert_ptr_equal((void *)r, &handles);
	note(": earlier %s", id);
	note_how(how);
	return may_fail("print", f);
}

enum fail_code
weights_print(const char *mix, const struct properties *properties, const struct ledger *l,
    size_t history_max, bool json, struct failure *f)
{
	assert_ptr_equal(l, &last);
	assert_non_null(properties_value(properties, "bootstrap.servers"));
	note(": show %s %zu%s", mix, history_max, json ? " json" : "");
	return may_fail("print", f);
}

enum fail_code
skip_print(const char *mix, const struct ledger *l, bool json, struct failure *f)
{
	assert_ptr_equal(l, &last);
	note(": list %s%s", mix, json ? " json" : "");
	return may_fail("print", f);
}

/* ---- what to skip ---- */

enum fail_code
skip_requests_range(struct control **out, size_t *n, enum ledger_change_kind kind,
    const char *place, const char *range, const struct ledger *l, const char *id, struct failure *f)
{
	assert_ptr_equal(l, &last);
	note(": range %s %s", place, range);
	*out = calloc(1, sizeof(**out));
	*n = 1;
	**out = (struct control){.kind = kind, .id = strdup(id == NULL ? "new" : id)};
	(*out)->domain = strdup(place);
	handles++;
	return may_fail("range", f);
}

enum fail_code
skip_requests_steps(struct control **out, size_t *n, enum ledger_change_kind kind, const char *mix,
    const struct config *c, uint64_t first, uint64_t end, int64_t lane, const char *id,
    struct failure *f)
{
	assert_non_null(c);
	note(": steps %s %" PRIu64 "..%" PRIu64 " lane %d", mix, first, end, (int)lane);
	*out = calloc(2, sizeof(**out));
	*n = 2;
	for (size_t i = 0; i < 2; i++)
		(*out)[i] = (struct control){.kind = kind, .id = strdup(id == NULL ? "new" : id)};
	handles++;
	return may_fail("steps", f);
}

void
skip_requests_free(struct control *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		control_clear(&c[i]);
	free(c);
	handles -= c != NULL;
}

/* ---- the list of requests ---- */

const char *const request_state_names[] = {
    [REQUEST_OPEN] = "open",
    [REQUEST_ACCEPTED] = "accepted",
    [REQUEST_IN_FORCE] = "in force",
    [REQUEST_CANCELLED] = "cancelled",
    [REQUEST_REFUSED] = "refused",
};

static struct request_entry entries[] = {{.asked = {.id = (char[]){"one"}}, .state = REQUEST_OPEN},
    {.asked = {.id = (char[]){"two"}}, .state = REQUEST_ACCEPTED},
    {.asked = {.id = (char[]){"three"}}, .state = REQUEST_IN_FORCE},
    {.asked = {.id = (char[]){"four"}}, .state = REQUEST_REFUSED}};

enum fail_code
request_list_read(struct request_list *out, const char *mix, const struct properties *properties,
    const struct ledger *l, struct failure *f)
{
	assert_ptr_equal(l, &last);
	assert_non_null(properties_value(properties, "bootstrap.servers"));
	note(": read %s", mix);
	handles++;
	*out = (struct request_list){.entry = entries, .n = 4};
	return may_fail("read", f);
}

void
request_list_close(struct request_list *l)
{
	handles -= l->entry != NULL;
}

const struct request_entry *
request_list_find(const struct request_list *l, const char *id)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->entry[i].asked.id, id) == 0)
			return &l->entry[i];
	return NULL;
}

enum fail_code
requests_print(const struct request_list *l, bool json, FILE *to, struct failure *f)
{
	assert_ptr_equal(to, stdout);
	note(": list %zu%s", l->n, json ? " json" : "");
	return may_fail("print", f);
}

/* ---- runs ---- */

static struct status st;
static struct topic_plan plan;
static struct topics_report report[4];

enum fail_code
runs_config_open(struct config **out, const char *mix, const struct options *o, struct failure *f)
{
	return options_config_named(out, mix, o, f);
}

enum fail_code
status_query_open(struct status_query **out, const struct config *c, struct failure *f)
{
	if (may_fail("open", f) != FAIL_NONE)
		return f->code;
	note("%s", c->mix.name);
	handles++;
	*out = (struct status_query *)&st;
	return FAIL_NONE;
}

void
status_query_close(struct status_query *q)
{
	handles -= q != NULL;
}

enum fail_code
status_query_runs(struct status_query *q, struct status **out, struct failure *f)
{
	assert_ptr_equal((void *)q, &st);
	if (may_fail("runs", f) != FAIL_NONE)
		return f->code;
	handles++;
	st.plan = &plan;
	st.report = report;
	*out = &st;
	return FAIL_NONE;
}

void
status_free(struct status *s)
{
	assert_ptr_equal(s, &st);
	handles--;
}

void
status_print_runs_table(const struct status *s, FILE *to)
{
	assert_ptr_equal(s, &st);
	assert_ptr_equal(to, stdout);
	note(": table");
}

enum fail_code
status_print_runs_json(const struct status *s, FILE *to, struct failure *f)
{
	assert_ptr_equal(s, &st);
	assert_ptr_equal(to, stdout);
	note(": json");
	return may_fail("print", f);
}

void
topics_add_other_name(const struct config *c, struct failure *f)
{
	(void)c;
	(void)f;
	assert_null("no mix has another name than in the file");
}

enum fail_code
topics_fail_missing(const struct config *c, const struct topic_plan *p,
    const struct topics_report *r, struct failure *f)
{
	assert_ptr_equal(c, st.config);
	assert_true(p == &plan && r == report);
	return fail(f, FAIL_CONFIG, "a topic is missing");
}

enum fail_code
runs_reset(struct status_query *q, const struct runs_reset *r, struct failure *f)
{
	assert_ptr_equal((void *)q, &st);
	note(": reset %s of %s to %" PRIu64 " %s idle %" PRId64 " ms, %d ms%s", r->run,
	    r->config->mix.name, r->to_step, r->id == NULL ? "-" : r->id, r->idle_ms, r->timeout_ms,
	    r->json ? " json" : "");
	return may_fail("reset", f);
}

enum fail_code
runs_forget(struct status_query *q, const struct config *c, const char *name, struct failure *f)
{
	assert_ptr_equal((void *)q, &st);
	note(": forget %s of %s", name, c->mix.name);
	return may_fail("forget", f);
}

/* ---- the words ---- */

static void
check(const struct command *c, const char *words, const char *failing, enum fail_code code,
    const char *calls, const char *failure)
{
	char line[1024];

	fails = failing;
	trace[0] = '\0';
	handles = 0;
	snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), words);
	run_command_is(c, line, code, failure);
	printed_compare(trace, calls);
	assert_int_equal(handles, 0);
}

static void
test_weights(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"", NULL, FAIL_NONE, "pretrain: show pretrain 20", ""},
	    {"--json --history 3 --mix other", NULL, FAIL_NONE, "other: show other 3 json", ""},
	    {"--history 1", "print", FAIL_BROKER, "pretrain: show pretrain 1", "print failed"},
	    {"web=0.5", NULL, FAIL_NONE, "pretrain: weights-new weights at -1 web=0.5; 0 ms", ""},
	    {"web=0.5 code=2 --at-step 0 --id my --timeout 7 --json", NULL, FAIL_NONE,
		"pretrain: my weights at 0 web=0.5 code=2; json, named, 7000 ms", ""},
	    {"--temperature 0.5", NULL, FAIL_NONE,
		"pretrain: weights-new weights at -1 t0.5 lr0 b0; 0 ms", ""},
	    {"--lr-scale 0.25 --dry-run", NULL, FAIL_NONE,
		"pretrain: weights-new weights at -1 t0 lr0.25 b0; dry, 0 ms", ""},
	    {"--global-batch 32", "print", FAIL_BROKER,
		"pretrain: weights-new weights at -1 t0 lr0 b32; 0 ms", "print failed"},
	    {"--join code=3", NULL, FAIL_NONE,
		"pretrain: weights-new join at -1 code=3 code/-1 0..0; 0 ms", ""},
	    {"--leave web", NULL, FAIL_NONE, "pretrain: weights-new leave at -1 web/-1 0..0; 0 ms",
		""},
	    {"--id my --json", NULL, FAIL_NONE, "pretrain: earlier my; json, 0 ms", ""},
	    {"web=x", NULL, FAIL_USAGE, "pretrain",
		"web=x: \"x\" is not a weight: a number of at least 0"},
	    {"web=1", "open", FAIL_BROKER, "", "open failed"},
	    {"--dry-run", NULL, FAIL_USAGE, "pretrain",
		"no change is given: give DOMAIN=WEIGHT, --temperature, --lr-scale or "
		"--global-batch"},
	    {"--at-step 5 --id my", NULL, FAIL_USAGE, "pretrain",
		"no change is given: give DOMAIN=WEIGHT, --temperature, --lr-scale or "
		"--global-batch"},
	    {"--temperature 0", NULL, FAIL_USAGE, "", "--temperature: must be more than 0"},
	    {"--lr-scale 0", NULL, FAIL_USAGE, "", "--lr-scale: must be more than 0"},
	    {"--join a=1 --leave b", NULL, FAIL_USAGE, "",
		"one domain joins or leaves at a time: give --join or --leave"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		check(&cmd_weights, rows[i].words, rows[i].fails, rows[i].code, rows[i].calls,
		    rows[i].failure);
}

static void
test_skip(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"web 5..8", NULL, FAIL_NONE,
		"pretrain: range web 5..8: new skip at -1 web/0 0..0; 0 ms", ""},
	    {"web 5..8 --undo --id my --at-step 0 --timeout 7 --dry-run --json", NULL, FAIL_NONE,
		"pretrain: range web 5..8: my undo at 0 web/0 0..0; dry, json, named, 7000 ms", ""},
	    {"wep 5..8", NULL, FAIL_USAGE, "pretrain: range wep 5..8",
		"the mix has no domain wep (did you mean web?); it has web, code"},
	    {"--step 40", NULL, FAIL_NONE,
		"pretrain: steps pretrain 40..41 lane -1: new skip at -1: new skip at -1; 0 ms",
		""},
	    {"--step 0 --lane 0 --mix other --at-step 9", NULL, FAIL_NONE,
		"other: steps other 0..1 lane 0: new skip at 9: new skip at 9; 0 ms", ""},
	    {"--steps 40..43 --lane 3 --undo", NULL, FAIL_NONE,
		"pretrain: steps pretrain 40..43 lane 3: new undo at -1: new undo at -1; 0 ms", ""},
	    {"--list", NULL, FAIL_NONE, "pretrain: list pretrain", ""},
	    {"--list --json", "print", FAIL_BROKER, "pretrain: list pretrain json", "print failed"},
	    {"--step 40", "steps", FAIL_BROKER, "pretrain: steps pretrain 40..41 lane -1",
		"steps failed"},
	    {"web 5..8", "range", FAIL_BROKER, "pretrain: range web 5..8", "range failed"},
	    {"web 5..8", "print", FAIL_BROKER,
		"pretrain: range web 5..8: new skip at -1 web/0 0..0; 0 ms", "print failed"},
	    {"--list", "open", FAIL_BROKER, "", "open failed"},
	    {"--list web", NULL, FAIL_USAGE, "", "--list shows all: it goes with no sequences"},
	    {"--list --step 4", NULL, FAIL_USAGE, "",
		"--list shows all: it goes with no sequences"},
	    {"--list --steps 4..5", NULL, FAIL_USAGE, "",
		"--list shows all: it goes with no sequences"},
	    {"--list --undo", NULL, FAIL_USAGE, "", "--list shows all: it goes with no sequences"},
	    {"--step 4 --steps 4..5", NULL, FAIL_USAGE, "", "--step or --steps, not both"},
	    {"--steps 4..4", NULL, FAIL_USAGE, "",
		"--steps: 4..4 holds no step, or is out of range"},
	    {"--steps 4..4611686018427387904", NULL, FAIL_USAGE, "",
		"--steps: 4..4611686018427387904 holds no step, or is out of range"},
	    {"--steps 4611686018427387902..4611686018427387903", NULL, FAIL_NONE,
		"pretrain: steps pretrain 4611686018427387902..4611686018427387903 lane -1: new "
		"skip at -1: new skip at -1; 0 ms",
		""},
	    {"--step 4 web", NULL, FAIL_USAGE, "",
		"which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or --steps "
		"A..B"},
	    {"web", NULL, FAIL_USAGE, "",
		"which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or --steps "
		"A..B"},
	    {"--undo", NULL, FAIL_USAGE, "",
		"which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or --steps "
		"A..B; `riffle skip --list` shows what is skipped"},
	    {"--step 4 --lane 4095", NULL, FAIL_NONE,
		"pretrain: steps pretrain 4..5 lane 4095: new skip at -1: new skip at -1; 0 ms",
		""},
	    {"--step 4 --lane 4096", NULL, FAIL_USAGE, "",
		"--lane: out of range: 4096 (0 to 4095)"},
	    {"--step 4611686018427387904", NULL, FAIL_USAGE, "",
		"--step: out of range: 4611686018427387904 (0 to 4611686018427387903)"},
	    {"web 5..8 --lane 0", NULL, FAIL_USAGE, "", "--lane goes with --step or --steps"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		check(&cmd_skip, rows[i].words, rows[i].fails, rows[i].code, rows[i].calls,
		    rows[i].failure);
}

static void
test_requests(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"", NULL, FAIL_NONE, "pretrain: read pretrain: list 4", ""},
	    {"--json --mix other", NULL, FAIL_NONE, "other: read other: list 4 json", ""},
	    {"--cancel one", NULL, FAIL_NONE,
		"pretrain: read pretrain: cancel-new cancel at -1 of one; 0 ms", ""},
	    {"--cancel two --id my --timeout 7 --json", NULL, FAIL_NONE,
		"pretrain: read pretrain: my cancel at -1 of two; json, named, 7000 ms", ""},
	    {"--cancel three", NULL, FAIL_DATA, "pretrain: read pretrain",
		"request three is in force: there is nothing to cancel"},
	    {"--cancel four", NULL, FAIL_DATA, "pretrain: read pretrain",
		"request four is refused: there is nothing to cancel"},
	    {"--cancel five", NULL, FAIL_DATA, "pretrain: read pretrain",
		"mix pretrain has no request five; `riffle requests` lists them"},
	    {"--id my", NULL, FAIL_USAGE, "", "--id goes with --cancel"},
	    {"", "open", FAIL_BROKER, "", "open failed"},
	    {"", "read", FAIL_BROKER, "pretrain: read pretrain", "read failed"},
	    {"", "print", FAIL_BROKER, "pretrain: read pretrain: list 4", "print failed"},
	    {"--cancel one", "print", FAIL_BROKER,
		"pretrain: read pretrain: cancel-new cancel at -1 of one; 0 ms", "print failed"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		check(&cmd_requests, rows[i].words, rows[i].fails, rows[i].code, rows[i].calls,
		    rows[i].failure);
}

static void
test_runs(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"", NULL, FAIL_NONE, "pretrain: table", ""},
	    {"--json --mix other", NULL, FAIL_NONE, "other: json", ""},
	    {"--reset main --to 0", NULL, FAIL_NONE,
		"pretrain: reset main of pretrain to 0 - idle 60000 ms, 0 ms", ""},
	    {"--reset main --to 12 --id my --idle 0 --timeout 7 --json", NULL, FAIL_NONE,
		"pretrain: reset main of pretrain to 12 my idle 0 ms, 7000 ms json", ""},
	    {"--forget old", NULL, FAIL_NONE, "pretrain: forget old of pretrain", ""},
	    {"--reset main", NULL, FAIL_USAGE, "", "--reset RUN and --to STEP go together"},
	    {"--to 12", NULL, FAIL_USAGE, "", "--reset RUN and --to STEP go together"},
	    {"--reset main --to 12 --forget old", NULL, FAIL_USAGE, "", "--reset or --forget"},
	    {"", "open", FAIL_BROKER, "", "open failed"},
	    {"", "runs", FAIL_BROKER, "pretrain", "runs failed"},
	    {"--json", "print", FAIL_BROKER, "pretrain: json", "print failed"},
	    {"--reset main --to 12", "reset", FAIL_BROKER,
		"pretrain: reset main of pretrain to 12 - idle 60000 ms, 0 ms", "reset failed"},
	    {"--forget old", "forget", FAIL_BROKER, "pretrain: forget old of pretrain",
		"forget failed"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		check(&cmd_runs, rows[i].words, rows[i].fails, rows[i].code, rows[i].calls,
		    rows[i].failure);
}

/* Only the batch topic, or that of the lanes, holds what runs commit to. */
static void
test_runs_without_a_topic_to_commit_to_are_not_shown(void **unused)
{
	static const struct {
		const char *claim;
		enum topic_kind kind;
		bool exists, shown;
	} rows[] = {
	    {"the batches exist", TOPIC_BATCHES, true, true},
	    {"no batches", TOPIC_BATCHES, false, false},
	    {"no lanes", TOPIC_LANES, false, false},
	    {"no domain", TOPIC_DOMAIN, false, true},
	};
	static struct planned_topic entry[2];

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		plan.topic = entry;
		plan.n = 2;
		entry[0].kind = TOPIC_LEDGER;
		entry[1].kind = rows[i].kind;
		report[0].exists = false;
		report[1].exists = rows[i].exists;
		check(&cmd_runs, "", NULL, rows[i].shown ? FAIL_NONE : FAIL_CONFIG,
		    rows[i].shown ? "pretrain: table" : "pretrain",
		    rows[i].shown ? "" : "a topic is missing");
	}
	plan.n = 0;
}

static int
begin(void **state)
{
	struct config *c;

	if (folder_open(state) != 0 || open_with(&c, 0, NULL, &f) != FAIL_NONE)
		return -1;
	config_close(c);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_weights),
	    cmocka_unit_test(test_skip),
	    cmocka_unit_test(test_requests),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_runs_without_a_topic_to_commit_to_are_not_shown),
	};

	return cmocka_run_group_tests(tests, begin, folder_close);
}
