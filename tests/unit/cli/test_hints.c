#include "cli/hints.h"

#include <string.h>

#include "cli/command.h"
#include "common/base/log.h"
#include "tests/unit/test.h"

static bool
takes_config(const char *name)
{
	const struct command *c = command_find(name);

	return c != NULL && (c->common & OPTIONS_CONFIG) != 0;
}

static void
test_a_suggested_command_gets_the_configuration_that_it_lacks(void **unused)
{
	static const struct {
		const char *text, *said;
	} rows[] = {
	    {"topic a.b is missing: run `riffle topics --create`",
		"topic a.b is missing: run `riffle topics -c run.yml --create`"},
	    {"`riffle mix`, then `riffle produce code --restart`.",
		"`riffle mix -c run.yml`, then `riffle produce -c run.yml code --restart`."},
	    {"`riffle topics -c other.yml --create`; `riffle mix`",
		"`riffle topics -c other.yml --create`; `riffle mix -c run.yml`"},
	    {"`riffle mix` with -c x `b -c c`", "`riffle mix -c run.yml` with -c x `b -c c`"},
	    {"`riffle config --check` checks it", "`riffle config -c run.yml --check` checks it"},
	    {"(`riffle config --keys` lists all)", "(`riffle config --keys` lists all)"},
	    {"`riffle completion bash`", "`riffle completion bash`"}, /* takes no -c */
	    {"`riffle tokenize --decode`", "`riffle tokenize --decode`"},
	    {"`riffle help mix`", "`riffle help mix`"},
	    {"`riffle mixer`", "`riffle mixer`"},
	    {"`riffle `", "`riffle `"},
	    {"`riffle mix", "`riffle mix"}, /* cut */
	    {"see riffle mix --help", "see riffle mix --help"},
	    {"`riffle weights a=1 --at-step now` with `riffle`",
		"`riffle weights -c run.yml a=1 --at-step now` with `riffle`"},
	    {"`riffle aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`",
		"`riffle aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`"},
	    {"", ""},
	};
	char out[256], again[256];

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		hints_set(NULL, NULL, 0, NULL);
		hints_say(out, sizeof(out), rows[i].text);
		assert_string_equal(out, rows[i].text);
		hints_set("run.yml", NULL, 0, NULL);
		hints_say(out, sizeof(out), rows[i].text);
		assert_string_equal(out, rows[i].said);
		hints_say(again, sizeof(again), out);
		assert_string_equal(again, rows[i].said);
		for (size_t room = 1; room <= strlen(rows[i].said); room++) {
			hints_say(out, room, rows[i].text);
			assert_int_equal(strlen(out), room - 1);
			assert_memory_equal(out, rows[i].said, room - 1);
		}
	}
}

/* A trainer was given --mix and a broker; what it suggests works with these alone. */
static void
test_a_hint_that_names_its_mix_needs_no_configuration(void **unused)
{
	static const char hint[] = "`riffle runs --mix m --forget r`";
	char out[256];

	(void)unused;
	hints_set(NULL, NULL, 0, "m");
	hints_say(out, sizeof(out), hint);
	assert_string_equal(out, hint);
	hints_set("run.yml", NULL, 0, NULL);
	hints_say(out, sizeof(out), hint);
	assert_string_equal(out, "`riffle runs -c run.yml --mix m --forget r`");
}

static void
test_what_names_the_configuration_is_quoted_for_a_shell(void **unused)
{
	static const struct {
		const char *path;
		struct option_list overrides;
		const char *mix, *said;
	} rows[] = {
	    {"/a-b/run_1.yml", {0}, NULL, "`riffle mix -c /a-b/run_1.yml`"},
	    {"my run.yml", {0}, NULL, "`riffle mix -c 'my run.yml'`"},
	    {"a'b$c.yml", {0}, NULL, "`riffle mix -c 'a'\\''b$c.yml'`"},
	    {"a.yml", {3, {"mix.name=b", "kafka.sasl.password=secret", "mix.weights={a: 1, b: 2}"}},
		NULL, "`riffle mix -c a.yml -s mix.name=b -s 'mix.weights={a: 1, b: 2}'`"},
	    {"a.yml", {1, {"corpus=c"}}, "m", "`riffle mix -c a.yml -s corpus=c -s mix.name=m`"},
	    {NULL, {1, {"corpus=c"}}, "m", "`riffle mix -s corpus=c -s mix.name=m`"},
	    {NULL, {0}, NULL, "`riffle mix`"},
	};
	char out[HINTS_TEXT_MAX], path[HINTS_NAMED_MAX];

	(void)unused;
	EACH_NAMED_ROW(i, rows, said) {
		hints_set(rows[i].path, rows[i].overrides.text, rows[i].overrides.n, rows[i].mix);
		hints_say(out, sizeof(out), "`riffle mix`");
		assert_string_equal(out, rows[i].said);
	}
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - strlen(" -c ")] = '\0';
	hints_set(path, NULL, 0, NULL);
	hints_say(out, sizeof(out), "`riffle mix`");
	assert_string_equal(out, "`riffle mix`");
	path[sizeof(path) - 1 - strlen(" -c ")] = '\0';
	hints_set(path, NULL, 0, NULL);
	hints_say(out, sizeof(out), "`riffle mix`");
	assert_int_equal(strlen(out), strlen("`riffle mix`") + HINTS_NAMED_MAX - 1);
}

static void
keep_line(void *opaque, enum log_level level, const char *line)
{
	(void)level;
	snprintf(opaque, 256, "%s", line);
}

static void
test_the_log_completes_hints_like_failures(void **unused)
{
	char line[256], said[256];

	(void)unused;
	hints_set(NULL, NULL, 0, NULL);
	log_set_sink(keep_line, line);
	log_warning("mix: MIX-X run `riffle mix`");
	assert_string_equal(line, "mix: MIX-X run `riffle mix`");
	hints_say(said, sizeof(said), "run `riffle mix`");
	assert_string_equal(said, "run `riffle mix`");
	hints_set("a b.yml", NULL, 0, NULL);
	log_warning("mix: MIX-X run `riffle mix`");
	assert_string_equal(line, "mix: MIX-X run `riffle mix -c 'a b.yml'`");
	hints_say(said, sizeof(said), "run `riffle mix`");
	assert_string_equal(said, "run `riffle mix -c 'a b.yml'`");
	log_set_sink(NULL, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_suggested_command_gets_the_configuration_that_it_lacks),
	    cmocka_unit_test(test_a_hint_that_names_its_mix_needs_no_configuration),
	    cmocka_unit_test(test_what_names_the_configuration_is_quoted_for_a_shell),
	    cmocka_unit_test(test_the_log_completes_hints_like_failures),
	};

	hints_set_takes(takes_config);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
