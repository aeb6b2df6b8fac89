/*
 * rejects.h -- counts rejects by reason, for the summary at the end of a part.
 *
 * Reasons name places ("invalid JSON at byte 17: ..."); those that differ in such numbers alone are
 * one kind. At most REJECTS_KINDS_MAX kinds are distinguished, in the order in which they came.
 *
 * Plain data and pure functions.
 */
#ifndef PRODUCER_PRODUCE_REJECTS_H
#define PRODUCER_PRODUCE_REJECTS_H

#include <stdint.h>

enum { REJECTS_KINDS_MAX = 8, REJECTS_KIND_BYTES = 96, REJECTS_TEXT_BYTES = 1024 };

/* Zero-initialised: none yet. */
struct rejects {
	struct rejects_kind {
		char reason[REJECTS_KIND_BYTES]; /* with N for the numbers; cut where it is long */
		uint64_t count;
	} kind[REJECTS_KINDS_MAX];
	uint32_t kinds_n;
	uint64_t others; /* of reasons that found no place in `kind` */
	uint64_t total;
};

void rejects_add(struct rejects *r, const char *reason);

/*
 * "3 no field `text`, 2 invalid JSON at byte N: ..., 1 for other reasons"; "" where there is none.
 */
void rejects_format(const struct rejects *r, char out[static REJECTS_TEXT_BYTES]);

#endif
