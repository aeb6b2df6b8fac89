#include "common/record/batch.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/record/schema.h"

enum { HEAD_BYTES_MAX = 256, DOMAIN_BYTES_MAX = 20, DRAWN_BYTES_MAX = 40 };

static void
put_head(struct wire_writer *w, const struct batch_head *h)
{
	wire_put_text(w, h->mix);
	wire_put_hash(w, h->schedule);
	wire_put_count(w, h->step);
	wire_put_count(w, h->lane);
	wire_put_count(w, h->lanes);
	wire_put_count(w, h->global_batch);
	wire_put_count(w, h->version);
	wire_put_text(w, h->phase);
	wire_put_double(w, h->lr_scale);
	wire_put_count(w, h->lead);
	wire_put_hash(w, h->tokenizer);
	wire_put_boolean(w, h->last);
}

enum fail_code
batch_begin(struct wire_writer *w, const struct batch_head *h, const struct batch_domain *domains,
    size_t domains_n, size_t sequences_n, struct failure *f)
{
	uint8_t envelope[SCHEMA_ENVELOPE_BYTES];
	size_t most = HEAD_BYTES_MAX + h->mix.n + h->phase.n + domains_n * DOMAIN_BYTES_MAX;

	assert(h->lanes >= 1);
	assert(h->lane < h->lanes);
	assert(h->global_batch >= 1);
	assert(h->global_batch % h->lanes == 0);
	assert(domains_n <= LIMIT_DOMAINS);
	assert(sequences_n == (h->last ? 0 : h->global_batch / h->lanes));
	for (size_t i = 0; i < domains_n; i++)
		most += domains[i].name.n;
	wire_reserve(w, most);
	schema_put_envelope(envelope, SCHEMA_BATCH);
	wire_put_raw(w, envelope, sizeof(envelope));
	put_head(w, h);
	if (domains_n > 0)
		wire_put_count(w, domains_n);
	for (size_t i = 0; i < domains_n; i++) {
		assert(i == 0 || domains[i].index > domains[i - 1].index);
		wire_put_count(w, domains[i].index);
		wire_put_text(w, domains[i].name);
	}
	wire_put_long(w, 0);
	if (sequences_n > 0)
		wire_put_count(w, sequences_n);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
batch_add(struct wire_writer *w, const struct batch_drawn *d, const uint8_t *payload_raw,
    size_t payload_n, struct failure *f)
{
	assert(payload_raw != NULL);
	assert(payload_n > 0);
	wire_reserve(w, DRAWN_BYTES_MAX + payload_n);
	wire_put_count(w, d->domain);
	wire_put_count(w, d->partition);
	wire_put_count(w, d->ordinal);
	wire_put_count(w, d->epoch);
	wire_put_raw(w, payload_raw, payload_n);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
batch_end(struct wire_writer *w, struct failure *f)
{
	wire_put_long(w, 0);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

static uint32_t
int_of(struct wire_reader *r, int64_t min, int64_t max)
{
	return (uint32_t)wire_ranged(r, min, max);
}

static enum fail_code
read_head(struct batch_head *h, struct wire_reader *r, struct failure *f)
{
	enum fail_code code;

	h->mix = wire_text(r);
	h->schedule = wire_hash(r);
	h->step = wire_count(r);
	h->lane = int_of(r, 0, LIMIT_LANES - 1);
	h->lanes = int_of(r, (int64_t)h->lane + 1, LIMIT_LANES);
	h->global_batch = int_of(r, h->lanes, INT32_MAX);
	h->version = wire_count(r);
	h->phase = wire_text(r);
	h->lr_scale = wire_double(r);
	h->lead = wire_count(r);
	h->tokenizer = wire_hash(r);
	h->last = wire_boolean(r);
	code = wire_reader_check(r, false, "mix to last", f);
	if (code != FAIL_NONE)
		return code;
	if (h->global_batch % h->lanes != 0)
		return fail(f, FAIL_DATA, "global_batch: %u cannot be dealt to %u lanes",
		    (unsigned)h->global_batch, (unsigned)h->lanes);
	if (!isfinite(h->lr_scale) || h->lr_scale < 0)
		return fail(f, FAIL_DATA, "lr_scale: %g is not a scale", h->lr_scale);
	return FAIL_NONE;
}

static struct batch_domain
domain_of(struct wire_reader *r, int64_t index_min)
{
	struct batch_domain d;

	d.index = int_of(r, index_min, INT32_MAX);
	d.name = wire_text(r);
	return d;
}

static enum fail_code
read_domains(struct batch_view *b, struct wire_reader *r, struct failure *f)
{
	int64_t index_min = 0;

	b->domains_n = 0;
	b->domains = r->at;
	for (size_t items; (items = wire_block(r)) > 0;) {
		for (size_t i = 0; i < items && r->bad == NULL; i++)
			index_min = (int64_t)domain_of(r, index_min).index + 1;
		b->domains_n += items;
	}
	if (r->bad == NULL && b->domains_n > LIMIT_DOMAINS)
		r->bad = "more domains than a mix can have";
	return wire_reader_check(r, false, "domains", f);
}

/* The first block of sequences, or the end where there are none. */
static enum fail_code
enter_sequences(struct batch_view *b, struct failure *f)
{
	struct wire_reader *r = &b->rest;

	b->sequences_n = b->head.last ? 0 : b->head.global_batch / b->head.lanes;
	b->sequences_left = b->sequences_n;
	b->block_left = wire_block(r);
	if (r->bad == NULL && (b->block_left == 0) != (b->sequences_n == 0))
		r->bad = b->head.last ? "sequences in a record that ends the mix" : "no sequences";
	return wire_reader_check(r, b->head.last, "sequences", f);
}

enum fail_code
batch_decode(struct batch_view *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct batch_view b;
	enum fail_code code = schema_expect(SCHEMA_BATCH, bytes, n, f);

	if (code != FAIL_NONE)
		return code;
	wire_reader_init(&b.rest, bytes, n);
	b.rest.at += SCHEMA_ENVELOPE_BYTES;
	code = read_head(&b.head, &b.rest, f);
	if (code == FAIL_NONE)
		code = read_domains(&b, &b.rest, f);
	if (code == FAIL_NONE)
		code = enter_sequences(&b, f);
	if (code != FAIL_NONE)
		return fail_within(f, "record of kind Batch");
	*out = b;
	return FAIL_NONE;
}

void
batch_domains(const struct batch_view *b, struct batch_domain *out)
{
	struct wire_reader r = {.start = b->rest.start, .at = b->domains, .end = b->rest.end};
	size_t k = 0;

	for (size_t items; (items = wire_block(&r)) > 0;) {
		for (size_t i = 0; i < items; i++)
			out[k++] = domain_of(&r, 0);
	}
	assert(r.bad == NULL);
	assert(k == b->domains_n);
}

/* After the last sequence of a block comes the next block; after the last of all, the end. */
static enum fail_code
leave_sequence(struct batch_view *b, struct failure *f)
{
	struct wire_reader *r = &b->rest;

	b->sequences_left--;
	b->block_left--;
	if (b->block_left == 0)
		b->block_left = wire_block(r);
	if (r->bad == NULL && (b->block_left == 0) != (b->sequences_left == 0))
		r->bad = "not as many sequences as a lane of a step has";
	return wire_reader_check(r, b->sequences_left == 0, "sequences", f);
}

static enum fail_code
read_sequence(struct batch_view *b, struct batch_drawn *drawn,
    struct sequence_payload_view *payload, struct failure *f)
{
	struct wire_reader *r = &b->rest;
	enum fail_code code;

	drawn->domain = int_of(r, 0, INT32_MAX);
	drawn->partition = int_of(r, 0, INT32_MAX);
	drawn->ordinal = wire_count(r);
	drawn->epoch = wire_count(r);
	code = wire_reader_check(r, false, "domain to epoch", f);
	if (code == FAIL_NONE)
		code = sequence_payload_read(payload, r, f);
	if (code == FAIL_NONE)
		code = leave_sequence(b, f);
	return code;
}

enum fail_code
batch_next(struct batch_view *b, struct batch_drawn *drawn, struct sequence_payload_view *payload,
    struct failure *f)
{
	size_t number = b->sequences_n - b->sequences_left;

	assert(b->rest.bad == NULL); /* no call after a failure */
	assert(b->sequences_left > 0);
	assert(b->block_left > 0);
	if (read_sequence(b, drawn, payload, f) != FAIL_NONE)
		return fail_within(f, "record of kind Batch: sequence %zu", number);
	return FAIL_NONE;
}
