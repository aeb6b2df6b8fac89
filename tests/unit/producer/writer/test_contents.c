/* contents.h: what makes two records of one ordinal the same sequence. */
#include "tests/unit/test.h"

#include "producer/writer/contents.h"

static void
test_whatever_is_published_counts(void **state)
{
	uint32_t token[] = {1, 2, 3, 4};
	struct sequence_span span[] = {{.start = 0, .document = 5, .offset = 6}};
	struct sequence_range no_loss[] = {{.start = 1, .end = 3}};
	const struct contents c = {.token = token, .span = span, .no_loss = no_loss};
	struct sequence_view s = {
	    .position = {.document = 5, .file = {"a", 1}, .byte = 7, .offset = 8},
	    .payload = {.count = 4, .used = 4, .spans_n = 1, .no_loss_n = 1}};
	uint32_t *const narrow[] = {
	    &token[3], &s.payload.used, &span[0].start, &no_loss[0].start, &no_loss[0].end};
	uint64_t *const wide[] = {&span[0].document, &span[0].offset, &s.position.document,
	    &s.position.byte, &s.position.offset};
	const uint64_t hash = contents_hash(&c, &s);

	(void)state;
	assert_true(contents_hash(&c, &s) == hash);
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++) {
		++*narrow[i];
		assert_true(contents_hash(&c, &s) != hash);
		--*narrow[i];
	}
	for (size_t i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		++*wide[i];
		assert_true(contents_hash(&c, &s) != hash);
		--*wide[i];
	}
	s.position.file.bytes = "b";
	assert_true(contents_hash(&c, &s) != hash);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whatever_is_published_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
