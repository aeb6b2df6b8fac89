/*
 * source_check.h -- what can be known of a configuration's inputs before anything is published: are
 * the tokenizer and the files there, and do the first records have the fields that domains need?
 *
 * The first records of each domain with files are read. If none of the first file's has a field,
 * the name is taken to be wrong. Records that `riffle produce` would reject are counted, in the
 * next files too if the first is short: more of them than max_rejects allows are a failure, fewer
 * are a warning. A domain with `where` needs a text only in the records that are its own. Headers
 * and sizes of token files are checked. Programs (exec) are not run. A live domain's records are
 * not counted, because its last file may be half written.
 *
 * A file that is read as two inputs gives each of its documents twice: to two domains, or to train
 * and to a held-out set. It is refused, whatever patterns it comes by, unless a `where` that
 * differs deals its documents out. Two held-out sets may share a file.
 *
 * Threads: reads with input.h, which has a thread of its own until the call returns.
 */
#ifndef PRODUCER_PRODUCE_SOURCE_CHECK_H
#define PRODUCER_PRODUCE_SOURCE_CHECK_H

#include "common/base/failure.h"
#include "common/config/config.h"

enum { SOURCE_CHECK_RECORDS = 100 }; /* of each domain */

/*
 * Checks these domains, or all of them if domains_n is 0. A caller that names domains reads them
 * next, and counts all their records: this check leaves out the count and the warnings.
 * FAIL_CONFIG, FAIL_IO or FAIL_DATA: "FILE:LINE: domains.NAME.KEY: WHAT", or about the tokenizer.
 */
enum fail_code source_check(
    const struct config *c, char *const *domain, size_t domains_n, struct failure *f);

/* FAIL_CONFIG: a file of one of these domains (domains_n 0: of any) is another input's, too. Asks
 * for files that are there now; what is wrong with patterns is the business of others. */
enum fail_code source_check_shared(
    const struct config *c, char *const *domain, size_t domains_n, struct failure *f);

#endif
