#include "producer/input/file_list.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/base/buffer.h"
#include "common/base/nearest.h"
#include "common/base/utf8.h"
#include "producer/input/brace.h"

/* What a search for one word needs; `list` collects over all words. */
struct search {
	struct file_list *list;
	size_t room;
	const char *folder;
	const char *pattern;             /* as configured, for sentences */
	size_t folders;                  /* that a wildcard matched and left out */
	const struct file_list_now *now; /* NULL: the files that are there must be all */
};

enum fail_code
file_list_path(char **out, const char *folder, const char *name, struct failure *f)
{
	bool whole = name[0] == '/' || folder == NULL || folder[0] == '\0';
	size_t room = strlen(name) + (whole ? 0 : strlen(folder) + 1) + 1;

	*out = malloc(room);
	if (*out == NULL)
		return fail_memory(f);
	if (whole)
		snprintf(*out, room, "%s", name);
	else
		snprintf(*out, room, "%s/%s", folder, name);
	return FAIL_NONE;
}

static enum fail_code
append(struct search *s, const char *name, const struct stat *st, struct failure *f)
{
	struct file_list *l = s->list;

	if (l->n == FILE_LIST_FILES_MAX)
		return fail(f, FAIL_CONFIG, "pattern %s: more than %d files", s->pattern,
		    FILE_LIST_FILES_MAX);
	if (!utf8_valid(name, strlen(name)))
		return fail(f, FAIL_CONFIG,
		    "pattern %s: the name of file %s is not UTF-8; rename it", s->pattern, name);
	if (buffer_reserve_items(&l->file, &s->room, l->n + 1, sizeof(*l->file), f) != FAIL_NONE)
		return f->code;
	l->file[l->n] = (struct file_list_entry){.name = strdup(name),
	    .size_bytes = (uint64_t)st->st_size,
	    .inode = st->st_ino,
	    .device = st->st_dev};
	if (l->file[l->n].name == NULL)
		return fail_memory(f);
	l->n++;
	return FAIL_NONE;
}

/* Takes one file. `wild`: a wildcard gave the name, so that a folder is left out, not refused. */
static enum fail_code
take(struct search *s, const char *name, bool wild, struct failure *f)
{
	struct stat st;
	char *path, target[PATH_MAX];
	ssize_t link_n = -1;
	int refused;

	if (file_list_path(&path, s->folder, name, f) != FAIL_NONE)
		return f->code;
	refused = stat(path, &st) != 0 ? errno : 0;
	if (refused == ENOENT && s->now == NULL)
		link_n = readlink(path, target, sizeof(target));
	free(path);
	errno = refused;
	if (link_n >= 0)
		return fail(f, FAIL_CONFIG,
		    "pattern %s: %s is a link to %.*s, which does not exist", s->pattern, name,
		    (int)link_n, target);
	if (refused != 0) {
		if ((!wild || s->now != NULL) && (errno == ENOENT || errno == ENOTDIR))
			return FAIL_NONE; /* the word then has no file, which is said once */
		return fail_errno(f, FAIL_IO, "file %s: cannot be looked at", name);
	}
	if (S_ISDIR(st.st_mode) && wild) {
		s->folders++;
		return FAIL_NONE;
	}
	if (S_ISDIR(st.st_mode))
		return fail(f, FAIL_CONFIG, "pattern %s: %s is a folder; name its files, as %s/*",
		    s->pattern, name, name);
	if (!S_ISREG(st.st_mode))
		return fail(f, FAIL_CONFIG,
		    "pattern %s: %s is not a regular file, so that it could not be read again "
		    "after a "
		    "crash; use exec: for programs",
		    s->pattern, name);
	return append(s, name, &st, f);
}

static bool
is_wild(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == '*' || text[i] == '?' || text[i] == '[')
			return true;
	}
	return false;
}

