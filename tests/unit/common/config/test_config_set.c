#include "tests/unit/config_file.h"

static enum fail_code
open_set(struct config **c, const char *set, struct failure *f)
{
	struct config *as_written;

	assert_int_equal(open_with(&as_written, 13, "  weights: {web: 3, code: 1}", f), FAIL_NONE);
	config_close(as_written);
	return config_open_with(c, folder_path("run.yml"), &set, 1, f);
}

static struct config *
opens_set(const char *set)
{
	struct config *c = NULL;
	struct failure f = {0};

	if (open_set(&c, set, &f) != FAIL_NONE)
		print_error("%s: %s\n", set, f.text);
	assert_non_null(c);
	return c;
}

static void
test_a_key_is_set_in_place_of_the_files(void **unused)
{
	struct config *c = opens_set("mix.lanes=8");

	(void)unused;
	assert_int_equal(c->mix.lanes, 8);
	assert_int_equal(c->mix.global_batch, 16);
	config_close(c);

	c = opens_set("mix.weights.code=0.5");
	assert_true(c->mix.weight[0] == 0.5); /* code */
	assert_true(c->mix.weight[1] == 3);
	config_close(c);

	c = opens_set("mix.weights=uniform"); /* a map becomes a word */
	assert_int_equal(c->mix.weights_kind, CONFIG_WEIGHTS_UNIFORM);
	config_close(c);
}

static void
test_the_files_name_of_the_mix_is_kept(void **unused)
{
	static const char *const rows[] = {"mix.name=other", "mix={name: other, global_batch: 16, "
							     "lanes: 4, weights: uniform}"};

	(void)unused;
	EACH_ROW(i, rows) {
		struct config *c = opens_set(rows[i]);

		assert_string_equal(c->mix.name, "other");
		assert_string_equal(c->file_mix, "pretrain");
		config_close(c);
	}
}

static void
test_a_key_is_set_that_the_file_does_not_have(void **unused)
{
	struct config *c = opens_set("domains.code.where={field: kind, equals: a}");

	(void)unused;
	assert_string_equal(c->domains[0].where_field, "kind");
	assert_string_equal(c->domains[0].where_equals, "a");
	config_close(c);

	c = opens_set("topics.replication=3"); /* nor its section */
	assert_int_equal(c->replication, 3);
	config_close(c);
}

static void
test_a_value_is_a_text_unless_it_begins_as_yaml(void **unused)
{
	struct config *c = opens_set("domains.code.train=*.jsonl");

	(void)unused;
	assert_int_equal(c->domains[0].train.n, 1);
	assert_string_equal(c->domains[0].train.text[0], "*.jsonl");
	config_close(c);

	c = opens_set("domains.code.train=[x.jsonl, 'y z.jsonl']");
	assert_int_equal(c->domains[0].train.n, 2);
	assert_string_equal(c->domains[0].train.text[1], "y z.jsonl");
	config_close(c);

	c = opens_set("tokenizer.eos='[EOS]'");
	assert_string_equal(c->tokenizer.eos, "[EOS]");
	config_close(c);

	c = opens_set("tokenizer.eos=a: b=c # d");
	assert_string_equal(c->tokenizer.eos, "a: b=c # d");
	config_close(c);
}

static void
test_an_entry_of_a_list_is_set_by_its_number(void **unused)
{
	static const char *const set[] = {
	    "mix.phases=[{start_step: 5, weights: {code: 9}}, {start_step: 7}]",
	    "mix.phases[1].start_step=8",
	    "mix.phases[1].weights.web=4",
	};
	struct config *c = opens_set(set[0]), *again;
	struct failure f = {0};

	(void)unused;
	config_close(c);
	assert_int_equal(config_open_with(&again, folder_path("run.yml"), set, 3, &f), FAIL_NONE);
	assert_int_equal(again->mix.phases[1].start_step, 8);
	assert_true(again->mix.phases[1].weight[1] == 4);
	assert_int_equal(again->mix.phases[0].start_step, 5);
	config_close(again);
}

