/*
 * input.h -- the records of one input, in order: lines of JSONL files, whole .txt files, or what an
 * exec program prints.
 *
 * An input is a list of files (file_list.h says how patterns become one; lane k of n takes every
 * n-th, beginning with the k-th) or one program. A reader thread opens, decompresses (stream.h) and
 * cuts (record_cutter.h) into chunks of whole records, so that reading overlaps with the work on
 * them. The record index counts every record of the input from 0, the rejected ones too; blank
 * lines are none, nor are files without a byte. Files named *.txt, *.txt.gz and *.txt.zst are one
 * record each, all others are JSON lines.
 *
 * What cannot be a record is passed on as a reject with its place and reason, not as a failure: a
 * line over max_document_bytes, the stump of a truncated or damaged compressed file, a program that
 * fails. A file that cannot be opened or read, or that shrank or was replaced meanwhile, is a
 * failure; so is what is not a regular file, since it could not be read again after a crash.
 *
 * A resume starts at a record that was there before: plain files are read from its byte, compressed
 * ones from their start. A program is run again and must print again what it printed: the records
 * before are skipped. Where no record starts at the place given, the data are not those of the run
 * before, which is FAIL_DATA.
 *
 * A program that is followed has RIFFLE_RESUME=<document> in its environment, and begins there: its
 * first record is that document, counted from 0 over all runs.
 *
 * An appended run goes on where the input ended before: its files, now, must begin with those of
 * the run before, in the same order, and the last of them may have grown by whole lines.
 *
 * Files of tokens (token_file.h) have no lines: `line` is the number of the document in its file,
 * from 1, and `byte` where its tokens begin. An id outside the vocabulary is a failure.
 *
 * Thread: all functions from one thread; the reader thread inside is input.c's own affair.
 */
#ifndef PRODUCER_INPUT_INPUT_H
#define PRODUCER_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"

enum {
	INPUT_CHUNK_BYTES = 1 << 20,  /* a chunk ends with the record that reaches this */
	INPUT_CHUNKS_AHEAD = 8,       /* read ahead at most so many, */
	INPUT_AHEAD_BYTES = 64 << 20, /* and one only while what is ahead is under this */
	INPUT_FLUSH_MS = 200, /* what a slow program has printed is passed on after so long */
};

/* .txt is INPUT_WHOLE_FILE. The bytes of INPUT_TOKENS are an array of uint32_t, without eos. */
enum input_form { INPUT_JSON_LINES, INPUT_WHOLE_FILE, INPUT_TOKENS };

struct arrivals_portion;
struct reading;

/* Of an input whose files keep arriving: reading.h and live_scan.h say how they are read. */
struct input_live_options {
	struct reading *reading; /* what was read so far; the reader's until input_close() */
	/* Makes portions durable; called by the reader thread before it reads them. FAIL_TIMEOUT:
	 * they are not yet, and a call with n = 0 goes on waiting. */
	enum fail_code (*keep)(
	    void *opaque, const struct arrivals_portion *p, size_t n, struct failure *f);
	void *opaque;
	bool last; /* the input ends with what is there: a last line without its end is one, too */
};

/* Of an input that is files of tokens: token_file.h says where their documents are. */
struct input_token_options {
	enum config_tokens format;
	unsigned token_bytes; /* 0: by the file */
	uint32_t eos;
	const bool *known; /* [entries]: ids that the vocabulary has; outlives the input */
	uint32_t entries;
};

struct input_options {
	const struct config_list *patterns; /* or exec; borrowed while opening */
	const char *folder;                 /* patterns and exec are relative to it */
	const char *exec;
	uint32_t lane, lanes;
	uint64_t max_document_bytes;
	uint64_t chunk_bytes;                     /* 0: INPUT_CHUNK_BYTES */
	const struct input_live_options *live;    /* NULL: the files that are there are all */
	const struct input_token_options *tokens; /* NULL: text */
	bool follow;  /* waits for files; a program is told where to begin (RIFFLE_RESUME) */
	bool repeats; /* with follow: the program begins with its first record all the same */
};

/* Where to start: after a resume, the record that held the last published token. */
struct input_position {
	uint64_t document; /* index of the record */
	const char *file;  /* as in input_chunk.file; NULL: the first */
	uint64_t byte;     /* where it starts in the file, after decompression */
	uint64_t line;
	uint64_t rejects; /* rejected before it; input.c does not use it */
	bool ended;       /* the input ended there then: there need be no record */
	/* What a run that ended has read: the files now must begin with these. 0: not known. */
	uint64_t files, names;
};

/* Where an input ended, once input_next() has given NULL; see Input in schemas/End.avsc. */
struct input_end {
	uint64_t records, files, names;
	const char *file; /* lives as long as the input; "" for none */
	uint64_t byte, line;
};

struct input_record {
	uint64_t document; /* index in the input */
	uint64_t byte;     /* in the file, after decompression */
	uint64_t line;     /* from 1 */
	const char *bytes; /* inside the chunk; a line without its end */
	size_t n;
	const char
	    *reject; /* NULL: a record; else why it is none, and bytes[n] what was there (cut) */
};

/* Records of one file; owns its memory. */
struct input_chunk {
	const char *file; /* as expanded, relative as the pattern is; or the exec command. Lives as
			     long as the input */
	enum input_form form;
	struct input_record *record;
	size_t n;
	uint64_t input_bytes;  /* of the file as stored (compressed) that this chunk used up */
	char *bytes, *reasons; /* what the records point into */
};

struct input;

/*
 * Gives *out, to be ended with input_close(); `from` may be NULL: the start. FAIL_CONFIG: a pattern
 * that matches nothing, a directory, a program on more than one lane.
 */
enum fail_code input_open(struct input **out, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_close(struct input *in); /* stops the thread and the program */

/* Gives the next chunk, to be ended with input_chunk_close(); *out = NULL: the input is over. */
enum fail_code input_next(struct input *in, struct input_chunk **out, struct failure *f);
/* The same, with FAIL_TIMEOUT where none came within timeout_ms (a slow program); ask again. */
enum fail_code input_next_within(
    struct input *in, int timeout_ms, struct input_chunk **out, struct failure *f);
void input_chunk_close(struct input_chunk *c);

/* Bytes of all files of the lane as stored; 0: not known (exec). For progress. */
uint64_t input_bytes_total(const struct input *in);
/* Of these, what a resume has left out: where a progress bar starts. */
uint64_t input_bytes_skipped(const struct input *in);
size_t input_files(const struct input *in);

/* Only after the end of the input. */
const struct input_end *input_end(const struct input *in);

#endif
