/*
 * input.h -- the records of one input, in order: lines of JSONL files, whole .txt files, documents
 * of token files, or what an exec program prints.
 *
 * This room turns what a domain's configuration names (patterns or a program) into chunks of
 * records. It decides nothing about them: what a record means is the business of producer/document.
 *
 * Files of this room:
 *     chunk          some records of one file, with their memory: what all others hand on
 *     chunk_queue    chunks on their way from the thread that reads to the one that takes them
 *     brace          {a,b} and {1..9} in a pattern
 *     file_list      the files that patterns stand for, in one order for everybody
 *     stream         the bytes of one file, decompressed
 *     stream_exec    a stream of what a program prints
 *     record_cutter  from bytes to chunks of records, without copying them
 *     token_window   a file of numbers, read through a window that moves
 *     token_file     the documents of one token file of another project
 *     live_order     in which order the files of a live input were read, and how far each
 *     live_scan      what can be taken now of files that keep arriving
 *     watch          waits until something may have happened in a set of folders
 *     input          the input itself: files that are all there, or a program
 *     input_live     an input whose files keep arriving
 *     input_tokens   an input of token files
 *
 *     patterns --file_list--> files --stream--> bytes --record_cutter--> chunks --chunk_queue-->
 *                               |                                           |     input_next()
 *                               +------------- token_file ------------------+
 *
 * An input is a list of files (file_list.h says how patterns become one; partition k of n takes
 * every n-th, beginning with the k-th) or one program. A reader thread opens, decompresses and cuts
 * into chunks of whole records, so that reading overlaps with the work on them. The record index
 * counts every record of the input from 0, the rejected ones too; blank lines are none, nor are
 * files without a byte.
 *
 * What cannot be a record is passed on as a reject with its place and reason, not as a failure: a
 * line over max_document_bytes, the stump of a truncated or damaged compressed file, a program that
 * fails, a file that is no text by its first bytes (bzip2, Parquet, UTF-16). All but the first are
 * marked (chunk.h), as what follows them is missing. A file that cannot be opened or read, or that
 * shrank or was replaced meanwhile, is a failure; so is what is not a regular file, since it could
 * not be read again after a crash.
 *
 * How an input resumes.  The caller names the record that held the last published token, by its
 * file, byte, line and index. Reading starts there, and the same record must start there:
 *
 *   plain file       seek to the byte before it, which must be a LF; cut from there
 *   compressed file  read from its start; records before the byte are cut and left out
 *   program          run again from its start; records before the index are left out
 *   followed program RIFFLE_RESUME=<document> in its environment; it begins with that record,
 *                    counted from 0 over all runs. Nothing is left out
 *   token file       seek to the document, by the index of the file or behind an eos
 *
 * Where no record starts at the place, the data are not those of the run before: FAIL_DATA. Where
 * files in front of that place were added, removed or renamed: FAIL_CONFIG, since an added one
 * would be left out, and a renamed one read twice.
 *
 * An appended run continues where the input ended before (`ended`): its files, now, must begin with
 * those of the run before, in the same order, and the last of them may have grown by whole lines.
 *
 * A program's command can hold a password, and what records name stays for ever. So a program is
 * named exec:NAME#HASH in chunk.file and all that is made of it: the name that the configuration
 * gives, and 16 hexadecimal digits of the XXH64 of its command, by which a resume knows another
 * one. Logs that were begun before have the command itself there, and are continued all the same.
 *
 * Of token files (token_file.h) `line` is the number of the document in its file, from 1, and
 * `byte` where its tokens begin. An id outside the vocabulary is a failure.
 *
 * Threads: all functions belong to the caller's thread. Each input has one reader thread of its
 * own, which starts in input_open() and ends before input_close() returns. The two share nothing
 * but the queue, the eventfd that stops the reader, and input_end(), which the reader completes
 * before it finishes the queue.
 */
#ifndef PRODUCER_INPUT_INPUT_H
#define PRODUCER_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/config.h"
#include "producer/input/chunk.h"

enum {
	INPUT_CHUNK_BYTES = 1 << 20, /* a chunk ends with the record that reaches this */
	INPUT_FLUSH_MS = 200, /* what a slow program has printed is passed on after so long */
};

struct arrivals_portion;
struct live_order;
struct record_mark;

