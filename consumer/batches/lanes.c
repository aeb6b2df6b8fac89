#include "consumer/batches/lanes.h"

#include <assert.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_commits.h"
#include "common/kafka/mix_names.h"
#include "common/record/batch.h"
#include "consumer/batches/lane_fetch.h"
#include "consumer/derive/derived_lanes.h"

enum {
	LANES_EXPECTED = 8, /* a rank with more lanes opens its handle a second time */
	GROUP_MAX_BYTES = 2 * NAME_MAX_BYTES + 2,
	NUMBER_MAX_BYTES = 24,
	FETCH_WAIT_MS = 50,       /* how long an idle fetch waits at the broker */
	SERVE_EVERY = 64,         /* records between two looks at the handle's own queue */
	COMMIT_SLICE_MS = 100,    /* of waiting for the answer to a commit */
	COMMIT_AGAIN_MS = 200,    /* from a refusal that passes to the next attempt */
	COMMIT_TRIES_MS = 300000, /* for all attempts of one: a coordinator that moves, or begins */
	/* Derived lanes: what blocks of domains may hold, in parts of what is read ahead. */
	BLOCKS_PARTS = 4,
};

struct lane {
	rd_kafka_message_t *held; /* given by lanes_next(), not released yet; NULL: none */
	/* Where lanes share a partition: what was met while another one was read. */
	rd_kafka_message_t *wait[LANES_WAIT_MAX]; /* wait_n from wait_at on, as a ring */
	unsigned wait_at, wait_n;
	int64_t offset_first; /* records below it are not this lane's business */
	uint64_t step_first;  /* records of lower steps are passed over; 0: none are any more */
	bool at_end, lost;    /* the partition is, */
	int64_t end;          /* and where */
	int64_t asked_end;    /* of the partition, by the last lanes_watermarks(); 0: none yet */
};

struct lanes {
	rd_kafka_t *rk;
	char topic[TOPIC_MAX_BYTES + 1];
	char group[GROUP_MAX_BYTES];
	char positions[TOPIC_MAX_BYTES + 1]; /* the topic of commits */
	struct lane_map map;
	uint32_t first, count;
	struct lane *lane; /* [count] */
	struct derived_lanes
	    *derived; /* of a mix without copies, whose lanes lie nowhere; else NULL */
	uint32_t part_first, parts;
	rd_kafka_queue_t **queue; /* [parts]: of the partitions from part_first on */
	struct lane_fetch fetch;
	rd_kafka_topic_partition_list_t *list; /* of the lanes, for lane_fetch_wake() */
	unsigned since_served;
	rd_kafka_queue_t *answers;               /* of commits */
	rd_kafka_topic_partition_list_t *commit; /* the last one that was begun; NULL: none */
	int64_t commit_again_ms;                 /* when to send it again; 0: it is on its way */
	int64_t commit_until_ms;                 /* and when no more */
	atomic_bool awake;                       /* nobody shall wait */
	atomic_int denied; /* the last rd_kafka_resp_err_t that was a denial; 0: none */
};

static void forget(struct lanes *l, uint32_t i);
static void assign_derived(struct lanes *l, const int64_t *offset_next);
static enum fail_code watermarks_derived(
    struct lanes *l, int64_t *low, int64_t *high, struct failure *f);
static enum fail_code open_derived(
    struct lanes *l, const struct lanes_options *o, struct failure *f);

/* ---- opening ---- */

static enum fail_code
open_handle(struct lanes *l, const struct lanes_options *o, uint32_t parts, struct failure *f)
{
	static char name[][32] = {"queued.max.messages.kbytes", "queued.min.messages",
	    "fetch.wait.max.ms", "fetch.message.max.bytes", "fetch.queue.backoff.ms"};
	char value[sizeof(name) / sizeof(name[0])][NUMBER_MAX_BYTES];
	const struct property tune[] = {{name[0], value[0]}, {name[1], value[1]},
	    {name[2], value[2]}, {name[3], value[3]}, {name[4], value[4]}};
	struct failure unknown;
	struct kafka_options k = {
	    .role = KAFKA_READER,
	    .properties = o->properties,
	    .client = "read",
	    .group = l->group[0] == '\0' ? NULL : l->group,
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0]),
	    .stats = o->stats,
	    .quiet = l->map.lanes == 0, /* the first one: lanes_open() waits for the broker */
	};

	lane_fetch_init(&l->fetch, o->ahead_bytes == 0 ? LANES_AHEAD_BYTES : o->ahead_bytes, parts);
	snprintf(value[0], NUMBER_MAX_BYTES, "%zu", l->fetch.ahead_bytes >> 10);
	snprintf(value[1], NUMBER_MAX_BYTES, "%zu", l->fetch.ahead_records);
	snprintf(value[2], NUMBER_MAX_BYTES, "%d", FETCH_WAIT_MS);
	snprintf(value[3], NUMBER_MAX_BYTES, "%zu", l->fetch.fetch_bytes);
	snprintf(value[4], NUMBER_MAX_BYTES, "%d", LANE_FETCH_BACKOFF_MS);
	if (kafka_check_property(&tune[4], &unknown) == FAIL_NONE) /* librdkafka from 2.2 on */
		lane_fetch_backs_off(&l->fetch);
	else
		k.tune_n--;
	return kafka_open(&l->rk, &k, f);
}

