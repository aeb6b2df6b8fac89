#include "producer/produce/part.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/text.h"
#include "common/record/frame.h"
#include "producer/document/router.h"
#include "producer/document/split.h"
#include "producer/input/file_list.h"
#include "producer/input/input.h"
#include "producer/input/live_order.h"
#include "producer/input/live_scan.h"
#include "producer/input/record_cutter.h"
#include "producer/produce/frame_job.h"
#include "producer/produce/measures.h"
#include "producer/produce/part_outputs.h"
#include "producer/produce/part_progress.h"
#include "producer/produce/pool.h"
#include "producer/produce/rejects.h"
#include "producer/produce/text_job.h"
#include "producer/writer/arrivals_log.h"

enum {
	PART_WAIT_MS = 50,           /* for work or input, before looking at `stop` again */
	REJECTS_LOGGED = 5,          /* the first few are logged one by one */
	TEXT_BYTES_MIN = 32 << 20,   /* of records at work at once: this, or */
	TEXT_WORKER_BYTES = 2 << 20, /* so many a worker; and the chunk that passes it */
};

typedef char input_name[ARRIVALS_LOG_INPUT_BYTES];

struct part {
	const struct part_options *o;
	const struct config *config;
	struct part_outputs *outputs;
	struct pool *pool;
	struct worker_context context;
	struct router *router;
	struct split *split;          /* [domains_n], the context's */
	struct worker_domain *domain; /* [domains_n], the context's */
	struct input *input;
	bool *known;                   /* NULL: the input is text; see input.h */
	struct live_order order;       /* of files that keep arriving; the input's while it runs */
	struct arrivals_log *arrivals; /* NULL: other inputs */
	struct record_mark *mark;      /* [marks_n], owned; see live_order.h */
	size_t marks_n;
	struct part_progress progress;
	struct measures_part measures;
	char label[256];   /* of the domains, for rejects */
	size_t text_bytes; /* of the records in POOL_TEXTS */
	struct rejects reasons;
	char first_reject[640];   /* file, line and reason; "": none yet */
	uint64_t unmatched;       /* records that are no domain's */
	uint64_t left_out;        /* documents without a target, */
	char first_left_out[256]; /* and the first: file, line and reason */
	uint64_t read;            /* documents of the input, */
	uint64_t garbled;         /* those that are hardly UTF-8, */
	char first_garbled[256];  /* and where the first is */
	const char *last_file;    /* of the last record that was packed; NULL: none was */
	uint64_t last_line;
};

/* ---- the order of a live input ---- */

/* For struct input_live_options: portions are durable when they are in <corpus>.arrivals. */
static enum fail_code
keep(void *opaque, const struct arrivals_portion *p, size_t n, struct failure *f)
{
	return arrivals_log_add(opaque, p, n, f);
}

/* The names that the order may have in <corpus>.arrivals: one for each domain of the input, since
 * any of them may have been the first when the order began. */
static void
name_inputs(const struct part *s, input_name *out)
{
	for (size_t i = 0; i < s->o->domains_n; i++)
		snprintf(out[i], sizeof(out[i]), "%s%s/%" PRIu32 "/%" PRIu32,
		    s->config->domains[s->o->domain[i]].name, names_set_suffix[s->o->set],
		    s->o->partition, s->o->partitions);
}

/* Whether nothing was published of the input, as far as this run can see: it must see all of it. */
static bool
is_fresh(const struct part *s)
{
	const struct resume *resume;
	size_t n;

	for (size_t i = 0; i < s->o->domains_n; i++)
		if (!s->o->wanted[i])
			return false;
	resume = part_outputs_resume(s->outputs, &n);
	for (size_t i = 0; i < n; i++)
		if (part_outputs_topic(s->outputs, i)[0] != '\0' && resume[i].state != RESUME_FRESH)
			return false;
	return true;
}

/* A file that the order names and that is not there any more, or shorter. NULL: all are there. */
static const char *
missing_file(const struct part *s, const char *folder)
{
	for (size_t i = 0; i < s->order.n; i++) {
		const struct live_order_portion *p = &s->order.portion[i];
		const char *name = s->order.file[p->file].name;
		uint64_t size_bytes;
		struct failure f;
		bool there;

		if (file_list_look(folder, name, &size_bytes, &there, &f) != FAIL_NONE)
			return NULL; /* the reader meets that again, and fails with it */
		if (!there || size_bytes < p->end)
			return name;
	}
	return NULL;
}

/*
 * An order of which nothing was published, and whose files are gone, binds nobody. It is dropped
 * then, and arrivals_log_open() makes that durable. While the files are there the order stands,
 * also if the domain is not live any more: a producer that was killed may have sent records that
 * are not visible yet, and only the same order makes records that are equal to those.
 */
static void
drop_stale(struct part *s, const char *folder)
{
	const char *missing;

	if (s->order.n == 0 || !is_fresh(s))
		return;
	missing = missing_file(s, folder);
	if (missing == NULL)
		return;
	log_info("produce: %s starts over: nothing was published, and file %s has changed",
	    s->o->label, missing);
	live_order_reset(&s->order);
}

/* ---- files of a live input that are lost ---- */

