#include "common/record/avro_compare.h"

#include "common/record/ledger.h"
#include "tests/unit/test.h"

/* Two ledgers of their own memory, equal at first. */
struct pair {
	struct ledger_partition partition[2][2];
	struct ledger_domain domain[2][2];
	struct ledger_run run[2][1];
	struct ledger l[2];
};

static void
init(struct pair *p)
{
	static char code[] = "code", web[] = "web", run[] = "trainers", config[] = "{}";

	memset(p, 0, sizeof(*p));
	for (int i = 0; i < 2; i++) {
		p->partition[i][1].taken = 7;
		p->domain[i][0] = (struct ledger_domain){.name = code, .raw_weight = 0.3};
		p->domain[i][1] = (struct ledger_domain){
		    .name = web, .partition = p->partition[i], .partitions_n = 2, .credit = -5};
		p->run[i][0] = (struct ledger_run){run, 12};
		p->l[i] = (struct ledger){.config = config,
		    .choices = UINT64_C(0xabcdef),
		    .domain = p->domain[i],
		    .domains_n = 2,
		    .run = p->run[i],
		    .runs_n = 1};
	}
}

static void
assert_differ(const struct pair *p, const char *path, const char *a, const char *b)
{
	struct avro_difference d;

	assert_true(ledger_compare(&p->l[0], &p->l[1], NULL, &d));
	assert_string_equal(d.path, path);
	assert_string_equal(d.a, a);
	assert_string_equal(d.b, b);
}

static void
test_equal_ledgers_do_not_differ_and_no_text_is_an_empty_one(void **unused)
{
	static char empty[] = "";
	struct avro_difference d;
	struct pair p;

	(void)unused;
	init(&p);
	p.l[1].phase = empty;
	assert_false(ledger_compare(&p.l[0], &p.l[1], NULL, &d));
}

static void
test_the_first_difference_is_named_by_its_path_and_both_values(void **unused)
{
	static char other[] = "wes", config[] = "{\"a\":1}";
	struct pair p;

	(void)unused;
	init(&p);
	p.l[1].choices++;
	assert_differ(&p, "choices", "0000000000abcdef", "0000000000abcdf0");
	init(&p);
	p.l[1].kind = LEDGER_END;
	assert_differ(&p, "kind", "0", "2");
	init(&p);
	p.partition[1][1].taken = 8;
	assert_differ(&p, "domains[1].partitions[1].taken", "7", "8");
	init(&p);
	p.partition[1][0].sealed = true;
	assert_differ(&p, "domains[1].partitions[0].sealed", "false", "true");
	init(&p);
	p.domain[1][1].credit = 5;
	assert_differ(&p, "domains[1].credit", "-5", "5");
	init(&p);
	p.domain[1][0].raw_weight = 0.5;
	assert_differ(&p, "domains[0].raw_weight", "0.29999999999999999", "0.5");
	init(&p);
	p.domain[1][1].name = other;
	assert_differ(&p, "domains[1].name", "\"web\"", "\"wes\"");
	init(&p);
	p.l[1].runs_n = 0;
	assert_differ(&p, "runs", "1 items", "0 items");
	init(&p);
	p.l[1].config = config;
	assert_differ(&p, "config", "\"{}\"", "\"{\"a\":1}\"");
}

static void
test_fields_that_are_excepted_may_differ(void **unused)
{
	static const char *const except[] = {"choices", "runs", NULL};
	struct avro_difference d;
	struct pair p;

	(void)unused;
	init(&p);
	p.l[1].choices++;
	p.run[1][0].step++;
	assert_false(ledger_compare(&p.l[0], &p.l[1], except, &d));
	p.domain[1][0].taken++;
	assert_true(ledger_compare(&p.l[0], &p.l[1], except, &d));
	assert_string_equal(d.path, "domains[0].taken");
}

static void
test_long_texts_are_shown_where_they_part(void **unused)
{
	char a[400], b[400];
	struct avro_difference d;
	struct pair p;

	(void)unused;
	init(&p);
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[399] = b[399] = '\0';
	a[300] = 'A';
	b[300] = 'B';
	p.l[0].config = a;
	p.l[1].config = b;
	assert_true(ledger_compare(&p.l[0], &p.l[1], NULL, &d));
	assert_string_equal(d.path, "config");
	assert_non_null(strstr(d.a, "xxxAxxx"));
	assert_non_null(strstr(d.b, "xxxBxxx"));
	assert_memory_equal(d.a, "\"...x", 5);
}

struct plain {
	int64_t l;
	uint64_t bits, hash;
	int32_t i, e;
	double d, any;
	bool b;
};

static void
test_every_byte_of_a_value_tells_and_none_of_its_neighbours(void **unused)
{
	static const struct {
		struct avro_field field;
		size_t bytes;
	} rows[] = {
	    {AVRO_PLAIN(LONG, plain, l), 8},
	    {AVRO_PLAIN(BITS, plain, bits), 8},
	    {AVRO_PLAIN(HASH, plain, hash), 8},
	    {AVRO_PLAIN(INT, plain, i), 4},
	    {AVRO_PLAIN(ENUM, plain, e), 4},
	    {AVRO_PLAIN(DOUBLE, plain, d), 8},
	    {AVRO_PLAIN(ANY, plain, any), 8},
	    {AVRO_PLAIN(BOOLEAN, plain, b), 1},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct avro_table t = {&rows[i].field, 1, sizeof(struct plain)};

		for (size_t at = 0; at < offsetof(struct plain, b) + 1; at++) {
			struct plain a, b;
			struct avro_difference d;

			memset(&a, 0, sizeof(a));
			memset(&b, 0, sizeof(b));
			((uint8_t *)&b)[at] = 1;
			assert_int_equal(avro_compare(&t, &a, &b, NULL, &d),
			    at - rows[i].field.at < rows[i].bytes);
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_ledgers_do_not_differ_and_no_text_is_an_empty_one),
	    cmocka_unit_test(test_the_first_difference_is_named_by_its_path_and_both_values),
	    cmocka_unit_test(test_fields_that_are_excepted_may_differ),
	    cmocka_unit_test(test_long_texts_are_shown_where_they_part),
	    cmocka_unit_test(test_every_byte_of_a_value_tells_and_none_of_its_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
