#include "producer/produce/source_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_field.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "producer/document/router.h"
#include "producer/document/token_record.h"
#include "producer/input/file_list.h"
#include "producer/input/input.h"
#include "producer/input/token_file.h"
#include "producer/produce/produce.h"

enum { WHERE, TEXT, RESPONSE, TOKENS, FIELDS, KEYS_SHOWN_MAX = 200 };
enum { CHECK_BYTES_MAX = 16 << 20 }; /* of large records fewer are read */

/* A domain whose first records are read. */
struct look {
	const struct config *c;
	const struct config_domain *d;
	const char *folder;
	bool quiet; /* the warnings of who reads the files after this check are left to it */
	const char *path[FIELDS]; /* [n], of the fields that it needs */
	int field[FIELDS];        /* [n], which ones these are */
	size_t n;
	bool found[FIELDS]; /* [n]: some record has it, as a text where a text is needed */
	char other[FIELDS]; /* [n]: else how the first value that is no text begins */
	size_t own;         /* records that are this domain's by `where` */
};

static enum fail_code
fail_key(const struct look *l, const char *key, struct failure *f)
{
	return config_fail_domain(l->c, l->d, key, f);
}

static void
need_field(struct look *l, int field, const char *path)
{
	if (path == NULL)
		return;
	l->field[l->n] = field;
	l->path[l->n++] = path;
}

static const char *
key_of(const struct look *l, int field)
{
	static const char *const names[FIELDS] = {"where.field", "text", "response", "tokens"};

	return field == TEXT && l->d->prompt != NULL ? "prompt" : names[field];
}

/*
 * The keys of a record, for a user who named one that is missing. Those of the object that the
 * dotted path leads into, in the form of a path: "meta.file" for `meta` and for `meta.fil`.
 */
static void
list_keys(char out[static KEYS_SHOWN_MAX], const struct chunk_record *r, const char *path)
{
	json_t *record = json_loadb(r->bytes, r->n, 0, NULL), *object = record, *value;
	const char *key, *rest = path;
	size_t used = 0, n = strcspn(rest, ".");

	while (n > 0 && json_is_object(value = json_object_getn(object, rest, n))) {
		object = value;
		rest += n + (rest[n] == '.');
		n = strcspn(rest, ".");
	}
	out[0] = '\0';
	json_object_foreach(object, key, value)
	{
		if (used + (size_t)(rest - path) + strlen(key) + sizeof(", ...") > KEYS_SHOWN_MAX) {
			snprintf(out + used, KEYS_SHOWN_MAX - used, ", ...");
			break;
		}
		used += (size_t)snprintf(out + used, KEYS_SHOWN_MAX - used, "%s%.*s%s%s",
		    used == 0 ? "" : ", ", (int)(rest - path), path,
		    rest > path && rest[-1] != '.' ? "." : "", key);
	}
	json_decref(record);
}

/* Whether a list begins as one of ids does: lists of lists are what some tokenizers print. */
static bool
is_id_list(const char *raw, size_t n)
{
	size_t at = 1;

	while (at < n && strchr(" \t", raw[at]) != NULL)
		at++;
	return raw[0] == '[' && at < n && (raw[at] == ']' || (raw[at] >= '0' && raw[at] <= '9'));
}

/* Whether a document can be made of the value. */
static bool
is_source(int field, const struct json_field_value *v)
{
	return field == TOKENS ? v->found == JSON_FIELD_OTHER && is_id_list(v->raw, v->n)
			       : v->found == JSON_FIELD_STRING;
}

/* A record of tokens has a field of a name that nothing reads: a mask, for example. */
static enum fail_code
fail_unknown(const struct look *l, const struct chunk_record *r, struct failure *f)
{
	struct text_view key = token_record_unknown(r->bytes, r->n, l->d->where_field);

	if (key.bytes == NULL)
		return FAIL_NONE;
	return fail(f, FAIL_DATA, TOKEN_RECORD_UNKNOWN,
	    (int)(key.n < TOKEN_RECORD_KEY_MAX ? key.n : TOKEN_RECORD_KEY_MAX), key.bytes);
}

