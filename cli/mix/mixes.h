/*
 * mixes.h -- several mixes by one command, each in a process of its own.
 *
 * Why processes: a mix opens some 60 files and 30 threads, most of them librdkafka's. 200 of them
 * would need more files than a process usually may open, and one that ends by an assertion or for
 * want of memory would end them all. What they could share, the program and its tables, a fork
 * shares too. docs/design/publish.md has the figures.
 *
 *     parent                                   child i
 *     forks all, while it has no thread        waits
 *     "begin" to the first at_once   ------->  runs its mix
 *                                    <-------  "waits": for trainers, a domain or its turn
 *     "begin" to the next            ------->
 *                                    <-------  has ended: the end of the pipe
 *     a stop: SIGUSR1 to all         ------->  stops, as by SIGTERM
 *     dies                           ------->  is killed: by the kernel, at once
 *
 * A mix that has come to its trainers goes at their pace from then on, and holds up no other. So
 * at_once says how many are read ahead, and so how much memory and processor the start of many
 * takes.
 *
 * To a terminal the children are one command: they are no members of its foreground group, so that
 * Ctrl-C reaches the parent alone, and a second one ends all of them.
 *
 * Thread: one of the parent, one of each child.
 */
#ifndef CLI_MIX_MIXES_H
#define CLI_MIX_MIXES_H

#include <stddef.h>

#include "common/base/failure.h"

enum { MIXES_MAX = 400 }; /* a descriptor each, of the 1,024 that a process usually has */

struct mixes_link; /* from a child to its parent */

struct mixes {
	size_t n;
	const char *const *name; /* [n] */
	size_t at_once;          /* > 0 */
	/* Runs mix i in its child until it ends or signals_stop(); it calls mixes_waits(link). */
	enum fail_code (*run)(void *opaque, size_t i, struct mixes_link *link, struct failure *f);
	void *opaque;
};

/*
 * Returns n + 1 times. In each child: what its run() gave, with the name of the mix in front. In
 * the parent, when all have ended: FAIL_NONE, or which have failed, with the code of the worst.
 */
enum fail_code mixes_run(const struct mixes *m, struct failure *f);

/* Lets the next mix begin. Only the first call does anything. */
void mixes_waits(void *opaque);

#endif
