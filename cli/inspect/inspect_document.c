#include "cli/inspect/inspect_document.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/signals.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/nearest.h"
#include "common/base/scalar.h"
#include "common/terminal/terminal.h"
#include "consumer/domain/documents.h"
#include "consumer/ledger/ledger_log.h"
#include "consumer/plan/bound_config.h"
#include "consumer/replay/drawn.h"

enum { ASK_MS = 15000, LOG_MS = 10000 };

/* A stretch of a document that is looked for. */
struct stretch {
	size_t sequence; /* index in the list of sequences */
	uint32_t start, tokens;
	uint64_t document, offset;
	struct document_line line;
	char *source; /* owned */
};

/* What is nearest to the last part of the wanted path, or to its last two parts. */
struct path_end {
	struct nearest near;
	char word[NEAREST_BYTES_MAX + 2], offered[NEAREST_BYTES_MAX + 2],
	    best[NEAREST_BYTES_MAX + 2];
};

struct answer {
	const struct inspect_document_options *o;
	struct ledger last;
	char *corpus;
	struct drawn_sequence *sequence; /* [sequences_n] */
	size_t sequences_n, sequences_room;
	struct stretch *stretch; /* [stretches_n], by sequence; of a file only */
	size_t stretches_n, stretches_room;
	struct drawn *drawn; /* [drawn_n] */
	size_t drawn_n, drawn_room;
	struct drawn_result result;
	/* How the words may be read. */
	const char *file;
	size_t file_n; /* of `file`, without the line */
	uint64_t line; /* 0: every line */
	bool unsure;   /* a document whose line is unknown may be the one */
	/* For a name that nothing has. */
	size_t domain_n; /* of the words, in front of PARTITION/ORDINAL; 0: they are a file */
	bool file_known; /* some sequence is from the file, if not from the line */
	size_t ends_n;   /* 2 if the words name a folder, too */
	struct path_end end[2];
};

/* Makes room for one element more in *list. */
static enum fail_code
make_room(void **list, size_t n, size_t *room, size_t size, struct failure *f)
{
	size_t more = *room == 0 ? 64 : 2 * *room;
	void *grown;

	if (n < *room)
		return FAIL_NONE;
	grown = realloc(*list, more * size);
	if (grown == NULL)
		return fail_memory(f);
	*list = grown;
	*room = more;
	return FAIL_NONE;
}

static enum fail_code
add_sequence(
    struct answer *a, const char *domain, uint32_t partition, uint64_t ordinal, struct failure *f)
{
	struct drawn_sequence *to;
	void *list = a->sequence;
	enum fail_code code =
	    make_room(&list, a->sequences_n, &a->sequences_room, sizeof(*a->sequence), f);

	a->sequence = list;
	if (code != FAIL_NONE)
		return code;
	to = &a->sequence[a->sequences_n++];
	*to = (struct drawn_sequence){.partition = partition, .ordinal = ordinal};
	snprintf(to->domain, sizeof(to->domain), "%s", domain);
	return FAIL_NONE;
}

/* ---- DOMAIN/PARTITION/ORDINAL ---- */

static const struct ledger_domain *
domain_named(const struct answer *a, const char *name, size_t n)
{
	for (size_t i = 0; i < a->last.domains_n; i++) {
		const char *known = a->last.domain[i].name;

		if (known != NULL && strlen(known) == n && memcmp(known, name, n) == 0)
			return &a->last.domain[i];
	}
	return NULL;
}

