#include "common/record/arrivals.h"

#include <assert.h>

#include "common/record/schema.h"

/* Generous: what a record takes beside its texts, and a portion beside its name. */
enum { FIXED_BYTES_MAX = 64, PORTION_BYTES_MAX = 64 };

enum fail_code
arrivals_encode(struct wire_writer *w, const struct arrivals *a,
    const struct arrivals_portion *portion, struct failure *f)
{
	uint8_t envelope[SCHEMA_ENVELOPE_BYTES];
	size_t most = FIXED_BYTES_MAX + a->input.n;

	assert(portion != NULL || a->portions_n == 0);
	for (size_t i = 0; i < a->portions_n; i++)
		most += portion[i].file.n + PORTION_BYTES_MAX;
	wire_reserve(w, most);
	schema_put_envelope(envelope, SCHEMA_ARRIVALS);
	wire_put_raw(w, envelope, sizeof(envelope));
	wire_put_text(w, a->input);
	wire_put_hash(w, a->writer);
	wire_put_boolean(w, a->takes_over);
	wire_put_count(w, a->first);
	if (a->portions_n > 0)
		wire_put_count(w, a->portions_n);
	for (size_t i = 0; i < a->portions_n; i++) {
		const struct arrivals_portion *p = &portion[i];

		assert(p->byte <= p->end);
		wire_put_text(w, p->file);
		wire_put_boolean(w, p->whole);
		wire_put_count(w, p->byte);
		wire_put_count(w, p->end);
		wire_put_count(w, p->line);
		wire_put_hash(w, p->hash);
	}
	wire_put_long(w, 0);
	return w->failed ? fail_memory(f) : FAIL_NONE;
}

static struct arrivals_portion
portion_of(struct wire_reader *r)
{
	const uint8_t *item = r->at;
	struct arrivals_portion p;

	p.file = wire_text(r);
	p.whole = wire_boolean(r);
	p.byte = wire_count(r);
	p.end = wire_count(r);
	p.line = wire_count(r);
	p.hash = wire_hash(r);
	if (r->bad == NULL && p.end < p.byte)
		wire_spoil(r, item, "a portion that ends before it begins");
	return p;
}

enum fail_code
arrivals_decode(struct arrivals *out, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct wire_reader r;
	struct arrivals a = {0};

	if (schema_expect(SCHEMA_ARRIVALS, bytes, n, f) != FAIL_NONE)
		return f->code;
	wire_reader_init(&r, bytes, n);
	r.at += SCHEMA_ENVELOPE_BYTES;
	a.input = wire_text(&r);
	a.writer = wire_hash(&r);
	a.takes_over = wire_boolean(&r);
	a.first = wire_count(&r);
	a.portions = r.at;
	a.rest_n = r.bad == NULL ? (size_t)(r.end - r.at) : 0;
	for (size_t items; (items = wire_block(&r)) > 0;)
		for (size_t i = 0; i < items && r.bad == NULL; i++) {
			portion_of(&r);
			a.portions_n++;
		}
	if (wire_reader_check(&r, true, "record of kind Arrivals", f) != FAIL_NONE)
		return f->code;
	*out = a;
	return FAIL_NONE;
}

void
arrivals_portions(const struct arrivals *a, struct arrivals_portion *portion)
{
	struct wire_reader r;
	size_t k = 0;

	wire_reader_init(&r, a->portions, a->rest_n);
	for (size_t items; (items = wire_block(&r)) > 0;)
		for (size_t i = 0; i < items; i++)
			portion[k++] = portion_of(&r);
	assert(r.bad == NULL);
	assert(k == a->portions_n);
}
