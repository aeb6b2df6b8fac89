/*
 * request_print.h -- asks a mix and prints what it answers, for `riffle weights` and `riffle skip`.
 *
 *     accepted: request weights-3f9c...
 *     was accepted before: request weights-3f9c...    the same id was asked earlier
 *     would be accepted                               --dry-run
 *
 * Below such a line comes the mix's text: when the change takes effect, and what it changes.
 *
 * A refusal is the failure of the command, and so a sentence on stderr, not a line here. Of several
 * requests each is printed, and the first refusal is the failure. As JSON each answer, accepted or
 * refused, is an object on a line of its own:
 *
 *     {"id":"weights-3f9c...","accepted":true,"step":104,"answered_before":false,...}
 */
#ifndef CLI_REQUEST_REQUEST_PRINT_H
#define CLI_REQUEST_REQUEST_PRINT_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "consumer/admin/request.h"

struct request_print_how {
	const struct config *config; /* borrowed; where the broker is, for a dry run */
	bool dry_run, json;
	int timeout_ms; /* for all answers together */
};

/*
 * Sends n requests, or finds the earlier answers to their ids, or, dry, judges each one by itself;
 * prints each answer to stdout. FAIL_DATA: one was refused, with the reason. FAIL_TIMEOUT: no
 * answer came.
 */
enum fail_code request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f);

/* Prints the answer that `id` got before. FAIL_DATA: there is none, or it was a refusal. */
enum fail_code request_print_earlier(
    struct request *r, const char *id, const struct request_print_how *how, struct failure *f);

#endif