/* `name` with one component more: text[n], without its backslashes if it is a pattern's. */
static enum fail_code
join(char **out, const char *name, const char *text, size_t n, bool pattern, struct failure *f)
{
	size_t at = strlen(name);
	char *joined = malloc(at + n + 2);

	if (joined == NULL)
		return fail_memory(f);
	memcpy(joined, name, at);
	if (at > 0 && joined[at - 1] != '/')
		joined[at++] = '/';
	for (size_t i = 0; i < n; i++) {
		if (pattern && text[i] == '\\' && i + 1 < n)
			i++;
		joined[at++] = text[i];
	}
	joined[at] = '\0';
	*out = joined;
	return FAIL_NONE;
}

static enum fail_code walk(
    struct search *s, const char *name, const char *rest, size_t depth, struct failure *f);

/* Whether an entry is a folder that ** enters. */
static bool
is_entered(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_name[0] == '.')
		return false;
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

/* What a walk does with the entries of one folder. */
struct level {
	const char *name;      /* of the folder */
	const char *component; /* NUL-terminated; NULL: ** */
	const char *rest;      /* of the word, after the component; with it for ** */
	size_t depth;
};

static enum fail_code
visit(struct search *s, const struct level *v, DIR *dir, const struct dirent *entry,
    struct failure *f)
{
	enum fail_code code;
	char *name;

	if (v->component == NULL ? !is_entered(dir, entry)
				 : fnmatch(v->component, entry->d_name, FNM_PERIOD) != 0)
		return FAIL_NONE;
	if (join(&name, v->name, entry->d_name, strlen(entry->d_name), false, f) != FAIL_NONE)
		return f->code;
	if (*v->rest == '\0')
		code = take(s, name, true, f);
	else
		code = walk(s, name, v->rest, v->depth + 1, f);
	free(name);
	return code;
}

static enum fail_code
scan(struct search *s, const struct level *v, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	const struct dirent *entry;
	char *path;
	DIR *dir;

	if (file_list_path(&path, s->folder, *v->name == '\0' ? "." : v->name, f) != FAIL_NONE)
		return f->code;
	dir = opendir(path);
	if (dir != NULL && s->now != NULL && s->now->folder_seen != NULL)
		s->now->folder_seen(s->now->opaque, path);
	free(path);
	if (dir == NULL && (errno == ENOENT || errno == ENOTDIR))
		return FAIL_NONE;
	if (dir == NULL)
		return fail_errno(f, FAIL_IO, "pattern %s: folder %s cannot be read", s->pattern,
		    *v->name == '\0' ? "." : v->name);
	while (code == FAIL_NONE) {
		errno = 0;
		entry = readdir(dir);
		if (entry == NULL)
			break;
		code = visit(s, v, dir, entry, f);
	}
	if (code == FAIL_NONE && errno != 0)
		code = fail_errno(f, FAIL_IO, "pattern %s: folder %s cannot be read", s->pattern,
		    *v->name == '\0' ? "." : v->name);
	closedir(dir);
	return code;
}

/* A file that is named without a wildcard may appear in its folder: that is one to be watched. */
static enum fail_code
see_folder(const struct search *s, const char *name, struct failure *f)
{
	char *path;

	if (s->now == NULL || s->now->folder_seen == NULL)
		return FAIL_NONE;
	if (file_list_path(&path, s->folder, *name == '\0' ? "." : name, f) != FAIL_NONE)
		return f->code;
	s->now->folder_seen(s->now->opaque, path);
	free(path);
	return FAIL_NONE;
}

/*
 * Goes from folder `name` along what is left of the word, component by component. A component that
 * is not wild is joined to the name. A wild one is matched with each entry of the folder: scan()
 * reads it, and visit() takes what fits, or walks on from it. Two stars are tried twice: as if they
 * were not there, and in front of the rest again in each folder of this one.
 */
