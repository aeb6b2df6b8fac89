#include "consumer/domain/last_drawn.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "common/record/sequence.h"
#include "common/record/wire.h"
#include "consumer/domain/partition_tail.h"

enum {
	FORM = 1, /* of the header's value */
	ROUNDS_MAX = 8,
	FETCH_BYTES = 64 << 10, /* of a partition, beside the batch that is wanted */
	CHECK_TIMEOUT_MS = 10000,
};

void
last_drawn_close(struct last_drawn *l)
{
	free(l->domain);
	*l = (struct last_drawn){0};
}

/* ---- what was drawn ---- */

static enum fail_code
grow(struct last_drawn *l, size_t n, struct failure *f)
{
	struct last_drawn_domain *grown;

	if (n <= l->n)
		return FAIL_NONE;
	grown = realloc(l->domain, n * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	memset(grown + l->n, 0, (n - l->n) * sizeof(*grown));
	l->domain = grown;
	l->n = n;
	return FAIL_NONE;
}

static void
set(struct last_drawn_place *to, const struct mixer_draw *draw,
    const struct feed_block_record *record)
{
	struct sequence_payload_view payload;
	struct wire_reader r;
	struct failure ignored; /* the feed has decoded it */

	assert(record->payload != NULL);
	wire_reader_init(&r, record->payload, record->n);
	if (sequence_payload_read(&payload, &r, &ignored) != FAIL_NONE)
		return;
	*to = (struct last_drawn_place){
	    .known = true,
	    .partition = draw->partition,
	    .ordinal = draw->ordinal,
	    .frame_hash = payload.frame_hash,
	};
}

enum fail_code
last_drawn_add(struct last_drawn *l, const struct mixer_draw *draw,
    const struct feed_block_record *const *record, size_t n, struct failure *f)
{
	for (size_t i = 0; i < n; i++) {
		struct last_drawn_domain *d;

		if (grow(l, (size_t)draw[i].domain + 1, f) != FAIL_NONE)
			return f->code;
		d = &l->domain[draw[i].domain];
		d->drawn = i + 1;
		if (!d->place[LAST_DRAWN_HIGHEST].known ||
		    draw[i].ordinal > d->place[LAST_DRAWN_HIGHEST].ordinal)
			set(&d->place[LAST_DRAWN_HIGHEST], &draw[i], record[i]);
	}
	for (size_t k = 0; k < l->n; k++) {
		size_t i = l->domain[k].drawn;

		if (i > 0)
			set(&l->domain[k].place[LAST_DRAWN_LAST], &draw[i - 1], record[i - 1]);
		l->domain[k].drawn = 0;
	}
	return FAIL_NONE;
}

/* ---- the header ---- */

enum fail_code
last_drawn_encode(const struct last_drawn *l, uint8_t **bytes, size_t *n, struct failure *f)
{
	struct wire_writer w = {0};

	wire_put_count(&w, FORM);
	wire_put_count(&w, l->n);
	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < LAST_DRAWN_PLACES; k++) {
			const struct last_drawn_place *p = &l->domain[i].place[k];

			wire_put_boolean(&w, p->known);
			if (!p->known)
				continue;
			wire_put_count(&w, p->partition);
			wire_put_count(&w, p->ordinal);
			wire_put_hash(&w, p->frame_hash);
		}
	return wire_writer_take(&w, bytes, n, f);
}

