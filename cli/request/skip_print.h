/*
 * skip_print.h -- what `riffle skip --list` prints: the sequences that no draw takes.
 *
 *     PLACE                         ORDINALS  SINCE
 *     web/0                   120000..120512  in force
 *     code/3                            7..8  step 48300 (request skip-3f9c... by ann@box)
 *
 *     PLACE                          ORDINAL  quarantined: the mixer found it damaged
 *     web/0                             9131  offset 9131: the frame's hash is wrong
 */
#ifndef CLI_REQUEST_SKIP_PRINT_H
#define CLI_REQUEST_SKIP_PRINT_H

#include <stdbool.h>

#include "common/base/failure.h"
#include "common/record/ledger.h"

/*
 * Prints to stdout what `last`, the ledger's last record, keeps out and what accepted requests will
 * keep out. NULL: the mix has not started, FAIL_DATA.
 */
enum fail_code skip_print(const char *mix, const struct ledger *last, bool json, struct failure *f);

#endif
