/* acls_rights.h: which resources a row of the table stands for, by what the configuration has. */
#include "cli/acls/acls_rights.h"

#include "tests/unit/test.h"

static char *pattern[] = {(char[]){"in/*.jsonl"}};
static char *runs[] = {(char[]){"main"}, (char[]){"tune"}};
static struct config_domain still[] = {
    {.name = (char[]){"code"}, .partitions = 1, .train = {1, pattern}, .valid = {1, pattern}},
    {.name = (char[]){"web"}, .partitions = 1, .train = {1, pattern}},
};
static struct config_domain living[] = {
    {.name = (char[]){"web"}, .partitions = 1, .live = true, .train = {1, pattern}},
};

#define CORPUS(of, n)                                                                              \
	.path = (char[]){"run.yml"}, .corpus = (char[]){"demo"}, .sequence_length = 8,             \
	.split = {1, 0, 0}, .replication = 1, .domains = of, .domains_n = n
#define MIX .name = (char[]){"pre"}, .global_batch = 8, .lanes = 4, .runs = {2, runs}

/* With copies of the batches; with lanes that share partitions; derived; with a live domain. */
static const struct config copies = {CORPUS(still, 2), .mix = {MIX, .partitions = 4}};
static const struct config shared = {CORPUS(still, 2), .mix = {MIX, .partitions = 2}};
static const struct config derived = {
    CORPUS(still, 2), .mix = {MIX, .batches = MIX_BATCHES_DERIVED}};
static const struct config live = {CORPUS(living, 1), .mix = {MIX, .partitions = 4}};
static const struct config no_mix = {CORPUS(still, 2)};

static const struct {
	const char *command;
	const struct config *c;
	const char *rights; /* a line each */
} rows[] = {
    {"read", &copies,
	"READ topic pre.batches\nREAD topic pre.ledger\nREAD topic demo.code.valid\n"
	"WRITE topic pre.feedback\nREAD group pre.main\nREAD group pre.tune\n"},
    {"read", &shared,
	"READ topic pre.batches\nREAD topic pre.lanes\nREAD topic pre.ledger\n"
	"READ topic demo.code.valid\nWRITE topic pre.feedback\nREAD group pre.main\n"
	"READ group pre.tune\n"},
    {"read", &derived, /* that there are no batches must be seen */
	"READ topic pre.batches\nREAD topic pre.lanes\nREAD topic demo.code\nREAD topic demo.web\n"
	"READ topic pre.ledger\nREAD topic demo.code.valid\nWRITE topic pre.feedback\n"
	"READ group pre.main\nREAD group pre.tune\n"},
    {"retain", &copies,
	"READ topic pre.batches\nREAD topic pre.ledger\nDELETE topic pre.batches\n"
	"DESCRIBE group pre.*\n"},
    {"retain", &derived, /* no batches, no right to delete them */
	"READ topic pre.batches\nDESCRIBE topic pre.lanes\nREAD topic pre.ledger\n"
	"DESCRIBE group pre.*\n"},
    {"weights", &copies,
	"READ topic pre.ledger\nWRITE topic pre.control\nDESCRIBE group pre.election\n"},
    {"produce", &no_mix, /* that there are no arrivals must be seen */
	"READ topic demo.code\nREAD topic demo.web\nREAD topic demo.code.valid\n"
	"WRITE topic demo.code\nWRITE topic demo.web\nWRITE topic demo.code.valid\n"
	"WRITE topic demo.rejects\nREAD topic demo.arrivals\nREAD group demo.producer/*\n"
	"DESCRIBE_CONFIGS topic demo.code\nDESCRIBE_CONFIGS topic demo.web\n"
	"DESCRIBE_CONFIGS topic demo.code.valid\nDESCRIBE_CONFIGS topic demo.rejects\n"},
    {"produce", &live,
	"READ topic demo.web\nREAD topic demo.arrivals\nWRITE topic demo.web\n"
	"WRITE topic demo.rejects\nWRITE topic demo.arrivals\nREAD group demo.producer/*\n"
	"DESCRIBE_CONFIGS topic demo.web\nDESCRIBE_CONFIGS topic demo.rejects\n"
	"DESCRIBE_CONFIGS topic demo.arrivals\n"},
    {"export", &no_mix, "READ topic demo.code\nREAD topic demo.web\n"},
    {"topics", &no_mix,
	"DESCRIBE topic demo.code\nDESCRIBE topic demo.code.valid\nDESCRIBE topic demo.web\n"
	"DESCRIBE topic demo.rejects\nDESCRIBE_CONFIGS topic demo.code\n"
	"DESCRIBE_CONFIGS topic demo.code.valid\nDESCRIBE_CONFIGS topic demo.web\n"
	"DESCRIBE_CONFIGS topic demo.rejects\nDESCRIBE_CONFIGS cluster kafka-cluster\n"},
};

