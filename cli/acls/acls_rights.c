#include "cli/acls/acls_rights.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/config/topic_plan.h"

/* What a row is about: one resource, or one for each domain, set or run. */
enum what {
	WHAT_DOMAINS,  /* training sets */
	WHAT_DRAWN,    /* the same where batches are derived from them */
	WHAT_HELD_OUT, /* valid and test */
	WHAT_REJECTS,
	WHAT_ARRIVALS,    /* where the configuration needs it */
	WHAT_NO_ARRIVALS, /* where it does not: that there is none must be seen */
	WHAT_BATCHES,
	WHAT_LANES,
	WHAT_LEDGER,
	WHAT_CONTROL,
	WHAT_FEEDBACK,
	WHAT_TOPICS, /* all of them */
	WHAT_GROUP_MIXER,
	WHAT_GROUP_RUNS, /* of mix.runs */
	WHAT_GROUP_ELECTION,
	WHAT_GROUP_PRODUCERS, /* of all inputs of the corpus */
	WHAT_GROUPS,          /* every group of the mix, also of runs that nobody has named */
	WHAT_TRANSACTIONS,
	WHAT_CLUSTER,
};

/* One line of the table: `command` may do `operation` to all resources of kind `what`. */
struct row {
	const char *command, *operation;
	enum what what;
};

/*
 * Rows of one command stand together, and in them those of one operation and kind of resource:
 * cmd_acls.c prints neighbours in one command line, and fail_unknown() lists a command when it
 * differs from the row before.
 */
