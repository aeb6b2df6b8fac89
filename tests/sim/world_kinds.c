#include "tests/sim/world_kinds.h"

#define A        "  a: {train: [a.jsonl], on_end: stop}\n"
#define B        "  b: {train: [\"b.{1..2}.jsonl\"], partitions: 2}\n"
#define D        "  d: {train: [d.jsonl]}\n"
#define D_DROPS  "  d: {train: [d.jsonl], on_end: drop}\n"
#define E        "  e: {train: [e.jsonl]}\n"
#define L        "  l: {train: [\"l.{1..2}.jsonl\"], partitions: 2}\n"
#define L_WAITS  "  l: {train: [\"l.{1..2}.jsonl\"], partitions: 2, live: true}\n"
#define L_LENDS  "  l: {train: [\"l.{1..2}.jsonl\"], partitions: 2, live: true, on_dry: lend}\n"
#define FITTED   "  b: {train: [\"b.{1..2}.jsonl\"], partitions: 2, packing: best_fit}\n"
#define PADDED   "  d: {train: [d.jsonl], packing: none}\n"
#define DEALT(x) "  " x ": {train: [w.jsonl], where: {field: from, equals: " x "}}\n"
#define B_FULL   "  b: {train: [\"b.{1..2}.jsonl\"], partitions: 2, shuffle: full}\n"
#define B_NONE   "  b: {train: [\"b.{1..2}.jsonl\"], partitions: 2, shuffle: none}\n"
#define D_FULL   "  d: {train: [d.jsonl], shuffle: full}\n"
#define D_NONE   "  d: {train: [d.jsonl], shuffle: none}\n"
#define USUAL    "{a: 0.5, b: 0.3, d: 0.2}"

/* Requests; what they point to is constant, and nobody writes to it. */
#define TEXT(text) (char *)(uintptr_t)(text)

static struct ledger_raw_weight heavier[] = {{TEXT("a"), .2}, {TEXT("d"), .8}};
static struct ledger_raw_weight lighter[] = {{TEXT("a"), .6}, {TEXT("b"), .3}, {TEXT("d"), .1}};
static struct ledger_raw_weight without_b[] = {{TEXT("a"), .6}, {TEXT("d"), .1}};
static struct ledger_raw_weight joins[] = {{TEXT("e"), .4}};

#define WEIGH(name, at, list, scale)                                                               \
	{                                                                                          \
		.id = TEXT(name), .kind = LEDGER_WEIGHTS, .at_step = (at), .weight = (list),       \
		.weights_n = sizeof(list) / sizeof((list)[0]), .lr_scale = (scale),                \
		.partition = -1, .who = TEXT("sim")                                                \
	}
#define BATCH(name, at, batch)                                                                     \
	{                                                                                          \
		.id = TEXT(name), .kind = LEDGER_WEIGHTS, .at_step = (at), .partition = -1,        \
		.who = TEXT("sim"), .global_batch = (batch)                                        \
	}
#define JOIN(at)                                                                                   \
	{                                                                                          \
		.id = TEXT("join"), .kind = LEDGER_JOIN, .at_step = (at), .domain = TEXT("e"),     \
		.weight = joins, .weights_n = 1, .partition = -1, .who = TEXT("sim")               \
	}
#define LEAVE(at)                                                                                  \
	{                                                                                          \
		.id = TEXT("leave"), .kind = LEDGER_LEAVE, .at_step = (at), .domain = TEXT("b"),   \
		.partition = -1, .who = TEXT("sim")                                                \
	}
#define SKIP(at)                                                                                   \
	{                                                                                          \
		.id = TEXT("skip"), .kind = LEDGER_SKIP, .at_step = (at), .domain = TEXT("b"),     \
		.partition = 1, .first = 2, .end = 6, .who = TEXT("sim")                           \
	}
#define SKIP_LIVE(at)                                                                              \
	{                                                                                          \
		.id = TEXT("skip-live"), .kind = LEDGER_SKIP, .at_step = (at),                     \
		.domain = TEXT("l"), .partition = 0, .first = 4, .end = 7, .who = TEXT("sim")      \
	}
#define LEAVE_D(at)                                                                                \
	{                                                                                          \
		.id = TEXT("leave"), .kind = LEDGER_LEAVE, .at_step = (at), .domain = TEXT("d"),   \
		.partition = -1, .who = TEXT("sim")                                                \
	}
#define UNDO(at)                                                                                   \
	{                                                                                          \
		.id = TEXT("undo"), .kind = LEDGER_UNDO, .at_step = (at), .domain = TEXT("b"),     \
		.partition = 1, .first = 3, .end = 5, .who = TEXT("sim")                           \
	}

