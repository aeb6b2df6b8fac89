#include "producer/pretokenizer/nfc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "producer/pretokenizer/code_point.h"
#include "producer/pretokenizer/nfc_table.h"

/*
 * Hangul syllables are not in the tables: they are numbered by their leading consonant L, vowel V
 * and trailing consonant T, which may be missing (Unicode Standard, section 3.12):
 *
 *     S = HANGUL_S + (L * HANGUL_VS + V) * HANGUL_TS + T      T 0: there is none
 */
enum {
	HANGUL_S = 0xAC00,
	HANGUL_L = 0x1100,
	HANGUL_V = 0x1161,
	HANGUL_T = 0x11A7,
	HANGUL_LS = 19,
	HANGUL_VS = 21,
	HANGUL_TS = 28,
	HANGUL_SS = HANGUL_LS * HANGUL_VS * HANGUL_TS,
	POINTS_OF_ONE_MAX = 4, /* of a canonical decomposition */
	PLAIN_BELOW = 0xCC,    /* lead byte of U+0300; all before it is plain */
};

void
nfc_scratch_close(struct nfc_scratch *s)
{
	free(s->point);
	*s = (struct nfc_scratch){NULL, 0, 0};
}

/* Bytes of text[n] up to the first character that is not plain. */
static size_t
plain_bytes(const uint8_t *text, size_t n)
{
	size_t at = 0;

	while (at < n) {
		uint32_t point;
		size_t bytes;

		if (text[at] < PLAIN_BELOW) {
			at++; /* a tail byte of a plain one is below as well */
			continue;
		}
		bytes = code_point_read(text + at, &point);
		if (nfc_class_of(point) != NFC_PLAIN)
			break;
		at += bytes;
	}
	return at;
}

bool
nfc_plain(const uint8_t *text, size_t n)
{
	return plain_bytes(text, n) == n;
}

/* Room for what one character decomposes to, in both halves. The second half holds nothing now. */
static enum fail_code
reserve(struct nfc_scratch *s, struct failure *f)
{
	size_t room = s->room == 0 ? 64 : s->room * 2;
	struct nfc_point *point;

	if (s->room - s->n >= POINTS_OF_ONE_MAX)
		return FAIL_NONE;
	point = realloc(s->point, 2 * room * sizeof(*point));
	if (point == NULL)
		return fail_memory(f);
	s->point = point;
	s->room = room;
	return FAIL_NONE;
}

static void
push(struct nfc_scratch *s, uint32_t point)
{
	uint8_t class = nfc_class_of(point);

	s->point[s->n++] = (struct nfc_point){point, class == NFC_CHANGING ? 0 : class};
}

static const struct nfc_row *
find_decomposition(uint32_t point)
{
	size_t low = 0, high = nfc_decompositions_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (nfc_decomposition[middle].whole < point)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < nfc_decompositions_n && nfc_decomposition[low].whole == point)
		return &nfc_decomposition[low];
	return NULL;
}

/*
 * Adds what `point` is made of. A row of the table is one step, and of its two parts only the first
 * may decompose further: so the second ones are kept until the first is at its end, and come out in
 * reverse. Three steps are the most there are. Example, U+1ED9 -> U+1ECD U+0302 -> o U+0323 U+0302.
 */
static enum fail_code
decompose(struct nfc_scratch *s, uint32_t point, struct failure *f)
{
	uint32_t second[POINTS_OF_ONE_MAX], seconds_n = 0, s_index = point - HANGUL_S;
	const struct nfc_row *row;

	if (reserve(s, f) != FAIL_NONE)
		return f->code;
	if (s_index < HANGUL_SS) {
		push(s, HANGUL_L + s_index / (HANGUL_VS * HANGUL_TS));
		push(s, HANGUL_V + s_index % (HANGUL_VS * HANGUL_TS) / HANGUL_TS);
		if (s_index % HANGUL_TS != 0)
			push(s, HANGUL_T + s_index % HANGUL_TS);
		return FAIL_NONE;
	}
	while ((row = find_decomposition(point)) != NULL) {
		if (row->second != 0) {
			assert(seconds_n < POINTS_OF_ONE_MAX - 1);
			second[seconds_n++] = row->second;
		}
		point = row->first;
	}
	push(s, point);
	while (seconds_n > 0)
		push(s, second[--seconds_n]);
	assert(s->n <= s->room);
	return FAIL_NONE;
}

