/*
 * exclusions.h -- the sequences that no draw may take: skipped ranges and quarantined ordinals.
 *
 * Two lists, as the ledger keeps them, and one index over both, which a draw asks.
 *
 *   skips        Ranges that a request took out, less what another took back. Both happen at a
 *                step; undoing the step undoes them (exclusions_keep, exclusions_undo).
 *   quarantined  Single ordinals that turned out to be bad when they were read. They are never
 *                taken back: a bad sequence stays bad.
 *   item         The union of both, sorted by (domain, partition, first), disjoint, and not
 *                touching: a look-up is one binary search, in whichever order the ranges came.
 *
 * The index follows the lists. Ranges are only added to it; where a skip goes, by a request or with
 * its step, it is built again from the lists.
 *
 * A zeroed struct is a valid empty one; it owns its memory. No I/O. One thread.
 */
#ifndef CONSUMER_MIXER_EXCLUSIONS_H
#define CONSUMER_MIXER_EXCLUSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/record/ledger.h"
#include "common/schedule/weights.h"

struct exclusions_range {
	uint32_t domain, partition;
	uint64_t first, end; /* half open */
};

struct exclusions {
	struct ledger_skip *skip; /* in the order in which they came into force */
	size_t skips_n;
	struct ledger_skip *kept; /* the skips before the step, where it has changed them */
	size_t kept_n;
	bool changed;
	struct ledger_quarantined *quarantined; /* in the order in which they were found */
	size_t quarantined_n;
	struct exclusions_range *item;
	size_t items_n, items_room;
	uint64_t
	    touched[LIMIT_DOMAINS / 64]; /* a bit a domain: some of its ordinals are in the index */
};

void exclusions_close(struct exclusions *x);

/* Makes *to, which is empty, equal to *from. FAIL_MEMORY: exclusions_close(to) frees the part. */
enum fail_code exclusions_copy(
    struct exclusions *to, const struct exclusions *from, struct failure *f);

/* Adds a range that a request took out; first < end. FAIL_MEMORY: nothing was added. */
enum fail_code exclusions_skip(
    struct exclusions *x, const struct ledger_skip *s, struct failure *f);

/*
 * Takes [s->first, s->end) out of all skips: one that reaches beyond it is cut, and one that does
 * on both sides becomes two. FAIL_MEMORY: nothing was changed.
 */
enum fail_code exclusions_unskip(
    struct exclusions *x, const struct ledger_skip *s, struct failure *f);

struct exclusions_within {
	bool skipped;         /* some of the range is */
	uint64_t alone;       /* ordinals of it that are skipped and not quarantined */
	uint64_t quarantined; /* ordinals of it that are, skipped or not */
};

/* What of a range is excluded. */
struct exclusions_within exclusions_within(const struct exclusions *x, const struct ledger_skip *s);

/*
 * Adds one ordinal that is bad; once it is there, nothing happens. Copies `reason`. FAIL_DATA: more
 * than LEDGER_QUARANTINED_MAX. FAIL_MEMORY: nothing was added.
 */
enum fail_code exclusions_quarantine(struct exclusions *x, uint32_t domain, uint32_t partition,
    uint64_t ordinal, const char *reason, struct failure *f);

/* Whether a draw may not take this ordinal. O(log n), O(1) where the domain has none. */
bool exclusions_has(
    const struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal);

/* How many ordinals below sequences[partition] of a domain are excluded. */
uint64_t exclusions_count(
    const struct exclusions *x, uint32_t domain, const uint64_t *sequences, size_t partitions_n);

/* Notes the skips in force before a step; puts back what was in force then. */
void exclusions_keep(struct exclusions *x);
void exclusions_undo(struct exclusions *x);

#endif
