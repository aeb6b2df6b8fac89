/*
 * part_list.h -- what there is to produce: one part (part.h) for each partition of each input, in
 * order.
 *
 * Domains with equal train (or exec), text and partitions that differ in `where` share an input. A
 * domain with `valid` or `test` has one more for each, for that set alone.
 *
 * Pure: decided by the configuration and the domains that are wanted.
 */
#ifndef PRODUCER_PRODUCE_PART_LIST_H
#define PRODUCER_PRODUCE_PART_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"

struct part_item {
	size_t *member; /* owned: domains that share the input, by index in the configuration */
	bool *wanted;   /* owned: which of them to write */
	size_t members_n;
	enum names_set set; /* as in struct part_options */
	bool live;
	uint32_t partition;
	char label[NAME_MAX_BYTES + 64]; /* "code", or "code lane 2/4" */
};

struct part_list {
	struct part_item *item;
	size_t n, room;
};

/*
 * Fills *out, to be ended with part_list_close(); wanted[domains_n of the configuration]. With
 * one_partition only parts of that number are listed. FAIL_MEMORY only.
 */
enum fail_code part_list_open(struct part_list *out, const struct config *c, const bool *wanted,
    bool one_partition, uint32_t partition, struct failure *f);
void part_list_close(struct part_list *l); /* ends what *l owns, not *l */

#endif
