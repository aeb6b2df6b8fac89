#include "cli/config/init_files.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/base/buffer.h"
#include "common/base/text.h"
#include "common/base/utf8.h"

/* ---- kinds, by the ends of names ---- */

static const struct {
	const char *ending;
	bool records, text, side;
	enum token_format tokens;
	const char *why; /* NULL: it can be taken */
} kinds[] = {
    {.ending = ".jsonl", .records = true},
    {.ending = ".jsonl.gz", .records = true},
    {.ending = ".jsonl.zst", .records = true},
    {.ending = ".ndjson", .records = true},
    {.ending = ".ndjson.gz", .records = true},
    {.ending = ".ndjson.zst", .records = true},
    {.ending = ".json", .records = true},
    {.ending = ".json.gz", .records = true},
    {.ending = ".json.zst", .records = true},
    {.ending = ".txt", .text = true},
    {.ending = ".txt.gz", .text = true},
    {.ending = ".txt.zst", .text = true},
    {.ending = ".bin", .tokens = TOKEN_FORMAT_MEGATRON},
    {.ending = ".idx", .side = true},
    {.ending = ".npy", .tokens = TOKEN_FORMAT_NPY},
    {.ending = ".ds", .tokens = TOKEN_FORMAT_DS},
    {.ending = ".ds.index", .side = true},
    {.ending = ".ds.metadata", .side = true},
    {.ending = ".parquet", .why = "Parquet: `exec: riffle-source FILE` reads it"},
    {.ending = ".arrow", .why = "Arrow: `exec: riffle-source FILE` reads it"},
    {.ending = ".tiktoken", .why = "a tokenizer"},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const char *
last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static void
set_why(struct init_file *x, const char *why)
{
	if (x->why == NULL)
		x->why = strdup(why);
}

/* Whether a file beside this one has this name: `path` with its ending replaced. */
static bool
has_beside(const struct init_file *x, const char *ending)
{
	char path[PATH_MAX];
	struct stat st;
	int stem = (int)(strlen(x->path) - strlen(x->ending));

	return snprintf(path, sizeof(path), "%.*s%s", stem, x->path, ending) < PATH_MAX &&
	       stat(path, &st) == 0;
}

/* Reads the first `n` bytes. false: there are fewer, or they cannot be read. */
static bool
read_first(const char *path, unsigned char *bytes, size_t n)
{
	FILE *in = fopen(path, "re");
	bool whole = in != NULL && fread(bytes, 1, n, in) == n;

	if (in != NULL)
		fclose(in);
	return whole;
}

static bool
is_llmc(const char *path)
{
	unsigned char b[4];
	uint64_t magic;

	if (!read_first(path, b, sizeof(b)))
		return false;
	magic = token_format_get(b, sizeof(b));
	return magic == TOKEN_FORMAT_LLMC_MAGIC_U16 || magic == TOKEN_FORMAT_LLMC_MAGIC_U32;
}

/* Which of the formats of tokens a .bin is, and whether the others say how wide a token is. */
static void
check_tokens(struct init_file *x)
{
	unsigned char first[TOKEN_FORMAT_NPY_MAGIC_BYTES];

	switch (x->tokens) {
	case TOKEN_FORMAT_NONE:
	case TOKEN_FORMAT_JSONL: /* by its records, later */
	case TOKEN_FORMAT_LLMC: return;
	case TOKEN_FORMAT_MEGATRON:
		if (has_beside(x, ".idx"))
			return;
		if (is_llmc(x->path))
			x->tokens = TOKEN_FORMAT_LLMC;
		else
			set_why(x, "neither Megatron's, which has an .idx beside it, nor llm.c's");
		return;
	case TOKEN_FORMAT_NPY:
		if (!read_first(x->path, first, sizeof(first)) ||
		    memcmp(first, TOKEN_FORMAT_NPY_MAGIC, sizeof(first)) != 0)
			set_why(x, "tokens without a header: a domain with `tokens: npy` needs "
				   "`token_bytes`");
		return;
	case TOKEN_FORMAT_DS:
		if (!has_beside(x, ".ds.metadata"))
			set_why(x, "no .ds.metadata beside it: a domain with `tokens: ds` needs "
				   "`token_bytes`");
		return;
	}
}

static enum names_set
set_of(const char *word, size_t n)
{
	static const struct {
		const char *word;
		enum names_set set;
	} words[] = {{"valid", SET_VALID}, {"val", SET_VALID}, {"validation", SET_VALID},
	    {"dev", SET_VALID}, {"test", SET_TEST}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i].word) == n && strncasecmp(word, words[i].word, n) == 0)
			return words[i].set;
	return SET_TRAIN;
}

