/*
 * An input of token files: the part of input.h that token_file.h describes.
 *
 * The reader thread finds the documents and checks their ids; a chunk is some of them, an array of
 * uint32_t each. There is no cutter: the documents have their bounds in the file.
 */
#include "producer/input/input_internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"
#include "producer/input/token_file.h"

/* A record under way: offsets, since the buffer moves when it grows. */
struct begun_record {
	struct chunk_record record; /* without bytes */
	size_t first;               /* in `ids` */
	size_t reason;              /* in `reasons`, + 1; 0: it is no reject */
};

struct input_tokens {
	struct input_token_options o;
	uint64_t max_document_bytes, chunk_bytes;
	struct token_file *file;     /* of in->file_at; NULL: not open */
	struct input_position place; /* of the next document */
	struct token_file_buffer ids;
	struct begun_record *record;
	size_t records_n, records_room;
	char *reasons;
	size_t reasons_n;
};

static enum fail_code
open_file(struct input *in, struct failure *f)
{
	struct input_tokens *t = in->tokens;
	struct token_file_options o = {
	    .name = in->files->file[in->file_at].name,
	    .format = t->o.format,
	    .token_bytes = t->o.token_bytes,
	    .eos = t->o.eos,
	    .known = t->o.known,
	    .entries = t->o.entries,
	    .max_document_bytes = t->max_document_bytes,
	};
	char *path;

	if (file_list_path(&path, in->folder, o.name, f) != FAIL_NONE)
		return f->code;
	o.path = path;
	token_file_close(t->file);
	t->file = NULL;
	f->code = token_file_open(&t->file, &o, f);
	free(path);
	return f->code;
}

/* Goes to where the last run stood, in file in->file_at. */
static enum fail_code
go_to(struct input *in, const struct input_position *from, struct failure *f)
{
	struct input_tokens *t = in->tokens;

	assert(t->file == NULL);
	in->end.records = from->document;
	if (from->file == NULL || in->file_at == in->files->n)
		return FAIL_NONE;
	if (open_file(in, f) != FAIL_NONE)
		return f->code;
	if (!from->ended) {
		in->bytes_skipped += from->byte;
		return token_file_seek(
		    t->file, from->byte, from->line == 0 ? 0 : from->line - 1, f);
	}
	if (token_file_check_end(t->file, from->byte, f) != FAIL_NONE)
		return f->code;
	token_file_close(t->file);
	t->file = NULL;
	in->end.byte = from->byte;
	in->end.line = from->line;
	in->bytes_skipped += in->files->file[in->file_at++].size_bytes;
	return FAIL_NONE;
}

enum fail_code
input_tokens_open(struct input *in, const struct input_options *o,
    const struct input_position *from, struct failure *f)
{
	struct input_tokens *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return fail_memory(f);
	t->o = *o->tokens;
	t->max_document_bytes = o->max_document_bytes;
	t->chunk_bytes = o->chunk_bytes == 0 ? INPUT_CHUNK_BYTES : o->chunk_bytes;
	in->tokens = t;
	in->end.line = 1;
	if (input_list_files(in, o, from, f) != FAIL_NONE ||
	    (from != NULL && go_to(in, from, f) != FAIL_NONE))
		return f->code;
	in->used = in->passed_on = in->bytes_skipped;
	return FAIL_NONE;
}

void
input_tokens_close(struct input_tokens *t)
{
	if (t == NULL)
		return;
	token_file_close(t->file);
	free(t->ids.id);
	free(t->record);
	free(t->reasons);
	free(t);
}

/* ---- chunks ---- */

static enum fail_code
keep_reason(struct input_tokens *t, const char *reason, size_t *at, struct failure *f)
{
	size_t n = strlen(reason) + 1;

	if (buffer_resize_items(&t->reasons, t->reasons_n + n, 1, f) != FAIL_NONE)
		return f->code;
	memcpy(t->reasons + t->reasons_n, reason, n);
	*at = t->reasons_n + 1; /* 0 means none */
	t->reasons_n += n;
	return FAIL_NONE;
}

