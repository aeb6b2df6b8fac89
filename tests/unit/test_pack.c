/* pack.h against a packer that keeps the whole stream, and resumed at every sequence. */
#include "tests/unit/test.h"

#include <time.h>

#include "producer/pack.h"

enum { DOCUMENTS = 60, STREAM_MAX = 60 * 40 };

struct text {
	uint32_t token[40];
	size_t n;
};

/* A random corpus, and its stream with the document of each token. */
struct corpus {
	struct text document[DOCUMENTS];
	uint32_t stream[STREAM_MAX];
	size_t document_of[STREAM_MAX], offset_of[STREAM_MAX], n;
};

static uint64_t state;

static uint64_t
random_below(uint64_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (state >> 33) % n;
}

static void
make_corpus(struct corpus *c)
{
	c->n = 0;
	for (size_t d = 0; d < DOCUMENTS; d++) {
		struct text *t = &c->document[d];

		t->n = 1 + random_below(random_below(4) == 0 ? 40 : 6);
		for (size_t i = 0; i < t->n; i++, c->n++) {
			t->token[i] = i + 1 == t->n ? 0 : (uint32_t)(1 + random_below(1000));
			c->stream[c->n] = t->token[i];
			c->document_of[c->n] = d;
			c->offset_of[c->n] = i;
		}
	}
}

static const char *
file_of(size_t document)
{
	static const char *const file[] = {"one", "two", "three"};

	return file[document * 3 / DOCUMENTS];
}

/* Adds tokens [first, end) of document d. */
static void
add(struct pack *p, const struct corpus *c, size_t d, size_t first, size_t end)
{
	struct pack_place place = {.document = d * 10,
	    .file = file_of(d),
	    .byte = d * 100,
	    .line = d + 1,
	    .documents = d + 1};
	struct failure f;

	assert_int_equal(pack_add(p, &place, c->document[d].token, end, first, &f), FAIL_NONE);
}

/* Sequence j as the definition has it. */
static void
check_sequence(const struct pack_sequence *s, const struct corpus *c, size_t j, size_t length)
{
	size_t start = j * length, last = start + length;

	assert_memory_equal(s->token, c->stream + start, (length + 1) * sizeof(*s->token));
	assert_int_equal(s->place.document, c->document_of[last] * 10);
	assert_int_equal(s->offset, c->offset_of[last]);
	assert_string_equal(s->place.file, file_of(c->document_of[last]));
	for (size_t i = 0; i < s->spans_n; i++) {
		const struct sequence_span *span = &s->span[i];
		size_t at = start + span->start, d = c->document_of[at];

		assert_true(i == 0 ? span->start == 0 : span->start > s->span[i - 1].start);
		assert_int_equal(span->document, d * 10);
		assert_int_equal(span->offset, c->offset_of[at]);
		assert_true(i == 0 || c->offset_of[at] == 0);
		assert_int_equal(s->source[span->source].n, strlen(file_of(d)));
		assert_memory_equal(s->source[span->source].bytes, file_of(d), strlen(file_of(d)));
	}
	assert_int_equal(s->spans_n, c->document_of[last] - c->document_of[start] + 1);
}

/* Takes and checks all sequences that are there, the next of which is number *j. */
static void
take(struct pack *p, const struct corpus *c, size_t length, size_t *j)
{
	struct pack_sequence *s;
	struct failure f;
	bool there;

	for (;;) {
		assert_int_equal(pack_next(p, &s, &there, &f), FAIL_NONE);
		if (!there)
			return;
		check_sequence(s, c, (*j)++, length);
		pack_sequence_close(s);
	}
}

/*
 * Packs documents [from, DOCUMENTS), the first from `first` on, each in parts of random length, and
 * now and then takes the sequences; checks them from j on.
 */
static size_t
pack_from(const struct corpus *c, size_t length, size_t from, size_t first, size_t j)
{
	struct pack *p = NULL;
	struct failure f;

	assert_int_equal(pack_open(&p, (uint32_t)length, &f), FAIL_NONE);
	for (size_t d = from; d < DOCUMENTS; d++, first = 0) {
		while (first < c->document[d].n) {
			size_t end = first + 1 + random_below(c->document[d].n - first);

			add(p, c, d, first, end);
			first = end;
			if (random_below(3) > 0)
				take(p, c, length, &j);
		}
	}
	take(p, c, length, &j);
	assert_int_equal(pack_left(p, j > 0), c->n - j * length - (j > 0));
	pack_close(p);
	return j;
}

static void
test_sequences_are_the_cuts_of_the_whole_stream(void **unused)
{
	static struct corpus c;

	(void)unused;
	state = (uint64_t)time(NULL);
	print_message("seed %llu\n", (unsigned long long)state);
	for (int round = 0; round < 20; round++) {
		make_corpus(&c);
		for (size_t length = 1; length < 60; length += 1 + random_below(7))
			assert_int_equal(pack_from(&c, length, 0, 0, 0), (c.n - 1) / length);
	}
}

static void
test_a_resume_after_any_sequence_gives_the_sequences_that_follow(void **unused)
{
	static struct corpus c;

	(void)unused;
	state = (uint64_t)time(NULL) + 1;
	print_message("seed %llu\n", (unsigned long long)state);
	for (int round = 0; round < 4; round++) {
		size_t length = 1 + random_below(30), sequences;

		make_corpus(&c);
		sequences = (c.n - 1) / length;
		for (size_t j = 1; j <= sequences; j++)
			assert_int_equal(pack_from(&c, length, c.document_of[j * length],
					     c.offset_of[j * length], j),
			    sequences);
	}
}

static void
test_what_does_not_fill_a_sequence_is_left_and_counted(void **unused)
{
	static const uint32_t token[5] = {1, 2, 3, 4, 0};
	struct pack_place place = {.file = "f", .documents = 1};
	struct pack *p = NULL;
	struct pack_sequence *s;
	struct failure f;
	bool there;

	(void)unused;
	assert_int_equal(pack_open(&p, 5, &f), FAIL_NONE);
	assert_int_equal(pack_left(p, false), 0);
	assert_int_equal(pack_add(p, &place, token, 5, 0, &f), FAIL_NONE);
	assert_int_equal(pack_next(p, &s, &there, &f), FAIL_NONE);
	assert_false(there);
	assert_int_equal(pack_left(p, false), 5);
	assert_int_equal(pack_add(p, &place, token, 5, 4, &f), FAIL_NONE);
	assert_int_equal(pack_next(p, &s, &there, &f), FAIL_NONE);
	assert_true(there);
	pack_sequence_close(s);
	assert_int_equal(pack_left(p, true), 0);
	pack_close(p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sequences_are_the_cuts_of_the_whole_stream),
	    cmocka_unit_test(test_a_resume_after_any_sequence_gives_the_sequences_that_follow),
	    cmocka_unit_test(test_what_does_not_fill_a_sequence_is_left_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
