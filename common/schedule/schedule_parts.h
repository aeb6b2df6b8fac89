/* schedule_parts.h -- the rules behind schedule.h, a file each. Only schedule*.c include it. */
#ifndef COMMON_SCHEDULE_SCHEDULE_PARTS_H
#define COMMON_SCHEDULE_SCHEDULE_PARTS_H

#include "common/schedule/schedule.h"

size_t schedule_greedy_pick(const struct schedule *s);
size_t schedule_random_pick(const struct schedule *s);
uint64_t schedule_random_key(uint64_t seed);

#endif
