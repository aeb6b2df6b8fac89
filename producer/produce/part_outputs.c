#include "producer/produce/part_outputs.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/fault.h"
#include "common/base/log.h"
#include "common/config/recipe.h"
#include "common/config/topic_plan.h"
#include "producer/document/router.h"
#include "producer/produce/frame_job.h"

enum {
	PART_TOKENS = 64 * 1024, /* of a document that are packed before they are cut */
	/* What a record is likely to take beside its frame: a guess that saves growing. */
	SPAN_BYTES = 24,
	RECORD_BYTES = 512,
	/*
	 * Tokens in jobs that are not full, of all outputs: 64 MiB. With many outputs they add up.
	 */
	FILLING_TOKENS_MAX = 16 << 20,
};

struct part_output {
	char topic[TOPIC_MAX_BYTES + 1]; /* "": it is not ours */
	bool open;                       /* it has no End yet */
	bool behind;                     /* waits for the document that its last record ended in */
	struct writer_partition *writer;
	struct pack *pack;
	enum sequence_packing packing;
	bool skip_no_target; /* documents without a target are left out: the same in all sets */
	uint64_t left_out;   /* of these, those of this run */
	struct frame_job *filling; /* NULL: none; never full */
	bool shares;   /* its next sequence shares its first token with the one before */
	uint64_t skip; /* of the window that is packed again, sequences that are in the log */
	uint64_t sequences, documents;
	uint64_t first_document; /* those of the input before it are in the log, or dropped */
	uint64_t record_bytes, record_bytes_max;
	uint64_t tokens, dropped;
	int64_t sealed; /* its length by the last End; -1: none */
	char *recipe;   /* owned; see recipe.h */
	bool marked;    /* its first record of this run, if any, needs no recipe */
};

struct part_outputs {
	struct part_outputs_options o;
	struct part_outputs_workers workers;
	struct part_output *output; /* [n]: domains times sets; output i is of set i % SETS_COUNT */
	struct resume *resume;      /* [n] */
	size_t n;
	struct writer *writer;
	const struct input *input;
	uint64_t rejects; /* of the input so far, */
	uint64_t appended_from,
	    rejects_before;    /* records and rejects at the End that an append is behind */
	uint64_t reported;     /* records that this run has put into the topic of rejects, */
	uint64_t settled;      /* how many of these are certainly in the log */
	bool lacks_field;      /* a reject of this run lacks a field that its domain names */
	uint64_t left_out;     /* and documents without a target, of this run */
	size_t filling_tokens; /* of all outputs' `filling` */
};

/* Why documents are not where they were, and what to do; of the domain. */
#define CHANGED                                                                                    \
	": the input has changed since, or a file was added, removed, renamed or moved in front "  \
	"of it (`file_order` says in which order files are read). Put all back as it was, "        \
	"publish the domain under another corpus name, or, if no mix draws from it yet, again "    \
	"from its start (`riffle %s %s --restart`)%s"

/* By index in the configuration. */
static size_t
domain_of(const struct part_outputs *outs, const struct part_output *to)
{
	return outs->o.domain[(size_t)(to - outs->output) / SETS_COUNT];
}

const char *
part_outputs_command(const struct part_outputs *outs)
{
	const struct config *c = outs->o.config;

	return config_publisher(c, c->domains[outs->o.domain[0]].name);
}

static const char *
name_of(const struct part_outputs *outs, const struct part_output *to)
{
	return outs->o.config->domains[domain_of(outs, to)].name;
}

/* The command whose output is the input; NULL if files are. */
static const char *
set_exec(const struct part_outputs *outs)
{
	return config_set_exec(&outs->o.config->domains[outs->o.domain[0]], outs->o.set);
}

const char *
part_outputs_release(const struct part_outputs *outs)
{
	const char *exec = set_exec(outs);

	return exec == NULL || strstr(exec, "riffle-source") == NULL
		   ? ""
		   : ". riffle-source has changed since riffle 0.1: it leaves out files and "
		     "folders whose names begin with _ or ., unless its command names them";
}

/* ---- where each output stands ---- */

/* Whether this input feeds the set: topic_plan.h says which sets have a topic at all. */
static bool
set_is_ours(const struct part_outputs *outs, const struct config_domain *d, enum names_set set)
{
	if (outs->o.set != SET_TRAIN)
		return set == outs->o.set;
	return set == SET_TRAIN ||
	       (config_is_split(d) && topic_plan_has_set(outs->o.config, d, set));
}

