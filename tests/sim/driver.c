#include "tests/sim/driver.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/inbox.h"
#include "tests/sim/task.h"

enum {
	LOOK_TURNS = 64,
	WATCH_TURNS = 4,
	ARRIVE_TURNS = 6,   /* a record of a live log, or bytes of a file, come about so often */
	CLOSE_TURNS = 8,    /* of these, until live inputs are closed */
	PRODUCE_TURNS = 40, /* a producer of live inputs is run again about so often */
	READ_TURNS = 60,    /* and so is who reads documents, status and ledger */
	STANDBY_ONE_OF = 4,
	DISK_TURNS = 16,
	UNMARKED_ONE_OF = 9, /* seeds: in one of them brokers write some markers never */
	UNMARKED = 7,        /* not one of unit_seeds in sim.c */
	CUT_MAX = 8,         /* records of a tail that is lost, at most */
	FAULTS_MORE = 8,   /* of a run in which many features meet: some are what makes them meet */
	FAULTS_MAX = 24,   /* of a run */
	TURNS_MAX = 60000, /* of all actors: more is a run that does not end */
	CALLS_MAX = 100000,     /* of one process, */
	CALLS_ALL_MAX = 300000, /* and of all */
	SLICE_MAX = 300,        /* calls */
	CRASH_BITS = 11,        /* a process that crashes does within so many calls */
	FAILURES_QUIET = 12,    /* an actor may fail so often without a new fault */
	SETTLE_MS = 60000,
	AGAIN_MS = 2000,
	MADE_ONE_OF = 8,         /* looks after which a deleted topic is made again */
	LOSSES_ONE_OF = 8,       /* seeds in which what was published is destroyed, */
	LOSSES_MIXED_ONE_OF = 2, /* the same where many features meet, */
	SHARED_ONE_OF = 8,       /* in which lanes share partitions, */
	DERIVED_ONE_OF = 9,      /* in which trainers derive their lanes, */
	PRODUCES_ONE_OF = 4,     /* in which producers work, */
	LIVE_ONE_OF = 10,        /* in which files arrive while they do, */
	MIXED_SEEDS = 28,        /* a row of seeds, of which one in so many has mixed worlds, */
	MIXED_ONE_OF = 4,
	MIXED = 1,            /* this one */
	READ_ONE_OF = 10,     /* and in which somebody only reads: */
	READ_LIVE_ONE_OF = 2, /* more often where files arrive */
	SEEN_TURNS = 4000,    /* then people restart what stalls behind a loss, and repair */
	EXIT_CRASHED = 99,
	EXIT_HANGS = 98,
	EXIT_LOOPS = 97, /* without a call */
	TURN_S = 120,    /* of one turn, which takes milliseconds */
};

struct actor {
	bool alive;
	pid_t pid; /* of a process */
	bool wanted, finished, fenced;
	uint64_t process, calls, crash_at, rounds; /* rounds: it rests for so many turns */
	unsigned failures;                         /* in a row, without faults */
	uint64_t started;                          /* the turn */
	bool quiet;                                /* its run has begun without faults to come */
};

struct run {
	const struct world *w;
	struct actor actor[WORLD_ACTORS];
	bool produces;
	bool reads;                 /* somebody looks at documents, status and ledger */
	bool ever_rivals;           /* two mixers were alive at one time */
	int64_t ledger_at;          /* of its records those below were looked at */
	size_t answered;            /* requests, in these */
	uint64_t lost_turn;         /* of the last loss of what was published; 0: there was none */
	struct cluster_topic *gone; /* the batch topic, deleted and not made again yet */
	bool repairs;               /* a mixer has named a loss: mixers wait for `riffle repair`, */
	bool refused;               /* which cannot make it good: the run is over */
	bool repaired;              /* it has */
	bool tasks;                 /* else processes */
	unsigned turn_s;
	uint64_t turns;
	struct driver_result *out;
};

static bool
is_mixer(size_t i)
{
	return i < WORLD_TRAINER_FIRST;
}

static bool
is_trainer(size_t i)
{
	return i >= WORLD_TRAINER_FIRST && i < WORLD_PRODUCER_FIRST;
}

static bool
is_producer(size_t i)
{
	return i >= WORLD_PRODUCER_FIRST && i < WORLD_REPAIR;
}

static bool
is_repair(size_t i)
{
	return i == WORLD_REPAIR;
}

static bool
is_reader(size_t i)
{
	return i >= WORLD_READER_FIRST;
}

/* Files arrive while producers run, and there is no mix. */
static bool
is_inbox(const struct run *r)
{
	return r->w->closing != NULL;
}

static void
problem(struct run *r, size_t actor, const char *what, const char *text)
{
	if (r->out->problem[0] == '\0')
		snprintf(r->out->problem, sizeof(r->out->problem), "%s %zu %s: %s",
		    actor < WORLD_TRAINER_FIRST    ? "mixer"
		    : actor < WORLD_PRODUCER_FIRST ? "trainer"
		    : actor < WORLD_REPAIR         ? "producer"
		    : actor == WORLD_REPAIR        ? "repair"
						   : "reader",
		    actor, what, text);
}

/* ---- starting and letting go on ---- */

static bool stuck;             /* driver_options */
static volatile pid_t at_work; /* the process whose turn it is; 0: a task */

static void
run_actor(const struct world *w, size_t i)
{
	for (volatile bool loops = stuck; loops;)
		;
	actor_run(w, i);
}

static void
run_task(const void *context, size_t number)
{
	run_actor(context, number);
}

/* A turn that takes this long makes no call any more: those are counted. */
static void
end_turn(int ignored)
{
	(void)ignored;
	if (at_work > 0)
		kill(at_work, SIGALRM);
	else
		chance_exit(EXIT_LOOPS);
}

/* A process that waits for its first turn. */
static pid_t
start_process(const struct run *r, size_t i)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		perror("sim: fork");
		exit(1);
	}
	if (pid == 0) {
		signal(SIGALRM, SIG_DFL);
		raise(SIGSTOP);
		run_actor(r->w, i);
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	return pid;
}

