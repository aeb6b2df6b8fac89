/*
 * status.h -- where a corpus and its mix stand, as the broker knows it, and what is wrong, in
 * words.
 *
 * The room behind `riffle status`. A status is read at any time: before a topic exists, while the
 * producers run, after the mix has ended. Reading it joins no group and writes nothing. It is the
 * state of the broker, not of a process: riffle status on one machine reports what a mixer on
 * another machine does.
 *
 *     broker --> status_query_read()     plain facts in a struct status: topics and their settings,
 *                       |                the ledger's last records, the first batch kept, the last
 *                       |                record of each domain partition, commits, losses
 *                       v
 *                status_derive()         shares, rates, lags, the step limit, problems; no I/O
 *                       |
 *                       v
 *                cli/status              a table or JSON
 *
 * status.h itself is the value and what follows from it: tests build it from plain structs.
 *
 * Files of this room:
 *     status          the value; shares, rates, lags and problems that follow from it
 *     status_query    reads a status from the broker: handles, topics, ledger, first batch
 *     status_records  part of the query: the ledger's last records, for rates and sights of runs
 *     status_arrivals part of the query: foreign records in the topic of arrivals
 *     status_domains  part of the query: domains, the ends of their partitions, the mixer's commits
 *     status_runs     part of the query: which step each training run is at
 *     status_mixers   part of the query: which mixers run, by the members of the election
 *     status_losses   part of the query: losses that the runs reported lately
 *     past_losses     losses of earlier: looks into the feedback topic
 *
 * Invariants. status_query_read() and the tests establish them, status_derive() relies on them:
 *   report[] has an entry for each topic of the plan;
 *   domain[0 .. config->domains_n) are the configuration's domains in its order, then come those
 *   that only the ledger knows, so that each domain has `configured` or `mixed` at least;
 *   feedback[i] belongs to run[i].
 *
 * Thread: one.
 */
#ifndef CONSUMER_STATUS_STATUS_H
#define CONSUMER_STATUS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"
#include "common/config/recipe.h"
#include "common/config/topic_plan.h"
#include "common/kafka/topics.h"
#include "common/record/ledger.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/feedback/losses.h"
#include "consumer/ledger/mix_loss.h"
#include "consumer/ledger/run_position.h"

enum {
	STATUS_PROBLEMS_MAX = 64, /* more are counted, not kept */
	STATUS_PROBLEM_BYTES = 768,
	STATUS_LANES_SAID = 3,    /* of lanes that do not end with the ledger; more are counted */
	STATUS_RATE_MS = 60000,   /* rates look back so far from the last record */
	STATUS_WAIT_MS = 10000,   /* a mixer that has waited for so long is a problem */
	STATUS_SILENT_MS = 60000, /* a mixer that wrote nothing for so long may not be running */
	STATUS_REPORTS = 512,     /* of losses, the last ones, are read */
	STATUS_FEEDBACK_RUNS = 8, /* whose losses are shown */
	STATUS_MIXERS = 16,       /* that are shown */
	STATUS_HEADLINE_BYTES = 512,
	STATUS_QUERY_MS = 15000, /* limit of one request to the broker, or of reading one range */
	STATUS_DEVIATION = 2,    /* sequences; promised to stay below (docs/DESIGN.md, promise 4) */
};

/* What is read record by record, and may be incomplete when time is up. */
enum status_part {
	STATUS_PART_LEDGER,
	STATUS_PART_BATCHES,
	STATUS_PART_RECIPES,
	STATUS_PART_LOSSES,
	STATUS_PART_MIXERS,
	STATUS_PART_ARRIVALS,
	STATUS_PARTS
};

/* One partition of a domain's training topic. */
struct status_partition {
	int64_t low, high; /* first offset kept, and the end */
	bool known;        /* its last record was read, at offset high - 1 */
	bool sealed;       /* it has an End */
	uint64_t sequences;
	uint64_t sealed_sequences; /* of its last End; more may follow that */
};