/* Asks each partition for its last record. */
static enum fail_code
ask(struct part_outputs *outs, rd_kafka_t *reader, struct failure *f)
{
	const uint64_t tokenizer = tokenizer_fingerprint(outs->o.tokenizer);
	struct resume_expected expected = {.tokenizer = tokenizer,
	    .tokenizer_file = outs->o.config->tokenizer.file,
	    .sequence_length = outs->o.config->sequence_length,
	    .overlap_bytes = writer_overlap_bytes(&outs->o.config->kafka)};

	for (size_t i = 0; i < outs->n; i++) {
		const struct config_domain *d =
		    &outs->o.config->domains[outs->o.domain[i / SETS_COUNT]];
		enum names_set set = (enum names_set)(i % SETS_COUNT);
		struct part_output *to = &outs->output[i];
		struct resume *r = &outs->resume[i];

		r->state = RESUME_ENDED; /* what is not ours needs nothing */
		if (!outs->o.wanted[i / SETS_COUNT] || !set_is_ours(outs, d, set))
			continue;
		to->packing = d->packing;
		if (recipe_text(&to->recipe, outs->o.config, d, &tokenizer, f) != FAIL_NONE)
			return f->code;
		expected.domain = d->name;
		expected.recipe = to->recipe;
		expected.packing = to->packing;
		names_domain_topic(to->topic, outs->o.config->corpus, d->name, set);
		if (resume_ask(r, reader, to->topic, (int32_t)outs->o.partition, &expected, f) !=
		    FAIL_NONE)
			return f->code;
		if (outs->o.append)
			resume_append(r);
		if (r->state == RESUME_APPEND && r->document >= outs->appended_from) {
			outs->appended_from = r->document;
			outs->rejects_before = r->rejects;
		}
		to->open = r->state != RESUME_ENDED;
		to->behind = r->state == RESUME_PARTIAL;
		to->marked = to->behind;
		to->shares = to->behind && to->packing == SEQUENCE_CONCAT;
		to->sequences = r->sequences;
		to->documents = r->documents;
		to->first_document = r->document;
		to->record_bytes = r->record_bytes;
		to->record_bytes_max = r->record_bytes_max;
		to->tokens = r->tokens;
		to->dropped = r->dropped;
		to->sealed = r->sealed;
	}
	return FAIL_NONE;
}

/*
 * Decides whether a domain's documents without a target are left out. The rule is that of the sets
 * that have begun, or else that of the configuration. The recipes of the outputs get it.
 */
