#include "producer/produce/lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "producer/produce/lane_open.h"
#include "producer/produce/lane_output.h"

enum {
	REJECTS_LOGGED = 5,          /* the first few are said one by one */
	PART_TOKENS = 64 * 1024,     /* of a document that are packed before they are cut */
	TEXT_BYTES_MIN = 32 << 20,   /* of records at work at once: this, or */
	TEXT_WORKER_BYTES = 2 << 20, /* so many a worker; and the chunk that passes it */
};

/* ---- documents to streams ---- */

/* In parts, so that a packer stays small however long the documents are. */
static enum fail_code
pack_document(struct lane *l, struct lane_stream *s, const struct pack_document *d,
    const uint32_t *id, uint64_t first, struct failure *f)
{
	while (first < d->n) {
		uint64_t end = d->n - first > PART_TOKENS ? first + PART_TOKENS : d->n;

		if (pack_add(s->pack, d, id, first, end, f) != FAIL_NONE ||
		    lane_output_cut(l, s, f) != FAIL_NONE)
			return f->code;
		first = end;
	}
	return FAIL_NONE;
}

/* Whether the document can be the one that the last record of the stream is about. */
static bool
is_where_it_ended(const struct lane_stream *s, const struct resume *r,
    const struct pack_document *d, const uint32_t *id)
{
	if (d->place.document > r->document)
		return false;
	/* The sequences that a window is left with are compared as they come out. */
	return s->packing == SEQUENCE_BEST_FIT || resume_fits(r, id, d->n);
}

/* The token with which a stream goes on in the document of its last record. */
static uint64_t
first_token(struct lane_stream *s, const struct resume *r)
{
	switch (s->packing) {
	case SEQUENCE_CONCAT: return r->offset; /* it is shared */
	case SEQUENCE_NONE: return r->offset + 1;
	case SEQUENCE_BEST_FIT: s->skip = r->window; return 0;
	}
	abort(); /* unreachable */
}

static enum fail_code
add_document(
    struct lane *l, const struct text_job *j, const struct worker_document *d, struct failure *f)
{
	size_t at = d->domain * SETS_COUNT + d->set;
	struct lane_stream *s = &l->stream[at];
	const struct resume *r = &l->resume[at];
	const struct chunk_record *record = &j->chunk->record[d->record];
	const uint32_t *id = j->tokens.id + d->first;
	struct pack_document document = {
	    .place = {.document = record->document,
		.file = j->chunk->file,
		.byte = record->byte,
		.line = record->line,
		.rejects = l->rejects},
	    .n = d->n,
	    .prompt_n = d->prompt_n,
	    .keep = d->keep_n == 0 ? NULL : j->keep.bytes + d->keep_first,
	    .keep_n = d->keep_n,
	};
	uint64_t first = 0;

	if (!s->open || record->document < s->first_document)
		return FAIL_NONE;
	if (s->behind && !is_where_it_ended(s, r, &document, id))
		return fail(f, FAIL_DATA,
		    "topic %s: the last sequence ended in document %" PRIu64
		    " of %s at token %" PRIu64
		    ", which the input does not have there any more: it has changed since. Put the "
		    "data back, or produce them under another corpus name",
		    s->topic, r->document, r->file, r->offset);
	if (s->behind) {
		s->behind = false;
		first = first_token(s, r);
	} else {
		s->documents++;
	}
	document.place.documents = s->documents;
	l->progress.documents++;
	return pack_document(l, s, &document, id, first, f);
}

