/*
 * The held-out sets of riffle.h: options, steps, waits. held_out.c and the clock are replaced here:
 * a set of SEQUENCES sequences of two partitions, of which some do not come in time.
 */
#include "consumer/reader/riffle_internal.h"

#include "common/base/clock.h"
#include "common/record/frame.h"
#include "consumer/domain/held_out.h"
#include "tests/unit/capture.h"

enum { SEQUENCES = 5, TOKENS = 9, SECOND = 3 /* where partition 1 begins */ };

/* ---- in place of clock.c ---- */

static int64_t now_ms;

int64_t
clock_ms(void)
{
	return now_ms;
}

int64_t
clock_wall_ms(void)
{
	return now_ms;
}

void
clock_pause_ms(int64_t ms)
{
	now_ms += ms;
}

const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	snprintf(out, CLOCK_SPAN_BYTES, "%d ms", (int)ms);
	return out;
}

/* ---- in place of held_out.c ---- */

struct held_out {
	int at;
};

static struct held_out the_set;
static char opened[256]; /* the options of the last open */
static int sets;         /* that are open */
static enum fail_code open_fails, next_fails;
static int comes_from, fails_at; /* what is at fails_at fails, and what is after comes_from waits */
static int64_t comes_ms;         /* until then */
static struct wire_writer records[SEQUENCES];

enum fail_code
held_out_open(struct held_out **out, const struct held_out_options *o, struct failure *why)
{
	size_t n = (size_t)snprintf(opened, sizeof(opened), "%s %s %s %d", o->corpus, o->domain,
	    names_set_text[o->set], o->timeout_ms);

	for (size_t i = 0; i < o->properties->n; i++)
		n += (size_t)snprintf(opened + n, sizeof(opened) - n, " %s=%s",
		    o->properties->item[i].name, o->properties->item[i].value);
	if (open_fails != FAIL_NONE)
		return fail(why, open_fails, "no set");
	the_set.at = 0;
	*out = &the_set;
	sets++;
	return FAIL_NONE;
}

void
held_out_close(struct held_out *h)
{
	sets -= h != NULL;
}

const char *
held_out_domain(const struct held_out *h)
{
	assert_ptr_equal(h, &the_set);
	return "web";
}

uint64_t
held_out_sequences(const struct held_out *h)
{
	assert_ptr_equal(h, &the_set);
	return SEQUENCES;
}

uint32_t
held_out_partitions(const struct held_out *h)
{
	assert_ptr_equal(h, &the_set);
	return 2;
}

uint32_t
held_out_length(const struct held_out *h)
{
	assert_ptr_equal(h, &the_set);
	return TOKENS - 1;
}

uint64_t
held_out_tokenizer(const struct held_out *h)
{
	assert_ptr_equal(h, &the_set);
	return 77;
}

bool
held_out_untouched(const struct held_out *h)
{
	return h->at == 0;
}

enum fail_code
held_out_next(struct held_out *h, int64_t deadline_ms, struct held_out_sequence *out, bool *end,
    struct failure *why)
{
	const struct wire_writer *w = &records[h->at];

	*end = h->at == SEQUENCES;
	if (*end)
		return FAIL_NONE;
	if (h->at == fails_at)
		return fail(why, next_fails, "sequence %d is damaged", h->at);
	if (h->at >= comes_from && deadline_ms < comes_ms) {
		now_ms = deadline_ms;
		return fail(why, FAIL_TIMEOUT, "sequence %d does not come", h->at);
	}
	if (h->at >= comes_from && now_ms < comes_ms)
		now_ms = comes_ms;
	out->partition = h->at < SECOND ? 0 : 1;
	assert_int_equal(sequence_decode(&out->view, w->bytes, w->n, why), FAIL_NONE);
	h->at++;
	return FAIL_NONE;
}

/* Sequence i has tokens 100 * i + k. */
static int
write_records(void **unused)
{
	struct frame_codec *codec;

	(void)unused;
	if (frame_codec_open(&codec, &f) != FAIL_NONE)
		return -1;
	for (uint32_t i = 0; i < SEQUENCES; i++) {
		static const struct sequence_span span[1];
		struct sequence_position position = {.file = {"x", 1}};
		static const struct text_view source = {"x", 1};
		uint32_t tokens[TOKENS];
		uint8_t frame[256];
		size_t n;

		for (uint32_t k = 0; k < TOKENS; k++)
			tokens[k] = 100 * i + k;
		if (frame_encode(codec, tokens, TOKENS, 2, frame, sizeof(frame), &n, &f) !=
		    FAIL_NONE)
			return -1;
		const struct sequence_payload p = {.count = TOKENS,
		    .width = 2,
		    .used = TOKENS,
		    .frame_hash = frame_hash(frame, n),
		    .sources = &source,
		    .sources_n = 1,
		    .spans = span,
		    .spans_n = 1,
		    .frame = frame,
		    .frame_n = n};

		if (sequence_encode(&records[i], i < SECOND ? i : i - SECOND, 77, &position, &p,
			&f) != FAIL_NONE)
			return -1;
	}
	frame_codec_close(codec);
	return 0;
}

