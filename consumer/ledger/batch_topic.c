#include "consumer/ledger/batch_topic.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_field.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"

/*
 * Lanes of the mix by its configuration, "fixed.lanes"; 0: it does not say. Not by bound_config.h:
 * libriffle would need jansson for this one number.
 */
static enum fail_code
lanes_of(uint32_t *lanes, const char *config, struct failure *f)
{
	static const char *const path[] = {"fixed.lanes"};
	struct json_field_paths *paths;
	struct json_field_scratch *scratch;
	struct json_field_value value;
	char text[16];
	uint64_t n;

	*lanes = 0;
	if (json_field_paths_open(&paths, path, 1, f) != FAIL_NONE)
		return f->code;
	if (json_field_scratch_open(&scratch, f) != FAIL_NONE) {
		json_field_paths_close(paths);
		return f->code;
	}
	if (json_field_read(paths, scratch, config, strlen(config), &value, f) == FAIL_NONE &&
	    value.found == JSON_FIELD_OTHER && value.raw_n < sizeof(text)) {
		snprintf(text, sizeof(text), "%.*s", (int)value.raw_n, value.raw);
		if (scalar_count(text, 1, LIMIT_LANES, &n) == SCALAR_OK)
			*lanes = (uint32_t)n;
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	return FAIL_NONE;
}

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
		lanes_of(&lanes, last->config, &ignored);
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