/*
 * Lanes share partitions where there is a topic <mix>.lanes. One that may not be seen is as none:
 * the mix is older than such topics and so are the user's rights, or else the first record will not
 * fit (step_check.h). A mix without copies has that topic alone.
 */
enum fail_code
lanes_query_map(struct lane_map *out, struct rd_kafka_s *rk, const char *mix, int partitions,
    int timeout_ms, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int lanes;

	assert(partitions >= 0);
	names_topic(topic, mix, "lanes");
	if (kafka_partitions(rk, topic, &lanes, timeout_ms, f) != FAIL_NONE) {
		if (f->code != FAIL_DENIED)
			return f->code;
		if (partitions == 0)
			return fail_within(
			    f, "topic %s.batches does not exist, as of a mix without copies", mix);
		lanes = 0;
	}
	if (lanes == 0)
		lanes = partitions;
	if (lanes == 0) {
		names_topic(topic, mix, "batches");
		return mix_names_fail(rk, topic, mix, f);
	}
	if (lanes > LIMIT_LANES)
		return fail(f, FAIL_CONFIG,
		    "topic %s.%s has %d partitions; a mix has at most %d lanes", mix,
		    lanes == partitions ? "batches" : "lanes", lanes, LIMIT_LANES);
	if (lanes < partitions)
		return fail(f, FAIL_CONFIG,
		    "topic %s.batches has %d partitions, and %s has %d: partitions of the first "
		    "were added, or the second is another mix's",
		    mix, partitions, topic, lanes);
	*out = (struct lane_map){(uint32_t)lanes, (uint32_t)partitions};
	return FAIL_NONE;
}

/* The lowest lane l with floor(l * world / lanes) = rank. */
static uint32_t
first_lane(uint32_t lanes, uint32_t world, uint32_t rank)
{
	return (uint32_t)(((uint64_t)rank * lanes + world - 1) / world);
}

static enum fail_code
check_world(const struct lanes *l, const struct lanes_options *o, struct failure *f)
{
	uint32_t lanes = l->map.lanes, below = o->world, above = o->world + 1;

	if (o->world > lanes)
		return fail(f, FAIL_CONFIG,
		    "a world of %" PRIu32 " ranks is larger than the %" PRIu32
		    " lanes of topic %s: at most %" PRIu32 " ranks; more lanes need a new mix",
		    o->world, lanes, l->topic, lanes);
	if (o->uneven || lanes % o->world == 0)
		return FAIL_NONE;
	while (lanes % below != 0)
		below--;
	while (lanes % above != 0)
		above++;
	return fail(f, FAIL_CONFIG,
	    "a world of %" PRIu32 " ranks does not divide the %" PRIu32
	    " lanes of topic %s: take %" PRIu32 " or %" PRIu32
	    ", or let ranks differ by one lane (--uneven, in Python uneven=True)",
	    o->world, lanes, l->topic, below, above);
}

