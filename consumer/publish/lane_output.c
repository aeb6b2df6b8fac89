#include "consumer/publish/lane_output.h"

#include <assert.h>

enum fail_code
lane_output_put(struct transactions *t, const struct lane_mix *mix, const struct mixer *m,
    uint64_t number, const struct assembled *step, uint64_t *bytes, struct failure *f)
{
	struct batch_head head = lane_record_head(mix, m, number, step == NULL);
	size_t each = step == NULL ? 0 : head.global_batch / head.lanes;

	assert(step == NULL || step->n == head.global_batch);
	if (!transactions_copy(t)) {
		for (uint32_t i = 0; step != NULL && i < step->n; i++)
			*bytes += step->record[i]->n;
		return FAIL_NONE;
	}
	for (head.lane = 0; head.lane < head.lanes; head.lane++) {
		size_t first = head.lane * each, n;
		uint8_t *record;

		if (lane_record_encode(&record, &n, &head, m,
			step == NULL ? NULL : step->draw + first,
			step == NULL ? NULL : step->record + first, each, f) != FAIL_NONE)
			return f->code;
		*bytes += n;
		if (transactions_put(t, head.lane, record, n, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}
