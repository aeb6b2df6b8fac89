#include "producer/produce/text_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/document/split.h"
#include "producer/document/token_record.h"
#include "producer/pack/pack.h"

/* Bytes of a record for each of its tokens, rather too few: room for these saves growing. */
enum { TOKEN_BYTES_GUESS = 3 };

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

static enum fail_code
reject(struct text_job_document *d, const char *reason, struct failure *f)
{
	d->verdict = TEXT_JOB_REJECT;
	d->reason = strdup(reason);
	return d->reason == NULL ? fail_memory(f) : FAIL_NONE;
}

/* Removes the tokens of a document without a target, and says why it has none. */
static enum fail_code
leave_out(struct text_job *j, struct text_job_document *d, const char *reason, struct failure *f)
{
	j->tokens.n = d->first;
	if (reject(d, reason, f) != FAIL_NONE)
		return f->code;
	d->verdict = TEXT_JOB_NO_TARGET;
	return FAIL_NONE;
}

/* The document is one token too long, or more: it is a reject, and its tokens are removed. */
static enum fail_code
reject_long(struct text_job *j, struct text_job_document *d, struct failure *f)
{
	int written = asprintf(&d->reason,
	    "%zu tokens with eos, more than the %" PRIu64 " of a sequence, and over_long is reject",
	    d->n, (uint64_t)j->context->sequence_length + 1);

	if (written < 0) {
		d->reason = NULL;
		return fail_memory(f);
	}
	j->tokens.n = d->first;
	d->verdict = TEXT_JOB_REJECT;
	return FAIL_NONE;
}

static bool
is_masked(const uint32_t *id, size_t n)
{
	size_t i = 0;

	while (i < n && (id[i] & PACK_NO_LOSS) != 0)
		i++;
	return i == n;
}

/*
 * Counts the document's tokens, which are all there, own_n of them its own, and decides whether it
 * stays one. Without an eos of ours it may be a prompt, which does.
 */
static enum fail_code
count_tokens(
    struct text_job *j, struct text_job_document *d, size_t own_n, bool no_eos, struct failure *f)
{
	const struct worker_domain *domain = &j->context->domain[d->domain];
	const uint32_t *id = j->tokens.id + d->first;

	d->n = j->tokens.n - d->first;
	if (domain->reject_long && d->n > (size_t)j->context->sequence_length + 1)
		return reject_long(j, d, f);
	d->verdict = TEXT_JOB_DOCUMENT;
	if (!domain->skip_no_target)
		return FAIL_NONE;
	if (own_n == 0)
		return leave_out(j, d, "no target: the document has no token of its own", f);
	if (pack_has_target(&domain->pack, id, d->n) || (no_eos && is_masked(id, d->n)))
		return FAIL_NONE;
	return leave_out(j, d, "no target: no loss is taken at any of the document's tokens", f);
}

/* As count_tokens(), and copies what is kept of the document. */
static enum fail_code
end_document(struct text_job *j, const struct router_result *r, struct text_job_document *d,
    size_t own_n, struct failure *f)
{
	if (count_tokens(j, d, own_n, r->no_eos, f) != FAIL_NONE)
		return f->code;
	if (d->verdict != TEXT_JOB_DOCUMENT)
		return FAIL_NONE;
	d->keep_first = j->keep.n;
	d->keep_n = r->keep_n;
	return buffer_add(&j->keep, r->keep, r->keep_n, f);
}

/* Tokens [first, end) of the job are no targets. */
static void
mark_no_loss(struct text_job *j, size_t first, size_t end)
{
	assert(end <= j->tokens.n);
	for (size_t i = first; i < end; i++)
		j->tokens.id[i] |= PACK_NO_LOSS;
}

/*
 * Prompt and response by themselves, so that no token holds bytes of both; the router's are UTF-8.
 */
static enum fail_code
tokenise(struct text_job *j, struct worker_memory *m, const struct router_result *r,
    struct text_job_document *d, struct failure *f)
{
	size_t prompt_n = r->prompt_n, added, own_n;

	assert(prompt_n <= r->n);
	d->domain = r->domain;
	d->garbled = r->garbled;
	if (split_needs_hash(&j->context->split[r->domain]))
		d->hash = split_hash(r->text, r->n);
	d->first = j->tokens.n;
	if (prompt_n > 0 &&
	    encoder_encode_valid(m->encoder, r->text, prompt_n, &j->tokens, f) != FAIL_NONE)
		return f->code;
	mark_no_loss(j, d->first, j->tokens.n);
	if (encoder_encode_valid(m->encoder, r->text + prompt_n, r->n - prompt_n, &j->tokens, f) !=
		FAIL_NONE ||
	    token_buffer_reserve(&j->tokens, 1, f) != FAIL_NONE)
		return f->code;
	added = tokenizer_added(j->context->tokenizer) * (prompt_n > 0 ? 2 : 1);
	own_n = j->tokens.n - d->first - added;
	j->tokens.id[j->tokens.n++] = tokenizer_eos(j->context->tokenizer);
	if (r->prompt_only)
		mark_no_loss(j, d->first, j->tokens.n);
	return end_document(j, r, d, own_n, f);
}