const struct world_kind world_kinds[WORLD_KINDS] = {
    {.name = "plain", .lanes = 4, .ranks = 2, .domains = A B D, .weights = USUAL},
    {.name = "one lane, lead of 2",
	.lanes = 1,
	.ranks = 1,
	.lead = 2,
	.domains = A B D,
	.weights = USUAL},
    {.name = "lead of 5, records twice",
	.lanes = 4,
	.ranks = 2,
	.lead = 5,
	.domains = A B D,
	.weights = USUAL,
	.repeated = true},
    {.name = "bad sequences",
	.lanes = 2,
	.ranks = 1,
	.domains = A B D,
	.weights = USUAL,
	.bad = true},
    {.name = "by tokens",
	.lanes = 2,
	.ranks = 2,
	.lead = 7,
	.domains = A B D_DROPS,
	.weights = USUAL,
	.more = "  weights_unit: tokens\n"},
    {.name = "greedy, strided, phases",
	.lanes = 4,
	.ranks = 1,
	.domains = A B D,
	.weights = USUAL,
	.more = "  schedule: greedy\n  lane_order: strided\n  phases:\n"
		"    - {name: late, start_step: 6, weights: {d: 1.0}, lr_scale: 0.5}\n",
	.repeated = true},
    {.name = "requests",
	.lanes = 4,
	.ranks = 2,
	.lead = 6,
	.domains = A B D,
	.weights = USUAL,
	.asked = {WEIGH("heavier", 4, heavier, 0.5), SKIP(3), UNDO(6)},
	.asked_n = 3},
    {.name = "random, bad sequences, records twice",
	.lanes = 2,
	.ranks = 2,
	.lead = 9,
	.domains = A B D_DROPS,
	.weights = USUAL,
	.more = "  schedule: random\n",
	.bad = true,
	.repeated = true},
    {.name = "rounds",
	.lanes = 2,
	.ranks = 2,
	.lead = 4,
	.domains = A B D,
	.weights = USUAL,
	.more = "  epoch_size: 20\n"},
    {.name = "rounds, requests, a phase",
	.lanes = 4,
	.ranks = 4,
	.domains = A B D,
	.weights = USUAL,
	.more =
	    "  epoch_size: 27\n  phases:\n    - {name: late, start_step: 7, weights: {d: 1.0}}\n",
	.asked = {WEIGH("heavier", 4, heavier, 0), SKIP(2)},
	.asked_n = 2},
    {.name = "joins, leaves, skips",
	.lanes = 4,
	.ranks = 2,
	.lead = 8,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.asked = {JOIN(3), LEAVE(7), SKIP(4)},
	.asked_n = 3},
    {.name = "packed to fit and one by one, by tokens",
	.lanes = 2,
	.ranks = 1,
	.lead = 6,
	.domains = A FITTED PADDED,
	.weights = USUAL,
	.more = "  weights_unit: tokens\n"},
    {.name = "one input dealt out",
	.lanes = 2,
	.ranks = 2,
	.domains = A DEALT("x") DEALT("y"),
	.weights = "{a: 0.5, x: 0.3, y: 0.2}",
	.more = "  window: 2\n"},
    {.name = "live",
	.lanes = 2,
	.ranks = 2,
	.lead = 5,
	.domains = A D L_WAITS,
	.producing = A D L,
	.weights = "{a: 0.5, d: 0.2, l: 0.3}"},
    {.name = "live, lends",
	.lanes = 4,
	.ranks = 2,
	.domains = A B L_LENDS,
	.producing = A B L,
	.weights = "{a: 0.4, b: 0.2, l: 0.4}",
	.lends = true},
    {.name = "live, lends, lead of 3",
	.lanes = 2,
	.ranks = 1,
	.lead = 3,
	.domains = A D L_LENDS,
	.producing = A D L,
	.weights = "{a: 0.5, d: 0.2, l: 0.3}",
	.lends = true},
    {.name = "requests that come late",
	.lanes = 4,
	.ranks = 2,
	.lead = 4,
	.domains = A B D,
	.weights = USUAL,
	.late = {WEIGH("heavier", -1, heavier, 0.5), WEIGH("lighter", 9, lighter, 0)},
	.late_n = 2},
    {.name = "joins and leaves late",
	.lanes = 2,
	.ranks = 2,
	.lead = 6,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.late = {JOIN(-1), LEAVE(-1), WEIGH("lighter", -1, without_b, 0)},
	.late_n = 3},
    {.name = "changed configuration",
	.lanes = 2,
	.ranks = 1,
	.lead = 4,
	.domains = A B D,
	.weights = USUAL,
	.accepted = "{a: 0.3, b: 0.1, d: 0.6}"},
    {.name = "changed configuration, rounds",
	.lanes = 4,
	.ranks = 2,
	.domains = A B D,
	.weights = USUAL,
	.more = "  epoch_size: 16\n",
	.accepted = "{a: 0.6, b: 0.2, d: 0.2}"},
    {.name = "as they stand, and all shuffled",
	.lanes = 4,
	.ranks = 2,
	.lead = 5,
	.domains = A B_NONE D_FULL,
	.weights = "{a: 0.2, b: 0.7, d: 0.1}",
	.repeated = true},
    {.name = "all shuffled, little memory, records twice, joins, leaves",
	.lanes = 2,
	.ranks = 2,
	.lead = 6,
	.domains = A B D_NONE,
	.producing = A B D_NONE E,
	.weights = USUAL,
	.more = "  shuffle: full\n  memory: 1MB\n",
	.repeated = true,
	.asked = {JOIN(3), LEAVE(7)},
	.asked_n = 2},
    {.name = "orders, changed configuration",
	.lanes = 2,
	.ranks = 1,
	.lead = 4,
	.domains = A B_FULL D_NONE,
	.weights = USUAL,
	.accepted = "{a: 0.3, b: 0.1, d: 0.6}"},
    {.name = "batch by phases, rounds",
	.lanes = 4,
	.ranks = 2,
	.lead = 5,
	.domains = A B D,
	.weights = USUAL,
	.more = "  epoch_size: 27\n  phases:\n"
		"    - {name: large, start_step: 3, global_batch: 16}\n"
		"    - {name: small, start_step: 6, global_batch: 4, weights: {d: 1.0}}\n"
		"    - {name: usual, start_step: 10}\n",
	.repeated = true},
    {.name = "batch by requests, by tokens, bad sequences",
	.lanes = 2,
	.ranks = 2,
	.lead = 4,
	.domains = A B D_DROPS,
	.weights = USUAL,
	.more = "  weights_unit: tokens\n",
	.bad = true,
	.asked = {BATCH("larger", 3, 12), SKIP(4), BATCH("smaller", 7, 2)},
	.asked_n = 3},
    {.name = "batch by requests that come late",
	.lanes = 4,
	.ranks = 2,
	.lead = 4,
	.domains = A B D,
	.weights = USUAL,
	.late = {BATCH("larger", -1, 16), WEIGH("heavier", -1, heavier, 0.5),
	    BATCH("smaller", 9, 4)},
	.late_n = 3},
    {.name = "live, lends, batch by phases",
	.lanes = 2,
	.ranks = 2,
	.lead = 6,
	.domains = A D L_LENDS,
	.producing = A D L,
	.weights = "{a: 0.5, d: 0.2, l: 0.3}",
	.more = "  phases:\n"
		"    - {name: large, start_step: 2, global_batch: 12}\n"
		"    - {name: small, start_step: 5, global_batch: 2}\n",
	.lends = true},
};

