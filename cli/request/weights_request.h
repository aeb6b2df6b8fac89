/*
 * weights_request.h -- the request of `riffle weights`: new weights, a domain that joins or leaves.
 *
 * Which kind of request it is follows from the words:
 *
 *     web=0.2 code=0.8     WEIGHTS  of two domains; the others keep theirs
 *     --join papers=0.1    JOIN     papers, with a weight
 *     papers=0.1           JOIN     too, where the configuration has papers and the mix has not
 *     --leave web          LEAVE    web
 *
 * JOIN and LEAVE may carry weights of other domains. Only one domain joins or
 * leaves by one request, since its kind stands in the request once.
 *
 * Pure but for the new id.
 */
#ifndef CLI_REQUEST_WEIGHTS_REQUEST_H
#define CLI_REQUEST_WEIGHTS_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "common/record/control.h"
#include "common/record/ledger.h"

/* What the command line asks for; borrows it. */
struct weights_request_change {
	char *const *word; /* [words_n], each "DOMAIN=WEIGHT" */
	size_t words_n;
	const char *join;             /* "DOMAIN=WEIGHT"; NULL: none */
	const char *leave;            /* a domain; NULL: none; not both */
	const char *id;               /* NULL: a new one */
	int64_t at_step;              /* -1: the next that is not published */
	double temperature, lr_scale; /* 0: as they are */
	uint32_t global_batch;        /* the same */
};

/*
 * Fills a zeroed *out, to be cleared with control_clear(), also where it failed. A weight for a
 * domain that the configuration has, and the mix by `last` (NULL: not started) has not, lets that
 * domain join. FAIL_USAGE: a word is wrong, or two domains would join or leave by one request.
 * FAIL_DATA: a domain that neither the mix nor the configuration has.
 */
enum fail_code weights_request(struct control *out, const struct weights_request_change *change,
    const struct ledger *last, const struct config *c, struct failure *f);

#endif
