/* serve_change.h: the body of a change. */
#include "cli/serve/serve_change.h"

#include "tests/unit/test.h"

static struct failure f;

static enum fail_code
parse(struct serve_change *c, const char *body)
{
	*c = (struct serve_change){0};
	f.text[0] = '\0';
	return serve_change_parse(c, body, strlen(body), &f);
}

static void
test_a_whole_change_is_taken(void **unused)
{
	struct serve_change c;

	(void)unused;
	assert_int_equal(parse(&c, "{\"weights\": {\"web\": 0.2, \"code\": 1}, \"temperature\": 2, "
				   "\"lr_scale\": 0.5, \"global_batch\": 128, \"at_step\": 12000, "
				   "\"id\": \"anneal-2\", \"who\": \"ann\", \"dry_run\": true}"),
	    FAIL_NONE);
	assert_int_equal(c.words_n, 2);
	assert_string_equal(c.word[0], "web=0.20000000000000001");
	assert_string_equal(c.word[1], "code=1");
	assert_true(c.temperature == 2 && c.lr_scale == 0.5 && c.global_batch == 128);
	assert_int_equal(c.at_step, 12000);
	assert_string_equal(c.id, "anneal-2");
	assert_string_equal(c.who, "ann");
	assert_true(c.dry_run);
	serve_change_clear(&c);
}

static void
test_what_is_left_out_is_as_it_is(void **unused)
{
	struct serve_change c;

	(void)unused;
	assert_int_equal(
	    parse(&c, "{\"lr_scale\": 1e-3, \"who\": \"b\", \"at_step\": null}"), FAIL_NONE);
	assert_true(c.words_n == 0 && c.temperature == 0 && c.global_batch == 0);
	assert_int_equal(c.at_step, -1);
	assert_null(c.id);
	assert_false(c.dry_run);
	serve_change_clear(&c);
}

