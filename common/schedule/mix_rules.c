#include "common/schedule/mix_rules.h"

#include <stddef.h>

const char *const mix_on_end_names[] = {
    [MIX_END_REPEAT] = "repeat", [MIX_END_STOP] = "stop", [MIX_END_DROP] = "drop", NULL};
const char *const mix_on_dry_names[] = {[MIX_DRY_WAIT] = "wait", [MIX_DRY_LEND] = "lend", NULL};
const char *const mix_unit_names[] = {
    [MIX_BY_SEQUENCES] = "sequences", [MIX_BY_TOKENS] = "tokens", NULL};
const char *const mix_lane_order_names[] = {
    [MIX_LANES_CONTIGUOUS] = "contiguous", [MIX_LANES_STRIDED] = "strided", NULL};
const char *const mix_shuffle_names[] = {
    [MIX_SHUFFLE_BLOCK] = "block", [MIX_SHUFFLE_FULL] = "full", [MIX_SHUFFLE_NONE] = "none", NULL};
const char *const mix_batches_names[] = {
    [MIX_BATCHES_COPIED] = "copied", [MIX_BATCHES_DERIVED] = "derived", NULL};
