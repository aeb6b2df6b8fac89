#include "consumer/domains.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kafka.h"
#include "common/log.h"
#include "common/schema.h"
#include "common/sequence.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	ASK_AGAIN_MS = 500,
	WAIT_LOG_MS = 10000,
};

struct wait {
	const volatile bool *stop;
	int64_t logged_ms;
	int64_t bad_offset; /* of the foreign record that was warned of last; -1: none */
};

/* A producer that is still there may go on behind it; one that starts will refuse to. */
static void
warn_foreign(struct wait *w, const rd_kafka_message_t *msg, const char *topic, const char *why)
{
	if (w->bad_offset != msg->offset)
		log_warning("mix: MIX-TAIL topic=%s partition=%" PRId32
			    " its last record, offset %" PRId64 ": %s",
		    topic, msg->partition, msg->offset, why);
	w->bad_offset = msg->offset;
}

/* *sealed: the partition's last record is an End, now in *end. */
static enum fail_code
ask_end(rd_kafka_t *reader, const char *topic, int32_t partition, struct wait *w,
    struct end_record *end, bool *sealed, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	rd_kafka_message_t *msg;
	enum schema_record which;
	struct failure why;

	*sealed = false;
	if (kafka_last_record(reader, topic, partition, &msg, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	if (msg == NULL)
		return FAIL_NONE;
	if (schema_which(&which, msg->payload, msg->len, &why) != FAIL_NONE) {
		warn_foreign(w, msg, topic, why.text);
	} else if (which == SCHEMA_END) {
		*sealed = true;
		code = end_decode(end, msg->payload, msg->len, f);
	}
	rd_kafka_message_destroy(msg);
	return code == FAIL_NONE ? code
				 : fail_within(f, "topic %s partition %" PRId32, topic, partition);
}

static enum fail_code
wait_end(rd_kafka_t *reader, const struct config_domain *c, const char *topic, int32_t partition,
    struct wait *w, struct end_record *end, struct failure *f)
{
	bool sealed;

	w->bad_offset = -1;
	for (;;) {
		if (ask_end(reader, topic, partition, w, end, &sealed, f) != FAIL_NONE)
			return f->code;
		if (sealed)
			return FAIL_NONE;
		if (*w->stop)
			return fail(
			    f, FAIL_STOPPED, "stopped while waiting for domain %s", c->name);
		if (clock_ms() - w->logged_ms >= WAIT_LOG_MS) {
			log_warning("mix: MIX-UNSEALED waiting for the end of domain=%s topic=%s "
				    "partition=%" PRId32 ": `riffle produce %s` writes it",
			    c->name, topic, partition, c->name);
			w->logged_ms = clock_ms();
		}
		clock_pause_ms(ASK_AGAIN_MS);
	}
}

static enum fail_code
check_end(struct domains *d, const struct config *c, size_t i, const struct end_record *end,
    struct failure *f)
{
	if (end->sequence_length != c->sequence_length)
		return fail(f, FAIL_CONFIG,
		    "topic %s has sequences of length %" PRIu32 ", the configuration says %" PRIu32,
		    d->facts[i].topic, end->sequence_length, c->sequence_length);
	if (d->tokenizer == 0)
		d->tokenizer = end->tokenizer;
	if (end->tokenizer != d->tokenizer)
		return fail(f, FAIL_CONFIG,
		    "topic %s has tokenizer %016" PRIx64 ", topic %s has %016" PRIx64
		    ": one mix cannot hold two tokenizers",
		    d->facts[i].topic, end->tokenizer, d->facts[0].topic, d->tokenizer);
	return FAIL_NONE;
}

static enum fail_code
ask_domain(struct domains *d, size_t i, rd_kafka_t *reader, const struct config *c, struct wait *w,
    struct failure *f)
{
	struct domain_facts *facts = &d->facts[i];
	uint64_t bytes = 0;

	names_domain_topic(facts->topic, c->corpus, c->domains[i].name, SET_TRAIN);
	facts->partitions_n = c->domains[i].partitions;
	facts->sequences = calloc(facts->partitions_n, sizeof(*facts->sequences));
	if (facts->sequences == NULL)
		return fail_memory(f);
	for (size_t p = 0; p < facts->partitions_n; p++) {
		struct end_record end;

		if (wait_end(reader, &c->domains[i], facts->topic, (int32_t)p, w, &end, f) !=
			FAIL_NONE ||
		    check_end(d, c, i, &end, f) != FAIL_NONE)
			return f->code;
		facts->sequences[p] = end.sequences;
		facts->sequences_total += end.sequences;
		bytes += end.record_bytes;
		if (end.record_bytes_max > facts->record_bytes_max)
			facts->record_bytes_max = end.record_bytes_max;
	}
	facts->record_bytes = facts->sequences_total == 0 ? 1 : bytes / facts->sequences_total + 1;
	return FAIL_NONE;
}

enum fail_code
domains_open(struct domains **out, rd_kafka_t *reader, const struct config *c,
    const volatile bool *stop, struct failure *f)
{
	struct domains *d = calloc(1, sizeof(*d));
	struct wait w = {.stop = stop, .logged_ms = clock_ms() - WAIT_LOG_MS};

	if (d == NULL)
		return fail_memory(f);
	d->facts = calloc(c->domains_n, sizeof(*d->facts));
	if (d->facts == NULL) {
		free(d);
		return fail_memory(f);
	}
	for (; d->n < c->domains_n; d->n++)
		if (ask_domain(d, d->n, reader, c, &w, f) != FAIL_NONE) {
			d->n++; /* its facts may be there in part */
			domains_close(d);
			return f->code;
		}
	*out = d;
	return FAIL_NONE;
}

void
domains_close(struct domains *d)
{
	if (d == NULL)
		return;
	for (size_t i = 0; i < d->n; i++)
		free(d->facts[i].sequences);
	free(d->facts);
	free(d);
}
