/*
 * pack.h against packers that keep the whole stream and try every bin, fed in parts of random
 * length, and resumed at every sequence.
 */
#include "tests/unit/test.h"

#include <time.h>

#include "producer/pack/pack.h"

enum { DOCUMENTS = 60, TOKENS_MAX = 40, SEQUENCES_MAX = DOCUMENTS * TOKENS_MAX, EOS = 7777 };

struct text {
	uint32_t token[TOKENS_MAX];
	size_t n, keep_n;
	uint8_t keep[4];
};

/* A random corpus, and the sequences that it must give. */
struct part {
	size_t document, offset, n;
};

struct expected {
	struct part part[DOCUMENTS];
	size_t parts_n;
	size_t document, offset; /* of the position */
	uint64_t window, dropped;
};

struct corpus {
	struct text document[DOCUMENTS];
	struct expected sequence[SEQUENCES_MAX];
	size_t sequences_n, left;
};

static uint64_t state;

static uint64_t
random_below(uint64_t n)
{
	state = state * 6364136223846793005U + 1442695040888963407U;
	return (state >> 33) % n;
}

static void
seed(uint64_t more)
{
	state = (uint64_t)time(NULL) + more;
	print_message("seed %llu\n", (unsigned long long)state);
}

static void
make_corpus(struct corpus *c)
{
	for (size_t d = 0; d < DOCUMENTS; d++) {
		struct text *t = &c->document[d];
		bool prompts = random_below(2) == 0;

		t->n = 1 + random_below(random_below(4) == 0 ? TOKENS_MAX : 6);
		t->keep_n = random_below(sizeof(t->keep) + 1);
		for (size_t i = 0; i < t->n; i++)
			t->token[i] = (i + 1 == t->n ? EOS : (uint32_t)(1 + random_below(1000))) |
				      (prompts && random_below(3) > 0 ? PACK_NO_LOSS : 0);
		for (size_t i = 0; i < t->keep_n; i++)
			t->keep[i] = (uint8_t)random_below(256);
	}
}

/* ---- what must come out ---- */

static struct expected *
new_expected(struct corpus *c, size_t document)
{
	struct expected *e = &c->sequence[c->sequences_n++];

	*e = (struct expected){.document = document};
	return e;
}

static void
expect_concat(struct corpus *c, size_t length)
{
	struct expected *e = new_expected(c, 0);
	size_t n = 0;

	for (size_t d = 0; d < DOCUMENTS; d++)
		for (size_t i = 0; i < c->document[d].n; i++) {
			if (n == length + 1) { /* the next one begins with the last token of it */
				e = new_expected(c, 0);
				e->part[0] = (struct part){e[-1].document, e[-1].offset, 1};
				e->parts_n = 1;
				n = 1;
			}
			if (e->parts_n == 0 || e->part[e->parts_n - 1].document != d)
				e->part[e->parts_n++] = (struct part){d, i, 0};
			e->part[e->parts_n - 1].n++;
			e->document = d;
			e->offset = i;
			n++;
		}
	if (n < length + 1) {
		c->sequences_n--;
		c->left = n - (c->sequences_n > 0);
	}
}

static void
expect_none(struct corpus *c, size_t length, bool truncate)
{
	for (size_t d = 0; d < DOCUMENTS; d++) {
		size_t n = c->document[d].n;

		for (size_t i = 0; i < n && !(truncate && i > 0); i += length + 1) {
			struct expected *e = new_expected(c, d);
			size_t some = n - i < length + 1 ? n - i : length + 1;

			e->part[e->parts_n++] = (struct part){d, i, some};
			e->offset = i + some - 1;
			e->dropped = truncate ? n - some : 0;
		}
	}
}

struct bin {
	size_t room, stamp;
	struct part part[DOCUMENTS];
	size_t parts_n;
};

