/*
 * config.h -- the one YAML file that describes a corpus and a mix, read once, then constant.
 *
 * Files of this room:
 *     config            the structs; the file's maps into them, by the table
 *     config_keys       the table of keys, and its print
 *     config_value      one value: text, number, list, ... by its row's kind and range
 *     config_folders    domains_from: a domain of each sub-folder
 *     config_weights    mix.weights, mix.phases, anneal_*: maps of weights
 *     config_check      what several keys must be to each other
 *     properties        librdkafka properties that a user set
 *     property_names    librdkafka's names: whose values may be shown, and which was meant
 *     recipe            what of it defines a domain's records, as a text in the domain's log
 *     topic_plan        which topics a configuration implies, and their settings
 *     yaml_tree         YAML as a tree of nodes, each with its line
 *
 * The table in config_keys.c has a row for every key: path, type, destination, range, default,
 * help. It is the parser, the range check, the unknown-key error, `riffle config --keys` and
 * docs/CONFIG.md. Messages read "run.yml:4: mix.lanes: out of range: 0 (1 to 4096)".
 *
 * The file becomes a struct in this order, because weights are indexed by domains that are sorted:
 *
 *     domains -> all other keys -> domains_from -> weights -> phases -> what keys are to each other
 *
 * Invariants, established by config_open():
 *   domains are sorted by the bytes of their names and names are distinct and valid;
 *   mix.weight has one entry a domain, in the same order, finite, >= 0, not all zero;
 *   phases' start_step increases strictly, their names are distinct, and under each of them some
 *   domain has a weight;
 *   lanes divides each global_batch; no two topics have one name; one lane's record fits 64 MiB;
 *   no key is without effect: keys that need another one (keep: packing none) have it.
 *
 * Thread: constant after config_open() but for `kafka`, to which the command line may add before
 * it starts anything; then any number of threads read.
 */
#ifndef COMMON_CONFIG_CONFIG_H
#define COMMON_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/properties.h"
#include "common/record/sequence.h"
#include "common/record/token_format.h"
#include "common/schedule/mix_rules.h"
#include "common/schedule/schedule.h"

enum {
	CONFIG_LIST_MAX = 1 << 16, /* paths of one list */
	CONFIG_FIELDS_MAX = 64,    /* of `keep` */
	CONFIG_LEFT_OUT_MAX = 1000,
	CONFIG_WEIGHTS_BYTES_MAX = 16 << 20, /* of a file of weights */
};

struct config_list {
	size_t n;
	char **text;
};

enum config_utf8 { CONFIG_UTF8_REPLACE, CONFIG_UTF8_STRICT };
enum config_split_unit { CONFIG_SPLIT_DOCUMENTS, CONFIG_SPLIT_TOKENS };
enum config_on_reject { CONFIG_REJECT_QUARANTINE, CONFIG_REJECT_STOP };
enum config_weights { CONFIG_WEIGHTS_MAP, CONFIG_WEIGHTS_UNIFORM, CONFIG_WEIGHTS_SIZE };
enum config_width { CONFIG_WIDTH_FILE, CONFIG_WIDTH_2, CONFIG_WIDTH_4 }; /* twice that, bytes */
enum config_long { CONFIG_LONG_SPLIT, CONFIG_LONG_TRUNCATE, CONFIG_LONG_REJECT };
/* AUTO: as the log was begun; a new one skips, unless config_is_prompts(). */
enum config_no_target { CONFIG_NO_TARGET_AUTO, CONFIG_NO_TARGET_SKIP, CONFIG_NO_TARGET_KEEP };
enum config_file_order { CONFIG_FILES_BY_NAME, CONFIG_FILES_LISTED };

struct config_tokenizer {
	char *file;           /* relative to the configuration's folder */
	char *pattern;        /* "gpt2", "cl100k", ...; NULL where the file says it */
	char *eos;            /* the text of the end-of-document token, as "<|endoftext|>" */
	bool add_special;     /* what a tokenizer.json puts around a text, such as a BOS */
	bool special_as_text; /* its special tokens inside a document are text */
	/* Set by who has opened the file: produce_note_tokenizer(). A mixer needs no tokenizer. */
	bool known;
	uint64_t fingerprint;
	struct failure misfit; /* FAIL_CONFIG: why these keys do not fit a file that is there */
};