/* *is: the words name a sequence of a domain that the mix has; FAIL_DATA: which there is not. */
static enum fail_code
take_sequence(struct answer *a, bool *is, struct failure *f)
{
	const char *what = a->o->what, *slash = strchr(what, '/');
	const char *second = slash == NULL ? NULL : strchr(slash + 1, '/');
	const struct ledger_domain *d;
	uint64_t partition, ordinal;
	char word[24];

	*is = false;
	if (second == NULL || (size_t)(second - slash) > sizeof(word))
		return FAIL_NONE;
	snprintf(word, sizeof(word), "%.*s", (int)(second - slash - 1), slash + 1);
	if (scalar_count(word, 0, UINT32_MAX, &partition) != SCALAR_OK ||
	    scalar_count(second + 1, 0, INT64_MAX, &ordinal) != SCALAR_OK)
		return FAIL_NONE;
	d = domain_named(a, what, (size_t)(slash - what));
	if (d == NULL) {
		a->domain_n = (size_t)(slash - what);
		return FAIL_NONE;
	}
	*is = true;
	if (partition >= d->partitions_n)
		return fail(f, FAIL_DATA, "domain %s has no partition %" PRIu64 " (0 to %zu)",
		    d->name, partition, d->partitions_n - 1);
	if (ordinal >= (uint64_t)d->partition[partition].sequences_next)
		return fail(f, FAIL_DATA,
		    "%s/%" PRIu64 " has the ordinals 0..%" PRId64 " as far as mix %s knows, not "
		    "%" PRIu64,
		    d->name, partition, d->partition[partition].sequences_next, a->o->mix, ordinal);
	return add_sequence(a, d->name, (uint32_t)partition, ordinal, f);
}

/* ---- FILE[:LINE] ---- */

/* Whether a source is the file of that name, or ends in it from a slash on. */
static bool
is_file(struct text_view source, const char *file, size_t n)
{
	return n > 0 && source.n >= n && memcmp(source.bytes + source.n - n, file, n) == 0 &&
	       (source.n == n || source.bytes[source.n - n - 1] == '/');
}

/* Copies the last `parts` > 0 parts of a path of n bytes; what is too long to be near is cut. */
static void
copy_path_end(char out[static NEAREST_BYTES_MAX + 2], const char *path, size_t n, size_t parts)
{
	size_t skip = n;

	while (skip > 0 && (path[skip - 1] != '/' || --parts > 0))
		skip--;
	snprintf(out, NEAREST_BYTES_MAX + 2, "%.*s", (int)(n - skip), path + skip);
}

/* Sequences of one file stand together, so most names are the one that was offered last. */
static void
offer_file(struct path_end *e, size_t parts, struct text_view source)
{
	char name[sizeof(e->offered)];

	copy_path_end(name, source.bytes, source.n, parts);
	if (strcmp(name, e->offered) == 0)
		return;
	memcpy(e->offered, name, sizeof(name));
	nearest_offer(&e->near, e->offered);
	if (e->near.best == e->offered) {
		memcpy(e->best, name, sizeof(name));
		e->near.best = e->best;
	}
}

/* A name can end in a colon and digits itself: then those are no line. */
static bool
is_wanted(struct answer *a, struct text_view source, const struct document_line *l)
{
	if (is_file(source, a->file, strlen(a->file)))
		return true;
	if (a->line == 0 || !is_file(source, a->file, a->file_n)) {
		for (size_t i = 0; i < a->ends_n; i++)
			offer_file(&a->end[i], i + 1, source);
		return false;
	}
	a->file_known = true;
	a->unsure = a->unsure || l->line == 0;
	return l->line == a->line;
}

static enum fail_code
add_stretch(struct answer *a, const struct documents_sequence *s, size_t i, struct failure *f)
{
	const struct sequence_span *span = &s->span[i];
	uint32_t end = i + 1 < s->spans_n ? s->span[i + 1].start : s->used;
	struct text_view source = s->source[span->source];
	struct stretch *to;
	void *list = a->stretch;
	enum fail_code code =
	    make_room(&list, a->stretches_n, &a->stretches_room, sizeof(*a->stretch), f);

	a->stretch = list;
	if (code != FAIL_NONE)
		return code;
	to = &a->stretch[a->stretches_n];
	*to = (struct stretch){.sequence = a->sequences_n - 1,
	    .start = span->start,
	    .tokens = end - span->start,
	    .document = span->document,
	    .offset = span->offset,
	    .line = s->line[i],
	    .source = strndup(source.bytes, source.n)};
	if (to->source == NULL)
		return fail_memory(f);
	a->stretches_n++;
	return FAIL_NONE;
}

