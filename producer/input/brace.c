#include "producer/input/brace.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

/*
 * How a pattern is expanded: the first group of it is replaced by each of its parts in turn, and
 * what that gives is expanded from the same place on, depth first. So words come in bash's order:
 *
 *     x{a,b{1,2}}y    ->  xay                     no group is left: a word
 *                     ->  xb{1,2}y  ->  xb1y      the group was inside the part
 *                                   ->  xb2y
 *
 * The recursion is as deep as a word has groups, each of at least three bytes of BRACE_WORD_BYTES.
 */
struct expansion {
	struct brace_words *words;
	size_t words_max;
	const char *pattern;
};

/* One group inside a text: text[open] is its brace, text[close] the one that ends it. */
struct group {
	size_t open, close;
	bool list; /* else a range */
};

/* A range as written: from `first`, `count` terms, each `step` further. */
struct range {
	bool letters;
	int64_t first, step;
	uint64_t count;
	int width; /* digits and sign, padded with zeros; 0: as they come */
};

static enum fail_code
add_word(struct expansion *x, const char *text, struct failure *f)
{
	struct brace_words *w = x->words;
	char *copy;

	if (w->n == x->words_max)
		return fail(f, FAIL_CONFIG, "pattern %s: stands for more than %d names", x->pattern,
		    BRACE_WORDS_MAX);
	if (buffer_reserve_items(&w->word, &w->room, w->n + 1, sizeof(*w->word), f) != FAIL_NONE)
		return f->code;
	copy = strdup(text);
	if (copy == NULL)
		return fail_memory(f);
	w->word[w->n++] = copy;
	return FAIL_NONE;
}

/* Reads a whole decimal number with an optional sign. */
static bool
read_number(const char *text, size_t n, int64_t *value)
{
	char digits[24];
	char *end;

	if (n == 0 || n >= sizeof(digits) || isspace((unsigned char)text[0]))
		return false;
	memcpy(digits, text, n);
	digits[n] = '\0';
	errno = 0;
	*value = strtoll(digits, &end, 10);
	return errno == 0 && *end == '\0' && end != digits && *value > -(INT64_MAX >> 1) &&
	       *value < INT64_MAX >> 1;
}

/* Whether a number is written with zeros in front, which asks for padding. */
static bool
is_padded(const char *text, size_t n)
{
	return (n > 1 && text[0] == '0') || (n > 2 && text[0] == '-' && text[1] == '0');
}

/* The dots that end a term: the first ".." of text[n]; n: there are none. */
static size_t
find_dots(const char *text, size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (text[i] == '.' && text[i + 1] == '.')
			return i;
	return n;
}

/* Reads "first..last" or "first..last..step". */
static bool
read_range(const char *text, size_t n, struct range *out)
{
	size_t first_n = find_dots(text, n);
	const char *last = text + first_n + 2;
	size_t rest, last_n;
	int64_t end, step = 1;

	if (first_n == n)
		return false;
	rest = n - first_n - 2;
	last_n = find_dots(last, rest);
	if (last_n < rest && !read_number(last + last_n + 2, rest - last_n - 2, &step))
		return false;
	*out = (struct range){0};
	if (first_n == 1 && last_n == 1 && isalpha((unsigned char)*text) &&
	    isalpha((unsigned char)*last)) {
		out->letters = true;
		out->first = (unsigned char)*text;
		end = (unsigned char)*last;
	} else if (!read_number(text, first_n, &out->first) || !read_number(last, last_n, &end)) {
		return false;
	} else if (is_padded(text, first_n) || is_padded(last, last_n)) {
		out->width = (int)(first_n > last_n ? first_n : last_n);
	}
	step = step == 0 ? 1 : step < 0 ? -step : step;
	out->step = end < out->first ? -step : step;
	out->count = (uint64_t)((end - out->first) / out->step) + 1;
	return true;
}