static const struct row rows[] = {
    {"topics", "DESCRIBE", WHAT_TOPICS},
    {"topics", "DESCRIBE_CONFIGS", WHAT_TOPICS},
    {"topics", "DESCRIBE_CONFIGS", WHAT_CLUSTER},

    {"topics-create", "CREATE", WHAT_TOPICS},
    {"topics-create", "DESCRIBE", WHAT_TOPICS},
    {"topics-create", "DESCRIBE_CONFIGS", WHAT_TOPICS},
    {"topics-create", "DESCRIBE_CONFIGS", WHAT_CLUSTER},

    {"topics-delete", "DELETE", WHAT_TOPICS},
    {"topics-delete", "DESCRIBE_CONFIGS", WHAT_TOPICS},
    {"topics-delete", "DESCRIBE_CONFIGS", WHAT_CLUSTER},

    {"produce", "READ", WHAT_DOMAINS},
    {"produce", "READ", WHAT_HELD_OUT},
    {"produce", "READ", WHAT_ARRIVALS},
    {"produce", "WRITE", WHAT_DOMAINS},
    {"produce", "WRITE", WHAT_HELD_OUT},
    {"produce", "WRITE", WHAT_REJECTS},
    {"produce", "WRITE", WHAT_ARRIVALS},
    {"produce", "READ", WHAT_NO_ARRIVALS},
    {"produce", "READ", WHAT_GROUP_PRODUCERS},
    {"produce", "DESCRIBE_CONFIGS", WHAT_DOMAINS},
    {"produce", "DESCRIBE_CONFIGS", WHAT_HELD_OUT},
    {"produce", "DESCRIBE_CONFIGS", WHAT_REJECTS},
    {"produce", "DESCRIBE_CONFIGS", WHAT_ARRIVALS},

    {"mix", "READ", WHAT_DOMAINS},
    {"mix", "READ", WHAT_CONTROL},
    {"mix", "READ", WHAT_LEDGER},
    {"mix", "READ", WHAT_BATCHES},
    {"mix", "WRITE", WHAT_LEDGER},
    {"mix", "WRITE", WHAT_BATCHES},
    {"mix", "WRITE", WHAT_REJECTS},
    {"mix", "DESCRIBE_CONFIGS", WHAT_DOMAINS},
    {"mix", "DESCRIBE_CONFIGS", WHAT_CONTROL},
    {"mix", "DESCRIBE_CONFIGS", WHAT_LEDGER},
    {"mix", "DESCRIBE_CONFIGS", WHAT_BATCHES},
    {"mix", "DESCRIBE", WHAT_LANES},
    {"mix", "DESCRIBE_CONFIGS", WHAT_LANES},
    {"mix", "DESCRIBE_CONFIGS", WHAT_REJECTS},
    {"mix", "READ", WHAT_GROUP_MIXER},
    {"mix", "READ", WHAT_GROUP_ELECTION},
    {"mix", "DESCRIBE", WHAT_GROUP_RUNS},
    {"mix", "WRITE", WHAT_TRANSACTIONS},

    {"read", "READ", WHAT_BATCHES},
    {"read", "READ", WHAT_LANES},
    {"read", "READ", WHAT_DRAWN},
    {"read", "READ", WHAT_LEDGER},
    {"read", "READ", WHAT_HELD_OUT},
    {"read", "WRITE", WHAT_FEEDBACK},
    {"read", "READ", WHAT_GROUP_RUNS},

    {"weights", "READ", WHAT_LEDGER},
    {"weights", "WRITE", WHAT_CONTROL},
    {"weights", "DESCRIBE", WHAT_GROUP_ELECTION},

    {"skip", "READ", WHAT_BATCHES},
    {"skip", "READ", WHAT_DRAWN},
    {"skip", "DESCRIBE", WHAT_LANES},
    {"skip", "READ", WHAT_LEDGER},
    {"skip", "WRITE", WHAT_CONTROL},
    {"skip", "DESCRIBE", WHAT_GROUP_ELECTION},

    {"requests", "READ", WHAT_LEDGER},
    {"requests", "READ", WHAT_CONTROL},
    {"requests", "WRITE", WHAT_CONTROL},
    {"requests", "DESCRIBE", WHAT_GROUP_ELECTION},

    {"runs", "READ", WHAT_BATCHES},
    {"runs", "READ", WHAT_LANES},
    {"runs", "READ", WHAT_LEDGER},
    {"runs", "WRITE", WHAT_CONTROL},
    {"runs", "READ", WHAT_GROUP_RUNS},
    {"runs", "DESCRIBE", WHAT_GROUP_ELECTION},

    {"runs-forget", "READ", WHAT_BATCHES},
    {"runs-forget", "READ", WHAT_LANES},
    {"runs-forget", "READ", WHAT_LEDGER},
    {"runs-forget", "DELETE", WHAT_GROUPS},

    {"reweight", "READ", WHAT_FEEDBACK},
    {"reweight", "READ", WHAT_LEDGER},

    {"status", "READ", WHAT_DOMAINS},
    {"status", "READ", WHAT_BATCHES},
    {"status", "READ", WHAT_LEDGER},
    {"status", "READ", WHAT_FEEDBACK},
    {"status", "DESCRIBE", WHAT_LANES},
    {"status", "DESCRIBE", WHAT_HELD_OUT},
    {"status", "DESCRIBE", WHAT_REJECTS},
    {"status", "READ", WHAT_ARRIVALS},
    {"status", "DESCRIBE", WHAT_CONTROL},
    {"status", "DESCRIBE", WHAT_GROUP_MIXER},
    {"status", "DESCRIBE", WHAT_GROUP_ELECTION},
    {"status", "DESCRIBE", WHAT_GROUP_RUNS},

    /* As status; and what the steps, plans and requests of single clients need. */
    {"serve", "READ", WHAT_DOMAINS},
    {"serve", "READ", WHAT_BATCHES},
    {"serve", "READ", WHAT_LEDGER},
    {"serve", "READ", WHAT_FEEDBACK},
    {"serve", "READ", WHAT_CONTROL},
    {"serve", "DESCRIBE", WHAT_LANES},
    {"serve", "DESCRIBE", WHAT_HELD_OUT},
    {"serve", "DESCRIBE", WHAT_REJECTS},
    {"serve", "READ", WHAT_ARRIVALS},
    {"serve", "DESCRIBE", WHAT_GROUP_MIXER},
    {"serve", "DESCRIBE", WHAT_GROUP_ELECTION},
    {"serve", "DESCRIBE", WHAT_GROUP_RUNS},

    {"serve-changes", "READ", WHAT_DOMAINS},
    {"serve-changes", "READ", WHAT_BATCHES},
    {"serve-changes", "READ", WHAT_LEDGER},
    {"serve-changes", "READ", WHAT_FEEDBACK},
    {"serve-changes", "READ", WHAT_CONTROL},
    {"serve-changes", "WRITE", WHAT_CONTROL},
    {"serve-changes", "DESCRIBE", WHAT_LANES},
    {"serve-changes", "DESCRIBE", WHAT_HELD_OUT},
    {"serve-changes", "DESCRIBE", WHAT_REJECTS},
    {"serve-changes", "READ", WHAT_ARRIVALS},
    {"serve-changes", "DESCRIBE", WHAT_GROUP_MIXER},
    {"serve-changes", "DESCRIBE", WHAT_GROUP_ELECTION},
    {"serve-changes", "DESCRIBE", WHAT_GROUP_RUNS},

    {"rejects", "READ", WHAT_REJECTS},

    {"inspect", "READ", WHAT_DOMAINS},
    {"inspect", "READ", WHAT_BATCHES},
    {"inspect", "DESCRIBE", WHAT_LANES},
    {"inspect", "READ", WHAT_LEDGER},

    {"replay", "READ", WHAT_DOMAINS},
    {"replay", "READ", WHAT_BATCHES},
    {"replay", "DESCRIBE", WHAT_LANES},
    {"replay", "READ", WHAT_LEDGER},

    {"repair", "READ", WHAT_DOMAINS},
    {"repair", "READ", WHAT_BATCHES},
    {"repair", "DESCRIBE", WHAT_LANES},
    {"repair", "READ", WHAT_LEDGER},
    {"repair", "WRITE", WHAT_LEDGER},
    {"repair", "WRITE", WHAT_BATCHES},
    {"repair", "WRITE", WHAT_REJECTS},
    {"repair", "DESCRIBE", WHAT_CONTROL},
    {"repair", "WRITE", WHAT_TRANSACTIONS},

    {"export", "READ", WHAT_DOMAINS},

    {"retain", "READ", WHAT_BATCHES},
    {"retain", "DESCRIBE", WHAT_LANES},
    {"retain", "READ", WHAT_LEDGER},
    {"retain", "DELETE", WHAT_BATCHES},
    {"retain", "DESCRIBE", WHAT_GROUPS},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* Commands that need what another one needs. */
static const char *const alias[][2] = {{"import", "produce"}, {"plan", "status"}};

struct list {
	struct acls_right *right;
	size_t n, room;
	const struct config *config;
	const struct topic_plan *plan;
};

static struct acls_right *
add(struct list *l, const struct row *row, enum acls_right_kind kind)
{
	struct acls_right *r;

	assert(l->n < l->room);
	r = &l->right[l->n++];
	*r = (struct acls_right){.operation = row->operation, .kind = kind};
	return r;
}

/* Whether a topic of the plan is of that kind. Kinds that are no topics concern none. */
static bool
concerns(const struct planned_topic *t, enum what what)
{
	switch (what) {
	case WHAT_DRAWN:
	case WHAT_DOMAINS: return t->kind == TOPIC_DOMAIN && t->set == SET_TRAIN;
	case WHAT_HELD_OUT: return t->kind == TOPIC_DOMAIN && t->set != SET_TRAIN;
	case WHAT_REJECTS: return t->kind == TOPIC_REJECTS;
	case WHAT_ARRIVALS: return t->kind == TOPIC_ARRIVALS;
	case WHAT_BATCHES: return t->kind == TOPIC_BATCHES;
	case WHAT_LANES: return t->kind == TOPIC_LANES;
	case WHAT_LEDGER: return t->kind == TOPIC_LEDGER;
	case WHAT_CONTROL: return t->kind == TOPIC_CONTROL;
	case WHAT_FEEDBACK: return t->kind == TOPIC_FEEDBACK;
	case WHAT_TOPICS: return true;
	case WHAT_NO_ARRIVALS:
	case WHAT_GROUP_MIXER:
	case WHAT_GROUP_RUNS:
	case WHAT_GROUP_ELECTION:
	case WHAT_GROUP_PRODUCERS:
	case WHAT_GROUPS:
	case WHAT_TRANSACTIONS:
	case WHAT_CLUSTER: return false;
	}
	return false;
}

/*
 * The topics of the plan that the row is about. The plan has <corpus>.arrivals only where a domain
 * needs it. `riffle produce` looks for it all the same: a domain that is not live now may have been
 * live once, and the order of its files is there then. A topic that a user may not see looks as one
 * that does not exist, so the right to see is needed for the one that does not exist as well.
 * The same is true of <mix>.batches, by which a mix with copies is known from one without.
 */
static void
add_topics(struct list *l, const struct row *row)
{
	bool derived = l->config->mix.batches == MIX_BATCHES_DERIVED, arrivals = false;

	for (size_t i = 0; i < l->plan->n; i++) {
		const struct planned_topic *t = &l->plan->topic[i];

		arrivals = arrivals || t->kind == TOPIC_ARRIVALS;
		if (row->what == WHAT_DRAWN && !derived)
			continue;
		if (concerns(t, row->what))
			memcpy(add(l, row, ACLS_RIGHT_TOPIC)->name, t->name, sizeof(t->name));
	}
	if (row->what == WHAT_NO_ARRIVALS && !arrivals)
		names_topic(add(l, row, ACLS_RIGHT_TOPIC)->name, l->config->corpus, "arrivals");
	if (row->what == WHAT_BATCHES && derived && strcmp(row->operation, "READ") == 0)
		names_topic(add(l, row, ACLS_RIGHT_TOPIC)->name, l->config->mix.name, "batches");
}

static void
add_groups(struct list *l, const struct row *row)
{
	const struct config_mix *mix = &l->config->mix;
	struct acls_right *r;

	for (size_t i = 0; row->what == WHAT_GROUP_RUNS && i < mix->runs.n; i++)
		names_topic(add(l, row, ACLS_RIGHT_GROUP)->name, mix->name, mix->runs.text[i]);
	if (row->what == WHAT_GROUP_MIXER)
		names_topic(add(l, row, ACLS_RIGHT_GROUP)->name, mix->name, "mixer");
	if (row->what == WHAT_GROUP_ELECTION)
		names_topic(add(l, row, ACLS_RIGHT_GROUP)->name, mix->name, "election");
	if (row->what != WHAT_GROUPS && row->what != WHAT_GROUP_PRODUCERS)
		return;
	r = add(l, row, ACLS_RIGHT_GROUP);
	r->prefixed = true;
	if (row->what == WHAT_GROUPS)
		snprintf(r->name, sizeof(r->name), "%s.", mix->name);
	else
		snprintf(r->name, sizeof(r->name), "%s.producer/", l->config->corpus);
}

static void
add_row(struct list *l, const struct row *row)
{
	add_topics(l, row);
	add_groups(l, row);
	if (row->what == WHAT_TRANSACTIONS)
		names_topic(
		    add(l, row, ACLS_RIGHT_TRANSACTIONAL_ID)->name, l->config->mix.name, "mixer");
	if (row->what == WHAT_CLUSTER)
		snprintf(add(l, row, ACLS_RIGHT_CLUSTER)->name, sizeof("kafka-cluster"),
		    "kafka-cluster");
}

static enum fail_code
fail_unknown(const char *command, struct failure *f)
{
	char known[512] = "";

	for (size_t i = 0; i < ROWS; i++) {
		size_t used = strlen(known);

		if (i == 0 || strcmp(rows[i].command, rows[i - 1].command) != 0)
			snprintf(known + used, sizeof(known) - used, "%s%s", used == 0 ? "" : ", ",
			    rows[i].command);
	}
	return fail(f, FAIL_USAGE, "no rights are known for %s (there are: %s)", command, known);
}

enum fail_code
acls_rights(struct acls_right **out, size_t *n, const struct config *c, const char *command,
    struct failure *f)
{
	struct list l = {.config = c};
	struct topic_plan *plan;
	bool known = false;

	for (size_t i = 0; i < sizeof(alias) / sizeof(alias[0]); i++)
		if (strcmp(command, alias[i][0]) == 0)
			command = alias[i][1];
	for (size_t i = 0; i < ROWS; i++)
		known = known || strcmp(rows[i].command, command) == 0;
	if (!known)
		return fail_unknown(command, f);
	if (strncmp(command, "topics", 6) != 0 && strcmp(command, "produce") != 0 &&
	    strcmp(command, "export") != 0 && config_need_mix(c, f) != FAIL_NONE)
		return f->code;
	if (topic_plan_open(&plan, c, f) != FAIL_NONE)
		return f->code;
	l.plan = plan;
	/* A row gives a right for each topic or each run at most, or a single one. */
	l.room = ROWS * (plan->n + c->mix.runs.n + 1);
	l.right = calloc(l.room, sizeof(*l.right));
	for (size_t i = 0; l.right != NULL && i < ROWS; i++)
		if (strcmp(rows[i].command, command) == 0)
			add_row(&l, &rows[i]);
	topic_plan_close(plan);
	*out = l.right;
	*n = l.n;
	return l.right == NULL ? fail_memory(f) : FAIL_NONE;
}
