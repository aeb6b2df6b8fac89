/*
 * output.h -- all that a mix writes, in transactions: steps on their lanes, the ledger record that
 * speaks of them, dead letters, the mixer's offsets.
 *
 *     CLOSED --output_open()--> IDLE --output_step(), or a commit of no steps--> OPEN
 *        ^                       ^                                                |
 *        |                       +---- output_commit(), output_end(): FAIL_NONE --+
 *        +---- output_close(), after any failure: the outcome is unknown ---------+
 *
 * One transaction holds several steps, because a commit costs a broker some milliseconds whatever
 * is in it, and each lane a marker: it is ended when it holds mix.transaction_bytes or is old
 * enough, and whenever something has to be in the ledger first (a request, an end, a wait). While
 * no transaction is full the trainers keep pace, and each ends at transaction_first_ms; each that
 * was full lets the next one become twice as old, up to mix.transaction_ms, or to what a short
 * transaction.timeout.ms leaves (transactions_times()). Its ledger record is
 * written last and speaks of all of it: steps [step_first, step_next), the state behind them, and
 * the answers to requests. So the ledger's last record always is the state behind the last step
 * that anyone can see.
 *
 * The end of a mix: each lane gets a record `last` without sequences, in one transaction with the
 * ledger's END, so that a trainer that has read its lane to that record knows that no step follows.
 *
 * Invariant: `open` exactly while the handle has a transaction; answers wait only between
 * output_add_answer() and the next commit.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_OUTPUT_H
#define CONSUMER_PUBLISH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/metrics/metrics.h"
#include "common/record/ledger.h"
#include "consumer/derive/assembler.h"
#include "consumer/domain/domains.h"
#include "consumer/domain/last_drawn.h"
#include "consumer/publish/dead_letters.h"
#include "consumer/publish/lead.h"
#include "consumer/publish/transactions.h"

/* What all records of this mixer have in common; all borrowed for the output's life. */
struct output_source {
	const struct config *config;
	const char *config_text;
	uint64_t schedule; /* its hash */
	uint64_t mixer_id;
	const struct domains *domains; /* topics for the offsets; the tokenizer */
	const struct lead *lead;       /* where runs stand, for the ledger */
	struct kafka_stats *stats;     /* of the handle that writes; NULL: none are taken */
};

struct output {
	struct output_source of;
	struct transactions *transactions; /* NULL: closed */
	bool open;                         /* a transaction is: */
	uint64_t step_first;               /* its first step, */
	uint64_t bytes;                    /* what it holds, */
	uint64_t sequences, tokens;        /* in sequences, and in targets without padding, */
	int64_t since_ms;                  /* when it was begun, */
	int64_t age_ms;                    /* and how old it may become: */
	int64_t age_first_ms, age_most_ms; /* after a wait, and at most */
	struct ledger_answer *answer;      /* [answers_n], for the next ledger record */
	size_t answers_n;
	struct dead_letters letters;       /* for the next transaction that ends */
	struct last_drawn drawn;           /* of each domain, up to the last step taken */
	uint64_t bytes_total, steps_total; /* published by this process, for log and metrics */
	uint64_t sequences_total, tokens_total;
	uint64_t committed_total, aborted_total, in_doubt_total; /* transactions */
	struct metrics_histogram seconds;                        /* of those committed */
};

/* A closed one. */
void output_init(struct output *o, const struct output_source *of);

/* Opens a handle, which fences every other mixer of this mix. Only while closed. */
enum fail_code output_open(struct output *o, struct failure *f);

/* Every record of `lane` is to be delivered at `offset_next` or behind it, its end (open only). */
void output_expect(struct output *o, uint32_t lane, int64_t offset_next);
/* The same of the ledger. */
void output_expect_ledger(struct output *o, int64_t offset_next);
/* transactions_check_ends(); open, and no transaction is. */
enum fail_code output_check_ends(const struct output *o, const int64_t *end, struct failure *f);

/* What was drawn of each domain before the next step, as the ledger has it. Takes what *l owns. */
void output_resume(struct output *o, struct last_drawn *l);

/* FAIL_NONE: no other mixer's handle was opened since ours. No transaction is open. FAIL_FENCED. */
enum fail_code output_check_owner(struct output *o, struct failure *f);

/* Forgets what is not committed. Closing a closed one is allowed. */
void output_close(struct output *o);

/* Takes what librdkafka says of the handle, which comes by itself only while records are put. */
void output_serve(struct output *o);

/* Puts the step that `m` took last into a transaction, begun where none is open. */
enum fail_code output_step(
    struct output *o, const struct mixer *m, const struct assembled *step, struct failure *f);

/* How old the transaction behind this one may become, which was full or was not. Pure. */
int64_t output_age_next(const struct output *o, bool full);

/* The open transaction holds enough, or is old enough, to be ended. False: none is open. */
bool output_full(const struct output *o);

/*
 * Ends the open transaction, or one of its own where there are no steps, with a ledger record of
 * `kind` and the state of `m`. Answers that wait go into the record. FAIL_DATA: the record would be
 * larger than its topic takes. After any failure the output is good for output_close() only.
 */
enum fail_code output_commit(
    struct output *o, const struct mixer *m, enum ledger_kind kind, struct failure *f);

/* The record on each lane that ends the mix, and the END of the ledger. */
enum fail_code output_end(struct output *o, const struct mixer *m, struct failure *f);

/* Takes what *answer owns, also on failure. */
enum fail_code output_add_answer(struct output *o, struct ledger_answer *answer, struct failure *f);

/* How large a ledger record of now is. Only while no answer waits. */
enum fail_code output_ledger_bytes(
    const struct output *o, const struct mixer *m, size_t *n, struct failure *f);

#endif