static enum fail_code
decide_no_target(struct part_outputs *outs, size_t domain, struct failure *f)
{
	const uint64_t tokenizer = tokenizer_fingerprint(outs->o.tokenizer);
	struct config_domain decided = outs->o.config->domains[outs->o.domain[domain]];
	struct part_output *to = &outs->output[domain * SETS_COUNT];
	enum config_no_target rule = decided.no_target;
	bool skip;

	for (size_t set = 0; set < SETS_COUNT; set++)
		if (outs->resume[domain * SETS_COUNT + set].no_target != CONFIG_NO_TARGET_AUTO)
			rule = outs->resume[domain * SETS_COUNT + set].no_target;
	skip = rule == CONFIG_NO_TARGET_AUTO ? !config_is_prompts(&decided)
					     : rule == CONFIG_NO_TARGET_SKIP;
	decided.no_target = skip ? CONFIG_NO_TARGET_SKIP : CONFIG_NO_TARGET_AUTO;
	for (size_t set = 0; set < SETS_COUNT; set++) {
		to[set].skip_no_target = skip;
		if (to[set].recipe == NULL)
			continue;
		free(to[set].recipe);
		to[set].recipe = NULL;
		if (recipe_text(&to[set].recipe, outs->o.config, &decided, &tokenizer, f) !=
		    FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

enum fail_code
part_outputs_open(struct part_outputs **out, const struct part_outputs_options *o,
    rd_kafka_t *reader, struct failure *f)
{
	struct part_outputs *outs = calloc(1, sizeof(*outs));

	assert(o->domains_n > 0);
	if (outs == NULL)
		return fail_memory(f);
	outs->o = *o;
	outs->n = o->domains_n * SETS_COUNT;
	outs->output = calloc(outs->n, sizeof(*outs->output));
	outs->resume = calloc(outs->n, sizeof(*outs->resume));
	if (outs->output == NULL || outs->resume == NULL) {
		fail_memory(f);
		goto failed;
	}
	if (ask(outs, reader, f) != FAIL_NONE)
		goto failed;
	for (size_t i = 0; i < o->domains_n; i++)
		if (decide_no_target(outs, i, f) != FAIL_NONE)
			goto failed;
	*out = outs;
	return FAIL_NONE;
failed:
	part_outputs_close(outs);
	return f->code;
}

void
part_outputs_close(struct part_outputs *outs)
{
	if (outs == NULL)
		return;
	for (size_t i = 0; outs->output != NULL && i < outs->n; i++) {
		frame_job_close(outs->output[i].filling);
		pack_close(outs->output[i].pack);
		free(outs->output[i].recipe);
	}
	for (size_t i = 0; outs->resume != NULL && i < outs->n; i++)
		resume_close(&outs->resume[i]);
	writer_close(outs->writer); /* the partitions, too */
	free(outs->output);
	free(outs->resume);
	free(outs);
}

const struct resume *
part_outputs_resume(const struct part_outputs *outs, size_t *n)
{
	*n = outs->n;
	return outs->resume;
}

bool
part_outputs_skip_no_target(const struct part_outputs *outs, size_t domain)
{
	assert((domain + 1) * SETS_COUNT <= outs->n);
	return outs->output[domain * SETS_COUNT].skip_no_target;
}

const char *
part_outputs_topic(const struct part_outputs *outs, size_t i)
{
	assert(i < outs->n);
	return outs->output[i].topic;
}

enum fail_code
part_outputs_start(struct part_outputs *outs, const struct part_outputs_workers *workers,
    uint64_t rejects, struct failure *f)
{
	const struct config *c = outs->o.config;
	char topic[TOPIC_MAX_BYTES + 1];

	assert(outs->writer == NULL);
	outs->workers = *workers;
	outs->rejects = rejects;
	names_topic(topic, c->corpus, "rejects");
	if (writer_open(&outs->writer, &c->kafka, topic_plan_sequence_bytes(c, 3), topic,
		outs->o.stop, measures_stats(outs->workers.measures), f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < outs->n; i++) {
		struct part_output *to = &outs->output[i];

		if (!to->open)
			continue;
		if (pack_open(&to->pack, &workers->context->domain[i / SETS_COUNT].pack, f) !=
			FAIL_NONE ||
		    writer_partition_open(&to->writer, outs->writer, to->topic,
			(int32_t)outs->o.partition, outs->resume[i].offset_next, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

void
part_outputs_read_from(struct part_outputs *outs, const struct input *input)
{
	outs->input = input;
}

/* ---- from frame jobs to records ---- */

/* Gives *bytes (free). */
static enum fail_code
encode_sequence(const struct part_outputs *outs, const struct part_output *to,
    const struct frame_job_item *item, uint8_t **bytes, size_t *n, struct failure *f)
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
	    .record_bytes = to->record_bytes,
	    .record_bytes_max = to->record_bytes_max,
	    .tokens = to->tokens,
	    .dropped = to->dropped,
	    .sealed = to->sealed,
	    .packing = to->packing,
	    .window = q->window,
	};
	struct sequence_payload payload = {
	    .count = outs->o.config->sequence_length + 1,
	    .width = outs->workers.context->width,
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
	if (sequence_encode(&w, to->sequences, tokenizer_fingerprint(outs->o.tokenizer), &position,
		&payload, f) != FAIL_NONE ||
	    wire_writer_take(&w, bytes, n, f) != FAIL_NONE) {
		wire_writer_close(&w);
		return f->code;
	}
	return FAIL_NONE;
}

/*
 * The rejects that a record counts must be in the log before it: a resume behind that record does
 * not read them again. Two topics have no order between them, so the writer waits.
 *
 *     without it: reject 7 is put, sequence 4 ("7 rejects so far") is put and delivered, the
 *     process is killed: reject 7 is lost, and nobody will ever see its record again
 *
 * The same holds for documents without a target, which no record counts: `reported` has both.
 */
static enum fail_code
settle_rejects(struct part_outputs *outs, uint64_t reported, struct failure *f)
{
	if (reported <= outs->settled)
		return FAIL_NONE;
	if (writer_settle_rejects(outs->writer, f) != FAIL_NONE)
		return f->code;
	outs->settled = outs->reported;
	return FAIL_NONE;
}

/*
 * The record says what came before it (sequences, bytes, tokens), so that the last record of a
 * partition is all that anybody needs to know where it is. `shares` leaves the token out that the
 * sequence before has counted already.
 */
static enum fail_code
publish_sequence(struct part_outputs *outs, struct part_output *to,
    const struct frame_job_item *item, struct failure *f)
{
	uint64_t tokens = item->sequence->used - to->shares, files, names;
	struct writer_header header[2];
	size_t headers_n = 0;
	char text[64];
	uint8_t *bytes;
	size_t n;

	to->tokens += tokens;
	to->dropped += item->sequence->dropped;
	to->shares = to->packing == SEQUENCE_CONCAT;
	if (settle_rejects(outs, item->sequence->place.reported, f) != FAIL_NONE ||
	    encode_sequence(outs, to, item, &bytes, &n, f) != FAIL_NONE)
		return f->code;
	to->sequences++;
	to->record_bytes += n;
	to->record_bytes_max = n > to->record_bytes_max ? n : to->record_bytes_max;
	outs->workers.progress->sequences++;
	outs->workers.progress->tokens += item->sequence->used - 1;
	measures_sequence(outs->workers.measures, domain_of(outs, to), item->sequence->used - 1, n);
	if (!to->marked)
		header[headers_n++] = (struct writer_header){RECIPE_HEADER, to->recipe};
	if (input_files_up_to(outs->input, item->sequence->place.file, &files, &names)) {
		snprintf(text, sizeof(text), "%" PRIu64 " %016" PRIx64, files, names);
		header[headers_n++] = (struct writer_header){RESUME_FILES_HEADER, text};
	}
	fault_point("produce.before_publish");
	if (writer_put(to->writer, bytes, n, header, headers_n, f) != FAIL_NONE)
		return f->code;
	to->marked = true;
	fault_point("produce.after_publish");
	return FAIL_NONE;
}

enum fail_code
part_outputs_take(struct part_outputs *outs, bool wait, bool *any, struct failure *f)
{
	void *job;
	enum fail_code code = pool_take(outs->workers.pool, POOL_FRAMES, wait, &job, f);
	struct frame_job *j = job;

	*any = j != NULL;
	for (size_t i = 0; code == FAIL_NONE && j != NULL && i < j->n; i++)
		code = publish_sequence(outs, j->output, &j->item[i], f);
	frame_job_close(j);
	return code;
}

/* ---- from documents to frame jobs ---- */

/*
 * Gives the job of an output to the workers. While their line is full, done jobs are taken back:
 * that is where the part waits if it is faster than the workers, or they than the broker.
 */
static enum fail_code
submit_frames(struct part_outputs *outs, struct part_output *to, struct failure *f)
{
	bool any;

	while (pool_full(outs->workers.pool, POOL_FRAMES))
		if (part_outputs_take(outs, true, &any, f) != FAIL_NONE)
			return f->code;
	outs->filling_tokens -= to->filling->n * (outs->workers.context->sequence_length + 1);
	pool_submit(outs->workers.pool, POOL_FRAMES, to->filling, frame_job_run);
	to->filling = NULL;
	return FAIL_NONE;
}

enum fail_code
part_outputs_submit(struct part_outputs *outs, struct failure *f)
{
	for (size_t i = 0; i < outs->n; i++)
		if (outs->output[i].filling != NULL &&
		    submit_frames(outs, &outs->output[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/*
 * Leaves out a sequence of a window that is packed again: the log has it. Takes `q`.
 *
 *     in the log     w1 w2 w3 |             r->window 3: the last record is the window's third
 *     packed again   w1 w2 w3 w4 w5         skip 3, 2, 1: w1 and w2 must have these numbers, and
 *                                           w3 must be the last record, token by token
 *
 * Packing depends on nothing but the documents, so that w1 and w2 are right where w3 is.
 */
static enum fail_code
skip_sequence(
    struct part_outputs *outs, struct part_output *to, struct pack_sequence *q, struct failure *f)
{
	const struct resume *r = &outs->resume[to - outs->output];
	bool same = q->window == r->window - to->skip + 1;

	if (same && --to->skip == 0)
		same = resume_is_last(
		    r, q->token, outs->workers.context->sequence_length + 1, q->span, q->spans_n);
	pack_sequence_close(q);
	if (same)
		return FAIL_NONE;
	return fail(f, FAIL_DATA,
	    "topic %s: packing the documents from document %" PRIu64
	    " of %s again does not give the %" PRIu64 " sequences that are there" CHANGED,
	    to->topic, r->document, r->file, r->window, part_outputs_command(outs),
	    name_of(outs, to), part_outputs_release(outs));
}

/*
 * Takes `q`. A job is handed in when it is full. With a thousand domains a thousand jobs may each
 * be almost full, for hours; so their tokens have a limit together, at which all are handed in.
 */
static enum fail_code
add_to_job(
    struct part_outputs *outs, struct part_output *to, struct pack_sequence *q, struct failure *f)
{
	assert(to->filling == NULL || !frame_job_full(to->filling));
	if (to->filling == NULL)
		to->filling = frame_job_open(outs->workers.context, to);
	if (to->filling == NULL) {
		pack_sequence_close(q);
		return fail_memory(f);
	}
	to->filling->item[to->filling->n++].sequence = q;
	outs->filling_tokens += outs->workers.context->sequence_length + 1;
	if (frame_job_full(to->filling) && submit_frames(outs, to, f) != FAIL_NONE)
		return f->code;
	return outs->filling_tokens > FILLING_TOKENS_MAX ? part_outputs_submit(outs, f) : FAIL_NONE;
}

/* Cuts the whole sequences out of the packer; publishes others where there is no room. */
static enum fail_code
cut(struct part_outputs *outs, struct part_output *to, struct failure *f)
{
	for (;;) {
		struct pack_sequence *q;
		bool there;

		if (pack_next(to->pack, &q, &there, f) != FAIL_NONE)
			return f->code;
		if (!there)
			return FAIL_NONE;
		if ((to->skip > 0 ? skip_sequence : add_to_job)(outs, to, q, f) != FAIL_NONE)
			return f->code;
	}
}

/*
 * Tokens [first, end) in parts, so that a packer stays small however long the documents are:
 * sequences are cut between two parts. A part is many sequences long, so that this costs nothing.
 */
static enum fail_code
pack_tokens(struct part_outputs *outs, struct part_output *to, const struct pack_document *d,
    const uint32_t *id, uint64_t first, uint64_t end, struct failure *f)
{
	while (first < end) {
		uint64_t part = end - first > PART_TOKENS ? first + PART_TOKENS : end;

		if (pack_add(to->pack, d, id, first, part, f) != FAIL_NONE ||
		    cut(outs, to, f) != FAIL_NONE)
			return f->code;
		first = part;
	}
	return FAIL_NONE;
}

/*
 * Whether the document can be the one that the last record of the output is about. An earlier one
 * was dropped already. The one asked about may be a later one: then the one of then is gone.
 */
static bool
is_where_it_ended(const struct part_output *to, const struct resume *r,
    const struct pack_document *d, const uint32_t *id)
{
	if (d->place.document > r->document)
		return false;
	/* The sequences that a window is left with are compared as they come out. */
	return to->packing == SEQUENCE_BEST_FIT || resume_fits(r, id, d->n, PACK_NO_LOSS);
}

/*
 * The token with which an output continues in the document of its last record, whose last token
 * was number r->offset:
 *
 *     concat      ... t5 t6 t7 |            offset 7: neighbours share a token, so with 7
 *     none        [t5 t6 t7 pad]            with 8, unless the document is over
 *     best fit    the window starts with this document: with 0, and the sequences come again
 */
static uint64_t
first_token(struct part_output *to, const struct resume *r)
{
	switch (to->packing) {
	case SEQUENCE_CONCAT: return r->offset; /* it is shared */
	case SEQUENCE_NONE: return r->offset + 1;
	case SEQUENCE_BEST_FIT: to->skip = r->window; return 0;
	}
	abort(); /* unreachable */
}

static enum fail_code
fail_window(const struct part_outputs *outs, const struct part_output *to, struct failure *f)
{
	return fail(f, FAIL_DATA,
	    "topic %s: packing best_fit cannot continue without files that its last documents are "
	    "of. Put them back, or publish the domain again from its start (`riffle %s %s "
	    "--restart`), or under another name",
	    to->topic, part_outputs_command(outs), name_of(outs, to));
}

enum fail_code
part_outputs_may_give_up(const struct part_outputs *outs, struct failure *f)
{
	for (size_t i = 0; i < outs->n; i++)
		if (outs->output[i].behind && outs->output[i].packing == SEQUENCE_BEST_FIT)
			return fail_window(outs, &outs->output[i], f);
	return FAIL_NONE;
}

/*
 * Packed with others, the document ends where the log has it, and gets its eos there: neighbours
 * share a token, so that its last one is known.
 *
 *     in the log  ... t5 t6 t7 |             t8 and all behind it are lost
 *     then        t7 eos | the next document     unless t7 is an eos itself
 */
enum fail_code
part_outputs_give_up(struct part_outputs *outs, size_t i, struct failure *f)
{
	struct part_output *to = &outs->output[i];
	const struct resume *r = &outs->resume[i];
	struct pack_document d = {.place = {.document = r->document,
				      .file = r->file,
				      .byte = r->byte,
				      .line = r->line,
				      .documents = r->documents,
				      .rejects = r->rejects}};
	uint32_t eos = tokenizer_eos(outs->o.tokenizer), *id;
	enum fail_code code;

	assert(i < outs->n);
	assert(to->behind);
	assert(to->pack != NULL);
	if (to->packing == SEQUENCE_BEST_FIT)
		return fail_window(outs, to, f);
	to->behind = false;
	to->first_document = r->document + 1;
	if (to->packing == SEQUENCE_NONE)
		return FAIL_NONE;
	id = calloc(r->offset + 2, sizeof(*id));
	if (id == NULL)
		return fail_memory(f);
	id[r->offset] = r->tail[r->tail_n - 1];
	id[r->offset + 1] = eos;
	d.n = r->offset + (id[r->offset] == eos ? 1 : 2);
	code = pack_add(to->pack, &d, id, r->offset, d.n, f);
	free(id);
	return code;
}

/* Adds the pieces of a set, of which there is one at least. */
static enum fail_code
add_to_set(struct part_outputs *outs, size_t at, const struct split_piece *piece, size_t pieces_n,
    const struct pack_document *d, const uint32_t *id, struct failure *f)
{
	struct part_output *to = &outs->output[at];
	const struct resume *r = &outs->resume[at];
	struct pack_document document = *d;
	uint64_t first = 0;

	assert(!to->behind || to->skip == 0); /* a window is skipped once its document was found */
	if (to->behind && !is_where_it_ended(to, r, d, id))
		return fail(f, FAIL_DATA,
		    "topic %s: the last sequence ended in document %" PRIu64
		    " of %s at token %" PRIu64
		    ", which the input does not have there any more" CHANGED,
		    to->topic, r->document, r->file, r->offset, part_outputs_command(outs),
		    name_of(outs, to), part_outputs_release(outs));
	if (to->behind) {
		to->behind = false;
		first = first_token(to, r); /* it is counted already */
	} else {
		to->documents++;
	}
	document.place.documents = to->documents;
	document.place.rejects = outs->rejects;
	document.place.reported = outs->reported;
	for (size_t i = 0; i < pieces_n; i++)
		if (piece[i].set == at % SETS_COUNT &&
		    pack_tokens(outs, to, &document, id, split_piece_rest(&piece[i], first),
			piece[i].end, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Whether an output takes some piece of the document: it is ours, and does not have it. */
static bool
wants(const struct part_outputs *outs, size_t at, const struct split_piece *piece, size_t pieces_n,
    const struct pack_document *d)
{
	const struct part_output *to = &outs->output[at];
	bool any = false;

	for (size_t i = 0; i < pieces_n; i++)
		any = any || piece[i].set == at % SETS_COUNT;
	return any && to->open && d->place.document >= to->first_document;
}

enum fail_code
part_outputs_add(struct part_outputs *outs, size_t domain, const struct split_piece *piece,
    size_t pieces_n, const struct pack_document *d, const uint32_t *id, struct failure *f)
{
	bool any = false;

	assert((domain + 1) * SETS_COUNT <= outs->n);
	assert(d->n >= 1);
	assert(outs->writer != NULL);
	for (size_t at = domain * SETS_COUNT; at < (domain + 1) * SETS_COUNT; at++) {
		if (!wants(outs, at, piece, pieces_n, d))
			continue;
		assert(pieces_n == 1 || outs->output[at].packing == SEQUENCE_CONCAT);
		any = true;
		if (add_to_set(outs, at, piece, pieces_n, d, id, f) != FAIL_NONE)
			return f->code;
	}
	outs->workers.progress->documents += any;
	if (any)
		measures_document(outs->workers.measures, outs->o.domain[domain]);
	return FAIL_NONE;
}

enum fail_code
part_outputs_reject(struct part_outputs *outs, struct writer_reject *r, struct failure *f)
{
	r->count = ++outs->rejects;
	outs->reported++;
	if (strncmp(r->reason, ROUTER_NO_FIELD, strlen(ROUTER_NO_FIELD)) == 0)
		outs->lacks_field = true;
	outs->workers.progress->rejects++;
	return writer_put_reject(outs->writer, r, f);
}

enum fail_code
part_outputs_leave_out(struct part_outputs *outs, size_t domain, const struct split_piece *piece,
    const struct pack_document *d, struct writer_reject *r, bool *any, struct failure *f)
{
	size_t at = domain * SETS_COUNT + piece->set;

	assert(at < outs->n);
	*any = wants(outs, at, piece, 1, d);
	if (!*any)
		return FAIL_NONE;
	outs->output[at].left_out++;
	r->count = ++outs->left_out;
	outs->reported++;
	return writer_put_reject(outs->writer, r, f);
}

enum fail_code
part_outputs_settle(struct part_outputs *outs, struct failure *f)
{
	return writer_settle_rejects(outs->writer, f);
}

uint64_t
part_outputs_rejects(const struct part_outputs *outs)
{
	return outs->rejects;
}

enum fail_code
part_outputs_poll(struct part_outputs *outs, struct failure *f)
{
	return writer_poll(outs->writer, f);
}

enum fail_code
part_outputs_flush(struct part_outputs *outs, int timeout_ms, struct failure *f)
{
	return writer_flush(outs->writer, timeout_ms, f);
}

/* ---- the Ends ---- */

/* A live domain's partitions stay open, unless it is sealed. */
static bool
gets_end(const struct part_outputs *outs, const struct part_output *to)
{
	size_t domain = (size_t)(to - outs->output) / SETS_COUNT;

	return to->open && (outs->o.seal || !outs->o.config->domains[outs->o.domain[domain]].live);
}

/* What the packers of outputs that get an End still hold becomes sequences. */
static enum fail_code
finish(struct part_outputs *outs, struct failure *f)
{
	for (size_t i = 0; i < outs->n; i++) {
		struct part_output *to = &outs->output[i];

		if (!gets_end(outs, to))
			continue;
		pack_finish(to->pack);
		if (cut(outs, to, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* Waits until all is delivered. Where nothing is, for WRITER_SILENT_MS, the writer fails. */
static enum fail_code
deliver(struct part_outputs *outs, struct failure *f)
{
	enum fail_code code;

	do {
		if (stop_asked(outs->o.stop))
			return fail(f, FAIL_STOPPED, "stopped");
		code = writer_flush(outs->writer, PART_OUTPUTS_WAIT_MS, f);
		part_progress_show(outs->workers.progress);
	} while (code == FAIL_TIMEOUT);
	return code;
}

/* Whether an End would say what the End before it says: nothing has come to be appended. */
static bool
is_as_before(const struct resume *r, const struct sequence_end *end)
{
	return r->state == RESUME_APPEND && r->sequences == end->sequences &&
	       r->documents == end->documents && r->document == end->input.records &&
	       r->files == end->input.files && r->names == end->input.names &&
	       r->byte == end->input.byte;
}

/*
 * The tokens of a partition as all commands count them: S a full sequence, without padding. What
 * the End counts are tokens of documents: concat gives neighbours one of them in common, and none
 * to the first after an earlier End.
 */
static uint64_t
targets(const struct part_outputs *outs, const struct sequence_end *end)
{
	if (end->packing == SEQUENCE_CONCAT)
		return end->sequences * outs->o.config->sequence_length;
	assert(end->tokens >= end->sequences);
	return end->tokens - end->sequences;
}

static enum fail_code
publish_end(struct part_outputs *outs, struct part_output *to, const struct input_end *input,
    struct failure *f)
{
	struct sequence_end end = {
	    .sequences = to->sequences,
	    .tokens = to->tokens,
	    .dropped = to->dropped + pack_left(to->pack, to->shares),
	    .documents = to->documents,
	    .rejects = outs->rejects,
	    .sequence_length = outs->o.config->sequence_length,
	    .tokenizer = tokenizer_fingerprint(outs->o.tokenizer),
	    .record_bytes = to->record_bytes,
	    .record_bytes_max = to->record_bytes_max,
	    .packing = to->packing,
	    .input = {.records = input->records,
		.files = input->files,
		.names = input->names,
		.file = {input->file, strlen(input->file)},
		.byte = input->byte,
		.line = input->line},
	};
	char sizes[64];
	const struct writer_header header[] = {
	    {RECIPE_HEADER, to->recipe}, {RESUME_BYTES_HEADER, sizes}};
	struct wire_writer w = {0};
	uint8_t *bytes;
	size_t n;

	snprintf(
	    sizes, sizeof(sizes), "%" PRId64 " %" PRId64, input->settled_bytes, input->last_bytes);
	if (is_as_before(&outs->resume[to - outs->output], &end))
		return FAIL_NONE;
	if (sequence_end_encode(&w, &end, f) != FAIL_NONE ||
	    wire_writer_take(&w, &bytes, &n, f) != FAIL_NONE) {
		wire_writer_close(&w);
		return f->code;
	}
	log_info("produce: topic=%s partition=%" PRIu32 " sequences=%" PRIu64 " tokens=%" PRIu64
		 " documents=%" PRIu64 " dropped_tokens=%" PRIu64 " rejects=%" PRIu64,
	    to->topic, outs->o.partition, end.sequences, targets(outs, &end), end.documents,
	    end.dropped, end.rejects);
	return writer_put(to->writer, bytes, n, header, input->last_bytes < 0 ? 1 : 2, f);
}

static enum fail_code
publish_ends(struct part_outputs *outs, const struct input_end *input, struct failure *f)
{
	for (size_t i = 0; i < outs->n; i++) {
		struct part_output *to = &outs->output[i];
		enum fail_code code = FAIL_NONE;

		if (to->open && !gets_end(outs, to) && to->sealed >= 0)
			log_info("produce: topic=%s partition=%" PRIu32 " sequences=%" PRIu64
				 " live: its End is at %" PRId64 ", and what follows does not "
				 "count before the next one: --append --seal",
			    to->topic, outs->o.partition, to->sequences, to->sealed);
		else if (to->open && !gets_end(outs, to))
			log_info("produce: topic=%s partition=%" PRIu32 " sequences=%" PRIu64
				 " live: no End, a later run continues here",
			    to->topic, outs->o.partition, to->sequences);
		else if (to->open)
			code = publish_end(outs, to, input, f);
		if (code != FAIL_NONE)
			return code;
	}
	return FAIL_NONE;
}

/* No partition is closed where the data of one have changed. */
static enum fail_code
check_none_behind(const struct part_outputs *outs, struct failure *f)
{
	for (size_t i = 0; i < outs->n; i++) {
		const struct part_output *to = &outs->output[i];

		if (to->open && (to->behind || to->skip > 0))
			return fail(f, FAIL_DATA,
			    "topic %s: the input ends before document %" PRIu64
			    ", where its last sequence ended" CHANGED,
			    to->topic, outs->resume[i].document, part_outputs_command(outs),
			    name_of(outs, to), part_outputs_release(outs));
	}
	return FAIL_NONE;
}

/*
 * A wrong `text` makes every record a reject. Of an append only what came behind the End counts: a
 * large domain would hide a new file that is all rejects.
 */
static enum fail_code
check_rejects(const struct part_outputs *outs, const struct input_end *end, struct failure *f)
{
	uint64_t records = end->records - outs->appended_from;
	uint64_t rejects = outs->rejects - outs->rejects_before;
	double most = outs->o.config->max_rejects;

	if (rejects == 0 || (double)rejects <= most * (double)records)
		return FAIL_NONE;
	if (rejects >= records)
		return fail(f, FAIL_DATA,
		    "all %" PRIu64 " records were rejected, and the domain is not closed: correct "
		    "domains.%s or its input, then run `riffle %s` again%s",
		    records, outs->o.config->domains[outs->o.domain[0]].name,
		    part_outputs_command(outs),
		    outs->lacks_field && set_exec(outs) == NULL
			? "; `riffle config --check` shows the fields of its first record"
			: "");
	return fail(f, FAIL_DATA,
	    "%" PRIu64 " of %" PRIu64
	    " records were rejected (%.1f %%), more than max_rejects allows "
	    "(%g %%), and the domain is not closed: correct the input or its keys and run it "
	    "again, or "
	    "raise max_rejects",
	    rejects, records, 100 * (double)rejects / (double)records, 100 * most);
}

/* What an empty domain lacks. Of several parts one may well be too small for a sequence. */
static enum fail_code
find_lack(
    const struct part_outputs *outs, size_t domain, const struct input_end *end, struct failure *f)
{
	const struct config_domain *d = &outs->o.config->domains[outs->o.domain[domain]];
	const struct part_output *to = &outs->output[domain * SETS_COUNT];
	uint64_t documents = 0, sequences = 0, left_out = 0;
	bool closes = false;

	for (size_t set = 0; set < SETS_COUNT; set++) {
		closes = closes || gets_end(outs, &to[set]);
		documents += to[set].documents;
		sequences += to[set].sequences;
		left_out += to[set].left_out;
	}
	if (!closes || sequences > 0 || outs->o.partitions > 1)
		return FAIL_NONE;
	if (end->records == 0)
		return input_fail_empty(end, f, "domain %s yields no sequence: its input", d->name);
	if (documents == 0 && left_out > 0)
		return fail(f, FAIL_DATA,
		    "domain %s yields no sequence: it has only documents without a target, "
		    "%" PRIu64 ", which are left out; set no_target: keep to publish them",
		    d->name, left_out);
	if (documents == 0 && d->where_field != NULL)
		return fail(f, FAIL_DATA,
		    "domain %s yields no sequence: none of the %" PRIu64
		    " records has %s = \"%s\" (where)",
		    d->name, end->records, d->where_field, d->where_equals);
	return fail(f, FAIL_DATA,
	    "domain %s yields no sequence: %" PRIu64 " document%s, and a sequence needs %" PRIu32
	    " tokens",
	    d->name, documents, documents == 1 ? "" : "s", outs->o.config->sequence_length + 1);
}

/*
 * An empty domain is most likely one whose input was read wrongly. It is closed only if the mix
 * never draws from it, because a mixer waits for the End of each domain.
 */
static enum fail_code
check_sequences(
    const struct part_outputs *outs, size_t domain, const struct input_end *end, struct failure *f)
{
	const char *name = outs->o.config->domains[outs->o.domain[domain]].name;
	struct failure lack;

	if (find_lack(outs, domain, end, &lack) == FAIL_NONE)
		return FAIL_NONE;
	if (config_never_drawn(outs->o.config, outs->o.domain[domain])) {
		log_warning("produce: PRODUCE-EMPTY %s. Its weight is 0, so it is closed with 0 "
			    "sequences",
		    lack.text);
		return FAIL_NONE;
	}
	return fail(f, lack.code,
	    "%s. To mix without it, set its weight to 0 in mix.weights and run `riffle %s %s` "
	    "again",
	    lack.text, config_publisher(outs->o.config, name), name);
}

static bool
any_end(const struct part_outputs *outs)
{
	for (size_t i = 0; i < outs->n; i++)
		if (gets_end(outs, &outs->output[i]))
			return true;
	return false;
}

enum fail_code
part_outputs_drain(struct part_outputs *outs, struct failure *f)
{
	bool any;

	if (part_outputs_submit(outs, f) != FAIL_NONE)
		return f->code;
	while (!pool_empty(outs->workers.pool, POOL_FRAMES))
		if (part_outputs_take(outs, true, &any, f) != FAIL_NONE)
			return f->code;
	return deliver(outs, f);
}

enum fail_code
part_outputs_end(struct part_outputs *outs, const struct input_end *end, struct failure *f)
{
	/* No End over an input that was most likely read wrongly: it cannot be taken back. */
	if (any_end(outs) && check_rejects(outs, end, f) != FAIL_NONE)
		return f->code;
	/* An End is a promise about what is before it: that is delivered first. */
	if (finish(outs, f) != FAIL_NONE || part_outputs_drain(outs, f) != FAIL_NONE ||
	    check_none_behind(outs, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < outs->o.domains_n; i++)
		if (check_sequences(outs, i, end, f) != FAIL_NONE)
			return f->code;
	progress_end(&outs->workers.progress->bar);
	fault_point("produce.before_end");
	if (publish_ends(outs, end, f) != FAIL_NONE || deliver(outs, f) != FAIL_NONE)
		return f->code;
	fault_point("produce.after_end");
	return FAIL_NONE;
}
