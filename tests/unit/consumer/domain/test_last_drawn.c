/* last_drawn.h: what is kept of each step, and the header that keeps it. */
#include "consumer/domain/last_drawn.h"

#include "tests/unit/sample.h"

enum { DRAWS = 4 };

/* A good record whose frame has this hash; its payload is the caller's to free. */
static struct feed_block_record
record_of(uint64_t frame_hash)
{
	struct sequence_payload p = sample_payload;
	struct sequence_position at = {.file = {"f", 1}, .line = 1, .sealed = -1};
	struct sequence_view s;
	struct wire_writer w = {0};
	struct failure f;
	uint8_t *raw;

	p.frame_hash = frame_hash;
	assert_int_equal(sequence_encode(&w, 0, 1, &at, &p, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&s, w.bytes, w.n, &f), FAIL_NONE);
	raw = malloc(s.payload.raw_n);
	assert_non_null(raw);
	memcpy(raw, s.payload.raw, s.payload.raw_n);
	wire_writer_close(&w);
	return (struct feed_block_record){.payload = raw, .n = s.payload.raw_n, .tokens = 8};
}

static void
check_place(
    const struct last_drawn *l, size_t domain, size_t which, uint64_t ordinal, uint64_t hash)
{
	const struct last_drawn_place *p = &l->domain[domain].place[which];

	assert_true(p->known);
	assert_int_equal(p->ordinal, ordinal);
	assert_true(p->frame_hash == hash);
}

/* Domain 2 with ordinals 9 and 4, domain 0 with 5 and 5, domain 1 with none. */
static void
take_step(struct last_drawn *l)
{
	const struct mixer_draw draw[DRAWS] = {{.domain = 2, .partition = 1, .ordinal = 9},
	    {.domain = 0, .ordinal = 5}, {.domain = 2, .ordinal = 4}, {.domain = 0, .ordinal = 5}};
	struct feed_block_record made[DRAWS];
	const struct feed_block_record *record[DRAWS];
	struct failure f;

	for (size_t i = 0; i < DRAWS; i++) {
		made[i] = record_of(100 + i);
		record[i] = &made[i];
	}
	assert_int_equal(last_drawn_add(l, draw, record, DRAWS, &f), FAIL_NONE);
	for (size_t i = 0; i < DRAWS; i++)
		free((void *)(uintptr_t)made[i].payload);
}

static void
test_of_each_domain_the_last_and_the_highest_are_kept(void **unused)
{
	const struct mixer_draw low = {.domain = 2, .ordinal = 3};
	struct last_drawn l = {0};
	struct feed_block_record r = record_of(7);
	const struct feed_block_record *record = &r;
	struct failure f;

	(void)unused;
	take_step(&l);
	assert_int_equal(l.n, 3);
	check_place(&l, 2, LAST_DRAWN_LAST, 4, 102);
	check_place(&l, 2, LAST_DRAWN_HIGHEST, 9, 100);
	assert_int_equal(l.domain[2].place[LAST_DRAWN_HIGHEST].partition, 1);
	check_place(&l, 0, LAST_DRAWN_LAST, 5, 103);
	check_place(&l, 0, LAST_DRAWN_HIGHEST, 5, 101);
	assert_false(l.domain[1].place[LAST_DRAWN_LAST].known);
	assert_int_equal(last_drawn_add(&l, &low, &record, 1, &f), FAIL_NONE);
	check_place(&l, 2, LAST_DRAWN_LAST, 3, 7);
	check_place(&l, 2, LAST_DRAWN_HIGHEST, 9, 100);
	check_place(&l, 0, LAST_DRAWN_LAST, 5, 103);
	free((void *)(uintptr_t)r.payload);
	last_drawn_close(&l);
}

static void
test_the_header_gives_it_back(void **unused)
{
	struct last_drawn l = {0}, back = {0};
	struct failure f;
	uint8_t *bytes;
	size_t n;

	(void)unused;
	take_step(&l);
	assert_int_equal(last_drawn_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_int_equal(last_drawn_decode(&back, bytes, n, &f), FAIL_NONE);
	assert_int_equal(back.n, l.n);
	for (size_t i = 0; i < l.n * LAST_DRAWN_PLACES; i++) {
		const struct last_drawn_place *was = &l.domain[i / 2].place[i % 2];

		assert_int_equal(back.domain[i / 2].place[i % 2].known, was->known);
		if (!was->known)
			continue;
		check_place(&back, i / 2, i % 2, was->ordinal, was->frame_hash);
		assert_int_equal(back.domain[i / 2].place[i % 2].partition, was->partition);
	}
	free(bytes);
	last_drawn_close(&l);
	last_drawn_close(&back);
}

/* Any other bytes are the header of another release, or none: nothing is known then. */
static void
test_what_is_no_such_header_leaves_it_empty(void **unused)
{
	struct last_drawn l = {0}, back = {0};
	struct failure f;
	uint8_t *bytes, more[256];
	size_t n;

	(void)unused;
	take_step(&l);
	assert_int_equal(last_drawn_encode(&l, &bytes, &n, &f), FAIL_NONE);
	assert_true(n < sizeof(more));
	memcpy(more, bytes, n);
	for (size_t cut = 0; cut < n; cut++) {
		assert_int_equal(last_drawn_decode(&back, more, cut, &f), FAIL_NONE);
		assert_int_equal(back.n, 0);
	}
	more[n] = 0;
	assert_int_equal(last_drawn_decode(&back, more, n + 1, &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	more[0] = 4; /* form 2 */
	assert_int_equal(last_drawn_decode(&back, more, n, &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	memset(more, 0xff, sizeof(more)); /* counts beyond all memory */
	more[0] = 2;
	assert_int_equal(last_drawn_decode(&back, more, sizeof(more), &f), FAIL_NONE);
	assert_int_equal(back.n, 0);
	free(bytes);
	last_drawn_close(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_of_each_domain_the_last_and_the_highest_are_kept),
	    cmocka_unit_test(test_the_header_gives_it_back),
	    cmocka_unit_test(test_what_is_no_such_header_leaves_it_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
