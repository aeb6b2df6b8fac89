/*
 * export_file.h -- writes one token file of another project, whole or not at all.
 *
 * common/record/token_format.h has the layouts. What is written for documents D1, D2 whose tokens
 * end with eos:
 *
 *   megatron  PREFIX.bin, PREFIX.idx: one sequence a document, eos included.
 *   ds        PREFIX.ds, PREFIX.ds.index, PREFIX.ds.metadata: the same.
 *   npy       PREFIX.npy: the tokens and nothing else, as OLMo reads them.
 *   llmc      PREFIX.bin: eos in front of each document and none behind it.
 *
 * Tokens have 2 bytes where the vocabulary has at most 65,536 entries, else 4. Everything goes to
 * PREFIX.X.partial first; export_file_finish() syncs and renames, the index last. A run that is
 * killed leaves at most .partial files, which the next one overwrites.
 *
 *     open  { tokens ... tokens  end }  finish  close
 *
 * A document stays open from its first tokens to its end. end with `whole` false cuts the files
 * back to where the document began.
 *
 * Thread: one.
 */
#ifndef CONSUMER_ADMIN_EXPORT_FILE_H
#define CONSUMER_ADMIN_EXPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/record/token_format.h"

struct export_file_options {
	const char *prefix;
	enum token_format format; /* not NONE */
	bool force;               /* replaces files that are there */
	bool stream;              /* tokens as they come: no eos is moved or added */
	const char *tokenizer;    /* its name, for ds */
	uint32_t entries;         /* of the vocabulary */
	uint32_t eos;
};

struct export_file;

/* Gives *out, to be ended with export_file_close(). FAIL_IO: a file is there, or cannot be made. */
enum fail_code export_file_open(
    struct export_file **out, const struct export_file_options *o, struct failure *f);

/* Removes what was not finished. NULL is accepted. */
void export_file_close(struct export_file *e);

/* Tokens of the document that is open; the first ones open it. */
enum fail_code export_file_tokens(
    struct export_file *e, const uint32_t *id, size_t n, struct failure *f);

/* The document that is open ends, or is taken back where it is not whole; none open: no effect. */
enum fail_code export_file_end(struct export_file *e, bool whole, struct failure *f);

/* Gives the files their names. No document is open. Only export_file_close() may follow. */
enum fail_code export_file_finish(struct export_file *e, struct failure *f);

uint64_t export_file_documents(const struct export_file *e);
uint64_t export_file_token_count(const struct export_file *e); /* as written */
/* "web.bin and web.idx" */
const char *export_file_names(const struct export_file *e);

#endif
