/*
 * mix_loss.h -- whether a mix has lost its ledger, or its batch topic, by what the two hold.
 *
 * A topic that was deleted may be missing, or empty once it was created again. Alone it then looks
 * like that of a mix that has not begun, and the user would be told to begin it. The other topic
 * knows better:
 *
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

/*
 * FAIL_DATA: one of them is lost; what happened, and the way out. `rk` is a KAFKA_READER with
 * nothing assigned.
 */
enum fail_code mix_loss_check(rd_kafka_t *rk, const char *mix, int timeout_ms, struct failure *f);

/* The same for a ledger that is known to hold no record; it may be missing. */
enum fail_code mix_loss_check_ledger(
    rd_kafka_t *rk, const char *mix, bool exists, int timeout_ms, struct failure *f);

/* The sentence about the ledger, FAIL_DATA. */
enum fail_code mix_loss_fail_ledger(const char *mix, bool exists, struct failure *f);

#endif