static enum fail_code
scan_partition(struct answer *a, struct documents *d, const char *domain, uint32_t partition,
    struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	int64_t logged_ms = clock_ms();
	bool there;

	names_domain_topic(topic, a->corpus, domain, SET_TRAIN);
	if (documents_seek(d, topic, (int32_t)partition, 0, f) != FAIL_NONE)
		return f->code;
	for (;;) {
		struct documents_sequence s;
		bool any = false;

		if (documents_next(d, &s, &there, f) != FAIL_NONE)
			return f->code;
		if (!there)
			return FAIL_NONE;
		for (size_t i = 0; i < s.spans_n; i++) {
			if (!is_wanted(a, s.source[s.span[i].source], &s.line[i]))
				continue;
			if ((!any &&
				add_sequence(a, domain, partition, s.ordinal, f) != FAIL_NONE) ||
			    add_stretch(a, &s, i, f) != FAIL_NONE)
				return f->code;
			any = true;
		}
		if (clock_ms() - logged_ms >= LOG_MS) {
			logged_ms = clock_ms();
			log_info("inspect: looking through domain=%s partition=%" PRIu32
				 " ordinal=%" PRIu64,
			    domain, partition, s.ordinal);
		}
	}
}

/* Nothing holds the document. FAIL_USAGE: nor does the mix have such a domain, or file. */
static enum fail_code
fail_not_found(const struct answer *a, struct failure *f)
{
	const char *mix = a->o->mix, *what = a->o->what;
	char domain[NAME_MAX_BYTES + 1], meant[FAILURE_TEXT_MAX];
	const struct path_end *e = &a->end[a->ends_n - 1];
	struct nearest near;

	if (a->domain_n > 0 && a->domain_n < sizeof(domain)) {
		snprintf(domain, sizeof(domain), "%.*s", (int)a->domain_n, what);
		fail(f, FAIL_USAGE, "no file ends in %s, and mix %s has no domain %s", what, mix,
		    domain);
		return ledger_fail_domains(&a->last, domain, f);
	}
	if (!a->file_known) {
		fail(f, FAIL_USAGE, "no training sequence of mix %s is from a file %.*s", mix,
		    (int)a->file_n, what);
		near = (e->near.best == NULL ? a->end : e)->near;
		snprintf(meant, sizeof(meant), "%s%s", near.best == NULL ? "" : near.best,
		    what + a->file_n);
		near.best = near.best == NULL ? NULL : meant;
		nearest_fail_more(&near, "", f);
		return fail_more(f,
		    "; `riffle inspect 0` shows the files of step 0, `riffle rejects` what was "
		    "not used, and documents of validation and test sets are not drawn");
	}
	return fail(f, FAIL_DATA,
	    "no training sequence of mix %s holds a document of %s%s; `riffle rejects` lists what "
	    "was not used, and documents of validation and test sets are not drawn",
	    mix, what,
	    a->unsure ? " for certain: the lines of some documents of that file are not known"
		      : "");
}

static enum fail_code
scan(struct answer *a, struct failure *f)
{
	const char *colon = strrchr(a->o->what, ':');
	struct documents *d;
	enum fail_code code;

	a->file = a->o->what;
	if (colon != NULL && scalar_count(colon + 1, 1, INT64_MAX, &a->line) == SCALAR_OK)
		a->file_n = (size_t)(colon - a->o->what);
	else
		a->line = 0, a->file_n = strlen(a->file);
	a->ends_n = memchr(a->file, '/', a->file_n) == NULL ? 1 : 2;
	for (size_t i = 0; i < a->ends_n; i++) {
		copy_path_end(a->end[i].word, a->file, a->file_n, i + 1);
		nearest_init(&a->end[i].near, a->end[i].word);
	}
	code = documents_open(&d, &a->o->config->kafka, signals_stop(), ASK_MS, f);
	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; code == FAIL_NONE && i < a->last.domains_n; i++)
		for (uint32_t p = 0; code == FAIL_NONE && p < a->last.domain[i].partitions_n; p++)
			code = scan_partition(a, d, a->last.domain[i].name, p, f);
	documents_close(d);
	if (code != FAIL_NONE || a->sequences_n > 0)
		return code;
	return fail_not_found(a, f);
}

