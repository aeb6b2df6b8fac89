#include "consumer/batches/lane_ends.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/offsets.h"
#include "common/record/batch.h"
#include "consumer/batches/lanes.h"

enum {
	AHEAD_BYTES = 16 << 20,
	MARKERS = 1,   /* behind the last records of a transaction */
	LOOKS_MAX = 3, /* a log that is being cut can move under a look */
	OPEN_PAUSE_MS = 200,
};

/* ---- the last record of each lane ---- */

/* What one look works with. */
struct look {
	struct lanes *lanes;
	const char *mix;
	struct lane_end *end;   /* [count] */
	int64_t *low, *high;    /* [count]: watermarks */
	int64_t *from, *behind; /* [count]: the stretch that was read last, [from, behind) */
	int64_t *at;            /* [count]: where the lanes are assigned */
	bool *reads;            /* [count]: the stretch is not read through */
	uint32_t count;
	bool moved; /* the log was cut while we looked */
};

enum fail_code
lane_ends_fail_foreign(const char *mix, uint32_t lane, int64_t offset, struct failure *f)
{
	fail_within(f, "topic %s.batches, lane %" PRIu32 ", offset %" PRId64, mix, lane, offset);
	if (f->code != FAIL_DATA)
		return f->code;
	return fail_more(f,
	    ". If another program wrote it, stop all mixers, delete the topic "
	    "(kafka-topics.sh --delete --topic %s.batches), then run `riffle topics --create` and "
	    "`riffle repair`, which derives all batches again",
	    mix);
}

static enum fail_code
take_record(struct look *k, uint32_t i, const struct lanes_record *record, struct failure *f)
{
	struct lane_end *e = &k->end[i];
	struct batch_view view;
	struct text_view mix;

	if (batch_decode(&view, record->bytes, record->n, f) == FAIL_NONE) {
		mix = view.head.mix;
		if (view.head.lane == i && mix.n == strlen(k->mix) &&
		    memcmp(mix.bytes, k->mix, mix.n) == 0) {
			e->any = true;
			e->offset = record->offset;
			e->step = view.head.step;
			e->last = view.head.last;
			return FAIL_NONE;
		}
		fail(f, FAIL_DATA,
		    "the last record is of lane %" PRIu32 " of mix \"%.*s\": another program "
		    "writes here",
		    view.head.lane, (int)(mix.n < NAME_MAX_BYTES ? mix.n : NAME_MAX_BYTES),
		    mix.bytes);
	}
	return lane_ends_fail_foreign(k->mix, i, record->offset, f);
}

/* Reads one record of lane i, or that its stretch is at its end. */
static enum fail_code
read_next(struct look *k, uint32_t i, int64_t deadline_ms, struct failure *f)
{
	struct lanes_record record;
	enum lanes_event event;
	enum fail_code code = FAIL_NONE;

	if (lanes_next(k->lanes, i, deadline_ms, &event, &record, f) != FAIL_NONE)
		return fail_within(f, "looking for the last record of each lane");
	switch (event) {
	case LANES_LOST: k->moved = true; return FAIL_NONE;
	case LANES_AT_END: k->reads[i] = false; return FAIL_NONE;
	case LANES_RECORD: break;
	}
	if (record.offset >= k->from[i] && record.offset < k->behind[i])
		code = take_record(k, i, &record, f);
	k->reads[i] = record.offset < k->behind[i];
	lanes_release(k->lanes, i);
	return code;
}

/* Its last record is found, or it has none. */
static bool
is_done(const struct look *k, uint32_t i)
{
	return k->end[i].any || k->from[i] == k->low[i];
}

/* The next stretch of every lane that is not done. False: all are. */
static bool
next_stretch(struct look *k, int64_t factor)
{
	bool more = false;

	for (uint32_t i = 0; i < k->count; i++) {
		int64_t step = factor * ((int64_t)k->end[i].each + MARKERS);

		k->at[i] = k->high[i];
		k->reads[i] = !is_done(k, i);
		if (!k->reads[i])
			continue;
		k->behind[i] = k->from[i];
		k->from[i] = offsets_before(k->low[i], k->behind[i], step);
		k->at[i] = k->from[i];
		more = true;
	}
	return more;
}

