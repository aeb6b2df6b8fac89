/*
 * attach.h -- from the ledger to a mixer's state: at the start, and after every doubt.
 *
 * The only truth about a mix is the last committed ledger record. A mixer that starts, or does not
 * know how a transaction ended, throws all that it has in memory away and attaches:
 *
 *     attach_check()   reads the ledger: a configuration that does not fit must not end another
 *                      mixer that works, so what can be refused is refused before it is fenced
 *     output_open()    fences whoever was there; from here on the ledger's end is final
 *     attach_look()    reads it again: is it another mixer's? (claim.h has the races)
 *     attach_compare() do all lanes end with the ledger's last step?
 *     attach_take()    the mixer in the state of that record, or a new one
 *     attach_settle()  where one of these three found damage: transactions that nobody ended are
 *                      aborted, and the three come once more
 *     START            committed by the caller, once in a mixer's life; then attach_started()
 *
 * Attaching while the ledger's leader changes. A new leader first shows records only as far as it
 * knows that its followers have them. For a moment the ledger seems to end with an older record,
 * and a mixer that resumed there would publish steps a second time. Two things stand against it:
 *
 *     - attach_look() comes after output_open(): the broker answers its transactions_open() only
 *       when every earlier transaction is decided and its markers are written: nothing is on its
 *       way;
 *     - kafka_last_record() does not believe the first end that it is shown.
 *
 * A ledger that is empty although lanes hold batches was deleted: that is FAIL_DATA, and never step
 * 0 a second time. So are lanes that do not end with the ledger (lane_ends.h), whichever of the two
 * is behind: a step would be missing for ever, or come twice. The mixer stops there; it is
 * `riffle repair` that writes into the past (docs/design/replay.md says why).
 *
 * The struct also holds what a mix is bound to: the plan, and the configuration's text with its
 * hash, as they go into every record.
 *
 * Thread: one.
 */
#ifndef CONSUMER_PUBLISH_ATTACH_H
#define CONSUMER_PUBLISH_ATTACH_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"
#include "common/record/ledger.h"
#include "consumer/domain/domains.h"
#include "consumer/domain/last_drawn.h"
#include "consumer/mixer/mixer.h"
#include "consumer/plan/config_plan.h"
#include "consumer/publish/claim.h"
#include "consumer/publish/lead.h"

struct lane_end;
struct transactions;

/*
 * What is to be done with a configuration that differs from the ledger's. `confirm` gets the text
 * of all that would change, once, before anything is written; NULL: nobody is asked. Any failure of
 * it is that of the attach.
 */
struct attach_accept {
	bool accept; /* else such a configuration is refused */
	uint64_t
	    until_step; /* no step from here on is published: nothing is accepted without one */
	bool ends;      /* the mix is to end there */
	enum fail_code (*confirm)(void *opaque, const char *changes, struct failure *f);
	void *opaque;
};

struct attach {
	const struct config *config; /* borrowed */
	struct attach_accept accept;
	bool confirmed;
	char ledger_topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *reader;      /* KAFKA_READER for the ledger and the ends of domain topics */
	struct domains *domains; /* borrowed from attach_bind() on */
	struct claim claim;
	struct last_drawn drawn; /* beside the ledger record that was read last */
	int64_t ledger_end;      /* attach_compare(): the ledger ends there, or behind it */
	struct config_plan plan; /* of the configuration; set by attach_bind(), as what follows */
	char *config_text;       /* bound_config.h */
	uint64_t schedule;       /* its hash */
};

/*
 * Draws this mixer's id and opens the reader. Borrows the configuration. *a is to be ended with
 * attach_close(), also on failure.
 */
enum fail_code attach_open(struct attach *a, const struct config *c,
    const struct attach_accept *accept, struct failure *f);
void attach_close(struct attach *a);

/*
 * A reader that met brokers without leaders can go on answering from memory for longer than a
 * question may take: after each failure there is a new one.
 */