/* Notes which fields one record has. FAIL_DATA: it is no JSON object. */
static enum fail_code
look_at_record(struct look *l, const struct json_field_paths *paths, struct json_field_scratch *s,
    const struct chunk_record *r, struct failure *f)
{
	struct json_field_value value[FIELDS];
	bool own = true;

	if (json_field_read(paths, s, r->bytes, r->n, value, f) != FAIL_NONE)
		return fail_more(f, "%s", router_json_hint(router_json_kind(r->bytes, r->n)));
	for (size_t i = 0; i < l->n; i++)
		if (l->field[i] == WHERE) {
			l->found[i] = l->found[i] || value[i].found != JSON_FIELD_MISSING;
			own = value[i].found != JSON_FIELD_MISSING &&
			      value[i].n == strlen(l->d->where_equals) &&
			      memcmp(value[i].bytes, l->d->where_equals, value[i].n) == 0;
		}
	l->own += own;
	for (size_t i = 0; i < l->n; i++) {
		bool has = own && l->field[i] != WHERE && is_source(l->field[i], &value[i]);

		if (has && l->field[i] == TOKENS && fail_unknown(l, r, f) != FAIL_NONE)
			return f->code;
		l->found[i] = l->found[i] || has;
		if (own && value[i].found == JSON_FIELD_OTHER && l->other[i] == '\0')
			l->other[i] = *value[i].raw;
	}
	return FAIL_NONE;
}

/* What a JSON value that begins with `first` is, and is no text. */
static const char *
kind_of(char first)
{
	switch (first) {
	case 'n': return "null";
	case '{': return "an object";
	case '[': return "a list";
	case 't':
	case 'f': return "true or false";
	default: return "a number";
	}
}

/*
 * Whether a record opens an array or object that continues in the next lines. Some lines of such a
 * file are objects, such as the last item of an array.
 */
static bool
opens_more(const struct chunk_record *r)
{
	size_t n = r->reject == NULL ? r->n : 0;

	while (n > 0 && strchr(" \t\r", r->bytes[n - 1]) != NULL && r->bytes[n - 1] != '\0')
		n--;
	if (n == 0 || r->bytes[n - 1] == ']' || r->bytes[n - 1] == '}')
		return false;
	switch (router_json_kind(r->bytes, n)) {
	case ROUTER_JSON_ARRAY:
	case ROUTER_JSON_OBJECT: return true;
	case ROUTER_JSON_NUMBER:
	case ROUTER_JSON_BINARY:
	case ROUTER_JSON_OTHER: return false;
	}
	return false;
}

/* What the records that were read do not have. */
static enum fail_code
fail_missing(const struct look *l, const struct chunk *chunk, size_t read, struct failure *f)
{
	static const char *const what[FIELDS] = {
	    "", " with a text", " with a text", " with a list of ids"};

	for (size_t i = 0; i < l->n; i++) {
		char keys[KEYS_SHOWN_MAX];

		if (l->found[i] || (l->field[i] != WHERE && l->own == 0))
			continue;
		list_keys(keys, &chunk->record[0], l->path[i]);
		if (l->other[i] != '\0' && l->field[i] != TOKENS)
			fail(f, FAIL_CONFIG, "field `%s` holds %s, not a text,", l->path[i],
			    kind_of(l->other[i]));
		else
			fail(f, FAIL_CONFIG, "no field `%s`%s", l->path[i], what[l->field[i]]);
		fail_more(f, " in the first %zu record%s of %s; the first has: %s", read,
		    read == 1 ? "" : "s", chunk->file, keys);
		return fail_key(l, key_of(l, l->field[i]), f);
	}
	return FAIL_NONE;
}

static bool
is_same_list(const struct config_list *a, const struct config_list *b)
{
	size_t i = 0;

	while (i < a->n && i < b->n && strcmp(a->text[i], b->text[i]) == 0)
		i++;
	return i == a->n && i == b->n;
}