static enum fail_code
find_lanes(struct lanes *l, const struct lanes_options *o, struct failure *f)
{
	int partitions;

	if (kafka_wait_topic(l->rk, l->topic, &partitions, o->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (lanes_query_map(&l->map, l->rk, o->mix, partitions, o->timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (check_world(l, o, f) != FAIL_NONE)
		return f->code;
	names_topic(l->positions, o->mix, lane_map_shared(&l->map) ? "lanes" : "batches");
	l->first = first_lane(l->map.lanes, o->world, o->rank);
	l->count = first_lane(l->map.lanes, o->world, o->rank + 1) - l->first;
	if (l->map.partitions == 0)
		return FAIL_NONE;
	l->part_first = lane_map_partition(&l->map, l->first);
	l->parts = lane_map_partition(&l->map, l->first + l->count - 1) - l->part_first + 1;
	return FAIL_NONE;
}

/*
 * Gives each partition a queue of its own. By default librdkafka forwards all partitions into the
 * queue of the consumer, where one that is far behind would stand in front of the others.
 */
static enum fail_code
open_queues(struct lanes *l, struct failure *f)
{
	l->lane = calloc(l->count, sizeof(*l->lane));
	l->queue = calloc(l->parts + 1, sizeof(*l->queue));
	l->list = rd_kafka_topic_partition_list_new((int)l->parts);
	if (l->lane == NULL || l->queue == NULL || l->list == NULL)
		return fail_memory(f);
	for (uint32_t p = 0; p < l->parts; p++) {
		int32_t partition = (int32_t)(l->part_first + p);

		l->queue[p] = rd_kafka_queue_get_partition(l->rk, l->topic, partition);
		if (l->queue[p] == NULL)
			return fail_memory(f);
		rd_kafka_queue_forward(l->queue[p], NULL);
		rd_kafka_topic_partition_list_add(l->list, l->topic, partition);
	}
	return FAIL_NONE;
}

enum fail_code
lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *f)
{
	struct lanes *l = calloc(1, sizeof(*l));

	assert(o->world > 0);
	assert(o->rank < o->world);
	if (l == NULL)
		return fail_memory(f);
	names_topic(l->topic, o->mix, "batches");
	snprintf(l->group, sizeof(l->group), "%s", o->group == NULL ? "" : o->group);
	if (open_handle(l, o, LANES_EXPECTED, f) != FAIL_NONE || find_lanes(l, o, f) != FAIL_NONE)
		goto failed;
	/*
	 * A handle's limits of read-ahead are fixed when it is created, and they depend on the
	 * number of partitions (lane_fetch.h), which only a handle can find out. So the first
	 * handle guesses LANES_EXPECTED, which is right for most; with more it is replaced, with
	 * fewer they read less far ahead.
	 */
	if (l->parts > 0 && l->parts < LANES_EXPECTED)
		lane_fetch_fewer(&l->fetch, l->parts);
	if (l->parts > LANES_EXPECTED) {
		kafka_close(l->rk);
		l->rk = NULL;
		if (open_handle(l, o, l->parts, f) != FAIL_NONE || find_lanes(l, o, f) != FAIL_NONE)
			goto failed;
	}
	l->answers = rd_kafka_queue_new(l->rk);
	if (l->answers == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (open_queues(l, f) != FAIL_NONE ||
	    (l->map.partitions == 0 && open_derived(l, o, f) != FAIL_NONE))
		goto failed;
	*out = l;
	return FAIL_NONE;
failed:
	lanes_close(l);
	return f->code;
}

void
lanes_close(struct lanes *l)
{
	if (l == NULL)
		return;
	for (uint32_t i = 0; l->lane != NULL && i < l->count; i++)
		forget(l, i);
	for (uint32_t p = 0; l->queue != NULL && p < l->parts; p++)
		if (l->queue[p] != NULL)
			rd_kafka_queue_destroy(l->queue[p]);
	derived_lanes_close(l->derived);
	if (l->answers != NULL)
		rd_kafka_queue_destroy(l->answers);
	if (l->list != NULL)
		rd_kafka_topic_partition_list_destroy(l->list);
	if (l->commit != NULL)
		rd_kafka_topic_partition_list_destroy(l->commit);
	kafka_close(l->rk);
	free(l->lane);
	free(l->queue);
	free(l);
}

const char *
lanes_topic(const struct lanes *l)
{
	return l->topic;
}

uint32_t
lanes_total(const struct lanes *l)
{
	return l->map.lanes;
}

uint32_t
lanes_count(const struct lanes *l)
{
	return l->count;
}

uint32_t
lanes_first(const struct lanes *l)
{
	return l->first;
}

const struct lane_map *
lanes_map(const struct lanes *l)
{
	return &l->map;
}

/* The place of lane i's partition among the rank's. */
static uint32_t
part_of(const struct lanes *l, uint32_t i)
{
	assert(i < l->count);
	return lane_map_partition(&l->map, l->first + i) - l->part_first;
}

uint32_t
lanes_lead(const struct lanes *l, uint32_t i)
{
	uint32_t lead = l->derived != NULL ? l->first + i
					   : lane_map_first(&l->map, l->part_first + part_of(l, i));

	return lead < l->first ? 0 : lead - l->first;
}

enum fail_code
lanes_watermarks(struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *f)
{
	if (l->derived != NULL)
		return watermarks_derived(l, low, high, f);
	assert(l->parts <= l->count);
	if (kafka_watermarks_many(l->rk, l->topic, (int32_t)l->part_first, l->parts, low, high,
		timeout_ms, f) != FAIL_NONE)
		return f->code;
	lane_map_spread(&l->map, l->first, l->count, low);
	lane_map_spread(&l->map, l->first, l->count, high);
	for (uint32_t i = 0; i < l->count; i++)
		l->lane[i].asked_end = high[i];
	return FAIL_NONE;
}

/* Gives the rank's partitions, each at the lowest offset of its lanes; NULL: no memory. */
static rd_kafka_topic_partition_list_t *
parts_at(const struct lanes *l, const int64_t *offset_next)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)l->parts);

	for (uint32_t p = 0; list != NULL && p < l->parts; p++)
		rd_kafka_topic_partition_list_add(list, l->topic, (int32_t)(l->part_first + p))
		    ->offset = INT64_MAX;
	for (uint32_t i = 0; list != NULL && i < l->count; i++) {
		int64_t *offset = &list->elems[part_of(l, i)].offset;

		if (offset_next[i] < *offset)
			*offset = offset_next[i];
	}
	return list;
}

/* What stands behind a message that is none of librdkafka's, where that has a record of its own. */
static char ours;

static void
free_message(rd_kafka_message_t *m)
{
	if (m->_private != &ours) {
		rd_kafka_message_destroy(m);
		return;
	}
	free(m->payload);
	free(m);
}

/* Drops what the lane holds and what waits for it. */
static void
forget(struct lanes *l, uint32_t i)
{
	struct lane *lane = &l->lane[i];

	lanes_release(l, i);
	for (; lane->wait_n > 0; lane->wait_n--)
		free_message(lane->wait[(lane->wait_at + lane->wait_n - 1) % LANES_WAIT_MAX]);
	lane->at_end = lane->lost = false;
	lane->step_first = 0;
}

enum fail_code
lanes_assign(struct lanes *l, const int64_t *offset_next, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list;
	rd_kafka_resp_err_t err;

	for (uint32_t i = 0; i < l->count; i++) {
		forget(l, i);
		l->lane[i].offset_first = lane_map_shared(&l->map) ? offset_next[i] : 0;
	}
	if (l->derived != NULL) {
		assign_derived(l, offset_next);
		return FAIL_NONE;
	}
	list = parts_at(l, offset_next);
	if (list == NULL)
		return fail_memory(f);
	err = kafka_assign(l->rk, list);
	rd_kafka_topic_partition_list_destroy(list);
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "assigning its lanes");
	return fail_within(f, "topic %s", l->topic);
}

