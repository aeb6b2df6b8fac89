/*
 * mix_loss.h -- whether a mix has lost its ledger, or its batch topic, by what the two hold.
 *
 * A topic that was deleted may be missing, or empty once it was created again. Alone it then looks
 * like that of a mix that has not begun, and the user would be told to begin it. The other topic
 * knows better:
 *
 *     the ledger shows no record    and its first ones were deleted      its records are lost
 *     the ledger shows no record    and the batch topic has held some    the ledger is lost
 *     the ledger has steps          and the batch topic never held one   the batch topic is
 *
 * A mixer commits its START before its first batch, and the markers of a transaction are on all
 * lanes within seconds: so an old ledger record is compared, and a young one is not. A mix without
 * copies has no batch topic, and is not judged. A lost tail is the matter of lane_ends.h.
 *
 * Thread: that of the handle.
 */
#ifndef CONSUMER_LEDGER_MIX_LOSS_H
#define CONSUMER_LEDGER_MIX_LOSS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { MIX_LOSS_SETTLED_MS = 10000 }; /* the markers of a transaction are written by then */

enum mix_loss {
	MIX_LOSS_NONE,
	MIX_LOSS_RECORDS,        /* all records of the ledger; a running mixer still knows all */
	MIX_LOSS_LEDGER_MISSING, /* the ledger, which does not exist */
	MIX_LOSS_LEDGER_EMPTY,   /* the ledger, which was created again */
	MIX_LOSS_BATCHES,        /* the batch topic, which was created again */
};

/* What the two topics show. */
struct mix_loss_facts {
	bool ledger;  /* there is a ledger, */
	bool emptied; /* which shows no record, because all were deleted (offsets.h), */
	bool any;     /* or shows one: */
	int64_t step_next, age_ms;
	bool batches; /* there is a batch topic, */
	bool held;    /* and some partition has held a record, kept or not */
};

/* Pure. */
enum mix_loss mix_loss_judge(const struct mix_loss_facts *facts);

/*
 * FAIL_DATA with the sentence for a loss other than MIX_LOSS_NONE. `step_next`: the ledger's next
 * step, if it has records.
 */
enum fail_code mix_loss_fail(
    enum mix_loss loss, const char *mix, int64_t step_next, struct failure *f);

/*
 * FAIL_DATA: a topic of the mix is lost; the text says what happened, and the way out. Otherwise
 * *loss is MIX_LOSS_NONE. `sure`: report a loss only if a second look confirms it
 * (kafka_look_again()). `rk` is a KAFKA_READER with nothing assigned; each request waits timeout_ms
 * at most.
 */
enum fail_code mix_loss_check(rd_kafka_t *rk, const char *mix, enum mix_loss *loss, bool sure,
    int timeout_ms, struct failure *f);

/*
 * Of the batch topic as the handle sees it. *there: it exists. *held: some partition has held
 * a record, kept or not.
 */
enum fail_code mix_loss_ask_batches(
    rd_kafka_t *rk, const char *mix, bool *there, bool *held, int timeout_ms, struct failure *f);

#endif
