/* added_tokens.h: which stretches of a text are tokens, by flags and neighbours. */
#include "producer/pretokenizer/added_tokens.h"

#include <time.h>

#include "tests/unit/test.h"

enum { ALONE = 1, LEFT = 2, RIGHT = 4, TEXT = 8, TOKENS_MAX = 6 };

/* "content" and its flags; the id is its number in the row, from 1. */
struct given {
	const char *content;
	unsigned flags;
};

static void
add(struct added_tokens *a, const struct given *g, uint32_t id)
{
	struct added_token token = {.id = id,
	    .single_word = (g->flags & ALONE) != 0,
	    .lstrip = (g->flags & LEFT) != 0,
	    .rstrip = (g->flags & RIGHT) != 0,
	    .as_text = (g->flags & TEXT) != 0};
	struct failure f;

	assert_int_equal(
	    added_tokens_add(a, (const uint8_t *)g->content, strlen(g->content), &token, &f),
	    FAIL_NONE);
}

/* The spans of a text with a bar between them; a token is its id, a colon and its bytes. */
static void
check_spans(const struct added_tokens *a, const char *text, const char *expected)
{
	struct added_search s = {.set = a, .text = (const uint8_t *)text, .n = strlen(text)};
	struct added_span span;
	char found[512] = "";
	size_t used = 0;

	while (added_search_next(&s, &span)) {
		assert_true(span.start < span.end && span.end <= s.n);
		used += (size_t)snprintf(
		    found + used, sizeof(found) - used, "%s", used == 0 ? "" : "|");
		if (span.token != NULL)
			used += (size_t)snprintf(
			    found + used, sizeof(found) - used, "%u:", span.token->id);
		used += (size_t)snprintf(found + used, sizeof(found) - used, "%.*s",
		    (int)(span.end - span.start), text + span.start);
		assert_true(used < sizeof(found));
	}
	assert_false(added_search_next(&s, &span));
	assert_string_equal(found, expected);
}

static void
test_spans_follow_the_flags_of_the_tokens(void **unused)
{
	static const struct {
		const char *text, *expected;
		struct given token[TOKENS_MAX];
	} rows[] = {
	    {"", "", {{"<s>", 0}}},
	    {"plain text", "plain text", {{"<s>", 0}}},
	    {"<s>", "1:<s>", {{"<s>", 0}}},
	    {"a<s>b", "a|1:<s>|b", {{"<s>", 0}}},
	    {"<s><s>", "1:<s>|1:<s>", {{"<s>", 0}}},
	    {"<s", "<s", {{"<s>", 0}}},
	    {"<<s>", "<|1:<s>", {{"<s>", 0}}},
	    {"a<", "a|2:<", {{"<s>", 0}, {"<", 0}}},
	    {"a<b", "a|2:<|b", {{"<s>", 0}, {"<", 0}}},
	    /* the longest that begins at a place */
	    {"abcd", "2:abc|d", {{"ab", 0}, {"abc", 0}, {"bcd", 0}}},
	    {"abxbcd", "1:ab|x|3:bcd", {{"ab", 0}, {"abc", 0}, {"bcd", 0}}},
	    {"abx", "1:ab|x", {{"ab", 0}, {"abcd", 0}}},
	    {"ab", "1:a|b", {{"a", 0}, {"abc", 0}}},
	    /* single_word: neither neighbour is of a word */
	    {"the", "1:the", {{"the", ALONE}}},
	    {"the cat", "1:the| cat", {{"the", ALONE}}},
	    {"(the)", "(|1:the|)", {{"the", ALONE}}},
	    {"other", "other", {{"the", ALONE}}},
	    {"bathe the", "bathe |1:the", {{"the", ALONE}}},
	    {"then", "then", {{"the", ALONE}}},
	    {"the_", "the_", {{"the", ALONE}}},
	    {"the1", "the1", {{"the", ALONE}}},
	    {"the\u00e9", "the\u00e9", {{"the", ALONE}}},
	    {"\u00e9the", "\u00e9the", {{"the", ALONE}}},
	    {"\u3002the\u3002", "\u3002|1:the|\u3002", {{"the", ALONE}}},
	    /* one that does not count hides those that begin inside it */
	    {"xabc", "xabc", {{"abc", ALONE}, {"bc", 0}}},
	    {"xabcbc", "xabc|2:bc", {{"abc", ALONE}, {"bc", 0}}},
	    {"abc", "1:abc", {{"abc", ALONE}, {"bc", 0}}},
	    {"<s>s>", "<s>|2:s>", {{"<s>", TEXT}, {"s>", 0}}},
	    {"<s>", "<s>", {{"<s>", TEXT}}},
	    /* lstrip: the white space before it, up to the token before */
	    {"ab  [M]", "ab|1:  [M]", {{"[M]", LEFT}}},
	    {"  [M]", "1:  [M]", {{"[M]", LEFT}}},
	    {"a\u00a0\n[M]", "a|1:\u00a0\n[M]", {{"[M]", LEFT}}},
	    {"ab [M]<s>", "ab|1: [M]|2:<s>", {{"[M]", LEFT}, {"<s>", 0}}},
	    {"<s> [M]", "2:<s>|1: [M]", {{"[M]", LEFT}, {"<s>", 0}}},
	    {"[M] [M]", "1:[M]|1: [M]", {{"[M]", LEFT}}},
	    {"ab [M]", "ab |1:[M]", {{"[M]", 0}}},
	    /* rstrip: the white space behind it */
	    {"[M]  ab", "1:[M]  |ab", {{"[M]", RIGHT}}},
	    {"[M]  ", "1:[M]  ", {{"[M]", RIGHT}}},
	    {"[M] [M] ", "1:[M] |1:[M] ", {{"[M]", RIGHT}}},
	    {"a [M] b", "a|1: [M] |b", {{"[M]", LEFT | RIGHT}}},
	    {"a [M] [L] b", "a |1:[M] |2:[L]| b", {{"[M]", RIGHT}, {"[L]", LEFT}}},
	    /* white space that another token has taken */
	    {"[M]  b", "1:[M]  |b", {{"[M]", RIGHT}, {"  ", LEFT}}},
	    {"[M]  b", "1:[M]  |2:  |b", {{"[M]", RIGHT}, {"  ", 0}}},
	    {"[M]   b", "1:[M]   |2: |2: |2: |b", {{"[M]", RIGHT}, {" ", 0}}},
	    {"   [L]", "2:  |1: [L]", {{"[L]", LEFT}, {"  ", 0}}},
	    {"[M] [L]", "1:[M] |2:[L]", {{"[M]", RIGHT}, {"[L]", 0}, {" ", LEFT}}},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct added_tokens a = {0};

		for (uint32_t k = 0; k < TOKENS_MAX && rows[i].token[k].content != NULL; k++)
			add(&a, &rows[i].token[k], k + 1);
		check_spans(&a, rows[i].text, rows[i].expected);
		added_tokens_close(&a);
	}
}

