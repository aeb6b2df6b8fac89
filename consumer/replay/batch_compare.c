#include "consumer/replay/batch_compare.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 48 }; /* bytes of a text */

static size_t
first_difference(const uint8_t *a, size_t a_n, const uint8_t *b, size_t b_n)
{
	size_t n = a_n < b_n ? a_n : b_n, i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static void __attribute__((format(printf, 2, 3)))
say(struct batch_compare_difference *d, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(d->text, sizeof(d->text), format, ap);
	va_end(ap);
}

/* ---- the head ---- */

static bool
same_text(struct text_view a, struct text_view b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.bytes, b.bytes, a.n) == 0);
}

static bool
say_text(struct batch_compare_difference *d, const char *field, struct text_view right,
    struct text_view found)
{
	if (same_text(right, found))
		return false;
	say(d, "%s: \"%.*s\" in the record, \"%.*s\" derived", field,
	    (int)(found.n < SHOWN_MAX ? found.n : SHOWN_MAX), found.bytes,
	    (int)(right.n < SHOWN_MAX ? right.n : SHOWN_MAX), right.bytes);
	return true;
}

static bool
say_number(struct batch_compare_difference *d, const char *field, uint64_t right, uint64_t found)
{
	if (right == found)
		return false;
	say(d, "%s: %" PRIu64 " in the record, %" PRIu64 " derived", field, found, right);
	return true;
}

static bool
say_hash(struct batch_compare_difference *d, const char *field, uint64_t right, uint64_t found)
{
	if (right == found)
		return false;
	say(d, "%s: %016" PRIx64 " in the record, %016" PRIx64 " derived", field, found, right);
	return true;
}

static bool
say_scale(struct batch_compare_difference *d, double right, double found)
{
	if (memcmp(&right, &found, sizeof(right)) == 0)
		return false;
	say(d, "lr_scale: %.17g in the record, %.17g derived", found, right);
	return true;
}

/* False: the heads are equal. In the order of the fields. */
static bool
say_head(struct batch_compare_difference *d, const struct batch_head *r, const struct batch_head *x)
{
	return say_text(d, "mix", r->mix, x->mix) ||
	       say_hash(d, "schedule", r->schedule, x->schedule) ||
	       say_number(d, "step", r->step, x->step) || say_number(d, "lane", r->lane, x->lane) ||
	       say_number(d, "lanes", r->lanes, x->lanes) ||
	       say_number(d, "global_batch", r->global_batch, x->global_batch) ||
	       say_number(d, "version", r->version, x->version) ||
	       say_text(d, "phase", r->phase, x->phase) || say_scale(d, r->lr_scale, x->lr_scale) ||
	       say_number(d, "lead", r->lead, x->lead) ||
	       say_hash(d, "tokenizer", r->tokenizer, x->tokenizer) ||
	       say_number(d, "last", r->last, x->last);
}

/* ---- sequences ---- */

static void
find_domain(struct batch_compare_difference *d, const struct batch_view *right)
{
	struct batch_domain *domain = calloc(right->domains_n + 1, sizeof(*domain));

	assert(d->domain.bytes == NULL);
	if (domain == NULL)
		return; /* its number is enough */
	batch_domains(right, domain);
	for (size_t i = 0; i < right->domains_n; i++)
		if (domain[i].index == d->drawn.domain)
			d->domain = domain[i].name;
	free(domain);
}

static void
say_draw(struct batch_compare_difference *d, const struct batch_drawn *right,
    const struct batch_drawn *found)
{
	if (!say_number(d, "domain", right->domain, found->domain) &&
	    !say_number(d, "partition", right->partition, found->partition) &&
	    !say_number(d, "ordinal", right->ordinal, found->ordinal) &&
	    !say_number(d, "epoch", right->epoch, found->epoch))
		say(d, "its place is written in another way, at byte %zu of the record", d->at);
}

/* Which part of the payload the byte `at`, counted from its beginning, belongs to. */
static const char *
payload_part(const struct sequence_payload_view *p, size_t at, size_t *within)
{
	assert(at < p->raw_n);
	*within = at;
	if (at >= (size_t)(p->frame - p->raw)) {
		*within = at - (size_t)(p->frame - p->raw);
		return "frame";
	}
	if (at >= (size_t)(p->no_loss - p->raw))
		return "no_loss";
	if (at >= (size_t)(p->spans - p->raw))
		return "documents";
	if (at >= (size_t)(p->sources - p->raw))
		return "sources";
	return "count to frame_hash";
}

