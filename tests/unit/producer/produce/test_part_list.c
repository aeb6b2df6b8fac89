/* part_list.h: which parts a configuration has. */
#include "tests/unit/test.h"

#include "producer/produce/part_list.h"

static char *shared[] = {(char[]){"mixed.jsonl"}}, *own[] = {(char[]){"own.jsonl"}},
	    *held[] = {(char[]){"held.jsonl"}};
static char field[] = "source", text[] = "text", wiki[] = "wiki", books[] = "books";

/* wiki and books share one input, though code stands between them; news is live, with held-out
 * files and two partitions. */
static struct config_domain domain[] = {
    {.name = (char[]){"wiki"},
	.train = {1, shared},
	.where_field = field,
	.where_equals = wiki,
	.text = text,
	.partitions = 1},
    {.name = (char[]){"code"}, .train = {1, own}, .text = text, .partitions = 1},
    {.name = (char[]){"books"},
	.train = {1, shared},
	.where_field = field,
	.where_equals = books,
	.text = text,
	.partitions = 1},
    {.name = (char[]){"news"},
	.train = {1, own},
	.valid = {1, held},
	.text = text,
	.partitions = 2,
	.live = true},
    {.name = (char[]){"laws"},
	.train = {1, own},
	.valid_exec = text,
	.test = {1, held},
	.text = text,
	.partitions = 1},
};

static const struct {
	bool wanted[5];
	bool one_partition;
	uint32_t partition;
	const char *labels;
} cases[] = {
    {{true, true, true, true, true}, false, 0,
	"wiki+1(11) code(1) news lane 0/2(1)! news lane 1/2(1)! news.valid lane 0/2(1)! "
	"news.valid lane 1/2(1)! laws(1) laws.valid(1) laws.test(1) "},
    {{false, false, false, false, true}, false, 0, "laws(1) laws.valid(1) laws.test(1) "},
    {{false, true, false, false}, false, 0, "code(1) "},
    {{false, false, true, false}, false, 0, "wiki+1(01) "},
    {{false, false, false, true}, true, 1, "news lane 1/2(1)! news.valid lane 1/2(1)! "},
    {{false, false, false, false}, false, 0, ""},
};

static void
test_every_input_is_there_once_with_the_domains_that_are_wanted(void **unused)
{
	struct config c = {.domains = domain, .domains_n = 5};

	(void)unused;
	EACH_NAMED_ROW(i, cases, labels) {
		struct part_list parts;
		struct failure f;
		char labels[512] = "";
		size_t n = 0;

		assert_int_equal(part_list_open(&parts, &c, cases[i].wanted, cases[i].one_partition,
				     cases[i].partition, &f),
		    FAIL_NONE);
		for (size_t k = 0; k < parts.n; k++) {
			const struct part_item *j = &parts.item[k];

			n += (size_t)snprintf(labels + n, sizeof(labels) - n, "%s(", j->label);
			for (size_t m = 0; m < j->members_n; m++)
				labels[n++] = j->wanted[m] ? '1' : '0';
			n += (size_t)snprintf(
			    labels + n, sizeof(labels) - n, ")%s ", j->live ? "!" : "");
		}
		assert_string_equal(labels, cases[i].labels);
		part_list_close(&parts);
	}
}

/* What differs between domains of the same files, and whether they are still read together. */
static void
test_domains_are_read_together_if_all_that_decides_what_comes_is_equal(void **unused)
{
	static char more[] = "more.jsonl", body[] = "body", command[] = "cat";
	const struct config_domain base = {
	    .train = {1, shared}, .where_field = field, .text = text, .partitions = 1};
	char *other[] = {shared[0], more};
	enum {
		SAME,
		PARTITIONS,
		TEXT,
		WHERE,
		FEWER_FILES,
		OTHER_FILE,
		EXEC,
		NO_TEXT,
		HELD_OUT,
		CASES
	};

	(void)unused;
	for (int i = 0; i < CASES; i++) {
		const bool wanted[] = {true, true};
		struct config_domain d[2] = {base, base};
		struct config c = {.domains = d, .domains_n = 2};
		struct part_list parts;
		struct failure f;
		size_t train = 0;

		d[0].name = wiki;
		d[1].name = books;
		d[1].partitions += i == PARTITIONS;
		d[1].text = i == TEXT ? body : i == NO_TEXT ? NULL : text;
		d[1].where_field = i == WHERE ? NULL : field;
		d[1].train.n = i == FEWER_FILES ? 2 : 1;
		d[1].train.text = i == OTHER_FILE ? other + 1 : i == FEWER_FILES ? other : shared;
		d[1].exec = i == EXEC ? command : NULL;
		d[1].valid_exec = i == HELD_OUT ? command : NULL;
		assert_int_equal(part_list_open(&parts, &c, wanted, false, 0, &f), FAIL_NONE);
		for (size_t k = 0; k < parts.n; k++) {
			train += parts.item[k].set == SET_TRAIN;
			for (size_t m = 0; m < parts.item[k].members_n; m++)
				assert_true(parts.item[k].wanted[m]);
		}
		assert_int_equal(train, i == SAME || i == HELD_OUT ? 1 : i == PARTITIONS ? 3 : 2);
		assert_int_equal(parts.n - train, i == HELD_OUT);
		part_list_close(&parts);
	}
}

/* A program has files for its held-out sets, and the other way round. */
static void
test_held_out_inputs_are_parts_whatever_train_is_read_from(void **unused)
{
	static char command[] = "cat";
	struct config_domain d = {.name = wiki,
	    .exec = command,
	    .valid = {1, held},
	    .test_exec = command,
	    .text = text,
	    .partitions = 1};
	struct config c = {.domains = &d, .domains_n = 1};
	const bool wanted[] = {true};
	struct part_list parts;
	struct failure f;

	(void)unused;
	assert_int_equal(part_list_open(&parts, &c, wanted, false, 0, &f), FAIL_NONE);
	assert_int_equal(parts.n, 3);
	for (size_t k = 0; k < 3; k++) {
		assert_int_equal(parts.item[k].set, SET_TRAIN + k);
		assert_true(parts.item[k].wanted[0]);
	}
	part_list_close(&parts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_input_is_there_once_with_the_domains_that_are_wanted),
	    cmocka_unit_test(
		test_domains_are_read_together_if_all_that_decides_what_comes_is_equal),
	    cmocka_unit_test(test_held_out_inputs_are_parts_whatever_train_is_read_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
