/*
 * json_field.h -- takes string fields out of one JSON object, strictly (RFC 8259).
 *
 * The whole text is checked: numbers, escapes, nesting (at most JSON_TEXT_DEPTH_MAX deep), and that
 * nothing follows the object. A dotted path goes through objects ("meta.source"); of equal keys the
 * last one wins, as in Python's json. \uXXXX is decoded, surrogate pairs joined, a lone surrogate
 * becomes U+FFFD. Agrees with Python's json on every case of the public JSON test suite but for NaN
 * and Infinity, which RFC 8259 does not have.
 */
#ifndef COMMON_BASE_JSON_FIELD_H
#define COMMON_BASE_JSON_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum { JSON_FIELDS_MAX = 32 }; /* paths of one set: a bit each of a uint32_t */

enum json_found { JSON_MISSING, JSON_STRING, JSON_OTHER }; /* OTHER: a value, but not a string */

struct json_value {
	enum json_found found;
	/* JSON_STRING: decoded UTF-8, in the text or in the scratch; JSON_OTHER: as raw. */
	const char *bytes;
	size_t n;
	const char *raw; /* the value as the text has it; JSON_MISSING: NULL */
	size_t raw_n;
};

struct json_scratch; /* memory for decoded strings; one a thread */

enum fail_code json_scratch_open(struct json_scratch **out, struct failure *f);
void json_scratch_close(struct json_scratch *s);

/* A compiled set of dotted paths; immutable, shared by threads. Gives *out. */
struct json_paths;
enum fail_code json_paths_open(
    struct json_paths **out, const char *const *path, size_t n, struct failure *f);
void json_paths_close(struct json_paths *p);

/*
 * Fills value[i] for path i; borrows until the next call with `s` or until the text is gone.
 * FAIL_DATA: "invalid JSON at byte 17: ...".
 */
enum fail_code json_fields(const struct json_paths *p, struct json_scratch *s, const char *text,
    size_t n, struct json_value *value, struct failure *f);

#endif
