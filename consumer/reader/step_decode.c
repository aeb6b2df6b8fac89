#include "consumer/reader/step_decode.h"

#include <assert.h>
#include <inttypes.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/frame.h"

enum { CHUNK_BYTES = 64 << 10 };

/* A chunk of the arena: bytes[0 .. n) are given out. */
struct chunk {
	struct chunk *next;
	size_t n, room;
	alignas(max_align_t) uint8_t bytes[];
};

struct step_decode {
	struct frame_codec *codec; /* NULL: not needed yet */
	struct frame_codec *lent;
	uint32_t token_bytes;
	struct chunk *chunks; /* all of them */
	struct chunk
	    *current; /* pieces come from here, then from those behind it, which are empty */
	uint8_t *tokens;
	size_t tokens_room; /* bytes */
	struct riffle_sequence *sequence;
	size_t sequence_room;
	size_t tokens_each;              /* 0: not known yet */
	size_t sequences, sequences_all; /* decoded so far; of the whole step */
};

static struct chunk *
new_chunk(struct step_decode *d, size_t n)
{
	size_t room = n > CHUNK_BYTES ? n : CHUNK_BYTES;
	struct chunk *c = malloc(sizeof(*c) + room), **link;

	if (c == NULL)
		return NULL;
	link = d->current == NULL ? &d->chunks : &d->current->next;
	*c = (struct chunk){.next = *link, .room = room};
	*link = c;
	return c;
}

/*
 * A piece of n bytes, aligned for any type; NULL: no memory. What is left of the current chunk is
 * skipped where it is too small, until everything is taken back: simple, and little is lost, for
 * pieces are small beside a chunk.
 */
static void *
piece(struct step_decode *d, size_t n)
{
	struct chunk *c = d->current;
	void *at;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	while (c != NULL && c->room - c->n < n)
		c = c->next;
	if (c == NULL)
		c = new_chunk(d, n);
	if (c == NULL)
		return NULL;
	assert(c->room - c->n >= n);
	d->current = c;
	at = c->bytes + c->n;
	c->n += n;
	return at;
}

static void
take_back(struct step_decode *d)
{
	for (struct chunk *c = d->chunks; c != NULL; c = c->next)
		c->n = 0;
	d->current = d->chunks;
}

/* The sizes come out of records, so that the product may be anything: NULL as for no memory. */
static void *
pieces(struct step_decode *d, size_t count, size_t each)
{
	size_t n;

	if (__builtin_mul_overflow(count, each, &n))
		return NULL;
	return piece(d, n);
}

/* A copy with a NUL behind it. */
static char *
bytes_piece(struct step_decode *d, const void *bytes, size_t n)
{
	char *at = piece(d, n + 1);

	if (at == NULL)
		return NULL;
	if (n > 0)
		memcpy(at, bytes, n);
	at[n] = '\0';
	return at;
}

static char *
text_piece(struct step_decode *d, const struct text_view *text)
{
	return bytes_piece(d, text->bytes, text->n);
}

enum fail_code
step_decode_open(struct step_decode **out, uint32_t token_bytes, struct failure *f)
{
	struct step_decode *d = calloc(1, sizeof(*d));

	assert(token_bytes == 2 || token_bytes == 4 || token_bytes == 8);
	if (d == NULL)
		return fail_memory(f);
	d->token_bytes = token_bytes;
	*out = d;
	return FAIL_NONE;
}

void
step_decode_lend(struct step_decode *d, struct frame_codec *codec)
{
	d->lent = codec;
}

void
step_decode_expect(struct step_decode *d, size_t tokens_each)
{
	d->tokens_each = tokens_each;
}

size_t
step_decode_bytes(const struct step_decode *d)
{
	size_t bytes =
	    sizeof(*d) + d->tokens_room + d->sequence_room * sizeof(struct riffle_sequence);

	for (const struct chunk *c = d->chunks; c != NULL; c = c->next)
		bytes += sizeof(*c) + c->room;
	return bytes;
}

void
step_decode_close(struct step_decode *d)
{
	if (d == NULL)
		return;
	for (struct chunk *c = d->chunks, *next; c != NULL; c = next) {
		next = c->next;
		free(c);
	}
	frame_codec_close(d->codec);
	free(d->tokens);
	free(d->sequence);
	free(d);
}

