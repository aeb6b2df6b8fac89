#include "cli/config/init_print.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "common/terminal/terminal.h"
#include "producer/input/file_list.h"
#include "producer/tokenizer/tokenizer.h"

enum {
	LENGTH_MAX = 2048,
	LENGTH_MIN = 32,
	SEQUENCES_WANTED = 16, /* of the smallest domain */
	TEXT_BYTES_A_TOKEN = 5,
	COMPRESSED = 3, /* times as large as stored */
	BATCH = 64,
	LANES = 8,
	SHOWN_MAX = 40, /* files that are not taken */
};

/* ---- words ---- */

static void
print_size(uint64_t bytes, FILE *to)
{
	if (bytes >= 1000000000)
		fprintf(to, "%.1f GB", (double)bytes / 1e9);
	else if (bytes >= 1000000)
		fprintf(to, "%.1f MB", (double)bytes / 1e6);
	else if (bytes >= 1000)
		fprintf(to, "%.1f KB", (double)bytes / 1e3);
	else
		fprintf(to, "%" PRIu64 " bytes", bytes);
}

/* A text between double quotes, as YAML reads it. */
static void
print_quoted(const char *text, FILE *to)
{
	fputc('"', to);
	terminal_print(to, TEXT_JSON, text, strlen(text));
	fputc('"', to);
}

/* In a comment, where a line must stay one. */
static void
print_plain(const char *text, FILE *to)
{
	terminal_print(to, TEXT_LINE, text, strlen(text));
}

/* ---- patterns ---- */

/* Files of one domain, set and ending. */
struct choice {
	const struct init_files *l;
	size_t domain;
	enum names_set set;
	const char *ending;
};

static bool
is_chosen(const struct choice *c, const struct init_file *x)
{
	return init_files_taken(x) && x->domain == c->domain && x->set == c->set &&
	       strcmp(x->ending, c->ending) == 0;
}

static bool
is_below(const struct init_file *x, const char *folder, size_t n)
{
	return strncmp(x->path, folder, n) == 0 && x->path[n] == '/';
}

/*
 * Whether `folder`/ * ending, or with `deep` `folder`/ ** / * ending, stands for these files and no
 * others. A file that is named so and not taken would be read, too.
 */
static bool
stands_for(const struct choice *c, const char *folder, size_t n, bool deep)
{
	for (size_t i = 0; i < c->l->n; i++) {
		const struct init_file *x = &c->l->file[i];
		bool matched = is_below(x, folder, n) && text_ends_with(x->path, c->ending) &&
			       (deep || strchr(x->path + n + 1, '/') == NULL);

		if (matched != is_chosen(c, x))
			return false;
	}
	return true;
}

/* The folder that all of them are in, or below: the first bytes of the first one's path. */
static size_t
common_folder(const struct choice *c, const char **path)
{
	size_t n = 0;

	*path = NULL;
	for (size_t i = 0; i < c->l->n; i++) {
		const char *other = c->l->file[i].path;

		if (!is_chosen(c, &c->l->file[i]))
			continue;
		if (*path == NULL) {
			*path = other;
			n = (size_t)(strrchr(other, '/') - other);
		}
		while (n > 0 && (strncmp(*path, other, n) != 0 || other[n] != '/'))
			while (n > 0 && (*path)[--n] != '/')
				;
	}
	return n;
}

/* One pattern, as an item of a list. */
static enum fail_code
print_pattern(const char *path, size_t n, const char *wild, const char *ending, bool *any, FILE *to,
    struct failure *f)
{
	char *plain = strndup(path, n);
	char *escaped = plain == NULL ? NULL : file_list_pattern(plain);
	struct text whole = {0};
	char *text;

	free(plain);
	if (escaped == NULL)
		return fail_memory(f);
	text_add(&whole, "%s%s%s", escaped, wild, ending);
	free(escaped);
	text = text_take(&whole);
	if (text == NULL)
		return fail_memory(f);
	fprintf(to, "%s", *any ? ", " : "");
	print_quoted(text, to);
	*any = true;
	free(text);
	return FAIL_NONE;
}

/* Whether the domain has files in folders below its own: then more may come there. */
static bool
is_deep(const struct init_files *l, size_t domain)
{
	for (size_t i = l->domain[domain].first; i < l->n; i++) {
		const struct init_file *x = &l->file[i];

		if (init_files_taken(x) && x->domain == domain &&
		    strchr(x->path + x->folder_n + 1, '/') != NULL)
			return true;
	}
	return false;
}