static void
start(struct run *r, size_t i)
{
	struct actor *a = &r->actor[i];
	struct chance *c = &cluster->chance;

	world_told()->outcome[i].done = false;
	a->started = r->turns + 1;
	a->calls = 0;
	a->process = r->out->runs + 1;
	world_told()->process[i] = a->process;
	a->rounds = 0;
	a->quiet = c->faults_left <= 0;
	a->crash_at = 0;
	if (c->rate[CHANCE_CRASH] > 0 && c->faults_left > 0 && chance_below(2) == 0)
		a->crash_at = 1 + chance_below(UINT64_C(1) << (1 + chance_below(CRASH_BITS)));
	chance_trace("START actor %zu", i);
	r->out->runs++;
	a->alive = true;
	if (r->tasks)
		task_start(i, run_task, r->w, is_producer(i));
	else
		a->pid = start_process(r, i);
}

static unsigned
alive(const struct run *r, size_t from, size_t end)
{
	unsigned n = 0;

	for (size_t i = from; i < end; i++)
		n += r->actor[i].alive;
	return n;
}

/* ---- ends ---- */

static bool
says(size_t i, const char *words)
{
	return strstr(world_told()->outcome[i].text, words) != NULL;
}

/* ---- what was published is destroyed ---- */

static const char no_commit[] = "the broker knows no commit of group m.trainers any more";

/* Who says what, where one of the faults has happened. */
static const struct loss_words {
	bool (*who)(size_t actor);
	const char *words;
} loss_words[] = {
    {is_mixer, "has lost its end"},
    {is_mixer, "was deleted and created again"},
    {is_mixer, "topics are missing, the first: m.batches"},
    {is_mixer, "topic m.batches does not exist"},
    {is_mixer, "partitions were added"},
    {is_mixer, "partitions of the first were added"},
    {is_mixer, "the ledger was deleted"},
    {is_mixer, "holds no record any more"},
    {is_mixer, "was cut while it was read"},
    {is_mixer, no_commit},
    {is_trainer, "topic m.batches does not exist"},
    {is_trainer, "does not divide the"}, /* the ledger holds no record yet */
    {is_trainer, "partitions were added"},
    {is_trainer, "partitions of the first were added"},
    {is_trainer, "the record's key is no lane that lies there"},
    {is_trainer, "some were added"},
    /* Partitions were added to m.lanes, and m.batches was deleted. */
    {is_trainer, "lanes, and topic m.lanes has"},
    {is_trainer, "was deleted and created again"},
    {is_trainer, "the records of topic m.ledger, which say where runs stand, were deleted"},
    {is_trainer, "the broker has no commit of group m.trainers for every lane"},
    /* Of a position in the log that was there before; a restarted one searches. */
    {is_trainer, "comes first"},
    {is_trainer, "but this offset is not in the log"},
    {is_trainer, "gap: step "},
    {is_trainer, "duplicate: step "},
    {is_trainer, "topic m.ledger has no record of the state before step"},
    /* It has committed a step that is lost, and the mix ended in front of it. */
    {is_trainer, "is this the step of another mix?"},
    /* A late commit takes its run back, behind where the lanes were filled from. */
    {is_trainer, "is not kept any more: the earliest retained step"},
    /* While it works more is lost, or another mixer works. */
    {is_repair, "was cut while it was read"},
    {is_repair, "topic m.batches does not exist"},
    {is_repair, "partitions were added"},
    {is_repair, "partitions of the first were added"},
    {is_repair, "was deleted while it was read"}, /* by retention, or with the topic */
    {is_repair, "the batch topic has"},
    {is_repair, "are not all published"},
    {is_repair, "a mixer is publishing mix m"},
};

/* Why `riffle repair` cannot make a loss good. */
static const char *const refusals[] = {
    "holds no record: the mix has not begun, or all of its ledger is lost",
    "the ledger was deleted",
    "it is empty, or its beginning was deleted",
    "they were drawn with what cannot be derived",
    "and the ledger has lost how long it was when the step was drawn",
    "and how long it was when they were drawn is not known",
    "may have changed them, and the ledger has lost its answer",
    "and not of this mix's producer",
    "the record is damaged", /* the ledger has lost that it is quarantined */
    "is not kept any more: the earliest retained step",
};

static bool
any_loss(const struct run *r)
{
	return r->lost_turn > 0;
}

/* Whether it stops and names a loss. */
static bool
names_loss(const struct run *r, size_t i)
{
	for (size_t k = 0; any_loss(r) && k < sizeof(loss_words) / sizeof(loss_words[0]); k++)
		if (loss_words[k].who(i) && says(i, loss_words[k].words))
			return true;
	return false;
}

/* A topic shows records that were aborted: Kafka can take back neither them nor what it lost. */
static bool
shows_aborted(const char *topic)
{
	struct cluster_topic *t = cluster_topic(topic);

	for (int32_t i = 0; t != NULL && i < t->partitions; i++) {
		const struct cluster_partition *p = &t->partition[i];

		for (int64_t k = p->log_start; k < p->end; k++)
			if (p->record[k].undone && p->record[k].fate == CLUSTER_COMMITTED)
				return true;
	}
	return false;
}

static bool
refuses(size_t i)
{
	/* Lanes and ledger then hold different steps, and nothing tells which were aborted. */
	if ((shows_aborted("m.batches") || shows_aborted("m.ledger")) &&
	    says(i, "the batch topic is the one that differs"))
		return true;
	for (size_t k = 0; k < sizeof(refusals) / sizeof(refusals[0]); k++)
		if (says(i, refusals[k]))
			return true;
	return false;
}

/* The mix ended as its configuration was changed. */
static bool
comes_too_late(size_t i)
{
	return says(i, "no step follows, and the changed configuration is not accepted");
}

/* Another producer of a live input has taken over. No other failure of a producer is transient. */
static bool
may_produce_fail(size_t i, enum fail_code code)
{
	return code == FAIL_FENCED || (code == FAIL_DATA && says(i, "End the other one"));
}

/* A reader may fail because records were taken away, but it may never miss some that are there. */
static bool
may_read_fail(const struct run *r, size_t i)
{
	const uint64_t *count = cluster->chance.count;

	if (says(i, "less: "))
		return false;
	return any_loss(r) || count[CHANCE_TAIL_LOST] > 0 || count[CHANCE_RECORDS_DELETED] > 0;
}

