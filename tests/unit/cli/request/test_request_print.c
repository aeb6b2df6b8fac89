/*
 * request_print.h: what is asked of a mix and what is printed of its answers, where the mix and the
 * control topic are the test's; the effect of a change as JSON, with distinct values.
 */
#include "cli/request/request_print.h"

#include "consumer/admin/request_list.h"
#include "consumer/mixer/mixer_effect.h"
#include "tests/unit/printed.h"

static void
print(const struct mixer_effect *e, struct printed *p)
{
	json_t *o = request_print_effect(e);

	assert_non_null(o);
	json_dumpf(o, printed_begin(p), JSON_PRESERVE_ORDER | JSON_ENCODE_ANY);
	json_decref(o);
}

static void
test_each_field_of_an_effect_stands_in_its_place(void **unused)
{
	struct mixer_effect_domain domain[] = {
	    {.name = "code",
		.share = 0.25,
		.share_before = 0.5,
		.epoch = 1,
		.epoch_end = {2, 3},
		.limited = true,
		.ends_mix = true,
		.last_end = {4, MIXER_EFFECT_NEVER}},
	    {.name = "new", .share = 0.125, .share_before = 0, .live = true},
	    {.name = "web",
		.share = 0.625,
		.share_before = 0.375,
		.epoch = 5,
		.epoch_end = {MIXER_EFFECT_NEVER, 6},
		.limited = true,
		.last_end = {7, 8}},
	};
	struct mixer_effect e = {.temperature = 11,
	    .temperature_before = 12,
	    .lr_scale = 13,
	    .lr_scale_before = 14,
	    .global_batch = 15,
	    .global_batch_before = 16,
	    .domain = domain,
	    .domains_n = 3,
	    .rounds = true,
	    .round = 17,
	    .dealt = 18,
	    .phase = "late",
	    .phase_step = 19,
	    .phase_batch = 20};
	struct printed p;

	(void)unused;
	print(&e, &p);
	printed_json_is(&p,
	    "{'temperature':11.0,'temperature_before':12.0,'lr_scale':13.0,"
	    "'lr_scale_before':14.0,'global_batch':15,'global_batch_before':16,"
	    "'domains':[{'name':'code','share':0.25,'share_before':0.5,'live':false,"
	    "'epoch':1,'epoch_end_step':2,'epoch_end_step_before':3,'last_end':'stop',"
	    "'last_end_step':4,'last_end_step_before':null},{'name':'new','share':0.125,"
	    "'share_before':0.0,'live':true},{'name':'web','share':0.625,"
	    "'share_before':0.375,'live':false,'epoch':5,'epoch_end_step':null,"
	    "'epoch_end_step_before':6,'last_end':'drop','last_end_step':7,"
	    "'last_end_step_before':8}],'round':17,'round_draws_dealt':18,"
	    "'next_phase':'late','next_phase_step':19}");
	e.rounds = false;
	e.phase[0] = '\0';
	e.domains_n = 0;
	print(&e, &p);
	printed_json_is(&p, "{'temperature':11.0,'temperature_before':12.0,'lr_scale':13.0,"
			    "'lr_scale_before':14.0,'global_batch':15,'global_batch_before':16,"
			    "'domains':[]}");
	e = (struct mixer_effect){.skip = true, .excluded = 21, .sequences = 22, .undo = true};
	print(&e, &p);
	printed_json_is(&p, "{'excluded':21,'sequences':22}");
	e = (struct mixer_effect){0};
	print(&e, &p);
	printed_json_is(&p, "null");
}

/* ---- a mix by script ---- */

static struct script {
	bool not_started, without_mixer, denied;
	const char *fails; /* the call that fails */
} script;
static char trace[1024];
static struct control web = {.kind = LEDGER_WEIGHTS, .at_step = -1, .partition = -1};

/* An answer by the id's first letter: 'r' is refused, all others are accepted. */
static void
fill_answer(struct ledger_answer *out, const char *id)
{
	*out =
	    (struct ledger_answer){.id = strdup(id), .accepted = id[0] != 'r', .step = 40 + id[1]};
	out->text = id[0] == 'r'   ? strdup("no room")
		    : id[0] == 'e' ? NULL
				   : strdup("\n\nfrom then on");
}

