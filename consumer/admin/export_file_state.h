/*
 * export_file_state.h -- what export_file.c (opening, tokens) and export_finish.c (indices, names)
 * share.
 */
#ifndef CONSUMER_ADMIN_EXPORT_FILE_STATE_H
#define CONSUMER_ADMIN_EXPORT_FILE_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "consumer/admin/export_file.h"

enum { EXPORT_PARTS_MAX = 3, EXPORT_NAMES_BYTES = 512 };

/* Files by what they hold, in the order in which they get their names. */
enum export_part { PART_TOKENS, PART_METADATA, PART_INDEX };

struct part_file {
	const char *ending; /* NULL: the format has none */
	char *path, *partial;
	FILE *to; /* NULL: not open */
	bool made;
};

struct export_file {
	struct export_file_options o;
	struct part_file part[EXPORT_PARTS_MAX];
	FILE *ends; /* u64 for each document: the token behind it; an unnamed file, but for ds */
	unsigned width;
	uint64_t header_bytes;
	uint64_t tokens, documents;
	uint64_t kept;    /* tokens up to the last document that ended */
	bool open;        /* a document is */
	bool eos_pending; /* an eos that is written only if more of the document follows */
	char names[EXPORT_NAMES_BYTES];
};

/* FAIL_IO by errno: the part could not be written. */
enum fail_code export_file_fail_write(
    const struct export_file *e, enum export_part part, struct failure *f);

#endif
