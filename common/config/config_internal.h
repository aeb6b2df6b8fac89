/*
 * config_internal.h -- what the files of config.h share: the table of keys, and the way from a tree
 * to a struct.
 *
 *     yaml_tree -> config.c: maps, section by section          unknown keys, missing keys
 *                    |    for each key, by its row of config_keys[]
 *                    +--> config_value.c      a text, number, list, ...   wrong kind, out of range
 *                    +--> config_folders.c    domains_from                after `domains`
 *                    +--> config_weights.c    weights, phases             after all domains
 *                  config_check.c: what several keys must be to each other
 */
#ifndef COMMON_CONFIG_CONFIG_INTERNAL_H
#define COMMON_CONFIG_CONFIG_INTERNAL_H

#include "common/config/config.h"
#include "common/config/yaml_tree.h"

/* Rows of domains have this in front; the rest of their path is within each domain. */
#define CONFIG_DOMAIN_PREFIX "domains.NAME."
#define CONFIG_PHASE_PREFIX  "mix.phases[]." /* the same for struct config_phase */

/* A domain's `shuffle: mix`, until config.c puts the mix's in its place. */
enum { CONFIG_SHUFFLE_MIX = MIX_SHUFFLE_NONE + 1 };

enum config_kind {          /* and the type of its destination */
	CONFIG_TEXT,        /* char * */
	CONFIG_NAME,        /* char *, names_valid() */
	CONFIG_COUNT32,     /* uint32_t, min to max */
	CONFIG_COUNT,       /* uint64_t, min to max */
	CONFIG_SIZE,        /* uint64_t, bytes, min to max */
	CONFIG_POSITIVE,    /* double, > 0 */
	CONFIG_NUMBER,      /* double, min to max */
	CONFIG_BOOL,        /* bool */
	CONFIG_CHOICE,      /* an enum: index in `choice` */
	CONFIG_LIST,        /* struct config_list of texts; one text is a list of one */
	CONFIG_RUNS,        /* the same, of distinct run names */
	CONFIG_FIELDS,      /* the same, of distinct fields */
	CONFIG_SPLIT,       /* uint32_t[3] */
	CONFIG_PROPERTIES,  /* struct properties: a map of texts */
	CONFIG_DOMAINS,     /* the map of domains */
	CONFIG_FOLDER,      /* the folder whose sub-folders are domains */
	CONFIG_WEIGHTS,     /* the map of weights, or a word or file in its place */
	CONFIG_ROUND,       /* uint64_t, min to max, or `largest`, which sets mix.epoch_largest */
	CONFIG_PHASES,      /* the list of phases */
	CONFIG_PHASE_MAP,   /* the map of weights of one phase */
	CONFIG_ANNEAL_STEP, /* start_step and weights of the one phase that they are short for */
	CONFIG_ANNEAL_MAP,
};

struct config_key {
	const char *path; /* dotted; a section is what comes before the last dot */
	enum config_kind kind;
	size_t at;                 /* in struct config; of domain keys in struct config_domain */
	uint64_t min, max;         /* counts and sizes */
	const char *const *choice; /* ends with NULL */
	const char *default_text;  /* the default, as a person would write it; NULL: none */
	bool required;
	bool recipe;      /* it defines the records of a domain; see recipe.h */
	bool automatic;   /* a count or size: `auto` is 0, until config.c computes it */
	const char *help; /* a sentence; Markdown */
};

enum { CONFIG_KEYS_MAX = 96, CONFIG_PATH_MAX = 256 };

extern const struct config_key config_keys[];
extern const size_t config_keys_n; /* at most CONFIG_KEYS_MAX */

/* FAIL_CONFIG: "FILE:LINE: KEY: WHAT". `line` is from 1; 0: it was set: "-s KEY: WHAT". */
enum fail_code config_fail(const struct config *c, int line, const char *key, struct failure *f,
    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Where another key is, for a message: "line 7", or "-s" where it was set. */
enum { CONFIG_WHERE_MAX = 24 };
const char *config_where(char out[static CONFIG_WHERE_MAX], int line);
#define CONFIG_WHERE(line) config_where((char[CONFIG_WHERE_MAX]){0}, line)

enum { CONFIG_SHOWN_MAX = 100 };

/*
 * Makes a value fit for an error message: it is escaped (text.h), and what does not fit is cut
 * between characters and ends in "...". Returns `out`.
 */
const char *config_shown(char out[static CONFIG_SHOWN_MAX], const char *value);

/*
 * Sets the field at row->at of `base` from a node; copies. `key` is the node's path as errors name
 * it. FAIL_CONFIG: not such a value, or out of range; FAIL_MEMORY. `base` can then be cleared as
 * after a success. The second sets the default, which `row` must have; FAIL_MEMORY only.
 */
enum fail_code config_value(const struct config *c, const struct config_key *row,
    const struct yaml_node *node, const char *key, void *base, struct failure *f);
enum fail_code config_value_default(
    const struct config *c, const struct config_key *row, void *base, struct failure *f);

/* A map that is being read: its place in the table, in messages, and in memory. Borrows all. */
struct config_scope {
	const char *rows;  /* in front of its keys in the table: "", "mix.", "domains.NAME." */
	const char *shown; /* the same as errors show it: "domains.web." */
	void *base;        /* struct config, config_domain or config_phase */
	bool *seen;        /* [config_keys_n], for the whole base */
};

/* Reads a whole map into scope->base; keys that are missing get their defaults, or are an error. */
enum fail_code config_read_map(struct config *c, const struct yaml_node *map,
    const struct config_scope *scope, struct failure *f);
enum fail_code config_need_map(
    const struct config *c, const struct yaml_node *node, const char *key, struct failure *f);

/* Fills *d, which is zeroed, from the entry of its map. After a failure *d is partly filled: it is
 * among c->domains, and config_close() ends it. */
enum fail_code config_read_domain(
    struct config *c, const struct yaml_node *node, struct config_domain *d, struct failure *f);

/* Sorts c->domains by name. */
void config_sort_domains(struct config *c);

/*
 * domains_from, after c->domains is read and sorted: gives the domains that are named after a
 * sub-folder its files where they have no source, and adds those that are not there.
 */
enum fail_code config_read_folders(
    struct config *c, const struct yaml_node *root, struct failure *f);

/* mix.weights; after the domains. Reads a file of them. NULL: the key is not set. */
enum fail_code config_read_weights(
    struct config *c, const struct yaml_node *node, struct failure *f);

/* mix.phases or mix.anneal_*; after the weights. */
enum fail_code config_read_phases(struct config *c, const struct yaml_node *mix, struct failure *f);

/* `weights` of a phase; `key` is its path. */
enum fail_code config_read_phase_map(const struct config *c, const struct yaml_node *node,
    const char *key, struct config_phase *phase, struct failure *f);

/* Line of a key, which is top-level where `section` is NULL. Of a key that is not given: the line
 * of its section, or else of the whole map. */
int config_line(const struct yaml_node *root, const char *section, const char *key);
/* What several keys must be to each other; `root` is for the lines. */
enum fail_code config_check(
    const struct config *c, const struct yaml_node *root, struct failure *f);

#endif
