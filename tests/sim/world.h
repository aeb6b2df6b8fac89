/*
 * world.h -- what a simulated run is about: a configuration, its domain logs, and what a run
 * without any fault makes of them. There is one of each kind (world_kinds.h); a second one where
 * that has several lanes, in which they share the partitions of the batch topic; and a third one,
 * whose mix publishes no batches: trainers derive them. Each seed takes one.
 *
 * In the third one the topic `given`, which only the checker knows, takes the place of the batch
 * topic: each lane's partition holds what trainers were given, the step as the offset. All that is
 * asked of what was published elsewhere is asked of what was given there.
 *
 * Of live inputs there are worlds without a mix: files arrive while producers run (inbox.h), and
 * the checker demands every document once, in the order that the log of arrivals defines.
 *
 * Made once, before workers are forked, and constant from then on.
 */
#ifndef TESTS_SIM_WORLD_H
#define TESTS_SIM_WORLD_H

#include "common/config/config.h"
#include "common/record/batch.h"
#include "common/record/control.h"
#include "common/record/ledger.h"
#include "producer/tokenizer/tokenizer.h"
#include "tests/sim/kafka/cluster.h"

enum {
	WORLD_KINDS = 27,
	WORLD_INBOXES = 4, /* worlds of live inputs, */
	WORLD_INBOX_FIRST =
	    3 * WORLD_KINDS, /* behind own partitions, shared ones, no batch topic */
	WORLD_MIXED = 11,    /* worlds in which many features meet, each in the same three forms */
	WORLD_MIXED_FIRST = WORLD_INBOX_FIRST + WORLD_INBOXES,
	WORLDS = WORLD_MIXED_FIRST + 3 * WORLD_MIXED,
	WORLD_WORKERS_MAX = 64,
	WORLD_LANES_MAX = 4,
	WORLD_STEPS_MAX = 512,
	WORLD_DOMAINS_MAX = 5,
	WORLD_LOGS_MAX = 7,
	WORLD_LATE_MAX = 4,       /* requests that are put while the mix runs */
	WORLD_RECORDS_MAX = 1024, /* of a domain partition */
	WORLD_SEEN_MAX = 4096,
	WORLD_STATES_MAX = WORLD_STEPS_MAX + 8,
	WORLD_ANSWERS_MAX = 4096, /* bytes */

	WORLD_MIXERS = 2,
	WORLD_TRAINERS = WORLD_LANES_MAX,
	WORLD_PRODUCERS = 5,
	WORLD_TRAINER_FIRST = WORLD_MIXERS,
	WORLD_PRODUCER_FIRST = WORLD_TRAINER_FIRST + WORLD_TRAINERS,
	WORLD_REPAIR = WORLD_PRODUCER_FIRST + WORLD_PRODUCERS,
	WORLD_READER_FIRST = WORLD_REPAIR + 1,
	WORLD_READERS = 3, /* of documents, of the status, of the ledger */
	WORLD_ACTORS = WORLD_READER_FIRST + WORLD_READERS,
};

/* What a mix can do beyond weights: the rows and columns of tests/features.tsv. */
enum world_feature {
	FEATURE_SKIP,
	FEATURE_QUARANTINE,
	FEATURE_PHASES,
	FEATURE_ROUNDS,
	FEATURE_BATCH,
	FEATURE_LENDING,
	FEATURE_JOIN_LEAVE,
	FEATURE_RUNS,
	FEATURE_UNEVEN,
	FEATURE_DERIVED,
	FEATURE_RETAIN,
	FEATURE_REPAIR,
	FEATURE_SPLIT_TOKENS,
	FEATURE_LEAD,
	WORLD_FEATURES
};

extern const char *const world_feature_names[WORLD_FEATURES];

struct world_bytes {
	uint8_t *bytes; /* NULL: none */
	size_t n;
};

/*
 * The last ledger record behind so many steps and so many records of the control topic. How many
 * requests are answered in one record rests on what a fetch brings; the state behind each does not.
 */
struct world_state {
	int64_t step_next, control_next;
	struct world_bytes ledger;
};

/* A domain partition. */
struct world_log {
	const char *domain;
	char topic[CLUSTER_NAME_MAX];
	int32_t partition;
	struct world_bytes record[WORLD_RECORDS_MAX]; /* the last one is its End */
	size_t records_n;
	bool live; /* it has no End, and its records come while the mix runs */
};

