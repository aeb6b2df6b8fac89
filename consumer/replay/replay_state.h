/*
 * replay_state.h -- what a replay holds: shared by replay.c, which walks along the ledger,
 * replay_steps.c, which derives and compares the steps of one transaction, replay_ledger.c, which
 * compares ledger records, and replay_publish.c, which writes the other mix. Nobody else includes
 * it.
 */
#ifndef CONSUMER_REPLAY_REPLAY_STATE_H
#define CONSUMER_REPLAY_REPLAY_STATE_H

#include "common/base/names.h"
#include "consumer/publish/assembler.h"
#include "consumer/replay/batch_compare.h"
#include "consumer/domain/feed.h"
#include "consumer/publish/lane_record.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/ledger_plan.h"
#include "consumer/replay/replay.h"
#include "consumer/reader/step_records.h"

enum { REPLAY_OPEN_MS = 15000, REPLAY_WAIT_MS = 60000, REPLAY_REASON_BYTES = 256 };

/* The first record of a transaction that is not as derived. */
struct replay_finding {
	bool any;
	uint64_t step;
	uint32_t lane;
	int64_t offset;
	struct batch_difference difference;
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

struct republish;

struct replay {
	const struct replay_options *o;
	const char *mix;
	struct ledger_log *log;
	struct ledger before, now; /* records k-1 and k */
	int64_t before_at, now_at; /* their offsets */
	bool before_sure;          /* record k-1 was derived itself */
	struct ledger_plan plan;   /* of `now` */
	struct lane_mix head;      /* of `now` */
	struct step_records *records;
	struct step_record *record; /* [lanes]: of the step at hand */
	uint64_t compare_from;      /* steps below are not in the batch topic */
	struct feed *feed;
	char corpus[NAME_MAX_BYTES + 1]; /* that the feed reads */
	struct assembler *assembler;     /* in the state of `before`; NULL: to be opened */
	struct replay_finding finding;
	struct replay_bad bad;
	struct republish *other; /* NULL: none */
	struct replay_result *result;
};

/* replay_ledger.c: FAIL_DATA says which record and field, and that the ledger is the odd one out */

/* What record k must be by itself and behind record k-1. */
enum fail_code replay_check_record(struct replay *r, struct failure *f);
/* The very first record of a mix, which has none before it. */
enum fail_code replay_check_first(struct replay *r, struct failure *f);
/* A record without steps: a START, or answers to requests. */
enum fail_code replay_check_standing(struct replay *r, struct failure *f);
/* The derived state against record k, and with it the finding of the transaction, if any. */
enum fail_code replay_judge(struct replay *r, const struct mixer *m, struct failure *f);
/* "topic X, offset N (steps a..b)" in front of the sentence, and the verdict behind it. */
enum fail_code replay_fail_ledger(
    const struct replay *r, const struct ledger *l, int64_t offset, struct failure *f);

/* replay_steps.c */

/* Derives the steps of record k and what ends the mix there, compares, and judges. */
enum fail_code replay_steps(struct replay *r, struct failure *f);

/* replay_publish.c */

enum fail_code republish_open(struct replay *r, struct failure *f);
void republish_close(struct republish *p); /* NULL is accepted */
/* The other mix holds the whole range, and its end. */
bool republish_complete(const struct republish *p);
/* `m` stands before a step that may be the first one to write: begins the mix, or goes on. */
enum fail_code republish_begin(struct replay *r, const struct mixer *m, struct failure *f);
/* A step that `m` has just taken. */
enum fail_code republish_step(
    struct replay *r, const struct mixer *m, const struct assembled *step, struct failure *f);
/* Record k is derived whole: the other ledger gets it. */
enum fail_code republish_record(struct replay *r, struct failure *f);

#endif
