/*
 * status.h -- where a corpus and its mix stand, as the broker knows it, and what is wrong, in
 * words.
 *
 * status_ask() reads: the topics and their settings, the last records of the ledger, the first
 * batch kept, the last record of each domain partition (an End there means sealed), the commits of
 * every run and of the mixer. It joins no group and writes nothing, and works at any time: before a
 * topic exists, while the producers run, after the mix has ended. status_derive() makes rates,
 * shares and problems of it, without I/O.
 *
 * A status asked again keeps what cannot change (a sealed partition) and asks for the rest.
 */
#ifndef CONSUMER_STATUS_STATUS_H
#define CONSUMER_STATUS_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config/config.h"
#include "common/base/failure.h"
#include "common/record/ledger.h"
#include "common/base/names.h"
#include "common/config/topics.h"
#include "consumer/feedback/losses.h"

enum {
	STATUS_PROBLEMS_MAX = 64, /* more are counted, not kept */
	STATUS_PROBLEM_BYTES = 768,
	STATUS_RATE_MS = 60000,   /* rates look back so far from the last record */
	STATUS_WAIT_MS = 10000,   /* a mixer that waits for a run so long is worth a sentence */
	STATUS_SILENT_MS = 60000, /* a mixer that wrote nothing for so long is asked after */
	STATUS_REPORTS = 512,     /* of losses, the last ones, are read */
	STATUS_FEEDBACK_RUNS = 8, /* whose losses are shown */
	STATUS_MIXERS = 16,       /* that are shown */
};

/* One partition of a domain's training topic. */
struct status_partition {
	int64_t low, high; /* first offset kept, and the end */
	bool known;        /* its last record was read, at offset high - 1 */
	bool sealed;       /* it has an End */
	uint64_t sequences;
	uint64_t sealed_sequences; /* of its last End; more may stand behind that */
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
	int64_t taken, tokens, epoch;
	int64_t position;      /* places of this epoch's order that are used up */
	int64_t sealed_length; /* sequences of an epoch, by the last Ends; -1: not sealed */
	int64_t sequences;     /* in its topic */
	int64_t mixer_commit;  /* sequences of this epoch that group <mix>.mixer says; -1: none */
	struct status_partition *partition; /* [partitions_n]; those that exist */
	size_t partitions_n, partitions_sealed;
	char bad[STATUS_PROBLEM_BYTES]; /* a last record that cannot be read: why; else "" */
};

struct status_run {
	char name[NAME_MAX_BYTES + 1];
	bool configured;                /* it bounds the lead */
	bool committed;                 /* at least one lane has a commit */
	uint64_t step;                  /* all lanes have read the steps below */
	uint64_t step_ahead;            /* the lane that is furthest */
	size_t lane;                    /* one that stands at `step` */
	uint64_t lag_steps;             /* published, not read: the mixer's lead over it */
	char bad[STATUS_PROBLEM_BYTES]; /* its commits cannot be read as steps: why; else "" */
};

/* Means over the tokens of a domain, in nats. */
struct status_loss {
	double loss, excess;
	int64_t tokens; /* 0: none were reported, and the means are 0 */
};

/* What a run has reported lately: the complete steps among the last reports. */
struct status_feedback {
	uint64_t steps;                /* complete; 0: none, and the next three are 0 */
	int64_t step_first, step_last; /* of them */
	uint32_t world;
	struct losses_counts counts;
	struct status_loss *domain; /* [domains_n], as status.domain */
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

enum status_state { STATUS_NO_MIX, STATUS_NOT_STARTED, STATUS_RUNNING, STATUS_ENDED };

struct status {
	const struct config *config; /* borrowed: outlives the status */
	struct topics_plan *plan;
	struct topics_report *report; /* [plan->n] */
	enum status_state state;
	struct ledger ledger;         /* its last record; empty before the first */
	int64_t ledger_time_ms;       /* when it was written; -1 */
	int64_t now_ms;               /* wall clock of the question */
	struct status_sample *sample; /* [samples_n], oldest first */
	size_t samples_n;
	bool batches_kept; /* there is a batch record, and step_kept is its step */
	uint64_t step_kept;
	int64_t rejects;              /* records of <corpus>.rejects */
	struct status_domain *domain; /* the configuration's first, then the ledger's others */
	size_t domains_n;
	struct status_run *run;
	size_t runs_n;
	struct status_feedback *feedback; /* [feedback_n]: of the first runs, in their order */
	size_t feedback_n;
	bool mixers_known;                        /* the election could be asked */
	struct status_mixer mixer[STATUS_MIXERS]; /* [mixers_n]: the active ones first */
	size_t mixers_n;

	/* What status_derive() makes. */
	int64_t rate_ms; /* the stretch that the rates cover; 0: there are none */
	double steps_per_s, sequences_per_s, tokens_per_s;
	uint64_t step_limit; /* the mixer publishes no step from here on; UINT64_MAX: no bound */
	char (*problem)[STATUS_PROBLEM_BYTES]; /* [problems_n] */
	size_t problems_n, problems_more;
};

/* Handles and what is kept between two questions. */
struct status_source;

/* Gives *out, to be ended with status_close(). FAIL_BROKER: no broker answers. Borrows `c`. */
enum fail_code status_open(struct status_source **out, const struct config *c, struct failure *f);
void status_close(struct status_source *s); /* NULL is accepted */

/* Gives *out, to be ended with status_free(), complete with what status_derive() makes. */
enum fail_code status_ask(struct status_source *s, struct status **out, struct failure *f);
/* The same for topics, ledger and domains alone: nothing is derived, and nobody else is asked. */
enum fail_code status_ask_lengths(struct status_source *s, struct status **out, struct failure *f);
void status_free(struct status *st); /* NULL is accepted */

/* Fills shares, rates, lags, the limit and the problems from the rest. Pure. */
enum fail_code status_derive(struct status *st, struct failure *f);

/* The feedback of the first run that has a complete step; NULL: none has. Pure. */
const struct status_feedback *status_feedback(const struct status *st);

/* Whether a live domain lacks the next sequence in the round of its partitions. Pure. */
bool status_is_dry(const struct status_domain *d);

/* "not started", "running", ... */
const char *status_state_name(enum status_state state);

#endif
