/*
 * request_print.h -- asks a mix and prints what it answers, for `riffle weights` and `riffle skip`.
 *
 *     accepted: request weights-3f9c...
 *     was accepted before: request weights-3f9c...    the same id was asked earlier, for the same
 *     would be accepted                               --dry-run
 *
 * Below such a line comes the mix's text: when the change takes effect, and what it changes.
 *
 * A refusal is the failure of the command, and so a sentence on stderr, not a line here. So is an
 * answer to a request that was cancelled since, and an id that stands for another request. Of
 * several requests each is printed, and the first refusal is the failure. As JSON each answer,
 * accepted or refused, is an object on a line of its own:
 *
 *     {"id":"weights-3f9c...","accepted":true,"step":104,"answered_before":false,...}
 *
 * A dry run adds `effect`: the numbers of which the answer's text is made (mixer_effect.h).
 */
#ifndef CLI_REQUEST_REQUEST_PRINT_H
#define CLI_REQUEST_REQUEST_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"
#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "consumer/admin/request.h"

/*
 * The rows of --timeout and --id of every command that sends a request; MORE: the end of the help.
 * The command's struct has `uint64_t timeout_s`, 0 where it is not given.
 */
enum { REQUEST_PRINT_TIMEOUT_S = 30 };
#define REQUEST_PRINT_TIMEOUT_ROW(AT)                                                              \
	{                                                                                          \
		.name = "timeout", .kind = OPTION_COUNT, .at = (AT), .min = 1, .max = 86400,       \
		.value = "SECONDS", .without = "30 where a mixer runs, 0 where none does",         \
		.help = "how long to wait for the mixer's answer"                                  \
	}
#define REQUEST_PRINT_ID_ROW(AT, MORE)                                                             \
	{                                                                                          \
		.name = "id", .kind = OPTION_TEXT, .at = (AT), .value = "ID",                      \
		.without = "a new one",                                                            \
		.help = "id of the request; the mix answers an id once, and repeats that answer "  \
			"where it comes again" MORE                                                \
	}

struct request_print_how {
	const struct config *config; /* borrowed; where the broker is, for a dry run */
	FILE *to;                    /* NULL: stdout */
	bool dry_run, json;
	bool named; /* --id is given: it may stand for an earlier request */
	/* For all answers together; 0: REQUEST_PRINT_TIMEOUT_S, none without a mixer. */
	int timeout_ms;
};

/*
 * Sends n requests, or finds the earlier answers to their ids, or, dry, judges each one by itself;
 * prints each answer. FAIL_DATA: one was refused, with the reason, or was cancelled
 * since. FAIL_USAGE: an id was given to a request for something else. FAIL_TIMEOUT: no answer came.
 */
enum fail_code request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f);

/* Prints the answer that `id` got before. FAIL_DATA: there is none, or it was a refusal. */
enum fail_code request_print_earlier(
    struct request *r, const char *id, const struct request_print_how *how, struct failure *f);

/*
 * Gives (json_decref) what a change does: the numbers of the answer's text; null where nothing is
 * accepted.
 */
json_t *request_print_effect(const struct mixer_effect *e);

#endif
