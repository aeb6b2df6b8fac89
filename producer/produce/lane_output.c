#include "producer/produce/lane_output.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/base/log.h"

/* What a record is likely to take beside its frame: a guess that saves growing. */
enum { SPAN_BYTES = 24, RECORD_BYTES = 512 };

/* Tokens in jobs that are not full, of all streams: 64 MiB. With many streams they add up. */
enum { FILLING_TOKENS_MAX = 16 << 20 };

/* Gives *bytes (free). */
static enum fail_code
encode_sequence(const struct lane *l, const struct lane_stream *s, const struct frame_item *item,
    uint8_t **bytes, size_t *n, struct failure *f)
{
	const struct pack_sequence *q = item->sequence;
	struct sequence_position position = {
	    .document = q->place.document,
	    .file = {q->place.file, strlen(q->place.file)},
	    .byte = q->place.byte,
	    .line = q->place.line,
	    .offset = q->offset,
	    .documents = q->place.documents,
	    .rejects = q->place.rejects,
	    .record_bytes = s->record_bytes,
	    .record_bytes_max = s->record_bytes_max,
	    .tokens = s->tokens,
	    .dropped = s->dropped,
	    .sealed = s->sealed,
	    .packing = s->packing,
	    .window = q->window,
	};
	struct payload payload = {
	    .count = l->config->sequence_length + 1,
	    .width = l->context.width,
	    .used = q->used,
	    .frame_hash = item->hash,
	    .sources = q->source,
	    .sources_n = q->sources_n,
	    .spans = q->span,
	    .spans_n = q->spans_n,
	    .no_loss = q->no_loss,
	    .no_loss_n = q->no_loss_n,
	    .frame = item->frame,
	    .frame_n = item->frame_n,
	};
	struct wire_writer w = {0};

	wire_reserve(&w, item->frame_n + q->spans_n * SPAN_BYTES + RECORD_BYTES);
	if (sequence_encode(&w, s->sequences, tokenizer_fingerprint(l->o->tokenizer), &position,
		&payload, f) != FAIL_NONE ||
	    wire_writer_take(&w, bytes, n, f) != FAIL_NONE) {
		wire_writer_close(&w);
		return f->code;
	}
	return FAIL_NONE;
}

/* The rejects that the record counts must be in the log before it: no resume repeats them. */
static enum fail_code
settle_rejects(struct lane *l, uint64_t rejects, struct failure *f)
{
	if (rejects <= l->rejects_settled)
		return FAIL_NONE;
	if (writer_settle_rejects(l->publish, f) != FAIL_NONE)
		return f->code;
	l->rejects_settled = l->rejects;
	return FAIL_NONE;
}

static enum fail_code
publish_sequence(
    struct lane *l, struct lane_stream *s, const struct frame_item *item, struct failure *f)
{
	uint8_t *bytes;
	size_t n;

