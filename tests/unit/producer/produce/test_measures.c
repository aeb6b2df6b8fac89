/* measures.h: what parts count comes together by domain and by reason. */
#include "producer/produce/measures.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static void
test_parts_count_into_the_rows_of_their_domains(void **unused)
{
	static char name[][2] = {"a", "b", "c"};
	struct config_domain domain[] = {{.name = name[0]}, {.name = name[1]}, {.name = name[2]}};
	const struct config c = {.domains = domain, .domains_n = 3};
	const size_t first[] = {0, 2}, second[] = {2};
	const bool wanted[] = {true, true};
	struct measures_part one, two;
	struct measures *m;
	struct failure f;
	char *text;

	(void)unused;
	assert_int_equal(measures_open(&m, &c, &f), FAIL_NONE);
	measures_begin(&one, m, first, wanted, 2);
	measures_begin(&two, m, second, wanted, 1);
	assert_non_null(measures_stats(&one));
	measures_document(&one, 0);
	measures_document(&one, 2);
	measures_document(&two, 2);
	measures_sequence(&two, 2, 100, 40);
	measures_sequence(&one, 2, 90, 30);
	measures_input(&one, 5);
	measures_input(&one, 6);
	measures_reject(&one, "invalid JSON at byte 17");
	measures_reject(&one, "invalid JSON at byte 18");
	for (int i = 0; i < 12; i++) {
		char reason[] = "reason A";

		reason[7] = (char)('A' + i);
		measures_reject(&two, reason);
	}
	measures_end(&one);
	text = measures_text(m);
	assert_non_null(text);
	assert_non_null(strstr(text, "\nriffle_producer_parts 1\n"));
	assert_non_null(strstr(text, "\nriffle_producer_documents_total{domain=\"a\"} 1\n"));
	assert_non_null(strstr(text, "\nriffle_producer_documents_total{domain=\"c\"} 2\n"));
	assert_null(strstr(text, "{domain=\"b\"}")); /* nobody writes it */
	assert_non_null(strstr(text, "\nriffle_producer_tokens_total{domain=\"c\"} 190\n"));
	assert_non_null(strstr(text, "\nriffle_producer_sequences_total{domain=\"c\"} 2\n"));
	assert_non_null(strstr(text, "\nriffle_producer_bytes_total{domain=\"c\"} 70\n"));
	assert_non_null(strstr(text, "\nriffle_producer_input_bytes_total{input=\"a+1\"} 11\n"));
	assert_non_null(strstr(text, "{input=\"a+1\",reason=\"invalid JSON at byte N\"} 2\n"));
	assert_non_null(strstr(text, "{input=\"c\",reason=\"reason H\"} 1\n"));
	assert_null(strstr(text, "reason I"));
	assert_non_null(strstr(text, "{input=\"c\",reason=\"other\"} 4\n"));
	free(text);
	measures_end(&two);
	measures_close(m);
}

/* Two inputs that begin with the same domain are two inputs. */
static void
test_parts_that_end_in_any_order_leave_the_others(void **unused)
{
	static char name[][2] = {"a", "b"};
	struct config_domain domain[] = {{.name = name[0]}, {.name = name[1]}};
	const struct config c = {.domains = domain, .domains_n = 2};
	const size_t both[] = {0, 1};
	const bool first_only[] = {true, false};
	static const int orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};

	(void)unused;
	EACH_ROW(i, orders) {
		struct measures_part part[3];
		struct measures *m;
		struct failure f;
		char *text, expected[64];

		assert_int_equal(measures_open(&m, &c, &f), FAIL_NONE);
		for (size_t k = 0; k < 3; k++)
			measures_begin(&part[k], m, both, first_only, k == 0 ? 2 : 1);
		measures_input(&part[0], 3);
		measures_input(&part[1], 40);
		measures_input(&part[2], 500);
		for (size_t k = 0; k < 3; k++) {
			measures_end(&part[orders[i][k]]);
			text = measures_text(m);
			snprintf(
			    expected, sizeof(expected), "\nriffle_producer_parts %d\n", 2 - (int)k);
			assert_non_null(strstr(text, expected));
			assert_non_null(strstr(text, "_documents_total{domain=\"a\"} 0\n"));
			assert_null(strstr(text, "domain=\"b\""));
			assert_non_null(strstr(text, "{input=\"a+1\"} 3\n"));
			assert_non_null(strstr(text, "{input=\"a\"} 540\n"));
			free(text);
		}
		measures_close(m);
	}
}

static void
test_without_measures_nothing_is_counted(void **unused)
{
	const size_t domain[] = {0};
	const bool wanted[] = {true};
	struct measures_part p;

	(void)unused;
	measures_begin(&p, NULL, domain, wanted, 1);
	assert_null(measures_stats(&p));
	measures_document(&p, 0);
	measures_sequence(&p, 0, 1, 1);
	measures_input(&p, 1);
	measures_reject(&p, "no");
	measures_end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parts_count_into_the_rows_of_their_domains),
	    cmocka_unit_test(test_parts_that_end_in_any_order_leave_the_others),
	    cmocka_unit_test(test_without_measures_nothing_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
