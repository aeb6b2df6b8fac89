/*
 * request_dry.h -- what a mix would answer to a request, without asking it: judged by a mixer in
 * the state of the ledger's last record.
 */
#ifndef CONSUMER_ADMIN_REQUEST_DRY_H
#define CONSUMER_ADMIN_REQUEST_DRY_H

#include "common/config/config.h"
#include "common/record/control.h"
#include "common/base/failure.h"
#include "common/record/ledger.h"

/*
 * Fills *out (ledger_answer_clear()). `c` names the broker; a domain that would join is looked at
 * there. FAIL_DATA: the ledger contradicts itself.
 */
enum fail_code request_dry(struct ledger_answer *out, const struct ledger *last,
    const struct control *request, const struct config *c, struct failure *f);

#endif