/* ---- what comes of it ---- */

static enum fail_code
keep(void *answer, const struct drawn *d, struct failure *f)
{
	struct answer *a = answer;
	void *list = a->drawn;
	enum fail_code code = make_room(&list, a->drawn_n, &a->drawn_room, sizeof(*a->drawn), f);

	a->drawn = list;
	if (code == FAIL_NONE)
		a->drawn[a->drawn_n++] = *d;
	return code;
}

static int
by_step(const void *x, const void *y)
{
	const struct drawn *a = x, *b = y;

	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* The stretches of a sequence; they stand together. */
static const struct stretch *
stretches_of(const struct answer *a, size_t sequence, size_t *n)
{
	size_t low = 0, high = a->stretches_n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->stretch[middle].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	for (*n = 0; low + *n < a->stretches_n && a->stretch[low + *n].sequence == sequence;)
		++*n;
	return &a->stretch[low];
}

static void
print_place(const struct answer *a, const struct drawn *d)
{
	const struct drawn_sequence *q = &a->sequence[d->sequence];

	printf("%" PRIu64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu64 "\t%s\t%" PRIu32 "\t%" PRIu64
	       "\t%s",
	    d->step, d->lane, d->slot, d->epoch, q->domain, q->partition, q->ordinal,
	    d->planned ? "planned" : "published");
}

static void
print_text(const struct answer *a)
{
	fputs("step\tlane\tslot\tepoch\tdomain\tpartition\tordinal\tstate", stdout);
	puts(a->stretches_n > 0 ? "\tstart\ttokens\tsource\tdocument\toffset\tline" : "");
	for (size_t i = 0; i < a->drawn_n; i++) {
		size_t n;
		const struct stretch *s = stretches_of(a, a->drawn[i].sequence, &n);

		for (size_t k = 0; k < n; k++) {
			print_place(a, &a->drawn[i]);
			printf("\t%" PRIu32 "\t%" PRIu32 "\t", s[k].start, s[k].tokens);
			terminal_print(stdout, TEXT_LINE, s[k].source, strlen(s[k].source));
			printf("\t%" PRIu64 "\t%" PRIu64 "\t", s[k].document, s[k].offset);
			if (s[k].line.line == 0)
				puts("-");
			else
				printf(
				    "%s%" PRIu64 "\n", s[k].line.exact ? "" : "~", s[k].line.line);
		}
		if (n == 0) {
			print_place(a, &a->drawn[i]);
			putchar('\n');
		}
	}
}

static json_t *
sequence_json(const struct answer *a, size_t i)
{
	const struct drawn_sequence *q = &a->sequence[i];
	json_t *documents = json_array(), *draws = json_array();
	size_t n;
	const struct stretch *s = stretches_of(a, i, &n);

	for (size_t k = 0; k < n; k++)
		json_array_append_new(documents,
		    json_pack("{s:I, s:I, s:o, s:I, s:I, s:o, s:b}", "start",
			(json_int_t)s[k].start, "tokens", (json_int_t)s[k].tokens, "source",
			json_print_text(s[k].source), "document", (json_int_t)s[k].document,
			"offset", (json_int_t)s[k].offset, "line",
			s[k].line.line == 0 ? json_null()
					    : json_integer((json_int_t)s[k].line.line),
			"line_exact", (int)s[k].line.exact));
	for (size_t k = 0; k < a->drawn_n; k++)
		if (a->drawn[k].sequence == i)
			json_array_append_new(draws,
			    json_pack("{s:I, s:I, s:I, s:I, s:b}", "step",
				(json_int_t)a->drawn[k].step, "lane", (json_int_t)a->drawn[k].lane,
				"slot", (json_int_t)a->drawn[k].slot, "epoch",
				(json_int_t)a->drawn[k].epoch, "planned",
				(int)a->drawn[k].planned));
	return json_pack("{s:s, s:I, s:I, s:o, s:o}", "domain", q->domain, "partition",
	    (json_int_t)q->partition, "ordinal", (json_int_t)q->ordinal, "documents", documents,
	    "draws", draws);
}

static enum fail_code
print_json(const struct answer *a, struct failure *f)
{
	const struct drawn_result *r = &a->result;
	json_t *all = json_array();

	for (size_t i = 0; i < a->sequences_n; i++)
		json_array_append_new(all, sequence_json(a, i));
	return json_print(
	    json_pack("{s:s, s:o, s:I, s:o, s:b, s:o, s:o}", "mix", a->o->mix, "document",
		json_print_text(a->o->what), "published", (json_int_t)r->published, "planned_end",
		a->o->plan ? json_integer((json_int_t)r->planned_end) : json_null(), "ended",
		(int)r->ended, "dry", r->dry[0] == '\0' ? json_null() : json_string(r->dry),
		"sequences", all),
	    JSON_INDENT(1) | JSON_PRESERVE_ORDER, stdout, f);
}

/* What the table does not say. */
static void
log_bounds(const struct answer *a)
{
	const struct drawn_result *r = &a->result;

	if (a->drawn_n == 0)
		log_info("inspect: %zu sequences hold it, and none of them was drawn in the steps "
			 "looked at",
		    a->sequences_n);
	if (r->full && a->o->plan)
		log_info("inspect: weights count tokens: to come, all sequences were taken to be "
			 "full, and the steps are likely only");
	if (r->dry[0] != '\0')
		log_info("inspect: from step %" PRIu64
			 " on the order depends on what is published to the live domain %s",
		    r->planned_end, r->dry);
	else if (r->ended && a->o->plan)
		log_info("inspect: the mix ends at step %" PRIu64, r->planned_end);
}

static enum fail_code
ask_ledger(struct answer *a, struct failure *f)
{
	bool any;
	enum fail_code code =
	    ledger_log_ask(&a->last, &any, a->o->mix, &a->o->config->kafka, ASK_MS, f);

	if (code == FAIL_NONE && !any)
		code = fail(f, FAIL_DATA, "mix %s has not started: its ledger is empty", a->o->mix);
	if (code == FAIL_NONE)
		code = bound_config_corpus(&a->corpus, a->last.config, f);
	return code;
}

static enum fail_code
find(struct answer *a, struct failure *f)
{
	struct drawn_options o = {.config = a->o->config,
	    .mix = a->o->mix,
	    .first = a->o->first,
	    .end = a->o->end,
	    .plan = a->o->plan,
	    .stop = signals_stop(),
	    .found = keep,
	    .opaque = a};
	bool is;

	if (ask_ledger(a, f) != FAIL_NONE || take_sequence(a, &is, f) != FAIL_NONE ||
	    (!is && scan(a, f) != FAIL_NONE))
		return f->code;
	o.sequence = a->sequence;
	o.n = a->sequences_n;
	if (drawn_find(&o, &a->result, f) != FAIL_NONE)
		return f->code;
	if (a->drawn_n > 1)
		qsort(a->drawn, a->drawn_n, sizeof(*a->drawn), by_step);
	return FAIL_NONE;
}

enum fail_code
inspect_document(const struct inspect_document_options *o, struct failure *f)
{
	struct answer a = {.o = o};
	enum fail_code code = find(&a, f);

	if (code == FAIL_NONE && o->json)
		code = print_json(&a, f);
	else if (code == FAIL_NONE) {
		print_text(&a);
		log_bounds(&a);
	}
	for (size_t i = 0; i < a.stretches_n; i++)
		free(a.stretch[i].source);
	free(a.stretch);
	free(a.sequence);
	free(a.drawn);
	free(a.corpus);
	ledger_clear(&a.last);
	return code;
}
