/*
 * chance.h -- what one seed decides in a simulated run: the faults, the moment of a crash, and how
 * long a process runs before another one does. Part of the cluster, for all processes draw from it.
 */
#ifndef TESTS_SIM_CHANCE_H
#define TESTS_SIM_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

enum chance_fault {
	CHANCE_CRASH,           /* the process dies at a call */
	CHANCE_STOP,            /* it rests for longer than a transaction may take */
	CHANCE_SLOW_CALL,       /* a call takes up to a second */
	CHANCE_CONNECTION,      /* a question about topics or offsets is not answered */
	CHANCE_ADMIN_TIMES_OUT, /* nor one of the admin interface */
	CHANCE_LEADER,          /* a partition has no leader, then one whose watermark lags */
	CHANCE_FETCH_SLOW,      /* nothing comes from a partition for a while */
	CHANCE_QUEUE_FULL,      /* no room in the producer's queue */
	CHANCE_PRODUCE_LATE,    /* a batch arrives late */
	CHANCE_PRODUCE_UNKNOWN, /* its answer is lost; the repeated one does not say the offset */
	CHANCE_PRODUCE_LOST,    /* it does not arrive before the client gives up, if ever */
	CHANCE_PRODUCER_FATAL,  /* librdkafka loses track of the sequence numbers */
	CHANCE_INIT_TIMES_OUT,  /* the answer to InitProducerId is lost */
	CHANCE_OFFSETS_REFUSED, /* offsets of a transaction must be sent again */
	CHANCE_COMMIT_LATE,     /* EndTxn arrives after the client has given up */
	CHANCE_COMMIT_TWICE,    /* the first EndTxn comes late, a second one in time */
	CHANCE_COMMIT_LOST,     /* never */
	CHANCE_COMMIT_UNKNOWN,  /* it arrives, and its answer does not, in time */
	CHANCE_MARKERS_LATE,    /* a commit is seen late, and not on all partitions at once */
	CHANCE_GROUP_LATE,      /* a group's commit arrives late */
	CHANCE_GROUP_UNKNOWN,   /* it arrives, and is answered with an error */
	CHANCE_GROUP_REFUSED,   /* it does not arrive */
	CHANCE_EXPIRED,         /* the coordinator has ended a transaction (a consequence) */
	CHANCE_RETENTION,       /* the log's start moves */
	CHANCE_DISK_FULL,       /* a partition's log cannot be used for a while */
	CHANCE_FOLLOWER,        /* a reader is served by a follower that lags */
	/* What administrators do, and disks. */
	CHANCE_COMMITS_GONE,    /* commits of the run are deleted, or have expired */
	CHANCE_ID_EXPIRED,      /* the coordinator forgets the mixer's transactional id */
	CHANCE_RECORDS_DELETED, /* of control topic and ledger: what nobody needs */
	CHANCE_CONTROL_MADE,    /* the control topic is recreated */
	CHANCE_TAIL_LOST,       /* a domain log loses its last records */
	/* What destroys what was published. */
	CHANCE_LANE_CUT,     /* a lane loses its last records */
	CHANCE_LEDGER_CUT,   /* the ledger does */
	CHANCE_LEDGER_EMPTY, /* all of the ledger's records are deleted */
	CHANCE_BATCHES_MADE, /* the batch topic is recreated */
	CHANCE_PARTITIONS,   /* partitions are added to the batch topic */
	/* What people do. */
	CHANCE_SEEK,       /* a trainer reads again what it had */
	CHANCE_WORLD_SIZE, /* the trainers are started again, as more or fewer ranks */
	CHANCE_RIVAL,      /* a second mixer is started by mistake */
	CHANCE_REQUEST,    /* comes while the mix runs */
	CHANCE_ACCEPT,     /* the mixer is started with a changed configuration */
	/* Its rate is not drawn, so that seeds that found something stay as they were. */
	CHANCE_MARKERS_NEVER, /* of an abort, on some partitions or all (KAFKA-20734) */
	CHANCE_FAULTS,
};

extern const char *const chance_name[CHANCE_FAULTS];

struct chance {
	uint64_t state;
	uint32_t rate[CHANCE_FAULTS]; /* of 65,536 */
	uint64_t count[CHANCE_FAULTS];
	int64_t faults_left; /* the run is then without */
	uint64_t drawn;      /* faults so far, with those that were left out */
	uint64_t without;    /* bit n: the n-th is left out, and all others are drawn as before */
	uint64_t process;    /* which one runs, counted from the first */
	uint64_t calls;      /* of the process that runs */
	uint64_t crash_at;   /* the call at which it dies; 0: none */
	uint64_t slice;      /* calls before another process runs; 0: no bound */
	uint64_t calls_max;  /* a process that makes more hangs; 0: no bound */
	uint64_t calls_total;
	bool trace;
	int actor;       /* who runs, for the trace */
	uint64_t rounds; /* it rests for so many turns of others */
};

uint64_t chance_next(void);
/* In [0, n). */
uint64_t chance_below(uint64_t n);
/* Whether the fault happens now by its rate; counts it and says it in the trace. */
bool chance_fault(enum chance_fault fault, const char *where);
void chance_note(enum chance_fault fault, const char *where);

/* Every call of the client library begins here: it may be the last one, or the last for a while. */
void chance_call(const char *function, const char *what);
/* Lets simulated time pass; other processes run meanwhile. */
void chance_wait(int64_t ms);
void chance_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How whoever runs rests, and ends; a process stops itself, and exits, where nobody says else. */
void chance_stop(void);
extern void (*chance_rest)(void);
extern void (*chance_exit)(int status);

#endif