static enum fail_code
walk(struct search *s, const char *name, const char *rest, size_t depth, struct failure *f)
{
	size_t n = strcspn(rest, "/");
	const char *after = rest + n + strspn(rest + n, "/");
	char component[BRACE_WORD_BYTES + 1];
	struct level v = {name, component, after, depth};
	enum fail_code code;
	char *next;

	if (depth > FILE_LIST_DEPTH_MAX)
		return fail(f, FAIL_CONFIG, "pattern %s: folder %s is more than %d deep",
		    s->pattern, name, FILE_LIST_DEPTH_MAX);
	if (n == 1 && rest[0] == '.' && *after != '\0')
		return walk(s, name, after, depth + 1, f);
	if (n == 2 && memcmp(rest, "**", 2) == 0) {
		struct level deeper = {name, NULL, rest, depth};

		while (strncmp(after, "**/", 3) == 0)
			after += 3; /* means the same once as twice */
		code = walk(s, name, *after == '\0' ? "*" : after, depth, f);
		return code != FAIL_NONE ? code : scan(s, &deeper, f);
	}
	if (*after == '\0' && !is_wild(rest, n) && see_folder(s, name, f) != FAIL_NONE)
		return f->code;
	if (is_wild(rest, n)) {
		memcpy(component, rest, n);
		component[n] = '\0';
		return scan(s, &v, f);
	}
	if (join(&next, name, rest, n, true, f) != FAIL_NONE)
		return f->code;
	code = *after == '\0' ? take(s, next, false, f) : walk(s, next, after, depth + 1, f);
	free(next);
	return code;
}

#define PATTERN_BYTES "\\*?[]{},"

char *
file_list_pattern(const char *path)
{
	char *out = malloc(3 * strlen(path) + 1), *to = out;

	for (const char *from = path; out != NULL && *from != '\0'; from++) {
		bool begins = from == path || from[-1] == '/';
		bool shell = (*from == '$' && begins) || (*from == '~' && from == path);

		if (shell)
			*to++ = '[';
		else if (strchr(PATTERN_BYTES, *from) != NULL)
			*to++ = '\\';
		*to++ = *from;
		if (shell)
			*to++ = ']';
	}
	if (out != NULL)
		*to = '\0';
	return out;
}

/* A word that matches nothing may be the name of a file: shows the pattern that stands for it. */
static enum fail_code
add_escaped(const struct search *s, const char *name, struct failure *f)
{
	struct failure ignored;
	char *path, *pattern = NULL;
	struct stat st;

	if (file_list_path(&path, s->folder, name, &ignored) != FAIL_NONE)
		return f->code;
	if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
		pattern = file_list_pattern(name);
	free(path);
	if (pattern != NULL)
		fail_more(f, "; to name the file %s itself, write '%s'", name, pattern);
	free(pattern);
	return f->code;
}

static int
is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/*
 * Returns the last folder that exists on the way to `word` (free it), or NULL. *rest: the words
 * after that folder.
 */
static char *
find_folder(const struct search *s, const char *word, const char **rest)
{
	char *name, *path, *folder = NULL;
	size_t n = strlen(word);
	struct failure ignored;

	do {
		n -= n > 0; /* a slash behind the component that is taken off */
		while (n > 0 && word[n - 1] != '/')
			n--;
		path = NULL;
		name = strndup(word, n);
		if (name != NULL && file_list_path(&path, s->folder, name, &ignored) == FAIL_NONE)
			folder = realpath(path, NULL);
		free(name);
		free(path);
	} while (folder == NULL && n > 0);
	*rest = word + n;
	return folder;
}

/* Whether there is such an entry, or such a folder. */
static bool
has_entry(const char *folder, const char *name, bool only_folder)
{
	struct stat st;
	char *path = NULL;
	bool has = asprintf(&path, "%s/%s", folder, name) >= 0 && stat(path, &st) == 0 &&
		   (!only_folder || S_ISDIR(st.st_mode));

	free(path);
	return has;
}

/*
 * Names what is in the folder where `word` has matched nothing, and the most likely name. Where the
 * next component is a folder that is missing, only folders can be meant.
 */