/*
 * Whether a failure is one that its user would meet by starting it again: the broker's, a fencing,
 * or a stop that says what was taken away.
 */
static bool
may_fail(struct run *r, size_t i, enum fail_code code)
{
	const uint64_t *count = cluster->chance.count;
	bool mixer = is_mixer(i), producer = is_producer(i);

	if (code == FAIL_BROKER || code == FAIL_TIMEOUT || (mixer && comes_too_late(i)))
		return true;
	if (is_inbox(r) && producer)
		return may_produce_fail(i, code);
	if (is_reader(i))
		return may_read_fail(r, i);
	/* By a rival; or by the coordinator, before the START that would tell the two apart. */
	if (code == FAIL_FENCED && !producer)
		return is_repair(i) ||
		       (mixer && (r->ever_rivals || any_loss(r) || count[CHANCE_EXPIRED] > 0));
	if (names_loss(r, i) || (is_repair(i) && refuses(i)))
		return true;
	if (count[CHANCE_COMMITS_GONE] > 0 && mixer && code == FAIL_CONFIG)
		return says(i, no_commit);
	if (count[CHANCE_COMMITS_GONE] > 0 && !mixer && !producer)
		return says(i, "the broker has no commit of group m.trainers for every lane");
	if (count[CHANCE_TAIL_LOST] > 0 && mixer &&
	    (says(i, "are missing: a broker has lost") || says(i, "shorter") ||
		says(i, "is not in the log (any more)") || says(i, "the topic holds") ||
		says(i, "its end is before a sequence that the mix counts with")))
		return true;
	if (count[CHANCE_RECORDS_DELETED] > 0 &&
	    (mixer || (is_trainer(i) && world_derived(r->w))) &&
	    says(i, "was cut while it was read"))
		return true;
	/* What a dead producer had sent can land behind its successor. */
	return code == FAIL_FENCED && producer &&
	       says(i, "or one that was killed had records on their way");
}

static void
make_again(const struct cluster_topic *before, int32_t partitions)
{
	struct cluster_topic *t = cluster_make_topic(before->name, partitions);

	memcpy(t->setting, before->setting, sizeof(t->setting));
	t->settings_n = before->settings_n;
}

static void
recreate(const char *name, int32_t partitions)
{
	struct cluster_topic *before = cluster_topic(name);

	cluster_delete_topic(before);
	make_again(before, partitions);
}

/* Somebody who missed its answer repeats the last request, which stands at offset 0 then. */
static void
recreate_control(void)
{
	const struct cluster_partition *before = cluster_partition("m.control", 0);
	const struct cluster_record *last =
	    before->end > before->log_start ? &before->record[before->end - 1] : NULL;
	struct cluster_record *again;

	recreate("m.control", 1);
	if (last == NULL)
		return;
	again = cluster_append(cluster_partition("m.control", 0));
	again->bytes = last->bytes;
	again->n = last->n;
}

/* Whoever reads what a mixer says does it, before a mixer is started again. */
static void
ask_for_repair(struct run *r, size_t i)
{
	struct cluster_topic *batches = cluster_topic("m.batches");

	struct cluster_topic *commits = cluster_topic(world_commits(r->w));
	bool added =
	    says(i, "partitions were added") || says(i, "partitions of the first were added");

	if (added && batches != NULL && batches->partitions > (int32_t)r->w->partitions)
		recreate("m.batches", (int32_t)r->w->partitions);
	if (added && commits != batches && commits->partitions > (int32_t)r->w->lanes)
		recreate(world_commits(r->w), (int32_t)r->w->lanes);
	r->repairs = r->actor[WORLD_REPAIR].wanted = true;
}

static bool
trainers_finished(const struct run *r)
{
	for (size_t i = WORLD_TRAINER_FIRST; i < WORLD_PRODUCER_FIRST; i++)
		if (r->actor[i].wanted && !r->actor[i].finished)
			return false;
	return true;
}

static void
ended(struct run *r, size_t i)
{
	const struct world_outcome *o = &world_told()->outcome[i];
	struct actor *a = &r->actor[i];

	chance_trace("END actor %zu: code %d %s", i, (int)o->code, o->text);
	if (is_repair(i) && (o->code == FAIL_NONE || refuses(i))) {
		r->repairs = a->wanted = false;
		r->refused = o->code != FAIL_NONE;
		r->repaired = r->repaired || o->code == FAIL_NONE;
		return;
	}
	if (o->code == FAIL_NONE)
		a->failures = 0;
	if (o->code == FAIL_NONE) {
		/* What was lost after its last commit it has not seen: it looks once more. */
		a->finished = !(is_mixer(i) || is_trainer(i)) || a->started >= r->lost_turn;
		return;
	}
	if (!may_fail(r, i, o->code)) {
		problem(r, i, "failed", o->text);
		return;
	}
	a->fenced = o->code == FAIL_FENCED && !is_producer(i);
	if (is_mixer(i) && comes_too_late(i))
		world_told()->accepted = false;
	/* Nobody will commit again. */
	if (is_mixer(i) && says(i, no_commit) && trainers_finished(r))
		r->refused = true;
	if ((is_mixer(i) || is_repair(i)) && names_loss(r, i))
		ask_for_repair(r, i);
	for (size_t m = 0; is_trainer(i) && names_loss(r, i) && m < WORLD_MIXERS; m++)
		r->actor[m].finished = false; /* it looks once more */
	if (o->code == FAIL_CONFIG || o->code == FAIL_DATA ||
	    (o->code == FAIL_FENCED && !a->fenced)) {
		/* Another actor brings back what was taken away; who reads that waits for it. */
		cluster->now_ms += AGAIN_MS;
		cluster_tick();
	} else if (a->quiet && !a->fenced && ++a->failures > FAILURES_QUIET) {
		problem(r, i, "fails again and again, without a fault", o->text);
	}
}

