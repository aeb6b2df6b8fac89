/*
 * batch_topic.h -- whether <mix>.batches can be the topic that the mix's ledger speaks of.
 *
 * Administrators add partitions, and delete topics and create them again. Both take a run's commits
 * away, or some of them, and leave readers with a position that the topic does not have. To blame
 * expired commits, or the mixer, would send the user the wrong way. So whoever meets one of these
 * asks here first. The signs are certain:
 *
 *     more partitions than lanes   partitions were added: the lanes of a mix never change, and the
 *                                  ledger has their number. The same for the partitions of lanes
 *                                  that share them, and for <mix>.lanes (record/lane_map.h)
 *     a lane whose end is 0        the topic is a new one: the transactions before the one of the
 *                                  ledger's last record are over, each step took an offset on
 *                                  every lane, and neither retention nor DeleteRecords lowers the
 *                                  end of a log
 *
 * (The topic's id would show a new topic, too; librdkafka knows of it from 2.3 on only, and the
 * ledger does not hold it.) A lane that has lost its tail alone is not looked for here.
 *
 * Pure. Thread: any.
 */
#ifndef CONSUMER_LEDGER_BATCH_TOPIC_H
#define CONSUMER_LEDGER_BATCH_TOPIC_H

#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/lane_map.h"
#include "common/record/ledger.h"

/*
 * `last` is the ledger's last record, `map` is what the topics say of lanes and partitions, and
 * high[n] are the ends of the lanes from `first` on. What the record does not say is not judged.
 * FAIL_DATA: what happened to the topic, and the way out.
 */
enum fail_code batch_topic_judge(const char *mix, const struct ledger *last,
    const struct lane_map *map, uint32_t first, const int64_t *high, uint32_t n, struct failure *f);

#endif
