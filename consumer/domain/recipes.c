#include "consumer/domain/recipes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/domain/partition_tail.h"

typedef char topic_name[TOPIC_MAX_BYTES + 1];

/* The domains that are asked: number k stands for index[k] of the configuration. */
struct asked {
	size_t n;
	size_t *index;
	topic_name *topic;
	int64_t *low;
	struct partition_tail_at *at;
};

static void
close_asked(struct asked *a)
{
	for (size_t k = 0; a->at != NULL && k < a->n; k++)
		free(a->at[k].recipe);
	free(a->index);
	free(a->topic);
	free(a->low);
	free(a->at);
}

/* The ends of partition 0 of each domain; domains without a record are left out. */
static enum fail_code
find_ends(struct asked *a, rd_kafka_t *reader, const struct config *c, const bool *there,
    int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list =
	    rd_kafka_topic_partition_list_new((int)c->domains_n);
	int64_t *low = calloc(c->domains_n + 1, sizeof(*low));
	int64_t *high = calloc(c->domains_n + 1, sizeof(*high));
	enum fail_code code = FAIL_NONE;
	int k = 0;

	for (size_t i = 0; i < c->domains_n; i++) {
		names_domain_topic(a->topic[i], c->corpus, c->domains[i].name, SET_TRAIN);
		if (there == NULL || there[i])
			rd_kafka_topic_partition_list_add(list, a->topic[i], 0);
	}
	if (low == NULL || high == NULL)
		code = fail_memory(f);
	else if (list->cnt > 0)
		code = kafka_watermarks_list(reader, list, low, high, timeout_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < c->domains_n; i++) {
		if (there != NULL && !there[i])
			continue;
		if (high[k] > low[k]) {
			a->index[a->n] = i;
			a->low[a->n] = low[k];
			a->at[a->n++] = (struct partition_tail_at){.topic = a->topic[i],
			    .partition = 0,
			    .high = high[k],
			    .want_recipe = true};
		}
		k++;
	}
	free(low);
	free(high);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

/* Compares what was read of domain k, if it has a recipe, and frees it. */
static enum fail_code
compare(struct recipe_differences *out, const struct asked *a, size_t k, const struct config *c,
    struct failure *f)
{
	char *logged = a->at[k].recipe, *present;
	size_t used;
	enum fail_code code;

	a->at[k].recipe = NULL;
	if (logged == NULL)
		return FAIL_NONE;
	code = recipe_text(&present, c, &c->domains[a->index[k]],
	    c->tokenizer.known ? &c->tokenizer.fingerprint : NULL, f);
	if (code == FAIL_NONE) {
		code = recipe_compare(out, logged, strlen(logged), present, f);
		free(present);
	}
	used = strlen(out->kind);
	if (code == FAIL_NONE && strstr(out->kind, "tokenizer: ") != NULL)
		snprintf(out->kind + used, sizeof(out->kind) - used, " (tokenizer.file is %s)",
		    c->tokenizer.file);
	free(logged);
	if (code != FAIL_NONE)
		fail_within(f, "topic %s partition 0", a->at[k].topic);
	return code;
}

static enum fail_code
read_tails(struct asked *a, rd_kafka_t *reader, int timeout_ms, struct failure *f)
{
	if (partition_tail_read_many(reader, a->at, a->n, PARTITION_TAIL_FEW_MAX, timeout_ms, f) !=
	    FAIL_NONE)
		return f->code;
	for (size_t k = 0; k < a->n; k++)
		if (!a->at[k].answered)
			return fail(f, FAIL_TIMEOUT,
			    "topic %s partition 0: the broker has not returned the record at "
			    "offset %" PRId64 " within %d s: is it overloaded, or does a follower "
			    "lag?",
			    a->at[k].topic, a->at[k].high - 1, timeout_ms / 1000);
	return FAIL_NONE;
}

/* By the last records, then by the first of those partitions whose last one has no recipe. */
static enum fail_code
compare_all(struct recipe_differences *out, struct asked *a, rd_kafka_t *reader,
    const struct config *c, int timeout_ms, struct failure *f)
{
	size_t left = 0;

	if (read_tails(a, reader, timeout_ms, f) != FAIL_NONE)
		return f->code;
	for (size_t k = 0; k < a->n; k++) {
		bool known = a->at[k].recipe != NULL;

		if (compare(&out[a->index[k]], a, k, c, f) != FAIL_NONE)
			return f->code;
		if (known)
			continue;
		a->index[left] = a->index[k];
		a->at[left] = a->at[k];
		a->at[left++].high = a->low[k] + 1;
	}
	a->n = left;
	if (read_tails(a, reader, timeout_ms, f) != FAIL_NONE)
		return f->code;
	for (size_t k = 0; k < a->n; k++) {
		if (compare(&out[a->index[k]], a, k, c, f) != FAIL_NONE)
			return f->code;
		out[a->index[k]].source[0] = '\0';
	}
	return FAIL_NONE;
}

enum fail_code
recipes_ask(struct recipe_differences *out, rd_kafka_t *reader, const struct config *c,
    const bool *there, int timeout_ms, struct failure *f)
{
	struct asked a = {
	    .index = calloc(c->domains_n + 1, sizeof(*a.index)),
	    .topic = calloc(c->domains_n + 1, sizeof(*a.topic)),
	    .low = calloc(c->domains_n + 1, sizeof(*a.low)),
	    .at = calloc(c->domains_n + 1, sizeof(*a.at)),
	};
	enum fail_code code = FAIL_NONE;

	for (size_t i = 0; i < c->domains_n; i++)
		out[i].kind[0] = out[i].source[0] = '\0';
	if (a.index == NULL || a.topic == NULL || a.low == NULL || a.at == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE)
		code = find_ends(&a, reader, c, there, timeout_ms, f);
	if (code == FAIL_NONE && a.n > 0)
		code = compare_all(out, &a, reader, c, timeout_ms, f);
	close_asked(&a);
	return code;
}
