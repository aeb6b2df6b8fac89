/*
 * request_list.h -- every request that a mix was sent, and what became of it.
 *
 * The control topic has the requests in their order, the ledger the answers:
 *
 *     open        in the topic, and no ledger record has an answer to its id
 *     accepted    answered, and still pending in the ledger's last record
 *     in force    accepted, and pending no more: its step has been drawn, or comes next
 *     cancelled   accepted, and an accepted CANCEL names it
 *     refused
 *
 * An id that was sent twice is one request: the first record that is kept counts. The control topic
 * is read whole the first time, and from there on what came since; in the ledger the answers are
 * searched for.
 *
 * Thread: one.
 */
#ifndef CONSUMER_ADMIN_REQUEST_LIST_H
#define CONSUMER_ADMIN_REQUEST_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/control.h"
#include "common/record/ledger.h"

enum request_state {
	REQUEST_OPEN,
	REQUEST_ACCEPTED,
	REQUEST_IN_FORCE,
	REQUEST_CANCELLED,
	REQUEST_REFUSED,
};
extern const char *const request_state_names[];

struct request_entry {
	struct control asked;
	struct ledger_answer answer; /* empty while it is open */
	enum request_state state;
	int64_t offset, time_ms; /* of its record in the control topic */
	bool unanswered; /* the mix has heard it, and the ledger that is kept has no answer */
};

/* A zeroed one is a valid empty one. */
struct request_list {
	struct request_entry *entry;
	size_t n;
	size_t unreadable; /* records of the topic that are no requests */
	int64_t next;      /* offset in the control topic from which it is read on */
};

/*
 * Fills a zeroed *out, to be ended with request_list_close(), also after a failure. `last` is the
 * ledger's last record, NULL: the mix has not started.
 */
enum fail_code request_list_read(struct request_list *out, const char *mix,
    const struct properties *properties, const struct ledger *last, struct failure *f);

/*
 * Reads what came since the last time, requests and answers, and says of all what became of them.
 * Of more than `most` requests the oldest are dropped. After a failure it has what it had, or more.
 */
enum fail_code request_list_read_on(struct request_list *l, const char *mix,
    const struct properties *properties, const struct ledger *last, size_t most, struct failure *f);
void request_list_close(struct request_list *l);

/* The request of that id; NULL: there is none. */
const struct request_entry *request_list_find(const struct request_list *l, const char *id);

/* Says of each entry what became of it: from its answer and `last`. Pure. */
void request_list_judge(struct request_list *l, const struct ledger *last);

#endif
