/*
 * serve_change.h -- the body of a change that a client asks for, as what `riffle weights` asks for.
 *
 *     {"weights": {"web": 0.2, "code": 0.8},    domains that are not named keep theirs
 *      "temperature": 1.0, "lr_scale": 0.5,
 *      "global_batch": 128,
 *      "at_step": 12000,                        or null: the next that can be changed
 *      "id": "anneal-2",                        as --id: the mix answers an id once
 *      "who": "ann",                            needed
 *      "dry_run": true}                         only says what would come of it
 *
 * At least one of the first four rows is there. A key that is not of these is refused, and so is
 * one that is there twice. Whether the mix can do it is for the mix to judge.
 *
 * Pure.
 */
#ifndef CLI_SERVE_SERVE_CHANGE_H
#define CLI_SERVE_SERVE_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

enum { SERVE_CHANGE_WHO_MAX = 128 }; /* bytes */

struct serve_change {
	char **word; /* [words_n], each "DOMAIN=WEIGHT" */
	size_t words_n;
	double temperature, lr_scale; /* 0: as they are */
	uint32_t global_batch;        /* the same */
	int64_t at_step;              /* -1: the next */
	char *id, *who;               /* id NULL: a new one */
	bool dry_run;
};

/* Fills a zeroed *out, to be ended with serve_change_clear(), also where it failed. FAIL_USAGE. */
enum fail_code serve_change_parse(
    struct serve_change *out, const char *body, size_t n, struct failure *f);
void serve_change_clear(struct serve_change *c);

#endif
