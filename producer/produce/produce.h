/*
 * produce.h -- publishes the domains of a corpus: every input once, every part of it, to its Ends.
 *
 * This room is `riffle produce` without its command line, and `riffle import`, which does the same
 * with domains whose files hold tokens.
 *
 * Files of this room:
 *     produce        all parts, one after the other or each in a thread; retries
 *     source_check   before anything is published: do the inputs have what domains need?
 *     part_list      which parts there are
 *     part           one part: partition k of n of an input, from records to Ends
 *     part_outputs   the Kafka partitions that a part writes
 *     pool           worker threads, and jobs that come back in order
 *     worker         what a worker has for its jobs
 *     text_job       a job: records to documents of tokens
 *     frame_job      a job: sequences to compressed frames
 *     rejects        counts rejects by reason
 *     part_progress  how far a part is: a bar, or log lines
 *     measures       what all parts of a process count, for its metrics
 *
 *     configuration --part_list--> parts --part_run()--> for each:
 *
 *     input -> chunk -> [text job] -> documents -> packers -> [frame job] -> records -> writer
 *     reader thread      a worker    the part's thread        a worker     the part's thread
 *
 * Domains with equal train (or exec), text and partitions that differ in `where` share one input
 * and are read together. A domain with `valid` or `test` has one more input for each, for that set
 * alone. Parts are done one after the other, in the order of the configuration; with `follow` every
 * part of a live domain has a thread of its own, and the others are done in one more.
 *
 * Determinism: what is in a partition depends on the files, their order and the configuration. It
 * does not depend on the number of workers, the speed of anything, or how often the producer was
 * killed. The part's thread alone decides (part.h, part_outputs.h).
 *
 * Threads of a process that produces: the main thread, which waits; one for each part that runs at
 * once, and in each part a reader (input.h), its workers (pool.h) and those of librdkafka.
 */
#ifndef PRODUCER_PRODUCE_PRODUCE_H
#define PRODUCER_PRODUCE_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/stop.h"
#include "common/config/config.h"
#include "producer/tokenizer/tokenizer.h"

enum { PRODUCE_WORKERS_MAX = 256, PRODUCE_ATTEMPTS_MAX = 5, PRODUCE_FOLLOW_MAX = 1024 };

struct measures;

struct produce_options {
	const struct config *config;
	bool tokens;         /* only domains whose files hold tokens; else only the others */
	char *const *domain; /* names; domains_n 0: all of them */
	size_t domains_n;
	/* "partition" or "lane", as the option is named in messages: only partition `partition` of
	 * `partitions`. NULL: all of them. */
	const char *only;
	uint32_t partition, partitions; /* partitions 0: as many as each domain has */
	const char *task_variable;      /* of the environment, which had `partition`; else NULL */
	bool append;                    /* sealed partitions continue behind their End */
	bool follow;                    /* live domains: waits for more, until `stop` */
	bool seal;                      /* live domains get their End, too */
	bool skip_missing;              /* live domains: files that are gone are given up */
	bool restarted;            /* the domains' topics were created just now, for messages */
	uint32_t workers;          /* 0: as many as the machine has processors */
	struct measures *measures; /* NULL: none are taken */
	const struct stop *stop;
};

/*
 * FAIL_NONE: done, or stopped as asked. FAIL_USAGE: a domain or a partition that the configuration
 * does not have. Others as from topics_check() and, after the retries, from part_run().
 */
enum fail_code produce_run(const struct produce_options *given, struct failure *f);

/*
 * Fails as produce_run() would for what the configuration, the options and the tokenizer's file
 * have wrong. Asks no broker and opens no source.
 */
enum fail_code produce_check(const struct produce_options *given, struct failure *f);

/* FAIL_DATA: a producer writes one of the domains now. Needs what produce_check() passes. */
enum fail_code produce_check_idle(const struct produce_options *given, struct failure *f);

/*
 * Gives *out (tokenizer_close()), the tokenizer that the configuration names. Fails as
 * tokenizer_open().
 */
enum fail_code produce_open_tokenizer(
    struct tokenizer **out, const struct config *c, struct failure *f);

/*
 * Warns if the template of `add_special` puts eos next to the one that ends each document: at the
 * end of a text, or at its start if documents follow each other in a sequence.
 */
void produce_warn_eos(const struct config *c, const struct tokenizer *t);

/*
 * Notes the tokenizer's fingerprint in *c, to be compared with logs, or why the configuration does
 * not fit the file. Warns if the file cannot be read. A machine that only mixes may have no file.
 */
void produce_note_tokenizer(struct config *c);

#endif
