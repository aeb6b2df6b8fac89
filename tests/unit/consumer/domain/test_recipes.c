/* recipes.h: logs whose recipe differs from the configuration, in a mock cluster. */
#include "consumer/domain/recipes.h"

#include "tests/unit/mock_domain.h"

/* What the log of a domain holds, first to last. */
enum log { NOTHING, OLD_RELEASE, FIRST_ALONE, ON_THE_END, BOTH, ONE_RECORD };

static void
test_logs_are_compared_by_their_last_recipe_or_their_first(void **unused)
{
	static const struct {
		enum log log;
		bool there, kind, source;
	} rows[] = {
	    {NOTHING, true, false, false},
	    {FIRST_ALONE, true, true, false}, /* which files came since it does not say */
	    {OLD_RELEASE, true, false, false},
	    {ON_THE_END, false, false, false}, /* not asked */
	    {ON_THE_END, true, true, true},
	    {FIRST_ALONE, true, true, false},
	    {BOTH, true, true, true},
	    {OLD_RELEASE, true, false, false},
	    {ONE_RECORD, true, true, true},
	};
	enum { N = sizeof(rows) / sizeof(rows[0]) };
	char *train[] = {(char *)"a.jsonl"}, *then[] = {(char *)"b.jsonl"};
	struct config_domain domain[N];
	char name[N][8];
	bool there[N];
	struct recipe_differences out[N];
	struct config c = {.corpus = (char *)"rc",
	    .sequence_length = 64,
	    .domains = domain,
	    .domains_n = N,
	    .tokenizer = {.file = (char *)"t", .pattern = (char *)"gpt2"}};
	struct kafka_options o = {
	    .role = KAFKA_READER, .client = "test", .properties = &mock_properties};
	rd_kafka_t *reader;

	(void)unused;
	EACH_ROW(i, rows) {
		char topic[32], *logged;

		snprintf(name[i], sizeof(name[i]), "d%zu", i);
		there[i] = rows[i].there;
		domain[i] = (struct config_domain){.name = name[i],
		    .text = (char *)"body",
		    .partitions = 1,
		    .train = {.n = 1, .text = then}};
		assert_int_equal(recipe_text(&logged, &c, &domain[i], NULL, &f), FAIL_NONE);
		domain[i].text = (char *)"text";
		domain[i].train.text = train;
		snprintf(topic, sizeof(topic), "rc.%s", name[i]);
		if (rows[i].there)
			mock_topic(topic, 1);
		else
			rd_kafka_mock_topic_set_error(
			    cluster, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
		if (rows[i].there && rows[i].log != NOTHING) {
			bool first = rows[i].log == FIRST_ALONE || rows[i].log >= BOTH;

			mock_write_domain(topic, 0, 0, -1, 1, first ? logged : NULL);
			if (rows[i].log == FIRST_ALONE)
				mock_write_domain(topic, 0, 1, -1, 1, NULL);
			else if (rows[i].log != ONE_RECORD)
				mock_write_domain(topic, 0, MOCK_END + 1, -1, 1,
				    rows[i].log == OLD_RELEASE ? NULL : logged);
		}
		free(logged);
	}
	assert_int_equal(kafka_open(&reader, &o, &f), FAIL_NONE);
	assert_int_equal(recipes_ask(out, reader, &c, there, MOCK_WAIT_MS, &f), FAIL_NONE);
	EACH_ROW(i, rows) {
		assert_int_equal(
		    strstr(out[i].kind, "text: \"body\" in the log") != NULL, rows[i].kind);
		assert_int_equal(out[i].kind[0] != '\0', rows[i].kind);
		assert_int_equal(out[i].source[0] != '\0', rows[i].source);
	}
	kafka_close(reader);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_logs_are_compared_by_their_last_recipe_or_their_first),
	};

	return cmocka_run_group_tests(tests, mock_begin, mock_end);
}