/* ---- records ---- */

static enum fail_code
fail_message(const struct lanes *l, const rd_kafka_message_t *m, struct failure *f)
{
	const char *text = rd_kafka_message_errstr(m);

	if (m->err == RD_KAFKA_RESP_ERR__BAD_MSG || m->err == RD_KAFKA_RESP_ERR__BAD_COMPRESSION) {
		fail(f, FAIL_DATA, "reading: %s", text);
		return fail_within(f, "topic %s, %s %d, offset %" PRId64, l->topic,
		    lane_map_shared(&l->map) ? "partition" : "lane", (int)m->partition, m->offset);
	}
	kafka_fail_topic(f, l->rk, m->err, text, "reading", l->topic);
	return fail_within(f, "topic %s", l->topic);
}

/*
 * Takes what is in the handle's own queue: errors that belong to no lane, and librdkafka's
 * callbacks. A missing right is reported there once only, whoever polls; it is kept in `denied` for
 * the thread that waits for a commit (wait_answer()).
 */
static enum fail_code
take_events(struct lanes *l, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	rd_kafka_message_t *m;

	while (code == FAIL_NONE && (m = kafka_poll(l->rk, 0)) != NULL) {
		if (m->err != RD_KAFKA_RESP_ERR_NO_ERROR &&
		    m->err != RD_KAFKA_RESP_ERR__PARTITION_EOF && !kafka_passing(m->err) &&
		    !(kafka_denied(m->err) && !kafka_message_denied(l->rk, m)))
			code = fail_message(l, m, f);
		if (code == FAIL_DENIED)
			atomic_store(&l->denied, m->err);
		free_message(m);
	}
	return code;
}

static enum fail_code
serve(struct lanes *l, struct failure *f)
{
	l->since_served = 0;
	return take_events(l, f);
}

static void
give_held(const struct lane *lane, enum lanes_event *event, struct lanes_record *out)
{
	*event = LANES_RECORD;
	out->bytes = lane->held->payload;
	out->n = lane->held->len;
	out->offset = lane->held->offset;
}

/* Puts a record behind those that wait for its lane. Takes `m`. */
static enum fail_code
let_wait(struct lanes *l, uint32_t i, rd_kafka_message_t *m, struct failure *f)
{
	struct lane *lane = &l->lane[i];

	if (lane->wait_n == LANES_WAIT_MAX) {
		fail(f, FAIL_DATA,
		    "topic %s, partition %d, offset %" PRId64 ": %d records of lane %" PRIu32
		    " came, and none of another lane that is read there: records are missing",
		    l->topic, (int)m->partition, m->offset, LANES_WAIT_MAX, l->first + i);
		free_message(m);
		return f->code;
	}
	lane->wait[(lane->wait_at + lane->wait_n++) % LANES_WAIT_MAX] = m;
	lane->at_end = false;
	return FAIL_NONE;
}