/* What the first part of the path behind the folder says, between "/", ".", "-" and "_". */
static enum names_set
set_of_path(const char *path)
{
	enum names_set set = SET_TRAIN;

	while (*path != '\0' && set == SET_TRAIN) {
		size_t n = strcspn(path, "/.-_");

		set = set_of(path, n);
		path += n + (path[n] != '\0');
	}
	return set;
}

static void
sort_out(struct init_file *x)
{
	size_t best = KINDS;

	for (size_t i = 0; i < KINDS; i++)
		if (text_ends_with(x->path, kinds[i].ending) &&
		    (best == KINDS || strlen(kinds[i].ending) > strlen(kinds[best].ending)))
			best = i;
	x->ending = best == KINDS ? "" : kinds[best].ending;
	x->tokenizer = strcmp(last_part(x->path), "tokenizer.json") == 0 ||
		       strcmp(x->ending, ".tiktoken") == 0;
	x->set = set_of_path(x->path + x->folder_n);
	if (!utf8_valid(x->path, strlen(x->path)))
		set_why(x, "its name is not UTF-8");
	else if (x->tokenizer)
		set_why(x, "a tokenizer");
	else if (best == KINDS)
		set_why(x, "riffle does not know the ending of its name");
	else if (kinds[best].why != NULL)
		set_why(x, kinds[best].why);
	else if (x->size_bytes == 0)
		set_why(x, "it is empty");
	if (x->why != NULL)
		return;
	x->records = kinds[best].records;
	x->side = kinds[best].side;
	x->tokens = kinds[best].tokens;
	check_tokens(x);
}

char *
init_files_why(const char *path)
{
	struct init_file x = {.path = (char *)(uintptr_t)path};
	struct stat st = {0};

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* a link that leads nowhere is no file */
		set_why(&x, S_ISDIR(st.st_mode)
				? "folders in the folder of a domain are not entered"
				: "not a regular file");
	x.size_bytes = (uint64_t)st.st_size;
	sort_out(&x);
	if (x.tokens != TOKEN_FORMAT_NONE)
		set_why(&x, "tokens: a domain with `tokens` and `train` reads it");
	else if (!x.side)
		set_why(&x, "domains_from takes .jsonl, .json and .txt, plain, .gz or .zst");
	return x.why;
}

/* ---- folders ---- */

static enum fail_code
add_file(struct init_files *l, char *path, size_t folder_n, uint64_t size, struct failure *f)
{
	if (l->n == INIT_FILES_MAX)
		return fail(f, FAIL_CONFIG, "%s: more than %d files", path, INIT_FILES_MAX);
	if (buffer_reserve_items(&l->file, &l->room, l->n + 1, sizeof(*l->file), f) != FAIL_NONE)
		return f->code;
	l->file[l->n++] =
	    (struct init_file){.path = path, .folder_n = folder_n, .size_bytes = size};
	return FAIL_NONE;
}

static enum fail_code walk(struct init_files *l, const char *folder, size_t folder_n, int depth,
    bool by_folder, struct failure *f);

/* An entry of a folder. Takes `path`. Links to folders are not entered, as `**` enters none. */
static enum fail_code
take_entry(
    struct init_files *l, char *path, size_t folder_n, int depth, bool by_folder, struct failure *f)
{
	struct stat st;
	bool link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
	enum fail_code code;

	if (stat(path, &st) != 0)
		st.st_mode = 0; /* deleted since, or a link that leads nowhere */
	if (S_ISDIR(st.st_mode) && !link && depth < INIT_DEPTH_MAX) {
		/* Below the folder that was given each folder may be a domain. */
		code = walk(l, path, by_folder ? strlen(path) : folder_n, depth + 1, false, f);
		free(path);
		return code;
	}
	code = add_file(l, path, folder_n, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, f);
	if (code != FAIL_NONE)
		free(path);
	else if (S_ISDIR(st.st_mode))
		set_why(&l->file[l->n - 1],
		    link ? "links to folders are not entered" : "folders so deep are not entered");
	else if (!S_ISREG(st.st_mode))
		set_why(&l->file[l->n - 1], "not a regular file");
	return code;
}

static enum fail_code
walk(struct init_files *l, const char *folder, size_t folder_n, int depth, bool by_folder,
    struct failure *f)
{
	DIR *dir = opendir(folder[0] == '\0' ? "/" : folder);
	struct dirent *entry;
	enum fail_code code = FAIL_NONE;

