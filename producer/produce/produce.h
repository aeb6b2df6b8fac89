/*
 * produce.h -- publishes the domains of a corpus: every input once, every lane of it, to its Ends.
 *
 * Domains whose files hold tokens are published in the same way, by a command of their own.
 *
 * Domains with equal train (or exec), text and partitions that differ in `where` share one input
 * and are read together. A domain with `valid` files has a second input, for that set alone. Inputs
 * are done one after the other, in the order of the configuration; with `follow` every lane of a
 * live domain has a thread of its own, and the others are done in one more.
 */
#ifndef PRODUCER_PRODUCE_PRODUCE_H
#define PRODUCER_PRODUCE_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/base/stop.h"

enum { PRODUCE_WORKERS_MAX = 256, PRODUCE_ATTEMPTS_MAX = 5, PRODUCE_FOLLOW_MAX = 1024 };

struct produce_options {
	const struct config *config;
	bool tokens;         /* only domains whose files hold tokens; else only the others */
	char *const *domain; /* names; domains_n 0: all of them */
	size_t domains_n;
	bool one_lane; /* only lane `lane` of `lanes` */
	uint32_t lane, lanes;
	bool append;      /* sealed partitions go on behind their End */
	bool follow;      /* live domains: waits for more, until `stop` */
	bool seal;        /* live domains get their End, too */
	uint32_t workers; /* 0: as many as the machine has processors */
	const struct stop *stop;
};

/* FAIL_NONE: done, or stopped as asked. FAIL_USAGE: a domain that is not there, a lane that is not.
 */
enum fail_code produce_run(const struct produce_options *o, struct failure *f);

#endif
