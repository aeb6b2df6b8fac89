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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_input_is_there_once_with_the_domains_that_are_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
