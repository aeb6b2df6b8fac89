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
	    {"`riffle aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`",
		"`riffle aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`"},
	    {"", ""},
	};
	char out[256], again[256];

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		hints_complete(out, sizeof(out), rows[i].text, " -c run.yml");
		assert_string_equal(out, rows[i].said);
		hints_complete(again, sizeof(again), out, " -c run.yml");
		assert_string_equal(again, rows[i].said);
		hints_complete(out, sizeof(out), rows[i].text, "");
		assert_string_equal(out, rows[i].text);
		for (size_t room = 1; room <= strlen(rows[i].said); room++) {
			hints_complete(out, room, rows[i].text, " -c run.yml");
			assert_int_equal(strlen(out), room - 1);
			assert_memory_equal(out, rows[i].said, room - 1);
		}
	}
}

static void
test_what_names_the_configuration_is_quoted_for_a_shell(void **unused)
{
	static const struct {
		const char *path;
		struct option_list overrides;
		const char *named;
	} rows[] = {
	    {"/a-b/run_1.yml", {0}, " -c /a-b/run_1.yml"},
	    {"my run.yml", {0}, " -c 'my run.yml'"},
	    {"a'b$c.yml", {0}, " -c 'a'\\''b$c.yml'"},
	    {"a.yml", {3, {"mix.name=b", "kafka.sasl.password=secret", "mix.weights={a: 1, b: 2}"}},
		" -c a.yml -s mix.name=b -s 'mix.weights={a: 1, b: 2}'"},
	};
	char out[HINTS_NAMED_MAX], path[HINTS_NAMED_MAX];

	(void)unused;
	EACH_NAMED_ROW(i, rows, path)
		assert_string_equal(
		    hints_named(out, rows[i].path, rows[i].overrides.text, rows[i].overrides.n),
		    rows[i].named);
	memset(path, 'a', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_string_equal(
	    hints_named(out, path, rows[0].overrides.text, rows[0].overrides.n), "");
	path[sizeof(path) - 1 - strlen(" -c ")] = '\0';
	assert_int_equal(
	    strlen(hints_named(out, path, rows[0].overrides.text, rows[0].overrides.n)),
	    sizeof(out) - 1);
}

static void
keep_line(void *opaque, enum log_level level, const char *line)
{
	(void)level;
	snprintf(opaque, 256, "%s", line);
}

static void
test_the_log_completes_hints_of_a_command_with_c_and_not_with_the_environment(void **unused)
{
	char line[256], said[256];

	(void)unused;
	log_set_sink(keep_line, line);
	log_warning("mix: MIX-X run `riffle mix`");
	assert_string_equal(line, "mix: MIX-X run `riffle mix`");
	hints_say(said, sizeof(said), "run `riffle mix`");
	assert_string_equal(said, "run `riffle mix`");
	hints_set("a b.yml", NULL, 0);
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
	    cmocka_unit_test(test_what_names_the_configuration_is_quoted_for_a_shell),
	    cmocka_unit_test(
		test_the_log_completes_hints_of_a_command_with_c_and_not_with_the_environment),
	};

	hints_set_takes(takes_config);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