/* Whether another domain reads the same files: then records that are not this one's are its. */
static bool
is_shared(const struct look *l)
{
	for (size_t i = 0; i < l->c->domains_n; i++)
		if (&l->c->domains[i] != l->d &&
		    is_same_list(&l->c->domains[i].train, &l->d->train))
			return true;
	return false;
}

/* What becomes of the first records when they are published. */
struct verdicts {
	size_t n, rejects, garbled, unmatched;
	uint64_t bytes; /* of the files that were read for it, as stored */
	/* The first reject, or the one that breaks a file off. */
	const char *file;
	uint64_t line;
	bool breaks_off;
	char reason[ROUTER_REASON_MAX];
	const char *garbled_file;
};

static void
add_verdict(struct verdicts *v, const struct chunk *chunk, const struct chunk_record *record,
    const struct router_result *r)
{
	v->n++;
	v->unmatched += r->verdict == ROUTER_UNMATCHED;
	if (r->garbled && v->garbled++ == 0)
		v->garbled_file = chunk->file;
	if (r->verdict != ROUTER_REJECT || (v->rejects++ > 0 && !record->breaks_off))
		return;
	v->file = chunk->file;
	v->line = record->line;
	v->breaks_off = record->breaks_off;
	snprintf(v->reason, sizeof(v->reason), "%s", r->reason);
}

static enum fail_code
judge_records(
    struct verdicts *v, const struct look *l, const struct chunk *chunk, struct failure *f)
{
	struct router *r = NULL;
	struct router_scratch *s = NULL;
	struct router_result result;
	enum fail_code code = router_open(&r, &l->d, 1, l->c->utf8, f);

	if (code == FAIL_NONE)
		code = router_scratch_open(&s, f);
	for (size_t i = 0; i < chunk->n && v->n < SOURCE_CHECK_RECORDS && code == FAIL_NONE; i++) {
		code = router_route(r, s, chunk->form, &chunk->record[i], &result, f);
		if (code == FAIL_NONE)
			add_verdict(v, chunk, &chunk->record[i], &result);
	}
	v->bytes += chunk->input_bytes;
	router_scratch_close(s);
	router_close(r);
	return code;
}

/* More rejects than are allowed are a failure, fewer a warning. */
static enum fail_code
report_rejects(const struct look *l, const struct verdicts *v, struct failure *f)
{
	const double allowed = l->c->max_rejects;
	char most[64] = "";

	if (v->breaks_off && allowed < 1) {
		fail(f, FAIL_DATA, "%s:%" PRIu64 ": %s", v->file, v->line, v->reason);
		return fail_key(l, "train", f);
	}
	if (l->c->on_reject == CONFIG_REJECT_STOP)
		snprintf(most, sizeof(most), ", which on_reject: stop does not allow");
	else if ((double)v->rejects > allowed * (double)v->n)
		snprintf(
		    most, sizeof(most), ", more than max_rejects allows (%g %%)", 100 * allowed);
	fail(f, FAIL_DATA,
	    "%zu of the first %zu record%s would be rejected%s; the first is %s:%" PRIu64 ": %s",
	    v->rejects, v->n, v->n == 1 ? "" : "s", most, v->file, v->line, v->reason);
	fail_key(l, "train", f);
	if (most[0] != '\0')
		return f->code;
	log_warning("config: CONFIG-REJECTS %s", f->text);
	return FAIL_NONE;
}

/* Says what `riffle produce` would do with the first records. */
static enum fail_code
report_records(const struct look *l, const struct verdicts *v, struct failure *f)
{
	const char *s = v->n == 1 ? "" : "s";
	struct failure why;

	if (v->rejects > 0 && report_rejects(l, v, f) != FAIL_NONE)
		return f->code;
	if (v->garbled > 0) {
		fail(&why, FAIL_DATA,
		    "%zu of the first %zu record%s %s not UTF-8, as in %s, and bytes would become "
		    "U+FFFD. " ROUTER_CONVERT,
		    v->garbled, v->n, s, v->garbled == 1 ? "is" : "are", v->garbled_file);
		fail_key(l, "train", &why);
		log_warning("config: CONFIG-ENCODING %s", why.text);
	}
	if (v->n > 0 && v->unmatched == v->n && !is_shared(l)) {
		fail(&why, FAIL_DATA, "none of the first %zu record%s has %s = \"%s\"", v->n, s,
		    l->d->where_field, l->d->where_equals);
		fail_key(l, "where.equals", &why);
		log_warning("config: CONFIG-UNMATCHED %s", why.text);
	}
	return FAIL_NONE;
}

