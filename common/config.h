/*
 * config.h -- the one YAML file that describes a corpus and a mix, read once, then constant.
 *
 * A table in config.c has a row for every key: path, type, destination, range, preset, help. The
 * table is the parser, the range check, the unknown-key error, `riffle config --keys` and
 * docs/CONFIG.md. Messages read "run.yml:4: mix.lanes: out of range: 0 (1 to 4096)".
 *
 * Invariants, established by config_open():
 *   domains are sorted by the bytes of their names and names are distinct and valid;
 *   mix.weight has one entry a domain, in the same order, finite, >= 0, not all zero;
 *   lanes divides global_batch; no two topics have one name; one lane's record fits 64 MiB.
 */
#ifndef COMMON_CONFIG_H
#define COMMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/failure.h"

enum {
	CONFIG_DOMAINS_MAX = 4096,
	CONFIG_LANES_MAX = 4096,
	CONFIG_SEQUENCE_MAX = 1 << 20,
	CONFIG_BATCH_MAX = 1 << 20,
	CONFIG_LIST_MAX = 1 << 16, /* paths of one list */
	CONFIG_RUNS_MAX = 64,
	CONFIG_PROPERTIES_MAX = 1024, /* under kafka */
	CONFIG_RECORD_MAX = 64 << 20, /* bytes of one lane's batch record */
};

struct config_list {
	size_t n;
	char **text;
};

struct config_property {
	char *name;
	char *value;
};

/* librdkafka properties, in the order given; a later one wins. */
struct config_properties {
	size_t n;
	struct config_property *item;
};

enum config_utf8 { CONFIG_UTF8_REPLACE, CONFIG_UTF8_STRICT };
enum config_on_reject { CONFIG_REJECT_QUARANTINE, CONFIG_REJECT_STOP };
enum config_on_end { CONFIG_END_REPEAT, CONFIG_END_STOP, CONFIG_END_DROP };
enum config_lane_order { CONFIG_LANES_CONTIGUOUS, CONFIG_LANES_STRIDED };
enum config_weights { CONFIG_WEIGHTS_MAP, CONFIG_WEIGHTS_UNIFORM };

struct config_tokenizer {
	char *file;           /* relative to the configuration's folder */
	char *pattern;        /* "gpt2", "cl100k", ...; NULL where the file says it */
	char *eos;            /* the text of the end-of-document token, as "<|endoftext|>" */
	bool add_special;     /* what a tokenizer.json puts around a text, such as a BOS */
	bool special_as_text; /* its special tokens inside a document are text */
};

struct config_domain {
	char *name;
	struct config_list train; /* patterns as written: brace ranges, globs; relative as above */
	struct config_list valid; /* n > 0: split does not apply to this domain */
	char *exec;               /* a shell command that prints JSONL; NULL: files */
	char *text;               /* dotted path of the field that holds the text */
	char *where_field; /* dotted path; NULL: every document of the input is this domain's */
	char *where_equals;
	uint32_t partitions;
	bool live;
	enum config_on_end on_end;
	int line; /* where the domain stands in the file */
};

struct config_mix {
	char *name; /* NULL: the file has no mix section */
	uint64_t seed;
	uint32_t global_batch;   /* B, sequences a step */
	uint32_t lanes;          /* L */
	uint32_t max_lead_steps; /* 0: no bound */
	struct config_list runs;
	enum config_weights weights_kind;
	double *weight; /* [domains_n]; as written: neither normalised nor tempered */
	double temperature;
	uint32_t window; /* blocks that are shuffled together */
	bool permute;    /* order inside the global batch */
	enum config_lane_order lane_order;
	uint64_t memory_bytes;
	uint64_t transaction_bytes; /* a transaction ends when it holds this much, */
	uint32_t transaction_ms;    /* or is this old, or the lead is used up */
};

struct config {
	char *path;
	char *corpus;
	struct config_tokenizer tokenizer;
	uint32_t sequence_length; /* S; a sequence has S + 1 tokens */
	uint32_t split[3];        /* train, valid, test: parts of their sum */
	enum config_utf8 utf8;
	enum config_on_reject on_reject;
	uint64_t max_document_bytes;
	uint32_t replication;
	uint32_t min_insync_replicas;
	size_t domains_n;
	struct config_domain *domains;
	struct config_mix mix;
	struct config_properties kafka; /* kafka: of the file, then RIFFLE_BOOTSTRAP, then -X */
};

/*
 * Gives *out, to be ended with config_close(). Reads and checks the whole file; opens nothing else.
 * RIFFLE_BOOTSTRAP, where set, replaces bootstrap.servers. FAIL_CONFIG names file, line and key.
 */
enum fail_code config_open(struct config **out, const char *path, struct failure *f);
void config_close(struct config *c); /* NULL is accepted */

/* Appends or replaces one librdkafka property ("name=value" of -X). Copies. */
enum fail_code config_set_property(
    struct config *c, const char *name, const char *value, struct failure *f);

/* FAIL_CONFIG that says which section is missing, for commands that need a mix. */
enum fail_code config_need_mix(const struct config *c, struct failure *f);

/* Index of a domain by name; -1: there is none. */
int config_domain_index(const struct config *c, const char *name);

/* Path relative to the configuration's folder -> path for open(). Gives *out (free). */
enum fail_code config_resolve(
    char **out, const struct config *c, const char *path, struct failure *f);

/* The table of keys as Markdown: the body of docs/CONFIG.md. */
void config_print_keys(FILE *to);

#endif
