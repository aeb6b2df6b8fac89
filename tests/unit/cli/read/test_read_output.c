/* cli/read/read_output.h: a step with prompts, padding and kept fields, as each format shows it. */
#include "cli/read/read_output.h"
#include "tests/unit/test.h"

enum { LENGTH = 4 };

static const struct riffle_range no_loss[] = {{0, 2}, {3, 4}};
static const uint32_t tokens[] = {5, 6, 7, 0};

/* What a format prints of one sequence; the caller frees it. */
static char *
print(enum read_output_format format, const char *keep, size_t keep_n, size_t ranges_n)
{
	struct riffle_span span = {
	    .source = "a\"b", .document = 6, .offset = 7, .keep = keep, .keep_n = keep_n};
	struct riffle_sequence sequence = {.domain = "web",
	    .lane = 1,
	    .partition = 2,
	    .ordinal = 3,
	    .epoch = 4,
	    .used = 3,
	    .spans = &span,
	    .spans_n = 1,
	    .no_loss = no_loss,
	    .no_loss_n = ranges_n};
	struct riffle_step step = {.step = 9,
	    .sequences = 1,
	    .tokens_each = LENGTH,
	    .tokens = tokens,
	    .sequence = &sequence,
	    .lr_scale = 0.5,
	    .phase = "cool",
	    .version = 8};
	struct read_output *o;
	struct failure f;
	char *out = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&out, &n);

	assert_int_equal(read_output_open(&o, to, format, &f), FAIL_NONE);
	assert_int_equal(read_output_step(o, &step, 1, &f), FAIL_NONE);
	read_output_close(o);
	fclose(to);
	if (format == READ_OUTPUT_TOKENS)
		assert_int_equal(n, sizeof(tokens));
	return out;
}

#define HEAD                                                                                       \
	"{\"step\":9,\"lane\":1,\"domain\":\"web\",\"partition\":2,\"ordinal\":3,\"epoch\":4,"     \
	"\"source\":\"a\\\"b\",\"used\":3,\"no_loss\":"
#define TAIL                                                                                       \
	",\"spans\":[{\"start\":0,\"source\":\"a\\\"b\",\"document\":6,\"offset\":7}],"            \
	"\"phase\":\"cool\",\"lr_scale\":0.5,\"version\":8,\"tokens\":[5,6,7,0]}\n"

static const struct {
	const char *claim, *keep;
	size_t ranges_n;
	const char *expected;
} cases[] = {
    {"nothing kept, no masks", "", 0, HEAD "[]" TAIL},
    {"masks", "", 2, HEAD "[[0,2],[3,4]]" TAIL},
    {"an object is put in as it is", "{\"a\":[1,\"\xc3\xa9\"]}", 1,
	HEAD "[[0,2]],\"keep\":{\"a\":[1,\"\xc3\xa9\"]}" TAIL},
    {"what is not JSON is a text", "{\"a\":", 0, HEAD "[],\"keep\":\"{\\\"a\\\":\"" TAIL},
    {"two values are not JSON", "1 2", 0, HEAD "[],\"keep\":\"1 2\"" TAIL},
    {"a line end would end the line", "[1,\n2]", 0, HEAD "[],\"keep\":\"[1,\\n2]\"" TAIL},
    {"what is not UTF-8 is a text", "\"\xff\"", 0,
	HEAD "[],\"keep\":\"\\\"\xef\xbf\xbd\\\"\"" TAIL},
};

static void
test_jsonl_has_used_masks_and_what_is_kept(void **unused)
{
	(void)unused;
	EACH_NAMED_ROW(i, cases, claim) {
		char *out = print(
		    READ_OUTPUT_JSONL, cases[i].keep, strlen(cases[i].keep), cases[i].ranges_n);

		print_message("%s\n", cases[i].claim);
		assert_string_equal(out, cases[i].expected);
		free(out);
	}
}

static void
test_tokens_and_hashes_are_of_the_whole_sequence_with_its_padding(void **unused)
{
	char *out = print(READ_OUTPUT_TOKENS, "", 0, 2);

	(void)unused;
	assert_memory_equal(out, tokens, sizeof(tokens)); /* on a little-endian machine */
	free(out);
	out = print(READ_OUTPUT_STEPS, "", 0, 2);
	assert_non_null(strstr(out, "\tweb:1\n"));
	free(out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_jsonl_has_used_masks_and_what_is_kept),
	    cmocka_unit_test(test_tokens_and_hashes_are_of_the_whole_sequence_with_its_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