/* The lanes in turns, as they lie in a partition that they share: none has many records to wait. */
static enum fail_code
read_stretch(struct look *k, int64_t deadline_ms, struct failure *f)
{
	bool more = true;

	if (lanes_assign(k->lanes, k->at, f) != FAIL_NONE)
		return f->code;
	while (more && !k->moved) {
		more = false;
		for (uint32_t i = 0; i < k->count && !k->moved; i++) {
			if (k->reads[i] && read_next(k, i, deadline_ms, f) != FAIL_NONE)
				return f->code;
			more = more || k->reads[i];
		}
	}
	return FAIL_NONE;
}

/*
 * Offsets behind a lane's last record hold the marker of its transaction, and aborted records with
 * theirs. Nobody knows how many: all lanes that showed no record yet step back together, 2 offsets,
 * then 4, 8, ...; n + 1 at first where n lanes share the partition.
 */
static enum fail_code
step_back(struct look *k, int64_t deadline_ms, struct failure *f)
{
	for (int64_t factor = 1; !k->moved && next_stretch(k, factor); factor *= 2)
		if (read_stretch(k, deadline_ms, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
look(struct look *k, int timeout_ms, struct failure *f)
{
	const struct lane_map *map = lanes_map(k->lanes);
	int64_t deadline_ms = clock_ms() + timeout_ms;

	if (lanes_watermarks(k->lanes, k->low, k->high, timeout_ms, f) != FAIL_NONE)
		return f->code;
	for (uint32_t i = 0; i < k->count; i++) {
		uint32_t p = lane_map_partition(map, i);

		k->end[i] = (struct lane_end){
		    .partition = p,
		    .each = lane_map_first(map, p + 1) - lane_map_first(map, p),
		    .low = k->low[i],
		    .high = k->high[i],
		};
		k->from[i] = k->high[i];
	}
	return step_back(k, deadline_ms, f);
}

/* Gives *out[count] (free). *moved: the log was cut meanwhile, and nothing is given. */
static enum fail_code
read_ends(struct lane_end **out, bool *moved, struct lanes *l, const char *mix, int timeout_ms,
    struct failure *f)
{
	size_t n = lanes_count(l);
	struct look k = {.lanes = l, .mix = mix, .count = (uint32_t)n};
	int64_t *offsets = calloc(5 * n, sizeof(*offsets));
	enum fail_code code = FAIL_NONE;

	k.end = calloc(n, sizeof(*k.end));
	k.reads = calloc(n, sizeof(*k.reads));
	if (offsets == NULL || k.end == NULL || k.reads == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE) {
		k.low = offsets;
		k.high = offsets + n;
		k.from = offsets + 2 * n;
		k.behind = offsets + 3 * n;
		k.at = offsets + 4 * n;
		code = look(&k, timeout_ms, f);
	}
	free(offsets);
	free(k.reads);
	*moved = k.moved;
	if (code != FAIL_NONE || k.moved)
		free(k.end);
	else
		*out = k.end;
	return code;
}

/* ---- transactions that nobody ends ---- */

/* The ends of the log itself: `rk` sees what is undecided, too. */
static enum fail_code
compare_logs(struct lane_end *end, const struct lane_map *map, rd_kafka_t *rk, const char *topic,
    bool *open, int timeout_ms, struct failure *f)
{
	uint32_t n = map->partitions;
	int64_t *high = calloc(n + 1, sizeof(*high));
	enum fail_code code =
	    high == NULL ? fail_memory(f)
			 : kafka_watermarks_many(rk, topic, 0, n, NULL, high, timeout_ms, f);

	*open = false;
	for (uint32_t i = 0; code == FAIL_NONE && i < lane_map_lying(map); i++) {
		end[i].open = high[end[i].partition] > end[i].high;
		*open = *open || end[i].open;
	}
	free(high);
	return code;
}

static enum fail_code
open_looker(
    rd_kafka_t **out, const struct properties *properties, bool uncommitted, struct failure *f)
{
	struct kafka_options k = {.role = KAFKA_READER,
	    .properties = properties,
	    .client = "lane-ends",
	    .uncommitted = uncommitted};

	return kafka_open(out, &k, f);
}

/* The same of the ledger. `rk` sees what is undecided, `reader` does not. */
static enum fail_code
compare_ledger(struct lane_ends_ledger *l, rd_kafka_t *rk, rd_kafka_t *reader, const char *mix,
    int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t low, high;

	names_topic(topic, mix, "ledger");
	if (kafka_watermarks(reader, topic, 0, &low, &l->high, timeout_ms, f) != FAIL_NONE ||
	    kafka_watermarks(rk, topic, 0, &low, &high, timeout_ms, f) != FAIL_NONE)
		return f->code;
	l->open = high > l->high;
	return FAIL_NONE;
}

static enum fail_code
find_open(struct lane_end *end, const struct lane_map *map, struct lane_ends_ledger *ledger,
    const char *mix, const struct properties *properties, bool *any, int timeout_ms,
    struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk = NULL, *reader = NULL;
	enum fail_code code = open_looker(&rk, properties, true, f);

	names_topic(topic, mix, "batches");
	if (code == FAIL_NONE)
		code = open_looker(&reader, properties, false, f);
	if (code == FAIL_NONE)
		code = compare_ledger(ledger, rk, reader, mix, timeout_ms, f);
	if (code == FAIL_NONE)
		code = compare_logs(end, map, rk, topic, any, timeout_ms, f);
	*any = *any || ledger->open;
	kafka_close(rk);
	kafka_close(reader);
	return code;
}

/* ---- all of it ---- */

/* A new handle for each look: what an earlier one had fetched would be taken for the end. */
static enum fail_code
query(struct lane_end **out, bool *moved, struct lane_map *map, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	struct lanes_options o = {
	    .mix = mix,
	    .world = 1,
	    .properties = properties,
	    .timeout_ms = timeout_ms,
	    .ahead_bytes = AHEAD_BYTES,
	};
	struct lanes *l;
	enum fail_code code = lanes_open(&l, &o, f);

	if (code != FAIL_NONE)
		return code;
	*map = *lanes_map(l);
	*moved = false;
	if (lane_map_lying(map) > 0)
		code = read_ends(out, moved, l, mix, timeout_ms, f);
	else if ((*out = calloc(1, sizeof(**out))) == NULL)
		code = fail_memory(f);
	lanes_close(l);
	return code;
}

enum fail_code
lane_ends_query(struct lane_end **out, struct lane_map *map, const char *mix,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	for (int looks = 0; looks < LOOKS_MAX; looks++) {
		bool moved;

		if (query(out, &moved, map, mix, properties, timeout_ms, f) != FAIL_NONE)
			return f->code;
		if (!moved)
			return FAIL_NONE;
	}
	return fail(f, FAIL_BROKER,
	    "topic %s.batches is being cut faster than the ends of its lanes can be read", mix);
}

/*
 * A transaction that was just decided may still look open: its marker is written, and not on every
 * replica yet. One that nobody ends stays so.
 */
enum fail_code
lane_ends_query_decided(struct lane_end **out, struct lane_map *map,
    struct lane_ends_ledger *ledger, const char *mix, const struct properties *properties,
    int timeout_ms, int patience_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + patience_ms;
	bool open = true;

	for (;;) {
		int64_t began_ms = clock_ms(); /* lane 0 is seen at the start of a long look */

		if (lane_ends_query(out, map, mix, properties, timeout_ms, f) != FAIL_NONE)
			return f->code;
		if (find_open(*out, map, ledger, mix, properties, &open, timeout_ms, f) !=
		    FAIL_NONE)
			break;
		if (!open || began_ms >= deadline_ms)
			return FAIL_NONE;
		free(*out);
		*out = NULL;
		clock_pause_ms(OPEN_PAUSE_MS);
	}
	free(*out);
	*out = NULL; /* callers free it on failure, too */
	return f->code;
}

/* ---- compared with the ledger ---- */

bool
lane_ends_empty(const struct lane_end *end, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!end[i].any)
			return true;
	return false;
}

static bool
all_empty(const struct lane_end *end, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (end[i].any)
			return false;
	return true;
}

/* All records of all lanes may have been deleted, and nothing else be wrong. */
static bool
may_be_deleted(const struct lane_end *end, const struct lane_ends_ledger *l)
{
	assert(end->each > 0);
	return end->low > 0 && (uint64_t)end->high / end->each >= l->next - l->first;
}

static void
compare_lane(struct lane_end *end, bool others_empty, const struct lane_ends_ledger *l)
{
	bool ended = end->any && end->last;
	uint64_t begins = l->cut && end->low == 0 ? 0 : l->first;

	end->next = !end->any ? begins : ended ? end->step : end->step + 1;
	end->state = LANE_ENDS_LEVEL;
	if (!end->any && others_empty && may_be_deleted(end, l))
		end->next = l->next;
	else if (end->next < l->next || (end->next == l->next && l->ended && !ended))
		end->state = LANE_ENDS_BEHIND;
	else if (end->next > l->next || ended != l->ended)
		end->state = LANE_ENDS_AHEAD;
}

static void
count(struct lane_ends_count *c, bool counts, uint32_t lane)
{
	if (counts && c->n++ == 0)
		c->lane = lane;
}

void
lane_ends_compare(struct lane_ends_report *out, struct lane_end *end, uint32_t n,
    const struct lane_ends_ledger *l)
{
	struct lane_ends_ledger at = *l;
	bool empty = all_empty(end, n);

	/* Another mixer went on after `next` was read, and records were deleted below that. */
	if (at.first > at.next)
		at.first = at.next;
	*out = (struct lane_ends_report){.lowest = l->next, .highest = l->next};
	for (uint32_t i = 0; i < n; i++) {
		struct lane_end *e = &end[i];

		compare_lane(e, empty, &at);
		count(&out->behind, e->state == LANE_ENDS_BEHIND, i);
		count(&out->ahead, e->state == LANE_ENDS_AHEAD, i);
		count(&out->open, e->open, i);
		if (e->next < out->lowest)
			out->lowest = e->next;
		if (e->next > out->highest)
			out->highest = e->next;
	}
}

/* "lane 3", "lane 3 and 4 more". */
static void
name_lanes(char out[static 48], const struct lane_ends_count *c)
{
	if (c->n == 1)
		snprintf(out, 48, "lane %" PRIu32, c->lane);
	else
		snprintf(out, 48, "lane %" PRIu32 " (and %" PRIu32 " more)", c->lane, c->n - 1);
}

enum fail_code
lane_ends_judge(const struct lane_ends_report *r, const struct lane_end *end,
    const struct lane_ends_ledger *l, const char *mix, struct failure *f)
{
	const char *kept = "a broker has not kept what it acknowledged, or the topic was recreated";
	char lanes[48];

	if (r->ahead.n > 0) {
		name_lanes(lanes, &r->ahead);
		return fail(f, FAIL_DATA,
		    "topic %s.ledger has lost its end: it ends before step %" PRIu64
		    ", %s of topic %s.batches before step %" PRIu64
		    ": %s. Going on would publish these steps a second time",
		    mix, l->next, lanes, mix, end[r->ahead.lane].next, kept);
	}
	if (r->behind.n > 0) {
		name_lanes(lanes, &r->behind);
		return fail(f, FAIL_DATA,
		    "topic %s.batches has lost its end: %s ends before step %" PRIu64
		    "%s, the ledger before step %" PRIu64 "%s: %s",
		    mix, lanes, end[r->behind.lane].next,
		    end[r->behind.lane].any ? "" : " (it holds no record)", l->next,
		    l->ended ? " with the end of the mix" : "", kept);
	}
	if (l->open)
		return fail(f, FAIL_DATA,
		    "topic %s.ledger has lost its end: it holds records of a transaction behind "
		    "step %" PRIu64 " that nobody ends any more: %s",
		    mix, l->next, kept);
	if (r->open.n > 0) {
		name_lanes(lanes, &r->open);
		return fail(f, FAIL_DATA,
		    "topic %s.batches has lost its end: %s holds records of a transaction behind "
		    "offset %" PRId64 " that nobody ends any more: %s",
		    mix, lanes, end[r->open.lane].high, kept);
	}
	return FAIL_NONE;
}
