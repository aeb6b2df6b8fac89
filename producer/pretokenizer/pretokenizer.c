#include "producer/pretokenizer/pretokenizer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/pretokenizer/code_point.h"
#include "producer/pretokenizer/unicode_range.h"

enum { SPLIT_BATCH = 1 << 10 };

static const uint8_t cut_mark[] = {0xE2, 0x96, 0x81}; /* U+2581 */

/* One step at work: from `in` to `out`, whose text is `text` where the step changes it. */
struct work {
	const struct pretokenizer_step *step; /* NULL: cut_marks */
	const struct pretokenizer_cuts *in;
	struct pretokenizer_cuts *out;
	struct buffer *text;
	size_t head;
};

void
pretokenizer_scratch_close(struct pretokenizer_scratch *s)
{
	for (size_t i = 0; i < 2; i++) {
		free(s->cuts[i].end);
		s->cuts[i] = (struct pretokenizer_cuts){NULL, 0, NULL, 0, 0};
		buffer_close(&s->text[i]);
	}
}

static enum fail_code
reserve(struct pretokenizer_cuts *c, size_t more, struct failure *f)
{
	return buffer_reserve_items(&c->end, &c->room, c->count + more, sizeof(*c->end), f);
}

/* Ends a stretch at `end`, unless it would be empty. */
static enum fail_code
cut(struct pretokenizer_cuts *c, size_t end, struct failure *f)
{
	if (end == (c->count == 0 ? 0 : c->end[c->count - 1]))
		return FAIL_NONE;
	assert(c->count == 0 || end > c->end[c->count - 1]);
	assert(end <= SPLITTER_TEXT_MAX);
	if (reserve(c, 1, f) != FAIL_NONE)
		return f->code;
	c->end[c->count++] = (uint32_t)end;
	return FAIL_NONE;
}

/*
 * Each of the functions below takes one stretch, [start, end) of w->in, and adds what becomes of it
 * to w->out and w->text.
 */

/* Cuts by the pattern. */
static enum fail_code
split(const struct work *w, size_t start, size_t end, struct failure *f)
{
	struct pretokenizer_cuts *c = w->out;

	while (start < end) {
		size_t count;

		if (reserve(c, SPLIT_BATCH, f) != FAIL_NONE)
			return f->code;
		count = splitter_pieces(w->step->pattern, w->in->text + start, end - start,
		    c->end + c->count, SPLIT_BATCH);
		for (size_t i = 0; i < count; i++)
			c->end[c->count + i] += (uint32_t)start;
		c->count += count;
		start = c->end[c->count - 1];
	}
	return FAIL_NONE;
}

/* Cuts around every number, or where numbers begin and end. */
static enum fail_code
split_digits(const struct work *w, size_t start, size_t end, struct failure *f)
{
	bool each = w->step->kind == PRETOKENIZER_DIGITS, before = false;

	for (size_t at = start; at < end;) {
		uint32_t point;
		size_t bytes = code_point_read(w->in->text + at, &point);
		bool is = unicode_is_numeric(point);

		if (at > start && (is != before || (is && each)) && cut(w->out, at, f) != FAIL_NONE)
			return f->code;
		before = is;
		at += bytes;
	}
	return cut(w->out, end, f);
}

/* Cuts before every mark. */
static enum fail_code
split_marks(const struct work *w, size_t start, size_t end, struct failure *f)
{
	const struct pretokenizer_step *step = w->step;

	for (size_t at = start; at < end;) {
		const uint8_t *found = memmem(w->in->text + at, end - at, step->mark, step->mark_n);

		if (found == NULL)
			break;
		if (found > w->in->text + start &&
		    cut(w->out, (size_t)(found - w->in->text), f) != FAIL_NONE)
			return f->code;
		at = (size_t)(found - w->in->text) + step->mark_n;
	}
	return cut(w->out, end, f);
}

/* Puts a space in front of the stretch if there is none. */
static enum fail_code
put_space(const struct work *w, size_t start, size_t end, struct failure *f)
{
	if (w->in->text[start] != ' ' && buffer_add(w->text, " ", 1, f) != FAIL_NONE)
		return f->code;
	if (buffer_add(w->text, w->in->text + start, end - start, f) != FAIL_NONE)
		return f->code;
	return cut(w->out, w->text->n, f);
}

static bool
begins_with_mark(const struct pretokenizer_step *step, const uint8_t *text, size_t n)
{
	return text[0] == ' ' || (n >= step->mark_n && memcmp(text, step->mark, step->mark_n) == 0);
}

/* Adds text[n] with the mark for every space. */
static enum fail_code
replace_spaces(const struct pretokenizer_step *step, const uint8_t *text, size_t n,
    struct buffer *out, struct failure *f)
{
	size_t spaces = 0;
	uint8_t *to;