static int
free_records(void **unused)
{
	(void)unused;
	for (int i = 0; i < SEQUENCES; i++)
		wire_writer_close(&records[i]);
	return 0;
}

/* ---- tests ---- */

static struct riffle_error e;

static struct riffle_validation *
open_set(uint32_t sequences)
{
	const struct riffle_validation_options o = {.size = sizeof(o),
	    .corpus = "c",
	    .domain = "web",
	    .token_bytes = 4,
	    .sequences = sequences};
	struct riffle_validation *v;

	open_fails = FAIL_NONE;
	fails_at = comes_from = SEQUENCES + 1;
	comes_ms = 0;
	now_ms = 1000;
	assert_int_equal(riffle_validation_open(&v, &o, &e), RIFFLE_OK);
	return v;
}

/* The next step has sequences [from, from + n). */
static const struct riffle_step *
check_next(struct riffle_validation *v, uint64_t step, uint32_t from, uint32_t n)
{
	const struct riffle_step *s;

	assert_int_equal(riffle_validation_next(v, 0, &s, &e), RIFFLE_OK);
	assert_int_equal(s->step, step);
	assert_true(s->lr_scale == 1.0);
	assert_string_equal(s->phase, "");
	assert_int_equal(s->sequences, n);
	assert_int_equal(s->tokens_each, TOKENS);
	for (uint32_t i = 0; i < n; i++) {
		const struct riffle_sequence *q = &s->sequence[i];

		assert_string_equal(q->domain, "web");
		assert_int_equal(q->partition, from + i < SECOND ? 0 : 1);
		assert_int_equal(q->ordinal, from + i < SECOND ? from + i : from + i - SECOND);
		assert_true(q->epoch == 0 && q->lane == 0);
		for (uint32_t k = 0; k < TOKENS; k++)
			assert_int_equal(
			    ((const uint32_t *)s->tokens)[i * TOKENS + k], 100 * (from + i) + k);
	}
	return s;
}

static void
check_end(struct riffle_validation *v)
{
	for (int i = 0; i < 2; i++) {
		const struct riffle_step *s = (const struct riffle_step *)&now_ms;

		assert_int_equal(riffle_validation_next(v, 0, &s, &e), RIFFLE_END);
		assert_null(s);
		assert_string_equal(e.text, "the set is read to its end");
	}
}

static void
test_a_set_is_handed_out_in_steps_to_its_end(void **unused)
{
	static const uint32_t rows[] = {1, 2, 3, 4, 5, 6, 0};

	(void)unused;
	EACH_ROW(i, rows) {
		uint32_t each = rows[i] == 0 ? SEQUENCES : rows[i], from = 0;
		struct riffle_validation *v = open_set(rows[i]);

		assert_true(riffle_validation_untouched(v));
		for (uint64_t step = 0; from < SEQUENCES; step++) {
			uint32_t n = SEQUENCES - from < each ? SEQUENCES - from : each;

			check_next(v, step, from, n);
			from += n;
		}
		check_end(v);
		assert_false(riffle_validation_untouched(v));
		riffle_validation_close(v);
		assert_int_equal(sets, 0);
	}
}

static void
test_options_are_passed_on_with_their_defaults(void **unused)
{
	static const struct riffle_property property = {"client.rack", "r"};
	static const struct {
		const char *set, *bootstrap;
		size_t properties_n;
		int timeout_ms;
		const char *opened;
	} rows[] = {
	    {NULL, NULL, 0, 0, "c web valid 10000"},
	    {"test", "b:1", 0, 7, "c web test 7 bootstrap.servers=b:1"},
	    {"train", "b:1", 1, -1, "c web train 10000 bootstrap.servers=b:1 client.rack=r"},
	    {"valid", NULL, 1, 1, "c web valid 1 client.rack=r"},
	};
	struct riffle_validation_options o = {
	    .size = sizeof(o), .corpus = "c", .domain = "web", .properties = &property};
	struct riffle_validation *v;

	(void)unused;
	open_fails = FAIL_NONE;
	EACH_NAMED_ROW(i, rows, opened) {
		o.set = rows[i].set;
		o.bootstrap = rows[i].bootstrap;
		o.properties_n = rows[i].properties_n;
		o.open_timeout_ms = rows[i].timeout_ms;
		o.token_bytes = 2;
		o.sequences = 65536;
		assert_int_equal(riffle_validation_open(&v, &o, &e), RIFFLE_OK);
		assert_string_equal(opened, rows[i].opened);
		riffle_validation_close(v);
		open_fails = FAIL_CONFIG;
		assert_int_equal(riffle_validation_open(&v, &o, &e), RIFFLE_ERROR_USAGE);
		assert_string_equal(e.text, "no set");
		assert_null(v);
		open_fails = FAIL_NONE;
	}
	assert_int_equal(sets, 0);
	riffle_validation_close(NULL);
}

