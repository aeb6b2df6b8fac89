/*
 * world_kinds.h -- in what the worlds differ: a table, a row a world.
 */
#ifndef TESTS_SIM_WORLD_KINDS_H
#define TESTS_SIM_WORLD_KINDS_H

#include "tests/sim/world.h"

enum { WORLD_ASKED_MAX = 5 };

struct world_kind {
	const char *name;
	uint32_t lanes, ranks, lead;
	const char *domains;    /* of the mix, YAML */
	const char *producing;  /* where producers see other ones; NULL: the same */
	const char *weights;    /* of the mix */
	const char *more;       /* of the mix section */
	const char *accepted;   /* weights of a changed configuration; NULL: none */
	uint32_t accepted_lead; /* its lead; 0: the same */
	const char *corpus;     /* more of the corpus; NULL: nothing */
	bool bad, repeated;
	struct control asked[WORLD_ASKED_MAX]; /* before the mix begins; borrow constants */
	size_t asked_n;
	struct control late[WORLD_LATE_MAX]; /* while it runs */
	size_t late_n;
	bool lends;
};

extern const struct world_kind world_kinds[WORLD_KINDS];
extern const struct world_kind world_mixed[WORLD_MIXED];

/* Inputs whose files arrive: the domains while they are live, and when they are closed. */
struct world_inbox {
	const char *name, *domains, *closing;
};

extern const struct world_inbox world_inboxes[WORLD_INBOXES];

#endif
