/*
 * token_file.h -- the documents of one token file that another project made.
 *
 * common/record/token_format.h has the layouts. Where the documents are:
 *
 *   megatron  by the index: the sequences of a document one after the other.
 *   ds        by the index; without one as npy.
 *   npy       each ends with eos, the last one with the file: [a b eos c d] are [a b] and [c d].
 *   llmc      each begins with eos, the first one perhaps not: [eos a b eos c] are [a b] and [c].
 *
 * A document's tokens are given without the eos around it, so that the caller adds one; an eos
 * inside a document of an index stays. A document does not continue in the next file.
 *
 * What is checked when a file is opened: that it is of its format, that its size is what the header
 * says, and that its index has as many tokens as the file; for this the lengths of all sequences
 * of a Megatron index are read. What is checked as it is read: each entry of a table, and each
 * token, which must be an id that the vocabulary has. So a file of another tokenizer, or of another
 * width, is found out at its first bad token, with its place, and nothing of it that is wrong is
 * published. Tokens of another width can be ids of the vocabulary, though: INPUT-TOKEN-WIDTH warns
 * if every second of the first ones is 0, or if a token has too few bytes for the vocabulary.
 *
 * Files are read forward through windows (token_window.h). Memory: one document of at most
 * max_document_bytes as stored, and the windows.
 *
 * Thread: one at a time.
 */
#ifndef PRODUCER_INPUT_TOKEN_FILE_H
#define PRODUCER_INPUT_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/token_format.h"

enum {
	TOKEN_FILE_WINDOW_BYTES = 256 << 10,
	TOKEN_FILE_INDEX_BYTES = 64 << 10, /* of each table of an index */
	TOKEN_FILE_HEADER_MAX = 1 << 16,   /* of a NumPy header, and of a metadata file */
	TOKEN_FILE_STUMP_TOKENS = 256,     /* of a document that is too long, so many are given */
	TOKEN_FILE_REASON_BYTES = 160
};

struct token_file_options {
	const char *path; /* for open() */
	const char *name; /* for sentences */
	enum token_format format;
	unsigned token_bytes; /* 2 or 4; 0: by the file, which must say it then */
	uint32_t eos;
	const bool *known; /* [entries]: ids that the vocabulary has; borrowed */
	uint32_t entries;
	uint64_t max_document_bytes;
	bool quiet; /* no INPUT-TOKEN-WIDTH: the file will be opened again */
};

struct token_file;

/* A document's tokens are behind those that were in the buffer. */
struct token_file_document {
	uint64_t byte;      /* where it begins in the file */
	uint64_t number;    /* in the file, from 0 */
	size_t n;           /* its tokens */
	uint64_t bytes;     /* the byte up to which the file is read, for progress */
	const char *reject; /* NULL: it is one; else why not, until the next call */
};

struct token_file_buffer {
	uint32_t *id;
	size_t n, room;
};

/*
 * Gives *out, to be ended with token_file_close(). Copies the texts. FAIL_CONFIG: the file does not
 * say how wide a token is, and neither does token_bytes. FAIL_DATA: it is no such file, or file and
 * index do not fit. FAIL_IO: it cannot be opened.
 */
enum fail_code token_file_open(
    struct token_file **out, const struct token_file_options *o, struct failure *f);
void token_file_close(struct token_file *t); /* NULL is accepted */

/* The next document is that with this number, which begins at `byte`; FAIL_DATA: it does not. */
enum fail_code token_file_seek(
    struct token_file *t, uint64_t byte, uint64_t number, struct failure *f);

/* FAIL_DATA: the last document does not end at `byte`. */
enum fail_code token_file_check_end(struct token_file *t, uint64_t byte, struct failure *f);

/*
 * Appends the next document to `ids`; *there is false at the end of the file. FAIL_DATA: an id that
 * the vocabulary does not have, with its place.
 */
enum fail_code token_file_next(struct token_file *t, struct token_file_document *d,
    struct token_file_buffer *ids, bool *there, struct failure *f);

#endif
