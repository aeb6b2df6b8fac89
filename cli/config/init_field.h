/*
 * init_field.h -- which field of JSON records holds the text.
 *
 * Of the fields that hold a text in nine of ten records "text" counts, which is the default of the
 * key; else the one with most bytes. It is not clear where another one has half as many.
 *
 *     {"id": "a1", "title": "On cats", "body": "A cat is ...", "meta": {"url": "http..."}}
 *     fields: id 2 bytes, title 7, body 3,100, meta.url 20             -> body, and clear
 */
#ifndef CLI_CONFIG_INIT_FIELD_H
#define CLI_CONFIG_INIT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum {
	INIT_FIELD_RECORDS = 100, /* of a file, that are looked at */
	INIT_FIELD_BYTES = 128,   /* a longer path is none */
	INIT_FIELD_WHY_BYTES = 640,
};

struct init_field {
	bool tokens; /* no text: the records are tokens already, {"tokens": [...]} */
	char path[INIT_FIELD_BYTES];  /* dotted; "": there is none, and `why` says why */
	char rival[INIT_FIELD_BYTES]; /* "": it is clear; else the next one */
	char why[INIT_FIELD_WHY_BYTES];
	size_t records; /* that were read */
	uint64_t bytes; /* of the field in all of them */
};

/*
 * Looks at the first records of a file of JSON lines, whatever its compression. What is wrong with
 * them is in out->why. FAIL_MEMORY.
 */
enum fail_code init_field_find(struct init_field *out, const char *path, struct failure *f);

#endif
