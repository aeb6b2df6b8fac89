/*
 * recipe.h -- all of a configuration that defines the records of one domain, as a text that stands
 * in the domain's own log.
 *
 * A producer puts its recipe on the first record of a partition and on each End, as the Kafka
 * header RECIPE_HEADER. Whoever opens the domain later compares its own with it, so that a key that
 * was changed meanwhile is named and not ignored. It is a JSON object with sorted keys; numbers are
 * texts:
 *
 *     {"sequence_length":"2048","split":"949,50,1","text":"text","tokenizer":"6d1b...",
 *      "tokenizer.eos":"<|endoftext|>","train":["code.*.jsonl"],...}
 *
 * The keys are the rows of the table in config_keys.c that are marked so, those of the domain by
 * their names within it, and the fingerprint of the tokenizer. A key without effect on the domain
 * is left out: `split` where it has `valid` or `test`, `split_unit` where no document has pieces.
 * The command of `exec` can hold a secret: its hash stands there.
 *
 * A log has the key `no_target` only with the value "skip". Without the key it keeps documents
 * without a target. The recipe of a configuration has the key unless its value is `auto`, which
 * accepts the rule of any log.
 *
 * Two kinds of difference:
 *
 *     source    train, valid, test, exec, exec_name: more files are what --append is for
 *     kind      all others: a partition has records of one kind, from first to last
 *
 * Logs of releases before this one have no such header; nothing is known of them.
 *
 * Thread: any. No I/O.
 */
#ifndef COMMON_CONFIG_RECIPE_H
#define COMMON_CONFIG_RECIPE_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"

#define RECIPE_HEADER "riffle.recipe"

enum {
	RECIPE_BYTES_MAX = 32 << 10, /* longer lists of files stand there as a hash */
	RECIPE_DIFFERENCES_BYTES = 480,
};

/* Gives *out (free). `tokenizer` is its fingerprint; NULL: it is not known, and left out. */
enum fail_code recipe_text(char **out, const struct config *c, const struct config_domain *d,
    const uint64_t *tokenizer, struct failure *f);

/* "text: \"text\" in the log, \"body\" in the file; ...", cut where it is too long. */
struct recipe_differences {
	char kind[RECIPE_DIFFERENCES_BYTES]; /* "": none */
	char source[RECIPE_DIFFERENCES_BYTES];
	enum config_no_target no_target; /* the rule of the log: never AUTO */
};

/*
 * Compares the recipe of a log, n bytes, with the present one. The tokenizer counts only where both
 * have it; a key that only one side has is a difference, but where a release that did not have the
 * key wrote the log, the key's default counts. FAIL_DATA: the first is no recipe. FAIL_MEMORY.
 */
enum fail_code recipe_compare(struct recipe_differences *out, const char *logged, size_t n,
    const char *present, struct failure *f);

#endif
