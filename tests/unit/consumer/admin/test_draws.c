/* draws.h: which mixes draw from domains of a corpus, by the ledgers of a mock cluster. */
#include "consumer/admin/draws.h"

#include "tests/unit/ledger_mix.h"
#include "tests/unit/mock_topics.h"

static struct ledger_mix ours, foreign;
static rd_kafka_t *reader;

/* Writes the ledger of a mix with `steps` steps. -1 leaves it empty. */
static void
write_ledger(const char *topic, const struct ledger_mix *x, int64_t steps)
{
	struct ledger l;

	mock_topic(topic, 1);
	if (steps < 0)
		return;
	l = ledger_mix_record(x, steps);
	mock_write_ledger(topic, &l);
	ledger_clear(&l);
}

static void
test_mixes_of_the_corpus_that_have_a_wanted_domain_are_found(void **unused)
{
	static const struct {
		bool wanted[2];     /* of the corpus's domains a and b */
		const char *except; /* NULL: no mix */
		const char *found;  /* mix, domain, steps, whether it has drawn; unread ones */
	} rows[] = {
	    {{true, false}, NULL, "bad ? begun:a@0 runs:a@4+ "},
	    {{false, true}, NULL, "bad ? begun:b@0 runs:b@4+ "},
	    {{true, true}, NULL, "bad ? begun:a@0 runs:a@4+ "},
	    {{false, false}, NULL, "bad ? "},
	    {{true, false}, "runs", "bad ? begun:a@0 "},
	    {{true, false}, "bad", "begun:a@0 runs:a@4+ "},
	    {{true, false}, "run", "bad ? begun:a@0 runs:a@4+ "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, found) {
		struct draws_mix *mix;
		char text[512] = "";
		size_t n;

		assert_int_equal(draws_find(&mix, &n, reader, &ours.c, rows[i].wanted,
				     rows[i].except, MOCK_WAIT_MS, &f),
		    FAIL_NONE);
		for (size_t k = 0; k < n; k++) {
			size_t used = strlen(text);

			if (mix[k].unknown[0] != '\0')
				snprintf(text + used, sizeof(text) - used, "%s ? ", mix[k].mix);
			else
				snprintf(text + used, sizeof(text) - used, "%s:%s@%d%s ",
				    mix[k].mix, mix[k].domain, (int)mix[k].steps,
				    mix[k].drawn ? "+" : "");
			assert_int_equal(mix[k].damaged, mix[k].unknown[0] != '\0');
		}
		assert_string_equal(text, rows[i].found);
		free(mix);
	}
}

/* Only domains of the configuration count, and of a mix whatever it has of them. */
static void
test_a_domain_that_the_configuration_lacks_is_not_asked_about(void **unused)
{
	struct config_domain renamed[2] = {{.name = (char *)"b"}, {.name = (char *)"z"}};
	struct config c = ours.c;
	struct draws_mix *mix;
	size_t n;

	(void)unused;
	c.domains = renamed;
	assert_int_equal(
	    draws_find(&mix, &n, reader, &c, (bool[]){false, true}, "bad", MOCK_WAIT_MS, &f),
	    FAIL_NONE);
	assert_int_equal(n, 0);
	free(mix);
	assert_int_equal(
	    draws_find(&mix, &n, reader, &c, (bool[]){true, true}, "bad", MOCK_WAIT_MS, &f),
	    FAIL_NONE);
	assert_int_equal(n, 2);
	assert_string_equal(mix[0].domain, "b");
	free(mix);
}

static int
begin(void **unused)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "draws", .properties = &mock_properties};

	if (mock_begin(unused) != 0 || kafka_open(&reader, &o, &f) != FAIL_NONE)
		return -1;
	ledger_mix_open(&ours, 1);
	ledger_mix_open(&foreign, 1);
	free(foreign.text);
	foreign.c.corpus = (char *)"corpus2";
	assert_int_equal(
	    bound_config_text(&foreign.text, &foreign.c, &foreign.plan, 7, &f), FAIL_NONE);
	write_ledger("runs.ledger", &ours, 4);
	write_ledger("begun.ledger", &ours, 0);
	write_ledger("empty.ledger", &ours, -1);
	write_ledger("foreign.ledger", &foreign, 4);
	write_ledger("runs.batches", &ours, 4); /* no ledger, by its name */
	mock_topic("bad.ledger", 1);
	mock_write("bad.ledger", 0, "garbage", 7);
	return 0;
}

static int
end(void **unused)
{
	kafka_close(reader);
	ledger_mix_close(&ours);
	ledger_mix_close(&foreign);
	return mock_end(unused);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mixes_of_the_corpus_that_have_a_wanted_domain_are_found),
	    cmocka_unit_test(test_a_domain_that_the_configuration_lacks_is_not_asked_about),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