static enum fail_code
look_at_chunk(struct look *l, const struct chunk *chunk, struct failure *f)
{
	struct json_field_paths *paths = NULL;
	struct json_field_scratch *s = NULL;
	struct failure why = {0};
	size_t n = chunk->n < SOURCE_CHECK_RECORDS ? chunk->n : SOURCE_CHECK_RECORDS, read = 0;
	enum fail_code code = FAIL_NONE;

	if (chunk->form != CHUNK_JSON_LINES && chunk->record[0].reject == NULL)
		return FAIL_NONE;
	if (json_field_paths_open(&paths, l->path, l->n, f) != FAIL_NONE ||
	    json_field_scratch_open(&s, f) != FAIL_NONE)
		code = f->code;
	for (size_t i = 0; i < n && code == FAIL_NONE; i++) {
		const struct chunk_record *r = &chunk->record[i];
		struct failure *into = why.code == FAIL_NONE ? &why : f;

		if (r->reject != NULL) {
			if (why.code == FAIL_NONE)
				fail(&why, FAIL_DATA, "%s", r->reject);
		} else if (look_at_record(l, paths, s, r, into) == FAIL_NONE) {
			read++;
		} else if (into->code == FAIL_MEMORY) {
			code = fail_memory(f);
		}
	}
	if (code == FAIL_NONE && read == 0 && why.code != FAIL_NONE) {
		if (chunk->record[0].breaks_off)
			fail(f, FAIL_DATA, "%s cannot be read: %s", chunk->file, why.text);
		else
			fail(f, FAIL_DATA,
			    "none of the first %zu records of %s can be read; the first: %s%s", n,
			    chunk->file, why.text, router_csv_hint(chunk->file, &chunk->record[0]));
		code = fail_key(l, "train", f);
	} else if (code == FAIL_NONE && opens_more(&chunk->record[0])) {
		fail(f, FAIL_DATA, "the first record of %s cannot be read: %s", chunk->file,
		    why.text);
		code = fail_key(l, "train", f);
	}
	if (code == FAIL_NONE && read > 0)
		code = fail_missing(l, chunk, n, f);
	json_field_scratch_close(s);
	json_field_paths_close(paths);
	return code;
}

/* Reads the first records of files that hold text. */
static enum fail_code
look_at_text(struct look *l, const struct config_list *patterns, struct failure *f)
{
	struct input_options o = {.patterns = patterns,
	    .file_order = l->d->file_order,
	    .folder = l->folder,
	    .partitions = 1,
	    .max_document_bytes = l->c->max_document_bytes};
	struct verdicts v = {0};
	struct input *in;
	struct chunk *chunk = NULL;
	enum fail_code code;

	if (input_open(&in, &o, NULL, f) != FAIL_NONE)
		return fail_key(l, "train", f);
	code = input_next(in, &chunk, f);
	if (code != FAIL_NONE)
		code = fail_key(l, "train", f);
	else if (chunk != NULL)
		code = look_at_chunk(l, chunk, f);
	else if (!l->d->live) {
		input_fail_empty(input_end(in), f, "its input");
		code = fail_key(l, "train", f);
	}
	/* The last file of a live domain may be half written. */
	while (code == FAIL_NONE && chunk != NULL && !l->quiet && !l->d->live) {
		code = judge_records(&v, l, chunk, f);
		chunk_close(chunk);
		chunk = NULL;
		if (code == FAIL_NONE && v.n < SOURCE_CHECK_RECORDS && v.bytes < CHECK_BYTES_MAX &&
		    input_next(in, &chunk, f) != FAIL_NONE)
			code = fail_key(l, "train", f);
	}
	if (code == FAIL_NONE)
		code = report_records(l, &v, f);
	chunk_close(chunk);
	input_close(in);
	return code;
}

