#include "producer/produce/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/frame.h"

/* Bytes of a record for each of its tokens, rather too few: room for these saves growing. */
enum { TOKEN_BYTES_GUESS = 3 };

struct memory {
	struct encoder *encoder;
	struct router_scratch *scratch;
	struct frame_codec *codec;
	struct buffer text; /* of a document of tokens */
};

static void
close_memory(void *memory)
{
	struct memory *m = memory;

	if (m == NULL)
		return;
	encoder_close(m->encoder);
	router_scratch_close(m->scratch);
	frame_codec_close(m->codec);
	buffer_close(&m->text);
	free(m);
}

static enum fail_code
open_memory(void **out, void *context, struct failure *f)
{
	const struct worker_context *c = context;
	struct memory *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return fail_memory(f);
	if (encoder_open(&m->encoder, c->tokenizer, f) != FAIL_NONE ||
	    router_scratch_open(&m->scratch, f) != FAIL_NONE ||
	    frame_codec_open(&m->codec, f) != FAIL_NONE) {
		close_memory(m);
		return f->code;
	}
	*out = m;
	return FAIL_NONE;
}

struct pool_memory
worker_memory(struct worker_context *context)
{
	return (struct pool_memory){.open = open_memory, .close = close_memory, .context = context};
}

/* ---- records to tokens ---- */

struct text_job *
text_job_open(const struct worker_context *c, struct chunk *chunk)
{
	struct text_job *j = calloc(1, sizeof(*j));

	if (j != NULL)
		j->document = calloc(chunk->n + 1, sizeof(*j->document));
	if (j == NULL || j->document == NULL) {
		free(j);
		chunk_close(chunk);
		return NULL;
	}
	j->context = c;
	j->chunk = chunk;
	for (size_t i = 0; i < chunk->n; i++)
		j->bytes += chunk->record[i].n;
	return j;
}

void
text_job_close(struct text_job *j)
{
	if (j == NULL)
		return;
	for (size_t i = 0; i < j->chunk->n; i++)
		free(j->document[i].reason);
	free(j->document);
	chunk_close(j->chunk);
	token_buffer_close(&j->tokens);
	buffer_close(&j->keep);
	free(j);
}

/* The document is one token too long, or more: it is a reject, and its tokens go. */
static enum fail_code
reject_long(struct text_job *j, struct worker_document *d, struct failure *f)
{
	int written = asprintf(&d->reason,
	    "%zu tokens with eos, more than the %" PRIu64 " of a sequence, and over_long is reject",
	    d->n, (uint64_t)j->context->sequence_length + 1);

	if (written < 0) {
		d->reason = NULL;
		return fail_memory(f);
	}
	j->tokens.n = d->first;
	d->verdict = WORKER_REJECT;
	return FAIL_NONE;
}

/* Prompt and response by themselves, so that no token holds bytes of both; the router's are UTF-8.
 */
static enum fail_code
tokenise(struct text_job *j, struct memory *m, const struct router_result *r,
    struct worker_document *d, struct failure *f)
{
	size_t prompt_n = r->prompt_n;

	d->verdict = WORKER_DOCUMENT;
	d->domain = r->domain;
	d->set = split_set(r->text, r->n, j->context->split[r->domain]);
	d->first = j->tokens.n;
	if (prompt_n > 0 &&
	    encoder_encode_valid(m->encoder, r->text, prompt_n, &j->tokens, f) != FAIL_NONE)
		return f->code;
	d->prompt_n = j->tokens.n - d->first;
	if (encoder_encode_valid(m->encoder, r->text + prompt_n, r->n - prompt_n, &j->tokens, f) !=
		FAIL_NONE ||
	    token_buffer_reserve(&j->tokens, 1, f) != FAIL_NONE)
		return f->code;
	j->tokens.id[j->tokens.n++] = tokenizer_eos(j->context->tokenizer);
	d->n = j->tokens.n - d->first;
	if (r->prompt_only)
		d->prompt_n = d->n;
	if (j->context->reject_long[d->domain] && d->n > (size_t)j->context->sequence_length + 1)
		return reject_long(j, d, f);
	d->keep_first = j->keep.n;
	d->keep_n = r->keep_n;
	return buffer_add(&j->keep, r->keep, r->keep_n, f);
}

/* Whether the set depends on the document. */
static bool
is_split(const uint32_t parts[static SETS_COUNT])
{
	unsigned some = 0;

	for (int i = 0; i < SETS_COUNT; i++)
		some += parts[i] > 0;
	return some > 1;
}

