#include "common/kafka/mix_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/nearest.h"
#include "common/base/text.h"
#include "common/kafka/kafka_internal.h"

enum { ASK_MS = 5000 };

static const char ledger_end[] = ".ledger";

enum fail_code
topics_ending(
    char **out, size_t *n, rd_kafka_t *rk, const char *end, int timeout_ms, struct failure *f)
{
	const struct rd_kafka_metadata *m;
	size_t bytes = 1;
	char *at;

	if (kafka_all_topics(rk, &m, clock_ms() + timeout_ms, f) != FAIL_NONE)
		return f->code;
	for (int i = 0; i < m->topic_cnt; i++)
		bytes += strlen(m->topics[i].topic) + 1;
	*n = 0;
	*out = at = malloc(bytes);
	for (int i = 0; at != NULL && i < m->topic_cnt; i++) {
		size_t size = strlen(m->topics[i].topic) + 1;

		if (!text_ends_with(m->topics[i].topic, end))
			continue;
		memcpy(at, m->topics[i].topic, size);
		at += size;
		(*n)++;
	}
	rd_kafka_metadata_destroy(m);
	return *out == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
mix_names_fail(rd_kafka_t *rk, const char *topic, const char *mix, struct failure *f)
{
	struct failure ignored;
	struct nearest near;
	char *topics;
	size_t n = 0;

	kafka_fail_missing(f, topic);
	fail_more(f, " if mix %s is new; otherwise give the name of a mix that exists", mix);
	if (topics_ending(&topics, &n, rk, ledger_end, ASK_MS, &ignored) != FAIL_NONE)
		return f->code;
	nearest_init(&near, mix);
	for (char *at = topics; n > 0; n--) {
		size_t size = strlen(at) + 1;

		at[size - sizeof(ledger_end)] = '\0';
		nearest_list(&near, at);
		at += size;
	}
	nearest_fail_more(&near, "the broker has the mixes", f);
	free(topics);
	return f->code;
}
