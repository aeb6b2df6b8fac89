/*
 * config_parts.h -- what the files of config.h share: the table of keys, and the way from a tree to
 * a struct. Nobody else includes it.
 *
 *     config.c        life cycle, properties, paths
 *     config_keys.c   the table of keys, and its print
 *     config_read.c   maps: finds each key's row, unknown and missing keys, domains, weights
 *     config_value.c  one value: text, number, list, ... by the row's kind and range
 *     config_check.c  what several keys must be to each other
 */
#ifndef COMMON_CONFIG_PARTS_H
#define COMMON_CONFIG_PARTS_H

#include "common/config.h"
#include "common/yaml_tree.h"

/* Rows of domains have this in front; the rest of their path is within each domain. */
#define CONFIG_DOMAIN_PREFIX "domains.NAME."

enum config_kind {         /* and the type of its destination */
	CONFIG_TEXT,       /* char * */
	CONFIG_NAME,       /* char *, names_valid() */
	CONFIG_COUNT32,    /* uint32_t, min to max */
	CONFIG_COUNT,      /* uint64_t, min to max */
	CONFIG_SIZE,       /* uint64_t, bytes, min to max */
	CONFIG_POSITIVE,   /* double, > 0 */
	CONFIG_BOOL,       /* bool */
	CONFIG_CHOICE,     /* an enum: index in `choice` */
	CONFIG_LIST,       /* struct config_list of texts; one text is a list of one */
	CONFIG_RUNS,       /* the same, of distinct run names */
	CONFIG_SPLIT,      /* uint32_t[3] */
	CONFIG_PROPERTIES, /* struct config_properties: a map of texts */
	CONFIG_DOMAINS,    /* the map of domains */
	CONFIG_WEIGHTS,    /* the map of weights, or `uniform` */
};

struct config_key {
	const char *path; /* dotted; a section is what comes before the last dot */
	enum config_kind kind;
	size_t at;                 /* in struct config; of domain keys in struct config_domain */
	uint64_t min, max;         /* counts and sizes */
	const char *const *choice; /* ends with NULL */
	const char *preset;        /* as a person would write it; NULL: none */
	bool required;
	const char *help; /* a sentence; Markdown */
};

enum { CONFIG_KEYS_MAX = 64 };

extern const struct config_key config_keys[];
extern const size_t config_keys_n; /* at most CONFIG_KEYS_MAX */

/* FAIL_CONFIG: "FILE:LINE: KEY: WHAT". */
enum fail_code config_fail(const struct config *c, int line, const char *key, struct failure *f,
    const char *format, ...) __attribute__((format(printf, 5, 6)));

enum { CONFIG_SHOWN_MAX = 100 };

/* Makes a value fit for an error message: cut, on one line. Returns `out`. */
const char *config_shown(char out[static CONFIG_SHOWN_MAX], const char *value);

/* Sets what `row` says inside `base` from a node; `key` is its path as errors name it. */
enum fail_code config_value(const struct config *c, const struct config_key *row,
    const struct yaml_node *node, const char *key, void *base, struct failure *f);
enum fail_code config_value_preset(
    const struct config *c, const struct config_key *row, void *base, struct failure *f);

/* Fills a zeroed *c, but for its path, from a tree; the caller ends it whatever the result. */
enum fail_code config_read(struct config *c, const struct yaml_tree *t, struct failure *f);

/* What several keys must be to each other; `root` is for the lines. */
enum fail_code config_check(
    const struct config *c, const struct yaml_node *root, struct failure *f);

#endif
