/*
 * part_outputs.h -- the Kafka partitions that one part writes: from documents to sequences, records
 * and the End of each.
 *
 * An output is partition k of one topic: a domain's train, valid or test set. A part (part.h) has
 * one of them for each domain that shares its input and each set that the domain has.
 *
 *     part_outputs_add()     document --pack--> sequences --> a frame job of that output
 *     a worker          the frame job: sequences --> compressed frames
 *     part_outputs_take()    frame job --> records, put in the order of their ordinals
 *     part_outputs_end()     what the packers hold, then the End of each
 *
 * Everything that decides bytes happens on the caller's thread, in the order of the input: which
 * sequence a token is in, its ordinal, the counts in its record. Workers only compute. Frame jobs
 * come back in the order in which they were submitted (pool.h), so that ordinals rise without a
 * gap, whichever worker was first.
 *
 * An output is in one of four states:
 *
 *     not open     it is not ours, or has its End: documents for it are dropped
 *     behind       waits for the document that its last record ended in; earlier ones are dropped.
 *                  Where its file is lost (live_order.h) the next document counts
 *     skipping     packed in windows: packs again what its last window was made of, and drops the
 *                  sequences that are in the log
 *     writing      every document counts
 *
 *     not open               behind --that document--> skipping --its last sequence--> writing
 *                                       +------ concat, none: no window -------------------^
 *
 * Invariants:
 *     a record that counts r rejects is put only when r rejects are in the log, and with them all
 *     documents without a target before it, which no record counts (settle_rejects());
 *     an End is put only when everything before it is delivered, and when no output is behind or
 *     skipping: that would mean that the input has changed.
 *
 * Thread: one.
 */
#ifndef PRODUCER_PRODUCE_PART_OUTPUTS_H
#define PRODUCER_PRODUCE_PART_OUTPUTS_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "producer/document/split.h"
#include "producer/input/input.h"
#include "producer/pack/pack.h"
#include "producer/produce/measures.h"
#include "producer/produce/part_progress.h"
#include "producer/produce/pool.h"
#include "producer/produce/worker.h"
#include "producer/tokenizer/tokenizer.h"
#include "producer/writer/resume.h"
#include "producer/writer/writer.h"

enum { PART_OUTPUTS_WAIT_MS = 50 /* for deliveries, before looking at `stop` again */ };

/* part_outputs_open() copies it; what it points to is borrowed until part_outputs_close(). */
struct part_outputs_options {
	const struct config *config;
	const struct tokenizer *tokenizer;
	const size_t *domain; /* [domains_n] that share the input, by index in the configuration */
	const bool *wanted;   /* [domains_n]: which of them to write */
	size_t domains_n;
	enum names_set set; /* as in struct part_options */
	bool append;        /* partitions that have ended continue behind their End */
	bool seal;          /* live domains, too, get their End */
	uint32_t partition, partitions;
	const struct stop *stop;
};

/* What an output borrows from the part that feeds it, once the part runs. */
struct part_outputs_workers {
	struct pool *pool; /* POOL_FRAMES is the outputs' */
	const struct worker_context *context;
	struct part_progress *progress;
	struct measures_part *measures;
};

struct part_outputs;

/*
 * Gives *out, to be ended with part_outputs_close() after the pool: asks each partition where it
 * stands. `reader` is a KAFKA_READER with nothing assigned, needed for this call only. Failures as
 * from resume_ask().
 */
enum fail_code part_outputs_open(struct part_outputs **out, const struct part_outputs_options *o,
    rd_kafka_t *reader, struct failure *f);
void part_outputs_close(struct part_outputs *outs); /* NULL is accepted */

/* Where each output stands: [*n], domains times sets. What is not ours is RESUME_ENDED. */
const struct resume *part_outputs_resume(const struct part_outputs *outs, size_t *n);
/*
 * Whether documents without a target are left out of domain `domain`, an index in
 * part_outputs_options.domain. Its logs decide, or the configuration if none has begun.
 */
