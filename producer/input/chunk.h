/*
 * chunk.h -- some records of one file, with the memory that they lie in.
 *
 * A chunk is what travels from the thread that reads to the workers: about a megabyte, so that
 * handing it over costs nothing beside the work on it. Whoever has it owns it; nothing in it is
 * shared but the file's name.
 *
 * A record that cannot become a document is in the chunk like any other, with the reason: rejects
 * keep their place in the input and are counted, reported and published in its order.
 */
#ifndef PRODUCER_INPUT_CHUNK_H
#define PRODUCER_INPUT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a record's bytes are. CHUNK_TOKENS: an array of uint32_t, without eos. */
enum chunk_form { CHUNK_JSON_LINES, CHUNK_WHOLE_FILE, CHUNK_TOKENS };

struct chunk_record {
	uint64_t document; /* index in the input, from 0 */
	uint64_t byte;     /* where it begins in the file, after decompression */
	uint64_t line;     /* from 1; of tokens the number of the document in its file */
	const char *bytes; /* inside the chunk; a line without its end */
	size_t n;
	const char *reject; /* NULL: a record; else why it is none, and bytes[n] is its beginning */
	bool breaks_off;    /* a reject: the file or program gives nothing after it, and should */
};

struct chunk {
	/* Relative as the pattern is, or exec:NAME#HASH. Borrowed: lives as long as the input. */
	const char *file;
	enum chunk_form form;
	struct chunk_record *record; /* [n], owned */
	size_t n;
	uint64_t input_bytes;  /* of the file as stored (compressed) that this chunk used up */
	char *bytes, *reasons; /* owned: what the records point into */
};

void chunk_close(struct chunk *c); /* NULL is accepted */

/* By its name: *.txt, *.txt.gz and *.txt.zst are one record each, all others are JSON lines. */
enum chunk_form chunk_form_of(const char *name);

#endif
