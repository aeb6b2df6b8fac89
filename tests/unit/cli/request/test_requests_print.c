/* What `riffle requests` shows of records that another program may have written. */
#include "cli/request/requests_print.h"

#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static void
test_json_escapes_the_name_of_a_domain_once(void **state)
{
	const struct {
		const char *name, *shown;
	} rows[] = {
	    {"a", "\"a\": 2.0"}, {"a\x1b[1m\n", "\"a\\u001B[1m\\n\": 2.0"},
	    {"caf\xc3\xa9", "\"caf\xc3\xa9\": 2.0"},
	    {"caf\xe9", "\"caf\\\\xe9\": 2.0"}, /* JSON cannot have the byte */
	};

	(void)state;
	EACH_NAMED_ROW(i, rows, shown) {
		struct ledger_raw_weight weight = {(char *)(uintptr_t)rows[i].name, 2};
		struct request_entry entry = {
		    .asked = {.kind = LEDGER_WEIGHTS, .weight = &weight, .weights_n = 1}};
		struct request_list list = {.entry = &entry, .n = 1};
		struct failure f;
		char *text = NULL;
		size_t n = 0;
		FILE *to = open_memstream(&text, &n);

		assert_non_null(to);
		assert_int_equal(requests_print(&list, true, to, &f), FAIL_NONE);
		fclose(to);
		assert_non_null(strstr(text, rows[i].shown));
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_json_escapes_the_name_of_a_domain_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
