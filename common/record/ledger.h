/*
 * ledger.h -- the record of a ledger topic, as a value that owns its memory.
 *
 * A cold record: written by avro-c, read along the schema that wrote it, behind a bounded walk that
 * checks every length and count. Field meanings: schemas/Ledger.avsc; names here are the same. A
 * ledger with a schema of an earlier fingerprint is read by field name; what it lacks has the value
 * that a fresh mix would have.
 */
#ifndef COMMON_RECORD_LEDGER_H
#define COMMON_RECORD_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/record/avro_compare.h"

/* Longer lists are refused, written and read alike. */
enum {
	LEDGER_SKIPS_MAX = 4096,
	LEDGER_QUARANTINED_MAX = 4096,
	LEDGER_REQUEST_IDS_MAX = 4096,
	LEDGER_DOMAINS_MAX = LIMIT_DOMAINS,
	LEDGER_PARTITIONS_MAX = 4096,
	LEDGER_PENDING_MAX = 4096,
	LEDGER_ANSWERS_MAX = 4096,
	LEDGER_RUNS_MAX = 4096,
};

enum ledger_kind { LEDGER_START, LEDGER_STEPS, LEDGER_END };
enum ledger_reason { LEDGER_BY_CONFIG, LEDGER_BY_PHASE, LEDGER_BY_REQUEST };
enum ledger_domain_state { LEDGER_ACTIVE, LEDGER_DROPPED, LEDGER_LEFT, LEDGER_JOINING };
enum ledger_change_kind {
	LEDGER_WEIGHTS,
	LEDGER_SKIP,
	LEDGER_JOIN,
	LEDGER_LEAVE,
	/* Of a request only: these take effect with their answers, and are never pending. */
	LEDGER_RESET,
	LEDGER_CANCEL,
	LEDGER_UNDO, /* of skips */
};

/* As commands and JSON have them, by the enum's number. */
extern const char *const ledger_reason_names[];
extern const char *const ledger_domain_state_names[];
extern const char *const ledger_change_names[];

struct ledger_partition {
	int64_t sequences;
	bool sealed;
	int64_t sequences_next, taken;
};

struct ledger_domain {
	char *name;
	uint32_t index;
	enum ledger_domain_state state;
	uint64_t weight, round_weight;
	double raw_weight, base_weight;
	bool joined, live;
	int64_t credit, greedy_count, taken, tokens, epoch, position, owed, repay;
	struct ledger_partition *partition;
	size_t partitions_n;
};

/* Sequences of an epoch that the record counts a domain with: the sum over its partitions. */
static inline uint64_t
ledger_domain_sequences(const struct ledger_domain *d)
{
	uint64_t sum = 0;

	for (size_t p = 0; p < d->partitions_n; p++)
		sum += (uint64_t)d->partition[p].sequences;
	return sum;
}

struct ledger_raw_weight {
	char *domain;
	double weight;
};

struct ledger_change {
	char *id;
	int64_t step;
	enum ledger_change_kind kind;
	struct ledger_raw_weight *weight;
	size_t weights_n;
	double temperature, lr_scale;
	uint32_t global_batch;
	char *domain;
	int32_t partition;
	int64_t first, end;
	char *who;
};

struct ledger_skip {
	uint32_t domain, partition;
	int64_t first, end;
};

struct ledger_quarantined {
	uint32_t domain, partition;
	int64_t ordinal;
	char *reason;
};

struct ledger_answer {
	char *id;
	bool accepted;
	int64_t step;
	char *text;
};

struct ledger_run {
	char *name;
	int64_t step;
};

struct ledger {
	enum ledger_kind kind;
	char *mix;
	uint64_t mixer, schedule;
	char *config;
	uint64_t tokenizer;
	int64_t step_first, step_next, draws;
	uint64_t choices;
	int64_t version, version_step;
	enum ledger_reason reason;
	char *reason_id, *phase;
	double lr_scale, temperature;
	uint32_t global_batch; /* 0: that of `config` */
	int64_t greedy_draws;
	uint64_t base;
	int64_t epoch_size, round, round_draws;
	struct ledger_domain *domain;
	size_t domains_n;
	struct ledger_change *pending;
	size_t pending_n;
	struct ledger_skip *skip;
	size_t skips_n;
	struct ledger_quarantined *quarantined;
	size_t quarantined_n;
	int64_t control_next;
	char **request_id;
	size_t request_ids_n;
	struct ledger_answer *answer;
	size_t answers_n;
	struct ledger_run *run;
	size_t runs_n;
};

/*
 * Frees what *l owns and zeroes it; a zeroed ledger is a valid empty one. NULL strings read as "".
 */
void ledger_clear(struct ledger *l);

/*
 * False: the two are equal but for the fields that `except` names (ends with NULL); else *out is
 * the first that differs.
 */
bool ledger_compare(const struct ledger *a, const struct ledger *b, const char *const *except,
    struct avro_difference *out);

/* The domain of that name, borrowed; NULL: the mix has none. */
const struct ledger_domain *ledger_domain_named(const struct ledger *l, const char *name);

/*
 * Ends a sentence about an unknown domain with those that the mix has: " (did you mean web?); it
 * has code, web". Returns the code that `f` holds.
 */
enum fail_code ledger_fail_domains(const struct ledger *l, const char *unknown, struct failure *f);

/* The step at which a record knows a training run; 0 as well where it does not know it. */
uint64_t ledger_run_step(const struct ledger *l, const char *run);

/* Frees what one answer owns and zeroes it. */
void ledger_answer_clear(struct ledger_answer *a);

/*
 * Gives *bytes (free) with envelope and body. FAIL_MEMORY, or FAIL_DATA where a list is too long.
 * Doubles are finite, counts and positions not negative: the caller establishes it.
 */
enum fail_code ledger_encode(const struct ledger *l, uint8_t **bytes, size_t *n, struct failure *f);

/* Fills *out, which the caller ends with ledger_clear(). FAIL_DATA; *out is then empty. */
enum fail_code ledger_decode(struct ledger *out, const uint8_t *bytes, size_t n, struct failure *f);

/* The same for a body without envelope, written with `schema`, the text of an earlier .avsc. */
enum fail_code ledger_decode_with(
    const char *schema, struct ledger *out, const uint8_t *body, size_t n, struct failure *f);

#endif
