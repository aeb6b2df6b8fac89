/*
 * control.h -- the record of a control topic, a request to a running mix, as a value that owns its
 * memory. Field meanings: schemas/Control.avsc.
 */
#ifndef COMMON_RECORD_CONTROL_H
#define COMMON_RECORD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/avro_compare.h"
#include "common/record/ledger.h"

struct control {
	char *id;
	enum ledger_change_kind kind;
	int64_t at_step;
	struct ledger_raw_weight *weight;
	size_t weights_n;
	double temperature, lr_scale;
	char *domain;
	int32_t partition;
	int64_t first, end;
	char *who;
	char *run;
	int64_t to_step;
	char *request;
	uint32_t global_batch;
};

/* Frees what *c owns and zeroes it; a zeroed one is valid. NULL strings read as "". */
void control_clear(struct control *c);

/*
 * False: the two are equal but for the fields that `except` names (ends with NULL); else *out is
 * the first that differs.
 */
bool control_compare(const struct control *a, const struct control *b, const char *const *except,
    struct avro_difference *out);

/* Gives *bytes (free). FAIL_MEMORY, or FAIL_DATA for more than LEDGER_DOMAINS_MAX weights. */
enum fail_code control_encode(
    const struct control *c, uint8_t **bytes, size_t *n, struct failure *f);

/* Fills *out, which the caller ends with control_clear(). FAIL_DATA; *out is then empty. */
enum fail_code control_decode(
    struct control *out, const uint8_t *bytes, size_t n, struct failure *f);

#endif