/* Nobody wants it: its step is below the one that was sought, and it is not the mix's end. */
static bool
passed_over(struct lane *lane, const rd_kafka_message_t *m)
{
	struct batch_view view;
	struct failure ignored; /* the lane's reader decodes it, too */

	if (lane->step_first == 0)
		return false;
	if (batch_decode(&view, m->payload, m->len, &ignored) == FAIL_NONE && !view.head.last &&
	    view.head.step < lane->step_first)
		return true;
	lane->step_first = 0;
	return false;
}

/* What the search has met already is passed over like what comes. */
void
lanes_pass_over(struct lanes *l, uint64_t step)
{
	for (uint32_t i = 0; lane_map_shared(&l->map) && i < l->count; i++) {
		struct lane *lane = &l->lane[i];

		lane->step_first = step;
		if (lane->held != NULL && passed_over(lane, lane->held))
			lanes_release(l, i);
		for (; lane->held == NULL && lane->wait_n > 0; lane->wait_n--) {
			if (!passed_over(lane, lane->wait[lane->wait_at]))
				break;
			free_message(lane->wait[lane->wait_at]);
			lane->wait_at = (lane->wait_at + 1) % LANES_WAIT_MAX;
		}
	}
}

/* Brings a record to its lane: lane i of this rank holds its own. Takes `m`. */
static enum fail_code
deal(struct lanes *l, uint32_t i, rd_kafka_message_t *m, struct failure *f)
{
	int64_t lane = l->first + i;

	if (lane_map_shared(&l->map))
		lane = lane_map_lane(&l->map, (uint32_t)m->partition, m->key, m->key_len);
	if (lane < 0) {
		fail(f, FAIL_DATA,
		    "topic %s, partition %d, offset %" PRId64
		    ": the record's key is no lane that lies there (%" PRIu32 " lanes in %" PRIu32
		    " partitions): were partitions added? `riffle topics` says what to do",
		    l->topic, (int)m->partition, m->offset, l->map.lanes, l->map.partitions);
		free_message(m);
		return f->code;
	}
	if (lane < l->first || lane >= (int64_t)l->first + l->count ||
	    m->offset < l->lane[lane - l->first].offset_first ||
	    passed_over(&l->lane[lane - l->first], m))
		free_message(m);
	else if (lane == (int64_t)l->first + i)
		l->lane[i].held = m;
	else
		return let_wait(l, (uint32_t)lane - l->first, m, f);
	return FAIL_NONE;
}

/* What the partition of lane i has come to, for its other lanes: lane i hears of it at once. */
static void
mark(struct lanes *l, uint32_t i, bool lost, int64_t end)
{
	for (uint32_t k = 0; lane_map_shared(&l->map) && k < l->count; k++) {
		if (k == i || part_of(l, k) != part_of(l, i))
			continue;
		l->lane[k].at_end = !lost;
		l->lane[k].lost = lost;
		l->lane[k].end = end;
	}
}

/*
 * What a message of the queue of lane i's partition means; *end is where the partition ends for
 * now, where that is what it says. *again: nothing for the reader of that lane, poll once more.
 * Takes `m`.
 */
static enum fail_code
take(struct lanes *l, uint32_t i, rd_kafka_message_t *m, enum lanes_event *event, int64_t *end,
    bool *again, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	*again = false;
	if (m->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
		if (lane_fetch_taken(&l->fetch, m->len))
			lane_fetch_wake(l->rk, l->list);
		code = deal(l, i, m, f);
		*again = l->lane[i].held == NULL;
		return code;
	}
	*end = m->offset;
	if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF && !kafka_at_end(m, l->lane[i].asked_end)) {
		*again = true;
	} else if (m->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
		*event = LANES_AT_END;
		mark(l, i, false, m->offset);
	} else if (kafka_lost(m->err)) {
		*event = LANES_LOST;
		mark(l, i, true, m->offset);
	} else if (kafka_passing(m->err)) {
		/* The reader only waits: the user hears of its timeout, and of the watchdog. */
		*again = true;
	} else {
		code = fail_message(l, m, f);
	}
	free_message(m);
	return code;
}