static void
died(struct run *r, size_t i, int status)
{
	char text[64];

	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CRASHED)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_HANGS) {
		problem(r, i, "hangs", "it makes calls without end");
		return;
	}
	if ((WIFEXITED(status) && WEXITSTATUS(status) == EXIT_LOOPS) ||
	    (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)) {
		problem(r, i, "hangs", "it goes on, or waits, without a call");
		return;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && world_told()->outcome[i].done) {
		ended(r, i);
		return;
	}
	snprintf(text, sizeof(text), "status %d, signal %d", status,
	    WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	problem(r, i, "died", text);
}

/* Lets one actor go on until it rests. False: it is over, with *status as waitpid() has it. */
static bool
go_on(struct run *r, size_t i, int *status)
{
	int code;

	if (!r->tasks) {
		kill(r->actor[i].pid, SIGCONT);
		if (waitpid(r->actor[i].pid, status, WUNTRACED) != r->actor[i].pid)
			abort();
		return WIFSTOPPED(*status);
	}
	if (task_go_on(i, &code))
		return true;
	*status = W_EXITCODE(code, 0);
	return false;
}

/* Lets one actor make its calls. */
static void
turn(struct run *r, size_t i)
{
	struct actor *a = &r->actor[i];
	struct chance *c = &cluster->chance;
	bool rests;
	int status;

	c->actor = (int)i;
	c->process = a->process;
	c->calls = a->calls;
	c->crash_at = a->crash_at;
	c->slice = 1 + chance_below(SLICE_MAX);
	c->rounds = 0;
	cluster->scheduled = true;
	at_work = r->tasks ? 0 : a->pid;
	alarm(r->turn_s);
	rests = go_on(r, i, &status);
	alarm(0);
	a->crash_at = c->crash_at;
	a->calls = c->calls;
	a->rounds = c->rounds;
	if (rests)
		return;
	a->alive = false;
	world_told()->process[i] = 0;
	died(r, i, status);
}

/* ---- who runs ---- */

static bool
mixed(const struct run *r)
{
	for (size_t i = 0; i < WORLD_MIXERS; i++)
		if (r->actor[i].finished)
			return true;
	return false;
}

static void
start_mixer(struct run *r, size_t i)
{
	r->actor[i].fenced = false;
	r->ever_rivals = r->ever_rivals || alive(r, 0, WORLD_MIXERS) > 0;
	start(r, i);
}

/* One that was fenced stays away while the other one is there; of standbys both are. */
static void
start_mixers(struct run *r)
{
	unsigned n = alive(r, 0, WORLD_MIXERS);

	if (mixed(r) || r->repairs)
		return;
	if (n == 0)
		start_mixer(r, chance_below(WORLD_MIXERS));
	else if (n == 1 && (world_told()->standbys || chance_fault(CHANCE_RIVAL, "m")))
		start_mixer(r, r->actor[0].alive ? 1 : 0);
}

/*
 * What a dead producer had sent can land behind its successor's End, and a log that was complete
 * can lose its tail. The mixer then says that the domain has no End and that `riffle produce`
 * writes it: whoever reads that runs it again.
 */
static void
look_at_ends(struct run *r)
{
	const struct world *w = r->w;

	for (size_t i = 0; r->produces && i < w->parts_n; i++) {
		struct actor *a = &r->actor[WORLD_PRODUCER_FIRST + i];

		for (size_t d = 0; a->finished && d < w->part[i].domains_n; d++)
			if (!checker_sealed(&w->log[w->part[i].log[d]]))
				a->finished = false;
	}
}

/* All domains have their End, and nothing arrives any more. */
static bool
all_sealed(const struct run *r)
{
	for (size_t i = 0; i < r->w->logs_n; i++)
		if (!checker_sealed(&r->w->log[i]))
			return false;
	return world_told()->closed;
}

/* `riffle produce` again and again, on two machines; what is complete needs none. */
static void
start_producers(struct run *r)
{
	unsigned n = alive(r, WORLD_PRODUCER_FIRST, WORLD_REPAIR);

	for (size_t i = WORLD_PRODUCER_FIRST; i < WORLD_REPAIR && !all_sealed(r); i++) {
		if (!r->actor[i].wanted || r->actor[i].alive ||
		    (n > 0 && chance_below(PRODUCE_TURNS) != 0))
			continue;
		start(r, i);
		n++;
	}
}

static void
start_readers(struct run *r)
{
	for (size_t i = WORLD_READER_FIRST; r->reads && i < WORLD_ACTORS; i++)
		if (!r->actor[i].alive && chance_below(READ_TURNS) == 0)
			start(r, i);
}

static void
start_all(struct run *r)
{
	start_readers(r);
	if (is_inbox(r)) {
		start_producers(r);
		return;
	}
	start_mixers(r);
	if (r->turns % LOOK_TURNS == 0)
		look_at_ends(r);
	for (size_t i = WORLD_TRAINER_FIRST; i < WORLD_ACTORS; i++)
		if (r->actor[i].wanted && !r->actor[i].finished && !r->actor[i].alive)
			start(r, i);
}

static bool
all_finished(const struct run *r)
{
	for (size_t i = WORLD_TRAINER_FIRST; i < WORLD_ACTORS; i++)
		if (r->actor[i].wanted && !r->actor[i].finished)
			return false;
	return mixed(r) && alive(r, 0, WORLD_MIXERS) == 0;
}

/* The mix can end between the loss of a tail and the next look at it. */
static bool
finished(struct run *r)
{
	if (is_inbox(r))
		return all_sealed(r) && alive(r, WORLD_PRODUCER_FIRST, WORLD_REPAIR) == 0;
	if (all_finished(r))
		look_at_ends(r);
	return all_finished(r);
}

/* Answers in the ledger so far. */
static void
count_answers(struct run *r)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);

	for (; r->ledger_at < p->end && p->record[r->ledger_at].fate != CLUSTER_OPEN;
	     r->ledger_at++) {
		const struct cluster_record *record = &p->record[r->ledger_at];
		struct ledger l = {0};
		struct failure f;

		if (record->fate == CLUSTER_COMMITTED &&
		    ledger_decode(&l, record->bytes, record->n, &f) == FAIL_NONE)
			r->answered += l.answers_n;
		ledger_clear(&l);
	}
}

