/*
 * mixer_exclude.h -- the ordinals that no draw may take: quarantined and skipped ones, as ranges.
 *
 * Kept sorted by (domain, partition, first), disjoint and not touching, so that a look-up is one
 * binary search whatever was excluded in which order. A zeroed set is a valid empty one.
 */
#ifndef CONSUMER_MIXER_MIXER_EXCLUDE_H
#define CONSUMER_MIXER_MIXER_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"

struct excluded {
	uint32_t domain, partition;
	uint64_t first, end;
};

struct exclusions {
	struct excluded *item;
	size_t n, room;
};

/* Adds first..end, joining what it overlaps or touches. FAIL_MEMORY: nothing was added. */
enum fail_code mixer_exclude(struct exclusions *x, const struct excluded *range, struct failure *f);

bool mixer_excludes(
    const struct exclusions *x, uint32_t domain, uint32_t partition, uint64_t ordinal);

/* Excluded ordinals below sequences[partition] of a domain. */
uint64_t mixer_excluded_count(
    const struct exclusions *x, uint32_t domain, const uint64_t *sequences, size_t partitions_n);

/* Makes *to equal to *from. */
enum fail_code mixer_exclude_copy(
    struct exclusions *to, const struct exclusions *from, struct failure *f);
void mixer_exclude_clear(struct exclusions *x);

#endif
