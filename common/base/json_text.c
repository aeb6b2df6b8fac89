#include "common/base/json_text.h"

#include <stdint.h>

/* Which containers are open, for one who does not recurse. */
struct nest {
	size_t level;
	uint64_t is_object[JSON_DEPTH_MAX / 64];
};

bool
json_text_bad(struct json_text *t, const char *what)
{
	t->bad = t->at == t->end ? "the text ends too early" : what;
	return false;
}

void
json_text_space(struct json_text *t)
{
	while (
	    t->at < t->end && (*t->at == ' ' || *t->at == '\n' || *t->at == '\r' || *t->at == '\t'))
		t->at++;
}

static bool
skip_digits(struct json_text *t)
{
	const char *before = t->at;

	while (t->at < t->end && *t->at >= '0' && *t->at <= '9')
		t->at++;
	return t->at > before || json_text_bad(t, "a digit is missing");
}

static bool
skip_number(struct json_text *t)
{
	json_text_take(t, '-');
	if (!json_text_take(t, '0') && !skip_digits(t))
		return false;
	if (json_text_take(t, '.') && !skip_digits(t))
		return false;
	if (json_text_take(t, 'e') || json_text_take(t, 'E')) {
		if (!json_text_take(t, '+'))
			json_text_take(t, '-');
		return skip_digits(t);
	}
	return true;
}

static bool
skip_word(struct json_text *t, const char *word)
{
	for (; *word != '\0'; word++)
		if (!json_text_take(t, *word))
			return json_text_bad(t, "no such value; a string wants quotes");
	return true;
}

/* Passes a string, number, true, false or null. */
static bool
skip_scalar(struct json_text *t)
{
	if (t->at == t->end)
		return json_text_bad(t, "");
	switch (*t->at) {
	case '"': t->at++; return json_text_skip_string(t);
	case 't': return skip_word(t, "true");
	case 'f': return skip_word(t, "false");
	case 'n': return skip_word(t, "null");
	default: break;
	}
	if (*t->at == '-' || (*t->at >= '0' && *t->at <= '9'))
		return skip_number(t);
	return json_text_bad(t, "a value is missing");
}

bool
json_text_colon(struct json_text *t)
{
	json_text_space(t);
	if (!json_text_take(t, ':'))
		return json_text_bad(t, "a colon is missing after the key");
	json_text_space(t);
	return true;
}

bool
json_text_key(struct json_text *t)
{
	json_text_space(t);
	return json_text_take(t, '"') || json_text_bad(t, "a key in quotes is missing");
}

static bool
skip_key(struct json_text *t)
{
	return json_text_key(t) && json_text_skip_string(t) && json_text_colon(t);
}

bool
json_text_check_depth(struct json_text *t, size_t level)
{
	if (level < JSON_DEPTH_MAX)
		return true;
	t->bad = "nested more than 512 deep";
	return false;
}

static bool
in_object(const struct nest *n)
{
	return n->is_object[(n->level - 1) / 64] >> ((n->level - 1) % 64) & 1;
}

/* Passes one value, or opens it: then *whole is false and the first value inside comes next. */
static bool
start_value(struct json_text *t, struct nest *n, bool *whole)
{
	bool object = t->at < t->end && *t->at == '{';
	uint64_t bit = UINT64_C(1) << n->level % 64;

	*whole = true;
	if (!object && (t->at == t->end || *t->at != '['))
		return skip_scalar(t);
	if (!json_text_check_depth(t, n->level))
		return false;
	t->at++;
	json_text_space(t);
	if (json_text_take(t, object ? '}' : ']'))
		return true;
	if (object)
		n->is_object[n->level / 64] |= bit;
	else
		n->is_object[n->level / 64] &= ~bit;
	n->level++;
	*whole = false;
	return !object || skip_key(t);
}

/* After a value: closes what ends here; *whole is false where another value comes next. */
static bool
finish_values(struct json_text *t, struct nest *n, size_t level, bool *whole)
{
	while (n->level > level) {
		bool object = in_object(n);

		json_text_space(t);
		if (json_text_take(t, ',')) {
			*whole = false;
			json_text_space(t);
			return !object || skip_key(t);
		}
		if (!json_text_take(t, object ? '}' : ']'))
			return json_text_bad(
			    t, object ? "a comma or } is missing" : "a comma or ] is missing");
		n->level--;
	}
	*whole = true;
	return true;
}

/* Passes any value; `level` containers are open around it. */
bool
json_text_skip(struct json_text *t, size_t level)
{
	struct nest n;
	bool whole;

	n.level = level;
	do {
		if (!start_value(t, &n, &whole))
			return false;
		if (whole && !finish_values(t, &n, level, &whole))
			return false;
	} while (!whole);
	return true;
}
