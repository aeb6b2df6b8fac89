/*
 * nearest.h -- which known name a mistyped one most likely means: "did you mean mix.lanes?".
 *
 * Distance is the number of letters to insert, delete, replace or swap with their neighbour
 * (optimal string alignment). A name is near when at most a third of the longer one differs,
 * or when the word is its beginning (of three letters or more).
 */
#ifndef COMMON_BASE_NEAREST_H
#define COMMON_BASE_NEAREST_H

#include <stddef.h>

enum { NEAREST_BYTES_MAX = 64 }; /* longer names are never near */

/* A search under way; names are offered one by one, so that they can come from any table. */
struct nearest {
	const char *word; /* borrowed */
	const char *best; /* borrowed; NULL: none is near */
	size_t distance;  /* of best, 1 where it begins with the word, */
	size_t exact;     /* and what it would be otherwise */
};

void nearest_init(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *known); /* the first of equals stays */

#endif