struct status_domain {
	char name[NAME_MAX_BYTES + 1];
	int configured; /* index in the configuration; -1: only the mix knows it */
	int mixed;      /* index in the ledger's domains; -1: the mix does not know it */
	bool live;
	bool dry;                       /* live, and the sequence that is next is not there yet */
	enum ledger_domain_state state; /* where `mixed` */
	int64_t owed;    /* draws that others took while it was dry, and that it gets back */
	double weight;   /* as written */
	double intended; /* share in force, after temperature and normalising */
	double realised; /* of all draws so far; 0 before the first */
	/*
	 * The share of all draws so far that the weights of all versions give it, and by how many
	 * sequences `taken` is off it (below 0: too few). NAN before the first draw, and for the
	 * schedule random, which aims at no such number.
	 */
	double target, deviation;
	int64_t taken, epoch;
	int64_t tokens;        /* targets in them: a sequence has one fewer than tokens */
	int64_t position;      /* places of this epoch's order that are used up */
	int64_t sealed_length; /* sequences of an epoch, by the last Ends; -1: not sealed */
	int64_t sequences;     /* in its topic */
	/* Sequences of this epoch that group <mix>.mixer has committed; -1: none. */
	int64_t mixer_commit;
	struct status_partition *partition; /* [partitions_n]; those that exist */
	size_t partitions_n, partitions_sealed;
	size_t partitions_late; /* whose last record did not come in time */
	/* Its log was published with another configuration; both "" where it was not. */
	struct recipe_differences differs;
	char bad[STATUS_PROBLEM_BYTES];   /* why a last record cannot be read; else "" */
	char other[STATUS_PROBLEM_BYTES]; /* why the mix did not draw from this log; else "" */
};

struct status_run {
	char name[NAME_MAX_BYTES + 1];
	bool configured;                /* the configuration's mix.runs names it */
	bool bounds;                    /* it limits the lead: mix.runs in force names it */
	uint64_t known;                 /* the highest step that the ledger knows; 0: none */
	int64_t seen_ms;                /* since the ledger saw it advance; -1: not lately */
	bool committed;                 /* at least one lane has a commit, */
	bool committed_all;             /* or all have */
	uint64_t step;                  /* all lanes have read the steps below */
	uint64_t step_ahead;            /* the lane that is furthest */
	size_t lane;                    /* one that is at `step` */
	uint64_t lag_steps;             /* published, not read: the mixer's lead over it */
	bool waited_for;                /* a mixer runs, and publishes nothing until it commits */
	char bad[STATUS_PROBLEM_BYTES]; /* why its commits cannot be read as steps; else "" */
	/* What run_position_apart() writes of its lanes. */
	char apart[RUN_POSITION_APART_MAX];
};

/* What a run has reported lately: the complete steps among the last reports. */
struct status_feedback {
	char run[NAME_MAX_BYTES + 1];
	bool configured;               /* it is in mix.runs */
	uint64_t steps;                /* complete; 0: none, and the next three are 0 */
	int64_t step_first, step_last; /* of them */
	uint32_t world;
	struct losses_counts counts;
	char unknown[NAME_MAX_BYTES + 1]; /* the first unknown domain; "": none */
	struct losses_means all;          /* over all domains */
	struct losses_means *domain;      /* [domains_n], as status.domain */
};

/* How a run stands to what the ledger knows of it. */
enum status_run_state {
	STATUS_RUN_NEW,  /* neither ledger nor broker know a step of it */
	STATUS_RUN_GOOD, /* its commits are where the ledger knows it, or further */
	STATUS_RUN_BACK, /* its commits are at an earlier step */
	STATUS_RUN_LOST, /* the broker has no commit of it for some lane */
	STATUS_RUN_PART, /* the ledger knows no step of it, and only some lanes have a commit */
};

/* When the ledger last saw a run advance; entries are those of ledger.run. */
struct status_seen {
	int64_t step, time_ms; /* of the record before; -1: none of those that were read */
};

/* A member of the election. For up to the session timeout also one that has died. */
struct status_mixer {
	char host[64];
	bool standby; /* it waits; else it mixes, or is about to */
};

/* A ledger record that counts for the rates. */
struct status_sample {
	uint64_t mixer;
	int64_t time_ms, step_next, draws, tokens;
};

/* By the ledger; whether a mixer runs is in `mixer`: status_state_name() has both. */
enum status_state { STATUS_NO_MIX, STATUS_NOT_STARTED, STATUS_STARTED, STATUS_ENDED };

/* `code` is for programs, and stable: docs/OPERATIONS.md lists them. */
struct status_problem {
	const char *code;
	char text[STATUS_PROBLEM_BYTES];
};

struct ledger_plan;