static void
test_a_body_that_is_no_change_is_refused_with_what_is_wrong(void **unused)
{
	static const struct {
		const char *body, *said;
	} rows[] = {
	    {"", "not JSON"},
	    {"{", "not JSON"},
	    {"null", "not JSON"},
	    {"[]", "must be a JSON object"},
	    {"{} {}", "not JSON"},
	    {"{}", "who: is needed"},
	    {"{\"who\": \"a\"}", "no change is given"},
	    {"{\"who\": \"a\", \"who\": \"b\"}", "not JSON: duplicate"},
	    {"{\"who\": \"a\", \"weights\": {}}", "no change is given"},
	    {"{\"who\": \"a\", \"weights\": []}", "weights: must be an object"},
	    {"{\"who\": \"a\", \"weights\": {\"web\": \"1\"}}", "weights: web: must be a number"},
	    {"{\"who\": \"a\", \"weights\": {\"a=b\": 1}}", "not the name of a domain: a=b"},
	    {"{\"who\": \"a\", \"weights\": {\"web\": 1e999}}", "not JSON"},
	    {"{\"who\": \"\", \"lr_scale\": 1}", "who: must be a text"},
	    {"{\"who\": 7, \"lr_scale\": 1}", "who: must be a text"},
	    {"{\"who\": \"a\\nb\", \"lr_scale\": 1}", "who: must be a text"},
	    {"{\"who\": \"a\", \"lr_scale\": 0}", "lr_scale: must be a number above 0"},
	    {"{\"who\": \"a\", \"temperature\": -1}", "temperature: must be a number above 0"},
	    {"{\"who\": \"a\", \"temperature\": true}", "temperature: must be a number above 0"},
	    {"{\"who\": \"a\", \"global_batch\": 0}", "global_batch: must be a whole number"},
	    {"{\"who\": \"a\", \"global_batch\": 1.5}", "global_batch: must be a whole number"},
	    {"{\"who\": \"a\", \"at_step\": -1, \"lr_scale\": 1}", "at_step: must be a whole"},
	    {"{\"who\": \"a\", \"dry_run\": 1, \"lr_scale\": 1}", "dry_run: must be true or false"},
	    {"{\"who\": \"a\", \"lr_scale\": 1, \"force\": true}", "force: not a key of a change"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, body) {
		struct serve_change c;

		assert_int_equal(parse(&c, rows[i].body), FAIL_USAGE);
		if (strstr(f.text, rows[i].said) == NULL)
			assert_string_equal(f.text, rows[i].said);
		serve_change_clear(&c);
	}
}

/* Both ends of each range, with the whole sentence. */
static void
test_a_number_and_a_text_have_their_limits(void **unused)
{
	static const struct {
		const char *value; /* of a change by "ann" */
		const char *says;  /* NULL: it is taken */
	} rows[] = {
	    {"\"global_batch\": 1", NULL},
	    {"\"global_batch\": 1048576", NULL},
	    {"\"global_batch\": 1048577", "global_batch: must be a whole number from 1 to 1048576"},
	    {"\"lr_scale\": 1, \"at_step\": 0", NULL},
	    {"\"lr_scale\": 1, \"at_step\": 4611686018427387904", NULL},
	    {"\"lr_scale\": 1, \"at_step\": 4611686018427387905",
		"at_step: must be a whole number from 0 to 4611686018427387904"},
	    {"\"lr_scale\": \"1\"", "lr_scale: must be a number above 0"},
	    {"\"temperature\": 1e-300", NULL},
	    {"\"lr_scale\": 1, \"id\": \"a b ~\"", NULL},
	    {"\"lr_scale\": 1, \"id\": \"a\\u007f\"",
		"id: must be a text of 1 to 100 bytes, in one line"},
	    {"\"lr_scale\": 1, \"id\": \"\\u001f\"",
		"id: must be a text of 1 to 100 bytes, in one line"},
	    {"\"lr_scale\": 1, \"id\": \"\"", "id: must be a text of 1 to 100 bytes, in one line"},
	    {"\"weights\": {\"web\": 0}", NULL},
	    {"\"weights\": {\"web\": true}", "weights: web: must be a number"},
	    {"\"weights\": {\"\": 1}", "weights: not the name of a domain: "},
	    {"\"weights\": 1",
		"weights: must be an object of at most 4096 domains, {\"DOMAIN\": WEIGHT}"},
	    {"\"lr_scale\": 1, \"dry_run\": null", "dry_run: must be true or false"},
	    {"\"lr_scale\": 1, \"dry_run\": false", NULL},
	    {"\"x\": 1",
		"x: not a key of a change (weights, temperature, lr_scale, global_batch, at_step, "
		"id, who, dry_run)"},
	    {"\"at_step\": 1",
		"no change is given: weights, temperature, lr_scale or global_batch"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, value) {
		struct serve_change c;
		char body[512];

		snprintf(body, sizeof(body), "{\"who\": \"ann\", %s}", rows[i].value);
		assert_int_equal(parse(&c, body), rows[i].says == NULL ? FAIL_NONE : FAIL_USAGE);
		assert_string_equal(f.text, rows[i].says == NULL ? "" : rows[i].says);
		serve_change_clear(&c);
		assert_true(c.word == NULL && c.words_n == 0 && c.id == NULL && c.who == NULL);
	}
}

static void
test_a_name_is_as_long_as_it_may_be(void **unused)
{
	char body[512], who[SERVE_CHANGE_WHO_MAX + 2];
	struct serve_change c;

	(void)unused;
	memset(who, 'w', sizeof(who));
	who[SERVE_CHANGE_WHO_MAX] = '\0';
	snprintf(body, sizeof(body), "{\"lr_scale\": 1, \"who\": \"%s\"}", who);
	assert_int_equal(parse(&c, body), FAIL_NONE);
	serve_change_clear(&c);
	who[SERVE_CHANGE_WHO_MAX] = 'w';
	who[SERVE_CHANGE_WHO_MAX + 1] = '\0';
	snprintf(body, sizeof(body), "{\"lr_scale\": 1, \"who\": \"%s\"}", who);
	assert_int_equal(parse(&c, body), FAIL_USAGE);
	serve_change_clear(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_whole_change_is_taken),
	    cmocka_unit_test(test_what_is_left_out_is_as_it_is),
	    cmocka_unit_test(test_a_body_that_is_no_change_is_refused_with_what_is_wrong),
	    cmocka_unit_test(test_a_number_and_a_text_have_their_limits),
	    cmocka_unit_test(test_a_name_is_as_long_as_it_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