/* What another lane's reader has met for this one. False: nothing. */
static bool
take_waiting(struct lane *lane, enum lanes_event *event, int64_t *end)
{
	if (lane->wait_n > 0) {
		lane->held = lane->wait[lane->wait_at];
		lane->wait_at = (lane->wait_at + 1) % LANES_WAIT_MAX;
		lane->wait_n--;
		return true;
	}
	*event = lane->lost ? LANES_LOST : LANES_AT_END;
	*end = lane->end;
	if (!lane->lost && !lane->at_end)
		return false;
	lane->at_end = false;
	return true;
}

/* ---- of a mix without copies: records of our own, whose offset is their step ---- */

static bool
is_end(const rd_kafka_message_t *m)
{
	struct batch_view view;
	struct failure ignored; /* the lane's reader decodes it, too */

	return batch_decode(&view, m->payload, m->len, &ignored) == FAIL_NONE && view.head.last;
}

/* A derived_lanes_put: the record waits for its lane, unless the lane begins behind it. */
static enum fail_code
put_derived(
    void *opaque, uint32_t number, uint64_t step, uint8_t *bytes, size_t n, struct failure *f)
{
	struct lanes *l = opaque;
	struct lane *lane = &l->lane[number - l->first];
	rd_kafka_message_t *m = calloc(1, sizeof(*m));

	assert(number >= l->first && number < l->first + l->count);
	if (m == NULL) {
		free(bytes);
		return fail_memory(f);
	}
	m->_private = &ours;
	m->payload = bytes;
	m->len = n;
	m->partition = (int32_t)number;
	m->offset = (int64_t)step;
	lane->at_end = lane->lost = false;
	/* The end of the mix is for all: one that begins behind it would wait for ever. */
	if (m->offset < lane->offset_first && !is_end(m)) {
		free_message(m);
		return FAIL_NONE;
	}
	lane->offset_first = m->offset + 1;
	return let_wait(l, number - l->first, m, f);
}

static enum fail_code
open_derived(struct lanes *l, const struct lanes_options *o, struct failure *f)
{
	struct derived_lanes_options d = {
	    .mix = o->mix,
	    .properties = o->properties,
	    .lanes = l->map.lanes,
	    .first = l->first,
	    .count = l->count,
	    .memory_bytes = BLOCKS_PARTS * (uint64_t)l->fetch.ahead_bytes,
	    .timeout_ms = o->timeout_ms,
	    .awake = &l->awake,
	    .put = put_derived,
	    .opaque = l,
	};

	names_topic(l->topic, o->mix, "lanes");
	return derived_lanes_open(&l->derived, &d, f);
}

static enum fail_code
watermarks_derived(struct lanes *l, int64_t *low, int64_t *high, struct failure *f)
{
	uint64_t first, end;

	if (derived_lanes_range(l->derived, &first, &end, f) != FAIL_NONE)
		return f->code;
	for (uint32_t i = 0; i < l->count; i++) {
		low[i] = (int64_t)first;
		high[i] = (int64_t)end;
	}
	return FAIL_NONE;
}

static void
assign_derived(struct lanes *l, const int64_t *offset_next)
{
	int64_t lowest = offset_next[0];

	for (uint32_t i = 1; i < l->count; i++)
		if (offset_next[i] < lowest)
			lowest = offset_next[i];
	derived_lanes_seek(l->derived, (uint64_t)lowest);
}

/* The next event for lane i, whose record may be met with those of the others, which wait. */
static enum fail_code
take_derived(struct lanes *l, uint32_t i, int64_t deadline_ms, enum lanes_event *event,
    int64_t *end, bool *again, struct failure *f)
{
	enum derived_lanes_event met;
	uint64_t step;

	if (derived_lanes_next(l->derived, deadline_ms, &met, &step, f) != FAIL_NONE)
		return f->code;
	for (uint32_t k = 0; met != DERIVED_LANES_STEP && k < l->count; k++) {
		l->lane[k].at_end = met == DERIVED_LANES_AT_END;
		l->lane[k].lost = met == DERIVED_LANES_LOST;
		l->lane[k].end = (int64_t)step;
	}
	*again = !take_waiting(&l->lane[i], event, end);
	return FAIL_NONE;
}

/* ---- taking ---- */

enum fail_code
lanes_next(struct lanes *l, uint32_t i, int64_t deadline_ms, enum lanes_event *event,
    struct lanes_record *out, struct failure *f)
{
	struct lane *lane = &l->lane[i];
	bool again;