struct status {
	const struct config *config; /* borrowed: outlives the status */
	struct topic_plan *plan;
	struct topics_report *report; /* [plan->n] */
	enum status_state state;
	struct ledger ledger;         /* its last record; empty before the first */
	int64_t ledger_time_ms;       /* when it was written; -1 */
	int64_t ledger_offset;        /* where it stands in its topic; -1 */
	enum mix_loss loss;           /* if the ledger shows no record: what is lost */
	int64_t now_ms;               /* wall clock when it was read */
	struct status_sample *sample; /* [samples_n], oldest first */
	size_t samples_n;
	struct status_seen *seen; /* [ledger.runs_n] */
	/*
	 * [ends_n], compared with the ledger (lane_ends.h); empty: not read, or both changed
	 * meanwhile. Where a mixer is at work its last transaction may be seen on some alone.
	 */
	struct lane_end *end;
	uint32_t ends_n;
	char ends_bad[STATUS_PROBLEM_BYTES]; /* why a lane's end cannot be read; else "" */
	bool batches_kept; /* there is a batch record, and step_kept is its step */
	uint64_t step_kept;
	int64_t control_end; /* where <mix>.control ends; -1: there is none */
	int64_t rejects;     /* in <corpus>.rejects, at most */
	/*
	 * Records that producers pass over, among the last ones of <corpus>.arrivals; -1: not
	 * known. The offset of the first.
	 */
	int64_t arrivals_foreign, arrivals_offset;
	struct status_domain *domain; /* the configuration's first, then the ledger's others */
	size_t domains_n;
	struct status_run *run;
	size_t runs_n;
	/* [feedback_n]: of the first runs, in their order, then of others that have reported. */
	struct status_feedback *feedback;
	size_t feedback_n;
	bool late[STATUS_PARTS]; /* did not come in time: what is shown of it is incomplete */
	bool mixers_known;       /* the election answered */
	struct status_mixer mixer[STATUS_MIXERS]; /* [mixers_n]: the active ones first */
	size_t mixers_n;
	const struct ledger_plan *by; /* of the ledger's text, while it is derived; NULL: open it */
	bool config_compared; /* the next two are those of an earlier status, and still true */

	/* What status_derive() makes. */
	struct failure config_why; /* FAIL_NONE: riffle mix would start with this file */
	bool config_fixed;         /* nor would it with --accept-config: a fixed key differs */
	int64_t rate_ms;           /* the stretch that the rates cover; 0: there are none */
	double steps_per_s, sequences_per_s, tokens_per_s;
	bool *apart;         /* [ends_n]: the lane and the ledger do not end with the same step */
	uint64_t lead_steps; /* max_lead_steps in force; 0: no limit */
	uint64_t step_limit; /* the mixer publishes no step from here on; UINT64_MAX: no limit */
	int64_t next_phase_step; /* of the first phase that is to come; -1: none */
	char next_phase[NAME_MAX_BYTES + 1];
	int64_t tokens; /* of all domains */
	/* Whose epoch ends first at the shares in force; -1: no domain is sealed and drawn. */
	int first_end;
	int64_t first_end_steps;              /* from now on */
	char headline[STATUS_HEADLINE_BYTES]; /* how all is, in a sentence */
	struct status_problem *problem;       /* [problems_n] */
	size_t problems_n, problems_more;
};

void status_free(struct status *st); /* frees st and all that it holds; NULL is accepted */

/*
 * Fills shares, rates, lags, the limit and the problems from the rest; called once for a status.
 * What is wrong with the mix is a problem in `st`, not a failure: it fails only without memory, or
 * with weights that give no shares. Pure.
 */
enum fail_code status_derive(struct status *st, struct failure *f);

/* Its part for runs alone: their lags, and the limit. It fails only without memory. Pure. */
enum fail_code status_derive_runs(struct status *st, struct failure *f);

/* The feedback of the first run that has a complete step; NULL: none has. Pure. */
const struct status_feedback *status_feedback(const struct status *st);

/*
 * Sequences of this epoch that are not drawn yet; of a live domain that is not sealed, those that
 * are published and not drawn; -1: not known. Pure.
 */
int64_t status_remaining(const struct status_domain *d);

/* In how many seconds so many steps are published at the rate of now; < 0: not known. Pure. */
double status_seconds(const struct status *st, int64_t steps);

/* Whether the deviation of each domain is promised to stay below STATUS_DEVIATION. Pure. */
bool status_promises_deviation(const struct status *st);

/* Whether a live domain lacks the next sequence in the round of its partitions. Pure. */
bool status_is_dry(const struct status_domain *d);

/* Pure, as the next one. */
enum status_run_state status_run_state(const struct status_run *r);

/* "new", "good", "went back", "commits lost", "part of its lanes" */
const char *status_run_state_name(enum status_run_state state);

/*
 * "no mix", "not started", "ended"; between the last two "running" where a mixer is active,
 * "stopped" where none is, "unknown" where the election cannot be asked.
 */
const char *status_state_name(const struct status *st);

/* Sequences of a step: in force by the ledger, else the configuration's. */
uint32_t status_global_batch(const struct status *st);

/* Whether a mixer is active, as far as that is known; standbys are not. */
bool status_is_mixed(const struct status *st);

#endif
