/*
 * properties.h -- the librdkafka properties that a user set: `kafka:` of the file, -X, or the
 * options of the library.
 *
 * A trainer opens handles from properties alone, without the rest of a configuration. Values can be
 * passwords: no message of these functions shows one.
 *
 * A zeroed struct is an empty list. Names are not checked here: kafka_check_property() asks
 * librdkafka, which knows them.
 */
#ifndef COMMON_CONFIG_PROPERTIES_H
#define COMMON_CONFIG_PROPERTIES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum {
	PROPERTIES_MAX = 1024,            /* under kafka: of a file */
	PROPERTIES_SECRET_MAX = 64 << 10, /* bytes of a value that is in a file of its own */
};

struct property {
	char *name;
	char *value;
};

/* In the order given; a later one wins. */
struct properties {
	size_t n;
	struct property *item;
};

/* Appends a property; one that already has this name is removed. Copies. FAIL_MEMORY. */
enum fail_code properties_set(
    struct properties *p, const char *name, const char *value, struct failure *f);

/*
 * The same with a value from elsewhere: `kind` is "file" (the text of file `where` without the end
 * of its last line) or "env" (the environment variable `where`). FAIL_CONFIG: there is no value, it
 * is empty, or it is no text of at most PROPERTIES_SECRET_MAX bytes.
 */
enum fail_code properties_set_from(
    struct properties *p, const char *name, const char *kind, const char *where, struct failure *f);

/* The value of a property, the last of several; NULL: not set. Borrowed; `p` may be NULL. */
const char *properties_value(const struct properties *p, const char *name);

/*
 * Whether a property of this name is a password, key or token, which may not stand on a command
 * line. What messages may show is the business of property_names.h.
 */
bool properties_secret(const char *name);

/* Frees what properties_set() copied; the list is empty then. */
void properties_clear(struct properties *p);

#endif
