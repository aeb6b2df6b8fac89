/*
 * owner.h without the machine, in the place of consumer/reader/owner.c: tasks and processes must
 * play a seed alike, whatever the host and the pid are.
 */
#include <inttypes.h>
#include <stdio.h>

#include "consumer/reader/owner.h"
#include "tests/sim/kafka/cluster.h"

enum fail_code
owner_draw(char out[static RUN_POSITION_OWNER_MAX], struct failure *f)
{
	const struct chance *c = &cluster->chance;

	(void)f;
	snprintf(out, RUN_POSITION_OWNER_MAX, "sim/%08" PRIx64 "/%08" PRIx64, c->process, c->calls);
	return FAIL_NONE;
}
