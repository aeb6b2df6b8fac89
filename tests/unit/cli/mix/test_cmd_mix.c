/*
 * riffle mix: which mix is run with which options, or which mixes. The mixer, the processes of
 * several mixes, the listener for metrics, the group of the election and the terminal are the
 * test's.
 */
#include <inttypes.h>
#include <unistd.h>

#include "cli/hints.h"
#include "cli/metrics/metrics_listener.h"
#include "cli/mix/mixes.h"
#include "cli/signals.h"
#include "common/base/names.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/publish/election_group.h"
#include "consumer/publish/mix.h"
#include "producer/produce/produce.h"
#include "tests/unit/capture.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static char trace[2048];
static const char *fails; /* the call that fails */
static int handles;
static bool several;        /* mixes run */
static bool asks, terminal; /* the mixer asks its caller both questions; stdin is a terminal */
static char *(*ask_metrics)(void *opaque);
static const char *members; /* of the group: "a" an active mixer, "s" a standby; NULL: not known */

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

int
isatty(int fd)
{
	return fd == STDIN_FILENO && terminal;
}

void
produce_note_tokenizer(struct config *c)
{
	note("[%s", c->mix.name);
	if (fails != NULL && strcmp(fails, "tokenizer") == 0)
		fail(&c->tokenizer.misfit, FAIL_CONFIG, "eos is not a token");
}

/* The options set them, too; here they are those of one of several mixes. */
void
hints_set(const char *path, const char *const *overrides, size_t n, const char *mix)
{
	if (!several)
		return;
	note("hints %s", strrchr(path, '/') + 1);
	for (size_t i = 0; i < n; i++)
		note(" %s", overrides[i]);
	assert_null(mix);
	note("; ");
}

enum fail_code
metrics_listener_open(struct metrics_listener **out, const struct metrics_options *o,
    char *(*text)(void *opaque), void *opaque, struct failure *f)
{
	assert_non_null(opaque);
	ask_metrics = text;
	note(" at %s", o->address);
	note(o->token_file == NULL ? "" : " by %s", o->token_file);
	*out = NULL;
	if (may_fail("listen", f) != FAIL_NONE)
		return f->code;
	handles++;
	*out = (struct metrics_listener *)&handles;
	return FAIL_NONE;
}

void
metrics_listener_close(struct metrics_listener *l)
{
	handles -= l != NULL;
}

enum fail_code
kafka_group_members_of(const char *group, const struct properties *properties,
    struct kafka_member *member, size_t max, size_t *n, int timeout_ms, struct failure *f)
{
	assert_non_null(properties_value(properties, "bootstrap.servers"));
	note(" members of %s in %d ms", group, timeout_ms);
	if (members == NULL)
		return fail(f, FAIL_BROKER, "not known");
	*n = strlen(members);
	assert_true(*n <= max);
	for (size_t i = 0; i < *n; i++) {
		member[i] = (struct kafka_member){.assigned = members[i] == 'a'};
		snprintf(member[i].client, sizeof(member[i].client), "riffle-%s",
		    members[i] == 'a' ? ELECTION_ACTIVE : ELECTION_STANDBY);
		snprintf(member[i].host, sizeof(member[i].host), "host%zu", i);
	}
	return FAIL_NONE;
}

static void
note_steps(uint64_t step)
{
	if (step == UINT64_MAX)
		note(" to the end");
	else
		note(" to %" PRIu64, step);
}

enum fail_code
mix_run(const struct mix_options *o, struct failure *f)
{
	char hosts[64] = "?";
	char *text;

	assert_ptr_equal(o->stop, signals_stop());
	note_steps(o->until_step);
	note("%s%s%s%s%s]", o->ends ? " ends" : "", o->accept_config ? " accept" : "",
	    o->standby ? " standby" : "", o->waits == NULL ? "" : " linked",
	    o->board == NULL ? "" : " measured");
	assert_true(o->waits == NULL || o->waits == mixes_waits);
	assert_int_equal(o->waits_opaque != NULL, o->waits != NULL);
	if (o->board != NULL) {
		text = ask_metrics(o->board); /* nothing is there yet */
		free(text);
	}
	if (asks) {
		note(o->active(o->config, hosts, sizeof(hosts)) ? " runs on %s;" : " none: %s;",
		    hosts);
		if (o->confirm(o->confirm_opaque, "a changes", f) != FAIL_NONE)
			return f->code;
		note(" confirmed");
	}
	return may_fail("mix", f);
}

