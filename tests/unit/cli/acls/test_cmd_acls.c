/* riffle acls: the script and the table of rights, and whom it refuses. */
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static int
open_config(void **state)
{
	struct config *c;

	if (folder_open(state) != 0 || open_with(&c, 0, "", &f) != FAIL_NONE)
		return -1;
	config_close(c);
	setenv("RIFFLE_CONFIG", folder_path("run.yml"), 1);
	return 0;
}

static int
close_config(void **state)
{
	unsetenv("RIFFLE_CONFIG");
	return folder_close(state);
}

#define ADD    "\"$@\" --add --allow-principal 'User:ops' --operation "
#define REMOVE "\"$@\" --remove --force --allow-principal 'User:ops' --operation "

static void
test_rights_of_one_operation_and_kind_are_one_line_of_the_script(void **unused)
{
	static const struct {
		const char *words, *script;
	} rows[] = {
	    {"weights --principal User:ops",
		ADD "Read --topic pretrain.ledger\n" ADD "Write --topic pretrain.control\n" ADD
		    "Describe --group pretrain.election\n"},
	    {"weights --principal User:ops --remove", REMOVE
		"Read --topic pretrain.ledger\n" REMOVE "Write --topic pretrain.control\n" REMOVE
		"Describe --group pretrain.election\n"},
	    {"retain --principal User:ops",
		"\"$@\" --add --allow-principal 'User:ops' --operation Read --topic "
		"pretrain.batches --topic pretrain.ledger\n"
		"\"$@\" --add --allow-principal 'User:ops' --operation Delete --topic "
		"pretrain.batches\n"
		"\"$@\" --add --allow-principal 'User:ops' --operation Describe "
		"--resource-pattern-type prefixed --group pretrain.\n"},
	    {"topics --principal User:ops",
		"\"$@\" --add --allow-principal 'User:ops' --operation Describe --topic demo.code "
		"--topic demo.web --topic demo.rejects --topic pretrain.batches --topic "
		"pretrain.ledger --topic pretrain.control --topic pretrain.feedback\n"
		"\"$@\" --add --allow-principal 'User:ops' --operation DescribeConfigs --topic "
		"demo.code --topic demo.web --topic demo.rejects --topic pretrain.batches --topic "
		"pretrain.ledger --topic pretrain.control --topic pretrain.feedback\n"
		"\"$@\" --add --allow-principal 'User:ops' --operation DescribeConfigs "
		"--cluster\n"},
	    {"weights --principal User:O'Brien''",
		"\"$@\" --add --allow-principal 'User:O'\\''Brien'\\'''\\''' --operation Read "
		"--topic pretrain.ledger\n"
		"\"$@\" --add --allow-principal 'User:O'\\''Brien'\\'''\\''' --operation Write "
		"--topic pretrain.control\n"
		"\"$@\" --add --allow-principal 'User:O'\\''Brien'\\'''\\''' --operation Describe "
		"--group pretrain.election\n"},
	    {"retain --table", "READ\ttopic\tliteral\tpretrain.batches\n"
			       "READ\ttopic\tliteral\tpretrain.ledger\n"
			       "DELETE\ttopic\tliteral\tpretrain.batches\n"
			       "DESCRIBE\tgroup\tprefixed\tpretrain.\n"},
	    {"mix --table", "READ\ttopic\tliteral\tdemo.code\n"
			    "READ\ttopic\tliteral\tdemo.web\n"
			    "READ\ttopic\tliteral\tpretrain.control\n"
			    "READ\ttopic\tliteral\tpretrain.ledger\n"
			    "READ\ttopic\tliteral\tpretrain.batches\n"
			    "WRITE\ttopic\tliteral\tpretrain.ledger\n"
			    "WRITE\ttopic\tliteral\tpretrain.batches\n"
			    "WRITE\ttopic\tliteral\tdemo.rejects\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tdemo.code\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tdemo.web\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tpretrain.control\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tpretrain.ledger\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tpretrain.batches\n"
			    "DESCRIBE_CONFIGS\ttopic\tliteral\tdemo.rejects\n"
			    "READ\tgroup\tliteral\tpretrain.mixer\n"
			    "READ\tgroup\tliteral\tpretrain.election\n"
			    "DESCRIBE\tgroup\tliteral\tpretrain.trainers\n"
			    "WRITE\ttransactional-id\tliteral\tpretrain.mixer\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		run_command_is(&cmd_acls, rows[i].words, FAIL_NONE, rows[i].script);
}

static void
test_a_principal_needs_a_type_and_no_signs_that_a_terminal_hides(void **unused)
{
	static const struct {
		const char *words, *says;
	} rows[] = {
	    {"weights", "for whom? add --principal User:NAME (or --table)"},
	    {"weights --principal ops", "--principal: ops has no type (User:ops)"},
	    {"weights --principal :ops", "--principal: :ops has no type (User::ops)"},
	    {"weights --principal User:\x1bops", "--principal: has a control character in it"},
	    {"weights --principal User:ops\x7f", "--principal: has a control character in it"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, words)
		run_command_is(&cmd_acls, rows[i].words, FAIL_USAGE, rows[i].says);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rights_of_one_operation_and_kind_are_one_line_of_the_script),
	    cmocka_unit_test(test_a_principal_needs_a_type_and_no_signs_that_a_terminal_hides),
	};

	return cmocka_run_group_tests(tests, open_config, close_config);
}
