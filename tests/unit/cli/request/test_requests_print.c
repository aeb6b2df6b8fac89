/* requests_print.h: requests and their answers. All values are distinct. */
#include "cli/request/requests_print.h"

#include "tests/unit/printed.h"

static struct failure f;

static struct ledger_raw_weight weights[] = {{(char[]){"code"}, 1.5}, {(char[]){"web"}, 2.5}};
static struct request_entry entry[] = {
    {.asked = {.id = (char[]){"one"},
	 .kind = LEDGER_WEIGHTS,
	 .at_step = 11,
	 .weight = weights,
	 .weights_n = 2,
	 .temperature = 12,
	 .lr_scale = 13,
	 .global_batch = 14,
	 .domain = (char[]){"code"},
	 .partition = 15,
	 .first = 16,
	 .end = 17,
	 .who = (char[]){"ann"},
	 .request = (char[]){"before"}},
	.answer = {.accepted = true, .step = 18, .text = (char[]){"as asked"}},
	.state = REQUEST_IN_FORCE,
	.offset = 19,
	.time_ms = 20},
    {.asked = {.id = (char[]){"two"}, .kind = LEDGER_SKIP, .who = (char[]){"bob"}},
	.answer = {.step = 21, .text = (char[]){"no such domain"}},
	.state = REQUEST_REFUSED,
	.time_ms = 22},
    {.asked = {.id = (char[]){"three"}, .kind = LEDGER_CANCEL, .who = (char[]){"eve"}},
	.answer = {.step = 23},
	.state = REQUEST_OPEN},
};

static void
test_each_field_stands_in_its_place(void **unused)
{
	const struct request_list l = {.entry = entry, .n = 3, .unreadable = 4};
	struct printed p;

	(void)unused;
	assert_int_equal(requests_print(&l, false, printed_begin(&p), &f), FAIL_NONE);
	printed_is(&p, "STATE             STEP  KIND      ID                              WHO\n"
		       "in force            18  weights   one                             ann\n"
		       "refused              -  skip      two                             bob\n"
		       "                                   no such domain\n"
		       "open                 -  cancel    three                           eve\n"
		       "4 records of the topic are no requests\n");
	assert_int_equal(requests_print(&l, true, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "[{'id':'one','kind':'weights','state':'in force','step':18,'who':'ann',"
	    "'text':'as asked','asked_step':11,'weights':{'code':1.5,'web':2.5},"
	    "'domain':'code','temperature':12.0,'lr_scale':13.0,'global_batch':14,"
	    "'partition':15,'first':16,'end':17,'time_ms':20,'request':'before'},"
	    "{'id':'two','kind':'skip','state':'refused','step':null,'who':'bob',"
	    "'text':'no such domain','asked_step':0,'weights':{},'domain':'',"
	    "'temperature':0.0,'lr_scale':0.0,'global_batch':0,'partition':0,'first':0,"
	    "'end':0,'time_ms':22,'request':''},{'id':'three','kind':'cancel',"
	    "'state':'open','step':null,'who':'eve','text':'','asked_step':0,'weights':{},"
	    "'domain':'','temperature':0.0,'lr_scale':0.0,'global_batch':0,'partition':0,"
	    "'first':0,'end':0,'time_ms':0,'request':''}]");
}

static void
test_without_requests_it_says_so(void **unused)
{
	const struct request_list l = {0};
	struct printed p;

	(void)unused;
	assert_int_equal(requests_print(&l, false, printed_begin(&p), &f), FAIL_NONE);
	printed_is(&p, "no request\n");
	assert_int_equal(requests_print(&l, true, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p, "[]");
}

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

/* The line stands only below a table that has one. */
static void
test_records_that_are_no_requests_are_counted(void **unused)
{
	static const struct {
		size_t unreadable;
		const char *last;
	} rows[] = {
	    {0, ""},
	    {1, "1 records of the topic are no requests\n"},
	    {12, "12 records of the topic are no requests\n"},
	};
	struct request_entry entry = {.asked = {.kind = LEDGER_LEAVE, .id = (char[]){"one"}}};

	(void)unused;
	EACH_NAMED_ROW(i, rows, last) {
		const struct request_list l = {
		    .entry = &entry, .n = 1, .unreadable = rows[i].unreadable};
		struct printed p;
		char expected[512];

		snprintf(expected, sizeof(expected),
		    "STATE             STEP  KIND      ID                              WHO\n"
		    "open                 -  leave     one                             \n%s",
		    rows[i].last);
		assert_int_equal(requests_print(&l, false, printed_begin(&p), &f), FAIL_NONE);
		printed_is(&p, expected);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	    cmocka_unit_test(test_json_escapes_the_name_of_a_domain_once),
	    cmocka_unit_test(test_without_requests_it_says_so),
	    cmocka_unit_test(test_records_that_are_no_requests_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