static enum fail_code
give_up_file(struct part *s, size_t file, struct failure *f)
{
	const struct live_order_portion p = live_order_loss(&s->order, file);
	const struct arrivals_portion record = live_order_record(&s->order, &p);
	enum fail_code code = arrivals_log_add(s->arrivals, &record, 1, f);

	while (code == FAIL_TIMEOUT) {
		if (stop_asked(s->o->stop))
			return fail(f, FAIL_STOPPED, "stopped");
		code = arrivals_log_add(s->arrivals, NULL, 0, f);
	}
	if (code != FAIL_NONE)
		return code;
	log_warning("produce: PRODUCE-LOST %s: file %s is gone: what was not published of its "
		    "%" PRIu64 " bytes is left out",
	    s->o->label, s->order.file[file].name, p.end);
	return live_order_add(&s->order, &p, f);
}

/* Which index the next document of an input with a loss has depends on all that was published. */
static enum fail_code
check_all_wanted(const struct part *s, struct failure *f)
{
	for (size_t i = 0; i < s->o->domains_n; i++)
		if (!s->o->wanted[i])
			return fail(f, FAIL_USAGE,
			    "domain %s shares this input, of which files were given up "
			    "(--skip-missing): name it, too",
			    s->config->domains[s->o->domain[i]].name);
	return FAIL_NONE;
}

