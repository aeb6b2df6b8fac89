/*
 * file_list.h -- the files that a list of patterns stands for, in one order for everybody.
 *
 * Each pattern is brace-expanded (brace.h). A word with one of `*?[` is then matched against the
 * file system, component by component, as glob(3) does: a wildcard matches no dot at the start of a
 * name, and a backslash takes away the meaning of the next character. A component `**` stands for
 * any number of folders, none included; it enters neither hidden ones nor links. Wildcards take
 * files and leave folders; a word without any is a file that must be there.
 *
 * The names of all patterns together are sorted by their bytes, duplicates removed; partition k of
 * n takes the names k, k+n, k+2n... Names are relative to the folder where the pattern is, so that
 * they do not depend on where a program was started; "./" and double slashes are taken out.
 *
 *     patterns   b.{2..1}.gz  *.jsonl         folder   b.1.gz b.2.gz a.jsonl c.jsonl .x.jsonl
 *     names      a.jsonl  b.1.gz  b.2.gz  c.jsonl
 *     2 parts    0: a.jsonl  b.2.gz           1: b.1.gz  c.jsonl
 *
 * With CONFIG_FILES_LISTED the names stay in the order of the patterns and of their words. Only the
 * names that one word matches are sorted, and a name that several words match stays with the first:
 *
 *     names      b.2.gz  b.1.gz  a.jsonl  c.jsonl
 *     2 parts    0: b.2.gz  a.jsonl           1: b.1.gz  c.jsonl
 *
 * Files that keep arriving are dealt by a hash of their name instead: with a new name in the middle
 * k, k+n, k+2n would be other files, and a file must stay with the producer that began it.
 *
 * Thread: any; nothing is kept between calls.
 */
#ifndef PRODUCER_INPUT_FILE_LIST_H
#define PRODUCER_INPUT_FILE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"

enum {
	FILE_LIST_FILES_MAX = 1 << 22,
	FILE_LIST_DEPTH_MAX = 64, /* folders that one pattern goes down */
};

/*
 * The pattern that stands for the file `path` alone: with a backslash before each byte that means
 * something in a pattern, and with [$] or [~] in place of what a configuration would take for a
 * shell's $NAME or ~. Gives it (free); NULL: no memory.
 */
char *file_list_pattern(const char *path);

struct file_list_entry {
	char *name; /* relative to the folder, UTF-8 */
	uint64_t size_bytes;
	uint64_t inode, device;
	uint64_t names; /* file_list_names() up to this one */
	size_t listed;  /* its place by the order of the patterns, among those of all partitions */
};

struct file_list {
	enum config_file_order order;
	struct file_list_entry *file;
	size_t n; /* 0: the partition has no file */
	const struct file_list_entry *
	    *by_name; /* [n], owned, for file_list_find(); NULL: a scan's */
};

/*
 * Gives *out, to be ended with file_list_close(). FAIL_CONFIG: a pattern, or one of its words, that
 * matches no file; a folder, a pipe or a device; a name that is not UTF-8; a limit. FAIL_IO: a
 * folder that cannot be read.
 */
enum fail_code file_list_open(struct file_list **out, const struct config_list *patterns,
    enum config_file_order order, const char *folder, uint32_t partition, uint32_t partitions,
    struct failure *f);
void file_list_close(struct file_list *l); /* NULL is accepted */

/*
 * The same at this moment for files that keep arriving: a pattern may match none, and a file that
 * goes away meanwhile is left out. Of a partition are those whose name's XXH64, scaled to the
 * partitions, is its number, so that a file stays where it is whatever comes. `folder_seen`, if not
 * NULL, is called with every folder in which files may appear, as a path that can be opened.
 */
struct file_list_now {
	const struct config_list *patterns;
	const char *folder;
	uint32_t partition, partitions;
	void (*folder_seen)(void *opaque, const char *path);
	void *opaque;
};
enum fail_code file_list_scan(
    struct file_list **out, const struct file_list_now *now, struct failure *f);

/*
 * A rolling XXH64 over the names of the first n files; 0 for none. By it an appended run knows that
 * its list begins with the list of the run before.
 */
uint64_t file_list_names(const struct file_list *l, size_t n);

/* Where a name is in the list; l->n: it is not. */
size_t file_list_find(const struct file_list *l, const char *name);

/* Bytes of the first n files together, as stored. */
uint64_t file_list_bytes(const struct file_list *l, size_t n);

/* The path of `name` for open(), seen from here. Gives *out (free). */
enum fail_code file_list_path(char **out, const char *folder, const char *name, struct failure *f);

/* How large `name` is; *there = false: there is no such file. FAIL_IO: that cannot be seen. */
enum fail_code file_list_look(
    const char *folder, const char *name, uint64_t *size_bytes, bool *there, struct failure *f);

#endif