	if (dir == NULL)
		return fail_errno(f, FAIL_IO, "reading folder %s", folder);
	while (code == FAIL_NONE && (entry = readdir(dir)) != NULL) {
		struct text path = {0};
		char *whole;

		if (entry->d_name[0] == '.')
			continue;
		text_add(&path, "%s/%s", folder, entry->d_name);
		whole = text_take(&path);
		code = whole == NULL ? fail_memory(f)
				     : take_entry(l, whole, folder_n, depth, by_folder, f);
	}
	closedir(dir);
	return code;
}

/* ---- records ---- */

static int
by_path(const void *a, const void *b)
{
	return strcmp(((const struct init_file *)a)->path, ((const struct init_file *)b)->path);
}

/* A folder that may be a domain, while its records are looked at. */
struct place {
	const struct init_file *of; /* a file of it */
	size_t looks;
	const struct init_file *model; /* the first that was read and has a field; NULL: none */
};

static bool
same_folder(const struct init_file *a, const struct init_file *b)
{
	return a->folder_n == b->folder_n && memcmp(a->path, b->path, a->folder_n) == 0;
}

/* Files are sorted: the place is mostly the last one. */
static struct place *
place_of(struct place *place, size_t *n, const struct init_file *x)
{
	for (size_t i = *n; i > 0; i--)
		if (same_folder(place[i - 1].of, x))
			return &place[i - 1];
	place[*n] = (struct place){.of = x};
	return &place[(*n)++];
}

/* Looks at a folder's first files; the others get the field of the first that has one. */
static enum fail_code
look_at_records(struct init_files *l, struct failure *f)
{
	struct place *places = calloc(l->n + 1, sizeof(*places));
	enum fail_code code = places == NULL ? fail_memory(f) : FAIL_NONE;
	size_t n = 0;

	for (size_t i = 0; code == FAIL_NONE && i < l->n; i++) {
		struct init_file *x = &l->file[i];
		struct place *p;

		if (!x->records || x->why != NULL)
			continue;
		p = place_of(places, &n, x);
		x->looked = p->looks++ < INIT_LOOKS_MAX;
		if (x->looked)
			code = init_field_find(&x->field, x->path, f);
		else if (p->model != NULL)
			x->field = p->model->field;
		else
			snprintf(x->field.why, sizeof(x->field.why),
			    "not looked at: none of the first %d files here has a text",
			    INIT_LOOKS_MAX);
		if (x->field.tokens)
			x->tokens = TOKEN_FORMAT_JSONL;
		else if (x->field.path[0] == '\0')
			set_why(x, x->field.why);
		if (x->why == NULL && p->model == NULL)
			p->model = x;
	}
	free(places);
	return code;
}

/* ---- domains ---- */

void
init_files_name(char out[static NAME_MAX_BYTES + 1], const char *name)
{
	size_t n = 0;

	for (; *name != '\0' && n < NAME_MAX_BYTES - 16; name++) { /* room for an addition */
		bool letter = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789",
				  *name) != NULL;

		if (letter || (n > 0 && strchr("._-", *name) != NULL))
			out[n++] = *name;
		else if (n > 0 && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n > 0 && strchr("._-", out[n - 1]) != NULL)
		n--;
	out[n] = '\0';
	if (n == 0)
		snprintf(out, NAME_MAX_BYTES + 1, "data");
	assert(names_valid(out));
}

void
init_files_last(char out[static NAME_MAX_BYTES + 1], const char *path)
{
	char whole[PATH_MAX];
	size_t n;

	if (realpath(path, whole) == NULL)
		snprintf(whole, sizeof(whole), "%s", path);
	n = strlen(whole);
	while (n > 1 && whole[n - 1] == '/')
		whole[--n] = '\0';
	init_files_name(out, last_part(whole));
}

bool
init_files_taken(const struct init_file *x)
{
	return x->why == NULL && !x->side;
}

static bool
same_domain(const struct init_file *a, const struct init_file *b)
{
	return same_folder(a, b) && a->tokens == b->tokens &&
	       strcmp(a->field.path, b->field.path) == 0;
}

static bool
has_name(const struct init_files *l, const char *name)
{
	for (size_t i = 0; i < l->domains_n; i++)
		if (strcmp(l->domain[i].name, name) == 0)
			return true;
	return strcmp(name, "rejects") == 0 || strcmp(name, "arrivals") == 0 ||
	       text_ends_with(name, ".valid") || text_ends_with(name, ".test");
}

