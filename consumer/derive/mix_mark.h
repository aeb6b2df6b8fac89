/*
 * mix_mark.h -- tells whether a mix is the mix of a checkpoint.
 *
 * A step number means nothing in another mix. The topics of a mix may be deleted and created again
 * under the same name: with the same configuration and data its steps are the same ones, with
 * another seed or other weights they are not. So a checkpoint carries a mark besides its step: the
 * schedule hash, and the rolling hash of all choices below a step of the ledger. Both depend on
 * what was chosen alone, not on offsets or on when it was written.
 *
 * The ledger has the hash where a transaction ends, and where that is depends on the clock: a mix
 * that is made again has its records at other steps. So the choices between the last record and the
 * step are derived, as a replay derives them, both when the mark is made and when it is compared:
 *
 *     ledger when it was made    0      16      32      48       step 40: 8 steps are drawn again
 *     ledger when it is loaded   0    12      28      44         step 40: 12 steps
 *
 * Drawing a step again needs no data, unless weights count tokens and sequences differ in them.
 * The mark of such a mix is that of the last record at or below the step, so that a checkpoint
 * costs no reading. Only the comparison reads the sequences of that one transaction.
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
 * The mark of a step: of the last record at or below it, or, if that can be derived without data,
 * of the step itself. *any: false where the ledger does not exist yet, or has no record at or below
 * the step. `timeout_ms` is the limit of each request.
 */
enum fail_code mix_mark_find(struct mix_mark *out, bool *any, const char *mix,
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