	for (size_t i = 0; i < n; i++)
		spaces += text[i] == ' ';
	if (buffer_reserve(out, n + spaces * step->mark_n, f) != FAIL_NONE)
		return f->code;
	to = out->bytes + out->n;
	for (size_t i = 0; i < n; i++) {
		if (text[i] != ' ') {
			*to++ = text[i];
			continue;
		}
		memcpy(to, step->mark, step->mark_n);
		to += step->mark_n;
	}
	out->n = (size_t)(to - out->bytes);
	return FAIL_NONE;
}

/* Writes every space as the mark, and puts one in front, by the scheme, if there is none. */
static enum fail_code
put_mark(const struct work *w, size_t start, size_t end, struct failure *f)
{
	const struct pretokenizer_step *step = w->step;
	bool wanted = step->scheme == PRETOKENIZER_ALWAYS ||
		      (step->scheme == PRETOKENIZER_FIRST && start < w->head);

	if (wanted && !begins_with_mark(step, w->in->text + start, end - start) &&
	    buffer_add(w->text, step->mark, step->mark_n, f) != FAIL_NONE)
		return f->code;
	if (replace_spaces(step, w->in->text + start, end - start, w->text, f) != FAIL_NONE)
		return f->code;
	return cut(w->out, w->text->n, f);
}

/* Cuts before each mark that stands behind another character; see pretokenizer.h, cut_marks. */
static enum fail_code
cut_before_marks(const struct work *w, size_t start, size_t end, struct failure *f)
{
	const uint8_t *text = w->in->text;

	for (size_t at = start + 1; at + sizeof(cut_mark) <= end; at++) {
		const uint8_t *found =
		    memchr(text + at, cut_mark[0], end - at - sizeof(cut_mark) + 1);

		if (found == NULL)
			break;
		at = (size_t)(found - text);
		if (memcmp(found, cut_mark, sizeof(cut_mark)) != 0)
			continue;
		if (at >= start + sizeof(cut_mark) &&
		    memcmp(found - sizeof(cut_mark), cut_mark, sizeof(cut_mark)) == 0)
			continue;
		if (cut(w->out, at, f) != FAIL_NONE)
			return f->code;
	}
	return cut(w->out, end, f);
}

static enum fail_code
do_one(const struct work *w, size_t start, size_t end, struct failure *f)
{
	if (w->step == NULL)
		return cut_before_marks(w, start, end, f);
	switch (w->step->kind) {
	case PRETOKENIZER_SPLIT: return split(w, start, end, f);
	case PRETOKENIZER_DIGITS:
	case PRETOKENIZER_RUNS: return split_digits(w, start, end, f);
	case PRETOKENIZER_SPACE: return put_space(w, start, end, f);
	case PRETOKENIZER_MARK: return put_mark(w, start, end, f);
	case PRETOKENIZER_CUT: return split_marks(w, start, end, f);
	}
	assert(false);
	return FAIL_NONE;
}

static bool
changes_text(const struct pretokenizer_step *step)
{
	return step != NULL &&
	       (step->kind == PRETOKENIZER_SPACE || step->kind == PRETOKENIZER_MARK);
}

/* Does one step for all stretches. */
static enum fail_code
do_all(struct work *w, struct failure *f)
{
	w->out->count = 0;
	w->text->n = 0;
	for (size_t i = 0, at = 0; i < w->in->count; at = w->in->end[i++]) {
		if (do_one(w, at, w->in->end[i], f) != FAIL_NONE)
			return f->code;
		if (w->text->n > SPLITTER_TEXT_MAX / PRETOKENIZER_MARK_MAX)
			return fail(f, FAIL_MEMORY, "a text that becomes %zu bytes is too long",
			    w->text->n);
	}
	w->out->text = changes_text(w->step) ? w->text->bytes : w->in->text;
	w->out->n = changes_text(w->step) ? w->text->n : w->in->n;
	assert(w->out->count > 0);
	assert(w->out->end[w->out->count - 1] == w->out->n);
	return FAIL_NONE;
}

enum fail_code
pretokenizer_run(const struct pretokenizer *p, struct pretokenizer_scratch *s, const uint8_t *text,
    size_t n, size_t head, const struct pretokenizer_cuts **out, struct failure *f)
{
	struct pretokenizer_cuts *now = &s->cuts[0];
	size_t texts = 0;

	assert(n > 0);
	assert(n <= SPLITTER_TEXT_MAX);
	assert(p->n <= PRETOKENIZER_STEPS_MAX);
	now->count = 0;
	now->text = text;
	now->n = n;
	if (cut(now, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < p->n + p->cut_marks; i++) {
		struct work w = {
		    .step = i < p->n ? &p->step[i] : NULL,
		    .in = now,
		    .out = now == &s->cuts[0] ? &s->cuts[1] : &s->cuts[0],
		    .text = &s->text[texts % 2],
		    .head = head,
		};

		if (do_all(&w, f) != FAIL_NONE)
			return f->code;
		texts += changes_text(w.step);
		now = w.out;
	}
	*out = now;
	return FAIL_NONE;
}