/* Room for the tokens of the whole step, once it is known how long a sequence is. */
static enum fail_code
ensure_tokens(struct step_decode *d, size_t tokens_each, struct failure *f)
{
	uint64_t size;
	uint8_t *tokens;

	/* In range: at most 2^22 sequences of 2^21 tokens of 8 bytes, 2^46. */
	size = (uint64_t)d->sequences_all * tokens_each * d->token_bytes;
	if (size > STEP_DECODE_BYTES_MAX)
		return fail(f, FAIL_CONFIG,
		    "a step of %zu sequences of %zu tokens is more than a rank takes (%" PRIu64
		    " bytes): use a larger world",
		    d->sequences_all, tokens_each, (uint64_t)STEP_DECODE_BYTES_MAX);
	d->tokens_each = tokens_each;
	if (d->tokens_room >= size)
		return FAIL_NONE;
	tokens = malloc(size);
	if (tokens == NULL)
		return fail_memory(f);
	free(d->tokens);
	d->tokens = tokens;
	d->tokens_room = size;
	return FAIL_NONE;
}

enum fail_code
step_decode_begin(struct step_decode *d, size_t lanes, size_t sequences_each, struct failure *f)
{
	size_t all = lanes * sequences_each;

	take_back(d);
	d->sequences = 0;
	d->sequences_all = all;
	if (d->sequence_room < all) {
		struct riffle_sequence *sequence = calloc(all, sizeof(*sequence));

		if (sequence == NULL)
			return fail_memory(f);
		free(d->sequence);
		d->sequence = sequence;
		d->sequence_room = all;
	}
	return d->tokens_each == 0 ? FAIL_NONE : ensure_tokens(d, d->tokens_each, f);
}

static enum fail_code
copy_spans(struct step_decode *d, const struct sequence_payload_view *p,
    struct riffle_sequence *out, struct failure *f)
{
	struct text_view *sources = pieces(d, p->sources_n, sizeof(*sources));
	const char **names = pieces(d, p->sources_n, sizeof(*names));
	struct sequence_span *spans = pieces(d, p->spans_n, sizeof(*spans));
	struct sequence_range *ranges = pieces(d, p->no_loss_n, sizeof(*ranges));
	struct riffle_span *to = pieces(d, p->spans_n, sizeof(*to));
	struct riffle_range *no_loss = pieces(d, p->no_loss_n, sizeof(*no_loss));

	if (sources == NULL || names == NULL || spans == NULL || ranges == NULL || to == NULL ||
	    no_loss == NULL)
		return fail_memory(f);
	sequence_payload_lists(p, sources, spans, ranges);
	for (size_t i = 0; i < p->sources_n; i++) {
		names[i] = text_piece(d, &sources[i]);
		if (names[i] == NULL)
			return fail_memory(f);
	}
	for (size_t i = 0; i < p->spans_n; i++) {
		to[i] = (struct riffle_span){.start = spans[i].start,
		    .source = names[spans[i].source],
		    .document = spans[i].document,
		    .offset = spans[i].offset,
		    .keep = "",
		    .keep_n = spans[i].keep_n};
		if (to[i].keep_n > 0)
			to[i].keep = bytes_piece(d, spans[i].keep, spans[i].keep_n);
		if (to[i].keep == NULL)
			return fail_memory(f);
	}
	for (size_t i = 0; i < p->no_loss_n; i++)
		no_loss[i] = (struct riffle_range){ranges[i].start, ranges[i].end};
	out->spans = to;
	out->spans_n = p->spans_n;
	out->no_loss = no_loss;
	out->no_loss_n = p->no_loss_n;
	return FAIL_NONE;
}

/*
 * Tokens of the next sequence into their place; the hash first, so that no garbage is decompressed.
 */
static enum fail_code
decode_frame(struct step_decode *d, const struct riffle_sequence *s,
    const struct sequence_payload_view *p, struct failure *f)
{
	uint8_t *to;

	if (sequence_payload_check_hash(p, f) != FAIL_NONE)
		return f->code;
	if (d->tokens_each == 0 && ensure_tokens(d, p->count, f) != FAIL_NONE)
		return f->code;
	if (p->count != d->tokens_each)
		return fail(f, FAIL_DATA, "%" PRIu32 " tokens, where earlier sequences have %zu",
		    p->count, d->tokens_each);
	to = d->tokens + d->sequences * d->tokens_each * d->token_bytes;
	if (d->lent == NULL && d->codec == NULL && frame_codec_open(&d->codec, f) != FAIL_NONE)
		return f->code;
	if (frame_decode(d->lent != NULL ? d->lent : d->codec, p->frame, p->frame_n, p->count,
		p->width, to, d->token_bytes, f) == FAIL_NONE)
		return FAIL_NONE;
	/* With 2 bytes a token the reader may be wrong, not the sequence. */
	if (f->code == FAIL_DATA && d->token_bytes >= p->width) {
		char why[FAILURE_TEXT_MAX];

		memcpy(why, f->text, sizeof(why));
		fail(f, FAIL_DATA,
		    "%.512s (to keep it out of later draws: `riffle skip %s/%" PRIu32 " %" PRIu64
		    "..%" PRIu64 "`)",
		    why, s->domain, s->partition, s->ordinal, s->ordinal + 1);
	}
	return f->code;
}

