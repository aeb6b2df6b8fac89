#include "consumer/admin/draws.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kafka/kafka.h"
#include "common/kafka/mix_names.h"
#include "common/record/ledger.h"
#include "consumer/plan/bound_config.h"

static const char ledger_end[] = ".ledger";

/* Whether the mix of a ledger record is of the corpus, and has one of the domains. */
static enum fail_code
judge(struct draws_mix *m, const struct ledger *l, const struct config *c, const bool *wanted,
    bool *found, struct failure *f)
{
	char *corpus;

	if (bound_config_corpus(&corpus, l->config, f) != FAIL_NONE)
		return f->code;
	*found = false;
	m->steps = (uint64_t)l->step_next;
	for (size_t k = 0; strcmp(corpus, c->corpus) == 0 && k < l->domains_n; k++) {
		const struct ledger_domain *d = &l->domain[k];
		int i = config_domain_index(c, d->name);

		if (i < 0 || !wanted[i])
			continue;
		if (!*found)
			snprintf(m->domain, sizeof(m->domain), "%s", d->name);
		*found = true;
		m->drawn = m->drawn || d->taken > 0;
	}
	free(corpus);
	return FAIL_NONE;
}

static enum fail_code
read_ledger(struct draws_mix *m, rd_kafka_t *reader, const char *topic, const struct config *c,
    const bool *wanted, bool *found, int timeout_ms, struct failure *f)
{
	rd_kafka_message_t *last;
	struct ledger l = {0};
	enum fail_code code;

	*found = false;
	if (kafka_last_record(reader, topic, 0, &last, timeout_ms, f) != FAIL_NONE)
		return f->code;
	if (last == NULL)
		return FAIL_NONE;
	code = ledger_decode(&l, last->payload, last->len, f);
	if (code == FAIL_NONE)
		code = judge(m, &l, c, wanted, found, f);
	ledger_clear(&l);
	rd_kafka_message_destroy(last);
	return code;
}

/* Whether the topic was deleted since it was listed, by another who cleans up beside this one. */
static bool
has_gone(rd_kafka_t *reader, const char *topic, int timeout_ms)
{
	struct failure f;
	int partitions;

	return kafka_partitions(reader, topic, &partitions, timeout_ms, &f) == FAIL_NONE &&
	       partitions == 0;
}

enum fail_code
draws_find(struct draws_mix **out, size_t *n, rd_kafka_t *reader, const struct config *c,
    const bool *wanted, const char *except, int timeout_ms, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	size_t topics_n;
	const char *topic;
	char *topics;

	*n = 0;
	if (topics_ending(&topics, &topics_n, reader, ledger_end, timeout_ms, f) != FAIL_NONE)
		return f->code;
	*out = calloc(topics_n + 1, sizeof(**out));
	if (*out == NULL) {
		free(topics);
		return fail_memory(f);
	}
	topic = topics;
	for (size_t i = 0; i < topics_n; i++, topic += strlen(topic) + 1) {
		struct draws_mix *m = &(*out)[*n];
		size_t name_n = strlen(topic) - strlen(ledger_end);
		bool found;

		*m = (struct draws_mix){0};
		snprintf(m->mix, sizeof(m->mix), "%.*s", (int)name_n, topic);
		if (except != NULL && strcmp(m->mix, except) == 0)
			continue;
		if (read_ledger(m, reader, topic, c, wanted, &found, timeout_ms, f) != FAIL_NONE) {
			code = f->code == FAIL_MEMORY ? f->code : FAIL_NONE;
			if (code != FAIL_NONE)
				break;
			snprintf(m->unknown, sizeof(m->unknown), "%.255s", f->text);
			m->damaged = f->code == FAIL_DATA;
			found = !has_gone(reader, topic, timeout_ms);
		}
		*n += found;
	}
	free(topics);
	if (code == FAIL_NONE)
		return FAIL_NONE;
	free(*out);
	return code;
}