/* Trainers wait for the answer to a request, unless a mixer waits for their commits: it must come
 * without them. */
static bool
trainers_wait(struct run *r)
{
	if (world_told()->late_n == 0 || mixed(r) || any_loss(r) ||
	    cluster->chance.count[CHANCE_COMMITS_GONE] > 0)
		return false;
	count_answers(r);
	return r->answered < world_told()->late_n;
}

/* Someone that runs and does not rest; where all rest, the one that rests the least. */
static size_t
choose(struct run *r)
{
	size_t ready[WORLD_ACTORS], n = 0, least = WORLD_ACTORS;
	bool held = trainers_wait(r);

	for (size_t i = 0; i < WORLD_ACTORS; i++) {
		struct actor *a = &r->actor[i];

		if (!a->alive || (held && is_trainer(i)))
			continue;
		if (a->rounds == 0)
			ready[n++] = i;
		else
			a->rounds--;
		if (least == WORLD_ACTORS || a->rounds < r->actor[least].rounds)
			least = i;
	}
	return n == 0 ? least : ready[chance_below(n)];
}

static void
end_one(struct run *r, size_t i)
{
	if (!r->actor[i].alive)
		return;
	r->actor[i].alive = false;
	world_told()->process[i] = 0;
	if (r->tasks) {
		task_drop(i);
	} else {
		kill(r->actor[i].pid, SIGKILL);
		waitpid(r->actor[i].pid, NULL, 0);
	}
}

/* ---- what happens beside the actors ---- */

/* The lowest step that the trainers have committed, or read again, is kept, with all behind it. */
static void
trim(struct run *r)
{
	uint64_t step = UINT64_MAX;

	for (const struct cluster_request *q = cluster->requests; q != NULL; q = q->next)
		if (q->kind == CLUSTER_COMMIT) /* it may take the run back */
			return;
	for (size_t i = 0; i < WORLD_TRAINERS; i++)
		if (world_told()->opening[i]) /* by what was committed a moment ago */
			return;
	if (r->turns % LOOK_TURNS != 0 || !chance_fault(CHANCE_RETENTION, "m.batches"))
		return;
	for (uint32_t i = 0; i < r->w->lanes; i++)
		if (world_told()->committed[i] < step)
			step = world_told()->committed[i];
	if (step > 0)
		checker_trim(r->w, step);
}

/* As many ranks as divide the lanes; steps that some had and others had not are read again. */
static void
change_world_size(struct run *r)
{
	uint32_t ranks =
	    r->w->uneven ? 1 + (uint32_t)chance_below(r->w->lanes) : r->w->lanes >> chance_below(3);

	ranks = ranks == 0 ? 1 : ranks;
	world_told()->ranks = ranks;
	chance_trace("RANKS %" PRIu32, ranks);
	for (size_t i = 0; i < WORLD_TRAINERS; i++) {
		struct actor *a = &r->actor[WORLD_TRAINER_FIRST + i];

		end_one(r, WORLD_TRAINER_FIRST + i);
		a->finished = false;
		a->wanted = i < ranks;
		world_told()->lost[i] = false;
	}
}

/* Whoever changes the configuration ends the mixers first. */
static void
change_configuration(struct run *r)
{
	for (size_t i = 0; i < WORLD_MIXERS; i++)
		end_one(r, i);
	world_told()->accepted = true;
}

/* ---- what administrators and disks do ---- */

static bool
is_shared(const struct world *w)
{
	return w->partitions < w->lanes;
}

/* Some of the run's commits, or all of them; where they have a topic of their own, with it. */
static void
delete_commits(const struct run *r)
{
	bool all = chance_below(2) == 0;

	if (all && is_shared(r->w) && chance_below(2) == 0)
		recreate("m.lanes", (int32_t)r->w->lanes);
	else
		cluster_commit_forget("m.trainers", world_commits(r->w),
		    all ? -1 : (int32_t)chance_below(r->w->lanes));
}

/* In some seeds what was published is destroyed. */
static bool
may_destroy(void)
{
	for (int i = CHANCE_LANE_CUT; i <= CHANCE_PARTITIONS; i++)
		if (cluster->chance.rate[i] > 0)
			return true;
	return false;
}

/* Trainers that derive their lanes begin at the record of the state before the step they want. */
static bool
begins_there(const struct world *w, const struct ledger *l)
{
	const struct chance *c = &cluster->chance;

	if (!world_derived(w))
		return true;
	if (c->rate[CHANCE_SEEK] > 0 || c->rate[CHANCE_COMMITS_GONE] > 0) /* anywhere */
		return false;
	return (uint64_t)l->step_next <= checker_kept(w);
}

/*
 * What stands below the ledger's last record that somebody needs, and the requests that it has
 * answered. (In a world
 * that is free not where steps may be derived again: nobody would know where lanes begin then.)
 */
static void
delete_records(const struct world *w)
{
	struct cluster_partition *ledger = cluster_partition("m.ledger", 0);
	struct cluster_partition *control = cluster_partition("m.control", 0);
	struct ledger l = {0};
	struct failure f;
	int64_t i = ledger->end;
	bool last = true, found = false;

	for (; i > ledger->log_start && !found; i--) {
		if (ledger->record[i - 1].fate != CLUSTER_COMMITTED ||
		    ledger_decode(&l, ledger->record[i - 1].bytes, ledger->record[i - 1].n, &f) !=
			FAIL_NONE)
			continue;
		if (last && l.control_next > control->log_start && l.control_next <= control->end)
			control->log_start = l.control_next;
		last = false;
		found = begins_there(w, &l);
		ledger_clear(&l);
	}
	if (found && (!w->free || !may_destroy()))
		ledger->log_start = i;
}

/*
 * Of a domain that was complete: its producer makes it whole again. What one at work loses can
 * leave a hole that no other fills, and the mixer stops there.
 */
static void
lose_tail(const struct run *r)
{
	const struct world_log *l = &r->w->log[chance_below(r->w->logs_n)];
	struct cluster_partition *p = cluster_partition(l->topic, l->partition);

	for (const struct cluster_request *q = cluster->requests; q != NULL; q = q->next)
		if (q->kind == CLUSTER_PRODUCE && q->partition == p)
			return;
	if (checker_sealed(l))
		cluster_cut(p, 1 + (int64_t)chance_below(CUT_MAX));
}