/* Sorts point[n] by class and keeps the order of equal ones: a merge sort through `other`. */
static void
order(struct nfc_point *point, struct nfc_point *other, size_t n)
{
	size_t half = n / 2, a = 0, b = half;

	if (n < 2)
		return;
	order(point, other, half);
	order(point + half, other, n - half);
	memcpy(other, point, n * sizeof(*point));
	for (size_t i = 0; i < n; i++) {
		bool first = b == n || (a < half && other[a].class <= other[b].class);

		point[i] = other[first ? a++ : b++];
	}
}

/* Orders the marks behind each starter. Starters never move. */
static void
order_marks(struct nfc_scratch *s)
{
	for (size_t at = 0; at < s->n;) {
		size_t end = at;

		while (end < s->n && s->point[end].class != 0)
			end++;
		order(s->point + at, s->point + s->room, end - at);
		at = end + 1;
	}
}

/* What both are as one character, or 0. Hangul, L and V or LV and T, is not in the table. */
static uint32_t
composed(uint32_t first, uint32_t second)
{
	size_t low = 0, high = nfc_compositions_n;
	uint32_t l = first - HANGUL_L, v = second - HANGUL_V, s = first - HANGUL_S;
	uint32_t t = second - HANGUL_T;

	if (l < HANGUL_LS && v < HANGUL_VS)
		return HANGUL_S + (l * HANGUL_VS + v) * HANGUL_TS;
	if (s < HANGUL_SS && s % HANGUL_TS == 0 && t > 0 && t < HANGUL_TS)
		return first + t;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct nfc_row *row = &nfc_composition[middle];

		if (row->first < first || (row->first == first && row->second < second))
			low = middle + 1;
		else
			high = middle;
	}
	if (low < nfc_compositions_n && nfc_composition[low].first == first &&
	    nfc_composition[low].second == second)
		return nfc_composition[low].whole;
	return 0;
}

/*
 * Joins to the last starter what is not blocked from it: nothing of class 0 or of the same or a
 * higher class may be left between them. As marks are in order, the last one that was kept decides.
 * What has joined stands between no longer.
 */
static void
compose(struct nfc_scratch *s)
{
	struct nfc_point *starter = NULL;
	unsigned before = 0; /* class of the last one kept behind the starter, + 1; 0: none */
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		struct nfc_point p = s->point[i];
		uint32_t whole = 0;

		if (starter != NULL && (before == 0 || before - 1 < p.class))
			whole = composed(starter->point, p.point);
		if (whole != 0) {
			starter->point = whole;
			continue;
		}
		s->point[kept] = p;
		if (p.class == 0) {
			starter = &s->point[kept];
			before = 0;
		} else {
			before = p.class + 1u;
		}
		kept++;
	}
	s->n = kept;
}

static enum fail_code
write(const struct nfc_scratch *s, struct buffer *out, struct failure *f)
{
	if (buffer_reserve(out, s->n * 4, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < s->n; i++)
		out->n += code_point_write(out->bytes + out->n, s->point[i].point);
	return FAIL_NONE;
}

/* Adds the NFC of text[n], which is one cut: a plain character at most, and then others. */
static enum fail_code
work(struct nfc_scratch *s, struct buffer *out, const uint8_t *text, size_t n, struct failure *f)
{
	s->n = 0;
	for (size_t at = 0; at < n;) {
		uint32_t point;

		at += code_point_read(text + at, &point);
		if (decompose(s, point, f) != FAIL_NONE)
			return f->code;
	}
	order_marks(s);
	compose(s);
	return write(s, out, f);
}

/* Bytes of text[n] up to the first plain character. */
static size_t
changing_bytes(const uint8_t *text, size_t n)
{
	size_t at = 0;

	while (at < n) {
		uint32_t point;
		size_t bytes = code_point_read(text + at, &point);

		if (nfc_class_of(point) == NFC_PLAIN)
			break;
		at += bytes;
	}
	return at;
}

/*
 *     text:   plain plain plain | p x x | plain plain | p x ...
 *             copied              work    copied        work      x: not plain, p: the plain before
 */
enum fail_code
nfc_add(struct nfc_scratch *s, struct buffer *out, const uint8_t *text, size_t n, struct failure *f)
{
	for (size_t at = 0; at < n;) {
		size_t plain = plain_bytes(text + at, n - at), cut = at + plain, end;

		if (cut == n)
			return buffer_add(out, text + at, plain, f);
		if (plain > 0)
			cut = (size_t)(code_point_before(text + cut) - text);
		if (buffer_add(out, text + at, cut - at, f) != FAIL_NONE)
			return f->code;
		end = at + plain;
		end += changing_bytes(text + end, n - end);
		if (work(s, out, text + cut, end - cut, f) != FAIL_NONE)
			return f->code;
		at = end;
	}
	return FAIL_NONE;
}