void
mixes_waits(void *opaque)
{
	(void)opaque;
}

enum fail_code
mixes_run(const struct mixes *m, struct failure *f)
{
	enum fail_code code;

	note("%zu mixes, %zu at once: ", m->n, m->at_once);
	for (size_t i = 0; i < m->n; i++) {
		note("%s ", m->name[i]);
		several = true;
		code = m->run(m->opaque, i, (struct mixes_link *)&handles, f);
		several = false;
		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

/* FILE of a word is the file in the folder. */
static void
check(const char *words, enum fail_code code, const char *calls, const char *failure)
{
	char line[2048] = "", copy[1024];
	size_t n = 0;
	struct printed p;

	trace[0] = '\0';
	handles = 0;
	snprintf(copy, sizeof(copy), "%s", words);
	for (char *rest = NULL, *at = strtok_r(copy, " ", &rest); at != NULL;
	     at = strtok_r(NULL, " ", &rest)) {
		size_t length = strlen(at);
		bool file = length > 4 && strcmp(at + length - 4, ".yml") == 0;

		n += (size_t)snprintf(
		    line + n, sizeof(line) - n, "%s%s%s ", file ? folder : "", file ? "/" : "", at);
	}
	assert_int_equal(run_command(&p, &cmd_mix, line), code);
	free(p.text);
	printed_compare(trace, calls);
	if (code != FAIL_NONE) {
		char *at = strstr(f.text, folder), without[1024] = "";

		n = 0; /* the folder's name is another one each time */
		for (const char *from = f.text; *from != '\0'; at = strstr(from, folder)) {
			size_t before = at == NULL ? strlen(from) : (size_t)(at - from);

			n += (size_t)snprintf(
			    without + n, sizeof(without) - n, "%.*s", (int)before, from);
			from += before + (at == NULL ? 0 : strlen(folder) + 1);
		}
		printed_compare(without, failure);
	}
	assert_int_equal(handles, 0);
}

static void
test_one_mix(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"-c run.yml", NULL, FAIL_NONE, "[pretrain to the end]", ""},
	    {"-c run.yml --mix other --until-step 0", NULL, FAIL_NONE, "[other to 0]", ""},
	    {"-c run.yml --end-at-step 1 --standby", NULL, FAIL_NONE,
		"[pretrain to 1 ends standby]", ""},
	    {"-c run.yml --accept-config", NULL, FAIL_NONE, "[pretrain to the end accept]", ""},
	    {"-c run.yml --metrics 9640 --metrics-token-file t", NULL, FAIL_NONE,
		"[pretrain at 9640 by t to the end measured]", ""},
	    {"-c run.yml", "mix", FAIL_BROKER, "[pretrain to the end]", "mix failed"},
	    {"-c run.yml", "tokenizer", FAIL_CONFIG, "[pretrain", "eos is not a token"},
	    {"-c run.yml --metrics 0", "listen", FAIL_BROKER, "[pretrain at 0", "listen failed"},
	    {"-c run.yml --metrics 0", "mix", FAIL_BROKER, "[pretrain at 0 to the end measured]",
		"mix failed"},
	    {"-c run.yml --until-step 4 --end-at-step 5", NULL, FAIL_USAGE, "",
		"give one of --until-step, which pauses the mix, and --end-at-step, which ends it"},
	    {"-c run.yml --end-at-step 0", NULL, FAIL_USAGE, "",
		"--end-at-step: out of range: 0 (1 to 18446744073709551615)"},
	    {"-c run.yml --at-once 401", NULL, FAIL_USAGE, "",
		"--at-once: out of range: 401 (1 to 400)"},
	    {"-c corpus.yml", NULL, FAIL_CONFIG, "",
		"corpus.yml: mix: is missing (the section that says what is mixed, and how; see "
		"`riffle config --keys`)"},
	};

	(void)unused;
	asks = false;
	EACH_NAMED_ROW(i, rows, words) {
		fails = rows[i].fails;
		check(rows[i].words, rows[i].code, rows[i].calls, rows[i].failure);
	}
	fails = NULL;
}

