/* The pattern of o200k; see splitter.h. */
#include "producer/pretokenizer/splitter.h"
#include "producer/pretokenizer/splitter_rule.h"

enum {
	NUMBERS_MAX = 3,
	SET_HEAD = SET(CLASS_UPPER) | SET(CLASS_LETTER) | SET(CLASS_MARK),
	SET_BODY = SET(CLASS_LOWER) | SET(CLASS_LETTER) | SET(CLASS_MARK),
};

/* [\r\n/]* */
static const uint8_t *
line_ends(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (splitter_is_newline(*p) || *p == '/'))
		p++;
	return p;
}

/*
 * HEAD*BODY+ at p; NULL: does not match. The heads are taken first; where no body follows them they
 * give back so much that the last one kept can be a body too.
 */
static const uint8_t *
heads_and_body(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *body_end = NULL;
	enum unicode_class class;

	while (p < end) {
		size_t n = splitter_look(p, &class);

		if ((SET(class) & SET_HEAD) == 0)
			break;
		p += n;
		if ((SET(class) & SET_BODY) != 0)
			body_end = p;
	}
	if (splitter_one(p, end, SET_BODY) > 0)
		return splitter_run(p, end, SET_BODY);
	return body_end;
}

/* HEAD+BODY* at p; NULL: does not match. */
static const uint8_t *
heads(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = splitter_run(p, end, SET_HEAD);

	return after == p ? NULL : splitter_run(after, end, SET_BODY);
}

/* Both alternatives for words, each with the character before the word and without; NULL: none. */
static const uint8_t *
word(const uint8_t *p, const uint8_t *end)
{
	enum unicode_class class;
	size_t n = splitter_look(p, &class);
	bool prefix = (SET(class) & (SET_LETTER | SET_NUMBER)) == 0 && !splitter_is_newline(*p) &&
		      p + n < end;
	const uint8_t *after = prefix ? heads_and_body(p + n, end) : NULL;

	if (after == NULL)
		after = heads_and_body(p, end);
	if (after == NULL && prefix)
		after = heads(p + n, end);
	if (after == NULL)
		after = heads(p, end);
	return after == NULL ? NULL : after + splitter_contraction(after, end, true);
}

size_t
splitter_o200k(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *after = word(p, end), *other = p;

	if (after == NULL)
		after = splitter_run_of(p, end, SET_NUMBER, NUMBERS_MAX);
	if (after > p)
		return (size_t)(after - p);
	if (*p == ' ')
		other++;
	if (splitter_one(other, end, SET_OTHER) > 0)
		after = line_ends(splitter_run(other, end, SET_OTHER), end);
	else
		after = splitter_space_lines(p, end);
	return (size_t)(after - p);
}
