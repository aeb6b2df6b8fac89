#include "consumer/ledger/batch_topic.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>

#include "consumer/plan/bound_config.h"

static const char way_out[] =
    "`riffle topics --create` creates it, `riffle repair` fills it from ledger and domains, and "
    "`riffle runs --reset` sets a run's commits";

enum fail_code
batch_topic_judge(const char *mix, const struct ledger *last, uint32_t partitions, uint32_t first,
    const int64_t *high, uint32_t n, struct failure *f)
{
	/* The record's own steps show on a lane when the marker is written there. */
	bool published = last->step_first > 0 && last->draws > 0;
	struct failure ignored; /* the mixer and `riffle status` report such a record */
	uint32_t lanes = 0;

	assert(partitions > 0);
	if (last->config != NULL)
		bound_config_lanes(&lanes, last->config, &ignored);
	if (lanes > 0 && partitions != lanes)
		return fail(f, FAIL_DATA,
		    "topic %s.batches has %" PRIu32 " partitions, and the mix has %" PRIu32
		    " lanes: %s. Delete the topic: %s",
		    mix, partitions, lanes,
		    partitions > lanes ? "partitions were added, and Kafka takes none away"
				       : "it was deleted and created again with fewer",
		    way_out);
	for (uint32_t i = 0; published && i < n; i++)
		if (high[i] == 0)
			return fail(f, FAIL_DATA,
			    "topic %s.batches was deleted and created again: lane %" PRIu32
			    " never held a record, and the ledger says that steps below %" PRId64
			    " are published. %s",
			    mix, first + i, last->step_first, way_out);
	return FAIL_NONE;
}
