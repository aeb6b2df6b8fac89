/* skip_print.h: skipped, pending and quarantined sequences. All values are distinct. */
#include "cli/request/skip_print.h"

#include "tests/unit/printed.h"

static struct failure f;

static struct ledger_domain domain[] = {{.name = (char[]){"code"}}, {.name = (char[]){"web"}}};
static struct ledger_skip skip[] = {{0, 1, 20, 30}, {1, 2, 40, 60}, {7, 3, 70, 71}};
static struct ledger_change pending[] = {
    {.kind = LEDGER_WEIGHTS,
	.id = (char[]){"w"},
	.who = (char[]){"bob"},
	.step = 6,
	.domain = (char[]){""}},
    {.kind = LEDGER_SKIP,
	.id = (char[]){"s"},
	.who = (char[]){"ann"},
	.step = 7,
	.domain = (char[]){"web"},
	.partition = 4,
	.first = 100,
	.end = 103},
    {.kind = LEDGER_UNDO,
	.id = (char[]){"u"},
	.who = (char[]){"eve"},
	.step = 8,
	.domain = (char[]){"code"},
	.partition = 1,
	.first = 22,
	.end = 27},
};
static struct ledger_quarantined quarantined[] = {
    {1, 5, 200, (char[]){"torn"}}, {0, 6, 201, (char[]){"bad hash"}}};

static struct ledger
filled(void)
{
	return (struct ledger){.step_next = 5,
	    .domain = domain,
	    .domains_n = 2,
	    .skip = skip,
	    .skips_n = 3,
	    .pending = pending,
	    .pending_n = 3,
	    .quarantined = quarantined,
	    .quarantined_n = 2};
}

static void
test_each_field_stands_in_its_place(void **unused)
{
	struct ledger l = filled();
	struct printed p;

	(void)unused;
	printed_begin(&p);
	assert_int_equal(skip_print("pre", &l, false, &f), FAIL_NONE);
	printed_is(&p,
	    "PLACE                                ORDINALS  SINCE\n"
	    "code/1                                 20..30  in force\n"
	    "web/2                                  40..60  in force\n"
	    "?/3                                    70..71  in force\n"
	    "web/4                                100..103  step 7 (request s by ann)\n"
	    "code/1                                 22..27  taken back from step 8 "
	    "(request u by eve)\n"
	    "29 sequences are skipped once these have taken effect\n"
	    "\n"
	    "PLACE                                 ORDINAL  quarantined: the mixer found "
	    "it damaged\n"
	    "web/5                                     200  torn\n"
	    "code/6                                    201  bad hash\n");
	printed_begin(&p);
	assert_int_equal(skip_print("pre", &l, true, &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','step_next':5,'skipped':[{'domain':'code','partition':1,"
	    "'first':20,'end':30},{'domain':'web','partition':2,'first':40,'end':60},"
	    "{'domain':'?','partition':3,'first':70,'end':71}],'pending':[{'domain':'web',"
	    "'partition':4,'first':100,'end':103,'step':7,'id':'s','who':'ann',"
	    "'kind':'skip'},{'domain':'code','partition':1,'first':22,'end':27,'step':8,"
	    "'id':'u','who':'eve','kind':'undo'}],'quarantined':[{'domain':'web',"
	    "'partition':5,'ordinal':200,'reason':'torn'},{'domain':'code','partition':6,"
	    "'ordinal':201,'reason':'bad hash'}]}");
}

/* Skips and undos take effect in their order. */
static void
test_what_is_skipped_in_the_end_is_counted(void **unused)
{
	static const struct {
		size_t skips_n;
		struct {
			enum ledger_change_kind kind;
			int64_t first, end;
		} change[3];
		size_t changes_n;
		const char *said; /* NULL: no such line */
	} rows[] = {
	    {1, {{0, 0, 0}}, 0, NULL}, /* 20..30 in force */
	    {0, {{LEDGER_WEIGHTS, 0, 0}}, 1, NULL},
	    {0, {{LEDGER_SKIP, 5, 6}}, 1, "1 sequence is skipped once"},
	    {0, {{LEDGER_SKIP, 5, 7}}, 1, "2 sequences are skipped once"},
	    {1, {{LEDGER_SKIP, 25, 32}}, 1, "12 sequences are skipped once"}, /* they overlap */
	    {1, {{LEDGER_UNDO, 20, 30}}, 1, "no sequence is skipped once these"},
	    {1, {{LEDGER_UNDO, 0, 25}}, 1, "5 sequences are skipped once"},
	    {1, {{LEDGER_UNDO, 20, 30}, {LEDGER_SKIP, 20, 22}}, 2, "2 sequences are skipped once"},
	    {1, {{LEDGER_SKIP, 20, 22}, {LEDGER_UNDO, 20, 30}}, 2, "no sequence is skipped once"},
	    {0, {{LEDGER_SKIP, 5, 7}, {LEDGER_WEIGHTS, 0, 0}, {LEDGER_SKIP, 7, 9}}, 3,
		"4 sequences are skipped once"},
	};

	(void)unused;
	EACH_ROW(i, rows) {
		struct ledger_change change[3];
		struct ledger l = {.domain = domain,
		    .domains_n = 2,
		    .skip = skip,
		    .skips_n = rows[i].skips_n,
		    .pending = change,
		    .pending_n = rows[i].changes_n};
		struct printed p;
		const char *found;

		for (size_t k = 0; k < 3; k++) {
			change[k] = pending[2];
			change[k].kind = rows[i].change[k].kind;
			change[k].first = rows[i].change[k].first;
			change[k].end = rows[i].change[k].end;
		}
		printed_begin(&p);
		assert_int_equal(skip_print("pre", &l, false, &f), FAIL_NONE);
		printed_end(&p);
		found = strstr(p.text, rows[i].said == NULL ? "skipped once" : rows[i].said);
		assert_int_equal(found != NULL, rows[i].said != NULL);
		assert_int_equal(strcmp(p.text, "no sequence is skipped\n") == 0, i == 1);
		free(p.text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	    cmocka_unit_test(test_what_is_skipped_in_the_end_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
