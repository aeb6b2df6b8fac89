/*
 * live_scan.h -- what can be taken now of files that keep arriving: one round (see live_order.h).
 *
 * Of a file of JSON lines all whole lines that are behind the last portion. Of a text or a
 * compressed file all of it, once: a producer that follows waits until its size has not changed for
 * LIVE_QUIET_MS, so that whoever writes one should rename it into place. A file that has shrunk,
 * was replaced, or has changed where it was read already is FAIL_DATA that says so. A file that is
 * gone after it was read is no loss, unless a portion of it has to be read again. One that was
 * given up (live_order.h) and comes back is FAIL_DATA, too.
 *
 *     read so far   {"a"}LF{"b"}LF             portion [0, 12)
 *     now           {"a"}LF{"b"}LF{"c"}LF{"d   a new portion [12, 18): {"d has no end yet
 *     with `last`   {"a"}LF{"b"}LF{"c"}LF{"d   a new portion [12, 21): nothing comes after
 *
 * A file that is renamed within its patterns is known again by its bytes: those that were read of
 * a file which is gone are at the same place in the new one. So `mv a b`, and a log that is
 * rotated, publish nothing twice; a warning names both. Inodes are used again by others, and a
 * restart knows none: they only help. Of bytes fewer than LIVE_RENAMED_BYTES somebody else's file
 * could begin with the same; they count where the inode is known and the same, or nothing is
 * behind them.
 *
 *     read so far   a [0, 5000)
 *     `mv a b`, and a line is added   a new portion: b [5000, 5081)
 *     `mv a b`, and a new a           FAIL_DATA: a file is known by its name, which a has twice
 *
 * One that is compressed after it was read has other bytes: name.gz and name.zst of a file that is
 * gone are FAIL_DATA. Of two names of one file (a hard link, or a rename in the middle of a look)
 * one is read. A file's partition follows from its name: one that is renamed into another partition
 * is published there again, and a warning says so.
 *
 * A look costs one stat(2) a file, and reading only where a file is longer than at the last look:
 * `scanned` and `line_next` of live_order.h remember how far it was looked through.
 *
 * Thread: one.
 */
#ifndef PRODUCER_INPUT_LIVE_SCAN_H
#define PRODUCER_INPUT_LIVE_SCAN_H

#include <stdbool.h>

#include "producer/input/file_list.h"
#include "producer/input/live_order.h"

enum {
	LIVE_QUIET_MS = 1000,
	LIVE_ROUND_MAX = 4096,    /* portions of one round; the next round takes the rest */
	LIVE_RENAMED_BYTES = 256, /* that prove a renamed file by themselves */
	LIVE_RENAMED_MAX =
	    64, /* files that are gone, the last ones, of which a longer one is sought */
};

struct live_scan {
	struct file_list_now now;
	bool follow; /* somebody may be writing a whole file */
	bool last;   /* nothing comes after: a last line without its end is one, too */
	/* The result: portions to be read, in this order, `file` by index in the order. */
	struct live_order_portion portion[LIVE_ROUND_MAX];
	size_t n;
	bool unsettled; /* a whole file may still be written; look again after LIVE_QUIET_MS */
	/* Of the look at hand: the files that were read and are gone, the last ones first; none is
	 * looked for before a file has something new. */
	size_t *gone;
	size_t gone_n;
	bool gone_listed;
	uint64_t looks;
};

/* Frees what looks have left. */
void live_scan_close(struct live_scan *s);

/* Fills the result. Files that are new get an index in `r`, and no portion yet. */
enum fail_code live_scan(struct live_scan *s, struct live_order *r, struct failure *f);

/*
 * Finds the file of a portion where it was renamed, and notes that in the order (`now_at`); *there
 * says whether there is a file, under its own name or the new one.
 */
enum fail_code live_scan_find(const struct file_list_now *now, struct live_order *r, size_t portion,
    bool *there, struct failure *f);

/* The name under which a portion's file is now, as far as that was noted. */
const char *live_scan_name(const struct live_order *r, const struct live_order_portion *p);

/* FAIL_DATA: the file's bytes are not those that the portion was made of. */
enum fail_code live_scan_check(const struct file_list_now *now, const struct live_order *r,
    const struct live_order_portion *p, struct failure *f);

#endif
