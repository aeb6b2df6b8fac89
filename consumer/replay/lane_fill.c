#include "consumer/replay/lane_fill.h"

#include <assert.h>
#include <stdlib.h>

#include "common/base/fault.h"

static enum fail_code
begin(struct lane_fill *p, struct failure *f)
{
	if (p->open || p->transactions == NULL)
		return FAIL_NONE;
	if (transactions_begin(p->transactions, f) != FAIL_NONE)
		return f->code;
	p->open = true;
	return FAIL_NONE;
}

enum fail_code
lane_fill_put(struct lane_fill *p, uint32_t lane, uint8_t *bytes, size_t n, struct failure *f)
{
	assert(lane < p->lanes);
	p->records++;
	p->bytes += n;
	if (p->transactions == NULL || begin(p, f) != FAIL_NONE) {
		free(bytes);
		return p->transactions == NULL ? FAIL_NONE : f->code;
	}
	return transactions_put(p->transactions, lane, bytes, n, f);
}

enum fail_code
lane_fill_put_ledger(struct lane_fill *p, const struct ledger *l, struct failure *f)
{
	uint8_t *bytes;
	size_t n;

	if (p->transactions == NULL)
		return FAIL_NONE;
	if (begin(p, f) != FAIL_NONE || ledger_encode(l, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	return transactions_put_ledger(p->transactions, bytes, n, NULL, f);
}

enum fail_code
lane_fill_commit(struct lane_fill *p, struct failure *f)
{
	if (!p->open)
		return FAIL_NONE;
	fault_point("repair.before_commit");
	if (transactions_commit(p->transactions, NULL, 0, f) != FAIL_NONE)
		return f->code;
	fault_point("repair.after_commit");
	p->open = false;
	return FAIL_NONE;
}
