/*
 * live_order.h -- in which order the files of a live input were read, and how far each.
 *
 * Files that keep arriving have no order of their own: a new one may sort before old ones, and
 * several may grow at once. So the producer decides, in rounds: of the files that are new or have
 * grown, sorted by name, it takes what is complete, a portion of each. A portion is a stretch of
 * whole lines, or a whole file. The list of portions is the input; it only grows. It is in the
 * topic <corpus>.arrivals before anything that is made of it is published, and every later run
 * follows it to its end before it looks for more. So no document is skipped and none comes twice,
 * whatever the names and times of the files.
 *
 *     round 1    b.jsonl [0, 70)      c.jsonl [0, 40)
 *     round 2    a.jsonl [0, 90)      b.jsonl [70, 81)       a came late, b has grown
 *
 *     portions   0 b [0,70)   1 c [0,40)   2 a [0,90)   3 b [70,81)
 *     documents  0 .. 6       7 .. 10      11 .. 19     20
 *
 * Two writers.  A producer first writes that it takes over, behind the portions that it has seen.
 * What one before it appends later is void (live_order_apply):
 *
 *     1. P1 takes over at 0, and appends portions 0 and 1
 *     2. P1 hangs; it is taken for dead, and P2 is started
 *     3. P2 reads the log: two portions. It takes over at 2
 *     4. P1 wakes, has seen a.jsonl, and appends portion 2          void: P2 has taken over
 *     5. P2 has seen a.jsonl and b's growth, and appends 2 and 3    these count
 *
 * All readers of the log see the same records in the same order, so they agree on which count. P1
 * sees in the log that P2 has taken over before its own record (arrivals_log.h), and fails before
 * it publishes anything that is made of its portion 2.
 *
 * A take-over counts from the first portion that its writer appends. A record of a producer that is
 * dead, or has given up, can reach the log minutes late. Nothing follows a late take-over, so it
 * voids nothing:
 *
 *     1. P1 has read one portion. Its record "takes over at 1" is delayed, and P1 is killed
 *     2. P2 takes over at 1, and appends portions 1 and 2, which are published
 *     3. the record of P1 arrives                                portions 1 and 2 still count
 *     4. P2 appends portion 3                                    this counts, too
 *
 * Files that are lost.  A portion is read again where not all that is made of it was published. If
 * its file was deleted meanwhile, its user can give it up: then an empty portion of that file,
 * which ends where the last one ended, is appended. From then on no portion of it is read, in this
 * run or any later one. Nobody knows how many documents those had, so that the index of the next
 * one is not known either; but it must not be below that of a document that was published behind
 * it:
 *
 *     portions   0 b [0,70)   1 c [0,40)   2 a [0,90)   3 b [70,81)   4 c [40,40)       c is lost
 *     published  train up to document 23, at byte 20 of portion 2; valid up to 9, in portion 1
 *     read       portion 2 from byte 0 on: as documents 10, 11, ... up to byte 20, where train's
 *                document begins, which keeps its index: 23
 *
 * So a mark for each place that was published says what the index there is at least (record_mark).
 * Indices rise with the places, and where somebody continues they are those of the run before.
 *
 * Files that are renamed.  A name that is new and whose bytes are those that were read of a file
 * which is gone is that file (live_scan.h): it is read on behind them, under its new name. Where a
 * portion has to be read again, its records keep the old one.
 *
 *     portions   0 app.jsonl [0,70)   1 app.jsonl.1 [70,81)     renamed, then a line was added
 *
 * Proof that a file is still what was read: each portion has the hash of its last
 * LIVE_ORDER_TAIL_BYTES. To hash all of it would cost reading all of it at each start.
 *
 * Plain memory: no Kafka, no files. Thread: one at a time.
 */
#ifndef PRODUCER_INPUT_LIVE_ORDER_H
#define PRODUCER_INPUT_LIVE_ORDER_H

#include "common/record/arrivals.h"

enum {
	LIVE_ORDER_PORTIONS_MAX = 1 << 26,
	LIVE_ORDER_TAIL_BYTES = 4096 /* that a portion's hash covers */
};

