/*
 * riffle_targets.c -- part of the public API (riffle.h): inputs, labels and positions of a step.
 *
 * A sequence of n + 1 tokens gives n inputs and n labels, shifted by one: label i is token i + 1.
 * Example, n = 7: documents begin at 0, 3 and 5, six tokens are used, [3, 5) is a prompt (no_loss),
 * and so is the padding, [6, 8):
 *
 *     token      10  11  12  13  14  15  pad pad
 *     label      11  12   -   -  15   -   -           (tokens 3, 4, 6 and 7 are no targets)
 *     position    0   1   2   0   1   0   0
 *     document    0   0   0   1   1   2   3           (3: the padding)
 *
 * With mask_boundaries labels 2 and 4 are masked as well: tokens 3 and 5 begin a document, and no
 * token of the one before predicts them.
 */
#include "consumer/reader/riffle_internal.h"

#include <string.h>

static int64_t
token_at(const struct riffle_step *s, uint32_t token_bytes, size_t at)
{
	const unsigned char *from = (const unsigned char *)s->tokens + at * token_bytes;
	uint16_t two;
	uint32_t four;
	int64_t eight;

	switch (token_bytes) {
	case 2: memcpy(&two, from, 2); return two;
	case 4: memcpy(&four, from, 4); return four;
	default: memcpy(&eight, from, 8); return eight;
	}
}

static void
copy_tokens(int64_t *out, const struct riffle_step *s, uint32_t token_bytes, size_t first, size_t n)
{
	if (token_bytes == 8)
		memcpy(out, (const int64_t *)s->tokens + first, n * sizeof(*out));
	for (size_t k = 0; token_bytes != 8 && k < n; k++)
		out[k] = token_at(s, token_bytes, first + k);
}

/*
 * Masks the labels of tokens in no_loss ranges and, if asked, of first tokens; token 0 is no label.
 */
static void
mask(int64_t *labels, size_t n, const struct riffle_sequence *q, const struct riffle_targets *out)
{
	for (size_t i = 0; i < q->no_loss_n; i++)
		for (size_t at = q->no_loss[i].start; at < q->no_loss[i].end; at++)
			if (at > 0 && at <= n)
				labels[at - 1] = out->ignored;
	for (size_t i = 0; out->mask_boundaries && i < q->spans_n; i++)
		if (q->spans[i].start > 0 && q->spans[i].start <= n)
			labels[q->spans[i].start - 1] = out->ignored;
}

/* Where stretch i of a sequence begins; the one behind the last is the padding. */
static size_t
stretch(const struct riffle_sequence *q, size_t i, size_t n)
{
	size_t start = i < q->spans_n ? q->spans[i].start : i == q->spans_n ? q->used : n;

	return start < n ? start : n;
}

/* Numbers tokens within their stretch, and the stretches of the sequence. */
static void
number(int32_t *position, int32_t *document, size_t n, const struct riffle_sequence *q)
{
	for (size_t i = 0; i <= q->spans_n; i++) {
		size_t start = stretch(q, i, n), end = stretch(q, i + 1, n);

		for (size_t k = start; k < end; k++) {
			if (position != NULL)
				position[k] = (int32_t)(k - start);
			if (document != NULL)
				document[k] = (int32_t)i;
		}
	}
}

int
riffle_step_targets(
    const struct riffle_step *s, uint32_t token_bytes, const struct riffle_targets *targets)
{
	size_t n = s->tokens_each - 1;
	struct riffle_targets t;
	const struct riffle_targets *out = &t;
	struct failure f;

	if (riffle_take(&t, sizeof(t), targets, "riffle_targets", &f) != FAIL_NONE ||
	    riffle_check_token_bytes(token_bytes, &f) != FAIL_NONE)
		return RIFFLE_ERROR_USAGE;
	for (size_t i = 0; i < s->sequences; i++) {
		size_t first = i * s->tokens_each, to = i * n;

		if (out->input_ids != NULL)
			copy_tokens(out->input_ids + to, s, token_bytes, first, n);
		if (out->labels != NULL) {
			copy_tokens(out->labels + to, s, token_bytes, first + 1, n);
			mask(out->labels + to, n, &s->sequence[i], out);
		}
		if (out->position_ids != NULL || out->document_ids != NULL)
			number(out->position_ids == NULL ? NULL : out->position_ids + to,
			    out->document_ids == NULL ? NULL : out->document_ids + to, n,
			    &s->sequence[i]);
	}
	return RIFFLE_OK;
}
