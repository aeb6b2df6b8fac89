/*
 * replay_internal.h -- what a replay holds: shared by replay.c, which walks along the ledger and
 * derives the steps of each record, and replay_verdict.c, which judges. Nobody else includes it.
 */
#ifndef CONSUMER_REPLAY_REPLAY_INTERNAL_H
#define CONSUMER_REPLAY_REPLAY_INTERNAL_H

#include "common/base/names.h"
#include "consumer/batches/step_records.h"
#include "consumer/derive/derivation.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/replay/batch_compare.h"
#include "consumer/replay/replay.h"
#include "consumer/replay/republish.h"

enum { REPLAY_REASON_BYTES = 256 };

/* The first record of a transaction that is not as derived. */
struct replay_finding {
	bool any;
	uint64_t step;
	uint32_t lane;
	int64_t offset;
	struct batch_compare_difference difference;
	char domain[NAME_MAX_BYTES + 1];
};

/* The first sequence that the mixer drew, and that fails the check now. */
struct replay_bad {
	bool any;
	struct mixer_draw draw;
	int64_t offset;
	char domain[NAME_MAX_BYTES + 1];
	char reason[REPLAY_REASON_BYTES];
};

/* Record k is the one whose transaction is derived; record k-1 says where the mixer was before. */
struct replay {
	const struct replay_options *o;
	const char *mix;
	struct ledger_log *log;
	struct ledger before, now; /* records k-1 and k */
	int64_t before_at, now_at; /* their offsets */
	bool before_sure;          /* record k-1 was derived itself, and so is not at fault */
	struct derivation derived; /* of `now`; its assembler in the state of `before` */
	struct step_records *records;
	struct step_record *record; /* [lanes]: of the step at hand */
	uint64_t compare_from;      /* steps below are not in the batch topic */
	struct replay_finding finding;
	struct replay_bad bad;
	struct republish *other; /* NULL: none */
	bool ledger_ended;       /* the ledger's last record is an END, */
	int64_t last_at;         /* and its offset */
	struct replay_result *result;
};

/*
 * ---- replay_verdict.c ----
 *
 * FAIL_DATA gives the record, the field, and who is the one that differs.
 */

/* What record k must be by itself and behind record k-1. */
enum fail_code replay_verdict_record(const struct replay *r, struct failure *f);
/* The very first record of a mix, which has none before it. */
enum fail_code replay_verdict_first(const struct replay *r, struct failure *f);
/* A record without steps: a START, or answers to requests. */
enum fail_code replay_verdict_standing(const struct replay *r, struct failure *f);
/* After the steps of record k: its state against that of `m`, and the finding, if there is one. */
enum fail_code replay_verdict_steps(
    const struct replay *r, const struct mixer *m, struct failure *f);
/* Beyond the ledger: the finding, or FAIL_NONE where there is none. */
enum fail_code replay_verdict_beyond(const struct replay *r, struct failure *f);
/* Puts behind the sentence in *f why steps beyond the ledger are not as derived; gives its code. */
enum fail_code replay_fail_beyond(struct failure *f);
/*
 * Blames the ledger for what *f says: puts "topic X, offset N (steps a..b)" in front of it and the
 * verdict behind it. `l` is r->before or r->now, read at `offset`. Returns FAIL_DATA.
 */
enum fail_code replay_verdict_ledger(
    const struct replay *r, const struct ledger *l, int64_t offset, struct failure *f);

#endif