/* Tries every bin for the longest part that is in none. */
static size_t
fill_bins(struct bin *bin, struct part *part, size_t parts_n, size_t capacity)
{
	size_t bins_n = 0;

	for (size_t stamp = 1; stamp <= parts_n; stamp++) {
		struct part *longest = NULL;
		struct bin *best = NULL;

		for (size_t i = 0; i < parts_n; i++)
			if (longest == NULL || part[i].n > longest->n)
				longest = &part[i];
		for (size_t i = 0; i < bins_n; i++) {
			bool better = best == NULL || bin[i].room < best->room ||
				      (bin[i].room == best->room && bin[i].stamp > best->stamp);

			if (bin[i].room >= longest->n && better)
				best = &bin[i];
		}
		if (best == NULL) {
			best = &bin[bins_n++];
			*best = (struct bin){.room = capacity};
		}
		best->part[best->parts_n++] = *longest;
		best->room -= longest->n;
		best->stamp = stamp;
		longest->n = 0;
	}
	return bins_n;
}

static int
compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->document > y->document) - (x->document < y->document);
}

/* The corpus is one window. */
static void
expect_best_fit(struct corpus *c, size_t length)
{
	static struct bin bin[DOCUMENTS];
	struct part rest[DOCUMENTS];
	size_t rests_n = 0, bins_n, window = 0;

	for (size_t d = 0; d < DOCUMENTS; d++) {
		size_t n = c->document[d].n, i = 0;

		for (; n - i >= length + 1; i += length + 1) {
			struct expected *e = new_expected(c, 0);

			e->part[e->parts_n++] = (struct part){d, i, length + 1};
			e->window = ++window;
		}
		if (i < n)
			rest[rests_n++] = (struct part){d, i, n - i};
	}
	bins_n = fill_bins(bin, rest, rests_n, length + 1);
	for (size_t b = 0; b < bins_n; b++) {
		struct expected *e = new_expected(c, 0);

		qsort(bin[b].part, bin[b].parts_n, sizeof(*bin[b].part), compare_parts);
		memcpy(e->part, bin[b].part, bin[b].parts_n * sizeof(*bin[b].part));
		e->parts_n = bin[b].parts_n;
		e->window = ++window;
	}
}

static void
expect(struct corpus *c, const struct pack_options *o)
{
	c->sequences_n = c->left = 0;
	switch (o->packing) {
	case SEQUENCE_CONCAT: expect_concat(c, o->sequence_length); return;
	case SEQUENCE_NONE: expect_none(c, o->sequence_length, o->truncate); return;
	case SEQUENCE_BEST_FIT: expect_best_fit(c, o->sequence_length); return;
	}
	abort(); /* unreachable */
}

/* ---- what comes out ---- */

static const char *
file_of(size_t document)
{
	static const char *const file[] = {"one", "two", "three"};

	return file[document * 3 / DOCUMENTS];
}

static struct pack_document
document_of(const struct corpus *c, size_t d)
{
	const struct text *t = &c->document[d];

	return (struct pack_document){.place = {.document = d * 10,
					  .file = file_of(d),
					  .byte = d * 100,
					  .line = d + 1,
					  .documents = d + 1,
					  .rejects = d / 2},
	    .n = t->n,
	    .keep = t->keep,
	    .keep_n = t->keep_n};
}

static void
check_span(const struct pack_sequence *s, const struct sequence_span *span, const struct corpus *c,
    const struct part *part, size_t start)
{
	const struct text *t = &c->document[part->document];
	const struct text_view *source = &s->source[span->source];

	assert_int_equal(span->start, start);
	assert_int_equal(span->document, part->document * 10);
	assert_int_equal(span->offset, part->offset);
	assert_int_equal(span->keep_n, t->keep_n);
	if (t->keep_n > 0)
		assert_memory_equal(span->keep, t->keep, t->keep_n);
	assert_int_equal(source->n, strlen(file_of(part->document)));
	assert_memory_equal(source->bytes, file_of(part->document), source->n);
}

