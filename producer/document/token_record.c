#include "producer/document/token_record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* A JSON text of which the rest is at `at`. */
struct text {
	const char *at, *end;
};

/* Behind the string that begins at `at`. */
static const char *
end_of_string(const char *at, const char *end)
{
	assert(*at == '"');
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at + 1;
}

struct text_view
token_record_unknown(const char *record, size_t n, const char *also)
{
	const char *known[] = {
	    TOKEN_RECORD_TOKENS, TOKEN_RECORD_NO_LOSS, TOKEN_RECORD_KEEP, TOKEN_RECORD_EOS, also};
	const char *end = record + n;
	bool key = true; /* the next string of the object itself is one */
	int depth = 0;

	for (const char *at = record; at < end; at++) {
		struct text_view text;
		bool found = false;

		depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
		key = key || (depth == 1 && *at == ',');
		if (*at != '"')
			continue;
		text = (struct text_view){at + 1, (size_t)(end_of_string(at, end) - at - 2)};
		at += text.n + 1;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			found = found || (known[i] != NULL && strcspn(known[i], ".") == text.n &&
					     memcmp(known[i], text.bytes, text.n) == 0);
		if (depth == 1 && key && !found)
			return text;
		key = key && depth != 1;
	}
	return (struct text_view){NULL, 0};
}

size_t
token_record_room(const char *raw, size_t n)
{
	size_t room = 1;

	for (size_t i = 0; i < n; i++)
		room += raw[i] == ',';
	return room;
}

static void
skip_blanks(struct text *t)
{
	while (
	    t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
		t->at++;
}

/* Passes over `c` and the blanks around it, if it is next. */
static bool
take(struct text *t, char c)
{
	skip_blanks(t);
	if (t->at == t->end || *t->at != c)
		return false;
	t->at++;
	skip_blanks(t);
	return true;
}

/* A whole number of at most 32 bits. */
static bool
take_number(struct text *t, uint32_t *value)
{
	const char *from = t->at;
	uint64_t sum = 0;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && sum <= UINT32_MAX)
		sum = sum * 10 + (uint64_t)(*t->at++ - '0');
	*value = (uint32_t)sum;
	return t->at > from && sum <= UINT32_MAX &&
	       (t->at == t->end || (*t->at != '.' && *t->at != 'e' && *t->at != 'E'));
}

enum fail_code
token_record_ids(const char *raw, size_t n, uint32_t *id, size_t *ids_n, struct failure *f)
{
	struct text t = {raw, raw + n};

	*ids_n = 0;
	if (!take(&t, '['))
		return fail(f, FAIL_DATA, "field `" TOKEN_RECORD_TOKENS "` is not a list of ids");
	if (take(&t, ']'))
		return FAIL_NONE;
	do {
		if (!take_number(&t, &id[*ids_n]))
			return fail(f, FAIL_DATA, TOKEN_RECORD_TOKENS "[%zu] is not an id", *ids_n);
		++*ids_n;
	} while (take(&t, ','));
	assert(*ids_n <= token_record_room(raw, n));
	return FAIL_NONE;
}

enum fail_code
token_record_mark(
    const char *raw, size_t n, uint32_t mark, uint32_t *id, size_t ids_n, struct failure *f)
{
	struct text t = {raw, raw + n};
	size_t range = 0;

	if (!take(&t, '['))
		return fail(f, FAIL_DATA,
		    "field `" TOKEN_RECORD_NO_LOSS "` is not a list of ranges, [[0, 2], ...]");
	if (take(&t, ']'))
		return FAIL_NONE;
	do {
		uint32_t first = 0, end = 0;

		if (!take(&t, '[') || !take_number(&t, &first) || !take(&t, ',') ||
		    !take_number(&t, &end) || !take(&t, ']'))
			return fail(f, FAIL_DATA,
			    TOKEN_RECORD_NO_LOSS "[%zu] is not a range, [first, end]", range);
		if (first >= end || end > ids_n)
			return fail(f, FAIL_DATA,
			    TOKEN_RECORD_NO_LOSS "[%zu], [%" PRIu32 ", %" PRIu32
						 "], is no range of the %zu tokens",
			    range, first, end, ids_n);
		for (size_t i = first; i < end; i++)
			id[i] |= mark;
		range++;
	} while (take(&t, ','));
	return FAIL_NONE;
}