static enum fail_code
fail_no_file(const struct search *s, const char *word, struct failure *f)
{
	bool same = strcmp(word, s->pattern) == 0;
	struct dirent **entry = NULL;
	struct nearest near;
	const char *rest;
	char *folder = find_folder(s, word, &rest);
	size_t wanted_n = strcspn(rest, "/");
	bool deeper = folder != NULL && rest[wanted_n] == '/' && !is_wild(rest, wanted_n);
	char *wanted = strndup(rest, deeper ? wanted_n : strlen(rest));
	bool missing = deeper && wanted != NULL && !has_entry(folder, wanted, false);
	int n = folder == NULL ? -1 : scandir(folder, &entry, is_shown, alphasort);

	if (missing)
		fail(f, FAIL_CONFIG, "pattern %s: folder %s does not exist in %s", s->pattern,
		    wanted, folder);
	else
		fail(f, FAIL_CONFIG, "pattern %s: %s%smatches no file in %s%s", s->pattern,
		    same ? "" : word, same ? "" : " ", folder == NULL ? s->folder : folder,
		    s->folders > 0 ? ", only folders; ** goes down into them" : "");
	nearest_init(&near, missing ? wanted : rest);
	for (int i = 0; i < n; i++)
		if (!missing || has_entry(folder, entry[i]->d_name, true))
			nearest_list(&near, entry[i]->d_name);
	if (s->folders == 0)
		nearest_fail_more(&near, missing ? "its folders are" : "it has", f);
	while (n > 0)
		free(entry[--n]);
	free(wanted);
	free(entry);
	free(folder);
	return add_escaped(s, s->pattern, f);
}

static enum fail_code
search_word(struct search *s, const char *word, struct failure *f)
{
	size_t before = s->list->n, slashes = strspn(word, "/");

	s->folders = 0;
	if (word[slashes] == '\0')
		return fail(f, FAIL_CONFIG,
		    "pattern \"%s\": stands for \"%s\", which names no file", s->pattern, word);
	if (walk(s, slashes > 0 ? "/" : "", word + slashes, 0, f) != FAIL_NONE)
		return f->code;
	return s->list->n > before || s->now != NULL ? FAIL_NONE : fail_no_file(s, word, f);
}

static int
compare_places(const void *a, const void *b)
{
	const struct file_list_entry *left = a, *right = b;

	return (left->listed > right->listed) - (left->listed < right->listed);
}

/* Of equal names the one that is listed first comes first. */
static int
compare_names(const void *a, const void *b)
{
	const struct file_list_entry *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order != 0 ? order : compare_places(a, b);
}

static int
compare_pointers(const void *a, const void *b)
{
	return compare_names(
	    *(const struct file_list_entry *const *)a, *(const struct file_list_entry *const *)b);
}

static void
sort_files(struct file_list_entry *file, size_t n, int (*compare)(const void *a, const void *b))
{
	if (n > 0)
		qsort(file, n, sizeof(*file), compare);
}

/* The upper half of the hash, scaled: floor(h * n / 2^32). */
static uint32_t
partition_of(const char *name, uint32_t partitions)
{
	return (uint32_t)(((XXH64(name, strlen(name), 0) >> 32) * partitions) >> 32);
}

/* Sorts, removes duplicates and keeps what is the partition's. */
static void
deal(struct file_list *l, bool by_hash, uint32_t partition, uint32_t partitions)
{
	size_t distinct = 0, kept = 0;

	assert(partition < partitions);
	sort_files(l->file, l->n, compare_names);
	for (size_t i = 0; i < l->n; i++) {
		if (distinct > 0 && strcmp(l->file[distinct - 1].name, l->file[i].name) == 0)
			free(l->file[i].name);
		else
			l->file[distinct++] = l->file[i];
	}
	if (l->order == CONFIG_FILES_LISTED)
		sort_files(l->file, distinct, compare_places);
	for (size_t i = 0; i < distinct; i++) {
		if ((by_hash ? partition_of(l->file[i].name, partitions) : i % partitions) ==
		    partition)
			l->file[kept++] = l->file[i];
		else
			free(l->file[i].name);
	}
	l->n = kept;
	for (size_t i = 0; i < kept; i++)
		l->file[i].names = XXH64(
		    l->file[i].name, strlen(l->file[i].name), i == 0 ? 0 : l->file[i - 1].names);
}

static enum fail_code
index_names(struct file_list *l, struct failure *f)
{
	l->by_name = calloc(l->n + 1, sizeof(*l->by_name));
	if (l->by_name == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < l->n; i++)
		l->by_name[i] = &l->file[i];
	if (l->n > 0)
		qsort(l->by_name, l->n, sizeof(*l->by_name), compare_pointers);
	return FAIL_NONE;
}

