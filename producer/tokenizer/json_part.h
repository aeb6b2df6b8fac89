/*
 * json_part.h -- a value inside a tokenizer.json with the way to it, so that whatever is refused is
 * named: `tokenizer t.json: pre_tokenizer.pretokenizers[1].pattern is {...}: why`.
 *
 * A part is a plain value that borrows file and value, and may be copied: it is valid as long as
 * the part that json_part_open() made, which alone owns its value. A member that is missing is a
 * part as well, so that callers look at its value once, in the end.
 */
#ifndef PRODUCER_TOKENIZER_JSON_PART_H
#define PRODUCER_TOKENIZER_JSON_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "producer/tokenizer/json_members.h"

struct json_t; /* of jansson, whose names are not for every file */

enum { JSON_PART_PATH_MAX = 192, JSON_PART_VALUE_MAX = 240 };

struct json_part {
	const char *file;
	struct json_t *value; /* NULL: it is missing */
	char path[JSON_PART_PATH_MAX];
};

/*
 * Makes *p of all members but except[except_n], to be ended with json_part_close(). FAIL_DATA: one
 * holds what jansson does not take, as a character NUL.
 */
enum fail_code json_part_open(struct json_part *p, const char *file, const char *path,
    const struct json_members *m, const char *const *except, size_t except_n, struct failure *f);
void json_part_close(struct json_part *p);

/* A member of an object, an item of an array; the part may be missing, or something else. */
struct json_part json_part_member(const struct json_part *p, const char *key);
struct json_part json_part_item(const struct json_part *p, size_t i);

/* Whether it is missing or null. Files leave out a key or write null for the same thing. */
bool json_part_is_null(const struct json_part *p);

/* The text that it is, borrowed from the value; NULL: it is missing, or no text. */
const char *json_part_string(const struct json_part *p);

bool json_part_is_zero(const struct json_part *p); /* a number that is 0 */

/* Fails with FAIL_DATA and names file, path, the value (cut where it is long) and `why`. */
enum fail_code json_part_refuse(const struct json_part *p, const char *why, struct failure *f);

/* Refuses the part if it is no object, or has a key that is not among known[known_n], n > 0. */
enum fail_code json_part_check_keys(
    const struct json_part *p, const char *const *known, size_t known_n, struct failure *f);

/* `known` and `known_n` of a part with a type and these keys. */
#define JSON_PART_KEYS(...)                                                                        \
	(const char *const[]){"type", __VA_ARGS__},                                                \
	    sizeof((const char *const[]){"type", __VA_ARGS__}) / sizeof(char *)

/* The text of a member, or "" where it is missing or no text. Borrowed from the value. */
const char *json_part_text(const struct json_part *p, const char *key);

/*
 * Copies the text of a member to out[room], without a NUL, and sets *n to its bytes. A member that
 * is missing, no text or longer is refused. room > 0.
 */
enum fail_code json_part_copy(const struct json_part *p, const char *key, uint8_t *out, size_t room,
    size_t *n, struct failure *f);

/* A member that is true or false; `fallback` where it is missing or null, refused there if NULL. */
enum fail_code json_part_bool(
    const struct json_part *p, const char *key, const bool *fallback, bool *out, struct failure *f);

/* A member that is a whole number from 0 to `max`; anything else is refused. */
enum fail_code json_part_count(
    const struct json_part *p, const char *key, uint32_t max, uint32_t *out, struct failure *f);

/* Refuses the part if it is no array. */
enum fail_code json_part_check_array(const struct json_part *p, struct failure *f);

#endif