/* A line a right, into out[room]. */
static enum fail_code
print_rights(char *out, size_t room, const struct config *c, const char *command)
{
	static const char *const kind[] = {[ACLS_RIGHT_TOPIC] = "topic",
	    [ACLS_RIGHT_GROUP] = "group",
	    [ACLS_RIGHT_TRANSACTIONAL_ID] = "transactional id",
	    [ACLS_RIGHT_CLUSTER] = "cluster"};
	struct acls_right *right;
	size_t n, at = 0;

	*out = '\0';
	if (acls_rights(&right, &n, c, command, &f) != FAIL_NONE)
		return f.code;
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(out + at, room - at, "%s %s %s%s\n", right[i].operation,
		    kind[right[i].kind], right[i].name, right[i].prefixed ? "*" : "");
	assert_true(at < room);
	free(right);
	return FAIL_NONE;
}

static void
test_rights_are_those_on_what_the_configuration_has(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, rows, command) {
		char rights[4096];

		assert_int_equal(
		    print_rights(rights, sizeof(rights), rows[i].c, rows[i].command), FAIL_NONE);
		assert_string_equal(rights, rows[i].rights);
	}
}

static void
test_commands_that_need_the_same_have_the_same(void **unused)
{
	static const char *const same[][2] = {{"import", "produce"}, {"plan", "status"}};

	(void)unused;
	EACH_ROW(i, same) {
		char one[4096], other[4096];

		assert_int_equal(print_rights(one, sizeof(one), &shared, same[i][0]), FAIL_NONE);
		assert_int_equal(
		    print_rights(other, sizeof(other), &shared, same[i][1]), FAIL_NONE);
		assert_string_equal(one, other);
	}
}

static void
test_a_command_that_is_none_or_needs_a_mix_is_refused(void **unused)
{
	static const struct {
		const char *command;
		enum fail_code code;
	} refused[] = {
	    {"", FAIL_USAGE},
	    {"mixer", FAIL_USAGE},
	    {"topic", FAIL_USAGE},
	    {"mix", FAIL_CONFIG},
	    {"plan", FAIL_CONFIG},
	    {"repair", FAIL_CONFIG},
	    {"import", FAIL_NONE},
	    {"topics-create", FAIL_NONE},
	    {"topics-delete", FAIL_NONE},
	};

	(void)unused;
	EACH_NAMED_ROW(i, refused, command) {
		char rights[4096];

		assert_int_equal(print_rights(rights, sizeof(rights), &no_mix, refused[i].command),
		    refused[i].code);
		if (refused[i].code == FAIL_USAGE) /* all of them, each once */
			assert_non_null(
			    strstr(f.text, "(there are: topics, topics-create, topics-delete, "));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rights_are_those_on_what_the_configuration_has),
	    cmocka_unit_test(test_commands_that_need_the_same_have_the_same),
	    cmocka_unit_test(test_a_command_that_is_none_or_needs_a_mix_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
