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

enum { JSON_FIELD_PATHS_MAX = 32 }; /* paths of one set: a bit each of a uint32_t */

enum json_field_found {
	JSON_FIELD_MISSING,
	JSON_FIELD_STRING,
	JSON_FIELD_OTHER, /* a value, but not a string */
};

struct json_field_value {
	enum json_field_found found;
	/* STRING: decoded UTF-8, in the text or in the scratch; OTHER: the same as raw. */
	const char *bytes;
	size_t n;
	const char *raw; /* the value as the text has it; JSON_FIELD_MISSING: NULL */
	size_t raw_n;
};

/* Memory for decoded strings, which grows with the texts read; one a thread. Gives *out. */
struct json_field_scratch;
enum fail_code json_field_scratch_open(struct json_field_scratch **out, struct failure *f);
void json_field_scratch_close(struct json_field_scratch *s); /* NULL is accepted */

/*
 * A compiled set of dotted paths; immutable, shared by threads. Gives *out; copies path[n]. The
 * order of the paths is the order of the values. FAIL_CONFIG: more than JSON_FIELD_PATHS_MAX paths,
 * one with an empty part ("meta..source") or with more than JSON_TEXT_DEPTH_MAX parts.
 */
struct json_field_paths;
enum fail_code json_field_paths_open(
    struct json_field_paths **out, const char *const *path, size_t n, struct failure *f);
void json_field_paths_close(struct json_field_paths *p); /* NULL is accepted */

/*
 * Fills value[i] for path i. The values borrow from the text and from `s`: they hold until the next
 * call with `s`, and as long as the text does. FAIL_DATA: "invalid JSON at byte 17: ...".
 */
enum fail_code json_field_read(const struct json_field_paths *p, struct json_field_scratch *s,
    const char *text, size_t n, struct json_field_value *value, struct failure *f);

#endif