/* The name of domain `index`, by halving: domains ascend by index. NULL: it is not among them. */
static const char *
name_of(const struct batch_domain *domains, const char *const *names, size_t n, uint32_t index)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (domains[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && domains[low].index == index ? names[low] : NULL;
}

struct lane_domains {
	struct batch_domain *domain;
	const char **name;
	size_t n;
};

static enum fail_code
copy_domains(
    struct step_decode *d, const struct batch_view *b, struct lane_domains *out, struct failure *f)
{
	out->n = b->domains_n;
	out->domain = pieces(d, b->domains_n, sizeof(*out->domain));
	out->name = pieces(d, b->domains_n, sizeof(*out->name));
	if (out->domain == NULL || out->name == NULL)
		return fail_memory(f);
	batch_domains(b, out->domain);
	for (size_t i = 0; i < out->n; i++) {
		out->name[i] = text_piece(d, &out->domain[i].name);
		if (out->name[i] == NULL)
			return fail_memory(f);
	}
	return FAIL_NONE;
}

enum fail_code
step_decode_add(struct step_decode *d, const struct step_decode_drawn *drawn,
    const struct sequence_payload_view *p, struct failure *f)
{
	struct riffle_sequence *s = &d->sequence[d->sequences];

	assert(d->sequences < d->sequences_all);
	*s = (struct riffle_sequence){
	    .domain = drawn->domain,
	    .domain_index = drawn->domain_index,
	    .lane = drawn->lane,
	    .partition = drawn->partition,
	    .ordinal = drawn->ordinal,
	    .epoch = drawn->epoch,
	    .used = p->used,
	};
	if (copy_spans(d, p, s, f) != FAIL_NONE)
		return f->code;
	if (decode_frame(d, s, p, f) != FAIL_NONE)
		return fail_within(f, "domain %s, partition %" PRIu32 ", ordinal %" PRIu64,
		    s->domain, s->partition, s->ordinal);
	d->sequences++;
	return FAIL_NONE;
}

static enum fail_code
decode_sequence(struct step_decode *d, struct batch_view *b, const struct lane_domains *domains,
    struct failure *f)
{
	struct step_decode_drawn to;
	struct sequence_payload_view payload;
	struct batch_drawn drawn;

	if (batch_next(b, &drawn, &payload, f) != FAIL_NONE)
		return f->code;
	to = (struct step_decode_drawn){
	    .domain = name_of(domains->domain, domains->name, domains->n, drawn.domain),
	    .domain_index = drawn.domain,
	    .lane = b->head.lane,
	    .partition = drawn.partition,
	    .ordinal = drawn.ordinal,
	    .epoch = drawn.epoch,
	};
	if (to.domain == NULL)
		return fail(f, FAIL_DATA,
		    "names domain %" PRIu32 ", which is not among its domains", drawn.domain);
	return step_decode_add(d, &to, &payload, f);
}

enum fail_code
step_decode_lane(struct step_decode *d, struct batch_view *b, struct failure *f)
{
	struct lane_domains domains;

	assert(d->sequences + b->sequences_n <= d->sequences_all);
	if (copy_domains(d, b, &domains, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < b->sequences_n; i++)
		if (decode_sequence(d, b, &domains, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

const char *
step_decode_text(struct step_decode *d, const char *text)
{
	return bytes_piece(d, text, strlen(text));
}

void
step_decode_cut(struct step_decode *d)
{
	d->sequences_all = d->sequences;
}

void
step_decode_end(struct step_decode *d, struct riffle_step *out)
{
	assert(d->sequences == d->sequences_all);
	out->sequences = d->sequences;
	out->tokens_each = d->tokens_each;
	out->tokens = d->tokens;
	out->sequence = d->sequence;
}