static void
test_several_mixes(void **unused)
{
	static const struct {
		const char *words, *fails;
		enum fail_code code;
		const char *calls, *failure;
	} rows[] = {
	    {"-c run.yml -c b.yml", NULL, FAIL_NONE,
		"2 mixes, 4 at once: pretrain hints run.yml; [pretrain to the end linked]b hints "
		"b.yml; [b to the end linked]",
		""},
	    {"-c run.yml b.yml c.yml --at-once 2 --end-at-step 9 -s mix.global_batch=32", NULL,
		FAIL_NONE,
		"3 mixes, 2 at once: pretrain hints run.yml mix.global_batch=32; [pretrain to 9 "
		"ends linked]b hints b.yml mix.global_batch=32; [b to 9 ends linked]c hints c.yml "
		"mix.global_batch=32; [c to 9 ends linked]",
		""},
	    {"-c run.yml -c b.yml --metrics 9640 --accept-config --yes", NULL, FAIL_NONE,
		"2 mixes, 4 at once: pretrain hints run.yml; [pretrain at 127.0.0.1:9640 to the "
		"end accept linked measured]b hints b.yml; [b at 127.0.0.1:9641 to the end accept "
		"linked measured]",
		""},
	    {"-c run.yml -c b.yml", "mix", FAIL_BROKER,
		"2 mixes, 4 at once: pretrain hints run.yml; [pretrain to the end linked]",
		"mix failed"},
	    {"-c run.yml -c b.yml --metrics 65535", NULL, FAIL_USAGE, "",
		"--metrics: 65535: each of 2 listens on a port of its own, and the last one would "
		"be above 65535: begin with a lower port"},
	    {"-c run.yml -c b.yml --metrics 65534", NULL, FAIL_NONE,
		"2 mixes, 4 at once: pretrain hints run.yml; [pretrain at 127.0.0.1:65534 to the "
		"end linked measured]b hints b.yml; [b at 127.0.0.1:65535 to the end linked "
		"measured]",
		""},
	    {"-c run.yml -c b.yml --mix x", NULL, FAIL_USAGE, "",
		"--mix names one mix, and there are 2"},
	    {"-c run.yml -c b.yml --accept-config", NULL, FAIL_USAGE, "",
		"--accept-config asks, and there are 2 mixes: add --yes"},
	    {"-c run.yml b.yml run.yml", NULL, FAIL_CONFIG, "",
		"run.yml and run.yml both configure mix pretrain"},
	    {"-c b.yml run.yml c.yml run.yml", NULL, FAIL_CONFIG, "",
		"run.yml and run.yml both configure mix pretrain"},
	    {"-c run.yml -c corpus.yml", NULL, FAIL_CONFIG, "",
		"corpus.yml: mix: is missing (the section that says what is mixed, and how; see "
		"`riffle config --keys`)"},
	    {"-c run.yml b", NULL, FAIL_USAGE, "",
		"unexpected argument: b: further configurations end in .yml or .yaml"},
	    {"-c run.yml b.json", NULL, FAIL_USAGE, "",
		"unexpected argument: b.json: further configurations end in .yml or .yaml"},
	    {"x.yaml", NULL, FAIL_USAGE, "",
		"unexpected argument: x.yaml (the configuration: -c FILE)"},
	};

	(void)unused;
	asks = false;
	EACH_NAMED_ROW(i, rows, words) {
		fails = rows[i].fails;
		check(rows[i].words, rows[i].code, rows[i].calls, rows[i].failure);
	}
	fails = NULL;
}