/* What one producer writes: a partition of each domain that shares its input. */
struct world_part {
	size_t domain[WORLD_DOMAINS_MAX]; /* in the configuration that produces */
	size_t domains_n;
	uint32_t partition, partitions;
	size_t log[WORLD_DOMAINS_MAX]; /* one a domain */
};

/* The draws of a domain, in their order: which depends on nothing but the domain and the seed. */
struct world_order {
	const char *domain;
	struct batch_drawn draw[WORLD_RECORDS_MAX];
	size_t n;
};

struct world {
	const char *name;
	uint32_t lanes, partitions, ranks; /* partitions < lanes: lanes share them; 0: derived */
	struct config *config;             /* of the mixers, */
	struct config
	    *accepted; /* of those that are started behind a change; NULL: there is none */
	struct config *producing; /* of the producers */
	struct config *closing;   /* the same with `live: false`; NULL: no files arrive */
	struct tokenizer *tokenizer;
	void *empty, *filled; /* images: without any record, and with the domain logs */
	size_t empty_n, filled_n;
	bool produces; /* producers may run in the simulated run */
	bool live;     /* records of some logs come while the mix runs */
	bool lends;    /* and others are drawn meanwhile */
	bool mixed;    /* many features meet: retention and losses come often */
	bool uneven;   /* the trainers need not divide the lanes */
	/*
	 * Bits of enum world_feature: what every run has, and what it has once all requests are
	 * put.
	 */
	uint32_t features, features_late;
	char *text; /* of the configuration, as the ledger has it */
	/* What is drawn when rests on when things happen: lending, requests that come late. */
	bool free;
	struct control late[WORLD_LATE_MAX]; /* borrow constants */
	size_t late_n;
	struct world_log log[WORLD_LOGS_MAX];
	size_t logs_n;
	struct world_part part[WORLD_PRODUCERS];
	size_t parts_n;
	struct world_order order[WORLD_DOMAINS_MAX]; /* of a world that is free */
	size_t orders_n;
	/* The unfaulted run: step s of a lane, the end of the mix as the last one. */
	struct world_bytes batch[WORLD_LANES_MAX][WORLD_STEPS_MAX];
	size_t steps_n; /* the end included */
	struct world_state state[WORLD_STATES_MAX];
	size_t states_n;
	char answers[WORLD_ANSWERS_MAX]; /* to requests, in order */
	size_t answers_n;
	int64_t taken[WORLD_LOGS_MAX]; /* offsets of the mixer's group */
	size_t rejects_n;              /* dead letters */
};

/* How an actor's last run ended. */
struct world_outcome {
	bool done;
	enum fail_code code;
	char text[FAILURE_TEXT_MAX];
};

/* A record that a trainer was given. */
struct world_seen {
	uint32_t lane;
	uint64_t step, hash;
	int64_t offset;
};

/* What driver and actors tell each other, in the cluster's memory. */
struct world_told {
	struct world_outcome outcome[WORLD_ACTORS];
	struct world_seen seen[WORLD_SEEN_MAX];
	size_t seen_n;
	uint32_t ranks;                      /* of the trainers, now */
	bool accepted;                       /* mixers are started with the changed configuration */
	bool standbys;                       /* and as standbys */
	bool lost[WORLD_TRAINERS];           /* its commits were gone: its checkpoint counts */
	uint64_t trained[WORLD_LANES_MAX];   /* steps below it were given to a trainer */
	uint64_t committed[WORLD_LANES_MAX]; /* confirmed, and not to be read again */
	bool opening[WORLD_TRAINERS];        /* it looks for where it begins */
	uint64_t begun[WORLD_TRAINERS];      /* where its last run has begun */
	bool skipped[WORLD_TRAINERS];        /* it has begun behind what it was given */
	uint64_t position;          /* the highest that the run has ever had at the broker */
	size_t late_n;              /* requests that were put */
	bool reset[WORLD_TRAINERS]; /* its position was known, and it began at 0 */
	bool twice;                 /* one has said that another trains its rank, too */
	char given[256];            /* what is wrong with what a trainer was given; "": nothing */
	uint64_t process[WORLD_ACTORS]; /* its number; 0: the actor does not live */
	bool closed, seals;             /* live inputs are closed: by --seal, or by `live: false` */
};

