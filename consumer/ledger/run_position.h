/*
 * run_position.h -- where a training run stands, by the offsets that its group has committed.
 *
 * The group of a run is <mix>.<run>. A lane's commit is the lane's next offset, with the text
 * "step=N by=OWNER" as its metadata: all steps of the lane below N are read, and OWNER is who says
 * so (reader/owner.h); a commit that nobody trains by, of `riffle runs --reset` and of earlier
 * versions, has none. The run stands at the lowest step over all lanes, because a step counts as
 * trained only when every lane of it was read; a lane without a commit stands at step 0. Example,
 * four lanes:
 *
 *     lane      0        1        2        3
 *     commit    step=9   step=7   step=7   step=12
 *     the run stands at step 7 (lane 1 is the first that does); its highest commit is step 12
 *
 * Why lanes differ: each rank commits its own lanes when it likes, and a rank that died may have
 * committed less than the others. Whoever resumes at the lowest step reads some records of the
 * other lanes a second time, and loses none.
 *
 * A rank that was never started, or has died, stops the whole run while the other ranks commit. The
 * lowest step alone does not show that, so run_position_apart() puts both ends into words.
 *
 * run_position_format(), _parse(), _lowest(), _apart() and _is_at() are pure. The query asks the
 * broker, with a handle of the run's own group (kafka_commits_of_topic() says why) that commits
 * nothing. Opening a query waits for nothing: its handle looks for the group's coordinator in the
 * background. So a caller with several runs opens all queries before it asks the first.
 *
 * Thread: the caller's.
 */
#ifndef CONSUMER_LEDGER_RUN_POSITION_H
#define CONSUMER_LEDGER_RUN_POSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/config/properties.h"

/* With their NUL: a commit's text, and the owner in it. */
enum { RUN_POSITION_TEXT_MAX = 144, RUN_POSITION_OWNER_MAX = 112 };
enum { RUN_POSITION_APART_MAX = 256 }; /* with its NUL; two lists of lanes and two steps */

/* A value that owns nothing. */
struct run_position {
	bool any;            /* at least one lane has a commit */
	bool all;            /* every lane has one */
	uint64_t step;       /* the lowest; 0 where a lane has none */
	size_t lane;         /* the first lane that stands there */
	uint64_t step_ahead; /* the highest step of a lane; step <= step_ahead */
	/* What run_position_apart() writes of its lanes. */
	char apart[RUN_POSITION_APART_MAX];
};

/* ---- pure ---- */

/*
 * Writes "step=N by=OWNER", NUL-terminated; step < LIMIT_STEP. An owner is 1 to
 * RUN_POSITION_OWNER_MAX - 1 printable bytes of ASCII without a space; NULL: none.
 */
void run_position_format(char out[static RUN_POSITION_TEXT_MAX], uint64_t step, const char *owner);

/*
 * Strict: "step=" and a decimal number below LIMIT_STEP without sign, spaces or leading zeros;
 * behind it nothing, or a space, "by=" and an owner. FAIL_DATA otherwise, with the text; *step and
 * owner are then unchanged. NULL is as an empty text. `owner` is "" where there is none; it may be
 * NULL.
 */
enum fail_code run_position_parse(
    uint64_t *step, char owner[RUN_POSITION_OWNER_MAX], const char *text, struct failure *f);

/*
 * The position by the commits of lanes 0..n-1, n > 0: offset_next[i] < 0 means that lane i has
 * none. Fills step[n] (0 where there is none) and *out. FAIL_DATA names the lane whose metadata is
 * not a step; *out and step[] are then undefined.
 */
enum fail_code run_position_lowest(struct run_position *out, uint64_t *step,
    const int64_t *offset_next, char *const *metadata, size_t n, struct failure *f);

/*
 * Writes which lanes of step[n], n > 0, are furthest and which stand lowest, as the object of "has
 * committed"; "" if all stand at one step. A lane at step 0 has trained nothing. Each list names up
 * to three single lanes or ranges, and counts the rest.
 *
 *     16 16 0 0              lanes 0 and 1 up to step 16, and nothing on lanes 2 and 3
 *     9 7 7 12               lane 3 up to step 12, and lanes 1 and 2 only up to step 7
 *     5 3 5 3 5 3 5 3 3 3    lanes 0, 2, 4 and 1 more up to step 5, and lanes 1, 3, 5 and 3 more
 *                            only up to step 3
 */
void run_position_apart(char out[static RUN_POSITION_APART_MAX], const uint64_t *step, size_t n);

/* Every lane has a commit, and all are at `step`: where a reset puts them, and nobody else has. */
bool run_position_is_at(const struct run_position *at, uint64_t step);

/* ---- asking the broker ---- */

struct run_position_query;

/*
 * Gives *out, to be ended with run_position_close(). Copies mix and run, borrows `kafka` during the
 * call. `client` is as in struct kafka_options. `shared`: lanes share partitions, and are committed
 * in a topic of their own (record/lane_map.h).
 */
enum fail_code run_position_open(struct run_position_query **out, const char *mix, const char *run,
    bool shared, const char *client, const struct properties *kafka, struct failure *f);
void run_position_close(struct run_position_query *q); /* NULL is accepted */

/* <mix>.<run>; lives as long as `q`. */
const char *run_position_group(const struct run_position_query *q);

/*
 * Asks for the commits of lanes 0..lanes-1, lanes > 0. FAIL_DATA: a lane's
 * metadata is not a step, and the text names the lane alone; what else fails names group and topic.
 * *at is set only where it succeeds. May be called as often as the caller likes.
 */
enum fail_code run_position_ask(struct run_position_query *q, size_t lanes, int timeout_ms,
    struct run_position *at, struct failure *f);

#endif
