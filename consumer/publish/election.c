#include "consumer/publish/election.h"

#include <assert.h>
#include <stdlib.h>

static const char *const state_name[] = {
    [ELECTION_WAITING] = "waiting",
    [ELECTION_CHOSEN] = "chosen",
    [ELECTION_LEADING] = "leading",
    [ELECTION_DOUBTED] = "doubted",
};

const char *
election_state_name(enum election_state state)
{
	assert(state <= ELECTION_DOUBTED);
	return state_name[state];
}

/* The only writer of the state. */
static void
enter(struct election *e, enum election_state state)
{
	bool before = e->state == ELECTION_WAITING || e->state == ELECTION_CHOSEN;

	assert(state != ELECTION_WAITING || before);
	assert(state != ELECTION_WAITING || e->standby);
	assert(before || state != ELECTION_CHOSEN);
	e->state = state;
}

void
election_init(struct election *e, bool standby)
{
	*e = (struct election){
	    .state = standby ? ELECTION_WAITING : ELECTION_CHOSEN, .standby = standby};
}

/* Before it has attached: a standby has its turn exactly while the group says so. */
static enum election_action
step_before(struct election *e, bool has)
{
	if (e->standby)
		enter(e, has ? ELECTION_CHOSEN : ELECTION_WAITING);
	return e->state == ELECTION_CHOSEN ? ELECTION_TAKE_OVER : ELECTION_WAIT;
}

/* The first look comes a second after the loss: most losses are a rebalance, over by then. */
static enum election_action
step_leading(struct election *e, bool has, int64_t now_ms)
{
	if (!has) {
		enter(e, ELECTION_DOUBTED);
		e->looked_ms = now_ms;
	}
	return ELECTION_GO_ON;
}

/* Having the partition again ends the doubt only together with a look. */
static enum election_action
step_doubted(struct election *e, bool has, int64_t now_ms)
{
	if (now_ms - e->looked_ms < ELECTION_LOOK_MS)
		return ELECTION_GO_ON;
	e->looked_ms = now_ms;
	if (has)
		enter(e, ELECTION_LEADING);
	return ELECTION_LOOK;
}

enum election_action
election_step(struct election *e, bool has, int64_t now_ms)
{
	switch (e->state) {
	case ELECTION_WAITING:
	case ELECTION_CHOSEN: return step_before(e, has);
	case ELECTION_LEADING: return step_leading(e, has, now_ms);
	case ELECTION_DOUBTED: return step_doubted(e, has, now_ms);
	}
	abort(); /* unreachable */
}

void
election_attached(struct election *e, int64_t now_ms)
{
	if (e->state == ELECTION_LEADING || e->state == ELECTION_DOUBTED)
		return;                                    /* attached again, after a failure */
	assert(e->state == ELECTION_CHOSEN || e->standby); /* its turn may have passed meanwhile */
	enter(e, ELECTION_DOUBTED);                        /* the group has not heard of it yet */
	e->looked_ms = now_ms;
}