/* Ranges that are not empty, ascend and do not touch, and say of each token what they must. */
static void
check_no_loss(const struct pack_sequence *s, const bool *masked, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < s->no_loss_n; i++) {
		const struct sequence_range *r = &s->no_loss[i];

		assert_true(i == 0 || r->start > s->no_loss[i - 1].end);
		assert_true(r->start < r->end && r->end <= count);
		for (; at < r->start; at++)
			assert_false(masked[at]);
		for (; at < r->end; at++)
			assert_true(masked[at]);
	}
	for (; at < count; at++)
		assert_false(masked[at]);
}

static void
check_sequence(
    const struct pack_sequence *s, const struct corpus *c, const struct expected *e, size_t length)
{
	bool masked[2 * TOKENS_MAX] = {false};
	size_t at = 0;

	assert_int_equal(s->spans_n, e->parts_n);
	for (size_t k = 0; k < e->parts_n; k++) {
		const struct part *part = &e->part[k];

		check_span(s, &s->span[k], c, part, at);
		for (size_t i = part->offset; i < part->offset + part->n; i++) {
			uint32_t token = c->document[part->document].token[i];

			masked[at] = (token & PACK_NO_LOSS) != 0;
			assert_int_equal(s->token[at++], token & ~PACK_NO_LOSS);
		}
	}
	assert_int_equal(s->used, at);
	for (; at < length + 1; at++) {
		masked[at] = true;
		assert_int_equal(s->token[at], EOS);
	}
	check_no_loss(s, masked, length + 1);
	assert_int_equal(s->place.document, e->document * 10);
	assert_int_equal(s->place.documents, e->document + 1);
	assert_int_equal(s->place.rejects, e->document / 2);
	assert_string_equal(s->place.file, file_of(e->document));
	assert_int_equal(s->offset, e->offset);
	assert_int_equal(s->window, e->window);
	assert_int_equal(s->dropped, e->dropped);
}

/* Takes all sequences that are there; checks them from number *j on, after `skip` more. */
static void
take(struct pack *p, const struct corpus *c, size_t length, size_t *j, size_t *skip)
{
	struct pack_sequence *s;
	struct failure f;
	bool there;

	for (;;) {
		assert_int_equal(pack_next(p, &s, &there, &f), FAIL_NONE);
		if (!there)
			return;
		if (*skip > 0) {
			--*skip;
		} else {
			assert_true(*j < c->sequences_n);
			check_sequence(s, c, &c->sequence[(*j)++], length);
		}
		pack_sequence_close(s);
	}
}

/*
 * Packs documents [from, DOCUMENTS), the first from `first` on, each in parts of random length;
 * checks the sequences from j on, after `skip` that are left out.
 */
static void
pack_from(const struct corpus *c, const struct pack_options *o, size_t from, size_t first, size_t j,
    size_t skip)
{
	struct pack *p = NULL;
	struct failure f;

	assert_int_equal(pack_open(&p, o, &f), FAIL_NONE);
	for (size_t d = from; d < DOCUMENTS; d++, first = 0) {
		struct pack_document document = document_of(c, d);

		while (first < document.n) {
			size_t end = first + 1 + random_below(document.n - first);

			assert_int_equal(
			    pack_add(p, &document, c->document[d].token, first, end, &f),
			    FAIL_NONE);
			first = end;
			if (o->packing != SEQUENCE_CONCAT || random_below(3) > 0)
				take(p, c, o->sequence_length, &j, &skip);
		}
	}
	pack_finish(p);
	take(p, c, o->sequence_length, &j, &skip);
	assert_int_equal(j, c->sequences_n);
	assert_int_equal(pack_left(p, j > 0), c->left);
	pack_close(p);
}

/* Where the records of a producer say that it goes on after sequence j. */
static void
resume_after(const struct corpus *c, const struct pack_options *o, size_t j)
{
	const struct expected *e = &c->sequence[j];

	switch (o->packing) {
	case SEQUENCE_CONCAT: pack_from(c, o, e->document, e->offset, j + 1, 0); return;
	case SEQUENCE_NONE: pack_from(c, o, e->document, e->offset + 1, j + 1, 0); return;
	case SEQUENCE_BEST_FIT: pack_from(c, o, e->document, 0, j + 1, e->window); return;
	}
	abort(); /* unreachable */
}