/* Gives up the files that are gone and that would have to be read again. */
static enum fail_code
skip_missing(struct part *s, const struct file_list_now *now, size_t first, struct failure *f)
{
	struct live_order *r = &s->order;

	for (size_t i = first, n = r->n; i < n; i++) {
		size_t file = r->portion[i].file;
		bool there;

		if (live_order_is_lost(r, i))
			continue;
		if (live_scan_find(now, r, i, &there, f) != FAIL_NONE)
			return f->code;
		if (there)
			continue;
		if (check_all_wanted(s, f) != FAIL_NONE ||
		    part_outputs_may_give_up(s->outputs, f) != FAIL_NONE ||
		    give_up_file(s, file, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

static int
compare_marks(const void *a, const void *b)
{
	const struct record_mark *x = a, *y = b;

	if (x->stretch != y->stretch)
		return x->stretch < y->stretch ? -1 : 1;
	return (x->byte > y->byte) - (x->byte < y->byte);
}

/* Where each output continues. What it ended in may be lost: then behind that. */
static enum fail_code
mark_outputs(struct part *s, struct failure *f)
{
	size_t n;
	const struct resume *resume = part_outputs_resume(s->outputs, &n);

	if (check_all_wanted(s, f) != FAIL_NONE)
		return f->code;
	s->mark = calloc(n, sizeof(*s->mark));
	if (s->mark == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < n; i++) {
		const struct resume *r = &resume[i];
		struct record_mark m = {(size_t)r->files, 0, r->document}; /* behind an End */

		if (part_outputs_topic(s->outputs, i)[0] == '\0' || r->state == RESUME_FRESH)
			continue;
		if (r->state == RESUME_PARTIAL) {
			size_t k = live_order_find(&s->order, r->file, r->byte);

			assert(k != LIVE_ORDER_NONE); /* find_places() */
			m = (struct record_mark){k, r->byte, r->document};
			if (live_order_is_lost(&s->order, k)) {
				m = (struct record_mark){k + 1, 0, r->document + 1};
				if (part_outputs_give_up(s->outputs, i, f) != FAIL_NONE)
					return f->code;
			}
		}
		s->mark[s->marks_n++] = m;
	}
	qsort(s->mark, s->marks_n, sizeof(*s->mark), compare_marks);
	return FAIL_NONE;
}

static bool
any_lost(const struct live_order *r)
{
	for (size_t i = 0; i < r->files_n; i++)
		if (r->file[i].lost)
			return true;
	return false;
}

/* ---- whether there is an order ---- */

/*
 * A partition that has records without an order was produced by the names of all files, sorted. The
 * two orders differ, so that no position in one means anything in the other. Returns the topic of
 * such a partition; NULL: there is none.
 */
static const char *
topic_by_names(const struct part *s)
{
	size_t n;
	const struct resume *resume = part_outputs_resume(s->outputs, &n);

	for (size_t i = 0; i < n && s->order.n == 0; i++) {
		const struct resume *r = &resume[i];

		if (r->state == RESUME_PARTIAL || (r->state == RESUME_APPEND && r->document > 0))
			return part_outputs_topic(s->outputs, i);
	}
	return NULL;
}

static enum fail_code
check_begun(const struct part *s, struct failure *f)
{
	const char *topic = topic_by_names(s);

	if (topic == NULL)
		return FAIL_NONE;
	return fail(f, FAIL_CONFIG,
	    "topic %s: was begun with `live: false`, by all files in the order of "
	    "their names, and cannot become live: produce it as it was begun, and "
	    "make what keeps arriving a domain of its own",
	    topic);
}

/*
 * Finds the portion at which a run from `from` begins, in *portion. The order must also have the
 * place at which each output ended: else it is not all of the order, or that of another input. To
 * take the input over after such an order would make the rest void, for every later run.
 */
static enum fail_code
find_places(const struct part *s, const struct input_position *from, bool from_start,
    size_t *portion, struct failure *f)
{
	size_t n;
	const struct resume *resume = part_outputs_resume(s->outputs, &n);

	*portion = 0;
	if (!from_start && input_live_start(&s->order, from, portion, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++) {
		const struct resume *r = &resume[i];

		/* Only a record of files by name says how many files there were. */
		if (r->state == RESUME_PARTIAL && part_outputs_topic(s->outputs, i)[0] != '\0' &&
		    (r->files > 0 ||
			live_order_find(&s->order, r->file, r->byte) == LIVE_ORDER_NONE))
			return fail(f, FAIL_DATA,
			    "topic %s: ended at byte %" PRIu64
			    " of file %s, which the topic of arrivals does not have",
			    part_outputs_topic(s->outputs, i), r->byte, r->file);
	}
	return FAIL_NONE;
}

/*
 * Decides whether the input is read by an order, and by which.
 *
 *     domain      order in the log    then
 *     live        none                it starts empty; no partition may have records yet
 *     live        there               it is read first, then what has come since
 *     not live    none                an ordinary input: files by name
 *     not live    taken over, empty   the same, taken over once more: portions that a killed
 *                                     producer had on their way, and that are not visible yet, are
 *                                     void
 *     not live    there               it was live once: by the order, for ever, then what has come
 *                                     since, and its End. Void if nothing was published and files
 *                                     of it are gone
 *
 * Parts of one input must agree on this, because a live input assigns files to parts by the hash of
 * their names, and one that is read by names deals them out in turn. If one part reads the other
 * way, some files are published twice and others never. A part sees only what it has published
 * itself. So an input of several parts that was once read as live is read by its order in every
 * part, even in a part that has no order yet.
 *
 * Reads the order and finds the places in it. Only then takes the input over, and fills what of *o,
 * and *live, follows. FAIL_CONFIG: a partition was begun without an order. FAIL_DATA: the order
 * does not have a place.
 */
static enum fail_code
open_live(struct part *s, input_name *names, const struct input_position *from, bool from_start,
    struct input_options *o, struct input_live_options *live, struct failure *f)
{
	const struct config_domain *d = &s->config->domains[s->o->domain[0]];
	const struct file_list_now now = {.patterns = o->patterns,
	    .folder = o->folder,
	    .partition = o->partition,
	    .partitions = o->partitions};
	bool once, was_live, by_order;
	size_t name, portion;
	int64_t end;

	if (arrivals_log_read(&s->order, &once, &name, &end, s->o->reader, s->config->corpus, names,
		s->o->domains_n, f) != FAIL_NONE)
		return f->code;
	if (live_order_is_doubtful(&s->order) &&
	    find_places(s, from, from_start, &portion, f) == FAIL_DATA)
		live_order_void(&s->order); /* what was published is of no order */
	was_live = s->order.takers_n > 0;
	by_order = d->live || (once && s->o->partitions > 1 && topic_by_names(s) == NULL);
	drop_stale(s, o->folder);
	if (!by_order && !was_live)
		return FAIL_NONE;
	if (d->live && check_begun(s, f) != FAIL_NONE)
		return f->code;
	if ((by_order || s->order.n > 0) &&
	    find_places(s, from, from_start, &portion, f) != FAIL_NONE)
		return f->code;
	if (arrivals_log_open(&s->arrivals, s->config, names[name], s->order.n, s->o->reader, end,
		f) != FAIL_NONE)
		return f->code;
	if (!by_order && s->order.n == 0)
		return FAIL_NONE; /* whatever still comes of the order is void */
	if (s->o->skip_missing && skip_missing(s, &now, portion, f) != FAIL_NONE)
		return f->code;
	if (any_lost(&s->order) && mark_outputs(s, f) != FAIL_NONE)
		return f->code;
	*live = (struct input_live_options){.order = &s->order,
	    .keep = keep,
	    .opaque = s->arrivals,
	    .mark = s->mark,
	    .marks_n = s->marks_n,
	    .last = !d->live || s->o->seal};
	o->live = live;
	o->follow = s->o->follow;
	return FAIL_NONE;
}

/* ---- opening and closing ---- */

/* Which ids the vocabulary has, for an input that is tokens. */
static enum fail_code
know_ids(struct part *s, struct failure *f)
{
	uint32_t entries = tokenizer_entries(s->o->tokenizer);
	size_t n;

	s->known = calloc(entries, sizeof(*s->known));
	if (s->known == NULL)
		return fail_memory(f);
	for (uint32_t id = 0; id < entries; id++)
		s->known[id] = tokenizer_bytes(s->o->tokenizer, id, &n) != NULL;
	return FAIL_NONE;
}

static enum fail_code
open_input(struct part *s, const struct input_position *from, bool from_start, struct failure *f)
{
	const struct config_domain *d = &s->config->domains[s->o->domain[0]];
	char *folder = NULL;
	struct input_options o = {
	    .patterns = config_set_files(d, s->o->set),
	    .file_order = d->file_order,
	    .exec = config_set_exec(d, s->o->set),
	    .exec_name = d->exec_name == NULL ? d->name : d->exec_name,
	    .partition = s->o->partition,
	    .partitions = s->o->partitions,
	    .max_document_bytes = s->config->max_document_bytes,
	};
	struct input_live_options live;
	struct input_token_options tokens;
	input_name *names = NULL;
	enum fail_code code = FAIL_NONE;

	if (token_format_is_file(d->tokens)) {
		if (know_ids(s, f) != FAIL_NONE)
			return f->code;
		tokens = (struct input_token_options){.format = d->tokens,
		    .token_bytes = 2 * (unsigned)d->token_bytes,
		    .eos = tokenizer_eos(s->o->tokenizer),
		    .known = s->known,
		    .entries = tokenizer_entries(s->o->tokenizer)};
		o.tokens = &tokens;
	}

	if (config_resolve(&folder, s->config, ".", f) != FAIL_NONE)
		return f->code;
	o.folder = folder;
	if (o.exec != NULL) {
		o.follow = s->o->follow;
		o.repeats = s->o->repeats;
	} else {
		names = calloc(s->o->domains_n, sizeof(*names));
		if (names == NULL) {
			code = fail_memory(f);
		} else {
			name_inputs(s, names);
			code = open_live(s, names, from, from_start, &o, &live, f);
		}
	}
	if (code == FAIL_NONE)
		code = input_open(&s->input, &o, from_start ? NULL : from, f);
	if (code == FAIL_CONFIG)
		config_fail_domain(
		    s->config, d, o.exec != NULL ? "exec" : names_set_text[s->o->set], f);
	free(names);
	free(folder);
	return code;
}

static struct worker_domain
worker_domain_of(const struct part *s, const struct config_domain *d, size_t i)
{
	bool single = d->packing == SEQUENCE_NONE;

	return (struct worker_domain){
	    .pack = {.packing = d->packing,
		.truncate = single && d->over_long == CONFIG_LONG_TRUNCATE,
		.sequence_length = s->config->sequence_length,
		.eos = tokenizer_eos(s->o->tokenizer)},
	    .reject_long = single && d->over_long == CONFIG_LONG_REJECT,
	    .skip_no_target = part_outputs_skip_no_target(s->outputs, i),
	};
}

/* The tables that the jobs share, then the threads: from here on the tables do not change. */
static enum fail_code
open_workers(struct part *s, struct failure *f)
{
	const struct config_domain *domain[LIMIT_DOMAINS];
	struct pool_memory memory = worker_memory(&s->context);

	for (size_t i = 0; i < s->o->domains_n; i++) {
		domain[i] = &s->config->domains[s->o->domain[i]];
		if (s->o->set != SET_TRAIN || !config_is_split(domain[i]))
			s->split[i].parts[s->o->set] = 1;
		else
			memcpy(s->split[i].parts, s->config->split, sizeof(s->split[i].parts));
		s->split[i].piece_tokens = config_split_piece(s->config, domain[i]);
		s->domain[i] = worker_domain_of(s, domain[i], i);
	}
	if (router_open(&s->router, domain, s->o->domains_n, s->config->utf8, f) != FAIL_NONE)
		return f->code;
	s->context.tokenizer = s->o->tokenizer;
	s->context.router = s->router;
	s->context.width = frame_width(tokenizer_entries(s->o->tokenizer));
	s->context.sequence_length = s->config->sequence_length;
	s->context.domain = s->domain;
	s->context.split = s->split;
	return pool_open(&s->pool, s->o->workers, 2 * (size_t)s->o->workers + 2, &memory, f);
}

static void
name_domains(struct part *s)
{
	for (size_t i = 0; i < s->o->domains_n; i++) {
		size_t used = strlen(s->label);

		snprintf(s->label + used, sizeof(s->label) - used, "%s%s", i == 0 ? "" : ",",
		    s->config->domains[s->o->domain[i]].name);
	}
}

static bool
is_program(const struct part *s)
{
	return config_set_exec(&s->config->domains[s->o->domain[0]], s->o->set) != NULL;
}

/* Opens all but the outputs, which are there; `from` and `from_start` are of resume_start(). */
static enum fail_code
open_all(struct part *s, const struct input_position *from, bool from_start, struct failure *f)
{
	struct part_outputs_workers workers = {
	    .context = &s->context, .progress = &s->progress, .measures = &s->measures};
	bool named;

	name_domains(s);
	measures_begin(&s->measures, s->o->measures, s->o->domain, s->o->wanted, s->o->domains_n);
	if (open_workers(s, f) != FAIL_NONE)
		return f->code;
	workers.pool = s->pool;
	if (part_outputs_start(s->outputs, &workers, from_start ? 0 : from->rejects, f) !=
	    FAIL_NONE)
		return f->code;
	/* Of a program the file can be its command, with what is secret in it: see input.h. */
	named = !from_start && from->file != NULL && !is_program(s);
	if (!from_start)
		log_info("produce: %s resumes at document=%" PRIu64 "%s%s byte=%" PRIu64,
		    s->o->label, from->document, named ? " file=" : "", named ? from->file : "",
		    from->byte);
	if (open_input(s, from, from_start, f) != FAIL_NONE)
		return f->code;
	part_outputs_read_from(s->outputs, s->input);
	part_progress_begin(
	    &s->progress, s->o->label, input_bytes_total(s->input), input_bytes_skipped(s->input));
	if (s->o->follow) { /* several parts use the terminal, and nothing ends */
		s->progress.bar.terminal = false;
		s->progress.quiet = true;
	}
	return FAIL_NONE;
}

static void
drop_job(enum pool_line line, void *job)
{
	switch (line) {
	case POOL_TEXTS: text_job_close(job); return;
	case POOL_FRAMES: frame_job_close(job); return;
	}
}

/*
 * Ends what was opened, also where opening failed. The pool goes first: jobs use all the rest. The
 * outputs are next, since they borrow names of files from the input.
 */
static void
close_all(struct part *s)
{
	pool_close(s->pool, drop_job);
	part_outputs_close(s->outputs);
	measures_end(&s->measures);
	input_close(s->input);
	free(s->known);
	arrivals_log_close(s->arrivals);
	live_order_close(&s->order);
	free(s->mark);
	router_close(s->router);
	free(s->split);
	free(s->domain);
}

/* ---- the loop ---- */

/* What cannot be used, or is left out, for the topic of rejects. */
static struct writer_reject
reject_of(const struct text_job *j, const struct text_job_document *d, const char *domain)
{
	const struct chunk_record *record = &j->chunk->record[d->record];

	return (struct writer_reject){
	    .domain = domain,
	    .file = j->chunk->file,
	    .line = record->line,
	    .byte = record->byte,
	    .reason = d->reason,
	    .bytes = record->bytes,
	    .n = record->n,
	};
}

/* Counts a document without a target, and puts it into the topic of rejects. It is no fault. */
static enum fail_code
leave_out(struct part *s, const struct text_job *j, const struct text_job_document *d,
    const struct split_piece *piece, const struct pack_document *document, struct failure *f)
{
	struct writer_reject r = reject_of(j, d, s->config->domains[s->o->domain[d->domain]].name);
	bool any;

	if (part_outputs_leave_out(s->outputs, d->domain, piece, document, &r, &any, f) !=
	    FAIL_NONE)
		return f->code;
	if (!any)
		return FAIL_NONE;
	if (s->left_out++ == 0)
		snprintf(s->first_left_out, sizeof(s->first_left_out), "%s:%" PRIu64 ": %s", r.file,
		    r.line, r.reason);
	measures_reject(&s->measures, r.reason);
	return FAIL_NONE;
}

static enum fail_code
add_document(
    struct part *s, const struct text_job *j, const struct text_job_document *d, struct failure *f)
{
	const struct chunk_record *record = &j->chunk->record[d->record];
	struct pack_document document = {
	    .place = {.document = record->document,
		.file = j->chunk->file,
		.byte = record->byte,
		.line = record->line},
	    .n = d->n,
	    .keep = d->keep_n == 0 ? NULL : j->keep.bytes + d->keep_first,
	    .keep_n = d->keep_n,
	};
	struct split_piece piece[SPLIT_PIECES_MAX];
	size_t pieces_n;

	s->read++;
	if (d->garbled && s->garbled++ == 0)
		snprintf(s->first_garbled, sizeof(s->first_garbled), "%s:%" PRIu64, j->chunk->file,
		    record->line);
	pieces_n = split_pieces(piece, &s->split[d->domain], d->hash, d->n);
	if (d->verdict == TEXT_JOB_NO_TARGET)
		return leave_out(s, j, d, piece, &document, f);
	return part_outputs_add(
	    s->outputs, d->domain, piece, pieces_n, &document, j->tokens.id + d->first, f);
}

/*
 * The records that a damaged file or a failed program does not give cannot be counted, and what
 * comes behind it must not be published: a resume begins there, and the rest would never be read.
 */
static enum fail_code
fail_broken_off(
    const struct part *s, const struct writer_reject *r, uint64_t document, struct failure *f)
{
	if (part_outputs_drain(s->outputs, f) != FAIL_NONE)
		return f->code;
	if (is_program(s) && r->byte == 0)
		return fail(f, FAIL_DATA,
		    "%s: %s, before it printed anything; its own messages are above. Correct the "
		    "command, then run `riffle produce` again",
		    r->file, r->reason);
	if (r->byte == 0)
		return fail(f, FAIL_DATA,
		    "%s: %s. Nothing of this file is published, and the domain is not closed. Put "
		    "a file that can be read in its place, then run `riffle %s` again%s",
		    r->file, r->reason, part_outputs_command(s->outputs),
		    document == 0 ? ""
				  : "; it continues there. To close the domain without this file, "
				    "set max_rejects: 1");
	return fail(f, FAIL_DATA,
	    "%s: %s, after %" PRIu64 " byte%s of text (line %" PRIu64
	    "). The documents before that are published, and the domain is not closed. %s, then "
	    "run `riffle %s` again; it continues there. %sTo close the domain without the "
	    "rest of it, set max_rejects: 1",
	    r->file, r->reason, r->byte, r->byte == 1 ? "" : "s", r->line,
	    is_program(s) ? "Fix the program" : "Put a whole file in its place",
	    part_outputs_command(s->outputs),
	    is_program(s) ? "If you change the command itself, run `riffle produce DOMAIN "
			    "--restart` instead. "
			  : "");
}

/*
 * Notes the first reject of this run, for the message of a run that fails. What a program printed
 * lies in no file that its user could look into: the beginning is shown.
 */
static void
note_first(struct part *s, const struct chunk_record *record, const struct writer_reject *r)
{
	char shown[64];
	bool alien = is_program(s) && record->reject == NULL && record->n > 0 &&
		     memchr(record->bytes, '{', record->n) == NULL &&
		     router_json_kind(record->bytes, record->n) == ROUTER_JSON_OTHER;

	if (alien)
		text_show(shown, sizeof(shown), TEXT_LINE, record->bytes, record->n);
	snprintf(s->first_reject, sizeof(s->first_reject), "%s:%" PRIu64 ": %s%s%s%s%s", r->file,
	    r->line, r->reason,
	    router_csv_hint(r->file, r->line == 1 && !is_program(s) ? record : NULL),
	    alien ? "; the program printed `" : "", alien ? shown : "",
	    alien ? "`: it must print one JSON object per line" : "");
}

/* What a record that cannot be used costs: a log line for the first few, its place in the topic of
 * rejects, or under on_reject: stop the run. */
static enum fail_code
reject(
    struct part *s, const struct text_job *j, const struct text_job_document *d, struct failure *f)
{
	const struct chunk_record *record = &j->chunk->record[d->record];
	struct writer_reject r = reject_of(j, d, s->label);

	if (s->config->on_reject == CONFIG_REJECT_STOP)
		return fail(f, FAIL_DATA,
		    "%s:%" PRIu64 ": %s (record at byte %" PRIu64
		    "); on_reject is stop: mend the record, or set on_reject: quarantine",
		    r.file, r.line, r.reason, r.byte);
	if (record->breaks_off && s->config->max_rejects < 1)
		return fail_broken_off(s, &r, record->document, f);
	if (part_outputs_rejects(s->outputs) < REJECTS_LOGGED) {
		progress_end(&s->progress.bar);
		log_warning("produce: PRODUCE-REJECT file=%s line=%" PRIu64 " byte=%" PRIu64 ": %s",
		    TEXT_VALUE(r.file), r.line, r.byte, r.reason);
	}
	if (s->reasons.total == 0)
		note_first(s, record, &r);
	rejects_add(&s->reasons, r.reason);
	measures_reject(&s->measures, r.reason);
	return part_outputs_reject(s->outputs, &r, f);
}

/*
 * Packs the oldest text job if it is done. *any: there was one. Only here documents get an order:
 * that of the input, since jobs come back as they were submitted and hold their records in order.
 */
static enum fail_code
take_texts(struct part *s, bool *any, struct failure *f)
{
	void *job;
	enum fail_code code = pool_take(s->pool, POOL_TEXTS, false, &job, f);
	struct text_job *j = job;

	*any = j != NULL;
	for (size_t i = 0; code == FAIL_NONE && j != NULL && i < j->chunk->n; i++) {
		const struct text_job_document *d = &j->document[i];

		s->last_file = j->chunk->file;
		s->last_line = j->chunk->record[d->record].line;
		switch (d->verdict) {
		case TEXT_JOB_DOCUMENT:
		case TEXT_JOB_NO_TARGET: code = add_document(s, j, d, f); break;
		case TEXT_JOB_UNMATCHED: s->unmatched++; break;
		case TEXT_JOB_REJECT: code = reject(s, j, d, f); break;
		}
	}
	if (j != NULL) {
		assert(s->text_bytes >= j->bytes);
		s->progress.bar.done += j->chunk->input_bytes;
		measures_input(&s->measures, j->chunk->input_bytes);
		s->text_bytes -= j->bytes;
	}
	text_job_close(j);
	return code;
}

/*
 * Whether another chunk may be worked on. The pool's line limits jobs, but a chunk with one
 * document of half a gigabyte is a job, too: so their bytes have a limit of their own. The chunk
 * that passes it is still taken, as otherwise a large one could never be.
 */
static bool
has_room(const struct part *s)
{
	size_t most = (size_t)s->o->workers * TEXT_WORKER_BYTES;

	return !pool_full(s->pool, POOL_TEXTS) &&
	       s->text_bytes < (most > TEXT_BYTES_MIN ? most : TEXT_BYTES_MIN);
}

/*
 * Reads a chunk if there is room for it. *over: the input has no more. It waits for the input only
 * where nothing else could happen meanwhile: with no job anywhere.
 */
static enum fail_code
read_chunk(struct part *s, bool *any, bool *over, struct failure *f)
{
	bool idle = pool_empty(s->pool, POOL_TEXTS) && pool_empty(s->pool, POOL_FRAMES);
	struct chunk *chunk;
	struct text_job *job;
	enum fail_code code;

	*any = false;
	if (*over || !has_room(s))
		return FAIL_NONE;
	code = input_next_within(s->input, idle ? PART_WAIT_MS : 0, &chunk, f);
	if (code == FAIL_TIMEOUT)
		return FAIL_NONE;
	if (code == FAIL_DATA)
		return fail_more(f, "%s", part_outputs_release(s->outputs));
	if (code != FAIL_NONE)
		return code;
	*over = chunk == NULL;
	if (*over)
		return FAIL_NONE;
	job = text_job_open(&s->context, chunk);
	if (job == NULL)
		return fail_memory(f);
	s->text_bytes += job->bytes;
	pool_submit(s->pool, POOL_TEXTS, job, text_job_run);
	*any = true;
	return FAIL_NONE;
}

/*
 * Until the input is over and its last text job is taken. Where nothing could be done in a round it
 * waits for a worker; with both lines empty read_chunk() has waited for the input already, and in
 * vain: the input pauses, and what is ready is published, since nobody knows for how long.
 */
static enum fail_code
run_input(struct part *s, struct failure *f)
{
	bool over = false, read, packed, published;

	while (!over || !pool_empty(s->pool, POOL_TEXTS)) {
		if (stop_asked(s->o->stop))
			return fail(f, FAIL_STOPPED, "stopped");
		if (s->o->tick != NULL && s->o->tick(s->o->opaque, f) != FAIL_NONE)
			return f->code;
		if (read_chunk(s, &read, &over, f) != FAIL_NONE ||
		    take_texts(s, &packed, f) != FAIL_NONE ||
		    part_outputs_take(s->outputs, false, &published, f) != FAIL_NONE ||
		    part_outputs_poll(s->outputs, f) != FAIL_NONE)
			return f->code;
		part_progress_show(&s->progress);
		if (read || packed || published)
			continue;
		if (!pool_empty(s->pool, POOL_TEXTS) || !pool_empty(s->pool, POOL_FRAMES))
			pool_wait(s->pool, PART_WAIT_MS);
		else if (part_outputs_submit(s->outputs, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* What the user should know about what was left out. */
static void
report_left_out(const struct part *s)
{
	uint64_t rejects = part_outputs_rejects(s->outputs);
	char reasons[REJECTS_TEXT_BYTES], since[64] = "";

	if (s->unmatched > 0)
		log_warning("produce: PRODUCE-UNMATCHED %s: %" PRIu64
			    " records belong to no domain by `where` and were left out",
		    s->label, s->unmatched);
	if (s->garbled > 0)
		log_warning("produce: PRODUCE-ENCODING %s: %" PRIu64 " of %" PRIu64
			    " document%s are not UTF-8: more than %d %% of their bytes became "
			    "U+FFFD, first in %s, and they are published like that. " ROUTER_CONVERT
			    ", and, if no mix draws from the domain yet, run `riffle %s %s "
			    "--restart`. `utf8: strict` rejects such documents",
		    s->label, s->garbled, s->read, s->read == 1 ? "" : "s", ROUTER_GARBLED_PERCENT,
		    s->first_garbled, part_outputs_command(s->outputs), part_domain(s->o));
	if (s->left_out > 0)
		log_warning("produce: PRODUCE-NO-TARGET %s: left out %" PRIu64
			    " document%s without a target, first %s; `riffle rejects` lists them, "
			    "and `no_target: keep` would publish them in a new domain",
		    s->label, s->left_out, s->left_out == 1 ? "" : "s", s->first_left_out);
	if (rejects == 0)
		return;
	rejects_format(&s->reasons, reasons);
	if (s->reasons.total < rejects)
		snprintf(since, sizeof(since), "%" PRIu64 " since the last resume%s",
		    s->reasons.total, s->reasons.total > 0 ? ": " : "");
	log_warning("produce: PRODUCE-REJECTS %s: %" PRIu64
		    " record%s rejected (%s%s); `riffle rejects` lists %s with file, line and "
		    "reason",
	    s->label, rejects, rejects == 1 ? " was" : "s were", since, reasons,
	    rejects == 1 ? "it" : "them");
}

/*
 * The rejects of a run that fails are what its user must see. Those behind the last record of a
 * partition come again in the next run: at least once.
 */
static void
report_first_reject(struct part *s, struct failure *f)
{
	struct failure late;

	fail_more(f, "; the first reject of this run: %s", s->first_reject);
	if (part_outputs_settle(s->outputs, &late) == FAIL_NONE)
		fail_more(f, "; `riffle rejects` lists them all");
	else
		log_warning("produce: %s", late.text);
}

/* ---- a part that is complete ---- */

/* The End that knows of most files; NULL: none of the outputs has one. */
static const struct resume *
last_end(const struct part *s)
{
	const struct resume *best = NULL, *resume;
	size_t n;

	resume = part_outputs_resume(s->outputs, &n);
	for (size_t i = 0; i < n; i++)
		if (part_outputs_topic(s->outputs, i)[0] != '\0' &&
		    (best == NULL || resume[i].files > best->files))
			best = &resume[i];
	return best;
}

static void
report_nothing(const struct part *s)
{
	log_info("produce: %s is complete: nothing to do%s", s->o->label,
	    s->o->follow ? " (it is sealed; --append continues behind its End)" : "");
}

static void
report_changed(const struct part *s, const char *what)
{
	log_warning(
	    "produce: PRODUCE-CHANGED %s is complete, but %s. What was published stays; the "
	    "data of now can be another domain, or, if no mix draws from it yet, replace it: "
	    "`riffle %s %s --restart`",
	    s->o->label, what, part_outputs_command(s->outputs),
	    s->config->domains[s->o->domain[0]].name);
}

/*
 * Says what is new or differs between the files of the End and those of now. Where the End does not
 * know their sizes it may be that of a live input, whose `files` are portions: then other names say
 * nothing.
 */
static void
report_files(const struct part *s, const struct file_list *l, const struct resume *end)
{
	bool same = end->files <= l->n && file_list_names(l, end->files) == end->names;
	bool sized = end->files > 0 && end->last_bytes >= 0;
	int64_t settled_now = -1, last_now = -1;
	char what[FAILURE_TEXT_MAX];

	if (same && sized) {
		settled_now = (int64_t)file_list_bytes(l, end->files - 1);
		last_now = (int64_t)l->file[end->files - 1].size_bytes;
	}
	if (!same && sized) {
		snprintf(what, sizeof(what),
		    "it was made of %" PRIu64 " file%s, the last one %s, and the %zu that the "
		    "configuration names now do not begin with them: files were added in front, "
		    "removed or renamed (they are read in the order of %s)",
		    end->files, end->files == 1 ? "" : "s", end->file, l->n,
		    l->order == CONFIG_FILES_LISTED ? "the list" : "their names");
		report_changed(s, what);
	} else if (settled_now >= 0 &&
		   (settled_now != end->settled_bytes || last_now < end->last_bytes)) {
		snprintf(what, sizeof(what),
		    "the files up to %s had %" PRId64 " bytes and have %" PRId64, end->file,
		    end->settled_bytes + end->last_bytes, settled_now + last_now);
		report_changed(s, what);
	} else if (same && l->n > end->files) {
		log_warning("produce: PRODUCE-NEW %s is complete up to %s; %" PRIu64
			    " new files, from %s on: `--append` publishes them",
		    s->o->label, end->files == 0 ? "its start" : end->file, l->n - end->files,
		    l->file[end->files].name);
	} else if (last_now > end->last_bytes) {
		log_warning("produce: PRODUCE-NEW %s is complete; %s has grown by %" PRId64
			    " bytes: `--append` publishes them",
		    s->o->label, end->file, last_now - end->last_bytes);
	} else {
		report_nothing(s);
	}
}

/*
 * Nothing is to be done. Where the input is not that of the Ends the user should know, who may
 * think that it is published. Files that were deleted since are no failure.
 */
static enum fail_code
report_complete(const struct part *s, struct failure *f)
{
	const struct config_domain *d = &s->config->domains[s->o->domain[0]];
	const struct config_list *patterns = config_set_files(d, s->o->set);
	const struct resume *end = last_end(s);
	struct file_list *l;
	bool program = patterns->n == 0 || (end != NULL && end->files == 0 && end->document > 0);
	char *folder;
	enum fail_code code;

	if (end == NULL || d->live || program) { /* now or then: there are no files to compare */
		if (end != NULL && end->sources[0] != '\0')
			report_changed(s, end->sources);
		else
			report_nothing(s);
		return FAIL_NONE;
	}
	if (config_resolve(&folder, s->config, ".", f) != FAIL_NONE)
		return f->code;
	code = file_list_open(
	    &l, patterns, d->file_order, folder, s->o->partition, s->o->partitions, f);
	free(folder);
	if (code == FAIL_MEMORY)
		return code;
	if (code != FAIL_NONE) {
		report_changed(s, f->text);
		return FAIL_NONE;
	}
	report_files(s, l, end);
	file_list_close(l);
	return FAIL_NONE;
}

/* ---- a part that was asked to stop ---- */

const char *
part_domain(const struct part_options *o)
{
	size_t i = 0;

	while (!o->wanted[i])
		i++;
	assert(i < o->domains_n);
	return o->config->domains[o->domain[i]].name;
}

enum fail_code
part_fail_early(const struct part_options *o, struct failure *f)
{
	const char *name = part_domain(o);

	if (o->empty == NULL || !*o->empty || o->partitions > 1)
		return fail(
		    f, FAIL_STOPPED, "stopped before its first document; run it again to continue");
	return fail(f, FAIL_STOPPED,
	    "stopped before its first document; its topic is empty: run `riffle %s %s`",
	    config_publisher(o->config, name), name);
}

static enum fail_code
fail_stopped(const struct part *s, struct failure *f)
{
	if (s->last_file == NULL)
		return part_fail_early(s->o, f);
	return fail(f, FAIL_STOPPED,
	    "stopped after %" PRIu64 " document%s, at %s line %" PRIu64
	    "; run it again to continue from the last record",
	    s->progress.documents, s->progress.documents == 1 ? "" : "s", s->last_file,
	    s->last_line);
}

/* ---- from start to end ---- */

static void
flush(struct part *s)
{
	struct failure late;

	if (part_outputs_flush(s->outputs, PART_FLUSH_MS, &late) != FAIL_NONE)
		log_warning("produce: %s", late.text);
}

/* Opens the outputs. *needed: there is something to do; else says why not. */
static enum fail_code
look(struct part *s, struct input_position *from, bool *from_start, bool *needed, struct failure *f)
{
	struct part_outputs_options o = {
	    .config = s->config,
	    .tokenizer = s->o->tokenizer,
	    .domain = s->o->domain,
	    .wanted = s->o->wanted,
	    .domains_n = s->o->domains_n,
	    .set = s->o->set,
	    .append = s->o->append,
	    .seal = s->o->seal,
	    .partition = s->o->partition,
	    .partitions = s->o->partitions,
	    .stop = s->o->stop,
	};
	const struct resume *resume;
	size_t n;

	*needed = false;
	if (part_outputs_open(&s->outputs, &o, s->o->reader, f) != FAIL_NONE)
		return f->code;
	resume = part_outputs_resume(s->outputs, &n);
	resume_start(resume, n, from, from_start, needed);
	if (s->o->empty != NULL)
		*s->o->empty = is_fresh(s);
	return *needed ? FAIL_NONE : report_complete(s, f);
}

static enum fail_code
run(struct part *s, struct failure *f)
{
	struct input_position from;
	bool from_start, needed;
	enum fail_code code = look(s, &from, &from_start, &needed, f);

	if (code != FAIL_NONE || !needed)
		return code;
	if (open_all(s, &from, from_start, f) != FAIL_NONE)
		return f->code;
	code = run_input(s, f);
	if (code == FAIL_NONE)
		code = part_outputs_end(s->outputs, input_end(s->input), f);
	if (code == FAIL_DATA && s->first_reject[0] != '\0')
		report_first_reject(s, f);
	progress_end(&s->progress.bar);
	if (code == FAIL_NONE)
		report_left_out(s);
	if (code == FAIL_STOPPED)
		flush(s);
	if (code == FAIL_NONE && s->o->append && s->progress.documents == 0)
		log_info("produce: %s has nothing new: its End stays", s->o->label);
	/* Before the first document all that can be wrong with the data is their start. */
	*s->o->mismatch = code == FAIL_DATA && !from_start && s->progress.documents == 0;
	return code;
}

enum fail_code
part_look(const struct part_options *o, bool *needed, struct failure *f)
{
	struct part s = {.o = o, .config = o->config};
	struct input_position from;
	bool from_start;
	enum fail_code code;

	assert(o->partition < o->partitions);
	assert(o->domains_n > 0);
	code = look(&s, &from, &from_start, needed, f);
	if (code == FAIL_STOPPED)
		code = fail_stopped(&s, f);
	close_all(&s);
	return code;
}

enum fail_code
part_run(const struct part_options *o, struct failure *f)
{
	struct part s = {.o = o, .config = o->config};
	enum fail_code code;

	assert(o->partition < o->partitions);
	assert(o->domains_n > 0);
	assert(o->workers > 0);
	s.split = calloc(o->domains_n, sizeof(*s.split));
	s.domain = calloc(o->domains_n, sizeof(*s.domain));
	if (s.split == NULL || s.domain == NULL)
		code = fail_memory(f);
	else
		code = run(&s, f);
	if (code == FAIL_STOPPED)
		code = fail_stopped(&s, f);
	close_all(&s);
	return code;
}
