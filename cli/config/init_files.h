/*
 * init_files.h -- the data below some folders, sorted out into domains: for `riffle config --init`.
 *
 *     data/                    a domain for each sub-folder, one for the files beside them,
 *         code/a.jsonl         and of these one for each kind of file and text field
 *         web/2024/x.jsonl.gz
 *         web/valid/y.jsonl    "valid", "val", "validation" or "dev" in its path: for `valid`
 *         web/test/z.jsonl     "test": for `test`
 *         .git/                hidden: not looked at
 *         notes.md             not taken; `why` says why
 *
 * A folder whose sub-folders are sets ("train", "valid", ...) is one domain. Records of the first
 * files of a folder are read; the others are taken to be like them.
 *
 * Thread: one.
 */
#ifndef CLI_CONFIG_INIT_FILES_H
#define CLI_CONFIG_INIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/config/init_field.h"
#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/record/token_format.h"

enum {
	INIT_FILES_MAX = 1 << 20,
	INIT_DEPTH_MAX = 16, /* folders below the one that is given */
	INIT_LOOKS_MAX = 16, /* files whose records are read, of a folder that may be a domain */
};

struct init_file {
	char *path;         /* owned: the folder as it was given, and the way from there */
	size_t folder_n;    /* path[folder_n] is the folder that may be a domain */
	const char *ending; /* ".jsonl.gz"; "": of an unknown kind */
	uint64_t size_bytes;
	enum token_format tokens;
	bool records;            /* JSON lines */
	bool side;               /* belongs to another file, as an index does */
	bool tokenizer;          /* may be one */
	enum names_set set;      /* by the words of its path */
	bool looked;             /* its records were read */
	struct init_field field; /* of records that were read */
	char *why;               /* owned; NULL: it is taken */
	size_t domain;           /* of those that are taken */
};

struct init_domain {
	char name[NAME_MAX_BYTES + 1];
	enum token_format tokens;
	size_t first; /* a file of it, whose field is the domain's */
	size_t files_n, looks_n, set_n[SETS_COUNT];
	uint64_t bytes; /* as stored */
};

struct init_files {
	struct init_file *file; /* [n], by their paths' bytes */
	size_t n, room;
	struct init_domain *domain; /* [domains_n], by their first files */
	size_t domains_n;
};

/*
 * Fills *out, to be ended with init_files_close(), also after a failure. FAIL_IO: a folder that
 * cannot be read. FAIL_CONFIG: too many files, or too deep.
 */
enum fail_code init_files_open(
    struct init_files *out, char *const *folder, size_t n, struct failure *f);
void init_files_close(struct init_files *l);

/* Whether a domain reads it by itself. */
bool init_files_taken(const struct init_file *x);

/*
 * Why domains_from does not read what is at `path`, a file that it does not take by its name or no
 * file. Gives the text (free); NULL: it belongs to another file, or no memory.
 */
char *init_files_why(const char *path);

/* `name` as a name that riffle takes: other bytes become "-". "data": nothing is left of it. */
void init_files_name(char out[static NAME_MAX_BYTES + 1], const char *name);

/* The last part of a path, "data" of "/srv/data/"; of "." that of the folder it is. */
void init_files_last(char out[static NAME_MAX_BYTES + 1], const char *path);

#endif
