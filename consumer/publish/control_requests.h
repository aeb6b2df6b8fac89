/*
 * control_requests.h -- requests of the control topic: followed, judged by the mixer, answered.
 *
 * `riffle weights` (also with --join and --leave), `skip`, `runs --reset`, `requests --cancel` and
 * `reweight` append a
 * record to <mix>.control and wait for its id in the ledger. The mixer follows the topic from the
 * first record that is not answered; which one that is stands in the ledger (control_next), so that
 * no consumer group is needed.
 *
 *     a record waits -> the open transaction ends -> control_requests_judge() -> a ledger record of
 *     its own, without steps, with the answers, the pending changes and control_next -> next steps
 *
 * Why a record of its own: a change must be in a committed `pending` before the first step that it
 * governs exists. A crash before that commit repeats the judgement, with the same result or
 * another, and nobody has seen the first; a crash behind it finds the change. A replay finds each
 * record's steps in the state of the record before.
 *
 * What one transaction takes is limited, because a ledger record has a largest size, and a mixer
 * that cannot write its record is stuck for ever:
 *
 *     CONTROL_REQUESTS_MAX answers, or ANSWERS_BYTES_MAX of their texts; the rest is next
 *     PENDING_BYTES_MAX for the record with all accepted requests that wait for their steps: one
 *     that would exceed it is refused, whatever it asks for
 *
 * The mixer judges all kinds but RESET, which changes no draw: that one is the lead's (lead.h).
 *
 * A record that is no request becomes a dead letter (dead_letters.h), and control_next passes over
 * it.
 *
 * Thread: one. Memory: what librdkafka has fetched, at most CONTROL_REQUESTS_FETCHED_BYTES, and one
 * transaction's answers.
 */
#ifndef CONSUMER_PUBLISH_CONTROL_REQUESTS_H
#define CONSUMER_PUBLISH_CONTROL_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/properties.h"
#include "consumer/mixer/mixer.h"
#include "consumer/mixer/request_ids.h"
#include "consumer/publish/lead.h"
#include "consumer/publish/output.h"

enum { CONTROL_REQUESTS_FETCHED_BYTES = 1 << 20 };

struct control_requests;

/*
 * What the topic of a domain that wants to join holds: fills *out, which borrows from the callee
 * until the next call. FAIL_CONFIG, FAIL_DATA: why it cannot join, in words for who asked for it.
 */
typedef enum fail_code control_requests_join(
    void *opaque, const char *domain, struct mixer_source *out, struct failure *f);

/*
 * Whether this mixer and its topic take steps of that many sequences. FAIL_CONFIG, FAIL_DATA: why
 * not, in words for who asked for it.
 */
typedef enum fail_code control_requests_batch(
    void *opaque, uint32_t global_batch, struct failure *f);

/* What judges a request beside the mixer: what the broker and this machine allow. */
struct control_requests_judges {
	control_requests_join *join;
	control_requests_batch *batch;
	void *opaque;
};

/*
 * Gives *out, to be ended with control_requests_close(). Copies `mix` and the judges, borrows the
 * properties, and `lead` for its life.
 */
enum fail_code control_requests_open(struct control_requests **out, const char *mix,
    const struct properties *properties, struct lead *lead,
    const struct control_requests_judges *judges, struct failure *f);
void control_requests_close(struct control_requests *r); /* NULL is accepted */

/*
 * Reads on behind what `m` has answered. Where that lies outside of what the topic holds, because
 * records were deleted or the topic was recreated, or where the last request before it is none that
 * was answered, it begins at the first one that is kept and warns: nothing that was asked since is
 * passed over, and what was answered is not judged again. FAIL_BROKER.
 */
enum fail_code control_requests_attach(
    struct control_requests *r, const struct mixer *m, struct failure *f);

/* Where it reads on: what the mixer's state takes over after a seek, so that START says it. */
int64_t control_requests_next(const struct control_requests *r);

/*
 * *waits: a record is there. Waits for nothing, unless the topic was cut under the mixer: then it
 * seeks again. FAIL_DENIED: the user may not read it. FAIL_BROKER as control_requests_attach().
 */
enum fail_code control_requests_wait(struct control_requests *r, bool *waits, struct failure *f);

/*
 * The same, but waits until a record is there or the end of the topic was met: what was asked
 * before a mixer attached is answered before its first step. FAIL_BROKER after 30 s, FAIL_STOPPED.
 */
enum fail_code control_requests_catch_up(
    struct control_requests *r, const struct stop *stop, bool *waits, struct failure *f);

/*
 * Takes what waits into the mixer's state, and its answers and dead letters to `o`, whose next
 * commit makes it so. Only while no transaction is open and no answer waits.
 */
enum fail_code control_requests_judge(
    struct control_requests *r, struct mixer *m, struct output *o, struct failure *f);

#endif
