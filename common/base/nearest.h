/*
 * nearest.h -- which known name a mistyped one most likely means: "did you mean mix.lanes?".
 *
 * Distance is the number of letters to insert, delete, replace or swap with their neighbour
 * (optimal string alignment). A name is near when at most a third of the longer one differs,
 * or when the word is its beginning (of three letters or more).
 */
#ifndef COMMON_BASE_NEAREST_H
#define COMMON_BASE_NEAREST_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"

enum {
	NEAREST_BYTES_MAX = 64, /* longer names are never near */
	NEAREST_NAMES_BYTES = 400,
};

/* A search under way; names are offered one by one, so that they can come from any table. */
struct nearest {
	const char *word; /* borrowed */
	const char *best; /* borrowed; NULL: none is near */
	size_t distance;  /* of best, 1 where it begins with the word, */
	size_t exact;     /* and what it would be otherwise */
	bool equal;       /* another name is as near as best */
	size_t names_n;   /* bytes of `names`, or more if it has no room for all of them */
	char names[NEAREST_NAMES_BYTES]; /* those of nearest_list(): "code, web" */
};

void nearest_init(struct nearest *n, const char *word);
void nearest_offer(struct nearest *n, const char *known); /* the first of equals stays */
void nearest_list(struct nearest *n, const char *known);  /* also lists it, see below */

/*
 * Ends a sentence about the unknown word with what is known, " (did you mean web?); it has code,
 * web", where `who_has` is "it has". Suggests none if several names are equally near. Returns the
 * code that `f` holds.
 */
enum fail_code nearest_fail_more(const struct nearest *n, const char *who_has, struct failure *f);

/*
 * Ends a sentence about a path that does not exist with the nearest entry of its folder, " (did you
 * mean data/web?)". `kind` is DT_REG or DT_DIR of dirent.h, what the path must be. False: none is
 * near, or the folder cannot be read.
 */
bool nearest_path_more(const char *path, unsigned char kind, struct failure *f);

#endif
