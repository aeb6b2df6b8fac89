/*
 * offsets.h -- what the first offset and the end of a partition mean. Pure functions.
 *
 * A broker reports two numbers of a partition: `low`, the first offset that it still has, and
 * `high`, one past the last. Between them lie records, and what no reader sees: the markers of
 * transactions and the records of aborted ones. So the numbers alone do not say whether a record is
 * there. The functions below are for callers that have looked and found none.
 */
#ifndef COMMON_KAFKA_OFFSETS_H
#define COMMON_KAFKA_OFFSETS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a partition that shows no record has lost its records: somebody deleted them
 * (DeleteRecords, or retention). Without this, it never showed one. For example:
 *
 *     low  high
 *       0     0    no    nothing was ever written
 *       0     3    no    only aborted records and markers
 *       7     7    yes
 *       7     9    yes   what was written since is aborted
 */
bool offsets_emptied(int64_t low, int64_t high);

/*
 * The offset at which to look for the last record before `end`: `distance` > 0 offsets earlier, but
 * not before `low`. Callers double the distance until they meet a record or reach `low`.
 */
int64_t offsets_before(int64_t low, int64_t end, int64_t distance);

#endif