/* The folder's name; of a folder's second domain with its kind or field; else with a number. */
static void
name_domain(
    const struct init_files *l, const struct init_file *x, char out[static NAME_MAX_BYTES + 1])
{
	char folder[NAME_MAX_BYTES + 1], kind[NAME_MAX_BYTES + 1], chosen[NAME_MAX_BYTES + 1];
	char text[2 * NAME_MAX_BYTES + 32];
	char *path = strndup(x->path, x->folder_n);

	init_files_last(folder, path == NULL ? "" : path);
	free(path);
	init_files_name(kind, x->tokens != TOKEN_FORMAT_NONE ? token_format_names[x->tokens]
			      : x->records                   ? x->field.path
							     : "txt");
	snprintf(text, sizeof(text), "%s", folder);
	if (has_name(l, text))
		snprintf(text, sizeof(text), "%s-%.40s", folder, kind);
	init_files_name(chosen, text);
	for (unsigned i = 2; has_name(l, chosen); i++) {
		snprintf(text, sizeof(text), "%s-%u", folder, i);
		init_files_name(chosen, text);
	}
	memcpy(out, chosen, sizeof(chosen));
}

/*
 * Where the folders in a folder are its sets, it is one domain: all that is below them counts as
 * the folder's.
 */
static void
join_sets(struct init_files *l, size_t first, size_t root_n)
{
	for (size_t i = first; i < l->n; i++) {
		const struct init_file *x = &l->file[i];
		const char *name = x->path + root_n + 1;
		size_t n = x->folder_n - root_n - 1;

		if (x->folder_n == root_n)
			continue;
		if (set_of(name, n) == SET_TRAIN && !(n == 5 && strncasecmp(name, "train", n) == 0))
			return;
	}
	for (size_t i = first; i < l->n; i++)
		l->file[i].folder_n = root_n;
}

/* Files of one folder, kind and field are a domain. */
static enum fail_code
group(struct init_files *l, struct failure *f)
{
	l->domain = calloc(l->n + 1, sizeof(*l->domain));
	if (l->domain == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < l->n; i++) {
		struct init_file *x = &l->file[i];
		size_t d = l->domains_n;

		if (!init_files_taken(x))
			continue;
		while (d > 0 && !same_domain(&l->file[l->domain[d - 1].first], x))
			d--;
		if (d == 0) {
			d = ++l->domains_n;
			l->domain[d - 1].first = i;
			l->domain[d - 1].tokens = x->tokens;
		}
		x->domain = d - 1;
		l->domain[d - 1].files_n++;
		l->domain[d - 1].looks_n += x->looked;
		l->domain[d - 1].set_n[x->set]++;
		l->domain[d - 1].bytes += x->size_bytes;
	}
	return FAIL_NONE;
}

/* Whether another domain of the folder has more files, or as many and comes first. */
static bool
is_second(const struct init_files *l, size_t d)
{
	const struct init_domain *own = &l->domain[d];

	for (size_t i = 0; i < l->domains_n; i++)
		if (i != d && same_folder(&l->file[l->domain[i].first], &l->file[own->first]) &&
		    (l->domain[i].files_n > own->files_n ||
			(i < d && l->domain[i].files_n == own->files_n)))
			return true;
	return false;
}

/* The largest domain of a folder has its name, so that it is named before the others. */
static void
name_all(struct init_files *l)
{
	for (int second = 0; second < 2; second++)
		for (size_t d = 0; d < l->domains_n; d++)
			if (is_second(l, d) == (second == 1))
				name_domain(l, &l->file[l->domain[d].first], l->domain[d].name);
}

/* A domain all of whose files are held out would have nothing to train on. */
static void
train_all(struct init_files *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct init_domain *d = &l->domain[l->file[i].domain];

		if (!init_files_taken(&l->file[i]) || d->set_n[SET_TRAIN] > 0)
			continue;
		d->set_n[l->file[i].set]--;
		l->file[i].set = SET_TRAIN;
	}
}

enum fail_code
init_files_open(struct init_files *out, char *const *folder, size_t n, struct failure *f)
{
	*out = (struct init_files){0};
	for (size_t i = 0; i < n; i++) {
		size_t root_n = strlen(folder[i]), first = out->n;
		char *root;
		enum fail_code code;

		while (root_n > 0 && folder[i][root_n - 1] == '/')
			root_n--;
		root = strndup(folder[i], root_n);
		code = root == NULL ? fail_memory(f) : walk(out, root, root_n, 0, true, f);
		free(root);
		if (code != FAIL_NONE)
			return code;
		join_sets(out, first, root_n);
	}
	if (out->n > 0)
		qsort(out->file, out->n, sizeof(*out->file), by_path);
	for (size_t i = 0; i < out->n; i++)
		sort_out(&out->file[i]);
	if (look_at_records(out, f) != FAIL_NONE || group(out, f) != FAIL_NONE)
		return f->code;
	name_all(out);
	train_all(out);
	return FAIL_NONE;
}

void
init_files_close(struct init_files *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->file[i].path);
		free(l->file[i].why);
	}
	free(l->file);
	free(l->domain);
	*l = (struct init_files){0};
}
