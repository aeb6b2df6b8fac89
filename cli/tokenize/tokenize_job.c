#include "cli/tokenize/tokenize_job.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tokenize/tokenize_input.h"
#include "common/base/utf8.h"
#include "producer/document/token_record.h"
#include "producer/encoder/encoder.h"
#include "producer/input/chunk.h"
#include "producer/produce/pool.h"

enum {
	OUTPUT_ROOM_MIN = 1 << 16,
	ID_TEXT_MAX = 11,    /* ten digits and a comma */
	ESCAPED_FACTOR = 6,  /* \u0001 */
	FRAME_TEXT_MAX = 32, /* what stands around the ids or the text */
	JOBS_PER_THREAD = 3, /* that are read and not printed yet */
};

/* A chunk of lines and what becomes of it. */
struct job {
	struct chunk *chunk; /* owned */
	char *output;        /* [output_n], owned */
	size_t output_n, output_room;
	uint64_t documents, bytes, tokens; /* bytes of text, not of JSON */
};

/* Memory of one thread, which all its jobs use. */
struct worker {
	const struct tokenize_job_task *task;
	struct encoder *encoder;
	struct json_field_scratch *scratch;
	struct token_buffer ids;
	char *bytes; /* [2][room]: what ids stand for, then the same as UTF-8 */
	size_t room;
};

/* ---- a job ---- */

/* Gives *out, to be ended with job_close(); takes `chunk` in any case. */
static enum fail_code
job_open(struct job **out, struct chunk *chunk, struct failure *f)
{
	struct job *j = calloc(1, sizeof(*j));

	if (j == NULL) {
		chunk_close(chunk);
		return fail_memory(f);
	}
	j->chunk = chunk;
	*out = j;
	return FAIL_NONE;
}

static void
job_close(struct job *j)
{
	if (j == NULL)
		return;
	chunk_close(j->chunk);
	free(j->output);
	free(j);
}

/* ---- a worker's memory ---- */

static void
worker_close(void *worker)
{
	struct worker *w = worker;

	if (w == NULL)
		return;
	encoder_close(w->encoder);
	json_field_scratch_close(w->scratch);
	token_buffer_close(&w->ids);
	free(w->bytes);
	free(w);
}

static enum fail_code
worker_open(void **out, void *task, struct failure *f)
{
	struct worker *w = calloc(1, sizeof(*w));

	if (w == NULL)
		return fail_memory(f);
	w->task = task;
	if (encoder_open(&w->encoder, w->task->tokenizer, f) != FAIL_NONE ||
	    json_field_scratch_open(&w->scratch, f) != FAIL_NONE) {
		worker_close(w);
		return f->code;
	}
	*out = w;
	return FAIL_NONE;
}

/* ---- output ---- */

/* Gives where to write the next `more` bytes of output. */
static enum fail_code
reserve(struct job *j, size_t more, char **at, struct failure *f)
{
	size_t room = j->output_room < OUTPUT_ROOM_MIN ? OUTPUT_ROOM_MIN : j->output_room;
	char *output;

	while (room - j->output_n < more) {
		if (room > SIZE_MAX / 2)
			return fail_memory(f);
		room *= 2;
	}
	if (room > j->output_room) {
		output = realloc(j->output, room);
		if (output == NULL)
			return fail_memory(f);
		j->output = output;
		j->output_room = room;
	}
	*at = j->output + j->output_n;
	return FAIL_NONE;
}

