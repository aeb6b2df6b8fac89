/*
 * Checks the domain logs of live inputs: every document once, in the order that the log of arrivals
 * defines, token by token. This file reads that log by its definition (schemas/Arrivals.avsc), not
 * with the code under test.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/record/arrivals.h"
#include "common/record/frame.h"
#include "common/record/schema.h"
#include "common/record/sequence.h"
#include "tests/sim/inbox.h"
#include "tests/sim/world.h"

enum {
	STRETCHES_MAX = 512,
	TAKERS_MAX = 512,
	TOKENS_MAX = INBOX_FILES_MAX * INBOX_BYTES_MAX,
	SEQUENCE = 8, /* as the configuration has it */
	RECORDS_MAX = TOKENS_MAX / SEQUENCE + 1,
	EOS = '~',
};

/* What one part has read, in its order. */
struct stretch {
	const struct inbox_file *file;
	size_t byte, end;
};

struct order {
	struct stretch stretch[STRETCHES_MAX];
	size_t n;
};

/* What a partition of a domain must hold. */
struct expected {
	uint32_t token[TOKENS_MAX];
	size_t n, documents;
};

static char found[1024];

static const char *problem(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *
problem(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(found, sizeof(found), format, ap);
	va_end(ap);
	return found;
}

/* ---- the order ---- */

static const struct inbox_file *
file_named(struct text_view name)
{
	size_t n;
	const struct inbox_file *file = inbox_files(&n);

	for (size_t i = 0; i < n; i++)
		if (strlen(file[i].name) == name.n && memcmp(file[i].name, name.bytes, name.n) == 0)
			return &file[i];
	return NULL;
}

static const char *
add_portions(struct order *o, const struct arrivals *a)
{
	struct arrivals_portion portion[STRETCHES_MAX];

	if (o->n + a->portions_n > STRETCHES_MAX)
		return problem("more than %d portions", STRETCHES_MAX);
	arrivals_portions(a, portion);
	for (size_t i = 0; i < a->portions_n; i++) {
		struct stretch s = {file_named(portion[i].file), portion[i].byte, portion[i].end};

		if (s.file == NULL || s.byte >= s.end || s.end > s.file->n)
			return problem("arrivals: portion %zu, %.*s [%zu, %zu), is of no file",
			    o->n, (int)portion[i].file.n, portion[i].file.bytes, s.byte, s.end);
		o->stretch[o->n++] = s;
	}
	return NULL;
}

struct taker {
	uint64_t writer;
	size_t first;
};

/*
 * Reads the records that count (live_order.h): those of the writer that appended last, and of the
 * writers that took over after it. A take-over voids nothing until its writer appends.
 */
static const char *
read_order(struct order *o, const char *input)
{
	const struct cluster_partition *p = cluster_partition("c.arrivals", 0);
	struct taker taker[TAKERS_MAX];
	size_t n = 0;

	o->n = 0;
	for (int64_t i = 0; i < p->end; i++) {
		size_t k = n;
		struct arrivals a;
		struct failure f;
		const char *bad;

		if (arrivals_decode(&a, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE)
			return problem("arrivals: offset %" PRId64 ": %.200s", i, f.text);
		if (strlen(input) != a.input.n || memcmp(input, a.input.bytes, a.input.n) != 0)
			continue;
		if (a.takes_over && (a.first > o->n || n == TAKERS_MAX))
			return problem("arrivals: offset %" PRId64 ": portion %" PRIu64
				       " of %s stands where %zu belongs",
			    i, a.first, input, o->n);
		if (a.takes_over) {
			taker[n++] = (struct taker){a.writer, a.first};
			continue;
		}
		while (k > 0 && taker[k - 1].writer != a.writer)
			k--;
		if (k == 0)
			continue;
		o->n = k > 1 ? taker[k - 1].first : o->n;
		n -= k - 1;
		memmove(taker, taker + k - 1, n * sizeof(taker[0]));
		bad = add_portions(o, &a);
		if (bad != NULL)
			return bad;
	}
	return NULL;
}

void
checker_trace_arrivals(void)
{
	const struct cluster_partition *p = cluster_partition("c.arrivals", 0);

	for (int64_t i = 0; i < p->end; i++) {
		struct arrivals_portion portion[STRETCHES_MAX];
		struct arrivals a;
		struct failure f;

		if (arrivals_decode(&a, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE)
			continue;
		chance_trace("c.arrivals offset %" PRId64 ": %.*s, writer %08" PRIx32
			     " %s %" PRIu64,
		    i, (int)a.input.n, a.input.bytes, (uint32_t)a.writer,
		    a.takes_over ? "takes over at portion" : "adds portions from", a.first);
		arrivals_portions(&a, portion);
		for (size_t k = 0; k < a.portions_n; k++)
			chance_trace("  %.*s [%" PRIu64 ", %" PRIu64 ")", (int)portion[k].file.n,
			    portion[k].file.bytes, portion[k].byte, portion[k].end);
	}
}

static int
compare_names(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	return strcmp(x->file->name, y->file->name);
}

/* Nothing was read before the input was closed: files by their names, part k every n-th. */
static void
order_by_name(struct order *o, const char *ending, uint32_t part, uint32_t parts)
{
	struct order all = {.n = 0};
	size_t n;
	const struct inbox_file *file = inbox_files(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(ending, "") == 0 || strstr(file[i].name, ending) != NULL)
			all.stretch[all.n++] = (struct stretch){&file[i], 0, file[i].n};
	qsort(all.stretch, all.n, sizeof(all.stretch[0]), compare_names);
	o->n = 0;
	for (size_t i = part; i < all.n; i += parts)
		o->stretch[o->n++] = all.stretch[i];
}

/* Each byte of each file once, and in its file's order; `seen`: of each file, so far. */
static const char *
check_whole(const struct order *o, size_t *seen)
{
	size_t n;
	const struct inbox_file *file = inbox_files(&n);

	for (size_t i = 0; i < o->n; i++) {
		const struct stretch *s = &o->stretch[i];
		size_t *at = &seen[s->file - file];

		if (s->byte != *at)
			return problem("arrivals: portion %zu begins at byte %zu of %s, of which "
				       "%zu were read",
			    i, s->byte, s->file->name, *at);
		*at = s->end;
	}
	return NULL;
}

/* ---- what must be there ---- */

static void
add_document(struct expected *e, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		e->token[e->n++] = (uint8_t)text[i];
	e->token[e->n++] = EOS;
	e->documents++;
}

/* A line as inbox.c writes it: {"from":"x","text":"..."}. */
static void
add_line(struct expected *e, const char *line, size_t n, const char *from)
{
	static const char before[] = "{\"from\":\"x\",\"text\":\"", behind[] = "\"}";
	size_t first = sizeof(before) - 1, more = first + sizeof(behind) - 1;

	if (n > more && (from == NULL || line[9] == *from))
		add_document(e, line + first, n - more);
}

/* `from` of a domain of an input that is dealt out; NULL: all are its. */
static void
expect(struct expected *e, const struct order *o, const char *from)
{
	e->n = e->documents = 0;
	for (size_t i = 0; i < o->n; i++) {
		const struct stretch *s = &o->stretch[i];
		const char *at = s->file->text + s->byte, *end = s->file->text + s->end;

		if (s->file->whole)
			add_document(e, at, s->end - s->byte);
		while (!s->file->whole && at < end) {
			const char *stop = memchr(at, '\n', (size_t)(end - at));

			stop = stop == NULL ? end : stop;
			add_line(e, at, (size_t)(stop - at), from);
			at = stop + 1;
		}
	}
}

/* ---- what is there ---- */

static const char *
check_tokens(
    const struct expected *e, const struct sequence_view *s, size_t next, struct frame_codec *codec)
{
	uint32_t token[SEQUENCE + 1];
	struct failure f;

	if (s->payload.count != SEQUENCE + 1 || s->payload.used != SEQUENCE + 1 ||
	    frame_decode(codec, s->payload.frame, s->payload.frame_n, s->payload.count,
		s->payload.width, token, sizeof(token[0]), &f) != FAIL_NONE)
		return "it cannot be read";
	/* The first token is the last one of the sequence before. */
	for (size_t i = 0; i <= SEQUENCE; i++)
		if (next * SEQUENCE + i >= e->n || token[i] != e->token[next * SEQUENCE + i])
			return "other tokens than those of the documents in the order of arrivals";
	return NULL;
}

static const char *
check_end(const struct expected *e, const struct cluster_record *r, size_t next)
{
	struct sequence_end end;
	struct failure f;

	if (sequence_end_decode(&end, r->bytes, r->n, &f) != FAIL_NONE)
		return "its End cannot be read";
	if (end.sequences != next)
		return "its End counts other sequences than there are";
	if (end.documents != e->documents)
		return "its End counts other documents than were given";
	return NULL;
}

static const char *
check_record(const struct expected *e, const struct cluster_partition *p, int64_t at, int64_t *of,
    size_t *next, struct frame_codec *codec)
{
	const struct cluster_record *r = &p->record[at];
	enum schema_record which;
	struct sequence_view s;
	const char *bad;
	struct failure f;

	if (schema_which(&which, r->bytes, r->n, &f) != FAIL_NONE)
		return "no record of a domain";
	if (which == SCHEMA_END)
		return check_end(e, r, *next);
	if (which != SCHEMA_SEQUENCE || sequence_decode(&s, r->bytes, r->n, &f) != FAIL_NONE)
		return "no sequence";
	if (s.ordinal > *next || s.ordinal >= RECORDS_MAX)
		return "gap: a sequence is missing before it";
	if (s.ordinal < *next)
		return r->n == p->record[of[s.ordinal]].n &&
			       memcmp(r->bytes, p->record[of[s.ordinal]].bytes, r->n) == 0
			   ? NULL
			   : "other bytes than the sequence of its number before it";
	bad = check_tokens(e, &s, *next, codec);
	of[(*next)++] = at;
	return bad;
}

static bool
is_end(const struct cluster_record *r)
{
	enum schema_record which;
	struct failure f;

	return schema_which(&which, r->bytes, r->n, &f) == FAIL_NONE && which == SCHEMA_END;
}

static const char *
check_log(const struct world_log *l, const struct expected *e, struct frame_codec *codec)
{
	static int64_t of[RECORDS_MAX];
	const struct cluster_partition *p = cluster_partition(l->topic, l->partition);
	bool ended = false;
	size_t next = 0;

	/* What a dead producer had sent can come behind the End, once more. */
	for (int64_t i = 0; i < p->end; i++) {
		const char *bad = check_record(e, p, i, of, &next, codec);

		ended = ended || is_end(&p->record[i]);

		if (bad != NULL)
			return problem("topic %s [%" PRId32 "] offset %" PRId64 ": %s", l->topic,
			    l->partition, i, bad);
	}
	if (!ended)
		return problem("topic %s [%" PRId32 "] has no End", l->topic, l->partition);
	if (e->n >= 1 + (next + 1) * SEQUENCE)
		return problem("lost write: topic %s [%" PRId32
			       "] has %zu sequences, and the documents are %zu tokens",
		    l->topic, l->partition, next, e->n);
	return NULL;
}

/* ---- all of it ---- */

static void
name_input(char *out, size_t n, const struct world *w, const struct world_part *s)
{
	snprintf(out, n, "%s/%" PRIu32 "/%" PRIu32, w->producing->domains[s->domain[0]].name,
	    s->partition, s->partitions);
}

/* Which files the patterns of a part's input name: those with this in their names. */
static const char *
ending_of(const struct world *w, const struct world_part *s)
{
	const struct config_list *train = &w->producing->domains[s->domain[0]].train;

	return train->n > 1 ? "" : strrchr(train->text[0], '.');
}

static const char *
check_part(const struct world *w, const struct world_part *s, const struct order *o,
    struct frame_codec *codec)
{
	static struct expected e;
	const char *bad = NULL;

	for (size_t d = 0; bad == NULL && d < s->domains_n; d++) {
		expect(&e, o, w->producing->domains[s->domain[d]].where_equals);
		bad = check_log(&w->log[s->log[d]], &e, codec);
	}
	return bad;
}

bool
checker_ordered(const struct world *w)
{
	static struct order o;
	char input[64];
	bool each = true, any = false;

	for (size_t i = 0; i < w->parts_n && each; i++) {
		const struct world_part *s = &w->part[i];

		name_input(input, sizeof(input), w, s);
		any = (any && s->partition > 0) || read_order(&o, input) != NULL || o.n > 0;
		each = any || s->partition + 1 < s->partitions;
	}
	return each;
}

/* The orders of all parts. Parts of one input have orders together, or none has. */
static const char *
read_orders(struct order *order, const struct world *w)
{
	const char *bad = NULL;
	size_t ordered = 0;

	for (size_t i = 0; bad == NULL && i < w->parts_n; i++) {
		const struct world_part *s = &w->part[i];
		char input[64];

		name_input(input, sizeof(input), w, s);
		bad = read_order(&order[i], input);
		ordered = s->partition == 0 ? order[i].n : ordered + order[i].n;
		for (uint32_t k = 0;
		     ordered == 0 && s->partition + 1 == s->partitions && k < s->partitions; k++)
			order_by_name(
			    &order[i - s->partition + k], ending_of(w, s), k, s->partitions);
	}
	return bad;
}

static const char *
check_orders(const struct world *w, const struct order *order)
{
	size_t n, seen[INBOX_FILES_MAX] = {0};
	const struct inbox_file *file = inbox_files(&n);
	struct frame_codec *codec = NULL;
	const char *bad = NULL;
	struct failure f;

	for (size_t i = 0; bad == NULL && i < w->parts_n; i++)
		bad = check_whole(&order[i], seen);
	for (size_t i = 0; bad == NULL && i < n; i++)
		if (seen[i] != file[i].n)
			bad = problem("lost: %zu of %zu bytes of %s are in no order", seen[i],
			    file[i].n, file[i].name);
	if (bad == NULL && frame_codec_open(&codec, &f) != FAIL_NONE)
		bad = "no codec";
	for (size_t i = 0; bad == NULL && i < w->parts_n; i++)
		bad = check_part(w, &w->part[i], &order[i], codec);
	frame_codec_close(codec);
	return bad;
}

const char *
checker_check_inbox(const struct world *w)
{
	static struct order order[WORLD_PRODUCERS];
	const char *bad = read_orders(order, w);

	return bad == NULL ? check_orders(w, order) : bad;
}