static void
test_what_a_mixer_asks(void **unused)
{
	static const struct {
		const char *words, *members, *typed; /* NULL: there is no terminal */
		enum fail_code code;
		const char *calls, *failure, *said;
	} rows[] = {
	    {"--yes", "", NULL, FAIL_NONE, " none: ; confirmed", "", "a changes\n"},
	    {"--yes", "sas", NULL, FAIL_NONE, " runs on host1; confirmed", "", "a changes\n"},
	    {"--yes", "s", NULL, FAIL_NONE, " none: ; confirmed", "", "a changes\n"},
	    {"--yes", NULL, NULL, FAIL_NONE, " none: ?; confirmed", "", "a changes\n"},
	    {"", "a", NULL, FAIL_USAGE, " runs on host0;",
		"riffle asks before it accepts these changes, and there is no terminal to ask on: "
		"add --yes",
		"a changes\n"},
	    {"", "", "yes\n", FAIL_NONE, " none: ; confirmed", "",
		"a changes\nAccept this configuration? Type yes: "},
	    {"", "", "no\n", FAIL_CONFIG, " none: ;",
		"the changed configuration was not accepted: nothing was done",
		"a changes\nAccept this configuration? Type yes: "},
	    {"", "", "yes, please do\n", FAIL_CONFIG, " none: ;",
		"the changed configuration was not accepted: nothing was done",
		"a changes\nAccept this configuration? Type yes: "},
	    {"", "", " ", FAIL_CONFIG, " none: ;",
		"the changed configuration was not accepted: nothing was done",
		"a changes\nAccept this configuration? Type yes: "},
	};

	(void)unused;
	asks = true;
	EACH_NAMED_ROW(i, rows, calls) {
		char words[64], calls[256], said[512];
		FILE *typed = NULL, *was = stdin;
		struct capture log;

		members = rows[i].members;
		terminal = rows[i].typed != NULL;
		if (terminal) {
			typed =
			    fmemopen((char *)(uintptr_t)rows[i].typed, strlen(rows[i].typed), "r");
			assert_non_null(typed);
			stdin = typed;
		}
		snprintf(words, sizeof(words), "-c run.yml --accept-config %s", rows[i].words);
		snprintf(calls, sizeof(calls),
		    "[pretrain to the end accept] members of pretrain.election in 5000 ms%s",
		    rows[i].calls);
		capture_begin(&log);
		check(words, rows[i].code, calls, rows[i].failure);
		capture_end_lines(&log, said, sizeof(said));
		printed_compare(said, rows[i].said);
		stdin = was;
		if (typed != NULL)
			fclose(typed);
	}
	asks = false;
}

/* Writes the usual file with another name of the mix. */
static int
write_config(const char *file, const char *mix)
{
	FILE *to = fopen(folder_path(file), "w");

	if (to == NULL)
		return -1;
	for (size_t i = 0; i < BASE_LINES; i++)
		if (strcmp(base[i], "  name: pretrain") == 0)
			fprintf(to, "  name: %s\n", mix);
		else
			fprintf(to, "%s\n", base[i]);
	return fclose(to);
}

static int
begin(void **state)
{
	unsetenv("RIFFLE_CONFIG");
	if (folder_open(state) != 0)
		return -1;
	folder_text("corpus.yml", "corpus: demo\nsequence_length: 8\ntokenizer: {file: v.tiktoken, "
				  "pattern: gpt2}\ndomains: {web: {train: a.jsonl}}\n");
	return write_config("run.yml", "pretrain") | write_config("b.yml", "b") |
	       write_config("c.yml", "c");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_mix),
	    cmocka_unit_test(test_several_mixes),
	    cmocka_unit_test(test_what_a_mixer_asks),
	};

	return cmocka_run_group_tests(tests, begin, folder_close);
}