struct config_domain {
	char *name;
	struct config_list train; /* patterns as written: brace ranges, globs; relative as above */
	char *exec;               /* in place of train: a shell command that prints JSONL */
	/* Inputs of its own, each files or a command; with one of them split does not apply. */
	struct config_list valid, test;
	char *valid_exec, *test_exec;
	enum config_file_order file_order; /* of all files of one input */
	char *exec_name;                   /* what records call its programs; NULL: as the domain */
	enum token_format tokens; /* NONE: text; else train, valid and test are files of tokens, */
	enum config_width token_bytes; /* each of so many bytes, where they do not say it */
	char *text;                    /* dotted path of the field that holds the text */
	char *where_field; /* dotted path; NULL: every document of the input is this domain's */
	char *where_equals;
	uint32_t partitions;
	bool live;
	enum mix_on_end on_end;
	uint64_t max_epochs;      /* 0: no limit of its own */
	enum mix_on_dry on_dry;   /* a live domain that has nothing at the moment */
	double catch_up;          /* >= 1: at most so many times its share while it is paid back */
	enum mix_shuffle shuffle; /* the mix's where the file does not give one */
	enum sequence_packing packing;   /* what a sequence is made of */
	enum config_long over_long;      /* packing none: a document of more than S + 1 tokens */
	enum config_no_target no_target; /* a document at which no loss would be taken */
	/* Packing none: dotted paths of what has no loss, and of what follows it and has. prompt
	 * NULL: the document is `text`; response NULL: it is the prompt. */
	char *prompt, *response;
	struct config_list keep; /* packing none: dotted paths of fields whose bytes go along */
	int line;                /* of the domain in the file, from 1 */
	/* In its folder of domains_from, what `train` does not match: paths for open(), sorted, at
	 * most CONFIG_LEFT_OUT_MAX of left_out_n. */
	struct config_list left_out;
	size_t left_out_n;
};

struct config_phase {
	char *name;
	uint64_t start_step;
	double *weight;        /* [domains_n]; NAN: not named, the base weight holds */
	double temperature;    /* 0: the mix's */
	double lr_scale;       /* > 0 */
	uint32_t global_batch; /* 0: the mix's */
	int line;              /* of the phase in the file, from 1 */
};

struct config_mix {
	char *name; /* NULL: the file has no mix section */
	uint64_t seed;
	uint32_t global_batch; /* B, sequences of a step that no phase gives another */
	uint32_t lanes;        /* L */
	enum mix_batches batches;
	uint32_t partitions;     /* P, of the batch topic; at most L, and 0 where batches are
				    derived and there is none (record/lane_map.h) */
	uint32_t max_lead_steps; /* 0: no limit */
	struct config_list runs;
	enum schedule_kind schedule;
	enum mix_unit weights_unit;
	uint64_t epoch_size; /* draws of a round; 0: none, or epoch_largest */
	bool epoch_largest;  /* as many as the largest domain has sequences */
	enum config_weights weights_kind;
	/* [domains_n]; as written: neither normalised nor tempered. SIZE: all NAN, until whoever
	 * knows the lengths puts each domain's part of all sequences in its place. */
	double *weight;
	double temperature;
	struct config_phase *phases; /* start_step increases strictly */
	size_t phases_n;
	enum mix_shuffle shuffle; /* of domains without one of their own, and of those that join */
	uint32_t window;          /* blocks that are shuffled together */
	bool permute;             /* order inside the global batch */
	enum mix_lane_order lane_order;
	uint64_t memory_bytes;
	uint64_t transaction_bytes; /* a transaction ends when it holds this much, */
	uint32_t transaction_ms;    /* or is this old, at most, or the lead is used up */
	/* The age after a wait: it doubles from transaction to transaction, up to transaction_ms.
	 */
	uint32_t transaction_first_ms;
};