static enum fail_code
reject(struct lane *l, const struct text_job *j, const struct worker_document *d, struct failure *f)
{
	const struct chunk_record *record = &j->chunk->record[d->record];
	struct writer_reject r = {
	    .domain = l->label,
	    .file = j->chunk->file,
	    .line = record->line,
	    .byte = record->byte,
	    .count = l->rejects + 1,
	    .reason = d->reason,
	    .bytes = record->bytes,
	    .n = record->n,
	};

	if (l->config->on_reject == CONFIG_REJECT_STOP)
		return fail(f, FAIL_DATA,
		    "%s:%" PRIu64 ": %s (record at byte %" PRIu64
		    "); on_reject is stop: mend the record, or set on_reject: quarantine",
		    r.file, r.line, r.reason, r.byte);
	if (l->rejects < REJECTS_LOGGED) {
		progress_end(&l->progress);
		log_warning("produce: PRODUCE-REJECT file=%s line=%" PRIu64 " byte=%" PRIu64 ": %s",
		    r.file, r.line, r.byte, r.reason);
	}
	l->rejects++;
	l->progress.rejects++;
	rejects_add(&l->reasons, r.reason);
	return writer_put_reject(l->publish, &r, f);
}

/* Packs the oldest text job if it is done. *any: there was one. */
static enum fail_code
take_texts(struct lane *l, bool *any, struct failure *f)
{
	void *job;
	enum fail_code code = pool_take(l->pool, POOL_TEXTS, false, &job, f);
	struct text_job *j = job;

	*any = j != NULL;
	for (size_t i = 0; code == FAIL_NONE && j != NULL && i < j->chunk->n; i++) {
		const struct worker_document *d = &j->document[i];

		l->last_file = j->chunk->file;
		l->last_line = j->chunk->record[d->record].line;
		switch (d->verdict) {
		case WORKER_DOCUMENT: code = add_document(l, j, d, f); break;
		case WORKER_UNMATCHED: l->unmatched++; break;
		case WORKER_REJECT: code = reject(l, j, d, f); break;
		}
	}
	if (j != NULL) {
		l->progress.bytes += j->chunk->input_bytes;
		l->text_bytes -= j->bytes;
	}
	text_job_close(j);
	return code;
}

/* ---- the loop ---- */

static bool
has_room(const struct lane *l)
{
	size_t most = (size_t)l->o->workers * TEXT_WORKER_BYTES;

	return !pool_full(l->pool, POOL_TEXTS) &&
	       l->text_bytes < (most > TEXT_BYTES_MIN ? most : TEXT_BYTES_MIN);
}

/* Reads a chunk if there is room for it. *over: the input has no more. */
static enum fail_code
read_chunk(struct lane *l, bool *any, bool *over, struct failure *f)
{
	bool idle = pool_empty(l->pool, POOL_TEXTS) && pool_empty(l->pool, POOL_FRAMES);
	struct chunk *chunk;
	struct text_job *job;
	enum fail_code code;

	*any = false;
	if (*over || !has_room(l))
		return FAIL_NONE;
	code = input_next_within(l->input, idle ? LANE_WAIT_MS : 0, &chunk, f);
	if (code == FAIL_TIMEOUT)
		return FAIL_NONE;
	if (code != FAIL_NONE)
		return code;
	*over = chunk == NULL;
	if (*over)
		return FAIL_NONE;
	job = text_job_open(&l->context, chunk);
	if (job == NULL)
		return fail_memory(f);
	l->text_bytes += job->bytes;
	pool_submit(l->pool, POOL_TEXTS, job, text_job_run);
	*any = true;
	return FAIL_NONE;
}

