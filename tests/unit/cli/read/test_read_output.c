/* cli/read/read_output.h: a step with prompts, padding and kept fields, as each format shows it. */
#include "cli/read/read_output.h"

#include <endian.h>
#include <inttypes.h>
#include <xxhash.h>

#include "tests/unit/test.h"

enum { LENGTH = 4, SEQUENCES = 12 };

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

/* ---- steps of several sequences ---- */

static const char *const domain_of[SEQUENCES] = {
    "web", "code", "web", "a", "web", "web", "code", "web", "code2", "a", "code", "a"};

/* Step 9 of the first `sequences`; lanes are numbered from 5 on, as those of a rank of several. */
static void
print_step(struct read_output *o, size_t sequences, size_t lanes)
{
	uint32_t token[SEQUENCES][LENGTH];
	struct riffle_sequence sequence[SEQUENCES] = {{.domain = NULL}};
	const struct riffle_step step = {.step = 9,
	    .sequences = sequences,
	    .tokens_each = LENGTH,
	    .tokens = token,
	    .sequence = sequence,
	    .phase = ""};

	for (uint32_t i = 0; i < sequences; i++) {
		sequence[i].domain = domain_of[i];
		sequence[i].lane = 5 + i / (uint32_t)(sequences / lanes);
		for (uint32_t k = 0; k < LENGTH; k++)
			token[i][k] = i << 16 | k;
	}
	assert_int_equal(read_output_step(o, &step, lanes, &f), FAIL_NONE);
}

/* What a lane's line says of sequences [first, end), found without the module. */
static size_t
add_line(char *out, size_t room, uint32_t lane, uint32_t first, uint32_t end)
{
	static const char *const sorted[] = {"a", "code", "code2", "web"};
	uint32_t token[SEQUENCES * LENGTH];
	size_t n = 0, at;

	for (uint32_t i = first; i < end; i++)
		for (uint32_t k = 0; k < LENGTH; k++)
			token[n++] = htole32(i << 16 | k);
	at = (size_t)snprintf(out, room, "9\t%" PRIu32 "\t%016" PRIx64 "\t", lane,
	    (uint64_t)XXH64(token, n * sizeof(token[0]), 0));
	n = 0;
	EACH_ROW(k, sorted) {
		size_t count = 0;

		for (uint32_t i = first; i < end; i++)
			count += strcmp(domain_of[i], sorted[k]) == 0;
		if (count > 0)
			at += (size_t)snprintf(
			    out + at, room - at, "%s%s:%zu", n++ == 0 ? "" : ",", sorted[k], count);
	}
	return at + (size_t)snprintf(out + at, room - at, "\n");
}

/*
 * A lane's line depends on its own sequences alone, however many lanes there are, and whatever was
 * printed before: each step is printed twice, and all of them by one output.
 */
static void
test_each_lane_has_the_hash_and_the_counts_of_its_own_sequences(void **unused)
{
	static const struct {
		uint32_t sequences, lanes;
	} rows[] = {{1, 1}, {12, 1}, {12, 2}, {12, 3}, {12, 4}, {6, 6}, {12, 12}, {4, 2}, {2, 1}};
	struct read_output *o;
	char *out = NULL, expected[4096];
	size_t n = 0, begin = 0;
	FILE *to = open_memstream(&out, &n);

	(void)unused;
	assert_int_equal(read_output_open(&o, to, READ_OUTPUT_STEPS, &f), FAIL_NONE);
	EACH_ROW(i, rows) {
		uint32_t each = rows[i].sequences / rows[i].lanes;
		size_t at = 0;

		for (uint32_t k = 0; k < 2 * rows[i].lanes; k++) {
			uint32_t lane = k % rows[i].lanes;

			at += add_line(expected + at, sizeof(expected) - at, 5 + lane, lane * each,
			    (lane + 1) * each);
		}
		print_step(o, rows[i].sequences, rows[i].lanes);
		print_step(o, rows[i].sequences, rows[i].lanes);
		assert_string_equal(out + begin, expected); /* it is out on return */
		begin = n;
	}
	read_output_close(o);
	fclose(to);
	free(out);
}

/* No format but `steps` knows lanes. */
static void
test_other_formats_print_sequence_after_sequence(void **unused)
{
	static const struct {
		const char *name;
		enum read_output_format format;
		size_t bytes, lines; /* of 12 sequences; bytes 0: not fixed */
	} rows[] = {
	    {"jsonl", READ_OUTPUT_JSONL, 0, SEQUENCES},
	    {"tokens", READ_OUTPUT_TOKENS, sizeof(uint32_t) * SEQUENCES * LENGTH, 0},
	    {"none", READ_OUTPUT_NONE, 0, 0},
	};
	static const size_t lanes[] = {1, 3, 12};

	(void)unused;
	EACH_NAMED_ROW(i, rows, name) {
		assert_string_equal(read_output_format_text[rows[i].format], rows[i].name);
		EACH_ROW(k, lanes) {
			struct read_output *o;
			char *out = NULL, *at;
			size_t n = 0, lines = 0;
			FILE *to = open_memstream(&out, &n);

			assert_int_equal(read_output_open(&o, to, rows[i].format, &f), FAIL_NONE);
			print_step(o, SEQUENCES, lanes[k]);
			read_output_close(o);
			fclose(to);
			if (rows[i].format == READ_OUTPUT_JSONL) {
				for (at = out; (at = strstr(at, "{\"step\":9,\"lane\":")); at++)
					lines++;
				assert_int_equal(lines, rows[i].lines);
			} else {
				assert_int_equal(n, rows[i].bytes);
			}
			if (rows[i].format == READ_OUTPUT_TOKENS)
				for (uint32_t t = 0; t < SEQUENCES * LENGTH; t++) {
					uint32_t token;

					memcpy(&token, out + 4 * t, 4);
					assert_int_equal(
					    le32toh(token), t / LENGTH << 16 | t % LENGTH);
				}
			free(out);
		}
	}
}

static void
test_a_step_that_cannot_be_written_is_a_failure(void **unused)
{
	static const enum read_output_format formats[] = {
	    READ_OUTPUT_STEPS, READ_OUTPUT_JSONL, READ_OUTPUT_TOKENS};

	(void)unused;
	EACH_ROW(i, formats) {
		const struct riffle_sequence sequence = {.domain = "web"};
		const struct riffle_step step = {.step = 9,
		    .sequences = 1,
		    .tokens_each = LENGTH,
		    .tokens = tokens,
		    .sequence = &sequence,
		    .phase = ""};
		struct read_output *o;
		FILE *to = fopen("/dev/full", "w");

		assert_non_null(to);
		assert_int_equal(read_output_open(&o, to, formats[i], &f), FAIL_NONE);
		assert_int_equal(read_output_step(o, &step, 1, &f), FAIL_IO);
		assert_non_null(strstr(f.text, "writing step 9"));
		read_output_close(o);
		fclose(to);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_jsonl_has_used_masks_and_what_is_kept),
	    cmocka_unit_test(test_tokens_and_hashes_are_of_the_whole_sequence_with_its_padding),
	    cmocka_unit_test(test_each_lane_has_the_hash_and_the_counts_of_its_own_sequences),
	    cmocka_unit_test(test_other_formats_print_sequence_after_sequence),
	    cmocka_unit_test(test_a_step_that_cannot_be_written_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