/* The hash of id[n] by the text that it stands for: tokens and text of a document go together. */
static enum fail_code
take_hash(const struct text_job *j, struct worker_memory *m, const uint32_t *id, size_t n,
    struct text_job_document *d, struct failure *f)
{
	if (!split_needs_hash(&j->context->split[d->domain]))
		return FAIL_NONE;
	m->text.n = 0;
	for (size_t i = 0; i < n; i++) {
		size_t bytes_n = 0;
		const uint8_t *bytes = tokenizer_bytes(j->context->tokenizer, id[i], &bytes_n);

		if (buffer_add(&m->text, bytes, bytes_n, f) != FAIL_NONE)
			return f->code;
	}
	d->hash = split_hash(m->text.n == 0 ? "" : (const char *)m->text.bytes, m->text.n);
	return FAIL_NONE;
}

static enum fail_code
take_tokens(struct text_job *j, struct worker_memory *m, const struct chunk_record *r,
    struct text_job_document *d, struct failure *f)
{
	const uint32_t *id = (const uint32_t *)(const void *)r->bytes; /* the chunk aligns them */
	size_t n = r->n / sizeof(*id);

	d->first = j->tokens.n;
	if (take_hash(j, m, id, n, d, f) != FAIL_NONE ||
	    token_buffer_reserve(&j->tokens, n + 1, f) != FAIL_NONE)
		return f->code;
	if (n > 0)
		memcpy(j->tokens.id + j->tokens.n, id, r->n);
	j->tokens.n += n;
	j->tokens.id[j->tokens.n++] = tokenizer_eos(j->context->tokenizer);
	return count_tokens(j, d, n, false, f);
}

/* The record's tokens, whose ids the tokenizer must have. FAIL_DATA: they cannot be used. */
static enum fail_code
read_ids(struct text_job *j, const struct router_result *r, size_t *n, struct failure *f)
{
	const struct tokenizer *t = j->context->tokenizer;
	uint32_t *id;
	size_t bytes_n;

	if (token_buffer_reserve(&j->tokens, token_record_room(r->ids.bytes, r->ids.n) + 1, f) !=
	    FAIL_NONE)
		return f->code;
	id = j->tokens.id + j->tokens.n;
	if (token_record_ids(r->ids.bytes, r->ids.n, id, n, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < *n; i++)
		if (tokenizer_bytes(t, id[i], &bytes_n) == NULL)
			return fail(f, FAIL_DATA,
			    TOKEN_RECORD_TOKENS "[%zu] is id %" PRIu32
						", which the tokenizer does not have",
			    i, id[i]);
	return FAIL_NONE;
}

/*
 * Tokens of a record. They get an eos if they do not end with one and may have one: it is a target
 * if the token before it is, so that a document that is all prompt stays that.
 */
static enum fail_code
take_ids(struct text_job *j, struct worker_memory *m, const struct router_result *r,
    struct text_job_document *d, struct failure *f)
{
	uint32_t eos = tokenizer_eos(j->context->tokenizer), *id;
	size_t n = 0, text_n;

	d->domain = r->domain;
	d->first = j->tokens.n;
	if (read_ids(j, r, &n, f) != FAIL_NONE)
		return f->code;
	id = j->tokens.id + d->first;
	text_n = n > 0 && id[n - 1] == eos ? n - 1 : n;
	if (take_hash(j, m, id, text_n, d, f) != FAIL_NONE)
		return f->code;
	if (r->no_loss.bytes != NULL &&
	    token_record_mark(r->no_loss.bytes, r->no_loss.n, PACK_NO_LOSS, id, n, f) != FAIL_NONE)
		return f->code;
	if (r->no_eos && n == 0)
		return fail(f, FAIL_DATA, "there is no token, and no eos is to be appended");
	if (text_n == n && !r->no_eos) {
		id[n] = eos | (n > 0 ? id[n - 1] & PACK_NO_LOSS : 0);
		n++;
	}
	j->tokens.n += n;
	return end_document(j, r, d, text_n, f);
}

/* A document of text or of tokens. */
static enum fail_code
take_document(struct text_job *j, struct worker_memory *m, const struct router_result *r,
    struct text_job_document *d, struct failure *f)
{
	enum fail_code code =
	    r->ids.bytes == NULL ? tokenise(j, m, r, d, f) : take_ids(j, m, r, d, f);

	return code == FAIL_DATA ? reject(d, f->text, f) : code;
}

static enum fail_code
run_record(struct text_job *j, struct worker_memory *m, size_t i, struct failure *f)
{
	struct text_job_document *d = &j->document[i];
	struct router_result r;

	assert(i < j->chunk->n);
	d->record = i;
	if (j->chunk->form == CHUNK_TOKENS && j->chunk->record[i].reject == NULL)
		return take_tokens(j, m, &j->chunk->record[i], d, f);
	if (router_route(j->context->router, m->scratch, j->chunk->form, &j->chunk->record[i], &r,
		f) != FAIL_NONE)
		return f->code;
	switch (r.verdict) {
	case ROUTER_DOCUMENT: return take_document(j, m, &r, d, f);
	case ROUTER_UNMATCHED: d->verdict = TEXT_JOB_UNMATCHED; return FAIL_NONE;
	case ROUTER_REJECT: break;
	}
	return reject(d, r.reason, f);
}

/*
 * Room for all tokens is reserved first by a guess: a buffer that grows by doubling copies millions
 * of tokens for nothing.
 */
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