static void
test_options_that_cannot_be_are_refused(void **unused)
{
	static const struct {
		const char *corpus, *domain, *set;
		uint32_t token_bytes, sequences;
		const char *says;
	} rows[] = {
	    {NULL, "web", NULL, 4, 1, "\"\" is not a name of a corpus"},
	    {"a b", "web", NULL, 4, 1, "\"a b\" is not a name of a corpus"},
	    {"c", NULL, NULL, 4, 1, "\"\" is not a name of a domain"},
	    {"c", "w/b", NULL, 4, 1, "\"w/b\" is not a name of a domain"},
	    {"c", "web", NULL, 3, 1, "token_bytes is 3; it is 2, 4 or 8"},
	    {"c", "web", NULL, 4, 65537, "65537 sequences at a time; at most 65536"},
	    {"c", "web", "dev", 4, 1, "\"dev\" is not a set: valid, test or train"},
	    {"c", "web", "", 4, 1, "\"\" is not a set: valid, test or train"},
	};

	(void)unused;
	opened[0] = '\0';
	EACH_NAMED_ROW(i, rows, says) {
		const struct riffle_validation_options o = {.size = sizeof(o),
		    .corpus = rows[i].corpus,
		    .domain = rows[i].domain,
		    .set = rows[i].set,
		    .token_bytes = rows[i].token_bytes,
		    .sequences = rows[i].sequences};
		struct riffle_validation *v = (struct riffle_validation *)&now_ms;

		assert_int_equal(riffle_validation_open(&v, &o, &e), RIFFLE_ERROR_USAGE);
		assert_null(v);
		assert_string_equal(e.text, rows[i].says);
		assert_int_equal(e.code, RIFFLE_ERROR_USAGE);
		assert_string_equal(opened, "");
	}
}

static void
test_what_a_set_is_is_told(void **unused)
{
	struct riffle_validation_info info = {.size = sizeof(info)};
	struct riffle_validation *v = open_set(1);

	(void)unused;
	assert_int_equal(riffle_validation_get_info(v, &info), RIFFLE_OK);
	assert_int_equal(info.size, sizeof(info));
	assert_int_equal(info.sequences, SEQUENCES);
	assert_int_equal(info.partitions, 2);
	assert_int_equal(info.sequence_length, TOKENS - 1);
	assert_int_equal(info.tokenizer, 77);
	info.size = 0;
	assert_int_equal(riffle_validation_get_info(v, &info), RIFFLE_ERROR_USAGE);
	riffle_validation_close(v);
}

/* A step that is not whole in time is continued by the next call. */
static void
test_a_step_is_continued_after_a_time_out(void **unused)
{
	static const int timeouts[] = {0, -5, 1, 99, 100, 101, 250};
	struct riffle_validation *v = open_set(3);
	const struct riffle_step *s = (const struct riffle_step *)&now_ms;

	(void)unused;
	comes_from = 2;
	comes_ms = INT64_MAX;
	EACH_ROW(i, timeouts) {
		int64_t begun_ms = now_ms;

		assert_int_equal(riffle_validation_next(v, timeouts[i], &s, &e), RIFFLE_TIMEOUT);
		assert_null(s);
		assert_string_equal(e.text, "sequence 2 does not come");
		assert_int_equal(now_ms, begun_ms + (timeouts[i] < 0 ? 0 : timeouts[i]));
	}
	comes_ms = now_ms + 150; /* in the second slice */
	assert_int_equal(riffle_validation_next(v, 200, &s, &e), RIFFLE_OK);
	assert_int_equal(now_ms, comes_ms);
	assert_int_equal(s->step, 0);
	assert_int_equal(s->sequences, 3);
	assert_int_equal(((const uint32_t *)s->tokens)[2 * TOKENS], 200);
	check_next(v, 1, 3, 2);
	check_end(v);
	riffle_validation_close(v);
	v = open_set(3); /* closed while a step is half filled */
	comes_from = 1;
	comes_ms = INT64_MAX;
	assert_int_equal(riffle_validation_next(v, 0, &s, &e), RIFFLE_TIMEOUT);
	riffle_validation_close(v);
	assert_int_equal(sets, 0);
}