bool part_outputs_skip_no_target(const struct part_outputs *outs, size_t domain);
/* The topic of output i of these; "" where it is not ours. */
const char *part_outputs_topic(const struct part_outputs *outs, size_t i);

/* The command that publishes its domains: "import" for tokens, else "produce". */
const char *part_outputs_command(const struct part_outputs *outs);

/* After a failure whose reason is a changed input: what riffle-source reads otherwise; or "". */
const char *part_outputs_release(const struct part_outputs *outs);

/* Opens the writer and the packers. `rejects` of the input came before the place of the resume. */
enum fail_code part_outputs_start(struct part_outputs *outs,
    const struct part_outputs_workers *workers, uint64_t rejects, struct failure *f);

/* Where the documents come from, once it is open; borrowed: records have the names of its files. */
void part_outputs_read_from(struct part_outputs *outs, const struct input *input);

/*
 * The document that output i waits for, and what else is in its file, does not come any more: it
 * continues with the next one. After part_outputs_start(). FAIL_DATA: its packing needs the file.
 */
enum fail_code part_outputs_give_up(struct part_outputs *outs, size_t i, struct failure *f);
/* FAIL_DATA: some output could not do without files that are given up. */
enum fail_code part_outputs_may_give_up(const struct part_outputs *outs, struct failure *f);

/*
 * Adds a document, in the order of the input, piece by piece to the sets of domain `domain` (index
 * in part_outputs_options.domain). Only concat takes a document in pieces. d->place needs no
 * counts. Publishes other sequences where there is no room for its own. FAIL_DATA: a resume expects
 * another document here.
 */
enum fail_code part_outputs_add(struct part_outputs *outs, size_t domain,
    const struct split_piece *piece, size_t pieces_n, const struct pack_document *d,
    const uint32_t *id, struct failure *f);

/* Publishes a reject. r->count is set here. */
enum fail_code part_outputs_reject(
    struct part_outputs *outs, struct writer_reject *r, struct failure *f);
/*
 * In place of part_outputs_add(), for a document without a target: puts it into the topic of
 * rejects, without counting it as a reject. Sets r->count. `piece` is the document's first, whose
 * set it counts for. *any: false if that set already has sequences after the document, so that it
 * was put there before.
 */
enum fail_code part_outputs_leave_out(struct part_outputs *outs, size_t domain,
    const struct split_piece *piece, const struct pack_document *d, struct writer_reject *r,
    bool *any, struct failure *f);
/* Waits until all rejects are in the log; failures as from writer_settle_rejects(). */
enum fail_code part_outputs_settle(struct part_outputs *outs, struct failure *f);
/* Of the input so far, those before a resume included. */
uint64_t part_outputs_rejects(const struct part_outputs *outs);

/*
 * Publishes the oldest frame job if it is done (or, with `wait`, when it is). *any: there was one.
 */
enum fail_code part_outputs_take(
    struct part_outputs *outs, bool wait, bool *any, struct failure *f);

/* Hands in the frame jobs that are not full: when the input pauses. */
enum fail_code part_outputs_submit(struct part_outputs *outs, struct failure *f);

/* Publishes all sequences that are whole, and waits until they are delivered. */
enum fail_code part_outputs_drain(struct part_outputs *outs, struct failure *f);

/* Serves delivery reports; the failure of any record so far. */
enum fail_code part_outputs_poll(struct part_outputs *outs, struct failure *f);

/*
 * The input is over, and ended at `end`: publishes what the packers hold, then the Ends of the
 * outputs that get one, and waits until all is delivered. FAIL_DATA: an input of which a domain
 * gets no sequence, or that is more rejects than max_rejects allows, is most likely read wrongly;
 * what was published stays, and no output is closed.
 */
enum fail_code part_outputs_end(
    struct part_outputs *outs, const struct input_end *end, struct failure *f);

/* Waits for what is on its way; what is in frame jobs stays unpublished. FAIL_TIMEOUT. */
enum fail_code part_outputs_flush(struct part_outputs *outs, int timeout_ms, struct failure *f);

#endif