struct live_order_portion {
	size_t file;        /* index in live_order.file */
	bool whole;         /* a text or a compressed file, from 0 to its end */
	uint64_t byte, end; /* [byte, end) of the file as stored; empty: the file is lost */
	uint64_t line;      /* in which `byte` is, from 1 */
	uint64_t hash;      /* XXH64 of its last LIVE_ORDER_TAIL_BYTES */
};

struct live_order_file {
	char *name;
	size_t last; /* portion that was read of it last; LIVE_ORDER_NONE */
	bool lost;   /* an empty portion says so */
	/* Of the process that runs, filled in by live_scan.c; 0 where nothing is known yet. */
	size_t after;  /* portion of a file that was renamed to this one: read on behind it */
	size_t now_at; /* file under whose name this one is now, if it was renamed */
	uint64_t seen; /* number of the look that saw it last */
	bool twin;     /* a second name of another file, and reported */
	uint64_t inode, device;
	uint64_t scanned;     /* no line ends between the last portion and this byte */
	uint64_t line_next;   /* the line that begins behind the last portion */
	uint64_t quiet_bytes; /* a whole file that was so large */
	int64_t quiet_ms;     /* at this time, and has not changed since */
};

#define LIVE_ORDER_NONE SIZE_MAX

/* Who has taken the input over, at which portion. */
struct live_order_taker {
	uint64_t writer;
	size_t first;
};

struct live_order {
	struct live_order_portion *portion;
	size_t n, room;
	struct live_order_file *file;
	size_t files_n, files_room;
	size_t *slot; /* hash table of file indices + 1 */
	size_t slots_n;
	/*
	 * [takers_n]: the first one appended last; the others took over later, in this order, and
	 * have appended nothing yet. Records of all others are void.
	 */
	struct live_order_taker *taker;
	size_t takers_n, takers_room;
};

/* A zeroed one is empty and valid. */
void live_order_close(struct live_order *r);

/*
 * Takes a record of the input into account, in the order of the log. FAIL_DATA: portions are
 * missing between those that are there and its own.
 */
enum fail_code live_order_apply(struct live_order *r, const struct arrivals *a, struct failure *f);

/*
 * Whether somebody took over before the last portions, without having seen them, and has appended
 * nothing: a late record, or one who gave the order up. live_order_void() takes it for the latter.
 */
bool live_order_is_doubtful(const struct live_order *r);
void live_order_void(struct live_order *r);

/* After the last record: works out how far each file was read. */
void live_order_settle(struct live_order *r);

/* Forgets all portions. */
void live_order_reset(struct live_order *r);

/* The portion behind which a file is read on: LIVE_ORDER_NONE for its start. */
size_t live_order_behind(const struct live_order *r, size_t file);

/* The empty portion that gives up a file of which something was read. */
struct live_order_portion live_order_loss(const struct live_order *r, size_t file);

/* The portion as the log has it; its text is borrowed. */
struct arrivals_portion live_order_record(
    const struct live_order *r, const struct live_order_portion *p);

/* Whether a portion is read no more: its file is lost. */
bool live_order_is_lost(const struct live_order *r, size_t portion);

/* Index of a file, which is added where it is new. */
enum fail_code live_order_file(
    struct live_order *r, const char *name, size_t name_n, size_t *index, struct failure *f);
/* LIVE_ORDER_NONE: it is not known. */
size_t live_order_find_file(const struct live_order *r, const char *name, size_t name_n);

/* Appends a portion of a file that is known. Copies. FAIL_CONFIG: LIVE_ORDER_PORTIONS_MAX. */
enum fail_code live_order_add(
    struct live_order *r, const struct live_order_portion *p, struct failure *f);

/* The portion of the file that has the record which starts at `byte`, lost or not; LIVE_ORDER_NONE.
 */
size_t live_order_find(const struct live_order *r, const char *name, uint64_t byte);

/* A rolling XXH64 over the first n portions: names, ends and hashes. 0 for none. */
uint64_t live_order_hash(const struct live_order *r, size_t n);

#endif