static bool
all_answered(struct run *r)
{
	count_answers(r);
	return r->answered >= r->w->answers_n && r->answered >= world_told()->late_n;
}

static void
look_at_disks(struct run *r)
{
	const struct world *w = r->w;

	if (chance_fault(CHANCE_COMMITS_GONE, "m.trainers"))
		delete_commits(r);
	if (chance_fault(CHANCE_ID_EXPIRED, "m.mixer"))
		cluster_txn_expire("m.mixer");
	if (chance_fault(CHANCE_RECORDS_DELETED, "m.ledger, m.control"))
		delete_records(w);
	if (all_answered(r) && w->late_n == 0 && chance_fault(CHANCE_CONTROL_MADE, "m.control"))
		recreate_control();
	if (r->produces && chance_fault(CHANCE_TAIL_LOST, "a domain"))
		lose_tail(r);
}

/* Brokers die together, and take the mixers along or not; whatever was done is looked at again. */
static void
note_loss(struct run *r)
{
	bool all = chance_below(2) == 0;

	r->lost_turn = r->turns + 1;
	for (size_t i = 0; i < WORLD_MIXERS; i++) {
		r->actor[i].finished = false;
		if (all)
			end_one(r, i);
	}
}

static bool
destroys(struct run *r, enum chance_fault fault, const char *what)
{
	if (!chance_fault(fault, what))
		return false;
	note_loss(r);
	return true;
}

/* Answers that are given again, later, make no other mix of it. */
static bool
answers_rest(const struct world *w)
{
	return w->answers_n == 0 || w->free;
}

static void
cut_ledger(struct run *r, struct cluster_partition *ledger)
{
	cluster_cut(ledger, 1 + (int64_t)chance_below(CUT_MAX));
	r->ledger_at = 0;
	r->answered = 0;
}

/* Its records are deleted, or all of it. */
static void
empty_ledger(struct run *r, struct cluster_partition *ledger)
{
	ledger->log_start = ledger->end;
	if (!answers_rest(r->w) || chance_below(2) == 0)
		return;
	recreate("m.ledger", 1);
	r->ledger_at = 0;
	r->answered = 0;
}

static void
end_absence(struct run *r)
{
	make_again(r->gone, (int32_t)r->w->partitions);
	r->gone = NULL;
}

/*
 * Where retention has deleted the beginning, a record stays: of lanes without any nobody can tell
 * that they have not all been deleted. And no end of a transaction is on its way, or its marker: it
 * would make aborted records visible that lose their marker now. Nor is a batch: it would have died
 * with the connection to the broker that loses its disk.
 */
static void
cut_lane(struct cluster_partition *p, int64_t n)
{
	int64_t first = p->log_start;

	for (const struct cluster_request *q = cluster->requests; q != NULL; q = q->next)
		if (q->kind == CLUSTER_END || (q->kind == CLUSTER_PRODUCE && q->partition == p))
			return;
	for (size_t i = 0; i < cluster->txns_n; i++)
		if (cluster_txn_marks(cluster->txn[i], p))
			return;
	while (first < p->end && p->record[first].fate != CLUSTER_COMMITTED)
		first++;
	if (p->log_start == 0 || first < p->end - n)
		cluster_cut(p, n);
}

static void
destroy_some(struct run *r, struct cluster_topic *batches)
{
	struct cluster_partition *ledger = cluster_partition("m.ledger", 0);
	const struct world *w = r->w;

	if (destroys(r, CHANCE_LANE_CUT, "m.batches"))
		cut_lane(&batches->partition[chance_below(w->partitions)],
		    1 + (int64_t)chance_below(CUT_MAX));
	if (answers_rest(w) && destroys(r, CHANCE_LEDGER_CUT, "m.ledger"))
		cut_ledger(r, ledger);
	if (destroys(r, CHANCE_LEDGER_EMPTY, "m.ledger"))
		empty_ledger(r, ledger);
	if (destroys(r, CHANCE_PARTITIONS, "m.batches")) {
		struct cluster_topic *t = batches;

		if (is_shared(w) && chance_below(2) == 0)
			t = cluster_topic(world_commits(w));
		cluster_add_partitions(t, t->partitions + 1);
	}
	if (destroys(r, CHANCE_BATCHES_MADE, "m.batches")) {
		cluster_delete_topic(batches);
		r->gone = batches;
		if (chance_below(2) == 0)
			end_absence(r);
	}
}

static void
look_at_losses(struct run *r)
{
	struct cluster_topic *batches = cluster_topic("m.batches");

	if (world_derived(r->w))
		return;
	if (batches == NULL && chance_below(MADE_ONE_OF) == 0)
		end_absence(r);
	/* A standby ends with the mix, and looks at no lane. */
	if (batches != NULL && !(mixed(r) && world_told()->standbys))
		destroy_some(r, batches);
	if (r->gone == NULL && any_loss(r) && r->turns > r->lost_turn + SEEN_TURNS) {
		for (size_t i = 0; i < WORLD_PRODUCER_FIRST; i++) {
			end_one(r, i);
			/* The end that it was given is lost, and with it, perhaps, its commits. */
			if (is_trainer(i))
				r->actor[i].finished = false;
		}
		r->repairs = r->actor[WORLD_REPAIR].wanted = true;
		r->lost_turn = r->turns;
	}
}

static void
look_at_people(struct run *r)
{
	struct world_told *told = world_told();
	const struct world *w = r->w;

	if (w->lanes > 1 && r->turns % LOOK_TURNS == 0 &&
	    chance_fault(CHANCE_WORLD_SIZE, "trainers"))
		change_world_size(r);
	if (told->late_n < w->late_n && chance_fault(CHANCE_REQUEST, "m.control"))
		world_request(&w->late[told->late_n++]);
	if (w->accepted != NULL && !told->accepted && !mixed(r) && chance_fault(CHANCE_ACCEPT, "m"))
		change_configuration(r);
	if (w->live && chance_below(ARRIVE_TURNS) == 0)
		world_arrive(&w->log[chance_below(w->logs_n)]);
}