static const struct {
	enum sequence_packing packing;
	bool truncate;
} ways[] = {
    {SEQUENCE_CONCAT, false},
    {SEQUENCE_NONE, false},
    {SEQUENCE_NONE, true},
    {SEQUENCE_BEST_FIT, false},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void
test_sequences_are_those_of_the_simple_packers(void **unused)
{
	static struct corpus c;

	(void)unused;
	seed(0);
	for (int round = 0; round < 20; round++) {
		make_corpus(&c);
		for (size_t length = 1; length < 60; length += 1 + random_below(7))
			for (size_t w = 0; w < WAYS; w++) {
				struct pack_options o = {
				    ways[w].packing, ways[w].truncate, (uint32_t)length, EOS};

				expect(&c, &o);
				pack_from(&c, &o, 0, 0, 0, 0);
			}
	}
}

static void
test_a_resume_after_any_sequence_gives_the_sequences_that_follow(void **unused)
{
	static struct corpus c;

	(void)unused;
	seed(1);
	for (int round = 0; round < 4; round++)
		for (size_t w = 0; w < WAYS; w++) {
			struct pack_options o = {ways[w].packing, ways[w].truncate,
			    (uint32_t)(1 + random_below(30)), EOS};

			make_corpus(&c);
			expect(&c, &o);
			for (size_t j = 0; j < c.sequences_n; j++)
				resume_after(&c, &o, j);
		}
}

/* ---- limits ---- */

/* A packer that is fed documents of one length, and counts what comes out. */
struct feed {
	struct pack *p;
	uint64_t documents;
	size_t out, used, dropped, window, spans;
	uint64_t place; /* of the last one out */
};

static void
drain(struct feed *d)
{
	struct pack_sequence *s;
	struct failure f;
	bool there;

	for (;;) {
		assert_int_equal(pack_next(d->p, &s, &there, &f), FAIL_NONE);
		if (!there)
			return;
		d->out++;
		d->used += s->used;
		d->dropped += s->dropped;
		d->spans = s->spans_n;
		d->window = s->window;
		d->place = s->place.document;
		pack_sequence_close(s);
	}
}

static void
open_feed(struct feed *d, enum sequence_packing packing, bool truncate, uint32_t length)
{
	struct pack_options o = {packing, truncate, length, EOS};
	struct failure f;

	*d = (struct feed){0};
	assert_int_equal(pack_open(&d->p, &o, &f), FAIL_NONE);
}

static void
feed(struct feed *d, size_t n, size_t keep_n)
{
	uint32_t *token = calloc(n, sizeof(*token));
	uint8_t *keep = calloc(keep_n + 1, 1);
	struct pack_document document = {.place = {.document = d->documents, .file = "f"},
	    .n = n,
	    .keep = keep,
	    .keep_n = keep_n};
	struct failure f;

	d->documents++;
	assert_int_equal(pack_add(d->p, &document, token, 0, n, &f), FAIL_NONE);
	free(token);
	free(keep);
	drain(d);
}

static void
test_what_does_not_fill_a_sequence_of_concat_is_left_and_counted(void **unused)
{
	struct feed d;

	(void)unused;
	open_feed(&d, SEQUENCE_CONCAT, false, 5);
	assert_int_equal(pack_left(d.p, false), 0);
	feed(&d, 5, 0);
	assert_int_equal(d.out, 0);
	assert_int_equal(pack_left(d.p, false), 5);
	feed(&d, 1, 0);
	assert_int_equal(d.out, 1);
	assert_int_equal(pack_left(d.p, true), 0);
	pack_finish(d.p);
	drain(&d);
	assert_int_equal(d.out, 1);
	pack_close(d.p);
}

static void
test_a_document_of_a_sequence_is_not_too_long_and_one_token_more_is(void **unused)
{
	static const struct {
		enum sequence_packing packing;
		bool truncate;
		size_t n, out, used, dropped;
	} cases[] = {
	    {SEQUENCE_NONE, false, 1, 1, 1, 0},
	    {SEQUENCE_NONE, false, 8, 1, 8, 0},
	    {SEQUENCE_NONE, false, 9, 1, 9, 0},
	    {SEQUENCE_NONE, false, 10, 2, 10, 0},
	    {SEQUENCE_NONE, false, 18, 2, 18, 0},
	    {SEQUENCE_NONE, false, 19, 3, 19, 0},
	    {SEQUENCE_NONE, true, 9, 1, 9, 0},
	    {SEQUENCE_NONE, true, 10, 1, 9, 1},
	    {SEQUENCE_NONE, true, 200000, 1, 9, 199991},
	    {SEQUENCE_BEST_FIT, false, 8, 1, 8, 0},
	    {SEQUENCE_BEST_FIT, false, 9, 1, 9, 0},
	    {SEQUENCE_BEST_FIT, false, 10, 2, 10, 0},
	    {SEQUENCE_BEST_FIT, true, 9, 1, 9, 0},
	    {SEQUENCE_BEST_FIT, true, 10, 1, 9, 1},
	};

	(void)unused;
	EACH_ROW(i, cases) {
		struct feed d;

		open_feed(&d, cases[i].packing, cases[i].truncate, 8);
		feed(&d, cases[i].n, 0);
		pack_finish(d.p);
		drain(&d);
		assert_int_equal(d.out, cases[i].out);
		assert_int_equal(d.used, cases[i].used);
		assert_int_equal(d.dropped, cases[i].dropped);
		assert_int_equal(pack_left(d.p, true), 0);
		pack_close(d.p);
	}
}

static void
test_a_window_is_packed_with_its_last_document_and_the_next_begins_behind_it(void **unused)
{
	struct feed d;

	(void)unused;
	open_feed(&d, SEQUENCE_BEST_FIT, false, 9);
	for (int i = 0; i < PACK_WINDOW - 1; i++)
		feed(&d, 5, 0);
	assert_int_equal(d.out, 0);
	assert_int_equal(pack_left(d.p, false), 5 * (PACK_WINDOW - 1));
	feed(&d, 5, 0);
	assert_int_equal(d.out, PACK_WINDOW / 2);
	assert_int_equal(d.window, PACK_WINDOW / 2);
	assert_int_equal(d.place, 0);
	assert_int_equal(pack_left(d.p, true), 0);
	feed(&d, 10, 0); /* its full piece comes at once, and is of the next window */
	assert_int_equal(d.out, PACK_WINDOW / 2 + 1);
	assert_int_equal(d.window, 1);
	assert_int_equal(d.place, PACK_WINDOW);
	pack_finish(d.p);
	drain(&d);
	assert_int_equal(d.out, PACK_WINDOW / 2 + 1);
	feed(&d, 3, 0); /* that document was all of its window */
	pack_finish(d.p);
	drain(&d);
	assert_int_equal(d.window, 1);
	assert_int_equal(d.place, PACK_WINDOW + 1);
	pack_close(d.p);
}

static void
test_a_window_of_documents_that_are_full_sequences_ends_too(void **unused)
{
	struct feed d;

	(void)unused;
	open_feed(&d, SEQUENCE_BEST_FIT, false, 3);
	for (int i = 0; i < PACK_WINDOW; i++)
		feed(&d, 4, 0);
	assert_int_equal(d.window, PACK_WINDOW);
	feed(&d, 4, 0);
	assert_int_equal(d.window, 1);
	assert_int_equal(d.place, PACK_WINDOW);
	pack_close(d.p);
}

static void
test_a_window_ends_early_where_it_holds_enough_tokens(void **unused)
{
	struct feed d;

	(void)unused;
	open_feed(&d, SEQUENCE_BEST_FIT, false, 1 << 20);
	for (int i = 0; i < 15; i++)
		feed(&d, 1 << 20, 0);
	feed(&d, (1 << 20) - 1, 0);
	assert_int_equal(d.out, 0);
	assert_int_equal(pack_left(d.p, false), PACK_WINDOW_TOKENS - 1);
	feed(&d, 1, 0);
	assert_int_equal(d.out, 16);
	assert_int_equal(d.used, PACK_WINDOW_TOKENS);
	pack_close(d.p);
}

static void
test_a_window_ends_early_where_it_holds_enough_that_is_kept(void **unused)
{
	struct feed d;

	(void)unused;
	open_feed(&d, SEQUENCE_BEST_FIT, false, 9);
	feed(&d, 5, PACK_WINDOW_KEEP_BYTES - 1);
	assert_int_equal(d.out, 0);
	feed(&d, 10, 5); /* what a full piece has taken along is not held */
	assert_int_equal(d.out, 1);
	feed(&d, 4, 1);
	assert_int_equal(d.out, 2);
	assert_int_equal(d.spans, 2);
	feed(&d, 5, PACK_WINDOW_KEEP_BYTES - 1); /* the next window holds as much again */
	assert_int_equal(d.out, 2);
	feed(&d, 5, 1);
	assert_int_equal(d.out, 3);
	pack_close(d.p);
}

/* S + 1 = 4 tokens; a masked one is written as m. */
static void
test_a_document_has_a_target_where_a_loss_is_taken_after_another_token(void **unused)
{
	static const struct {
		const char *document;
		bool concat, best_fit, split, truncate;
	} cases[] = {
	    {"t", true, false, false, false},
	    {"m", false, false, false, false},
	    {"tt", true, true, true, true},
	    {"tm", true, false, false, false},
	    {"mt", true, true, true, true},
	    {"mmm", false, false, false, false},
	    {"mmmt", true, true, true, true},
	    {"mmmmt", true, false, false, false}, /* cut off, or the first of a sequence */
	    {"mmmmtt", true, true, true, false},
	    {"mmmmmt", true, true, true, false},
	    {"tmmmtmmmt", true, false, false, false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, document) {
		struct pack_options o = {.sequence_length = 3, .eos = EOS};
		size_t n = strlen(cases[i].document);
		uint32_t id[16];

		for (size_t k = 0; k < n; k++)
			id[k] = 1 | (cases[i].document[k] == 'm' ? PACK_NO_LOSS : 0);
		o.packing = SEQUENCE_CONCAT;
		assert_int_equal(pack_has_target(&o, id, n), cases[i].concat);
		o.packing = SEQUENCE_BEST_FIT;
		assert_int_equal(pack_has_target(&o, id, n), cases[i].best_fit);
		o.packing = SEQUENCE_NONE;
		assert_int_equal(pack_has_target(&o, id, n), cases[i].split);
		o.truncate = true;
		assert_int_equal(pack_has_target(&o, id, n), cases[i].truncate);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sequences_are_those_of_the_simple_packers),
	    cmocka_unit_test(test_a_resume_after_any_sequence_gives_the_sequences_that_follow),
	    cmocka_unit_test(test_what_does_not_fill_a_sequence_of_concat_is_left_and_counted),
	    cmocka_unit_test(test_a_document_of_a_sequence_is_not_too_long_and_one_token_more_is),
	    cmocka_unit_test(
		test_a_window_is_packed_with_its_last_document_and_the_next_begins_behind_it),
	    cmocka_unit_test(test_a_window_of_documents_that_are_full_sequences_ends_too),
	    cmocka_unit_test(test_a_window_ends_early_where_it_holds_enough_tokens),
	    cmocka_unit_test(test_a_window_ends_early_where_it_holds_enough_that_is_kept),
	    cmocka_unit_test(
		test_a_document_has_a_target_where_a_loss_is_taken_after_another_token),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
