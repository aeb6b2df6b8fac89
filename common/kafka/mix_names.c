#include "common/kafka/mix_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/kafka/kafka_internal.h"

enum { ASK_MS = 5000 };

static const char ledger_end[] = ".ledger";

/* The name of a topic, and the bytes of it in front of the end that was asked for. */
struct ending {
	const char *topic;
	size_t front_n;
};

static int
by_front(const void *x, const void *y)
{
	const struct ending *a = x, *b = y;
	int order = memcmp(a->topic, b->topic, a->front_n < b->front_n ? a->front_n : b->front_n);

	return order != 0 ? order : (a->front_n > b->front_n) - (a->front_n < b->front_n);
}

enum fail_code
topics_ending(
    char **out, size_t *n, rd_kafka_t *rk, const char *end, int timeout_ms, struct failure *f)
{
	const struct rd_kafka_metadata *m;
	struct ending *found;
	size_t bytes = 1;
	char *at;

	if (kafka_all_topics(rk, &m, clock_ms() + timeout_ms, f) != FAIL_NONE)
		return f->code;
	*n = 0;
	found = calloc((size_t)m->topic_cnt + 1, sizeof(*found));
	for (int i = 0; found != NULL && i < m->topic_cnt; i++) {
		const char *topic = m->topics[i].topic;

		if (!text_ends_with(topic, end))
			continue;
		found[(*n)++] = (struct ending){topic, strlen(topic) - strlen(end)};
		bytes += strlen(topic) + 1;
	}
	if (*n > 0)
		qsort(found, *n, sizeof(*found), by_front);
	*out = at = found == NULL ? NULL : malloc(bytes);
	for (size_t i = 0; at != NULL && i < *n; i++)
		at = stpcpy(at, found[i].topic) + 1;
	free(found);
	rd_kafka_metadata_destroy(m);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
mix_names_fail(rd_kafka_t *rk, const char *topic, const char *mix, struct failure *f)
{
	struct failure ignored;
	struct nearest near;
	bool exists = false;
	char *topics;
	size_t n = 0;

	kafka_fail_missing(f, rk, topic);
	fail_more(f, " if mix %s is new; otherwise give the name of a mix that exists", mix);
	if (topics_ending(&topics, &n, rk, ledger_end, ASK_MS, &ignored) != FAIL_NONE)
		return f->code;
	nearest_init(&near, mix);
	for (char *at = topics; n > 0; n--) {
		size_t size = strlen(at) + 1;

		at[size - sizeof(ledger_end)] = '\0';
		nearest_list(&near, at);
		exists = exists || strcmp(at, mix) == 0;
		at += size;
	}
	if (exists) { /* so its name is right */
		kafka_fail_missing(f, rk, topic);
		fail_more(f, "; `riffle status` says what else the mix lacks");
	} else {
		nearest_fail_more(&near, "the broker has the mixes", f);
	}
	free(topics);
	return f->code;
}
