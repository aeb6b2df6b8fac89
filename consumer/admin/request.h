/*
 * request.h -- sends a mix a request for a change and reads its answer.
 *
 * The room of the commands that act on a mix or a corpus from outside, while it runs or not:
 * requests (riffle weights, skip, runs, reweight), deleting old steps (riffle retain), exporting a
 * domain (riffle export). None of them is a mixer, and none writes to a topic that a mixer writes
 * to.
 *
 * Files of this room:
 *     request        a request on the control topic, its answer in the ledger; a dry run
 *     request_list   every request that a mix was sent, and what became of it
 *     run_commit     sets the commits of a run to a step
 *     draws          which mixes draw from a domain, before it is deleted
 *     rejects_log    the records of the topic of rejects
 *     retain         deletes the steps of a mix below a given one
 *     export         a domain's set as token files: partition by partition
 *     export_pieces  from the sequences of a partition back to its documents
 *     export_file    writes one token file, whole or not at all
 *
 * A request is a record on the control topic; the answer is in a record of the ledger. An id is
 * answered once: a second request with the same id finds the earlier answer and writes nothing. A
 * request that gets no answer in time stays in the topic and is answered when a mixer runs.
 *
 *     request_open  [request_ledger]  [request_earlier]  request_send  request_wait
 *                         |                                  |            |
 *                   ledger's last record            <mix>.control      ledger, from there on
 *
 * No answer is missed: the ledger is read on from the record that was its last at the opening, and
 * the request is written after that.
 *
 * Thread: one.
 */
#ifndef CONSUMER_ADMIN_REQUEST_H
#define CONSUMER_ADMIN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "common/config/properties.h"
#include "common/record/control.h"
#include "common/record/ledger.h"
#include "consumer/mixer/mixer_effect.h"

enum {
	REQUEST_ASK_MS = 15000, /* limit of one request to the broker */
	REQUEST_ID_BYTES = 32,
	REQUEST_WHO_BYTES = 256,
};

struct request;

struct request_options {
	const char *mix;
	const struct properties *properties;
	const struct stop *stop; /* asked by a signal handler */
};

/* Gives *out, to be ended with request_close(). FAIL_CONFIG: there is no such mix. */
enum fail_code request_open(
    struct request **out, const struct request_options *o, struct failure *f);
void request_close(struct request *r); /* NULL is accepted */

/* The ledger's last record at the opening; NULL: the mix has not started. Borrowed. */
const struct ledger *request_ledger(const struct request *r);

const struct request_options *request_options(const struct request *r);

/* Whether the last request_send() found no mixer that could answer. */
bool request_without_mixer(const struct request *r);

/* What is known of the requests that request_send() was given last, also after a failure of it. */
enum request_sent {
	REQUEST_UNSENT,   /* they are not in the topic */
	REQUEST_IN_DOUBT, /* they, or some, may be: the broker has not said */
	REQUEST_SENT,
};
enum request_sent request_sent(const struct request *r);

/* *found: the id was answered before; out is then to be cleared with ledger_answer_clear(). */
enum fail_code request_earlier(
    struct request *r, const char *id, struct ledger_answer *out, bool *found, struct failure *f);

/*
 * Writes n requests; returns when the broker has all of them. Warns (REQUEST-NO-MIXER) where the
 * election has no member: nobody will answer before a mixer runs.
 */
enum fail_code request_send(
    struct request *r, const struct control *c, size_t n, struct failure *f);

/*
 * Fills out[n] (ledger_answer_clear() each) with the answers to the ids of c[n]. FAIL_TIMEOUT: some
 * are missing, and empty in `out`. FAIL_DATA: the mix has ended. FAIL_STOPPED.
 */
enum fail_code request_wait(struct request *r, const struct control *c, size_t n,
    struct ledger_answer *out, int timeout_ms, struct failure *f);

/* An id that no other request has: 16 hex digits and a dash behind `prefix`. */
enum fail_code request_new_id(
    char out[static REQUEST_ID_BYTES], const char *prefix, struct failure *f);

/* user@host, as far as it is known. */
void request_who(char out[static REQUEST_WHO_BYTES]);

/*
 * What a mix would answer to a request, without sending it: judged by a mixer in the state of
 * `last`, the ledger's last record. Fills *out, to be cleared with ledger_answer_clear(), and,
 * where a change would be accepted, *effect (mixer_effect_clear()). `c` names the broker, which is
 * only asked about a domain that would join. FAIL_DATA: the ledger contradicts itself.
 */
enum fail_code request_dry(struct ledger_answer *out, struct mixer_effect *effect,
    const struct ledger *last, const struct control *request, const struct config *c,
    struct failure *f);

#endif