static enum fail_code
fill(struct last_drawn *l, struct wire_reader *r, struct failure *f)
{
	uint64_t n;

	if (wire_count(r) != FORM)
		return FAIL_NONE; /* of a later release */
	n = wire_count(r);
	if (n > (uint64_t)(r->end - r->at)) /* each has bytes of its own */
		return FAIL_NONE;
	if (grow(l, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n * LAST_DRAWN_PLACES; i++) {
		struct last_drawn_place *p =
		    &l->domain[i / LAST_DRAWN_PLACES].place[i % LAST_DRAWN_PLACES];

		p->known = wire_boolean(r);
		if (!p->known)
			continue;
		p->partition = (uint32_t)wire_ranged(r, 0, INT32_MAX);
		p->ordinal = wire_count(r);
		p->frame_hash = wire_hash(r);
	}
	return FAIL_NONE;
}

enum fail_code
last_drawn_decode(struct last_drawn *l, const void *value, size_t n, struct failure *f)
{
	struct failure bad;
	struct wire_reader r;

	last_drawn_close(l);
	wire_reader_init(&r, value, n);
	if (fill(l, &r, f) != FAIL_NONE)
		return f->code;
	if (wire_reader_check(&r, true, LAST_DRAWN_HEADER, &bad) != FAIL_NONE)
		last_drawn_close(l);
	return FAIL_NONE;
}

enum fail_code
last_drawn_read(struct last_drawn *l, const rd_kafka_message_t *ledger, struct failure *f)
{
	size_t n = 0;
	const char *value = kafka_header(ledger, LAST_DRAWN_HEADER, &n);

	return last_drawn_decode(l, value == NULL ? "" : value, value == NULL ? 0 : n, f);
}

/* ---- comparing ---- */

/* Number k of the partitions that are read stands for look[of[k]]. */
struct reading {
	int64_t since_ms; /* of kafka_look_again() */
	size_t n;
	size_t *of;
	struct partition_tail_at *at;
};

static const struct last_drawn_place *
place_of(const struct last_drawn *l, size_t domain, size_t which)
{
	return domain < l->n ? &l->domain[domain].place[which] : NULL;
}

/*
 * The places whose offset is in the log; ordinal k stands at offset k, or after it. A log that ends
 * earlier is short, and is looked at again.
 */
static enum fail_code
find_there(struct reading *r, const struct last_drawn *l, size_t which,
    struct last_drawn_look *look, size_t n, rd_kafka_t *reader, int timeout_ms, struct failure *f)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)n + 1);
	int64_t *low = calloc(n + 1, sizeof(*low)), *high = calloc(n + 1, sizeof(*high));
	size_t *asked = calloc(n + 1, sizeof(*asked));
	enum fail_code code = FAIL_NONE;
	bool ends_early;

	for (size_t i = 0; asked != NULL && i < n; i++) {
		const struct last_drawn_place *p = place_of(l, i, which);

		if (look[i].topic == NULL || look[i].other || p == NULL || !p->known)
			continue;
		asked[list->cnt] = i;
		rd_kafka_topic_partition_list_add(list, look[i].topic, (int32_t)p->partition);
	}
	if (low == NULL || high == NULL || asked == NULL)
		code = fail_memory(f);
	do {
		ends_early = false;
		if (code == FAIL_NONE)
			code = kafka_watermarks_list(reader, list, low, high, timeout_ms, f);
		for (int k = 0; code == FAIL_NONE && k < list->cnt; k++)
			ends_early =
			    ends_early || (int64_t)place_of(l, asked[k], which)->ordinal >= high[k];
	} while (kafka_look_again(&r->since_ms, ends_early));
	r->n = 0;
	for (int k = 0; code == FAIL_NONE && k < list->cnt; k++) {
		const struct last_drawn_place *p = place_of(l, asked[k], which);
		int64_t offset = (int64_t)p->ordinal;

		look[asked[k]].empty = look[asked[k]].empty || high[k] == 0;
		if (offset < low[k] || offset >= high[k])
			continue;
		r->of[r->n] = asked[k];
		r->at[r->n++] = (struct partition_tail_at){.topic = look[asked[k]].topic,
		    .partition = (int32_t)p->partition,
		    .high = offset + 1};
	}
	free(low);
	free(high);
	free(asked);
	rd_kafka_topic_partition_list_destroy(list);
	return code;
}

/*
 * What record came for a place. *offset_by: how far on the sequence may stand; 0: it is decided.
 * Records that are there twice, and Ends, push what follows back, each by one (feed.h).
 */
