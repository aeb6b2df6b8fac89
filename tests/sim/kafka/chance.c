#include "tests/sim/kafka/chance.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/sim/kafka/cluster.h"

enum {
	STOP_MS = 20000,
	SLOW_MS = 1000,
	REST_ROUNDS = 400,
	REST_MS = 10,
	EXIT_CRASHED = 99,
	EXIT_HANGS = 98
};

const char *const chance_name[CHANCE_FAULTS] = {
    [CHANCE_CRASH] = "crash",
    [CHANCE_STOP] = "process stopped for 20 s and more",
    [CHANCE_SLOW_CALL] = "slow call",
    [CHANCE_CONNECTION] = "connection lost",
    [CHANCE_ADMIN_TIMES_OUT] = "admin request timed out",
    [CHANCE_LEADER] = "leader changed",
    [CHANCE_FETCH_SLOW] = "fetch delayed",
    [CHANCE_QUEUE_FULL] = "producer's queue full",
    [CHANCE_PRODUCE_LATE] = "batch delayed",
    [CHANCE_PRODUCE_UNKNOWN] = "batch's answer lost",
    [CHANCE_PRODUCE_LOST] = "batch given up",
    [CHANCE_PRODUCER_FATAL] = "sequence numbers lost",
    [CHANCE_INIT_TIMES_OUT] = "InitProducerId's answer lost",
    [CHANCE_OFFSETS_REFUSED] = "transaction's offsets refused",
    [CHANCE_COMMIT_LATE] = "EndTxn applied late",
    [CHANCE_COMMIT_TWICE] = "EndTxn sent twice, the first late",
    [CHANCE_COMMIT_LOST] = "EndTxn lost",
    [CHANCE_COMMIT_UNKNOWN] = "EndTxn's answer lost",
    [CHANCE_MARKERS_LATE] = "markers delayed",
    [CHANCE_GROUP_LATE] = "group's commit delayed",
    [CHANCE_GROUP_UNKNOWN] = "group's commit, answer lost",
    [CHANCE_GROUP_REFUSED] = "group's commit refused",
    [CHANCE_EXPIRED] = "transaction ended by the coordinator",
    [CHANCE_RETENTION] = "log start moved",
    [CHANCE_DISK_FULL] = "log directory full",
    [CHANCE_FOLLOWER] = "follower lags",
    [CHANCE_COMMITS_GONE] = "commits deleted",
    [CHANCE_ID_EXPIRED] = "transactional id expired",
    [CHANCE_RECORDS_DELETED] = "records deleted",
    [CHANCE_CONTROL_MADE] = "control topic recreated",
    [CHANCE_TAIL_LOST] = "tail of a domain log lost",
    [CHANCE_LANE_CUT] = "tail of a lane lost",
    [CHANCE_LEDGER_CUT] = "tail of the ledger lost",
    [CHANCE_LEDGER_EMPTY] = "ledger emptied",
    [CHANCE_BATCHES_MADE] = "batch topic recreated",
    [CHANCE_PARTITIONS] = "partitions added",
    [CHANCE_SEEK] = "steps read again",
    [CHANCE_WORLD_SIZE] = "number of ranks changed",
    [CHANCE_RIVAL] = "second mixer started",
    [CHANCE_REQUEST] = "request while the mix runs",
    [CHANCE_ACCEPT] = "configuration changed",
    [CHANCE_MARKERS_NEVER] = "markers never written",
};

/* splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
uint64_t
chance_next(void)
{
	uint64_t z = cluster->chance.state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

uint64_t
chance_below(uint64_t n)
{
	return n == 0 ? 0 : chance_next() % n;
}

void
chance_trace(const char *format, ...)
{
	va_list ap;

	if (cluster == NULL || !cluster->chance.trace)
		return;
	printf("%10.3f s  %d  %5" PRIu64 "  ", (double)cluster->now_ms / 1000,
	    cluster->chance.actor, cluster->chance.calls);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void
chance_note(enum chance_fault fault, const char *where)
{
	cluster->chance.count[fault]++;
	chance_trace("FAULT %s: %s", chance_name[fault], where);
}

/* One that was drawn: it happens unless it is left out. */
static bool
happens(enum chance_fault fault, const char *where)
{
	struct chance *c = &cluster->chance;
	uint64_t n = c->drawn++;

	c->faults_left--;
	if (n < 64 && (c->without >> n & 1) != 0)
		return false;
	chance_note(fault, where);
	return true;
}