/*
 * If no order exists when an input is closed, it is read by the names of its files. A user who
 * closes it then ends the producers with the former configuration first. Everything they sent
 * arrives.
 */
static void
end_producers(struct run *r)
{
	for (size_t i = WORLD_PRODUCER_FIRST; i < WORLD_REPAIR; i++)
		end_one(r, i);
	while (cluster->requests != NULL) {
		cluster->now_ms = cluster->requests->due_ms;
		cluster_tick();
	}
}

/* Somebody writes files; once they are whole the inputs are closed. */
static void
look_at_inbox(struct run *r)
{
	struct world_told *told = world_told();

	if (told->closed || chance_below(ARRIVE_TURNS) != 0 || inbox_arrive() ||
	    chance_below(CLOSE_TURNS) != 0)
		return;
	told->closed = true;
	told->seals = chance_below(3) == 0;
	if (!told->seals && !checker_ordered(r->w))
		end_producers(r);
	chance_trace("CLOSED, by %s", told->seals ? "--seal" : "live: false");
}

/* What happens beside the actors. */
static void
look_around(struct run *r)
{
	if (is_inbox(r)) {
		look_at_inbox(r);
		return;
	}
	if (r->gone == NULL)
		trim(r);
	look_at_people(r);
	if (r->turns % DISK_TURNS == 0) {
		look_at_disks(r);
		look_at_losses(r);
	}
}

static void
end_all(struct run *r)
{
	for (size_t i = 0; i < WORLD_ACTORS; i++)
		end_one(r, i);
}

/* ---- a seed ---- */

/* Each seed has some of the faults only, some often: rare ones meet in odd pairs that way. */
static void
draw_rates(const struct world *w, uint64_t seed, bool lost)
{
	struct chance *c = &cluster->chance;

	for (int i = 0; i < CHANCE_MARKERS_NEVER; i++) {
		static const uint32_t rate[] = {0, 0, 200, 800, 3000};

		c->rate[i] = rate[chance_below(sizeof(rate) / sizeof(rate[0]))];
	}
	for (int i = CHANCE_QUEUE_FULL; i <= CHANCE_GROUP_REFUSED; i++)
		c->rate[i] *= 3; /* few calls meet them */
	c->rate[CHANCE_STOP] /= 20;
	c->rate[CHANCE_EXPIRED] = 0; /* a consequence */
	c->rate[CHANCE_RETENTION] *= 10;
	c->rate[CHANCE_WORLD_SIZE] *= 4;
	c->rate[CHANCE_REQUEST] += 600;
	c->rate[CHANCE_ACCEPT] += 600;
	for (int i = CHANCE_COMMITS_GONE; i <= CHANCE_PARTITIONS; i++)
		c->rate[i] *= 2;
	lost = chance_below(w->mixed ? LOSSES_MIXED_ONE_OF : LOSSES_ONE_OF) == 0 || lost;
	lost = lost && !world_derived(w); /* there are no lanes to tell what is lost */
	for (int i = CHANCE_LANE_CUT; i <= CHANCE_PARTITIONS; i++)
		c->rate[i] = lost ? c->rate[i] / 2 + (w->mixed ? 600 : 0) : 0;
	if (w->mixed) {
		c->rate[CHANCE_RETENTION] += 4000;
		c->rate[CHANCE_REQUEST] += 3000;
		c->rate[CHANCE_ACCEPT] += 1000;
	}
	if (w->mixed && chance_below(2) == 0) /* what is read again is not deleted */
		c->rate[CHANCE_SEEK] = c->rate[CHANCE_COMMITS_GONE] = 0;
	c->rate[CHANCE_DISK_FULL] /= 16;
	if (seed / WORLD_KINDS % UNMARKED_ONE_OF == UNMARKED) {
		c->rate[CHANCE_MARKERS_NEVER] = 5000;
		c->rate[CHANCE_ID_EXPIRED] = 0; /* another producer id could not end them */
	}
	if (c->rate[CHANCE_SEEK] > 0 || c->rate[CHANCE_COMMITS_GONE] > 0) /* it is read again */
		c->rate[CHANCE_RETENTION] = 0;
	if (world_derived(w)) /* it has nothing to delete */
		c->rate[CHANCE_RETENTION] = 0;
	c->faults_left = (int64_t)chance_below(FAULTS_MAX) + (w->mixed ? FAULTS_MORE : 0);
	c->calls_max = CALLS_MAX;
}

/* Producers of live inputs ask Kafka in two threads: they need actors without any (seams.c). */
bool
driver_plays_live(void)
{
#ifdef HEAP_NONE
	return false;
#else
	return true;
#endif
}

/*
 * In a quarter of the seeds many features meet (unless an option asks for other worlds), in each of
 * the three forms. Of the others:
 * In an eighth of the seeds lanes share partitions, where there are several; of the others in a
 * tenth files arrive, and in a ninth trainers derive their lanes. Which ones is such that seeds
 * that found something keep their worlds (unit_seeds in sim.c).
 */
static const struct world *
world_of(const struct world *worlds, uint64_t seed, const struct driver_options *o)
{
	const struct world *w = &worlds[seed % WORLD_KINDS];
	uint64_t turn = seed / WORLD_KINDS / PRODUCES_ONE_OF;
	bool other = o->derived || o->shared || o->live || o->readers;

	if (o->mixed || (seed / MIXED_SEEDS % MIXED_ONE_OF == MIXED && !other))
		return &worlds[WORLD_MIXED_FIRST + seed % WORLD_MIXED +
			       seed / WORLD_MIXED % 3 * WORLD_MIXED];
	if (o->derived)
		return w + 2 * WORLD_KINDS;
	if (w->lanes > 1 && (o->shared || (turn % SHARED_ONE_OF == 1 && !o->live)))
		return w + WORLD_KINDS;
	if (driver_plays_live() && (o->live || turn % LIVE_ONE_OF == 8))
		return &worlds[WORLD_INBOX_FIRST + seed % WORLD_INBOXES];
	return turn % DERIVED_ONE_OF == 4 ? w + 2 * WORLD_KINDS : w;
}