static void
judge(const struct last_drawn_place *p, const struct partition_tail_at *at,
    struct last_drawn_look *look, int64_t *offset_by)
{
	*offset_by = 0;
	if (!at->known)
		return;
	if (at->tail.sequences > 0)
		look->record_bytes = at->tail.record_bytes / at->tail.sequences + 1;
	if (at->tail.sequences <= p->ordinal || at->tail.end) {
		*offset_by = at->tail.sequences > p->ordinal
				 ? 0 /* an End behind it: it was passed over */
				 : (int64_t)(p->ordinal - at->tail.sequences) + 1;
		return;
	}
	if (at->tail.sequences - 1 > p->ordinal) { /* some before it are missing */
		*offset_by = -(int64_t)(at->tail.sequences - 1 - p->ordinal);
		return;
	}
	if (at->tail.frame_hash == p->frame_hash)
		return;
	look->other = true;
	look->partition = p->partition;
	look->ordinal = p->ordinal;
}

/* Compares one place of each domain, in rounds: those that were not found are read further on. */
static enum fail_code
compare_place(struct reading *r, const struct last_drawn *l, size_t which,
    struct last_drawn_look *look, rd_kafka_t *reader, int64_t deadline_ms, struct failure *f)
{
	bool answered = true;

	for (int round = 0; round < ROUNDS_MAX && r->n > 0; round++) {
		size_t left = 0;

		if (partition_tail_read_many(reader, r->at, r->n, PARTITION_TAIL_FEW_MAX,
			(int)(deadline_ms - clock_ms()), f) != FAIL_NONE)
			return f->code;
		for (size_t k = 0; k < r->n; k++) {
			struct partition_tail_at at = r->at[k];
			int64_t by;

			answered = answered && at.known;
			judge(place_of(l, r->of[k], which), &at, &look[r->of[k]], &by);
			if (by == 0 || at.high + by < 1)
				continue;
			at.high += by;
			r->of[left] = r->of[k];
			r->at[left++] = at;
		}
		r->n = left;
	}
	if ((r->n > 0 || !answered) && clock_ms() >= deadline_ms)
		return fail(f, FAIL_TIMEOUT,
		    "comparing the domain logs with the sequences that the mix has drawn: the "
		    "broker has not answered for %d s",
		    CHECK_TIMEOUT_MS / 1000);
	return FAIL_NONE;
}

/*
 * A handle of its own: one record is wanted of a place in the middle of each log, and how much
 * comes with it is a handle's setting. By default it is a megabyte: 100 MB of 200 domains. What
 * waits of one partition must not hold up the others: queued.min.messages is left as it is.
 */
static enum fail_code
open_reader(rd_kafka_t **out, const struct properties *properties, struct failure *f)
{
	char bytes[32];
	struct property tune[] = {
	    {(char[]){"fetch.message.max.bytes"}, bytes},
	    {(char[]){"fetch.wait.max.ms"}, (char[]){"10"}},
	    {(char[]){"fetch.error.backoff.ms"}, (char[]){"50"}},
	};
	struct kafka_options k = {
	    .role = KAFKA_READER,
	    .properties = properties,
	    .client = "last-drawn",
	    .tune = tune,
	    .tune_n = sizeof(tune) / sizeof(tune[0]),
	};

	snprintf(bytes, sizeof(bytes), "%d", FETCH_BYTES);
	return kafka_open(out, &k, f);
}

/* Whether there is anything to compare: else no broker is asked. */
static bool
any_known(const struct last_drawn *l, const struct last_drawn_look *look, size_t n)
{
	for (size_t i = 0; i < n && i < l->n; i++)
		if (look[i].topic != NULL && l->domain[i].place[LAST_DRAWN_LAST].known)
			return true;
	return false;
}

enum fail_code
last_drawn_compare(const struct last_drawn *l, struct last_drawn_look *look, size_t n,
    const struct properties *properties, int timeout_ms, struct failure *f)
{
	int64_t deadline_ms = clock_ms() + timeout_ms;
	rd_kafka_t *reader = NULL;
	struct reading r = {.of = calloc(n + 1, sizeof(*r.of)), .at = calloc(n + 1, sizeof(*r.at))};
	enum fail_code code = r.of == NULL || r.at == NULL ? fail_memory(f) : FAIL_NONE;

	for (size_t i = 0; i < n; i++)
		look[i] = (struct last_drawn_look){.topic = look[i].topic};
	if (!any_known(l, look, n))
		goto done;
	if (code == FAIL_NONE)
		code = open_reader(&reader, properties, f);
	for (size_t which = 0; code == FAIL_NONE && which < LAST_DRAWN_PLACES; which++) {
		code = find_there(&r, l, which, look, n, reader, timeout_ms, f);
		if (code == FAIL_NONE)
			code = compare_place(&r, l, which, look, reader, deadline_ms, f);
	}
	kafka_close(reader);
done:
	free(r.of);
	free(r.at);
	return code;
}

