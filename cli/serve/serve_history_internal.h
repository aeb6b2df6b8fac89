/*
 * serve_history_internal.h -- what the files of serve_history share: what is known of a mix, which
 * serve_history.c reads and serve_history_print.c makes a text of.
 */
#ifndef CLI_SERVE_SERVE_HISTORY_INTERNAL_H
#define CLI_SERVE_SERVE_HISTORY_INTERNAL_H

#include "cli/serve/serve_history.h"
#include "cli/serve/serve_thread.h"
#include "consumer/feedback/loss_history.h"
#include "consumer/ledger/mix_history.h"
#include "consumer/ledger/weight_history.h"

enum {
	SERVE_HISTORY_ANSWERS = 4, /* are kept for other clients */
	SERVE_HISTORY_PARTS = 4,   /* ranges that are known more closely, at one time */
};

/* A version of the weights, and who asked for it. */
struct version {
	struct weight_history_version v;
	char *who; /* NULL: nobody, or not known */
};

/* What a run has reported, over its steps. */
struct losses {
	char run[NAME_MAX_BYTES + 1];
	struct loss_history points;
};

/* An answer that was made, and what for: pages that follow a mix ask for the same at their pace. */
struct answer {
	struct serve_range range;
	struct serve_text *text;
};

/* A range that somebody looks at more closely than the whole mix is known. */
struct part {
	struct mix_history points; /* none: not in use */
	struct serve_range range;  /* as it was asked for: from and to count */
	int64_t asked_ms;          /* monotonic: lately */
	uint64_t number;           /* which of all that were in this place */
};

struct serve_history {
	const struct config *config;
	struct serve_requests *requests;
	struct serve_thread thread; /* its lock protects all below */
	struct mix_history points;
	struct part part[SERVE_HISTORY_PARTS];
	bool looked;                /* into all gaps, once */
	int64_t finer_ms;           /* monotonic: when to look into those that there are by then */
	bool followed;              /* the follower has noted a status */
	bool first_known;           /* the ledger's first record was read, or need not be again */
	uint64_t first_mixer;       /* which mixer wrote that one, */
	int64_t first_time_ms;      /* and when: the ledger is known by it; -1: not read */
	uint64_t mixer;             /* that wrote the record at `noted` */
	char why[FAILURE_TEXT_MAX]; /* what cannot be read; else "" */
	int64_t offset;             /* of the newest record; -1: none */
	int64_t noted;              /* the follower's newest: a lower one is of another ledger */
	int64_t step_first, step_next;
	int64_t version_newest, version_known; /* seen in the ledger, read with its step */
	struct version *version;               /* [versions_n], oldest first */
	size_t versions_n;
	struct losses losses[STATUS_FEEDBACK_RUNS]; /* [losses_n] */
	size_t losses_n;
	uint32_t world;    /* the largest of a run that reports; 0: nobody has reported yet */
	bool losses_known; /* the topic's past was looked into */
	char **name;       /* [names_n]: of status's domains, by which losses are listed */
	size_t names_n;
	uint64_t generation;                         /* of what is not a point */
	struct answer answer[SERVE_HISTORY_ANSWERS]; /* the last ones; a free place has no text */
	size_t answer_next;                          /* the place that is used next */
	uint64_t answers_of;                         /* the generation that they are of */
};

/*
 * The answer for a range: its points, versions and losses. `part`: where the range is known more
 * closely; NULL: nowhere. Gives a text with one reference; NULL: no memory. Called with the lock.
 */
struct serve_text *serve_history_print(const struct serve_history *h,
    const struct serve_range *range, const struct part *part, bool complete);

#endif