	assert(i < l->count);
	again = lane->held == NULL && !take_waiting(lane, event, &out->offset);
	if (again && ++l->since_served >= SERVE_EVERY && serve(l, f) != FAIL_NONE)
		return f->code;
	while (again && l->derived != NULL)
		if (take_derived(l, i, deadline_ms, event, &out->offset, &again, f) != FAIL_NONE)
			return f->code;
	while (again) {
		int64_t left = deadline_ms - clock_ms();
		rd_kafka_message_t *m = rd_kafka_consume_queue(
		    l->queue[part_of(l, i)], left < 0 || atomic_load(&l->awake) ? 0 : (int)left);

		if (m == NULL && serve(l, f) != FAIL_NONE)
			return f->code;
		if (m == NULL && !atomic_load(&l->awake) && clock_ms() < deadline_ms)
			continue; /* a yield of an earlier lanes_wake(), which is over */
		if (m == NULL)
			return fail(f, FAIL_TIMEOUT, "topic %s, lane %" PRIu32 ": nothing came",
			    l->topic, l->first + i);
		if (take(l, i, m, event, &out->offset, &again, f) != FAIL_NONE)
			return f->code;
	}
	if (lane->held != NULL)
		give_held(lane, event, out);
	return FAIL_NONE;
}

void
lanes_release(struct lanes *l, uint32_t i)
{
	assert(i < l->count);
	if (l->lane[i].held != NULL)
		free_message(l->lane[i].held);
	l->lane[i].held = NULL;
}

struct lanes_record_held *
lanes_detach(struct lanes *l, uint32_t i)
{
	rd_kafka_message_t *held = l->lane[i].held;

	assert(i < l->count);
	l->lane[i].held = NULL;
	return (struct lanes_record_held *)held;
}

void
lanes_free(struct lanes_record_held *record)
{
	if (record != NULL)
		free_message((rd_kafka_message_t *)record);
}

void
lanes_wake(struct lanes *l)
{
	atomic_store(&l->awake, true);
	for (uint32_t p = 0; p < l->parts; p++)
		rd_kafka_queue_yield(l->queue[p]);
}

void
lanes_sleep(struct lanes *l)
{
	atomic_store(&l->awake, false);
}

enum fail_code
lanes_last_record(struct lanes *l, const char *topic, uint8_t **bytes, size_t *n, bool *emptied,
    int timeout_ms, struct failure *f)
{
	rd_kafka_message_t *m;
	int64_t since_ms = 0;
	int partitions;

	*bytes = NULL;
	*n = 0;
	*emptied = false;
	if (kafka_partitions(l->rk, topic, &partitions, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (partitions == 0)
		return FAIL_NONE;
	do
		if (kafka_last_or_emptied(l->rk, topic, 0, &m, emptied, timeout_ms, f) != FAIL_NONE)
			return f->code;
	while (kafka_look_again(&since_ms, *emptied));
	if (m == NULL)
		return FAIL_NONE;
	*bytes = malloc(m->len + 1);
	if (*bytes != NULL && m->len > 0)
		memcpy(*bytes, m->payload, m->len);
	*n = m->len;
	free_message(m);
	return *bytes == NULL ? fail_memory(f) : FAIL_NONE;
}

/* ---- commits ---- */

enum fail_code
lanes_committed(
    struct lanes *l, int64_t *offset_next, char **metadata, int timeout_ms, struct failure *f)
{
	return kafka_commits_of_topic(
	    l->rk, l->positions, l->map.lanes, offset_next, metadata, timeout_ms, f);
}

/*
 * Gives the rank's lanes as they are committed, each with its offset (NULL: none is set); NULL: no
 * memory.
 */
static rd_kafka_topic_partition_list_t *
positions_of(const struct lanes *l, const int64_t *offset_next)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)l->count);

	for (uint32_t i = 0; list != NULL && i < l->count; i++) {
		rd_kafka_topic_partition_t *p =
		    rd_kafka_topic_partition_list_add(list, l->positions, (int32_t)(l->first + i));

		if (offset_next != NULL)
			p->offset = offset_next[i];
	}
	return list;
}