static void
prepare(struct run *r, const struct world *worlds, uint64_t seed, const struct driver_options *o)
{
	struct config_mix *mix;
	struct chance *c;

	r->w = world_of(worlds, seed, o);
	r->reads = o->readers || seed / WORLD_KINDS / PRODUCES_ONE_OF % READ_ONE_OF == 5 ||
		   (is_inbox(r) && seed / WORLD_INBOXES % READ_LIVE_ONE_OF == 0);
	r->produces = is_inbox(r) || (r->w->produces && seed / WORLD_KINDS % PRODUCES_ONE_OF == 0);
	cluster_restore(
	    r->produces ? r->w->empty : r->w->filled, r->produces ? r->w->empty_n : r->w->filled_n);
	memset(world_told(), 0, sizeof(*world_told()));
	c = &cluster->chance;
	*c = (struct chance){.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1,
	    .trace = o->trace,
	    .without = o->without};
	draw_rates(r->w, seed, o->lost);
	world_told()->ranks = r->w->ranks;
	world_told()->standbys = chance_below(STANDBY_ONE_OF) == 0;
	mix = &r->w->config->mix;
	mix->transaction_bytes = 1 + chance_below(3000);
	mix->transaction_ms = 20 + (uint32_t)chance_below(200);
	mix->transaction_first_ms = 20 + (mix->transaction_ms - 20) / 2;
	if (r->w->accepted != NULL) {
		r->w->accepted->mix.transaction_bytes = mix->transaction_bytes;
		r->w->accepted->mix.transaction_ms = mix->transaction_ms;
		r->w->accepted->mix.transaction_first_ms = mix->transaction_first_ms;
	}
	for (size_t i = 0; i < r->w->ranks; i++)
		r->actor[WORLD_TRAINER_FIRST + i].wanted = true;
	for (size_t i = 0; r->produces && !is_inbox(r) && i < r->w->parts_n; i++)
		r->actor[WORLD_PRODUCER_FIRST + i].wanted = true;
	if (is_inbox(r)) {
		inbox_begin(r->w->log[0].domain[0] != 'x'); /* a text is of no domain by `where` */
		for (size_t i = 0; i < WORLD_PRODUCERS; i++)
			r->actor[WORLD_PRODUCER_FIRST + i].wanted = i == 0 || chance_below(4) == 0;
	}
	c->actor = -1;
	chance_trace("seed %" PRIu64 ", world: %s%s%s%s, %" PRId64 " faults", seed, r->w->name,
	    world_derived(r->w) ? ", derived"
	    : is_shared(r->w)   ? ", lanes share partitions"
				: "",
	    r->produces ? ", producers at work" : "", world_told()->standbys ? ", standbys" : "",
	    c->faults_left);
}

static void
choose_actors(struct run *r, const struct driver_options *o)
{
	static_assert((int)WORLD_ACTORS <= (int)TASKS_MAX, "a task for every actor");
	r->tasks = !o->processes && task_open();
	chance_rest = r->tasks ? task_rest : chance_stop;
	chance_exit = r->tasks ? task_exit : _exit;
}

/* The last state of chance and clock rests on every question and answer before. */
static uint64_t
mark(void)
{
	return cluster->chance.state ^ (uint64_t)cluster->now_ms * UINT64_C(0x9e3779b97f4a7c15) ^
	       cluster->used << 40;
}

/* The features of a run that has passed. Requests that come late have all come. */
static uint32_t
features_of(const struct run *r)
{
	const struct world *w = r->w;
	const uint64_t *count = cluster->chance.count;

	return w->features | (world_told()->late_n == w->late_n ? w->features_late : 0) |
	       (uint32_t)(count[CHANCE_RETENTION] > 0) << FEATURE_RETAIN |
	       (uint32_t)r->repaired << FEATURE_REPAIR |
	       (uint32_t)(count[CHANCE_ACCEPT] > 0 &&
			  w->accepted->mix.max_lead_steps != w->config->mix.max_lead_steps)
		   << FEATURE_LEAD;
}

void
driver_play(const struct world *worlds, uint64_t seed, const struct driver_options *o,
    struct driver_result *out)
{
	struct run r = {.out = out, .turn_s = o->turn_s > 0 ? o->turn_s : TURN_S};
	const char *bad;

	memset(out, 0, sizeof(*out));
	stuck = o->stuck;
	signal(SIGALRM, end_turn);
	choose_actors(&r, o);
	prepare(&r, worlds, seed, o);
	checker_begin(r.w);
	while (!finished(&r) && !r.refused && out->problem[0] == '\0') {
		cluster->chance.actor = -1;
		look_around(&r);
		start_all(&r);
		turn(&r, choose(&r));
		bad = r.turns % WATCH_TURNS == 0 && r.gone == NULL && !is_inbox(&r)
			  ? checker_watch(r.w)
			  : NULL;
		if (bad != NULL)
			snprintf(out->problem, sizeof(out->problem), "%s", bad);
		if (++r.turns > TURNS_MAX || cluster->chance.calls_total > CALLS_ALL_MAX)
			problem(&r, 0, "and all others", "the run does not end");
	}
	end_all(&r);
	if (r.gone != NULL)
		end_absence(&r);
	cluster->scheduled = false;
	cluster->chance.actor = -1;
	if (out->problem[0] == '\0') {
		chance_wait(SETTLE_MS);
		bad = is_inbox(&r) ? checker_check_inbox(r.w)
		      : r.refused  ? checker_check_stopped(r.w)
				   : checker_check(r.w, r.produces);
		if (bad != NULL)
			snprintf(out->problem, sizeof(out->problem), "%s", bad);
	}
	if (is_inbox(&r) && o->trace)
		checker_trace_arrivals();
	out->features = out->problem[0] == '\0' && !is_inbox(&r) ? features_of(&r) : 0;
	out->mark = mark();
	out->calls = cluster->chance.calls_total;
	out->turns = r.turns;
	out->faults = cluster->chance.drawn;
	memcpy(out->fault, cluster->chance.count, sizeof(out->fault));
}
