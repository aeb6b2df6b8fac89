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
	LIVE_ROUND_MAX = 4096, /* portions of one round; the next round takes the rest */
};

struct live_scan {
	struct file_list_now now;
	bool follow; /* somebody may be writing a whole file */
	bool last;   /* nothing comes after: a last line without its end is one, too */
	/* The result: portions to be read, in this order, `file` by index in the order. */
	struct live_order_portion portion[LIVE_ROUND_MAX];
	size_t n;
	bool unsettled; /* a whole file may still be written; look again after LIVE_QUIET_MS */
};

/* Fills the result. Files that are new get an index in `r`, and no portion yet. */
enum fail_code live_scan(struct live_scan *s, struct live_order *r, struct failure *f);

/* FAIL_DATA: the file's bytes are not those that the portion was made of. */
enum fail_code live_scan_check(const char *folder, const struct live_order *r,
    const struct live_order_portion *p, struct failure *f);

#endif