static void
note(const char *format, ...)
{
	size_t n = strlen(trace);
	va_list args;

	va_start(args, format);
	vsnprintf(trace + n, sizeof(trace) - n, format, args);
	va_end(args);
}

static enum fail_code
may_fail(const char *call, struct failure *f)
{
	return script.fails != NULL && strcmp(script.fails, call) == 0
		   ? fail(f, FAIL_BROKER, "%s failed", call)
		   : FAIL_NONE;
}

const struct ledger *
request_ledger(const struct request *r)
{
	static const struct ledger last;

	(void)r;
	return script.not_started ? NULL : &last;
}

const struct request_options *
request_options(const struct request *r)
{
	static const struct request_options o = {.mix = "pre"};

	(void)r;
	return &o;
}

bool
request_without_mixer(const struct request *r)
{
	(void)r;
	return script.without_mixer;
}

/* Ids that end in 'b' were answered before. */
enum fail_code
request_earlier(
    struct request *r, const char *id, struct ledger_answer *out, bool *found, struct failure *f)
{
	(void)r;
	*found = id[strlen(id) - 1] == 'b';
	if (*found)
		fill_answer(out, id);
	return may_fail("earlier", f);
}

enum fail_code
request_send(struct request *r, const struct control *c, size_t n, struct failure *f)
{
	(void)r;
	note("send");
	for (size_t i = 0; i < n; i++)
		note(" %s", c[i].id);
	return may_fail("send", f);
}

enum fail_code
request_wait(struct request *r, const struct control *c, size_t n, struct ledger_answer *out,
    int timeout_ms, struct failure *f)
{
	(void)r;
	note("; wait %d", timeout_ms);
	for (size_t i = 0; i < n; i++)
		fill_answer(&out[i], c[i].id);
	return may_fail("wait", f);
}

enum fail_code
request_dry(struct ledger_answer *out, struct mixer_effect *effect, const struct ledger *last,
    const struct control *request, const struct config *c, struct failure *f)
{
	assert_non_null(last);
	note("dry %s %s;", c->corpus, request->id);
	fill_answer(out, request->id);
	*effect = (struct mixer_effect){.skip = true, .excluded = 5, .sequences = 6};
	return may_fail("dry", f);
}

/* Names of new requests, which nothing here makes. */
enum fail_code
request_new_id(char out[static REQUEST_ID_BYTES], const char *prefix, struct failure *f)
{
	(void)out, (void)prefix;
	return fail(f, FAIL_IO, "no id");
}

void
request_who(char out[static REQUEST_WHO_BYTES])
{
	out[0] = '\0';
}

/* The topic has each id that was answered before; those that begin with 'c' were cancelled. */
enum fail_code
request_list_read(struct request_list *out, const char *mix, const struct properties *properties,
    const struct ledger *last, struct failure *f)
{
	(void)properties, (void)out, (void)last;
	note("look back %s; ", mix);
	return script.denied ? fail(f, FAIL_DENIED, "denied") : may_fail("list", f);
}

const struct request_entry *
request_list_find(const struct request_list *l, const char *id)
{
	static char name[] = "web";
	static struct ledger_raw_weight weight[] = {{name, 0.5}};
	static struct request_entry e;

	(void)l;
	e = (struct request_entry){.asked = web, .state = REQUEST_IN_FORCE};
	e.state = id[0] == 'c' ? REQUEST_CANCELLED : REQUEST_IN_FORCE;
	if (id[0] == 'o') {
		e.asked.weight = weight;
		e.asked.weights_n = 1;
	}
	return id[strlen(id) - 1] == 'b' && !script.denied ? &e : NULL;
}

void
request_list_close(struct request_list *l)
{
	(void)l;
}

/* ---- what is asked and printed ---- */

enum { CONTROLS_MAX = 4 };

static const struct config config = {.corpus = (char[]){"demo"}};

