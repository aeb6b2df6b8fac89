#include "producer/lane.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/frame.h"
#include "common/kafka.h"
#include "common/log.h"
#include "producer/lane_output.h"

enum { REJECTS_LOGGED = 5 /* the first few are said one by one */ };

/* ---- documents to streams ---- */

static enum fail_code
add_document(
    struct lane *l, const struct text_job *j, const struct worker_document *d, struct failure *f)
{
	size_t at = d->domain * SETS_COUNT + d->set;
	struct lane_stream *s = &l->stream[at];
	const struct resume *r = &l->resume[at];
	const struct input_record *record = &j->chunk->record[d->record];
	struct pack_place place = {
	    .document = record->document,
	    .file = j->chunk->file,
	    .byte = record->byte,
	    .line = record->line,
	    .rejects = l->rejects,
	};
	size_t first = 0;

	if (!s->open || (s->behind && record->document < r->document))
		return FAIL_NONE;
	if (s->behind &&
	    (record->document > r->document || !resume_fits(r, j->tokens.id + d->first, d->n)))
		return fail(f, FAIL_DATA,
		    "topic %s: the last sequence ended in document %" PRIu64
		    " of %s at token %" PRIu64
		    ", which the input does not have there any more: it has changed since. Put the "
		    "data back, or produce them under another corpus name",
		    s->topic, r->document, r->file, r->offset);
	if (s->behind) {
		s->behind = false;
		first = r->offset;
	} else {
		s->documents++;
	}
	place.documents = s->documents;
	l->progress.documents++;
	if (pack_add(s->pack, &place, j->tokens.id + d->first, d->n, first, f) != FAIL_NONE)
		return f->code;
	return lane_output_cut(l, s, f);
}

static enum fail_code
reject(struct lane *l, const struct text_job *j, const struct worker_document *d, struct failure *f)
{
	const struct input_record *record = &j->chunk->record[d->record];
	struct publish_reject r = {
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
	return publish_put_reject(l->publish, &r, f);
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

		switch (d->verdict) {
		case WORKER_DOCUMENT: code = add_document(l, j, d, f); break;
		case WORKER_UNMATCHED: l->unmatched++; break;
		case WORKER_REJECT: code = reject(l, j, d, f); break;
		}
	}
	if (j != NULL)
		l->progress.bytes += j->chunk->input_bytes;
	text_job_close(j);
	return code;
}

/* ---- the loop ---- */

/* Reads a chunk if there is room for it. *over: the input has no more. */
static enum fail_code
read_chunk(struct lane *l, bool *any, bool *over, struct failure *f)
{
	bool idle = pool_empty(l->pool, POOL_TEXTS) && pool_empty(l->pool, POOL_FRAMES);
	struct input_chunk *chunk;
	struct text_job *job;
	enum fail_code code;

	*any = false;
	if (*over || pool_full(l->pool, POOL_TEXTS))
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
	pool_submit(l->pool, POOL_TEXTS, job, text_job_run);
	*any = true;
	return FAIL_NONE;
}