static void
say_payload(struct batch_compare_difference *d, const struct sequence_payload_view *right,
    const struct sequence_payload_view *found, size_t at)
{
	size_t within;
	const char *part = payload_part(right, at, &within);

	if (found != NULL && (say_number(d, "count", right->count, found->count) ||
				 say_number(d, "width", right->width, found->width) ||
				 say_number(d, "used", right->used, found->used) ||
				 say_hash(d, "frame_hash", right->frame_hash, found->frame_hash)))
		return;
	say(d, "%s: differs at byte %zu of %s", part, within,
	    strcmp(part, "frame") == 0 ? "the frame" : "the payload");
}

/* One sequence of both; found is NULL where it could not be decoded. False: no difference here. */
static bool
compare_sequence(struct batch_compare_difference *d, const struct batch_view *right,
    const struct sequence_payload_view *p, const struct batch_drawn *found_drawn,
    const struct sequence_payload_view *found)
{
	size_t raw = (size_t)(p->raw - right->rest.start);
	struct failure ignored;

	assert(p->raw >= right->rest.start);
	if (d->at >= raw + p->raw_n)
		return false;
	d->part = d->at < raw ? BATCH_COMPARE_DRAW : BATCH_COMPARE_PAYLOAD;
	d->found_whole = d->found_whole && found != NULL &&
			 sequence_payload_check_hash(found, &ignored) == FAIL_NONE;
	find_domain(d, right);
	if (d->part == BATCH_COMPARE_PAYLOAD)
		say_payload(d, p, found, d->at - raw);
	else if (found != NULL)
		say_draw(d, &d->drawn, found_drawn);
	return true;
}

/* Appends why the found record cannot be read. */
static void
add_reason(struct batch_compare_difference *d, const struct failure *why)
{
	size_t used = strlen(d->text);

	d->found_whole = false;
	snprintf(d->text + used, sizeof(d->text) - used, "%s%s", used == 0 ? "" : "; ", why->text);
}

/* Both heads are equal, or the found record's cannot be read (`found` is NULL). */
static void
compare_sequences(struct batch_compare_difference *d, struct batch_view *right,
    struct batch_view *found, struct failure *why)
{
	for (d->sequence = 0; d->sequence < right->sequences_n; d->sequence++) {
		struct sequence_payload_view p, x;
		struct batch_drawn drawn;
		struct failure f;

		if (batch_next(right, &d->drawn, &p, &f) != FAIL_NONE)
			break;
		if (found != NULL && batch_next(found, &drawn, &x, why) != FAIL_NONE)
			found = NULL;
		if (compare_sequence(d, right, &p, &drawn, found == NULL ? NULL : &x))
			return;
	}
	d->part = BATCH_COMPARE_HEAD; /* between the sequences, or after the last */
	say(d, "bytes that belong to no field differ, at byte %zu of the record", d->at);
}

void
batch_compare(struct batch_compare_difference *out, const uint8_t *right, size_t right_n,
    const uint8_t *found, size_t found_n)
{
	struct failure why = {0}, f;
	struct batch_view r, x;
	bool whole;
	size_t sequences;

	*out = (struct batch_compare_difference){0};
	out->at = first_difference(right, right_n, found, found_n);
	assert(out->at <= right_n);
	if (out->at == right_n && out->at == found_n)
		return;
	if (batch_decode(&r, right, right_n, &f) != FAIL_NONE) {
		assert(false && "the right record can be decoded");
		return;
	}
	whole = batch_decode(&x, found, found_n, &why) == FAIL_NONE;
	out->found_whole = whole;
	sequences = (size_t)(r.rest.at - r.rest.start);
	if (out->at < sequences) {
		out->part = BATCH_COMPARE_HEAD;
		if (!whole || !say_head(out, &r.head, &x.head))
			say(out, "%s, at byte %zu of the record",
			    out->at < (size_t)(r.domains - r.rest.start) ? "mix to last"
									 : "domains",
			    out->at);
	} else
		compare_sequences(out, &r, whole ? &x : NULL, &why);
	if (why.code != FAIL_NONE)
		add_reason(out, &why);
}
