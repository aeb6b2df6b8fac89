/*
 * weights_print.h -- how `riffle weights` shows what is in force, what is to come and what was.
 *
 *     mix      pretrain, next step 60
 *     version  1 since step 0, by config
 *     phase    none, lr_scale 1, temperature 1, global_batch 64
 *
 *     DOMAIN       WEIGHT        SHARE  STATE
 *     code            0.3   30.000000%  active
 *     prose           0.7   70.000000%  active
 *
 *     to come
 *       step 104  weights code=0.5  (request weights-3f9c... by ann@box)
 *
 *     VERSION         STEP  BY
 *           1            0  config  code=0.3 prose=0.7
 *
 * "to come" lists accepted requests, in the order in which they take effect, and behind them the
 * phases of the configuration that have not begun; without any the part is left out. Versions come
 * newest first, each with its first eight domains; the JSON has all.
 */
#ifndef CLI_REQUEST_WEIGHTS_PRINT_H
#define CLI_REQUEST_WEIGHTS_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/ledger.h"
#include "consumer/ledger/weight_history.h"

/*
 * Prints to stdout, as a table or as JSON, what `last` says (the ledger's last record; NULL: the
 * mix has not started, FAIL_DATA), and its last 1 <= `history_max` <= WEIGHT_HISTORY_MAX versions,
 * which it reads from the ledger.
 */
enum fail_code weights_print(const char *mix, const struct properties *properties,
    const struct ledger *last, size_t history_max, bool json, struct failure *f);

/* The same from a record and a history that are there. Asks no broker. */
enum fail_code weights_print_history(const char *mix, const struct ledger *last,
    const struct weight_history *history, bool json, struct failure *f);

#endif