/*
 * Makes w[WORLDS] in the cluster; ends the program with a sentence where that fails. In
 * w[WORLD_KINDS + k] lanes share partitions; where kind k has one lane, it has no config. The mix
 * of w[2 * WORLD_KINDS + k] has no batch topic. The worlds of many features begin at
 * w[WORLD_MIXED_FIRST], in the same three forms.
 */
void world_open_all(struct world *w);
void world_close_all(struct world *w); /* removes the input files */
/* Works from here on in the folder of a worker, 0 to WORLD_WORKERS_MAX. */
void world_enter(unsigned worker);
struct world_told *world_told(void);

/* actors.c: the product at work. Each returns when its work is done or has failed. */
void actor_mix(const struct world *w, size_t actor, uint64_t until_step);
void actor_train(const struct world *w, size_t actor);
void actor_produce(const struct world *w, size_t actor);
void actor_repair(const struct world *w, size_t actor);
void actor_run(const struct world *w, size_t actor);
/* Tells how an actor's run ended. */
void actor_tell(size_t actor, enum fail_code code, const struct failure *f);
/* readers.c: whoever only looks. It fails with FAIL_DATA where it is told less than there was. */
void actor_read(const struct world *w, size_t actor);

/* Trainers derive their lanes. */
bool world_derived(const struct world *w);
/* Where a lane lies; the batch topic is there. And whether a record of that partition is its. */
struct cluster_partition *world_lane(const struct world *w, uint32_t lane);
bool world_in_lane(const struct world *w, uint32_t lane, const struct cluster_record *r);
/* The topic in whose partitions trainers commit, one a lane. */
const char *world_commits(const struct world *w);

/* The lanes of a rank: the first of them, and how many. Lower ranks have one more. */
uint32_t world_first_lane(const struct world *w, uint32_t rank, uint32_t ranks, uint32_t *n);

/* Puts a request on the control topic. */
void world_request(const struct control *c);
/* One more record of a live log comes; false: all are there. */
bool world_arrive(const struct world_log *l);
/* All records that the log will have. */
int64_t world_log_length(const struct world_log *l);

/* NULL: the run without faults has no such state. */
const struct world_state *world_state(
    const struct world *w, int64_t step_next, int64_t control_next);
/* Adds what the ledger record answers to a text; false: there is no room. */
bool world_add_answers(char text[static WORLD_ANSWERS_MAX], const struct ledger *l);

/*
 * orders.c: the k-th draw of a domain in the order `none` or `full`, where nothing is left out of
 * it; false: it has another order. And whether the run without faults draws so; NULL: it does.
 */
bool world_ordered(const struct world *w, const char *domain, size_t k, struct batch_drawn *out);
const char *world_check_orders(const struct world *w);

/* checker.c: NULL: all is well; else the class and a sentence. Borrowed until the next call. */
const char *checker_check(const struct world *w, bool produced);
/*
 * Of a run that has stopped for good, because of what was destroyed: what there still is on a lane
 * goes on from the first step, without a gap and with no step twice.
 */
const char *checker_check_stopped(const struct world *w);
/* Before a run: what is watched from then on. */
void checker_begin(const struct world *w);
/* The same, at any moment of a run, for what must hold at all of them. */
const char *checker_watch(const struct world *w);
/* Where the ledger's last committed record has the trainers; whether they have a commit on each
 * lane. */
uint64_t checker_known_position(void);
bool checker_all_committed(const struct world *w);
/* A trainer was given a step's record of a lane. */
void checker_given(uint32_t lane, uint64_t step, const void *bytes, size_t n);
/* A trainer was told that the mix ends behind so many steps. */
void checker_ended(uint64_t steps);
/* Whether the last record of a partition is its End. */
bool checker_sealed(const struct world_log *l);
/* checker_inbox.c: the domain logs of a world in which files have arrived. */
const char *checker_check_inbox(const struct world *w);
/* Whether the log of arrivals has an order of files for each input. */
bool checker_ordered(const struct world *w);
/* Says in the trace what the log of arrivals holds. */
void checker_trace_arrivals(void);
/* checker_free.c: steps and ledger of a world whose draws rest on when things happen. */
const char *checker_check_free(const struct world *w);
/* The lowest step that trainers may want: they have committed it, and no late commit is lower. */
uint64_t checker_kept(const struct world *w);
/* Lets a trainer's past go: what stands below `step` of the batch topic is deleted. */
void checker_trim(const struct world *w, uint64_t step);

#endif