/* How many files a live domain has at the moment. */
static enum fail_code
count_now(const struct look *l, size_t *n, struct failure *f)
{
	struct file_list_now now = {
	    .patterns = &l->d->train, .folder = l->folder, .partition = 0, .partitions = 1};
	struct file_list *files;

	if (file_list_scan(&files, &now, f) != FAIL_NONE)
		return fail_key(l, "train", f);
	*n = files->n;
	file_list_close(files);
	return FAIL_NONE;
}

static enum fail_code
find_files(
    const struct look *l, const struct config_list *patterns, const char *key, struct failure *f)
{
	struct file_list *files = NULL;

	if (file_list_open(&files, patterns, l->d->file_order, l->folder, 0, 1, f) != FAIL_NONE)
		return fail_key(l, key, f);
	file_list_close(files);
	return FAIL_NONE;
}

/* Opens one file of tokens, which checks its header and the sizes of it and its index. */
static enum fail_code
open_tokens(const struct look *l, const char *name, struct failure *f)
{
	struct token_file_options o = {.name = name,
	    .format = l->d->tokens,
	    .token_bytes = 2 * (unsigned)l->d->token_bytes,
	    .max_document_bytes = l->c->max_document_bytes,
	    .quiet = l->quiet};
	struct token_file *file = NULL;
	char *path = NULL;
	enum fail_code code = config_resolve(&path, l->c, name, f);

	o.path = path;
	if (code == FAIL_NONE)
		code = token_file_open(&file, &o, f);
	token_file_close(file);
	free(path);
	return code;
}

static enum fail_code
look_at_tokens(
    const struct look *l, const struct config_list *patterns, const char *key, struct failure *f)
{
	struct file_list *files = NULL;
	enum fail_code code = patterns->n == 0 ? FAIL_NONE
					       : file_list_open(&files, patterns, l->d->file_order,
						     l->folder, 0, 1, f);

	for (size_t i = 0; code == FAIL_NONE && files != NULL && i < files->n; i++)
		code = open_tokens(l, files->file[i].name, f);
	file_list_close(files);
	return code == FAIL_NONE ? FAIL_NONE : fail_key(l, key, f);
}

