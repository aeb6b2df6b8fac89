/*
 * mix_mark.h -- tells whether a mix is the mix of a checkpoint.
 *
 * A step number means nothing in another mix. The topics of a mix may be deleted and created again
 * under the same name: with the same configuration and data its steps are the same ones, with
 * another seed or other weights they are not. So a checkpoint carries a mark besides its step: the
 * schedule hash, and the rolling hash of all choices below a step of the ledger. Both depend on
 * what was chosen alone, not on offsets or on when it was written.
 *
 * The mark of step s is that of the last ledger record at or below s. When a mix is made again, its
 * transactions end at other steps, so its ledger may have no record at that step. Then the choices
 * are derived up to it, as a replay derives them:
 *
 *     ledger when it was made    0      16      32      48       step 40: the mark is of step 32
 *     ledger when it is loaded   0    12      28      44
 *     compared                               28 --> 32           4 steps are drawn once more
 *
 * Drawing a step again needs no data, unless weights count tokens and sequences differ in them:
 * then the sequences of one transaction are read from the domain topics.
 *
 * Thread: any. Each call connects for itself.
 */
#ifndef CONSUMER_DERIVE_MIX_MARK_H
#define CONSUMER_DERIVE_MIX_MARK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"

/* A value that owns nothing. */
struct mix_mark {
	uint64_t schedule;
	uint64_t step;    /* the choices of all steps below it are hashed */
	uint64_t choices; /* 0 for step 0 */
};

/*
 * The mark of a step. *until: the steps from out->step to below it have the same mark for good.
 * *any: false where the ledger does not exist yet, or has no record at or below the step. `timeout_ms`
 * is the limit of each request.
 */
enum fail_code mix_mark_find(struct mix_mark *out, uint64_t *until, bool *any, const char *mix,
    const struct properties *properties, int timeout_ms, uint64_t step, struct failure *f);

enum mix_mark_verdict {
	MIX_MARK_SAME,
	MIX_MARK_OTHER,   /* the mix is another one; *f has a sentence, of code FAIL_DATA */
	MIX_MARK_EARLY,   /* the ledger has not come so far; as far as it goes nothing differs */
	MIX_MARK_UNKNOWN, /* nobody can tell: *f says why */
};

/* FAIL_BROKER, FAIL_MEMORY: there is no verdict. */
enum fail_code mix_mark_compare(const struct mix_mark *m, const char *mix,
    const struct properties *properties, int timeout_ms, enum mix_mark_verdict *verdict,
    struct failure *f);

#endif
