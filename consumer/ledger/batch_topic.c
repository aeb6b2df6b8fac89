#include "consumer/ledger/batch_topic.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/json_field.h"
#include "common/base/limits.h"
#include "common/base/scalar.h"
#include "common/schedule/mix_rules.h"

/* A count of the configuration; 0: it does not say. */
static uint32_t
count_of(const struct json_field_value *value)
{
	char text[16];
	uint64_t n;

	if (value->found != JSON_FIELD_OTHER || value->raw_n >= sizeof(text))
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)value->raw_n, value->raw);
	return scalar_count(text, 1, LIMIT_LANES, &n) == SCALAR_OK ? (uint32_t)n : 0;
}

static bool
is_text(const struct json_field_value *value, const char *text)
{
	return value->found == JSON_FIELD_STRING && value->n == strlen(text) &&
	       memcmp(value->bytes, text, value->n) == 0;
}

/*
 * Where the lanes of the mix lie by its configuration: "fixed.lanes", and "fixed.partitions" where
 * lanes share some, or "fixed.batches"; all 0: it does not say.
 */
static enum fail_code
lanes_of(struct lane_map *out, const char *config, struct failure *f)
{
	static const char *const path[] = {"fixed.lanes", "fixed.partitions", "fixed.batches"};
	struct json_field_paths *paths;
	struct json_field_scratch *scratch;
	struct json_field_value value[3];

	*out = (struct lane_map){0};
	if (json_field_paths_open(&paths, path, 3, f) != FAIL_NONE)
		return f->code;
	if (json_field_scratch_open(&scratch, f) != FAIL_NONE) {
		json_field_paths_close(paths);
		return f->code;
	}
	if (json_field_read(paths, scratch, config, strlen(config), value, f) == FAIL_NONE) {
		out->lanes = count_of(&value[0]);
		out->partitions = count_of(&value[1]);
		if (out->partitions == 0 || out->partitions > out->lanes)
			out->partitions = out->lanes;
		if (is_text(&value[2], mix_batches_names[MIX_BATCHES_DERIVED]))
			out->partitions = 0;
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
	return FAIL_NONE;
}

static const char way_out[] =
    "`riffle topics --create` creates it, `riffle repair` fills it from ledger and domains, and "
    "`riffle runs --reset` sets a run's commits";

static enum fail_code
fail_partitions(
    const char *mix, const struct lane_map *ledger, uint32_t partitions, struct failure *f)
{
	char in[48] = "";

	if (ledger->partitions == 0)
		return fail(f, FAIL_DATA,
		    "there is a topic %s.batches, and the mix was begun with mix.batches: derived, "
		    "without such a topic: it is of another mix of this name. Delete it",
		    mix);
	if (partitions == 0)
		return fail(f, FAIL_DATA,
		    "topic %s.batches does not exist any more, and the mix has published its steps "
		    "there: it was deleted: %s",
		    mix, way_out);
	if (lane_map_shared(ledger))
		snprintf(in, sizeof(in), " in %" PRIu32 " partitions", ledger->partitions);
	return fail(f, FAIL_DATA,
	    "topic %s.batches has %" PRIu32 " partitions, and the mix has %" PRIu32
	    " lanes%s: %s. Delete the topic: %s",
	    mix, partitions, ledger->lanes, in,
	    partitions > ledger->partitions ? "partitions were added, and Kafka takes none away"
					    : "it was deleted and created again with fewer",
	    way_out);
}

/* <mix>.batches is as it was: it is <mix>.lanes that is not. */
static enum fail_code
fail_lanes(
    const char *mix, const struct lane_map *ledger, const struct lane_map *map, struct failure *f)
{
	if (!lane_map_shared(ledger))
		return fail(f, FAIL_DATA,
		    "there is a topic %s.lanes, and no lanes of the mix share a partition: it is "
		    "of another mix of this name. Delete it",
		    mix);
	if (!lane_map_shared(map))
		return fail(f, FAIL_DATA,
		    "there is no topic %s.lanes, or no right to see it, and the mix has %" PRIu32
		    " lanes in %" PRIu32 " partitions: `riffle topics --create` creates it, and "
		    "`riffle runs --reset` sets a run's commits",
		    mix, ledger->lanes, ledger->partitions);
	return fail(f, FAIL_DATA,
	    "topic %s.lanes has %" PRIu32 " partitions, and the mix has %" PRIu32
	    " lanes: %s. Delete the topic: `riffle topics --create` creates it, and `riffle runs "
	    "--reset` sets a run's commits",
	    mix, map->lanes, ledger->lanes,
	    map->lanes > ledger->lanes ? "partitions were added, and Kafka takes none away"
				       : "it was deleted and created again with fewer");
}

enum fail_code
batch_topic_judge(const char *mix, const struct ledger *last, const struct lane_map *map,
    uint32_t first, const int64_t *high, uint32_t n, struct failure *f)
{
	/* The record's own steps show on a lane when the marker is written there. */
	bool published = last->step_first > 0 && last->draws > 0;
	struct failure ignored; /* the mixer and `riffle status` report such a record */
	struct lane_map ledger = {0};

	if (last->config != NULL)
		lanes_of(&ledger, last->config, &ignored);
	if (ledger.lanes > 0 && map->partitions != ledger.partitions)
		return fail_partitions(mix, &ledger, map->partitions, f);
	if (ledger.lanes > 0 && map->lanes != ledger.lanes)
		return fail_lanes(mix, &ledger, map, f);
	for (uint32_t i = 0; published && i < n; i++)
		if (high[i] == 0)
			return fail(f, FAIL_DATA,
			    "topic %s.batches was deleted and created again: lane %" PRIu32
			    " never held a record, and the ledger says that steps below %" PRId64
			    " are published. %s",
			    mix, first + i, last->step_first, way_out);
	return FAIL_NONE;
}