enum fail_code attach_renew_reader(struct attach *a, struct failure *f);

/* Makes the plan and the text, once the domains are known. Weights by size may be the ledger's. */
enum fail_code attach_bind(struct attach *a, struct domains *d, struct failure *f);

/* Whether the mix stands at until_step or behind it, and has not ended. Asked before all else. */
enum fail_code attach_reached(struct attach *a, bool *reached, int64_t *step, struct failure *f);

/*
 * The ledger's last record, into *last, which the caller has zeroed; it stays so before the first.
 */
enum fail_code attach_last(struct attach *a, struct ledger *last, struct failure *f);

/*
 * Reads the ledger's last record before anyone is fenced. *found: there is one, now in *last
 * (zeroed by the caller, who ends it with ledger_clear()). FAIL_FENCED: a newer mixer has taken
 * over. FAIL_CONFIG: the configuration does not fit the record, or would be accepted for no step,
 * or the mix is beyond the step at which it is to end, or has ended at another.
 * Whoever is to confirm a changed one is asked here. FAIL_DATA: the record is damaged.
 */
enum fail_code attach_check(struct attach *a, struct ledger *last, bool *found, struct failure *f);

/* The same right after output_open(), without the configuration: what is read is final. */
enum fail_code attach_look(struct attach *a, struct ledger *last, bool *found, struct failure *f);

/*
 * Where attach_look(), attach_compare() or attach_take() found a log damaged: aborts what stands on
 * lanes and in the ledger of transactions that nobody ended, with the handle `t`, after which the
 * caller looks once more. Every earlier transaction is decided, so that nobody else will. Brokers
 * lose markers, and those of Kafka 4.3 and 4.4 never write them where a partition has no leader as
 * the coordinator starts (KAFKA-20734). No reader has seen what is aborted. *settled: there was
 * some. FAIL_FENCED, FAIL_BROKER and others.
 */
enum fail_code attach_settle(
    struct attach *a, struct transactions *t, bool *settled, struct failure *f);

/*
 * Compares the last record of each lane with the ledger's, *last, right after attach_look() found
 * it. Gives *out[*lanes] (free), the ends of the lanes as they were compared; NULL: they could not
 * be read. FAIL_DATA: a lane or the ledger has lost its end, or another mixer has taken over
 * meanwhile and writes: the caller finds out by its handle.
 */
enum fail_code attach_compare(struct attach *a, const struct ledger *last, struct lane_end **out,
    uint32_t *lanes, struct failure *f);

/* Gives *end (free), also with a failure: of each partition of the batch topic, for readers. */
enum fail_code attach_ends(struct attach *a, int64_t **end, struct failure *f);

/*
 * Gives *out, the mixer in the state of *last, or a new one where nothing was found; it may be set
 * on failure, too. *over: the record is an END, and the mix has nothing more to do. Adds to the
 * domains those that joined by request. FAIL_FENCED, FAIL_CONFIG, FAIL_DATA as above; FAIL_DATA
 * also where a domain log is not the one that the mix has drawn from (last_drawn.h).
 */
enum fail_code attach_take(struct attach *a, struct lead *lead, const struct ledger *last,
    bool found, struct mixer **out, bool *over, struct failure *f);

/* Our START is committed. */
void attach_started(struct attach *a);

/*
 * FAIL_FENCED: another mixer's START stands in the ledger. To be called at any time: transactions
 * may be undecided. FAIL_BROKER, FAIL_TIMEOUT: it could not be read.
 */
enum fail_code attach_still_ours(struct attach *a, struct failure *f);

/*
 * Waits until readers see the commit that ended before `step`. A commit is answered when it is
 * decided, and the broker writes the markers that show it afterwards: whoever starts `riffle read`
 * or `riffle replay` when the mixer has exited must find what it has published. FAIL_TIMEOUT.
 */
enum fail_code attach_wait_visible(struct attach *a, uint64_t step, struct failure *f);

#endif