/* The reason is logged after ten seconds of one wait, and then after a minute. */
static void
test_a_long_wait_is_explained(void **unused)
{
	static const struct {
		int timeout_ms;
		const char *says; /* "": nothing */
	} rows[] = {
	    {9900, ""},
	    {200, "riffle: READ-WAITING seconds=10: sequence 0 does not come\n"},
	    {59800, ""},
	    {300, "riffle: READ-WAITING seconds=70: sequence 0 does not come\n"},
	};
	struct riffle_validation *v = open_set(1);
	const struct riffle_step *s;

	(void)unused;
	for (int again = 0; again < 2; again++) {
		comes_from = 0;
		comes_ms = INT64_MAX;
		if (again)
			assert_int_equal(riffle_validation_next(v, 0, &s, &e), RIFFLE_TIMEOUT);
		EACH_NAMED_ROW(i, rows, says) {
			struct capture c;
			char text[512];
			int lines;

			if (again && i > 0)
				break; /* a step came, so this is a new wait */
			capture_begin(&c);
			assert_int_equal(
			    riffle_validation_next(v, rows[i].timeout_ms, &s, &e), RIFFLE_TIMEOUT);
			lines = capture_end_lines(&c, text, sizeof(text));
			assert_int_equal(lines, rows[i].says[0] != '\0');
			assert_non_null(strstr(text, rows[i].says));
		}
		comes_ms = 0;
		assert_int_equal(riffle_validation_next(v, 0, &s, &e), RIFFLE_OK);
	}
	riffle_validation_close(v);
}

static void
test_a_failure_ends_the_call_with_its_code(void **unused)
{
	static const struct {
		enum fail_code fails;
		int code;
	} rows[] = {
	    {FAIL_DATA, RIFFLE_ERROR_DATA},
	    {FAIL_BROKER, RIFFLE_ERROR_BROKER},
	    {FAIL_MEMORY, RIFFLE_ERROR_MEMORY},
	};
	const struct riffle_step *s;

	(void)unused;
	EACH_ROW(i, rows) {
		struct riffle_validation *v = open_set(2);

		next_fails = rows[i].fails;
		fails_at = 3;
		check_next(v, 0, 0, 2);
		assert_int_equal(riffle_validation_next(v, 1000, &s, &e), rows[i].code);
		assert_null(s);
		assert_string_equal(e.text, "sequence 3 is damaged");
		assert_int_equal(e.code, rows[i].code);
		riffle_validation_close(v);
	}
}

static void
test_only_the_last_step_is_kept_and_it_outlives_the_set(void **unused)
{
	static const char refused[] =
	    "only the step that riffle_validation_next() gave last can be kept";
	struct riffle_validation *v = open_set(2);
	const struct riffle_step *first, *second;

	(void)unused;
	assert_int_equal(riffle_validation_keep(v, NULL, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, refused);
	first = check_next(v, 0, 0, 2);
	assert_int_equal(riffle_validation_keep(v, first, &e), RIFFLE_OK);
	second = check_next(v, 1, 2, 2);
	assert_ptr_equal(first->sequence[0].domain, first->sequence[1].domain);
	assert_int_equal(riffle_validation_keep(v, first, &e), RIFFLE_ERROR_USAGE);
	assert_string_equal(e.text, refused);
	assert_int_equal(riffle_validation_keep(v, second, NULL), RIFFLE_OK);
	check_next(v, 2, 4, 1);
	check_end(v);
	riffle_validation_close(v);
	assert_int_equal(((const uint32_t *)first->tokens)[TOKENS], 100);
	assert_int_equal(((const uint32_t *)second->tokens)[0], 200);
	riffle_free_step(first);
	riffle_free_step(second);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_set_is_handed_out_in_steps_to_its_end),
	    cmocka_unit_test(test_options_are_passed_on_with_their_defaults),
	    cmocka_unit_test(test_options_that_cannot_be_are_refused),
	    cmocka_unit_test(test_what_a_set_is_is_told),
	    cmocka_unit_test(test_a_step_is_continued_after_a_time_out),
	    cmocka_unit_test(test_a_long_wait_is_explained),
	    cmocka_unit_test(test_a_failure_ends_the_call_with_its_code),
	    cmocka_unit_test(test_only_the_last_step_is_kept_and_it_outlives_the_set),
	};

	return cmocka_run_group_tests(tests, write_records, free_records);
}