bool
chance_fault(enum chance_fault fault, const char *where)
{
	const struct chance *c = &cluster->chance;

	if (c->rate[fault] == 0 || c->faults_left <= 0 || chance_below(65536) >= c->rate[fault])
		return false;
	return happens(fault, where);
}

void
chance_stop(void)
{
	raise(SIGSTOP);
}

void (*chance_rest)(void) = chance_stop;
void (*chance_exit)(int status) = _exit;

/* Rests until the driver lets this process go on. */
static void
rest(void)
{
	if (cluster->scheduled)
		chance_rest();
}

static void
crash(const char *function)
{
	cluster->chance.crash_at = 0;
	if (happens(CHANCE_CRASH, function))
		chance_exit(EXIT_CRASHED);
}

/* Heartbeats of the process that runs. One whose session is over joins again, as another member. */
static void
beat(void)
{
	for (struct cluster_member *m = cluster->members; m != NULL; m = m->next) {
		if (m->process != cluster->chance.process)
			continue;
		if (!m->left && cluster->now_ms - m->seen_ms > m->session_ms)
			m->id = ++cluster->member_ids;
		m->seen_ms = cluster->now_ms;
	}
}

void
chance_call(const char *function, const char *what)
{
	struct chance *c;

	cluster_open(0);
	c = &cluster->chance;
	c->calls_total++;
	if (c->calls_max > 0 && c->calls >= c->calls_max) {
		chance_trace("HANGS at %s %s", function, what);
		chance_exit(EXIT_HANGS);
	}
	c->calls++;
	if (c->crash_at > 0 && c->calls >= c->crash_at)
		crash(function);
	if (chance_fault(CHANCE_STOP, function)) {
		cluster->now_ms += STOP_MS + (int64_t)chance_below(STOP_MS);
		cluster_tick();
		c->rounds = chance_below(REST_ROUNDS);
		rest();
	} else if (c->slice > 0 && c->calls % c->slice == 0) {
		rest();
	}
	if (chance_fault(CHANCE_SLOW_CALL, function))
		cluster->now_ms += (int64_t)chance_below(SLOW_MS);
	cluster->now_ms += (c->calls & 7) == 0;
	cluster_tick();
	beat();
	chance_trace("%s %s", function, what);
}

void
chance_wait(int64_t ms)
{
	int64_t until_ms = cluster->now_ms + ms;

	while (cluster->now_ms < until_ms) {
		int64_t next_ms = cluster_next_ms();

		if (next_ms <= cluster->now_ms || next_ms > until_ms)
			next_ms = until_ms;
		cluster->now_ms = next_ms;
		cluster_tick();
	}
	if (ms >= REST_MS || chance_below(4) == 0)
		rest();
}

/* ---- what the programs take from the system ---- */

int64_t
clock_ms(void)
{
	cluster_open(0);
	return cluster->now_ms;
}

int64_t
clock_wall_ms(void)
{
	return clock_ms();
}

void
clock_pause_ms(int64_t ms)
{
	chance_call("clock_pause_ms", "");
	chance_wait(ms);
}

/* Only people read it; with the clock it would bring the clock's file along. */
const char *
clock_span(char out[static CLOCK_SPAN_BYTES], int64_t ms)
{
	snprintf(out, CLOCK_SPAN_BYTES, "%" PRId64 " ms", ms);
	return out;
}

ssize_t
getrandom(void *bytes, size_t n, unsigned flags)
{
	uint8_t *to = bytes;

	(void)flags;
	cluster_open(0);
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)chance_next();
	return (ssize_t)n;
}
