#include "common/kafka/kafka_stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_text.h"

/* The text, and memory for its strings. */
struct walk {
	struct json_text text;
	char *room;
};

/* A number of the text, and where it goes. */
struct wanted {
	const char *name;
	int64_t *to;
};

/* Passes the key of the next member; false: there is none, or the text is wrong. */
static bool
next_key(struct walk *w, const char **key, size_t *n)
{
	struct json_text *t = &w->text;

	json_text_space(t);
	if (t->at < t->end && *t->at == '}')
		return false;
	return json_text_key(t) && json_text_string(t, w->room, key, n) && json_text_colon(t);
}

static bool
is(const char *name, const char *key, size_t n)
{
	return strlen(name) == n && memcmp(name, key, n) == 0;
}

/* Passes a value; where it is a number that is wanted under this key, notes it. */
static bool
take_number(struct walk *w, const struct wanted *wanted, size_t wanted_n, const char *key, size_t n)
{
	const char *value = w->text.at;
	bool good = json_text_skip(&w->text, 1);

	for (size_t i = 0; good && i < wanted_n; i++)
		if (is(wanted[i].name, key, n))
			*wanted[i].to = strtoll(value, NULL, 10); /* ends at the latest at t->end */
	return good;
}

/* Whether another member follows. */
static bool
more(struct walk *w)
{
	json_text_space(&w->text);
	return json_text_take(&w->text, ',');
}

/* Passes an object's end; false: the text is wrong. */
static bool
close_object(struct walk *w)
{
	return w->text.bad == NULL && json_text_take(&w->text, '}');
}

/* Passes an object, and notes numbers of it. */
static bool
take_object(struct walk *w, const struct wanted *wanted, size_t wanted_n)
{
	const char *key;
	size_t n;

	if (!json_text_take(&w->text, '{'))
		return json_text_skip(&w->text, 1);
	while (next_key(w, &key, &n) && take_number(w, wanted, wanted_n, key, n) && more(w))
		;
	return close_object(w);
}

struct broker {
	int64_t avg, count, timeouts;
};

static bool
take_broker(struct walk *w, struct broker *b)
{
	const struct wanted rtt[] = {{"avg", &b->avg}, {"cnt", &b->count}};
	const struct wanted own[] = {{"req_timeouts", &b->timeouts}};
	const char *key;
	bool good = true;
	size_t n;

	if (!json_text_take(&w->text, '{'))
		return json_text_skip(&w->text, 1);
	while (good && next_key(w, &key, &n)) {
		good = is("rtt", key, n) ? take_object(w, rtt, sizeof(rtt) / sizeof(rtt[0]))
					 : take_number(w, own, 1, key, n);
		if (!good || !more(w))
			break;
	}
	return close_object(w);
}

/* The slowest of all brokers, and how many requests none of them has answered. */
static bool
take_brokers(struct walk *w, struct broker *all)
{
	const char *key;
	bool good = true;
	size_t n;

	if (!json_text_take(&w->text, '{'))
		return json_text_skip(&w->text, 1);
	while (good && next_key(w, &key, &n)) {
		struct broker b = {0};

		good = take_broker(w, &b);
		if (b.count > 0 && b.avg > all->avg)
			all->avg = b.avg;
		all->timeouts += b.timeouts;
		if (!good || !more(w))
			break;
	}
	return close_object(w);
}

static void
store(atomic_int_least64_t *to, int64_t value)
{
	atomic_store_explicit(to, value, memory_order_relaxed);
}

void
kafka_stats_take(struct kafka_stats *s, const char *json, size_t n)
{
	struct walk w = {.text = {.start = json, .at = json, .end = json + n}};
	int64_t records = 0, bytes = 0, sent = 0, received = 0;
	const struct wanted wanted[] = {{"msg_cnt", &records}, {"msg_size", &bytes},
	    {"tx_bytes", &sent}, {"rx_bytes", &received}};
	struct broker brokers = {0};
	const char *key;
	bool good = true;
	size_t key_n;

	w.room = malloc(n + JSON_TEXT_SLACK_BYTES);
	json_text_space(&w.text);
	if (w.room == NULL || !json_text_take(&w.text, '{')) {
		free(w.room);
		return;
	}
	while (good && next_key(&w, &key, &key_n)) {
		good =
		    is("brokers", key, key_n)
			? take_brokers(&w, &brokers)
			: take_number(&w, wanted, sizeof(wanted) / sizeof(wanted[0]), key, key_n);
		if (!good || !more(&w))
			break;
	}
	good = close_object(&w);
	free(w.room);
	if (!good)
		return;
	store(&s->round_trip_us, brokers.avg);
	store(&s->timeouts, brokers.timeouts);
	store(&s->queue_records, records);
	store(&s->queue_bytes, bytes);
	store(&s->sent_bytes, sent);
	store(&s->received_bytes, received);
}

static int64_t
load(const atomic_int_least64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

void
kafka_stats_text(struct metrics_text *m, const struct kafka_stats *const *s, size_t n,
    const char *mix, const char *run)
{
	int64_t round_trip_us = 0, records = 0, bytes = 0, sent = 0, received = 0, timeouts = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t us = load(&s[i]->round_trip_us);

		round_trip_us = us > round_trip_us ? us : round_trip_us;
		records += load(&s[i]->queue_records);
		bytes += load(&s[i]->queue_bytes);
		sent += load(&s[i]->sent_bytes);
		received += load(&s[i]->received_bytes);
		timeouts += load(&s[i]->timeouts);
	}
	metrics_number(m, METRICS_KAFKA_ROUND_TRIP,
	    round_trip_us == 0 ? (double)NAN : (double)round_trip_us / 1e6, mix, run);
	metrics_count(m, METRICS_KAFKA_QUEUE, records, mix, run);
	metrics_count(m, METRICS_KAFKA_QUEUE_BYTES, bytes, mix, run);
	metrics_count(m, METRICS_KAFKA_SENT, sent, mix, run);
	metrics_count(m, METRICS_KAFKA_RECEIVED, received, mix, run);
	metrics_count(m, METRICS_KAFKA_TIMEOUTS, timeouts, mix, run);
}
