/*
 * token_header.h -- what token_file.c and token_header.c share: a token file at work, and how its
 * headers and tables are found. Nobody else includes it.
 */
#ifndef PRODUCER_INPUT_TOKEN_HEADER_H
#define PRODUCER_INPUT_TOKEN_HEADER_H

#include "producer/input/token_file.h"
#include "producer/input/token_window.h"

/* What tells where a document ends. */
enum token_bounds {
	TOKEN_BOUNDS_EOS_BEHIND,
	TOKEN_BOUNDS_EOS_BEFORE,
	TOKEN_BOUNDS_ENDS,      /* a table of ends */
	TOKEN_BOUNDS_SEQUENCES, /* tables of sequences and of their documents */
};

/* Tables of an index, each read through a window of its own. */
enum token_table { TABLE_LENGTHS, TABLE_POINTERS, TABLE_DOCUMENTS, TABLE_ENDS, TABLES };

struct token_file {
	struct token_file_options o; /* path and name are copies */
	struct token_window tokens;
	uint64_t first, end; /* bytes in `tokens` between which they stand */
	unsigned width;      /* of a token: 1, 2, 4, 8 */
	bool is_signed;
	enum token_bounds bounds;
	struct token_window table[TABLES];
	uint64_t table_at[TABLES]; /* where it begins in the index */
	uint64_t documents, sequences;

	uint64_t at;     /* byte of the next document; not with TOKEN_BOUNDS_SEQUENCES */
	uint64_t number; /* of the next document */
	char reason[TOKEN_FILE_REASON_BYTES];
};

/* Fills all but the place from the headers; t->tokens is open. */
enum fail_code token_header_read(struct token_file *t, struct failure *f);

#endif
