/*
 * feedback.h -- the record of a feedback topic, the losses of one step as one rank saw them, as a
 * value that owns its memory. Field meanings: schemas/Feedback.avsc. Sums may be NaN or infinite.
 */
#ifndef COMMON_RECORD_FEEDBACK_H
#define COMMON_RECORD_FEEDBACK_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"

enum { FEEDBACK_LOSSES_MAX = LIMIT_DOMAINS };

struct feedback_loss {
	char *domain;
	double loss_sum, excess_sum;
	int64_t tokens;
};

struct feedback {
	char *mix, *run;
	int64_t step;
	uint32_t rank, world;
	struct feedback_loss *loss;
	size_t losses_n;
};

/* Frees what *b owns and zeroes it; a zeroed one is valid. NULL strings read as "". */
void feedback_clear(struct feedback *b);

/* Gives *bytes (free). FAIL_MEMORY, or FAIL_DATA for more than FEEDBACK_LOSSES_MAX losses. */
enum fail_code feedback_encode(
    const struct feedback *b, uint8_t **bytes, size_t *n, struct failure *f);

/* Fills *out, which the caller ends with feedback_clear(). FAIL_DATA; *out is then empty. */
enum fail_code feedback_decode(
    struct feedback *out, const uint8_t *bytes, size_t n, struct failure *f);

#endif
