#include "consumer/batches/step_count.h"

#include <assert.h>
#include <stddef.h>

uint64_t
step_count_record(struct step_count *c, uint64_t wanted, const uint64_t *claimed)
{
	/* A first record beyond the wanted step leaves open where the hole begins. */
	uint64_t due = c->known ? c->next : wanted, step = due;

	assert(c->known || claimed != NULL);
	if (claimed != NULL && (!c->known || due < wanted))
		step = *claimed;
	if (claimed != NULL && *claimed > due && c->hole_end == 0) {
		c->hole_first = due;
		c->hole_end = *claimed;
	}
	c->known = true;
	c->next = step + 1;
	return step;
}