	s->tokens += item->sequence->used - s->shares;
	s->dropped += item->sequence->dropped;
	s->shares = s->packing == SEQUENCE_CONCAT;
	if (settle_rejects(l, item->sequence->place.rejects, f) != FAIL_NONE ||
	    encode_sequence(l, s, item, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	s->sequences++;
	s->record_bytes += n;
	s->record_bytes_max = n > s->record_bytes_max ? n : s->record_bytes_max;
	l->progress.sequences++;
	l->progress.tokens += item->sequence->used - s->shares;
	fault_point("produce.before_publish");
	if (writer_put(s->writer, bytes, n, f) != FAIL_NONE)
		return f->code;
	fault_point("produce.after_publish");
	return FAIL_NONE;
}

enum fail_code
lane_output_take(struct lane *l, bool wait, bool *any, struct failure *f)
{
	void *job;
	enum fail_code code = pool_take(l->pool, POOL_FRAMES, wait, &job, f);
	struct frame_job *j = job;

	*any = j != NULL;
	for (size_t i = 0; code == FAIL_NONE && j != NULL && i < j->n; i++)
		code = publish_sequence(l, j->stream, &j->item[i], f);
	frame_job_close(j);
	return code;
}

static enum fail_code
submit_frames(struct lane *l, struct lane_stream *s, struct failure *f)
{
	bool any;

	while (pool_full(l->pool, POOL_FRAMES))
		if (lane_output_take(l, true, &any, f) != FAIL_NONE)
			return f->code;
	l->filling_tokens -= s->filling->n * (l->context.sequence_length + 1);
	pool_submit(l->pool, POOL_FRAMES, s->filling, frame_job_run);
	s->filling = NULL;
	return FAIL_NONE;
}

/*
 * Leaves out a sequence of a window that is packed again: the log has it. The last one of these
 * must be the last one there, with the same tokens of the same documents.
 */
static enum fail_code
skip_sequence(struct lane *l, struct lane_stream *s, struct pack_sequence *q, struct failure *f)
{
	const struct resume *r = &l->resume[s - l->stream];
	bool same = q->window == r->window - s->skip + 1;

	if (same && --s->skip == 0)
		same = resume_is_last(
		    r, q->token, l->context.sequence_length + 1, q->span, q->spans_n);
	pack_sequence_close(q);
	if (same)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s: packing the documents from document %" PRIu64
	    " of %s again does not give the %" PRIu64
	    " sequences that are there: they have changed since. Put the data back, or produce "
	    "them under another corpus name",
	    s->topic, r->document, r->file, r->window);
}

/* Takes `q`. */
static enum fail_code
add_to_job(struct lane *l, struct lane_stream *s, struct pack_sequence *q, struct failure *f)
{
	if (s->filling == NULL)
		s->filling = frame_job_open(&l->context, s);
	if (s->filling == NULL) {
		pack_sequence_close(q);
		return fail_memory(f);
	}
	s->filling->item[s->filling->n++].sequence = q;
	l->filling_tokens += l->context.sequence_length + 1;
	if (frame_job_full(s->filling) && submit_frames(l, s, f) != FAIL_NONE)
		return f->code;
	return l->filling_tokens > FILLING_TOKENS_MAX ? lane_output_submit(l, f) : FAIL_NONE;
}

enum fail_code
lane_output_cut(struct lane *l, struct lane_stream *s, struct failure *f)
{
	for (;;) {
		struct pack_sequence *q;
		bool there;

		if (pack_next(s->pack, &q, &there, f) != FAIL_NONE)
			return f->code;
		if (!there)
			return FAIL_NONE;
		if ((s->skip > 0 ? skip_sequence : add_to_job)(l, s, q, f) != FAIL_NONE)
			return f->code;
	}
}

/* A live domain's partitions stay open. */
static bool
gets_end(const struct lane *l, const struct lane_stream *s)
{
	size_t domain = (size_t)(s - l->stream) / SETS_COUNT;

	return s->open && (l->o->seal || !l->config->domains[l->o->domain[domain]].live);
}

enum fail_code
lane_output_finish(struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++) {
		struct lane_stream *s = &l->stream[i];

		if (!gets_end(l, s))
			continue;
		pack_finish(s->pack);
		if (lane_output_cut(l, s, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
lane_output_submit(struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++)
		if (l->stream[i].filling != NULL && submit_frames(l, &l->stream[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Waits until all is delivered. That nothing is, for WRITER_SILENT_MS, is a failure. */
static enum fail_code
deliver(struct lane *l, struct failure *f)
{
	enum fail_code code;

	do {
		if (stop_asked(l->o->stop))
			return fail(f, FAIL_STOPPED, "stopped");
		code = writer_flush(l->publish, LANE_WAIT_MS, f);
		progress_show(&l->progress);
	} while (code == FAIL_TIMEOUT);
	return code;
}

/* Whether an End would say what the End before it says: nothing has come to be appended. */
static bool
is_as_before(const struct resume *r, const struct end_record *end)
{
	return r->state == RESUME_APPEND && r->sequences == end->sequences &&
	       r->documents == end->documents && r->document == end->input.records &&
	       r->files == end->input.files && r->names == end->input.names &&
	       r->byte == end->input.byte;
}

static enum fail_code
publish_end(struct lane *l, struct lane_stream *s, struct failure *f)
{
	const struct input_end *input = input_end(l->input);
	struct end_record end = {
	    .sequences = s->sequences,
	    .tokens = s->tokens,
	    .dropped = s->dropped + pack_left(s->pack, s->shares),
	    .documents = s->documents,
	    .rejects = l->rejects,
	    .sequence_length = l->config->sequence_length,
	    .tokenizer = tokenizer_fingerprint(l->o->tokenizer),
	    .record_bytes = s->record_bytes,
	    .record_bytes_max = s->record_bytes_max,
	    .packing = s->packing,
	    .input = {.records = input->records,
		.files = input->files,
		.names = input->names,
		.file = {input->file, strlen(input->file)},
		.byte = input->byte,
		.line = input->line},
	};
	struct wire_writer w = {0};
	uint8_t *bytes;
	size_t n;

	if (is_as_before(&l->resume[s - l->stream], &end))
		return FAIL_NONE;
	if (end_encode(&w, &end, f) != FAIL_NONE ||
	    wire_writer_take(&w, &bytes, &n, f) != FAIL_NONE) {
		wire_writer_close(&w);
		return f->code;
	}
	log_info("produce: topic=%s partition=%" PRIu32 " sequences=%" PRIu64 " tokens=%" PRIu64
		 " documents=%" PRIu64 " dropped_tokens=%" PRIu64 " rejects=%" PRIu64,
	    s->topic, l->o->lane, end.sequences, end.tokens, end.documents, end.dropped,
	    end.rejects);
	return writer_put(s->writer, bytes, n, f);
}

static enum fail_code
publish_ends(struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++) {
		struct lane_stream *s = &l->stream[i];
		enum fail_code code = FAIL_NONE;

		if (s->open && !gets_end(l, s))
			log_info("produce: topic=%s partition=%" PRIu32 " sequences=%" PRIu64
				 " live: no End, a later run goes on here",
			    s->topic, l->o->lane, s->sequences);
		else if (s->open)
			code = publish_end(l, s, f);
		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

/* No partition is closed where the data of one have changed. */
static enum fail_code
check_none_behind(const struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++)
		if (l->stream[i].open && (l->stream[i].behind || l->stream[i].skip > 0))
			return fail(f, FAIL_DATA,
			    "topic %s: the input ends before document %" PRIu64
			    ", where its last sequence ended: it has changed since. Put the data "
			    "back, or produce them under another corpus name",
			    l->stream[i].topic, l->resume[i].document);
	return FAIL_NONE;
}

enum fail_code
lane_output_end(struct lane *l, struct failure *f)
{
	/* An End is a promise about what stands before it: that is delivered first. */
	if (check_none_behind(l, f) != FAIL_NONE || deliver(l, f) != FAIL_NONE)
		return f->code;
	progress_end(&l->progress);
	fault_point("produce.before_end");
	if (publish_ends(l, f) != FAIL_NONE || deliver(l, f) != FAIL_NONE)
		return f->code;
	fault_point("produce.after_end");
	return FAIL_NONE;
}
