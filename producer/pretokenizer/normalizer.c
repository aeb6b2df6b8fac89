#include "producer/pretokenizer/normalizer.h"

#include <assert.h>
#include <string.h>

void
normalizer_scratch_close(struct normalizer_scratch *s)
{
	buffer_close(&s->text[0]);
	buffer_close(&s->text[1]);
	nfc_scratch_close(&s->nfc);
}

/* For a pattern of one byte: most often the space, which stands every few bytes. */
static enum fail_code
replace_byte(const uint8_t *text, size_t n, uint8_t byte, const uint8_t *content, size_t content_n,
    struct buffer *out, struct failure *f)
{
	size_t found = 0;
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		found += text[i] == byte;
	if (buffer_reserve(out, n + found * content_n, f) != FAIL_NONE)
		return f->code;
	to = out->bytes + out->n;
	for (size_t i = 0; i < n; i++) {
		if (text[i] != byte) {
			*to++ = text[i];
			continue;
		}
		for (size_t k = 0; k < content_n; k++)
			*to++ = content[k];
	}
	out->n = (size_t)(to - out->bytes);
	return FAIL_NONE;
}

enum fail_code
normalizer_replace(const uint8_t *text, size_t n, const uint8_t *pattern, size_t pattern_n,
    const uint8_t *content, size_t content_n, struct buffer *out, struct failure *f)
{
	assert(pattern_n > 0);
	if (pattern_n == 1)
		return replace_byte(text, n, pattern[0], content, content_n, out, f);
	for (size_t at = 0; at < n;) {
		const uint8_t *found = memmem(text + at, n - at, pattern, pattern_n);
		size_t end = found == NULL ? n : (size_t)(found - text);

		if (buffer_add(out, text + at, end - at, f) != FAIL_NONE)
			return f->code;
		if (found == NULL)
			break;
		if (buffer_add(out, content, content_n, f) != FAIL_NONE)
			return f->code;
		at = end + pattern_n;
	}
	return FAIL_NONE;
}

/* Whether the step leaves text[n] as it is. */
static bool
changes_nothing(const struct normalizer_step *step, const uint8_t *text, size_t n)
{
	switch (step->kind) {
	case NORMALIZER_NFC: return nfc_plain(text, n);
	case NORMALIZER_PREPEND: return n == 0 || step->content_n == 0;
	case NORMALIZER_REPLACE: return memmem(text, n, step->pattern, step->pattern_n) == NULL;
	}
	assert(false);
	return true;
}

static enum fail_code
apply(const struct normalizer_step *step, struct normalizer_scratch *s, const uint8_t *text,
    size_t n, struct buffer *out, struct failure *f)
{
	switch (step->kind) {
	case NORMALIZER_NFC: return nfc_add(&s->nfc, out, text, n, f);
	case NORMALIZER_PREPEND:
		if (buffer_add(out, step->content, step->content_n, f) != FAIL_NONE)
			return f->code;
		return buffer_add(out, text, n, f);
	case NORMALIZER_REPLACE:
		return normalizer_replace(text, n, step->pattern, step->pattern_n, step->content,
		    step->content_n, out, f);
	}
	assert(false);
	return FAIL_NONE;
}

/*
 * How many of the first bytes come from the first `head` bytes of text[n] after the step. What is
 * put in front belongs to them, and a replacement to the last byte of what it replaces.
 */
static size_t
head_of(const struct normalizer_step *step, const uint8_t *text, size_t n, size_t head)
{
	size_t at = 0, result = 0;

	if (step->kind == NORMALIZER_PREPEND && head > 0)
		return head + step->content_n;
	if (step->kind == NORMALIZER_NFC)
		return head;
	while (at < head) {
		const uint8_t *found = memmem(text + at, n - at, step->pattern, step->pattern_n);
		size_t start = found == NULL ? n : (size_t)(found - text);

		if (start >= head)
			return result + (head - at);
		result += start - at;
		at = start + step->pattern_n;
		if (at <= head)
			result += step->content_n;
	}
	return result;
}

enum fail_code
normalizer_run(const struct normalizer *z, struct normalizer_scratch *s, const uint8_t *text,
    size_t n, const uint8_t **out, size_t *out_n, size_t *head, struct failure *f)
{
	size_t turn = 0; /* the buffer that does not hold `text` */

	assert(z->n <= NORMALIZER_STEPS_MAX);
	for (size_t i = 0; i < z->n; i++) {
		struct buffer *b = &s->text[turn];

		if (changes_nothing(&z->step[i], text, n))
			continue;
		b->n = 0;
		if (apply(&z->step[i], s, text, n, b, f) != FAIL_NONE)
			return f->code;
		*head = head_of(&z->step[i], text, n, *head);
		text = b->bytes;
		n = b->n;
		turn ^= 1;
	}
	*out = text;
	*out_n = n;
	return FAIL_NONE;
}