static enum fail_code
run_input(struct lane *l, struct failure *f)
{
	bool over = false, read, packed, published;

	while (!over || !pool_empty(l->pool, POOL_TEXTS)) {
		if (stop_asked(l->o->stop))
			return fail(f, FAIL_STOPPED, "stopped");
		if (read_chunk(l, &read, &over, f) != FAIL_NONE ||
		    take_texts(l, &packed, f) != FAIL_NONE ||
		    lane_output_take(l, false, &published, f) != FAIL_NONE ||
		    writer_poll(l->publish, f) != FAIL_NONE)
			return f->code;
		progress_show(&l->progress);
		if (read || packed || published)
			continue;
		/* With both lines empty, read_chunk() has waited for the input in vain. */
		if (!pool_empty(l->pool, POOL_TEXTS) || !pool_empty(l->pool, POOL_FRAMES))
			pool_wait(l->pool, LANE_WAIT_MS);
		else if (lane_output_submit(l, f) != FAIL_NONE)
			return f->code;
	}
	if (lane_output_finish(l, f) != FAIL_NONE || lane_output_submit(l, f) != FAIL_NONE)
		return f->code;
	while (!pool_empty(l->pool, POOL_FRAMES))
		if (lane_output_take(l, true, &published, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* What the user should know about what was left out. */
static void
say_left_out(const struct lane *l)
{
	char reasons[REJECTS_TEXT_BYTES], since[64] = "";

	if (l->unmatched > 0)
		log_warning("produce: PRODUCE-UNMATCHED %s: %" PRIu64
			    " records belong to no domain by `where` and were left out",
		    l->label, l->unmatched);
	if (l->rejects == 0)
		return;
	rejects_format(&l->reasons, reasons);
	if (l->reasons.total < l->rejects)
		snprintf(since, sizeof(since), "%" PRIu64 " since the last resume%s",
		    l->reasons.total, l->reasons.total > 0 ? ": " : "");
	log_warning("produce: PRODUCE-REJECTS %s: %" PRIu64
		    " records were rejected (%s%s); they are in %s.rejects with file, line and "
		    "reason",
	    l->label, l->rejects, since, reasons, l->config->corpus);
}

/* ---- from start to end ---- */

static void
end_stopped(struct lane *l)
{
	struct failure late;

	if (writer_flush(l->publish, LANE_FLUSH_MS, &late) != FAIL_NONE)
		log_warning("produce: %s", late.text);
	log_info("produce: %s stopped after %" PRIu64 " documents, at %s line %" PRIu64
		 "; run it again to go on from the last record",
	    l->o->label, l->progress.documents, l->last_file == NULL ? "the start" : l->last_file,
	    l->last_line);
}

static enum fail_code
run(struct lane *l, struct failure *f)
{
	struct input_position from;
	bool from_start, needed;
	enum fail_code code;

	if (lane_open_ask(l, f) != FAIL_NONE)
		return f->code;
	resume_start(l->resume, l->streams_n, &from, &from_start, &needed);
	if (!needed) {
		log_info("produce: %s is complete: nothing to do%s", l->o->label,
		    l->o->follow ? " (it is sealed; --append goes on behind its End)" : "");
		return FAIL_NONE;
	}
	if (lane_open(l, &from, from_start, f) != FAIL_NONE)
		return f->code;
	code = run_input(l, f);
	if (code == FAIL_NONE)
		code = lane_output_end(l, f);
	progress_end(&l->progress);
	if (code == FAIL_NONE)
		say_left_out(l);
	if (code == FAIL_STOPPED)
		end_stopped(l);
	if (code == FAIL_NONE && l->o->append && l->progress.documents == 0)
		log_info("produce: %s has nothing new: its End stays", l->o->label);
	*l->o->mismatch = code == FAIL_DATA && !from_start && l->progress.documents == 0;
	return code;
}

enum fail_code
lane_run(const struct lane_options *o, struct failure *f)
{
	struct lane l = {.o = o, .config = o->config};
	enum fail_code code;

	l.streams_n = o->domains_n * SETS_COUNT;
	l.stream = calloc(l.streams_n, sizeof(*l.stream));
	l.resume = calloc(l.streams_n, sizeof(*l.resume));
	l.split = calloc(o->domains_n, sizeof(*l.split));
	l.reject_long = calloc(o->domains_n, sizeof(*l.reject_long));
	if (l.stream == NULL || l.resume == NULL || l.split == NULL || l.reject_long == NULL) {
		free(l.stream);
		free(l.resume);
		free(l.split);
		free(l.reject_long);
		return fail_memory(f);
	}
	code = run(&l, f);
	lane_open_close(&l);
	return code;
}
