/*
 * status_print.h -- a status as a table for people and as JSON for programs.
 *
 *   corpus   quick
 *   mix      pretrain, running
 *   step     16 sequences of 512 tokens on 4 lanes
 *   mixers   active 10.0.0.7; standby 10.0.0.8
 *   next     step 60, limit step 104
 *   weights  version 1 since step 0, by the configuration
 *   rates    652 steps/s, 10.4 k sequences/s, 5.35 M tokens/s (over 0.1 s up to the last record)
 *   written  0.3 s ago
 *
 *   RUN              STEP          LAG      MAY LAG
 *   trainers           40           20           64
 *
 *   DOMAIN    SEQUENCES   SEALED   WEIGHT    INTENDED      TARGET    REALISED    OFF        TAKEN
 *   code           2115      yes      0.3  30.000000%  30.000000%  30.000000%  +0.00          288
 *   prose          4217      yes      0.7  70.000000%  70.000000%  70.000000%  +0.00          672
 *
 * EPOCH and POSITION follow these columns. A line is left out where it has nothing to show. Below
 * come the problems, each behind a "!" and its code. With reported losses there is a column LOSS. A
 * corpus without a mix has only its first line, the first three columns of the domains, and the
 * problems.
 *
 * The table may change with any version; scripts read the JSON.
 */
#ifndef CLI_STATUS_STATUS_PRINT_H
#define CLI_STATUS_STATUS_PRINT_H

#include <stdio.h>

#include "consumer/status/status.h"

/* `st` is complete, with what status_derive() makes; so it is for the JSON. */
void status_print_table(const struct status *st, FILE *to);

/*
 * One JSON object and a newline; on one line where `compact`. Its keys are stable: they are only
 * ever added to. Hashes are strings of 16 hex digits; what is not known is null.
 */
enum fail_code status_print_json(
    const struct status *st, FILE *to, bool compact, struct failure *f);

/*
 * The runs alone, for `riffle runs`; of a status of status_query_runs() as well.
 *
 *     RUN              STEP        KNOWN          LAG      MAY LAG  SEEN          STATE
 *     trainers            6           20           22            8  -             went back
 *     ablation            -           40            8          any  -             commits lost
 */
void status_print_runs_table(const struct status *st, FILE *to);

/* An array, one object a run: `mix.runs` of the whole status. */
enum fail_code status_print_runs_json(const struct status *st, FILE *to, struct failure *f);

#endif
