/*
 * lane_output.h -- a step's lanes, as records of a transaction.
 *
 * Of a mix without copies (`mix.batches: derived`) nothing is put. What the records would hold
 * counts all the same, so that transactions have about as many steps as with copies: a reader that
 * starts in the midst of one draws it from its beginning.
 *
 * Thread: that of the transactions.
 */
#ifndef CONSUMER_PUBLISH_LANE_OUTPUT_H
#define CONSUMER_PUBLISH_LANE_OUTPUT_H

#include "consumer/derive/lane_record.h"
#include "consumer/publish/transactions.h"

/*
 * Puts the step that `m` took last, number `number`, into the open transaction of `t`: a record on
 * each lane. With `step` NULL: the records that end the mix there. Adds their sizes to *bytes.
 */
enum fail_code lane_output_put(struct transactions *t, const struct lane_mix *mix,
    const struct mixer *m, uint64_t number, const struct assembled *step, uint64_t *bytes,
    struct failure *f);

#endif
