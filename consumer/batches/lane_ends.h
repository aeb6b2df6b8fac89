/*
 * lane_ends.h -- the last record of every lane, and whether it is the one that the ledger's last
 * record calls for.
 *
 * A step's lanes and its ledger record commit in one transaction, so that they end together. Where
 * they do not, a broker has lost what it acknowledged (a disk that lies, an unclean election), or a
 * topic was recreated. Going on over such a log would leave a hole that nothing can fill, or
 * publish steps a second time.
 *
 *     ledger: steps below 60      lane 0   ... 58 59        LEVEL
 *                                 lane 1   ... 52           BEHIND: it lacks 53..60
 *                                 lane 2   ... 58 59 60     AHEAD: the ledger lacks step 60
 *                                 lane 3   none             BEHIND: it lacks all that others hold
 *
 * Lanes of which all records were deleted (an administrator can; `riffle retain` leaves a step) say
 * nothing of their end: where no lane holds a record they are level, unless one has fewer offsets
 * than steps were published. A step costs at least one, or as many as lanes share the partition.
 * Lanes that never had a record lack none of a mix that was republished and has published no step;
 * but where the ledger's first records were deleted nobody knows, and they count as lost.
 *
 * Open transactions. A lane can lose a transaction's marker and keep its records. No reader sees
 * them, but the next transaction of the mix would end them with its own: aborted records would
 * become visible. Such a lane ends, for readers, before its log does. That means something only
 * where every transaction of the mix is decided, as after transactions_open(). The same counts for
 * the ledger: an aborted record of it would become visible as the state to resume from.
 *
 * Where lanes share a partition (record/lane_map.h) each has an end of its own: its last record is
 * one of the partition's last, and what befell the partition shows on all of its lanes.
 *
 * Cost: three round trips for all lanes together, and a fetch of each lane's last two offsets; more
 * where aborted records stand behind the last visible one. This module is the only one that knows
 * where a lane's last record lies.
 *
 * Thread: any.
 */
#ifndef CONSUMER_BATCHES_LANE_ENDS_H
#define CONSUMER_BATCHES_LANE_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/properties.h"
#include "common/record/lane_map.h"

enum lane_ends_state { LANE_ENDS_LEVEL, LANE_ENDS_BEHIND, LANE_ENDS_AHEAD };

struct lane_end {
	uint32_t partition, each; /* where it lies, with so many lanes, itself included */
	int64_t low, high;        /* the partition's first offset kept, and end that readers see */
	bool any;                 /* a record is visible; of the last one: */
	int64_t offset;
	uint64_t step;
	bool last; /* it ends the mix at `step`, and holds no sequence */
	bool open; /* lane_ends_query_decided(): records of a transaction stand behind `high` */

	/* What lane_ends_compare() makes. */
	enum lane_ends_state state;
	uint64_t next; /* steps below it are on the lane; where it holds none, the mix's first */
};

/* What the ledger's last record says. */
struct lane_ends_ledger {
	uint64_t first; /* step at which the ledger begins: 0, but for a mix that was republished */
	bool cut;       /* its first records were deleted: `first` is not where the mix began */
	uint64_t next;  /* steps below it are published */
	bool ended;
	int64_t high; /* lane_ends_query_decided(): as of a lane */
	bool open;
};

/* How many lanes are so, and the first of them. */
struct lane_ends_count {
	uint32_t n, lane;
};

struct lane_ends_report {
	struct lane_ends_count behind, ahead, open;
	uint64_t lowest;  /* of the lanes behind: the first step that one lacks */
	uint64_t highest; /* of all lanes: one past the last step that one holds */
};

/*
 * Gives *out[lane_map_lying(map)] (free): the ends of all lanes of a mix, not compared yet (a mix
 * without copies has none, and only its ledger can have lost something); and the map,
 * also with FAIL_DATA. Opens handles of its own. FAIL_CONFIG: there is no such topic. FAIL_DATA: a
 * lane's last record is no batch of this mix and lane.
 */
enum fail_code lane_ends_query(struct lane_end **out, struct lane_map *map, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f);

enum { LANE_ENDS_PATIENCE_MS = 10000 }; /* until a marker is on every replica */

/*
 * The same while every transaction of the mix is decided (transactions_open()), with `open`: waits
 * up to patience_ms for markers that are on their way. Fills `high` and `open` of *ledger, too.
 */
enum fail_code lane_ends_query_decided(struct lane_end **out, struct lane_map *map,
    struct lane_ends_ledger *ledger, const char *mix, const struct properties *properties,
    int timeout_ms, int patience_ms, struct failure *f);

/* Whether some lane shows no record, so that lane_ends_ledger.first matters. Pure, as the rest. */
bool lane_ends_empty(const struct lane_end *end, uint32_t n);

/* Fills *out, and state and next of each lane. */
void lane_ends_compare(struct lane_ends_report *out, struct lane_end *end, uint32_t n,
    const struct lane_ends_ledger *l);

/*
 * FAIL_NONE: the mix can continue. FAIL_DATA: what is wrong with the batch topic or the ledger; not
 * what to do.
 */
enum fail_code lane_ends_judge(const struct lane_ends_report *r, const struct lane_end *end,
    const struct lane_ends_ledger *l, const char *mix, struct failure *f);

/*
 * *f says why a record is no batch of its lane. Adds where the record is and how to get rid of it:
 * Kafka deletes no single record, but all batches can be derived again. Returns the code of *f.
 */
enum fail_code lane_ends_fail_foreign(
    const char *mix, uint32_t lane, int64_t offset, struct failure *f);

#endif