static enum fail_code
add_record(struct input *in, const struct token_file_document *d, struct failure *f)
{
	struct input_tokens *t = in->tokens;
	struct begun_record *r;

	if (buffer_reserve_items(&t->record, &t->records_room, t->records_n + 1, sizeof(*r), f) !=
	    FAIL_NONE)
		return f->code;
	r = &t->record[t->records_n++];
	*r = (struct begun_record){
	    .record = {.document = in->end.records++,
		.byte = d->byte,
		.line = d->number + 1,
		.n = d->n * sizeof(*t->ids.id)},
	    .first = t->ids.n - d->n,
	};
	return d->reject == NULL ? FAIL_NONE : keep_reason(t, d->reject, &r->reason, f);
}

/* The records so far as a chunk; its bytes are the buffer's, which starts empty again. */
static enum fail_code
pass_on(struct input *in, struct failure *f)
{
	struct input_tokens *t = in->tokens;
	struct chunk *k;

	if (t->records_n == 0)
		return FAIL_NONE;
	assert(in->passed_on <= in->used);
	k = calloc(1, sizeof(*k));
	if (k == NULL || (k->record = malloc(t->records_n * sizeof(*k->record))) == NULL) {
		free(k);
		return fail_memory(f);
	}
	k->file = in->files->file[in->file_at].name;
	k->form = CHUNK_TOKENS;
	k->n = t->records_n;
	k->bytes = (char *)t->ids.id;
	k->reasons = t->reasons;
	k->input_bytes = in->used - in->passed_on;
	in->passed_on = in->used;
	for (size_t i = 0; i < k->n; i++) {
		const struct begun_record *r = &t->record[i];

		k->record[i] = r->record;
		k->record[i].bytes = k->bytes + r->first * sizeof(*t->ids.id);
		k->record[i].reject = r->reason == 0 ? NULL : k->reasons + r->reason - 1;
	}
	t->ids = (struct token_file_buffer){0};
	t->reasons = NULL;
	t->reasons_n = t->records_n = 0;
	return chunk_queue_put(in->queue, k, f);
}

/* Reads the file that is open to its end. */
static enum fail_code
read_file(struct input *in, uint64_t used_before, struct failure *f)
{
	struct input_tokens *t = in->tokens;
	struct token_file_document d;
	bool there;

	for (;;) {
		if (input_check_stopped(in, f) != FAIL_NONE ||
		    token_file_next(t->file, &d, &t->ids, &there, f) != FAIL_NONE)
			return f->code;
		if (!there)
			return pass_on(in, f);
		if (add_record(in, &d, f) != FAIL_NONE)
			return f->code;
		in->end.line = d.number + 2;
		if (used_before + d.bytes > in->used)
			in->used = used_before + d.bytes;
		if ((t->ids.n * sizeof(*t->ids.id) >= t->chunk_bytes ||
			t->records_n == RECORD_CUTTER_RECORDS_MAX) &&
		    pass_on(in, f) != FAIL_NONE)
			return f->code;
	}
}

enum fail_code
input_tokens_read(struct input *in, struct failure *f)
{
	uint64_t used = 0;

	for (size_t i = 0; i < in->file_at; i++)
		used += in->files->file[i].size_bytes;
	for (; in->file_at < in->files->n; in->file_at++) {
		struct input_tokens *t = in->tokens;

		if (t->file == NULL && open_file(in, f) != FAIL_NONE)
			return f->code;
		in->end.byte = in->files->file[in->file_at].size_bytes;
		in->end.line = 1;
		if (read_file(in, used, f) != FAIL_NONE)
			return f->code;
		token_file_close(t->file);
		t->file = NULL;
		used += in->files->file[in->file_at].size_bytes;
		in->used = used;
	}
	return FAIL_NONE;
}