struct config {
	char *path;
	char *corpus;
	struct config_tokenizer tokenizer;
	uint32_t sequence_length; /* S; a sequence has S + 1 tokens */
	uint32_t split[3];        /* train, valid, test: parts of their sum */
	enum config_split_unit split_unit;
	uint32_t split_piece; /* tokens of a piece of a document, under split_unit: tokens */
	enum config_utf8 utf8;
	enum config_on_reject on_reject;
	double max_rejects; /* 0 to 1: the part of an input that may be rejects */
	uint64_t max_document_bytes;
	uint32_t replication;
	uint32_t min_insync_replicas;
	/* A folder, relative as above; NULL: none. Its domains are in `domains`. */
	char *domains_from;
	size_t domains_n;
	struct config_domain *domains;
	struct config_mix mix;
	struct properties kafka; /* kafka: of the file, then RIFFLE_BOOTSTRAP, then -X */
	struct config_list set;  /* KEY=VALUE of each -s */
	char *file_mix;          /* mix.name of the file, whatever -s says; NULL: it has none */
};

/*
 * Gives *out, to be ended with config_close(). Reads and checks the whole file, and where it names
 * them a file of weights and a folder of domains; opens nothing else.
 * RIFFLE_BOOTSTRAP, where set, replaces bootstrap.servers. FAIL_CONFIG names file, line and key.
 */
enum fail_code config_open(struct config **out, const char *path, struct failure *f);

/*
 * The same with set[set_n], "KEY=VALUE", in place of what the file has there, or beside it: keys as
 * in the table, values as in the file (yaml_tree_set()). They are checked as if the file had them;
 * a failure about one of them begins with "-s KEY". Properties (`kafka`) are not set in this way:
 * FAIL_CONFIG.
 */
enum fail_code config_open_with(
    struct config **out, const char *path, const char *const *set, size_t set_n, struct failure *f);
void config_close(struct config *c); /* NULL is accepted */

/* The path of the first key whose last part is `name`, "mix.lanes" for "lanes"; NULL: no key. */
const char *config_find_key(const char *name);

/* Whether a key, or a map that it is in, was given by -s: for sentences about its value. */
bool config_is_set(const struct config *c, const char *key);

/*
 * Puts where a key of a domain is, "run.yml:7: domains.code.train: " or "-s domains.code.train: ",
 * in front of what failed. Returns the code that `f` holds.
 */
enum fail_code config_fail_domain(
    const struct config *c, const struct config_domain *d, const char *key, struct failure *f);

/* FAIL_CONFIG that says which section is missing, for commands that need a mix. */
enum fail_code config_need_mix(const struct config *c, struct failure *f);

/* Index of a domain by name; -1: there is none. */
int config_domain_index(const struct config *c, const char *name);

/* The same in *index. FAIL_USAGE names the nearest domain and all that the configuration has. */
enum fail_code config_find_domain(
    size_t *index, const struct config *c, const char *name, struct failure *f);

/* The command that publishes a domain, for sentences: "import" where it is made of tokens. */
const char *config_publisher(const struct config *c, const char *name);

/*
 * Sum of the weights as written, of a phase or (NULL) of the mix, which is then normalised. NAN:
 * they are by size.
 */
double config_weights_sum(const struct config *c, const struct config_phase *phase);

/*
 * Whether mix.weights and all phases give a domain weight 0, so that the mix never draws from it.
 */
bool config_never_drawn(const struct config *c, size_t domain);

/* The input of a set of a domain: files, or a program (else NULL). All is SET_TRAIN's that no other
 * set has an input for, and it is split. */
const struct config_list *config_set_files(const struct config_domain *d, enum names_set set);
const char *config_set_exec(const struct config_domain *d, enum names_set set);
bool config_set_has_input(const struct config_domain *d, enum names_set set);

/* Whether `split` applies: neither valid nor test has an input of its own. */
bool config_is_split(const struct config_domain *d);

/* Whether its documents are prompts alone, at which no loss is taken. */
bool config_is_prompts(const struct config_domain *d);

/* Whether any of its inputs is files; a program. */
bool config_has_files(const struct config_domain *d);
bool config_has_program(const struct config_domain *d);

/*
 * Of how many tokens at most the pieces are in which documents of the domain go to train, valid and
 * test; 0: they stay whole.
 */
uint32_t config_split_piece(const struct config *c, const struct config_domain *d);

/* The largest global_batch of the mix and its phases. */
uint32_t config_global_batch_most(const struct config *c);

/* The line of kafka.NAME, from the file, which is read again; 0: it is not there. */
int config_property_line(const struct config *c, const char *name);

/* Path relative to the configuration's folder -> path for open(). Gives *out (free). */
enum fail_code config_resolve(
    char **out, const struct config *c, const char *path, struct failure *f);

#endif