static void
test_answers_are_printed_and_the_first_refusal_is_the_failure(void **unused)
{
	static const struct {
		const char *id[CONTROLS_MAX];
		struct request_print_how how;
		struct script script;
		enum fail_code code;
		const char *trace, *printed, *failure;
	} rows[] = {
	    {{"a1"}, {.timeout_ms = 7}, {0}, FAIL_NONE, "send a1; wait 7",
		"accepted: request a1\n"
		"from then on\n",
		""},
	    {{"e1"}, {.timeout_ms = 0}, {0}, FAIL_NONE, "send e1; wait 30000",
		"accepted: request e1\n", ""},
	    {{"a1", "r2", "a3"}, {.timeout_ms = 7}, {0}, FAIL_DATA, "send a1 r2 a3; wait 7",
		"accepted: request a1\n"
		"from then on\n"
		"accepted: request a3\n"
		"from then on\n",
		"request r2 was refused: no room; nothing was changed by it"},
	    {{"a1b"}, {.timeout_ms = 7}, {0}, FAIL_NONE, "",
		"was accepted before: request a1b\n"
		"from then on\n",
		""},
	    {{"r1b", "a2"}, {.timeout_ms = 7}, {0}, FAIL_DATA, "send a2; wait 7",
		"accepted: request a2\n"
		"from then on\n",
		"request r1b was refused before: no room; nothing was changed by it"},
	    {{"a1", "a2b", "e3"}, {.named = true}, {0}, FAIL_NONE,
		"look back pre; send a1 e3; wait 30000",
		"accepted: request a1\n"
		"from then on\n"
		"was accepted before: request a2b\n"
		"from then on\n"
		"accepted: request e3\n",
		""},
	    {{"c1b", "r2"}, {.named = true}, {0}, FAIL_DATA, "look back pre; send r2; wait 30000",
		"",
		"request c1b was cancelled: it changes nothing; ask again with another --id, or "
		"without"},
	    {{"c1b"}, {.named = false}, {0}, FAIL_NONE, "",
		"was accepted before: request c1b\n"
		"from then on\n",
		""},
	    {{"a1", "o2b"}, {.named = true}, {0}, FAIL_USAGE, "look back pre; ", "",
		"--id o2b: request o2b was sent before, and asks for weights web=0.5, not for "
		"weights: give another --id, or none"},
	    {{"o2b"}, {.named = true}, {.denied = true}, FAIL_NONE, "look back pre; ",
		"was accepted before: request o2b\n"
		"from then on\n",
		""},
	    {{"a1", "c2b"}, {.named = true, .json = true, .timeout_ms = 7}, {0}, FAIL_DATA,
		"look back pre; send a1; wait 7",
		"{\"id\":\"a1\",\"accepted\":true,\"step\":89,\"answered_before\":false,"
		"\"cancelled\":false,\"dry_run\":false,\"text\":\"from then on\"}\n"
		"{\"id\":\"c2b\",\"accepted\":true,\"step\":90,\"answered_before\":true,"
		"\"cancelled\":true,\"dry_run\":false,\"text\":\"from then on\"}\n",
		"request c2b was cancelled: it changes nothing; ask again with another --id, or "
		"without"},
	    {{"r1b"}, {.json = true}, {0}, FAIL_DATA, "",
		"{\"id\":\"r1b\",\"accepted\":false,\"step\":89,\"answered_before\":true,"
		"\"cancelled\":false,\"dry_run\":false,\"text\":\"no room\"}\n",
		"request r1b was refused before: no room; nothing was changed by it"},
	    {{"a1", "a2"}, {.timeout_ms = 0}, {.without_mixer = true}, FAIL_TIMEOUT, "send a1 a2",
		"",
		"request a1 is open: no mixer runs, and the next `riffle mix` answers it "
		"(--timeout SECONDS waits for that); `riffle requests` shows what became of it"},
	    {{"a1", "a2"}, {.timeout_ms = 1}, {.without_mixer = true}, FAIL_NONE,
		"send a1 a2; wait 1",
		"accepted: request a1\n"
		"from then on\n"
		"accepted: request a2\n"
		"from then on\n",
		""},
	    {{"a1b"}, {.timeout_ms = 0}, {.without_mixer = true}, FAIL_NONE, "",
		"was accepted before: request a1b\n"
		"from then on\n",
		""},
	    {{"a1", "r2"}, {.dry_run = true, .config = &config}, {0}, FAIL_DATA,
		"dry demo a1;dry demo r2;",
		"would be accepted\n"
		"from then on\n",
		"would be refused: no room"},
	    {{"a1", "e2"}, {.dry_run = true, .config = &config}, {0}, FAIL_NONE,
		"dry demo a1;dry demo e2;",
		"would be accepted\n"
		"from then on\n"
		"would be accepted\n",
		""},
	    {{"a1"}, {.dry_run = true, .json = true, .config = &config}, {0}, FAIL_NONE,
		"dry demo a1;",
		"{\"id\":\"a1\",\"accepted\":true,\"step\":89,\"answered_before\":false,"
		"\"cancelled\":false,\"dry_run\":true,\"text\":\"from then "
		"on\",\"effect\":{\"excluded\":5,\"sequences\":6}}\n",
		""},
	    {{"a1"}, {.dry_run = true, .config = &config}, {.not_started = true}, FAIL_DATA, "", "",
		"the mix has not started: `riffle plan` shows what its configuration will do"},
	    {{"a1", "a2"}, {.named = true}, {.fails = "earlier"}, FAIL_BROKER, "", "",
		"earlier failed"},
	    {{"a1", "a2"}, {.named = true}, {.fails = "list"}, FAIL_BROKER, "look back pre; ", "",
		"list failed"},
	    {{"a1", "a2b"}, {.named = true}, {.fails = "send"}, FAIL_BROKER,
		"look back pre; send a1", "", "send failed"},
	    {{"a1", "a2b"}, {.named = true}, {.fails = "wait"}, FAIL_BROKER,
		"look back pre; send a1; wait 30000", "", "wait failed"},
	    {{"a1", "a2"}, {.dry_run = true, .config = &config}, {.fails = "dry"}, FAIL_BROKER,
		"dry demo a1;", "", "dry failed"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct control c[CONTROLS_MAX];
		struct printed p;
		size_t n = 0;

		for (; n < CONTROLS_MAX && rows[i].id[n] != NULL; n++) {
			c[n] = web;
			c[n].id = (char *)(uintptr_t)rows[i].id[n];
		}
		script = rows[i].script;
		trace[0] = '\0';
		printed_begin(&p);
		assert_int_equal(request_print(NULL, c, n, &rows[i].how, &f), rows[i].code);
		printed_is(&p, rows[i].printed);
		printed_compare(trace, rows[i].trace);
		if (rows[i].code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
	}
}

static void
test_an_earlier_answer_is_found_by_its_id(void **unused)
{
	static const struct {
		const char *id;
		struct script script;
		enum fail_code code;
		const char *trace, *printed, *failure;
	} rows[] = {
	    {"a1b", {0}, FAIL_NONE, "look back pre; ",
		"was accepted before: request a1b\n"
		"from then on\n",
		""},
	    {"o1b", {0}, FAIL_NONE, "look back pre; ",
		"was accepted before: request o1b\n"
		"from then on\n",
		""},
	    {"r1b", {0}, FAIL_DATA, "look back pre; ", "",
		"request r1b was refused before: no room; nothing was changed by it"},
	    {"c1b", {0}, FAIL_DATA, "look back pre; ", "",
		"request c1b was cancelled: it changes nothing; ask again with another --id, or "
		"without"},
	    {"c1b", {.denied = true}, FAIL_NONE, "look back pre; ",
		"was accepted before: request c1b\n"
		"from then on\n",
		""},
	    {"a1", {0}, FAIL_DATA, "", "", "the mix has answered no request a1"},
	    {"a1b", {.fails = "earlier"}, FAIL_BROKER, "", "", "earlier failed"},
	    {"a1b", {.fails = "list"}, FAIL_BROKER, "look back pre; ", "", "list failed"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, id) {
		struct request_print_how how = {.json = false};
		struct printed p, file;

		script = rows[i].script;
		trace[0] = '\0';
		printed_begin(&p); /* nothing goes to stdout where a stream is given */
		how.to = open_memstream(&file.text, &file.n);
		assert_int_equal(request_print_earlier(NULL, rows[i].id, &how, &f), rows[i].code);
		fclose(how.to);
		printed_is(&p, "");
		printed_compare(file.text, rows[i].printed);
		free(file.text);
		printed_compare(trace, rows[i].trace);
		if (rows[i].code != FAIL_NONE)
			assert_string_equal(f.text, rows[i].failure);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_of_an_effect_stands_in_its_place),
	    cmocka_unit_test(test_answers_are_printed_and_the_first_refusal_is_the_failure),
	    cmocka_unit_test(test_an_earlier_answer_is_found_by_its_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