/* Of an input whose files keep arriving: live_order.h and live_scan.h say how they are read. */
struct input_live_options {
	struct live_order *order; /* what was read so far; the reader's until input_close() */
	/* Makes portions durable; the reader thread calls it before it reads them. FAIL_TIMEOUT:
	 * they are not durable yet, and a call with n = 0 continues to wait. */
	enum fail_code (*keep)(
	    void *opaque, const struct arrivals_portion *p, size_t n, struct failure *f);
	void *opaque;
	/* Where somebody continues; by portion and byte. Needed once a file is lost; borrowed. */
	const struct record_mark *mark;
	size_t marks_n;
	bool last; /* the input ends with what is there: a last line without its end is one, too */
};

/* Of an input that is files of tokens: token_file.h says where their documents are. */
struct input_token_options {
	enum token_format format;
	unsigned token_bytes; /* 0: by the file */
	uint32_t eos;
	const bool *known; /* [entries]: ids that the vocabulary has; outlives the input */
	uint32_t entries;
};

struct input_options {
	const struct config_list *patterns; /* or exec; borrowed while opening */
	enum config_file_order file_order;  /* of files that are all there */
	const char *folder;                 /* patterns and exec are relative to it */
	const char *exec;
	const char *exec_name; /* of the program: records name it by this, never by its command */
	uint32_t partition, partitions; /* which part of the files: partition < partitions */
	uint64_t max_document_bytes;
	uint64_t chunk_bytes;                     /* 0: INPUT_CHUNK_BYTES */
	const struct input_live_options *live;    /* NULL: the files that are there are all */
	const struct input_token_options *tokens; /* NULL: text */
	bool follow;  /* waits for files; a program gets RIFFLE_RESUME, where to begin */
	bool repeats; /* with follow: the program begins with its first record all the same */
};

/* Where to start: after a resume, the record that held the last published token. */
struct input_position {
	uint64_t document; /* index of the record */
	const char *file;  /* as in chunk.file; NULL: the first */
	uint64_t byte;     /* where it starts in the file, after decompression */
	uint64_t line;
	uint64_t rejects; /* rejected before it; the input does not use it */
	bool ended;       /* the input ended there then: there need be no record */
	/* What a run that ended has read, or one that did not up to `file`: the files now must
	 * begin with these. 0: not known. */
	uint64_t files, names;
	int64_t settled_bytes; /* of them but the last, as stored; -1: not known */
};

/*
 * The portion of a live input's order at which reading from `from` begins. FAIL_DATA: the order
 * does not have that place. A producer asks before it takes the input over; see live_order.h.
 */
enum fail_code input_live_start(const struct live_order *r, const struct input_position *from,
    size_t *portion, struct failure *f);

/* Where an input ended, once input_next() has given NULL; see Input in schemas/End.avsc. */
struct input_end {
	uint64_t records, files, names;
	const char *file; /* lives as long as the input; "" for none */
	uint64_t byte, line;
	/* As stored, of files that are all there: all but the last, and the last; -1: others. */
	int64_t settled_bytes, last_bytes;
};

struct input;

/*
 * Gives *out, to be ended with input_close(); `from` may be NULL: the start. FAIL_CONFIG: a pattern
 * that matches nothing, a directory, a program in more than one partition, other files, or another
 * command, than the run before had. FAIL_DATA: no record starts at `from`. FAIL_IO: a file cannot
 * be opened.
 */
enum fail_code input_open(struct input **out, const struct input_options *o,
    const struct input_position *from, struct failure *f);
void input_close(struct input *in); /* stops the thread and the program; NULL is accepted */

/* Gives the next chunk, to be ended with chunk_close(); *out = NULL: the input is over. */
enum fail_code input_next(struct input *in, struct chunk **out, struct failure *f);
/* The same, with FAIL_TIMEOUT where none came within timeout_ms (a slow program); call again. */
enum fail_code input_next_within(
    struct input *in, int timeout_ms, struct chunk **out, struct failure *f);

/* Bytes of all files of the partition as stored; 0: not known (exec). For progress. */
uint64_t input_bytes_total(const struct input *in);
/* Of these, what a resume has left out: where a progress bar starts. */
uint64_t input_bytes_skipped(const struct input *in);
size_t input_files(const struct input *in);

/*
 * How many files there are up to `file` (chunk.file), and the hash of their names: what a resume in
 * this file must find again. false: the input is not files that are all there.
 */
bool input_files_up_to(const struct input *in, const char *file, uint64_t *files, uint64_t *names);

/* Only after the end of the input. */
const struct input_end *input_end(const struct input *in);

/* FAIL_DATA: "WHAT has no record: a.jsonl is empty", with the name of the last file, if any. */
enum fail_code input_fail_empty(const struct input_end *end, struct failure *f, const char *what,
    ...) __attribute__((format(printf, 3, 4)));

#endif