/* Finds the brace that ends the one at text[open], and whether there is a comma between them. */
static bool
find_close(const char *text, struct group *g)
{
	size_t depth = 0;

	assert(text[g->open] == '{');
	g->list = false;
	for (size_t i = g->open; text[i] != '\0'; i++) {
		if (text[i] == '\\' && text[i + 1] != '\0')
			i++;
		else if (text[i] == '{')
			depth++;
		else if (text[i] == ',' && depth == 1)
			g->list = true;
		else if (text[i] == '}' && --depth == 0) {
			g->close = i;
			return true;
		}
	}
	return false;
}

/* Finds the first group at or after text[from] that stands for something. */
static bool
find_group(const char *text, size_t from, struct group *g)
{
	struct range unused;

	for (size_t i = from; text[i] != '\0'; i++) {
		if (text[i] == '\\' && text[i + 1] != '\0') {
			i++;
			continue;
		}
		g->open = i;
		if (text[i] == '{' && find_close(text, g) &&
		    (g->list || read_range(text + i + 1, g->close - i - 1, &unused)))
			return true;
	}
	return false;
}

static enum fail_code expand_from(
    struct expansion *x, const char *text, size_t from, struct failure *f);

/* Puts `part` in the place of the group and expands what that gives. */
static enum fail_code
replace_group(struct expansion *x, const char *text, const struct group *g, const char *part,
    size_t part_n, struct failure *f)
{
	size_t after_n = strlen(text + g->close + 1), n = g->open + part_n + after_n;
	enum fail_code code;
	char *next;

	assert(g->open < g->close);
	if (n > BRACE_WORD_BYTES)
		return fail(f, FAIL_CONFIG, "pattern %s: stands for a name of more than %d bytes",
		    x->pattern, BRACE_WORD_BYTES);
	next = malloc(n + 1);
	if (next == NULL)
		return fail_memory(f);
	memcpy(next, text, g->open);
	memcpy(next + g->open, part, part_n);
	memcpy(next + g->open + part_n, text + g->close + 1, after_n + 1);
	code = expand_from(x, next, g->open, f);
	free(next);
	return code;
}

static enum fail_code
expand_list(struct expansion *x, const char *text, const struct group *g, struct failure *f)
{
	size_t start = g->open + 1, depth = 0;

	for (size_t i = start; i <= g->close; i++) {
		enum fail_code code;

		if (text[i] == '\\' && i + 1 < g->close) {
			i++;
			continue;
		}
		if (i < g->close && (text[i] != ',' || depth > 0)) {
			depth += text[i] == '{';
			depth -= text[i] == '}';
			continue;
		}
		code = replace_group(x, text, g, text + start, i - start, f);
		if (code != FAIL_NONE)
			return code;
		start = i + 1;
	}
	return FAIL_NONE;
}

static enum fail_code
expand_range(struct expansion *x, const char *text, const struct group *g, struct failure *f)
{
	struct range r;

	read_range(text + g->open + 1, g->close - g->open - 1, &r);
	for (uint64_t i = 0; i < r.count; i++) {
		int64_t value = r.first + (int64_t)i * r.step;
		enum fail_code code;
		char part[32];
		int n;

		/* Between Z and a are signs that mean something to the matcher. */
		if (r.letters)
			n = snprintf(
			    part, sizeof(part), isalpha((int)value) ? "%c" : "\\%c", (int)value);
		else
			n = snprintf(part, sizeof(part), "%0*" PRId64, r.width, value);
		code = replace_group(x, text, g, part, (size_t)n, f);
		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

/* Expands the first group at or after text[from]; recurses once for each group of a word. */
static enum fail_code
expand_from(struct expansion *x, const char *text, size_t from, struct failure *f)
{
	struct group g;

	if (!find_group(text, from, &g))
		return add_word(x, text, f);
	return g.list ? expand_list(x, text, &g, f) : expand_range(x, text, &g, f);
}

enum fail_code
brace_expand(struct brace_words *w, const char *pattern, struct failure *f)
{
	struct expansion x = {w, w->n + BRACE_WORDS_MAX, pattern};

	if (strlen(pattern) > BRACE_WORD_BYTES)
		return fail(f, FAIL_CONFIG, "pattern %.64s...: is longer than %d bytes", pattern,
		    BRACE_WORD_BYTES);
	return expand_from(&x, pattern, 0, f);
}

void
brace_words_close(struct brace_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	*w = (struct brace_words){0};
}