enum fail_code
lanes_committed_mine(struct lanes *l, char **metadata, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = positions_of(l, NULL);
	enum fail_code code;

	if (list == NULL)
		return fail_memory(f);
	code = kafka_commits(l->rk, list, timeout_ms, f);
	for (uint32_t i = 0; i < l->count; i++) {
		metadata[i] = list->elems[i].metadata;
		list->elems[i].metadata = NULL; /* the caller owns it from here on */
		list->elems[i].metadata_size = 0;
	}
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

static enum fail_code
add_metadata(rd_kafka_topic_partition_list_t *list, const char *metadata, struct failure *f)
{
	for (int i = 0; i < list->cnt; i++) {
		list->elems[i].metadata = strdup(metadata); /* the list owns it */
		list->elems[i].metadata_size = strlen(metadata);
		if (list->elems[i].metadata == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

static enum fail_code
fail_commit(const struct lanes *l, struct failure *f)
{
	return fail_within(f, "group %s, topic %s", l->group, l->positions);
}

static enum fail_code
send_commit(struct lanes *l, struct failure *f)
{
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(l->rk, l->commit, l->answers, NULL, NULL);

	l->commit_again_ms = 0;
	if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
		return FAIL_NONE;
	kafka_fail_code(f, err, NULL, "no commit");
	return fail_commit(l, f);
}

enum fail_code
lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = positions_of(l, offset_next);
	enum fail_code code;

	code = list == NULL ? fail_memory(f) : add_metadata(list, metadata, f);
	if (code != FAIL_NONE) {
		if (list != NULL)
			rd_kafka_topic_partition_list_destroy(list);
		return fail_commit(l, f);
	}
	if (l->commit != NULL)
		rd_kafka_topic_partition_list_destroy(l->commit);
	l->commit = list; /* kept, so that lanes_commit_end() can send it once more */
	l->commit_until_ms = clock_ms() + COMMIT_TRIES_MS;
	return send_commit(l, f);
}

/*
 * Waits for librdkafka's answer to the commit, in slices; *event is NULL where none came in time.
 *
 * A commit is not sent until librdkafka knows the group's coordinator. Where the user has no right
 * to ask for the coordinator, the commit itself is never answered: librdkafka reports the denial
 * to the handle's own queue, once. Two threads poll that queue:
 *
 *     1  the thread that reads: lanes_next() -> serve() -> take_events()
 *     2  this one, between two slices
 *
 * Whichever takes the report stores it in `denied`, and this one looks there after every slice.
 */
static enum fail_code
wait_answer(struct lanes *l, int64_t deadline_ms, rd_kafka_event_t **event, struct failure *f)
{
	int64_t left_ms = deadline_ms - clock_ms();
	bool waits = left_ms > 0; /* else one look, which must be cheap */

	if (!waits)
		left_ms = 0;
	while ((*event = rd_kafka_queue_poll(l->answers,
		    left_ms < COMMIT_SLICE_MS ? (int)left_ms : COMMIT_SLICE_MS)) == NULL) {
		rd_kafka_resp_err_t denied = (rd_kafka_resp_err_t)atomic_load(&l->denied);

		if (denied != RD_KAFKA_RESP_ERR_NO_ERROR)
			return kafka_fail_topic(f, l->rk, denied, NULL, "no commit", l->topic);
		if (waits && take_events(l, f) != FAIL_NONE)
			return f->code;
		left_ms = deadline_ms - clock_ms();
		if (left_ms <= 0)
			break;
	}
	return FAIL_NONE;
}

/* What a commit, or one lane of it, was answered. Takes the event. */
static rd_kafka_resp_err_t
take_answer(rd_kafka_event_t *event)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_event_topic_partition_list(event);
	rd_kafka_resp_err_t err = rd_kafka_event_error(event);

	for (int i = 0; list != NULL && err == RD_KAFKA_RESP_ERR_NO_ERROR && i < list->cnt; i++)
		err = list->elems[i].err;
	rd_kafka_event_destroy(event);
	return err;
}

/*
 * Sends the commit that was refused once more, at l->commit_again_ms. Waits for that moment as far
 * as deadline_ms allows; FAIL_TIMEOUT where it does not.
 */
static enum fail_code
send_again(struct lanes *l, int64_t deadline_ms, struct failure *f)
{
	int64_t now_ms = clock_ms();
	int64_t until_ms = l->commit_again_ms < deadline_ms ? l->commit_again_ms : deadline_ms;

	assert(l->commit != NULL);
	if (until_ms > now_ms)
		clock_pause_ms((int)(until_ms - now_ms));
	if (l->commit_again_ms > clock_ms()) {
		fail(f, FAIL_TIMEOUT, "the group has no coordinator for a commit yet");
		return fail_commit(l, f);
	}
	return send_commit(l, f);
}

enum fail_code
lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_event_t *event;
	rd_kafka_resp_err_t err;

	for (;;) {
		if (l->commit_again_ms != 0 && send_again(l, deadline_ms, f) != FAIL_NONE)
			return f->code;
		if (wait_answer(l, deadline_ms, &event, f) != FAIL_NONE)
			return fail_commit(l, f);
		if (event == NULL) {
			fail(
			    f, FAIL_TIMEOUT, "the broker has not answered a commit yet: is it up?");
			return fail_commit(l, f);
		}
		err = take_answer(event);
		if (err == RD_KAFKA_RESP_ERR_NO_ERROR)
			return FAIL_NONE;
		if (!kafka_passing(err) || clock_ms() >= l->commit_until_ms) {
			kafka_fail_topic(f, l->rk, err, NULL, "no commit", l->topic);
			return fail_commit(l, f);
		}
		l->commit_again_ms = clock_ms() + COMMIT_AGAIN_MS;
	}
}
