/*
 * arrivals_log.h -- the topic <corpus>.arrivals: what producers of live inputs have read, and in
 * which order. live_order.h says what the records mean.
 *
 * One partition holds the records of all live inputs of the corpus, each with the name of its
 * input: a producer reads all of it once, and keeps its own. Records are small (64 bytes and a name
 * for each stretch of a file), and the order is needed for ever, so the topic is never trimmed.
 *
 *     arrivals_log_read()   what is there, into a live_order, and where the log ends
 *     arrivals_log_open()   "I take over behind portion n": whatever an earlier producer of this
 *                           input, still alive somewhere, appends later is void (live_order_apply)
 *     arrivals_log_add()    portions, before anything that is made of them is published
 *
 * Each record must be the next one of its input after what this producer has seen. If its offset
 * shows that other records came before it, these are read. If one of them is of the same input,
 * another producer has taken over, and the call fails with FAIL_FENCED. So a producer that was
 * stopped for a minute finds out before it publishes from an order that is void.
 *
 * Thread: opened by one thread, then used by one other until it is closed.
 */
#ifndef PRODUCER_WRITER_ARRIVALS_LOG_H
#define PRODUCER_WRITER_ARRIVALS_LOG_H

#include <librdkafka/rdkafka.h>

#include "common/config/config.h"
#include "producer/input/live_order.h"

enum {
	ARRIVALS_LOG_OPEN_MS = 30000,    /* for the record that takes over */
	ARRIVALS_LOG_WAIT_MS = 200,      /* for others, until the caller looks whether to stop */
	ARRIVALS_LOG_SILENT_MS = 300000, /* all that it may take, as with sequences */
	ARRIVALS_LOG_CLOSE_MS = 5000,    /* for what is on its way when it is closed */
	/* A record ends with the portion that reaches this. */
	ARRIVALS_LOG_RECORD_BYTES = 256 << 10,
	ARRIVALS_LOG_INPUT_BYTES = 160,
};

/*
 * Reads the order of an input into *r (which is empty). `inputs` are the names that it may have
 * had, since any of the domains that share it may have come first; *input is the one to continue
 * as. *once: some part of the input was read as a live one before, this part or another one.
 * *end: the offset after the last record. Records that cannot be decoded are passed over with one
 * warning, PRODUCE-ARRIVALS. FAIL_CONFIG: several have an order. FAIL_DATA: portions are missing.
 */
enum fail_code arrivals_log_read(struct live_order *r, bool *once, size_t *input, int64_t *end,
    rd_kafka_t *reader, const char *corpus, char (*inputs)[ARRIVALS_LOG_INPUT_BYTES],
    size_t inputs_n, struct failure *f);

struct arrivals_log;

/*
 * Takes the input over behind portion `first` as `input`; that is in the log when this returns. The
 * log was read up to `end`. Gives *out, to be ended with arrivals_log_close(); keeps `reader`, with
 * which nobody else may read until then. FAIL_FENCED: another producer has taken over since.
 */
enum fail_code arrivals_log_open(struct arrivals_log **out, const struct config *c,
    const char *input, uint64_t first, rd_kafka_t *reader, int64_t end, struct failure *f);

/*
 * Waits up to ARRIVALS_LOG_CLOSE_MS for what is on its way: the next producer of the input would
 * take it for another producer's. NULL is accepted.
 */
void arrivals_log_close(struct arrivals_log *l);

/*
 * Appends portions; they are in the log when this returns FAIL_NONE. FAIL_TIMEOUT: they are not
 * yet, and a call with n = 0 continues to wait. FAIL_BROKER: it is not known whether they are.
 * FAIL_FENCED: another producer has taken over; they may be void.
 */
enum fail_code arrivals_log_add(
    struct arrivals_log *l, const struct arrivals_portion *p, size_t n, struct failure *f);

#endif