/* ---- in words ---- */

enum fail_code
last_drawn_fail(const struct last_drawn_look *look, const char *domain, struct failure *f)
{
	assert(look->other);
	return fail(f, FAIL_DATA,
	    "domain %s: sequence %" PRIu64 " of topic %s partition %" PRIu32
	    " is not the one that the mix has drawn: the topic was recreated and holds other text. "
	    "Publish it again from the files of before; or publish the new text as a domain of "
	    "another name and take %s out (`riffle mix --accept-config`); or start a mix of "
	    "another name",
	    domain, look->ordinal, look->topic, look->partition, domain);
}

static enum fail_code
fail_empty(const struct last_drawn_look *look, const char *domain, struct failure *f)
{
	assert(look->empty);
	return fail(f, FAIL_DATA,
	    "topic %s is empty, and the mix has drawn from domain %s: the topic was recreated. Run "
	    "`riffle produce %s` to publish it again from the same files",
	    look->topic, domain, domain);
}

enum fail_code
last_drawn_compare_all(const struct last_drawn *l, const struct ledger *last, const char *corpus,
    const struct properties *properties, int timeout_ms, uint64_t *record_bytes, struct failure *f)
{
	size_t n = last->domains_n;
	struct last_drawn_look *look = calloc(n + 1, sizeof(*look));
	char(*topic)[TOPIC_MAX_BYTES + 1] = calloc(n + 1, sizeof(*topic));
	enum fail_code code = look == NULL || topic == NULL ? fail_memory(f) : FAIL_NONE;

	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		names_domain_topic(topic[i], corpus, last->domain[i].name, SET_TRAIN);
		if (last->domain[i].state == LEDGER_ACTIVE)
			look[i].topic = topic[i];
	}
	if (code == FAIL_NONE)
		code = last_drawn_compare(l, look, n, properties, timeout_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		if (look[i].record_bytes > *record_bytes)
			*record_bytes = look[i].record_bytes;
		if (look[i].other)
			code = last_drawn_fail(&look[i], last->domain[i].name, f);
		else if (look[i].empty)
			code = fail_empty(&look[i], last->domain[i].name, f);
	}
	free(look);
	free(topic);
	return code;
}

/* Those that are not drawn from any more are not compared. */
static void
list_looks(
    struct last_drawn_look *look, const struct domains *d, const struct mixer *m, const char *name)
{
	for (uint32_t k = 0; k < mixer_domains(m); k++) {
		const char *of = mixer_domain_name(m, k);
		struct mixer_standing s;
		int i = domains_named(d, of);

		mixer_stand(m, k, &s);
		if (i >= 0 && s.state != LEDGER_DROPPED && (name == NULL || strcmp(name, of) == 0))
			look[k].topic = d->facts[i].topic;
	}
}

enum fail_code
last_drawn_check(const struct last_drawn *l, const struct domains *d, const struct mixer *m,
    const char *name, struct failure *f)
{
	size_t n = mixer_domains(m);
	struct last_drawn_look *look = calloc(n + 1, sizeof(*look));
	enum fail_code code;

	if (look == NULL)
		return fail_memory(f);
	list_looks(look, d, m, name);
	code = last_drawn_compare(l, look, n, &d->config->kafka, CHECK_TIMEOUT_MS, f);
	for (uint32_t k = 0; code == FAIL_NONE && k < n; k++)
		if (look[k].other)
			code = last_drawn_fail(&look[k], mixer_domain_name(m, k), f);
	free(look);
	return code;
}