static enum fail_code
run_input(struct lane *l, struct failure *f)
{
	bool over = false, read, packed, published;

	while (!over || !pool_empty(l->pool, POOL_TEXTS)) {
		if (*l->o->stop)
			return fail(f, FAIL_STOPPED, "stopped");
		if (read_chunk(l, &read, &over, f) != FAIL_NONE ||
		    take_texts(l, &packed, f) != FAIL_NONE ||
		    lane_output_take(l, false, &published, f) != FAIL_NONE ||
		    publish_poll(l->publish, f) != FAIL_NONE)
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
	if (lane_output_submit(l, f) != FAIL_NONE)
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
	if (l->unmatched > 0)
		log_warning("produce: PRODUCE-UNMATCHED %s: %" PRIu64
			    " records belong to no domain by `where` and were left out",
		    l->label, l->unmatched);
	if (l->rejects > 0)
		log_warning(
		    "produce: PRODUCE-REJECTS %s: %" PRIu64
		    " records were rejected; they are in %s.rejects with file, line and reason",
		    l->label, l->rejects, l->config->corpus);
}

/* ---- opening and closing ---- */

/* Whether this input feeds the set: topics.h says which sets have a topic at all. */
static bool
set_is_ours(const struct lane *l, const struct config_domain *d, enum names_set set)
{
	if (l->o->held_out)
		return set == SET_VALID;
	return topics_has_set(l->config, d, set) && (set != SET_VALID || d->valid.n == 0);
}

static enum fail_code
ask_streams(struct lane *l, struct failure *f)
{
	struct resume_expected expected = {
	    tokenizer_fingerprint(l->o->tokenizer), l->config->sequence_length};

	for (size_t i = 0; i < l->streams_n; i++) {
		const struct config_domain *d = &l->config->domains[l->o->domain[i / SETS_COUNT]];
		enum names_set set = (enum names_set)(i % SETS_COUNT);
		struct lane_stream *s = &l->stream[i];

		l->resume[i].state = RESUME_ENDED; /* what is not ours needs nothing */
		if (!l->o->wanted[i / SETS_COUNT] || !set_is_ours(l, d, set))
			continue;
		names_domain_topic(s->topic, l->config->corpus, d->name, set);
		if (resume_ask(&l->resume[i], l->o->reader, s->topic, (int32_t)l->o->lane,
			&expected, f) != FAIL_NONE)
			return f->code;
		s->open = l->resume[i].state != RESUME_ENDED;
		s->behind = l->resume[i].state == RESUME_PARTIAL;
		s->sequences = l->resume[i].sequences;
		s->documents = l->resume[i].documents;
		s->record_bytes = l->resume[i].record_bytes;
		s->record_bytes_max = l->resume[i].record_bytes_max;
	}
	return FAIL_NONE;
}

static enum fail_code
open_streams(struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++) {
		struct lane_stream *s = &l->stream[i];

		if (!s->open)
			continue;
		if (pack_open(&s->pack, l->config->sequence_length, f) != FAIL_NONE ||
		    publish_writer_open(&s->writer, l->publish, s->topic, (int32_t)l->o->lane,
			l->resume[i].offset_next, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static enum fail_code
open_input(struct lane *l, const struct input_position *from, bool from_start, struct failure *f)
{
	const struct config_domain *d = &l->config->domains[l->o->domain[0]];
	char *folder = NULL;
	struct input_options o = {
	    .patterns = l->o->held_out ? &d->valid : &d->train,
	    .exec = l->o->held_out ? NULL : d->exec,
	    .lane = l->o->lane,
	    .lanes = l->o->lanes,
	    .max_document_bytes = l->config->max_document_bytes,
	};
	enum fail_code code;

	if (config_resolve(&folder, l->config, ".", f) != FAIL_NONE)
		return f->code;
	o.folder = folder;
	code = input_open(&l->input, &o, from_start ? NULL : from, f);
	free(folder);
	return code;
}

static enum fail_code
open_workers(struct lane *l, struct failure *f)
{
	const struct config_domain *domain[CONFIG_DOMAINS_MAX];
	struct pool_memory memory = worker_memory(&l->context);
	size_t depth = 2 * (size_t)l->o->workers + 2;

	for (size_t i = 0; i < l->o->domains_n; i++) {
		domain[i] = &l->config->domains[l->o->domain[i]];
		if (l->o->held_out)
			l->split[i][SET_VALID] = 1;
		else if (domain[i]->valid.n > 0)
			l->split[i][SET_TRAIN] = 1;
		else
			memcpy(l->split[i], l->config->split, sizeof(l->split[i]));
	}
	if (router_open(&l->router, domain, l->o->domains_n, l->config->utf8, f) != FAIL_NONE)
		return f->code;
	l->context.tokenizer = l->o->tokenizer;
	l->context.router = l->router;
	l->context.width = frame_width(tokenizer_entries(l->o->tokenizer));
	l->context.sequence_length = l->config->sequence_length;
	l->context.split = (const uint32_t(*)[SETS_COUNT])l->split;
	return pool_open(
	    &l->pool, l->o->workers, depth < POOL_LINE_MAX ? depth : POOL_LINE_MAX, &memory, f);
}

static void
name_domains(struct lane *l)
{
	for (size_t i = 0; i < l->o->domains_n; i++) {
		size_t used = strlen(l->label);

		snprintf(l->label + used, sizeof(l->label) - used, "%s%s", i == 0 ? "" : ",",
		    l->config->domains[l->o->domain[i]].name);
	}
}

static enum fail_code
open_lane(struct lane *l, const struct input_position *from, bool from_start, struct failure *f)
{
	char rejects[TOPIC_MAX_BYTES + 1];

	names_topic(rejects, l->config->corpus, "rejects");
	l->rejects = l->rejects_settled = from_start ? 0 : from->rejects;
	if (publish_open(&l->publish, &l->config->kafka, topics_sequence_bytes(l->config, 3),
		rejects, l->o->stop, f) != FAIL_NONE ||
	    open_streams(l, f) != FAIL_NONE || open_workers(l, f) != FAIL_NONE)
		return f->code;
	if (!from_start)
		log_info("produce: %s goes on at document=%" PRIu64 " file=%s byte=%" PRIu64,
		    l->o->label, from->document, from->file, from->byte);
	if (open_input(l, from, from_start, f) != FAIL_NONE)
		return f->code;
	progress_begin(
	    &l->progress, l->o->label, input_bytes_total(l->input), input_bytes_skipped(l->input));
	return FAIL_NONE;
}

static void
close_lane(struct lane *l)
{
	pool_close(l->pool, worker_drop);
	for (size_t i = 0; i < l->streams_n; i++) {
		frame_job_close(l->stream[i].filling);
		pack_close(l->stream[i].pack);
		resume_close(&l->resume[i]);
	}
	input_close(l->input);
	router_close(l->router);
	publish_close(l->publish);
	free(l->stream);
	free(l->resume);
	free(l->split);
}

static void
end_stopped(struct lane *l)
{
	struct failure late;

	if (publish_flush(l->publish, LANE_FLUSH_MS, &late) != FAIL_NONE)
		log_warning("produce: %s", late.text);
	log_info("produce: %s stopped after %" PRIu64
		 " documents; run it again to go on from the last record",
	    l->o->label, l->progress.documents);
}

static enum fail_code
run(struct lane *l, struct failure *f)
{
	struct input_position from;
	bool from_start, needed;
	enum fail_code code;

	if (ask_streams(l, f) != FAIL_NONE)
		return f->code;
	resume_start(l->resume, l->streams_n, &from, &from_start, &needed);
	if (!needed) {
		log_info("produce: %s is complete: nothing to do", l->o->label);
		return FAIL_NONE;
	}
	if (open_lane(l, &from, from_start, f) != FAIL_NONE)
		return f->code;
	code = run_input(l, f);
	if (code == FAIL_NONE)
		code = lane_output_end(l, f);
	progress_end(&l->progress);
	if (code == FAIL_NONE)
		say_left_out(l);
	if (code == FAIL_STOPPED)
		end_stopped(l);
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
	name_domains(&l);
	if (l.stream == NULL || l.resume == NULL || l.split == NULL) {
		free(l.stream);
		free(l.resume);
		free(l.split);
		return fail_memory(f);
	}
	code = run(&l, f);
	close_lane(&l);
	return code;
}