#define SPLIT "split: 8,1,1\nsplit_unit: tokens\nsplit_piece: 8\n"
#define PHASES                                                                                     \
	"  phases:\n"                                                                              \
	"    - {name: early, start_step: 2, weights: {d: 0.6}, lr_scale: 0.5}\n"                   \
	"    - {name: late, start_step: 6, weights: {a: 1.0}}\n"

/* Each has as many features as can go together: tests/features.tsv. */
const struct world_kind world_mixed[WORLD_MIXED] = {
    {.name = "skips, bad sequences, phases, rounds",
	.lanes = 4,
	.ranks = 3,
	.lead = 5,
	.domains = A B D,
	.weights = USUAL,
	.more = "  epoch_size: 27\n" PHASES,
	.bad = true,
	.asked = {SKIP(3), WEIGH("heavier", 4, heavier, 0.5), UNDO(7)},
	.asked_n = 3},
    {.name = "skips, bad sequences, phases, batch, joins, leaves",
	.lanes = 4,
	.ranks = 3,
	.lead = 4,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.more = PHASES,
	.bad = true,
	.asked = {JOIN(1), SKIP(2), BATCH("larger", 3, 12), LEAVE(4)},
	.asked_n = 4},
    {.name = "skips, bad sequences, phases, rounds, batch, joins, leaves",
	.lanes = 2,
	.ranks = 2,
	.lead = 6,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.more = "  epoch_size: 21\n" PHASES,
	.bad = true,
	.asked = {JOIN(1), SKIP(2), BATCH("smaller", 3, 4), LEAVE(4)},
	.asked_n = 4},
    {.name = "split by tokens, skips, bad sequences, phases, batch",
	.lanes = 4,
	.ranks = 3,
	.lead = 4,
	.corpus = SPLIT,
	.domains = A B D,
	.weights = USUAL,
	.more = PHASES,
	.bad = true,
	.asked = {SKIP(2), BATCH("smaller", 3, 4)},
	.asked_n = 2},
    {.name = "split by tokens, rounds, joins, leaves",
	.lanes = 4,
	.ranks = 3,
	.lead = 5,
	.corpus = SPLIT,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.more = "  epoch_size: 16\n",
	.asked = {JOIN(1), LEAVE(4)},
	.asked_n = 2},
    {.name = "lends, skips, bad sequences, phases",
	.lanes = 4,
	.ranks = 3,
	.lead = 4,
	.domains = A B L_LENDS,
	.producing = A B L,
	.weights = "{a: 0.4, b: 0.2, l: 0.4}",
	.more = "  phases:\n"
		"    - {name: early, start_step: 2, weights: {l: 0.8}}\n"
		"    - {name: late, start_step: 5, global_batch: 4}\n",
	.bad = true,
	.late = {SKIP(-1), SKIP_LIVE(-1)},
	.late_n = 2,
	.lends = true},
    {.name = "lends, joins, leaves, batch, skips",
	.lanes = 2,
	.ranks = 2,
	.lead = 4,
	.domains = A D L_LENDS,
	.producing = A D L E,
	.weights = "{a: 0.5, d: 0.2, l: 0.3}",
	.late = {JOIN(-1), BATCH("smaller", -1, 4), SKIP_LIVE(-1), LEAVE_D(-1)},
	.late_n = 4,
	.lends = true},
    {.name = "lends, split by tokens, batch, skips, bad sequences",
	.lanes = 4,
	.ranks = 3,
	.corpus = SPLIT,
	.domains = A B L_LENDS,
	.producing = A B L,
	.weights = "{a: 0.4, b: 0.2, l: 0.4}",
	.bad = true,
	.late = {BATCH("smaller", -1, 4), SKIP_LIVE(-1)},
	.late_n = 2,
	.lends = true},
    {.name = "another lead, skips, bad sequences, phases, batch",
	.lanes = 4,
	.ranks = 3,
	.lead = 3,
	.domains = A B D,
	.weights = USUAL,
	.more = PHASES,
	.accepted = USUAL,
	.accepted_lead = 7,
	.bad = true,
	.late = {SKIP(-1), BATCH("smaller", -1, 4)},
	.late_n = 2},
    {.name = "another lead, rounds, joins, leaves",
	.lanes = 2,
	.ranks = 2,
	.lead = 6,
	.domains = A B D,
	.producing = A B D E,
	.weights = USUAL,
	.more = "  epoch_size: 27\n",
	.accepted = USUAL,
	.accepted_lead = 2,
	.late = {JOIN(-1), LEAVE(-1)},
	.late_n = 2},
    {.name = "another lead, lends, split by tokens, skips",
	.lanes = 4,
	.ranks = 3,
	.lead = 4,
	.corpus = SPLIT,
	.domains = A B L_LENDS,
	.producing = A B L,
	.weights = "{a: 0.4, b: 0.2, l: 0.4}",
	.accepted = "{a: 0.4, b: 0.2, l: 0.4}",
	.accepted_lead = 9,
	.late = {SKIP_LIVE(-1)},
	.late_n = 1,
	.lends = true},
};

#define LIVE         ", live: true}\n"
#define CLOSED       "}\n"
#define ALL(end)     "  n: {train: [\"in/*.jsonl\", \"in/*.txt\"]" end
#define SPREAD(end)  "  n: {train: [\"in/*.jsonl\", \"in/*.txt\"], partitions: 2" end
#define SOME(x, end) "  " x ": {train: [\"in/*.jsonl\"], where: {field: from, equals: " x "}" end
#define LINES(end)   "  n: {train: [\"in/*.jsonl\"]" end
#define TEXTS(end)   "  o: {train: [\"in/*.txt\"]" end

const struct world_inbox world_inboxes[WORLD_INBOXES] = {
    {"files arrive", ALL(LIVE), ALL(CLOSED)},
    {"files arrive, partitions", SPREAD(LIVE), SPREAD(CLOSED)},
    {"files arrive, one input dealt out", SOME("x", LIVE) SOME("y", LIVE),
	SOME("x", CLOSED) SOME("y", CLOSED)},
    {"files arrive, two inputs", LINES(LIVE) TEXTS(LIVE), LINES(CLOSED) TEXTS(CLOSED)},
};
