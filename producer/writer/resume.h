/*
 * resume.h -- where a producer continues, by the last record of each of its partitions.
 *
 * The partitions themselves are the only record of progress. Each sequence carries its position:
 * the document that its last token is of, where that document is in the input, and the counts so
 * far. So a producer that was killed at any moment is followed by one that asks each partition for
 * its last record:
 *
 *     no record          needs the input from its start
 *     Sequence           needs its last token's document, from that token on; packed in windows,
 *                        the first document of its window
 *     End                needs nothing; or, to be appended to, what comes behind the input then
 *
 * One input feeds several partitions (domains times train, valid, test), and each may be at another
 * place. Reading begins at the earliest, and each partition drops what it has:
 *
 *     document      0   1   2   3   4   5   6   7   8
 *     wiki.train    w       w           w              last record ends in document 5, token 80
 *     wiki.valid        w                              ... in document 1: others had 2 to 8
 *     code.train                c   c       c          ... in document 6
 *
 *     resume_start(): document 1, because wiki.valid may need what comes right behind it. Documents
 *     2 to 4 are read again, and dropped for wiki.train, whose first_document is 5.
 *
 * That is the earliest of the last ends, not of what was in work: what a partition lacks behind its
 * last record was never published, so nothing else can know of it. A partition with one document a
 * million costs a resume that reads a million again; it is exact whatever happened.
 *
 * The proof.  The record at that place must be the one of then. Its tokens cannot be compared with
 * what the partition has of earlier documents, but those of the last sequence can: `tail` holds its
 * tokens of the last document, which must be a part of the document read again (resume_fits). In
 * windows the last sequence must come out whole a second time (resume_is_last). Data that have
 * changed since are FAIL_DATA, and nothing is written.
 *
 * The configuration of now must be that of then in all that makes the records: its recipe
 * (recipe.h) is on the last End. Where the last record is a Sequence the one on the partition's
 * first record counts, which was of the same kind as all since.
 *
 * resume_ask() asks the broker; all the others decide, with plain values.
 *
 * Thread: one.
 */
#ifndef PRODUCER_WRITER_RESUME_H
#define PRODUCER_WRITER_RESUME_H

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/config/recipe.h"
#include "common/record/sequence.h"
#include "producer/input/input.h"

/* On an End of files that are all there: "SETTLED LAST", bytes as in struct resume. */
#define RESUME_BYTES_HEADER "riffle.input_bytes"
/* On a Sequence of files that are all there: "FILES NAMES" as in struct resume, NAMES in hex. */
#define RESUME_FILES_HEADER "riffle.input_files"

enum resume_state { RESUME_FRESH, RESUME_PARTIAL, RESUME_ENDED, RESUME_APPEND };

struct resume {
	enum resume_state state;
	int64_t offset_next; /* end of the partition */
	uint64_t sequences;  /* ordinal of the next */
	/*
	 * RESUME_PARTIAL, of the last record: see Position in schemas/Sequence.avsc. RESUME_ENDED
	 * and RESUME_APPEND, of the End: `document` is the first that its input did not have.
	 */
	char *file; /* owned */
	uint64_t document, byte, line, offset, documents, rejects;
	uint64_t record_bytes, record_bytes_max; /* that record included */
	uint64_t tokens, dropped, window;
	int64_t sealed; /* length by the last End; -1: there is none */
	/* Of the End: see Input in schemas/End.avsc. RESUME_PARTIAL: the files up to `file`, and
	 * the hash of their names; 0: not known. */
	uint64_t files, names;
	/* Of these files but the last, and of the last, as stored; -1: not known. */
	int64_t settled_bytes, last_bytes;
	/*
	 * RESUME_PARTIAL. Owned: the last record's tokens of that document, which end with number
	 * `offset`; where there is a window, all its tokens. At least one.
	 */
	uint32_t *tail;
	size_t tail_n;
	/* Owned: where there is a window, the last record's spans, without what is kept. */
	struct sequence_span *span;
	size_t spans_n;
	/* The rule by which the log was begun; AUTO: it has no record. */
	enum config_no_target no_target;
	/* How the recipe's sources differ; "": they do not, or the log has no recipe. */
	char sources[RECIPE_DIFFERENCES_BYTES];
};

/* What the configuration says; the log must say the same. */
struct resume_expected {
	const char *domain;
	const char *recipe; /* see recipe.h */
	/* The same of logs that have no recipe. */
	uint64_t tokenizer;
	const char *tokenizer_file; /* for failures */
	uint32_t sequence_length;
	enum sequence_packing packing;
	size_t overlap_bytes; /* of records that are compared where two producers met: overlap.h */
};

/*
 * Fills *out, to be ended with resume_close(). FAIL_CONFIG: another tokenizer, sequence_length or
 * packing, or the log's recipe differs in the kind of records. FAIL_DATA: the last record is not a
 * producer's, records were deleted, or two producers wrote different records of one ordinal.
 * `reader` is a KAFKA_READER with nothing assigned.
 */
enum fail_code resume_ask(struct resume *out, rd_kafka_t *reader, const char *topic,
    int32_t partition, const struct resume_expected *expected, struct failure *f);
void resume_close(struct resume *r); /* ends what *r owns, not *r */

/* What the last record says, a Sequence or an End: fills a zeroed *out. Fails as resume_ask(). */
enum fail_code resume_take(struct resume *out, const uint8_t *bytes, size_t n,
    const struct resume_expected *e, struct failure *f);

/* An ended partition is to be appended to; others stay as they are. */
void resume_append(struct resume *r);

/*
 * Whether a document with the tokens id[n] can be the one that the last record ended in. Bits of
 * `marks` in an id are no part of it.
 */
bool resume_fits(const struct resume *r, const uint32_t *id, size_t n, uint32_t marks);

/* Where there is a window: whether its last published sequence has these tokens and spans. */
bool resume_is_last(const struct resume *r, const uint32_t *token, size_t n,
    const struct sequence_span *span, size_t spans_n);

/*
 * The earliest place that some partition needs, in *from (which borrows from `r`); *from_start: the
 * input from its start, and *from is not set; *needed: false where all have ended.
 */
void resume_start(
    const struct resume *r, size_t n, struct input_position *from, bool *from_start, bool *needed);

enum resume_absent {
	RESUME_ABSENT_NEW,     /* nothing was ever written */
	RESUME_ABSENT_DELETED, /* all that was written was deleted */
	RESUME_ABSENT_UNSEEN,  /* what is there is not visible, or came after the question */
};

/* Why a partition that begins at `low` and ends at `high` has shown no last record. Pure. */
enum resume_absent resume_judge_absent(int64_t low, int64_t high);

#endif
