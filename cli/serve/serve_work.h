/*
 * serve_work.h -- a worker: what must be asked of the broker for one client.
 *
 * One thread takes jobs in their order, SERVE_JOBS at most: a client that finds all places taken is
 * refused, so that clients cannot pile up work. A job is done with the functions of the commands
 * `riffle inspect`, `plan` and `weights`, and answers with their JSON. Changes, which wait for a
 * mixer, have a worker of their own.
 *
 * Thread: put from any.
 */
#ifndef CLI_SERVE_SERVE_WORK_H
#define CLI_SERVE_SERVE_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "cli/serve/serve_rules.h"
#include "common/base/failure.h"
#include "common/config/config.h"

enum { SERVE_JOBS = 8 };

struct serve_work;

/* Owned by who puts it, until done() is called; then by that one again. */
struct serve_job {
	enum serve_route route;
	uint64_t step, steps;
	char *body; /* of a change */
	size_t body_n;
	void (*done)(struct serve_job *job, void *of); /* from any thread, once */
	void *of;

	/* The answer. */
	bool sent; /* of a change: the mix was asked for it */
	unsigned status;
	char *text;             /* JSON (free); NULL: no memory */
	struct serve_job *next; /* private */
};

/*
 * Gives *out, to be ended with serve_work_end() and _close(). Borrows configuration and options
 * until then: `reload` is what the command line says, by which a plan reads the file again.
 */
enum fail_code serve_work_open(struct serve_work **out, const struct config *c,
    const struct options *reload, const char *mix, struct failure *f);

/*
 * Refuses new jobs, answers those that wait with 503, and waits `wait_ms` at most for the one that
 * is under way. False: it still is, and all that it borrows must stay. NULL is accepted.
 */
bool serve_work_end(struct serve_work *w, int wait_ms);
void serve_work_close(struct serve_work *w); /* of one that has ended; NULL is accepted */

/* The JSON of a failure, {"error": why} (free); NULL: no memory. */
char *serve_work_error(const char *why);

/* Also where all places are taken (429) or the worker ends (503): that is then the answer. */
void serve_work_put(struct serve_work *w, struct serve_job *job);

#endif