/* The set of id[n] by the text that it stands for. */
static enum fail_code
choose_set(const struct text_job *j, struct memory *m, const uint32_t *id, size_t n,
    enum names_set *set, struct failure *f)
{
	const uint32_t *parts = j->context->split[0];

	m->text.n = 0;
	for (size_t i = 0; i < n && is_split(parts); i++) {
		size_t bytes_n = 0;
		const uint8_t *bytes = tokenizer_bytes(j->context->tokenizer, id[i], &bytes_n);

		if (buffer_add(&m->text, bytes, bytes_n, f) != FAIL_NONE)
			return f->code;
	}
	*set = split_set(m->text.n == 0 ? "" : (const char *)m->text.bytes, m->text.n, parts);
	return FAIL_NONE;
}

static enum fail_code
take_tokens(struct text_job *j, struct memory *m, const struct chunk_record *r,
    struct worker_document *d, struct failure *f)
{
	const uint32_t *id = (const uint32_t *)(const void *)r->bytes;
	size_t n = r->n / sizeof(*id);

	d->verdict = WORKER_DOCUMENT;
	d->first = j->tokens.n;
	d->n = n + 1;
	if (choose_set(j, m, id, n, &d->set, f) != FAIL_NONE ||
	    token_buffer_reserve(&j->tokens, n + 1, f) != FAIL_NONE)
		return f->code;
	if (n > 0)
		memcpy(j->tokens.id + j->tokens.n, id, r->n);
	j->tokens.n += n;
	j->tokens.id[j->tokens.n++] = tokenizer_eos(j->context->tokenizer);
	if (j->context->reject_long[0] && d->n > (size_t)j->context->sequence_length + 1)
		return reject_long(j, d, f);
	return FAIL_NONE;
}

static enum fail_code
run_record(struct text_job *j, struct memory *m, size_t i, struct failure *f)
{
	struct worker_document *d = &j->document[i];
	struct router_result r;

	d->record = i;
	if (j->chunk->form == CHUNK_TOKENS && j->chunk->record[i].reject == NULL)
		return take_tokens(j, m, &j->chunk->record[i], d, f);
	if (router_route(j->context->router, m->scratch, j->chunk->form, &j->chunk->record[i], &r,
		f) != FAIL_NONE)
		return f->code;
	switch (r.verdict) {
	case ROUTER_DOCUMENT: return tokenise(j, m, &r, d, f);
	case ROUTER_UNMATCHED: d->verdict = WORKER_UNMATCHED; return FAIL_NONE;
	case ROUTER_REJECT: break;
	}
	d->verdict = WORKER_REJECT;
	d->reason = strdup(r.reason);
	return d->reason == NULL ? fail_memory(f) : FAIL_NONE;
}

enum fail_code
text_job_run(void *job, void *memory, struct failure *f)
{
	struct text_job *j = job;

	if (token_buffer_reserve(&j->tokens, j->bytes / TOKEN_BYTES_GUESS, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < j->chunk->n; i++)
		if (run_record(j, memory, i, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* ---- sequences to frames ---- */

struct frame_job *
frame_job_open(const struct worker_context *c, void *stream)
{
	struct frame_job *j = calloc(1, sizeof(*j));

	if (j != NULL) {
		j->context = c;
		j->stream = stream;
	}
	return j;
}

void
frame_job_close(struct frame_job *j)
{
	if (j == NULL)
		return;
	for (size_t i = 0; i < j->n; i++) {
		pack_sequence_close(j->item[i].sequence);
		free(j->item[i].frame);
	}
	free(j);
}

bool
frame_job_full(const struct frame_job *j)
{
	return j->n == WORKER_FRAMES ||
	       (j->n + 1) * (j->context->sequence_length + 1) > WORKER_FRAMES_TOKENS;
}

enum fail_code
frame_job_run(void *job, void *memory, struct failure *f)
{
	struct frame_job *j = job;
	struct memory *m = memory;
	size_t count = j->context->sequence_length + 1;
	size_t room = frame_bound(count, j->context->width);

	for (size_t i = 0; i < j->n; i++) {
		struct frame_item *item = &j->item[i];

		item->frame = malloc(room);
		if (item->frame == NULL)
			return fail_memory(f);
		if (frame_encode(m->codec, item->sequence->token, count, j->context->width,
			item->frame, room, &item->frame_n, f) != FAIL_NONE)
			return f->code;
		item->hash = frame_hash(item->frame, item->frame_n);
	}
	return FAIL_NONE;
}

void
worker_drop(enum pool_line line, void *job)
{
	switch (line) {
	case POOL_TEXTS: text_job_close(job); return;
	case POOL_FRAMES: frame_job_close(job); return;
	}
}