/* As few patterns as can be: a folder's with a wildcard where that is exact, else each name. */
static enum fail_code
print_ending(const struct choice *c, bool *any, FILE *to, struct failure *f)
{
	const struct init_file *first = &c->l->file[c->l->domain[c->domain].first];
	bool deep = is_deep(c->l, c->domain);
	const char *path;
	size_t n = common_folder(c, &path);

	if (path == NULL)
		return FAIL_NONE;
	if (stands_for(c, first->path, first->folder_n, deep))
		return print_pattern(
		    first->path, first->folder_n, deep ? "/**/*" : "/*", c->ending, any, to, f);
	for (int below = 0; below < 2; below++)
		if (stands_for(c, path, n, below == 1))
			return print_pattern(
			    path, n, below ? "/**/*" : "/*", c->ending, any, to, f);
	for (size_t i = 0; i < c->l->n; i++)
		if (is_chosen(c, &c->l->file[i]) &&
		    print_pattern(c->l->file[i].path, strlen(c->l->file[i].path), "", "", any, to,
			f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* Whether no file of the domain and set before `i` has its ending. */
static bool
is_first_of_ending(struct choice *c, size_t i)
{
	c->ending = c->l->file[i].ending;
	if (!is_chosen(c, &c->l->file[i]))
		return false;
	for (size_t k = c->l->domain[c->domain].first; k < i; k++)
		if (is_chosen(c, &c->l->file[k]))
			return false;
	return true;
}

static enum fail_code
print_patterns(
    const struct init_files *l, size_t domain, enum names_set set, FILE *to, struct failure *f)
{
	bool any = false;

	fprintf(to, "    %s: [", names_set_text[set]);
	for (size_t i = l->domain[domain].first; i < l->n; i++) {
		struct choice c = {.l = l, .domain = domain, .set = set};

		if (is_first_of_ending(&c, i) && print_ending(&c, &any, to, f) != FAIL_NONE)
			return f->code;
	}
	fprintf(to, "]\n");
	return FAIL_NONE;
}

/* ---- domains ---- */

static void
print_text(const struct init_domain *d, const struct init_file *first, FILE *to)
{
	const struct init_field *field = &first->field;

	fprintf(to, "    text: ");
	print_quoted(field->path, to);
	if (field->rival[0] != '\0') {
		fprintf(to, "  # not clear: `");
		print_plain(field->rival, to);
		fprintf(to, "` holds much text, too;");
	} else {
		fprintf(to, "  #");
	}
	fprintf(to, " %" PRIu64 " bytes on average in the first %zu record%s",
	    field->bytes / field->records, field->records, field->records == 1 ? "" : "s");
	if (d->files_n > d->looks_n)
		fprintf(to, "; %zu of the %zu files were looked at", d->looks_n, d->files_n);
	fputc('\n', to);
}

static enum fail_code
print_domain(const struct init_files *l, size_t i, FILE *to, struct failure *f)
{
	const struct init_domain *d = &l->domain[i];
	const struct init_file *first = &l->file[d->first];

	fprintf(to, "  ");
	print_quoted(d->name, to);
	fprintf(to, ":  # %zu file%s, ", d->files_n, d->files_n == 1 ? "" : "s");
	print_size(d->bytes, to);
	fprintf(to, " as stored%s\n",
	    d->tokens != TOKEN_FORMAT_NONE ? "; tokens already: `riffle import` publishes them"
	    : first->records               ? ""
					   : "; each file is a document");
	for (enum names_set set = SET_TRAIN; set <= SET_TEST; set++)
		if ((set == SET_TRAIN || d->set_n[set] > 0) &&
		    print_patterns(l, i, set, to, f) != FAIL_NONE)
			return f->code;
	if (first->records && !first->field.tokens)
		print_text(d, first, to);
	if (d->tokens != TOKEN_FORMAT_NONE)
		fprintf(to, "    tokens: %s  # made with the tokenizer above?\n",
		    token_format_names[d->tokens]);
	return FAIL_NONE;
}

static void
print_left_out(const struct init_files *l, const char *tokenizer, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct init_file *x = &l->file[i];

		bool used = tokenizer != NULL && strcmp(x->path, tokenizer) == 0;

		if (x->why == NULL || used || n++ >= SHOWN_MAX)
			continue;
		fprintf(to, "%s#   ", n == 1 ? "\n# Not taken:\n" : "");
		print_plain(x->path, to);
		fprintf(to, ": ");
		print_plain(x->why, to);
		fputc('\n', to);
	}
	if (n > SHOWN_MAX)
		fprintf(to, "#   and %zu more\n", n - SHOWN_MAX);
}

/* ---- the tokenizer ---- */

struct found {
	const char *file;           /* NULL: none */
	const char *pattern, *eos;  /* NULL: not known */
	char why[FAILURE_TEXT_MAX]; /* "": it opens */
};

static const char *
find_tokenizer(const struct init_files *l, const struct init_print_options *o)
{
	if (o->tokenizer != NULL)
		return o->tokenizer;
	for (size_t i = 0; i < l->n; i++)
		if (l->file[i].tokenizer)
			return l->file[i].path;
	return access("tokenizer.json", R_OK) == 0 ? "tokenizer.json" : NULL;
}

/* Of a .tiktoken the pattern is known by its file's usual name only. */
static const char *
pattern_of(const char *file)
{
	static const char *const known[][2] = {{"r50k", "gpt2"}, {"p50k", "gpt2"}, {"gpt2", "gpt2"},
	    {"cl100k", "cl100k"}, {"o200k", "o200k"}, {"qwen", "qwen2"}};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (text_ends_with(file, ".tiktoken") && strstr(file, known[i][0]) != NULL)
			return known[i][1];
	return NULL;
}

/* Tries the usual names of the token that ends a document. */
static void
try_tokenizer(struct found *t)
{
	static const char *const usual[] = {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
	    "<|eos|>", "[EOS]", "<|im_end|>", NULL};
	struct tokenizer_options o = {.file = t->file, .pattern = t->pattern};
	struct tokenizer *opened = NULL;
	struct failure f;

	if (tokenizer_open(&opened, &o, &f) != FAIL_NONE) {
		snprintf(t->why, sizeof(t->why), "%s", f.text);
		return;
	}
	tokenizer_close(opened);
	for (size_t i = 0; usual[i] != NULL && t->eos == NULL; i++) {
		o.eos = usual[i];
		if (tokenizer_open(&opened, &o, &f) != FAIL_NONE)
			continue;
		t->eos = usual[i];
		tokenizer_close(opened);
	}
}

static void
print_tokenizer(const struct init_files *l, const struct init_print_options *o, FILE *to)
{
	struct found t = {.file = find_tokenizer(l, o)};
	const char *hide;

	if (t.file != NULL) {
		t.pattern = pattern_of(t.file);
		try_tokenizer(&t);
	}
	hide = t.file == NULL || t.why[0] != '\0' ? "# " : "";
	if (t.file == NULL)
		fprintf(to, "# No tokenizer was found. Name one: a tokenizer.json, or a .tiktoken "
			    "and its pattern.\n");
	if (t.why[0] != '\0') {
		log_warning("config: INIT-TOKENIZER %s cannot be used as it is: %s", t.file, t.why);
		fprintf(to, "# This tokenizer cannot be used as it is: ");
		print_plain(t.why, to);
		fputc('\n', to);
	}
	fprintf(to, "%stokenizer:\n%s  file: ", hide, hide);
	print_quoted(t.file == NULL ? "tokenizer.json" : t.file, to);
	fputc('\n', to);
	if (t.pattern != NULL)
		fprintf(to, "%s  pattern: %s\n", hide, t.pattern);
	else if (t.file == NULL || text_ends_with(t.file, ".tiktoken"))
		fprintf(
		    to, "#   pattern: cl100k  # of a .tiktoken: gpt2, cl100k, o200k or qwen2\n");
	if (t.file != NULL && t.why[0] == '\0' && t.eos == NULL)
		fprintf(to, "#   eos: which special token of it ends a document?\n");
	else
		fprintf(to, "%s  eos: \"%s\"  # the special token behind each document\n", hide,
		    t.eos == NULL ? "<|endoftext|>" : t.eos);
}

/* ---- all of it ---- */

/* Roughly, by what is stored: enough to choose a length by. */
static uint64_t
tokens_about(const struct init_files *l, const struct init_domain *d)
{
	const char *ending = l->file[d->first].ending;
	bool packed = text_ends_with(ending, ".gz") || text_ends_with(ending, ".zst");

	if (d->tokens != TOKEN_FORMAT_NONE)
		return d->bytes / 4;
	return d->bytes * (packed ? COMPRESSED : 1) / TEXT_BYTES_A_TOKEN;
}

/* Short enough that the smallest domain has some sequences. */
static void
print_length(const struct init_files *l, FILE *to)
{
	uint64_t least = UINT64_MAX;
	unsigned length = LENGTH_MAX;

	for (size_t i = 0; i < l->domains_n; i++)
		if (tokens_about(l, &l->domain[i]) < least)
			least = tokens_about(l, &l->domain[i]);
	while (length > LENGTH_MIN && least / length < SEQUENCES_WANTED)
		length /= 2;
	fprintf(to, "\nsequence_length: %u  # tokens of one sequence%s\n", length,
	    length < LENGTH_MAX ? "; so short because the smallest domain is small" : "");
}

static void
print_mix(const struct init_files *l, const char *corpus, FILE *to)
{
	uint64_t all = 0;

	for (size_t i = 0; i < l->domains_n; i++)
		all += l->domain[i].bytes;
	fprintf(to,
	    "\nmix:\n  name: \"%.*s-mix\"\n  global_batch: %d  # sequences of one step, over all "
	    "ranks\n"
	    "  lanes: %d  # the most ranks that can read it\n"
	    "  weights: size  # proportional to their sequences; or a weight for each, as\n"
	    "  # weights: {",
	    NAME_MAX_BYTES - 4, corpus, BATCH, LANES);
	for (size_t i = 0; i < l->domains_n; i++) {
		fprintf(to, "%s", i == 0 ? "" : ", ");
		print_quoted(l->domain[i].name, to);
		fprintf(to, ": %.4f", all == 0 ? 0 : (double)l->domain[i].bytes / (double)all);
	}
	fprintf(to, "}  # their shares of the bytes\n");
}

static void
print_head(const struct init_print_options *o, bool tokens, bool text, FILE *to)
{
	char *here = realpath(".", NULL);

	fprintf(to, "# By `riffle config --init");
	for (size_t i = 0; i < o->folders_n; i++) {
		fputc(' ', to);
		print_plain(o->folder[i], to);
	}
	fprintf(to, "`. Read it, change it, then\n"
		    "#\n"
		    "#     riffle config --check -c run.yml\n"
		    "#     riffle topics -c run.yml --create\n");
	if (text)
		fprintf(to, "#     riffle produce -c run.yml\n");
	if (tokens)
		fprintf(to, "#     riffle import -c run.yml     # domains with `tokens`\n");
	fprintf(to,
	    "#     riffle mix -c run.yml\n"
	    "#     riffle read -c run.yml --steps 3\n"
	    "#\n"
	    "# Paths are relative to the folder of this file: put it where it was made, into\n"
	    "# ");
	print_plain(here == NULL ? "." : here, to);
	fprintf(to, "\n# `riffle config --keys` explains all keys.\n\n");
	free(here);
}

static enum fail_code
fail_nothing(const struct init_files *l, const struct init_print_options *o, struct failure *f)
{
	fail(f, FAIL_DATA, "%s%s: no file that riffle takes", o->folder[0],
	    o->folders_n > 1 ? ", ..." : "");
	for (size_t i = 0; i < l->n; i++)
		if (l->file[i].why != NULL)
			return fail_more(f, "; %s: %s%s", l->file[i].path, l->file[i].why,
			    i + 1 < l->n ? "; ..." : "");
	return f->code;
}

enum fail_code
init_print(
    const struct init_files *l, const struct init_print_options *o, FILE *to, struct failure *f)
{
	char corpus[NAME_MAX_BYTES + 1] = "corpus";
	const char *broker = getenv("RIFFLE_BOOTSTRAP");
	bool tokens = false, text = false;

	if (l->domains_n == 0)
		return fail_nothing(l, o, f);
	if (l->domains_n > LIMIT_DOMAINS)
		return fail(f, FAIL_CONFIG, "%zu folders with data; riffle takes %d domains",
		    l->domains_n, LIMIT_DOMAINS);
	for (size_t i = 0; i < l->domains_n; i++) {
		tokens = tokens || l->domain[i].tokens != TOKEN_FORMAT_NONE;
		text = text || l->domain[i].tokens == TOKEN_FORMAT_NONE;
	}
	if (o->folders_n == 1)
		init_files_last(corpus, o->folder[0]);
	print_head(o, tokens, text, to);
	fprintf(to, "corpus: \"%s\"\n\n", corpus);
	print_tokenizer(l, o, to);
	print_length(l, to);
	fprintf(to, "\ndomains:\n");
	for (size_t i = 0; i < l->domains_n; i++)
		if (print_domain(l, i, to, f) != FAIL_NONE)
			return f->code;
	print_left_out(l, find_tokenizer(l, o), to);
	print_mix(l, corpus, to);
	fprintf(to, "\nkafka:\n  bootstrap.servers: ");
	print_quoted(broker == NULL || broker[0] == '\0' ? "localhost:9092" : broker, to);
	fputc('\n', to);
	return FAIL_NONE;
}
