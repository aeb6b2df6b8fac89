#include "producer/produce/lane_open.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/config/topic_plan.h"
#include "common/record/frame.h"
#include "common/base/log.h"
#include "producer/produce/lane_live.h"

/* Whether this input feeds the set: topic_plan.h says which sets have a topic at all. */
static bool
set_is_ours(const struct lane *l, const struct config_domain *d, enum names_set set)
{
	if (l->o->held_out)
		return set == SET_VALID;
	return topic_plan_has_set(l->config, d, set) && (set != SET_VALID || d->valid.n == 0);
}

enum fail_code
lane_open_ask(struct lane *l, struct failure *f)
{
	struct resume_expected expected = {.tokenizer = tokenizer_fingerprint(l->o->tokenizer),
	    .sequence_length = l->config->sequence_length};

	for (size_t i = 0; i < l->streams_n; i++) {
		const struct config_domain *d = &l->config->domains[l->o->domain[i / SETS_COUNT]];
		enum names_set set = (enum names_set)(i % SETS_COUNT);
		struct lane_stream *s = &l->stream[i];

		l->resume[i].state = RESUME_ENDED; /* what is not ours needs nothing */
		if (!l->o->wanted[i / SETS_COUNT] || !set_is_ours(l, d, set))
			continue;
		s->packing = d->packing;
		s->truncate = d->packing == SEQUENCE_NONE && d->over_long == CONFIG_LONG_TRUNCATE;
		expected.packing = s->packing;
		names_domain_topic(s->topic, l->config->corpus, d->name, set);
		if (resume_ask(&l->resume[i], l->o->reader, s->topic, (int32_t)l->o->lane,
			&expected, f) != FAIL_NONE)
			return f->code;
		if (l->o->append)
			resume_append(&l->resume[i]);
		s->open = l->resume[i].state != RESUME_ENDED;
		s->behind = l->resume[i].state == RESUME_PARTIAL;
		s->shares = s->behind && s->packing == SEQUENCE_CONCAT;
		s->sequences = l->resume[i].sequences;
		s->documents = l->resume[i].documents;
		s->first_document = l->resume[i].document;
		s->record_bytes = l->resume[i].record_bytes;
		s->record_bytes_max = l->resume[i].record_bytes_max;
		s->tokens = l->resume[i].tokens;
		s->dropped = l->resume[i].dropped;
		s->sealed = l->resume[i].sealed;
	}
	return FAIL_NONE;
}

static enum fail_code
open_streams(struct lane *l, struct failure *f)
{
	for (size_t i = 0; i < l->streams_n; i++) {
		struct lane_stream *s = &l->stream[i];
		struct pack_options o = {.packing = s->packing,
		    .truncate = s->truncate,
		    .sequence_length = l->config->sequence_length,
		    .eos = tokenizer_eos(l->o->tokenizer)};

		if (!s->open)
			continue;
		if (pack_open(&s->pack, &o, f) != FAIL_NONE ||
		    writer_partition_open(&s->writer, l->publish, s->topic, (int32_t)l->o->lane,
			l->resume[i].offset_next, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Which ids the vocabulary has, for an input that is tokens. */
static enum fail_code
know_ids(struct lane *l, struct failure *f)
{
	uint32_t entries = tokenizer_entries(l->o->tokenizer);
	size_t n;

	l->known = calloc(entries, sizeof(*l->known));
	if (l->known == NULL)
		return fail_memory(f);
	for (uint32_t id = 0; id < entries; id++)
		l->known[id] = tokenizer_bytes(l->o->tokenizer, id, &n) != NULL;
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
	    .partition = l->o->lane,
	    .partitions = l->o->lanes,
	    .max_document_bytes = l->config->max_document_bytes,
	};
	struct input_live_options live;
	struct input_token_options tokens;
	enum fail_code code;

	if (d->tokens != TOKEN_FORMAT_NONE) {
		if (know_ids(l, f) != FAIL_NONE)
			return f->code;
		tokens = (struct input_token_options){.format = d->tokens,
		    .token_bytes = 2 * (unsigned)d->token_bytes,
		    .eos = tokenizer_eos(l->o->tokenizer),
		    .known = l->known,
		    .entries = tokenizer_entries(l->o->tokenizer)};
		o.tokens = &tokens;
	}

	if (config_resolve(&folder, l->config, ".", f) != FAIL_NONE)
		return f->code;
	o.folder = folder;
	code = lane_live_open(l, &o, &live, f);
	if (code == FAIL_NONE)
		code = input_open(&l->input, &o, from_start ? NULL : from, f);
	free(folder);
	return code;
}

static enum fail_code
open_workers(struct lane *l, struct failure *f)
{
	const struct config_domain *domain[LIMIT_DOMAINS];
	struct pool_memory memory = worker_memory(&l->context);

	for (size_t i = 0; i < l->o->domains_n; i++) {
		domain[i] = &l->config->domains[l->o->domain[i]];
		if (l->o->held_out)
			l->split[i][SET_VALID] = 1;
		else if (domain[i]->valid.n > 0)
			l->split[i][SET_TRAIN] = 1;
		else
			memcpy(l->split[i], l->config->split, sizeof(l->split[i]));
		l->reject_long[i] = domain[i]->packing == SEQUENCE_NONE &&
				    domain[i]->over_long == CONFIG_LONG_REJECT;
	}
	if (router_open(&l->router, domain, l->o->domains_n, l->config->utf8, f) != FAIL_NONE)
		return f->code;
	l->context.tokenizer = l->o->tokenizer;
	l->context.router = l->router;
	l->context.width = frame_width(tokenizer_entries(l->o->tokenizer));
	l->context.sequence_length = l->config->sequence_length;
	l->context.reject_long = l->reject_long;
	l->context.split = (const uint32_t(*)[SETS_COUNT])l->split;
	return pool_open(&l->pool, l->o->workers, 2 * (size_t)l->o->workers + 2, &memory, f);
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

enum fail_code
lane_open(struct lane *l, const struct input_position *from, bool from_start, struct failure *f)
{
	char rejects[TOPIC_MAX_BYTES + 1];

	name_domains(l);
	names_topic(rejects, l->config->corpus, "rejects");
	l->rejects = l->rejects_settled = from_start ? 0 : from->rejects;
	if (writer_open(&l->publish, &l->config->kafka, topic_plan_sequence_bytes(l->config, 3),
		rejects, l->o->stop, f) != FAIL_NONE ||
	    open_streams(l, f) != FAIL_NONE || open_workers(l, f) != FAIL_NONE)
		return f->code;
	if (!from_start)
		log_info("produce: %s goes on at document=%" PRIu64 " file=%s byte=%" PRIu64,
		    l->o->label, from->document, from->file == NULL ? "" : from->file, from->byte);
	if (open_input(l, from, from_start, f) != FAIL_NONE)
		return f->code;
	progress_begin(
	    &l->progress, l->o->label, input_bytes_total(l->input), input_bytes_skipped(l->input));
	if (l->o->follow) { /* several lanes share the terminal, and nothing ends */
		l->progress.terminal = false;
		l->progress.quiet = true;
	}
	return FAIL_NONE;
}

void
lane_open_close(struct lane *l)
{
	pool_close(l->pool, worker_drop);
	for (size_t i = 0; i < l->streams_n; i++) {
		frame_job_close(l->stream[i].filling);
		pack_close(l->stream[i].pack);
		resume_close(&l->resume[i]);
	}
	input_close(l->input);
	free(l->known);
	lane_live_close(l);
	router_close(l->router);
	writer_close(l->publish);
	free(l->stream);
	free(l->resume);
	free(l->split);
	free(l->reject_long);
}