static char *
put_text(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

static char *
put_number(char *at, uint32_t value)
{
	char digits[ID_TEXT_MAX];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	while (n > 0)
		*at++ = digits[--n];
	return at;
}

/* {"tokens":[1,2]} and a line end. */
static enum fail_code
put_tokens(struct job *j, const struct token_buffer *ids, struct failure *f)
{
	char *at;

	if (reserve(j, ids->n * ID_TEXT_MAX + FRAME_TEXT_MAX, &at, f) != FAIL_NONE)
		return f->code;
	at = put_text(at, "{\"tokens\":[");
	for (size_t i = 0; i < ids->n; i++) {
		if (i > 0)
			*at++ = ',';
		at = put_number(at, ids->id[i]);
	}
	at = put_text(at, "]}\n");
	assert((size_t)(at - j->output) <= j->output_room);
	j->output_n = (size_t)(at - j->output);
	return FAIL_NONE;
}

/* One character of a JSON string (RFC 8259, section 7). */
static char *
put_escaped(char *at, unsigned char c)
{
	static const char hex[] = "0123456789abcdef";
	const char *short_form = c == '"'    ? "\\\""
				 : c == '\\' ? "\\\\"
				 : c == '\n' ? "\\n"
				 : c == '\r' ? "\\r"
				 : c == '\t' ? "\\t"
					     : NULL;

	if (short_form != NULL)
		return put_text(at, short_form);
	if (c >= 0x20) {
		*at = (char)c;
		return at + 1;
	}
	at = put_text(at, "\\u00");
	*at++ = hex[c >> 4];
	*at++ = hex[c & 15];
	return at;
}

/* {"text":"..."} and a line end; text[n] is UTF-8. */
static enum fail_code
put_string(struct job *j, const char *text, size_t n, struct failure *f)
{
	char *at;

	if (reserve(j, n * ESCAPED_FACTOR + FRAME_TEXT_MAX, &at, f) != FAIL_NONE)
		return f->code;
	at = put_text(at, "{\"text\":\"");
	for (size_t i = 0; i < n; i++)
		at = put_escaped(at, (unsigned char)text[i]);
	at = put_text(at, "\"}\n");
	assert((size_t)(at - j->output) <= j->output_room);
	j->output_n = (size_t)(at - j->output);
	return FAIL_NONE;
}

/* ---- from ids to text, and from text to ids ---- */

/* Makes room for n bytes and for the same bytes as UTF-8, behind them. */
static enum fail_code
reserve_bytes(struct worker *w, size_t n, struct failure *f)
{
	size_t room = w->room < OUTPUT_ROOM_MIN ? OUTPUT_ROOM_MIN : w->room;
	char *bytes;

	while (room < n)
		room *= 2;
	if (room == w->room)
		return FAIL_NONE;
	bytes = realloc(w->bytes, room * (1 + UTF8_REPLACED_FACTOR));
	if (bytes == NULL)
		return fail_memory(f);
	w->bytes = bytes;
	w->room = room;
	return FAIL_NONE;
}

/* The bytes of w->ids, in w->bytes. */
static enum fail_code
bytes_of_ids(struct worker *w, size_t *bytes_n, struct failure *f)
{
	*bytes_n = 0;
	for (size_t i = 0; i < w->ids.n; i++) {
		size_t more;
		const uint8_t *bytes = tokenizer_bytes(w->task->tokenizer, w->ids.id[i], &more);

		if (bytes == NULL)
			return fail(
			    f, FAIL_DATA, "id %" PRIu32 " is not in the tokenizer", w->ids.id[i]);
		if (reserve_bytes(w, *bytes_n + more, f) != FAIL_NONE)
			return f->code;
		memcpy(w->bytes + *bytes_n, bytes, more);
		*bytes_n += more;
	}
	return FAIL_NONE;
}

static enum fail_code
decode(struct worker *w, struct job *j, const struct json_field_value *v, struct failure *f)
{
	size_t n = 0, cut;

	if (v->found == JSON_FIELD_MISSING)
		return fail(f, FAIL_DATA, "no field `" TOKEN_RECORD_TOKENS "`");
	w->ids.n = 0;
	if (token_buffer_reserve(&w->ids, token_record_room(v->raw, v->raw_n), f) != FAIL_NONE ||
	    token_record_ids(v->raw, v->raw_n, w->ids.id, &w->ids.n, f) != FAIL_NONE ||
	    reserve_bytes(w, 1, f) != FAIL_NONE || bytes_of_ids(w, &n, f) != FAIL_NONE)
		return f->code;
	cut = tokenizer_decoded_cut(
	    w->task->tokenizer, w->ids.n == 0 ? 0 : w->ids.id[0], (const uint8_t *)w->bytes, n);
	n -= cut;
	j->tokens += w->ids.n;
	j->bytes += n;
	if (w->task->count)
		return FAIL_NONE;
	n = utf8_replace(w->bytes + w->room, w->bytes + cut, n);
	return put_string(j, w->bytes + w->room, n, f);
}

static enum fail_code
encode(struct worker *w, struct job *j, const struct json_field_value *v, struct failure *f)
{
	if (v->found != JSON_FIELD_STRING)
		return fail(f, FAIL_DATA,
		    v->found == JSON_FIELD_MISSING
			? "there is no field `%s`; --text names the field that holds the text"
			: "the field `%s` is not a string",
		    w->task->field);
	w->ids.n = 0;
	if (encoder_encode(w->encoder, v->bytes, v->n, &w->ids, f) != FAIL_NONE)
		return f->code;
	j->tokens += w->ids.n;
	j->bytes += v->n;
	return w->task->count ? FAIL_NONE : put_tokens(j, &w->ids, f);
}

static enum fail_code
work_line(struct worker *w, struct job *j, const struct chunk_record *r, struct failure *f)
{
	struct json_field_value value = {.found = JSON_FIELD_STRING, .bytes = r->bytes, .n = r->n};

	if (r->reject != NULL)
		return fail(f, FAIL_DATA, "%s", r->reject);
	if (j->chunk->form == CHUNK_JSON_LINES &&
	    json_field_read(w->task->paths, w->scratch, r->bytes, r->n, &value, f) != FAIL_NONE)
		return w->task->decode || memchr(r->bytes, '{', r->n) != NULL
			   ? f->code
			   : fail_more(f, "; a line must be a JSON object; plain text is taken "
					  "from a .txt file");
	return w->task->decode ? decode(w, j, &value, f) : encode(w, j, &value, f);
}

/* Ends at the first line that cannot be done; what came before it is in the job all the same. */
static enum fail_code
job_work(void *job, void *worker, struct failure *f)
{
	struct job *j = job;
	struct worker *w = worker;

	for (size_t i = 0; i < j->chunk->n; i++, j->documents++) {
		const struct chunk_record *r = &j->chunk->record[i];

		if (work_line(w, j, r, f) != FAIL_NONE)
			return fail_within(f, "%s: line %" PRIu64, j->chunk->file, r->line);
	}
	return FAIL_NONE;
}

/* ---- from chunks to output ---- */

static void
drop(enum pool_line line, void *job)
{
	(void)line;
	job_close(job);
}

/* Prints the oldest job, also where it failed: the lines before the one that is wrong. */
static enum fail_code
finish_one(struct pool *p, FILE *to, struct tokenize_job_totals *t, struct failure *f)
{
	void *taken = NULL;
	enum fail_code code = pool_take(p, POOL_TEXTS, true, &taken, f);
	struct job *j = taken;

	if (j == NULL)
		return code;
	if (j->output_n > 0 && fwrite(j->output, 1, j->output_n, to) != j->output_n &&
	    code == FAIL_NONE)
		code = fail_errno(f, FAIL_IO, "standard output cannot be written");
	t->documents += j->documents;
	t->bytes += j->bytes;
	t->tokens += j->tokens;
	job_close(j);
	return code;
}

static enum fail_code
submit(struct pool *p, struct chunk *chunk, struct failure *f)
{
	struct job *j = NULL;

	if (job_open(&j, chunk, f) != FAIL_NONE)
		return f->code;
	pool_submit(p, POOL_TEXTS, j, job_work);
	return FAIL_NONE;
}

/* Reads ahead of the workers and prints behind them. */
static enum fail_code
pump(struct pool *p, struct tokenize_input *in, FILE *to, struct tokenize_job_totals *t,
    struct failure *f)
{
	struct chunk *chunk;
	struct failure reading;
	enum fail_code code;

	while ((code = tokenize_input_next(in, &chunk, &reading)) == FAIL_NONE && chunk != NULL) {
		while (pool_full(p, POOL_TEXTS))
			if (finish_one(p, to, t, f) != FAIL_NONE) {
				chunk_close(chunk);
				return f->code;
			}
		if (submit(p, chunk, f) != FAIL_NONE)
			return f->code;
	}
	while (!pool_empty(p, POOL_TEXTS))
		if (finish_one(p, to, t, f) != FAIL_NONE)
			return f->code;
	if (code != FAIL_NONE)
		*f = reading;
	else if (fflush(to) != 0)
		code = fail_errno(f, FAIL_IO, "standard output cannot be written");
	return code;
}

enum fail_code
tokenize_job_run(struct tokenize_job_task *task, uint32_t threads, const char *path, FILE *to,
    struct tokenize_job_totals *totals, struct failure *f)
{
	struct pool_memory memory = {worker_open, worker_close, task};
	size_t depth = (size_t)threads * JOBS_PER_THREAD;
	struct tokenize_input *in = NULL;
	struct pool *p = NULL;
	enum fail_code code = tokenize_input_open(&in, path, f);

	assert(threads > 0);
	*totals = (struct tokenize_job_totals){0, 0, 0};
	if (depth > POOL_LINE_MAX)
		depth = POOL_LINE_MAX;
	if (code == FAIL_NONE)
		code = pool_open(&p, threads, depth, &memory, f);
	if (code == FAIL_NONE)
		code = pump(p, in, to, totals, f);
	fflush(to);
	pool_close(p, drop);
	tokenize_input_close(in);
	return code;
}
