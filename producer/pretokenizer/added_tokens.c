#include "producer/pretokenizer/added_tokens.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/pretokenizer/code_point.h"
#include "producer/pretokenizer/unicode_class.h"
#include "producer/pretokenizer/unicode_range.h"

void
added_tokens_close(struct added_tokens *a)
{
	free(a->token);
	free(a->node);
	memset(a, 0, sizeof(*a));
}

static uint32_t
child_of(const struct added_tokens *a, uint32_t node, uint8_t byte)
{
	uint32_t child = a->node[node].child;

	while (child != 0 && a->node[child].byte != byte)
		child = a->node[child].sibling;
	return child;
}

/* The node that content[n] leads to; nodes that are missing are added, and there is room for n. */
static uint32_t
descend(struct added_tokens *a, const uint8_t *content, size_t n)
{
	uint32_t node = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t child = child_of(a, node, content[i]);

		if (child == 0) {
			child = (uint32_t)a->nodes_n++;
			a->node[child] =
			    (struct added_node){.sibling = a->node[node].child, .byte = content[i]};
			a->node[node].child = child;
		}
		node = child;
	}
	return node;
}

/*
 * Notes in begins[], begins_one[] and `only` that a token can begin as this one does. A token of
 * one byte can be followed by anything, so it sets the bits of all 256 pairs.
 */
static void
note_begin(struct added_tokens *a, const uint8_t *content, size_t n)
{
	for (unsigned second = 0; second < 256; second++)
		if (n == 1 || content[1] == second) {
			unsigned both = (unsigned)content[0] << 8 | second;

			a->begins[both / 64] |= UINT64_C(1) << both % 64;
		}
	if (n == 1)
		a->begins_one[content[0]] = true;
	if (a->n == 0)
		a->only = content[0];
	else if (a->only != content[0])
		a->only = -1;
}

enum fail_code
added_tokens_add(struct added_tokens *a, const uint8_t *content, size_t n,
    const struct added_token *token, struct failure *f)
{
	uint32_t node;

	assert(n > 0);
	assert(n <= ADDED_TOKENS_BYTES_MAX);
	assert(a->n < ADDED_TOKENS_MAX);
	if (buffer_reserve_items(&a->token, &a->room, a->n + 1, sizeof(*a->token), f) !=
		FAIL_NONE ||
	    buffer_reserve_items(
		&a->node, &a->nodes_room, a->nodes_n + n + 1, sizeof(*a->node), f) != FAIL_NONE)
		return f->code;
	if (a->nodes_n == 0)
		a->node[a->nodes_n++] = (struct added_node){0, 0, 0, 0};
	node = descend(a, content, n);
	assert(a->nodes_n <= a->nodes_room);
	if (a->node[node].token != 0)
		return fail(f, FAIL_DATA, "twice");
	note_begin(a, content, n);
	a->token[a->n++] = *token;
	assert(a->n <= a->room);
	a->node[node].token = (uint32_t)a->n;
	return FAIL_NONE;
}

void
added_tokens_drop(struct added_tokens *a, uint32_t id)
{
	for (size_t i = 0; i < a->nodes_n; i++) {
		struct added_node *node = &a->node[i];

		if (node->token != 0 && a->token[node->token - 1].id == id)
			node->token = 0;
	}
}

/* The first place from `at` on where a token may begin, or n. */
static size_t
candidate(const struct added_tokens *a, const uint8_t *text, size_t n, size_t at)
{
	while (at < n) {
		unsigned both;

		if (a->only >= 0) {
			const uint8_t *found = memchr(text + at, a->only, n - at);

			if (found == NULL)
				return n;
			at = (size_t)(found - text);
		}
		if (at + 1 == n)
			return a->begins_one[text[at]] ? at : n;
		both = (unsigned)text[at] << 8 | text[at + 1];
		if (a->begins[both / 64] >> both % 64 & 1)
			return at;
		at++;
	}
	return n;
}

/* The longest token that begins at `at`, or NULL; *bytes is its length. */
static const struct added_token *
longest(const struct added_tokens *a, const uint8_t *text, size_t n, size_t at, size_t *bytes)
{
	const struct added_token *found = NULL;
	uint32_t node = 0;

	for (size_t i = at; i < n; i++) {
		node = child_of(a, node, text[i]);
		if (node == 0)
			break;
		if (a->node[node].token != 0) {
			found = &a->token[a->node[node].token - 1];
			*bytes = i + 1 - at;
		}
	}
	return found;
}

static bool
word_at(const uint8_t *p)
{
	uint32_t point;

	code_point_read(p, &point);
	return unicode_is_word(point);
}

/* Whether no character of a word is on either side of [start, end). */
static bool
stands_alone(const struct added_search *s, size_t start, size_t end)
{
	if (start > 0 && word_at(code_point_before(s->text + start)))
		return false;
	return end == s->n || !word_at(s->text + end);
}

static bool
is_space(const uint8_t *p, size_t *bytes)
{
	uint32_t point;

	*bytes = code_point_read(p, &point);
	return unicode_class_of(point) == CLASS_SPACE;
}

/* Back over the white space before `start`, no further than what was given. */
static size_t
strip_left(const struct added_search *s, size_t start)
{
	while (start > s->given) {
		size_t before = (size_t)(code_point_before(s->text + start) - s->text), bytes;

		if (!is_space(s->text + before, &bytes))
			break;
		start = before;
	}
	return start;
}

/*
 * Behind the white space from `end` on. Remembers how far it came: many tokens can be in one
 * stretch of white space, and looking through it for each would take time by the square.
 */
static size_t
strip_right(struct added_search *s, size_t end)
{
	size_t at = end, bytes;

	if (end >= s->space[0] && end < s->space[1])
		return s->space[1];
	while (at < s->n && is_space(s->text + at, &bytes))
		at += bytes;
	s->space[0] = end;
	s->space[1] = at;
	return at;
}

/* The next token that counts, with what it takes from its neighbours. */
static bool
find(struct added_search *s, struct added_span *span)
{
	size_t bytes = 0;

	while ((s->at = candidate(s->set, s->text, s->n, s->at)) < s->n) {
		const struct added_token *token = longest(s->set, s->text, s->n, s->at, &bytes);
		size_t start = s->at, end = start + bytes;

		if (token == NULL) {
			s->at++;
			continue;
		}
		s->at = end;
		if (token->as_text || (token->single_word && !stands_alone(s, start, end)))
			continue;
		if (token->lstrip && start > s->given)
			start = strip_left(s, start);
		else if (token->lstrip)
			start = s->given;
		if (token->rstrip)
			end = strip_right(s, end);
		if (start >= end)
			continue; /* the token before took it as white space */
		*span = (struct added_span){token, start, end};
		return true;
	}
	return false;
}

bool
added_search_next(struct added_search *s, struct added_span *span)
{
	if (!s->has_next && s->set->n > 0)
		s->has_next = find(s, &s->next);
	if (s->has_next && s->given >= s->next.start) {
		*span = s->next;
		s->given = s->next.end;
		s->has_next = false;
		return true;
	}
	if (s->given == s->n)
		return false;
	*span = (struct added_span){NULL, s->given, s->has_next ? s->next.start : s->n};
	s->given = span->end;
	return true;
}
