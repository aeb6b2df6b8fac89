/*
 * inspect_lines.h -- at which lines of their files the documents of a step stand.
 *
 * A batch does not say it: the domain logs do (documents.h), and the ledger says which these are.
 * Sequences of a partition that stand near each other are read together, as those of a step do:
 * an epoch's order keeps blocks together.
 */
#ifndef CLI_INSPECT_INSPECT_LINES_H
#define CLI_INSPECT_INSPECT_LINES_H

#include "common/base/failure.h"
#include "common/config/config.h"
#include "consumer/domain/document_line.h"
#include "consumer/replay/published_step.h"

struct inspect_lines;

/*
 * Gives *out, to be ended with inspect_lines_close(): of lane `lane`, or with -1 of all. Where
 * ledger or domain logs cannot be read, it knows no line, and warns (INSPECT-NO-LINES) why. Of a
 * damaged record it knows what comes before the damage. FAIL_MEMORY.
 */
enum fail_code inspect_lines_open(struct inspect_lines **out, const char *mix,
    const struct config *c, const struct published_step *s, int64_t lane, struct failure *f);
void inspect_lines_close(struct inspect_lines *l); /* NULL is accepted */

/*
 * Of each of spans_n documents of a sequence; NULL: nothing is known, as of `l` NULL. Borrowed.
 * *time_ms is when the sequence was published, -1 where that is not known.
 */
const struct document_line *inspect_lines_of(
    const struct inspect_lines *l, uint32_t lane, size_t slot, size_t spans_n, int64_t *time_ms);

#endif