/* What a word matches is in no order of its own: a folder has none. */
static enum fail_code
list_word(struct search *s, const char *word, struct failure *f)
{
	struct file_list *l = s->list;
	size_t before = l->n;

	if (search_word(s, word, f) != FAIL_NONE)
		return f->code;
	sort_files(l->file + before, l->n - before, compare_names);
	for (size_t i = before; i < l->n; i++)
		l->file[i].listed = i;
	return FAIL_NONE;
}

static enum fail_code
search_patterns(
    struct file_list **out, struct search *s, const struct config_list *patterns, struct failure *f)
{
	struct brace_words words = {0};
	enum fail_code code = FAIL_NONE;

	s->list = calloc(1, sizeof(*s->list));
	if (s->list == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < patterns->n && code == FAIL_NONE; i++) {
		s->pattern = patterns->text[i];
		code = brace_expand(&words, s->pattern, f);
		for (size_t k = 0; k < words.n && code == FAIL_NONE; k++)
			code = list_word(s, words.word[k], f);
		brace_words_close(&words);
	}
	if (code != FAIL_NONE) {
		file_list_close(s->list);
		return code;
	}
	*out = s->list;
	return FAIL_NONE;
}

enum fail_code
file_list_open(struct file_list **out, const struct config_list *patterns,
    enum config_file_order order, const char *folder, uint32_t partition, uint32_t partitions,
    struct failure *f)
{
	struct search s = {.folder = folder == NULL || *folder == '\0' ? "." : folder};
	struct file_list *l;

	assert(partition < partitions);
	if (search_patterns(&l, &s, patterns, f) != FAIL_NONE)
		return f->code;
	l->order = order;
	deal(l, false, partition, partitions);
	if (index_names(l, f) != FAIL_NONE) {
		file_list_close(l);
		return f->code;
	}
	*out = l;
	return FAIL_NONE;
}

enum fail_code
file_list_scan(struct file_list **out, const struct file_list_now *now, struct failure *f)
{
	struct search s = {.folder = now->folder, .now = now};

	assert(now->partition < now->partitions);
	if (s.folder == NULL || *s.folder == '\0')
		s.folder = ".";
	if (search_patterns(out, &s, now->patterns, f) != FAIL_NONE)
		return f->code;
	deal(*out, true, now->partition, now->partitions);
	return FAIL_NONE;
}

uint64_t
file_list_bytes(const struct file_list *l, size_t n)
{
	uint64_t bytes = 0;

	assert(n <= l->n);
	for (size_t i = 0; i < n; i++)
		bytes += l->file[i].size_bytes;
	return bytes;
}

uint64_t
file_list_names(const struct file_list *l, size_t n)
{
	assert(n <= l->n);
	return n == 0 ? 0 : l->file[n - 1].names;
}

static int
compare_name(const void *name, const void *entry)
{
	return strcmp(name, (*(const struct file_list_entry *const *)entry)->name);
}

size_t
file_list_find(const struct file_list *l, const char *name)
{
	const struct file_list_entry *const *found =
	    l->n == 0 ? NULL : bsearch(name, l->by_name, l->n, sizeof(*found), compare_name);

	return found == NULL ? l->n : (size_t)(*found - l->file);
}

enum fail_code
file_list_look(
    const char *folder, const char *name, uint64_t *size_bytes, bool *there, struct failure *f)
{
	struct stat st;
	char *path;
	int rc;

	if (file_list_path(&path, folder, name, f) != FAIL_NONE)
		return f->code;
	rc = stat(path, &st);
	free(path);
	if (rc != 0 && errno != ENOENT)
		return fail_errno(f, FAIL_IO, "file %s: cannot be looked at", name);
	*there = rc == 0;
	*size_bytes = rc == 0 ? (uint64_t)st.st_size : 0;
	return FAIL_NONE;
}

void
file_list_close(struct file_list *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->n; i++)
		free(l->file[i].name);
	free(l->file);
	free(l->by_name);
	free(l);
}