static void
test_a_set_without_tokens_gives_the_text(void **unused)
{
	struct added_tokens a = {0};

	(void)unused;
	check_spans(&a, "a text", "a text");
	check_spans(&a, "", "");
	added_tokens_close(&a);
}

static void
test_the_same_content_twice_is_refused(void **unused)
{
	static const struct given one = {"<s>", 0}, part = {"<s", 0};
	const struct added_token other = {.id = 9};
	struct added_tokens a = {0};
	struct failure f;

	(void)unused;
	add(&a, &one, 1);
	assert_int_equal(added_tokens_add(&a, (const uint8_t *)"<s>", 3, &other, &f), FAIL_DATA);
	add(&a, &part, 2);
	check_spans(&a, "<s><s-<", "1:<s>|2:<s|-<");
	added_tokens_close(&a);
}

static void
test_tokens_that_are_dropped_are_text(void **unused)
{
	static const struct given given[] = {{"<s>", 0}, {"<p>", 0}, {"<s", 0}};
	struct added_tokens a = {0};

	(void)unused;
	add(&a, &given[0], 1);
	add(&a, &given[1], 7);
	add(&a, &given[2], 7);
	added_tokens_drop(&a, 9);
	check_spans(&a, "<s><p><s", "1:<s>|7:<p>|7:<s");
	added_tokens_drop(&a, 7);
	check_spans(&a, "<s><p><s", "1:<s>|<p><s");
	added_tokens_drop(&a, 1);
	check_spans(&a, "<s><p><s", "<s><p><s");
	added_tokens_close(&a);
}

/* Two tokens that begin alike, of which one is in front of the other, and a third. */
static void
test_tokens_of_any_first_byte_are_found_at_any_place(void **unused)
{
	(void)unused;
	for (unsigned first = 1; first < 128; first++) {
		const char content[] = {(char)first, 'z', '\0'};
		const struct given given[] = {{content, 0}, {"\u4e2d", 0}};
		struct added_tokens a = {0};
		char text[64], expected[64];

		if (first == '|' || first == ':' || first == 'q')
			continue;
		for (uint32_t n = 1; n <= 2; n++) { /* all with one first byte, and with two */
			add(&a, &given[n - 1], n);
			snprintf(text, sizeof(text), "%sq%sqq%s", content, content, content);
			snprintf(expected, sizeof(expected), "1:%s|q|1:%s|qq|1:%s", content,
			    content, content);
			check_spans(&a, text, expected);
		}
		check_spans(&a, "\u4e2dq\u4e2d\u4e2e", "2:\u4e2d|q|2:\u4e2d|\u4e2e");
		added_tokens_close(&a);
	}
}

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Their cost must not grow with the square of the white space. */
static void
test_many_tokens_in_one_stretch_of_white_space(void **unused)
{
	enum { SPACES = 150000, SECONDS_MAX = 5 };
	static const struct given given[] = {{" ", RIGHT}};
	static char text[SPACES + 2];
	struct added_tokens a = {0};
	struct added_search s = {.set = &a, .text = (const uint8_t *)text, .n = SPACES + 1};
	struct added_span span;
	double begun = seconds();
	size_t spans = 0;

	(void)unused;
	memset(text, ' ', SPACES);
	text[SPACES] = 'x';
	add(&a, &given[0], 1);
	while (added_search_next(&s, &span)) {
		assert_int_equal(span.end, span.token == NULL ? SPACES + 1 : SPACES);
		spans++;
	}
	assert_int_equal(spans, SPACES + 1); /* one for each space, and x */
	assert_true(seconds() - begun < SECONDS_MAX);
	added_tokens_close(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_spans_follow_the_flags_of_the_tokens),
	    cmocka_unit_test(test_a_set_without_tokens_gives_the_text),
	    cmocka_unit_test(test_the_same_content_twice_is_refused),
	    cmocka_unit_test(test_tokens_that_are_dropped_are_text),
	    cmocka_unit_test(test_tokens_of_any_first_byte_are_found_at_any_place),
	    cmocka_unit_test(test_many_tokens_in_one_stretch_of_white_space),
	};

	return cmocka_run_group_tests_name("added_tokens", tests, NULL, NULL);
}