static enum fail_code
look_at_all_tokens(const struct look *l, struct failure *f)
{
	for (int set = SET_TRAIN; set < SETS_COUNT; set++)
		if (look_at_tokens(l, config_set_files(l->d, (enum names_set)set),
			names_set_text[set], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

static enum fail_code
check_domain(struct look *l, struct failure *f)
{
	const struct config_domain *d = l->d;
	size_t n = 1;

	if (token_format_is_file(d->tokens))
		return look_at_all_tokens(l, f);
	if ((d->valid.n > 0 && find_files(l, &d->valid, "valid", f) != FAIL_NONE) ||
	    (d->test.n > 0 && find_files(l, &d->test, "test", f) != FAIL_NONE))
		return f->code;
	if (d->exec != NULL)
		return FAIL_NONE;
	if (d->live && count_now(l, &n, f) != FAIL_NONE)
		return f->code;
	if (n == 0)
		return FAIL_NONE;
	need_field(l, WHERE, d->where_field);
	if (d->tokens == TOKEN_FORMAT_JSONL) {
		need_field(l, TOKENS, TOKEN_RECORD_TOKENS);
	} else {
		need_field(l, TEXT, d->prompt != NULL ? d->prompt : d->text);
		need_field(l, RESPONSE, d->response);
	}
	return look_at_text(l, &d->train, f);
}

/* A list with `shuffle: none` is most likely a curriculum, whose order the user means to keep. */
static enum fail_code
warn_file_order(const struct look *l, struct failure *f)
{
	const struct config_domain *d = l->d;
	struct failure why;
	struct file_list *files;

	if (d->shuffle != MIX_SHUFFLE_NONE || d->live || d->train.n == 0 ||
	    d->file_order != CONFIG_FILES_BY_NAME)
		return FAIL_NONE;
	if (file_list_open(&files, &d->train, CONFIG_FILES_LISTED, l->folder, 0, 1, f) != FAIL_NONE)
		return fail_key(l, "train", f);
	for (size_t i = 1; i < files->n; i++) {
		const char *before = files->file[i - 1].name, *after = files->file[i].name;

		if (strcmp(before, after) < 0)
			continue;
		fail(&why, FAIL_CONFIG,
		    "%s is listed before %s, but files are read in the order of their names, and "
		    "shuffle: none keeps that order. For the order of the list add the line "
		    "`file_order: listed` to the domain",
		    before, after);
		fail_key(l, "train", &why);
		log_warning("config: CONFIG-FILE-ORDER %s", why.text);
		break;
	}
	file_list_close(files);
	return FAIL_NONE;
}

static enum fail_code
check_tokenizer(const struct config *c, bool quiet, struct failure *f)
{
	struct tokenizer *t = NULL;

	if (produce_open_tokenizer(&t, c, f) != FAIL_NONE)
		return fail_within(f, "%s", c->path);
	if (!quiet)
		produce_warn_eos(c, t);
	tokenizer_close(t);
	return FAIL_NONE;
}

/* None named: all are. */
static bool
is_wanted(const char *name, char *const *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(wanted[i], name) == 0)
			return true;
	return n == 0;
}

/* ---- files that are read as two inputs ---- */

/* A file, and as what it is read. */
struct taken {
	const struct file_list_entry *file; /* of the list that has it */
	const struct config_domain *d;
	enum names_set set;
};

struct inputs {
	struct file_list **list; /* [lists_n], owned */
	size_t lists_n;
	struct taken *taken; /* [n], owned */
	size_t n;
};

static void
close_inputs(struct inputs *in)
{
	for (size_t i = 0; i < in->lists_n; i++)
		file_list_close(in->list[i]);
	free(in->list);
	free(in->taken);
}

/* Adds the files that a list of patterns stands for now. */
static enum fail_code
add_files(struct inputs *in, const struct config_domain *d, enum names_set set, const char *folder,
    struct failure *f)
{
	const struct file_list_now now = {.patterns = config_set_files(d, set),
	    .folder = folder,
	    .partition = 0,
	    .partitions = 1};
	struct file_list *list;
	struct taken *grown;

	if (now.patterns->n == 0)
		return FAIL_NONE;
	if (file_list_scan(&list, &now, f) != FAIL_NONE)
		return f->code == FAIL_MEMORY ? f->code : FAIL_NONE;
	in->list[in->lists_n++] = list;
	grown = realloc(in->taken, (in->n + list->n + 1) * sizeof(*grown));
	if (grown == NULL)
		return fail_memory(f);
	in->taken = grown;
	for (size_t i = 0; i < list->n; i++)
		in->taken[in->n++] = (struct taken){&list->file[i], d, set};
	return FAIL_NONE;
}

/*
 * Domains with equal train share one input, and were judged by config_check(): the first stands for
 * all, of which there may be thousands with the same thousand files.
 */
static bool
is_first_of_input(const struct config *c, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (is_same_list(&c->domains[k].train, &c->domains[i].train))
			return false;
	return true;
}

/*
 * The same file under two names is one file. Of equal ones the order is that of the configuration.
 */
static int
compare_taken(const void *a, const void *b)
{
	const struct taken *x = a, *y = b;

	if (x->file->device != y->file->device)
		return x->file->device < y->file->device ? -1 : 1;
	if (x->file->inode != y->file->inode)
		return x->file->inode < y->file->inode ? -1 : 1;
	if (x->d != y->d)
		return x->d < y->d ? -1 : 1;
	return (int)x->set - (int)y->set;
}

static bool
is_same_file(const struct taken *a, const struct taken *b)
{
	return a->file->device == b->file->device && a->file->inode == b->file->inode;
}

/* Whether each document of a file that both read goes to one of them at most. */
static bool
may_share(const struct taken *a, const struct taken *b)
{
	const struct config_domain *x = a->d, *y = b->d;

	if (a->set != SET_TRAIN && b->set != SET_TRAIN)
		return true;
	return x->where_field != NULL && y->where_field != NULL &&
	       (strcmp(x->where_field, y->where_field) != 0 ||
		   strcmp(x->where_equals, y->where_equals) != 0);
}

static enum fail_code
fail_shared(const struct config *c, const struct taken *a, const struct taken *b, struct failure *f)
{
	const struct look l = {.c = c, .d = b->d};

	if (a->d == b->d && a->set == b->set)
		fail(f, FAIL_CONFIG,
		    "%s and %s are one file under two names (a link): its documents would be read "
		    "twice. Name one of the two",
		    a->file->name, b->file->name);
	else if (a->d == b->d)
		fail(f, FAIL_CONFIG,
		    "%s is a file of train, too: its documents would be trained on and held out. "
		    "Take it out of one of the two",
		    b->file->name);
	else
		fail(f, FAIL_CONFIG,
		    "%s is a file of domain %s (%s), too: each of its documents would be in both. "
		    "Take it out of one of the two, or give each domain a where",
		    b->file->name, a->d->name, names_set_text[a->set]);
	return fail_key(&l, names_set_text[b->set], f);
}

/*
 * Looks at files that are neighbours once they are sorted; of one file there may be several. Each
 * is compared with the first of them and the one before it: all pairs would be too many.
 */
static enum fail_code
compare_inputs(const struct inputs *in, const struct config *c, char *const *domain,
    size_t domains_n, struct failure *f)
{
	for (size_t i = 1, first = 0; i < in->n; i++) {
		const struct taken *b = &in->taken[i];

		if (!is_same_file(&in->taken[i - 1], b)) {
			first = i;
			continue;
		}
		for (int which = 0; which < 2; which++) {
			const struct taken *a = &in->taken[which == 0 ? first : i - 1];

			if (!may_share(a, b) && (is_wanted(a->d->name, domain, domains_n) ||
						    is_wanted(b->d->name, domain, domains_n)))
				return fail_shared(c, a, b, f);
		}
	}
	return FAIL_NONE;
}

enum fail_code
source_check_shared(
    const struct config *c, char *const *domain, size_t domains_n, struct failure *f)
{
	struct inputs in = {.list = calloc(SETS_COUNT * c->domains_n, sizeof(*in.list))};
	char *folder = NULL;
	enum fail_code code = in.list == NULL ? fail_memory(f) : config_resolve(&folder, c, ".", f);

	for (size_t i = 0; i < c->domains_n && code == FAIL_NONE; i++) {
		if (is_first_of_input(c, i))
			code = add_files(&in, &c->domains[i], SET_TRAIN, folder, f);
		for (int set = SET_VALID; set < SETS_COUNT && code == FAIL_NONE; set++)
			code = add_files(&in, &c->domains[i], (enum names_set)set, folder, f);
	}
	if (code == FAIL_NONE && in.n > 0) {
		qsort(in.taken, in.n, sizeof(*in.taken), compare_taken);
		code = compare_inputs(&in, c, domain, domains_n, f);
	}
	close_inputs(&in);
	free(folder);
	return code;
}

/* ---- all of it ---- */

enum fail_code
source_check(const struct config *c, char *const *domain, size_t domains_n, struct failure *f)
{
	const bool quiet = domains_n > 0;
	char *folder = NULL;
	enum fail_code code = check_tokenizer(c, quiet, f);

	if (code == FAIL_NONE)
		code = config_resolve(&folder, c, ".", f);
	for (size_t i = 0; i < c->domains_n && code == FAIL_NONE; i++) {
		struct look l = {.c = c, .d = &c->domains[i], .folder = folder, .quiet = quiet};

		if (is_wanted(l.d->name, domain, domains_n) &&
		    (check_domain(&l, f) != FAIL_NONE || warn_file_order(&l, f) != FAIL_NONE))
			code = f->code;
	}
	if (code == FAIL_NONE)
		code = source_check_shared(c, domain, domains_n, f);
	free(folder);
	return code;
}