/* Names of domains may hold dots; of the names that are there the longest that fits is meant. */
static void
test_a_name_with_dots_is_found(void **unused)
{
	static const char text[] = "corpus: d\n"
				   "tokenizer: {file: v.tiktoken, pattern: gpt2}\n"
				   "sequence_length: 8\n"
				   "domains:\n"
				   "  a: {train: a.jsonl}\n"
				   "  a.b: {train: b.jsonl}\n"
				   "mix: {name: m, global_batch: 2, lanes: 1, weights: {a: 1}}\n";
	static const char *const set[] = {"domains.a.b.live=true", "mix.weights.a.b=7"};
	struct config *c;
	struct failure f = {0};
	FILE *file = fopen(folder_path("run.yml"), "w");

	(void)unused;
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(config_open_with(&c, folder_path("run.yml"), set, 2, &f), FAIL_NONE);
	assert_false(c->domains[0].live);
	assert_true(c->domains[1].live);
	assert_true(c->mix.weight[1] == 7);
	config_close(c);
}

static void
test_what_is_wrong_is_said_of_the_setting(void **unused)
{
	static const char *const rows[][2] = {
	    {"mix.lanes=0", "-s mix.lanes: out of range: 0 (1 to 4096)"},
	    {"mix.lanes=", "-s mix.lanes: has no value (parts of a step, L:"},
	    {"mix.lane=4", "-s mix.lane: unknown key; did you mean lanes?"},
	    {"mix.lanes=[1]", "-s mix.lanes: is a list (must be one value)"},
	    {"mix.lanes=5", "-s mix.lanes: 5 does not divide mix.global_batch"},
	    {"mix.weights.cod=1", "-s mix.weights.cod: "},
	    {"mix.lanes.x=1", "-s mix.lanes.x: mix.lanes is a value, not a map"},
	    {"mix..x=1", "-s mix..x: a part of the key is empty"},
	    {".x=1", "-s .x: a part of the key is empty"},
	    {"mix.=1", "-s mix.: a part of the key is empty"},
	    {"mix.runs={", "-s mix.runs: value:2: not YAML"},
	    {"domains.code.train[2]=x", "-s domains.code.train[2]: domains.code.train has no entry "
					"[2] in the file (it has 2, from 0)"},
	    {"domains.code.train[x]=x", "-s domains.code.train[x]: domains.code.train: the number"},
	    {"domains.code.train[0]y=x", "-s domains.code.train[0]y: a dot is missing behind"},
	    {"mix.lanes[0]=x", "-s mix.lanes[0]: mix.lanes has no entry [0]"},
	    {"domains.code.where={field: a}", "-s domains.code.where: where.equals is missing"},
	    {"kafka.bootstrap.servers=x", "-s kafka: properties are set one by one"},
	    {"mix={name: m, global_batch: 4, lanes: 1, weights: uniform, phases: [{start_step: 2}, "
	     "{start_step: 1}]}",
		"-s mix.phases[1].start_step: does not increase: 1 (above 2, that of phase "
		"phase-1, -s)"},
	    {"kafka={a: b}", "-s kafka: properties are set one by one"},
	    {"lanes", "-s lanes: has no '='"},
	};
	struct config *c;
	struct failure f;

	(void)unused;
	EACH_ROW(i, rows) {
		f = (struct failure){0};
		assert_int_equal(open_set(&c, rows[i][0], &f), FAIL_CONFIG);
		assert_null(c);
		if (strncmp(f.text, rows[i][1], strlen(rows[i][1])) != 0)
			assert_string_equal(f.text, rows[i][1]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_key_is_set_in_place_of_the_files),
	    cmocka_unit_test(test_the_files_name_of_the_mix_is_kept),
	    cmocka_unit_test(test_a_key_is_set_that_the_file_does_not_have),
	    cmocka_unit_test(test_a_value_is_a_text_unless_it_begins_as_yaml),
	    cmocka_unit_test(test_an_entry_of_a_list_is_set_by_its_number),
	    cmocka_unit_test(test_a_name_with_dots_is_found),
	    cmocka_unit_test(test_what_is_wrong_is_said_of_the_setting),
	};

	unsetenv("RIFFLE_BOOTSTRAP");
	return cmocka_run_group_tests_name("config_set", tests, folder_open, folder_close);
}
