#include "consumer/publish/mix.h"

#include <assert.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "common/base/fault.h"
#include "common/base/limits.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "common/kafka/kafka_stats.h"
#include "common/kafka/topics.h"
#include "consumer/batches/lane_ends.h"
#include "consumer/derive/assembler.h"
#include "consumer/domain/domains.h"
#include "consumer/domain/feed.h"
#include "consumer/ledger/mix_loss.h"
#include "consumer/publish/attach.h"
#include "consumer/publish/control_requests.h"
#include "consumer/publish/election.h"
#include "consumer/publish/election_group.h"
#include "consumer/publish/lead.h"
#include "consumer/publish/lengths.h"
#include "consumer/publish/output.h"
#include "consumer/publish/standby.h"
#include "consumer/publish/wait_words.h"
#include "consumer/publish/worst_case.h"

enum {
	ASK_TIMEOUT_MS = 30000,
	FIRST_ANSWER_MS = 10000,
	LOSS_MS = 5000,      /* of a look for a lost topic, after another failure */
	LOG_MS = 10000,      /* between two lines on progress, and before a wait is explained */
	TURN_PAUSE_MS = 100, /* of a standby */
	GATHER_MS = 300,     /* waiting longer for blocks ends the open transaction first */
	LEAD_ASK_MS = 1000,  /* between two questions for the trainers' positions */
	/* The same while waiting for them, and the turn of such a wait: at first, at last. */
	LEAD_BLOCKED_MS = 20,
	LEAD_BLOCKED_MAX_MS = 500,
	LEAD_PAUSE_MS = 5,
	LEAD_PAUSE_MAX_MS = 100,
	WAIT_PARTS = 16, /* of a wait, that its next turn may last */
	LOOK_MS = 2000,  /* between two looks for another mixer, while nothing may be written */
	DRY_PAUSE_MS = 20,
	RECOVER_PAUSE_MS = 500,
	SETTLE_TRIES = 3,       /* brokers may end again as a hanging transaction is aborted */
	WARN_LANES = 16,        /* that are named, of those that do not end with the ledger */
	FENCED_WAIT_MS = 10000, /* for the START of whoever has fenced us */
};

struct mix {
	const struct mix_options *o;
	const struct config *config;
	rd_kafka_t *admin;
	struct election election;
	struct election_group *group;
	bool had_partition;   /* of the election, at the last look at the ledger */
	struct attach attach; /* the ledger, the plan, the reader */
	struct domains *domains;
	struct lengths lengths;
	struct lead *lead;
	struct control_requests *requests;
	struct feed *feed;
	struct output output;

	/* Attached: from attach() to detach(). */
	struct assembler *assembler;
	bool other_runs; /* at the start: an active mixer, on the host `other`, or one of several */
	char other[256];
	bool over; /* the ledger says END, or there is nothing to do beside another mixer */

	/* The loop's clock. */
	int64_t lead_asked_ms; /* last question for the trainers' positions */
	int64_t blocked_ms;    /* since when the lead is used up; 0: it is not */
	int64_t dry_ms;        /* since when a live domain is dry and waited for; 0: none is */
	struct log_reminder reminder; /* of either wait */
	int64_t looked_ms;            /* in either wait: last look for another mixer, */
	int64_t ends_ms;              /* and at the ends of the lanes; */
	bool ends_back;               /* one lay before what was written there */
	int64_t drew_ms;    /* the last step, or the last look at what was drawn before it */
	int64_t failing_ms; /* since when failures follow each other without progress; 0: none */
	int64_t began_ms;   /* the first step; 0: none yet */
	int64_t logged_ms;  /* progress, with what was published by then: */
	uint64_t logged_steps, logged_bytes;
	bool waited; /* tell_waits() */

	/* For metrics alone. */
	struct kafka_stats stats; /* of the handle that writes */
	uint64_t quarantined_total, recoveries_total, fencings_total;
	int64_t dry_total_ms[LIMIT_DOMAINS]; /* by the mixer's numbers, which never change */
	int64_t turn_ms; /* the last turn of a wait for trainers, or for a domain; 0: none waits */
};

/* The state behind the last step taken. Only while attached. */
static const struct mixer *
mixer_of(const struct mix *m)
{
	assert(m->assembler != NULL);
	return assembler_mixer(m->assembler);
}

static uint64_t
step_next(const struct mix *m)
{
	return mixer_step_next(mixer_of(m));
}

/* ---- metrics ---- */

/* Live domains: what each lent while it was dry, and how long it was waited for. */
static void
measure_live(const struct mix *m, struct metrics_text *t)
{
	static const enum metrics_id id[] = {
	    METRICS_MIXER_OWED, METRICS_MIXER_LENT, METRICS_MIXER_DRY};
	const struct mixer *mixer = mixer_of(m);

	for (size_t k = 0; k < sizeof(id) / sizeof(id[0]); k++)
		for (uint32_t d = 0; d < mixer_domains(mixer); d++) {
			struct mixer_standing s;

			mixer_stand(mixer, d, &s);
			const double value[] = {
			    (double)s.owed, (double)s.lent, (double)m->dry_total_ms[d] / 1000};

			if (s.live)
				metrics_number(t, id[k], value[k], m->config->mix.name,
				    mixer_domain_name(mixer, d));
		}
}

/* The state that is drawn by. */
static void
measure_mixer(const struct mix *m, struct metrics_text *t)
{
	const char *mix = m->config->mix.name;
	const struct mixer *mixer = mixer_of(m);

	metrics_count(t, METRICS_MIXER_STEP, (int64_t)step_next(m), mix, NULL);
	metrics_count(t, METRICS_MIXER_VERSION, (int64_t)mixer_version(mixer), mix, NULL);
	measure_live(m, t);
	for (size_t i = 0; i < lead_runs(m->lead); i++) {
		uint64_t step;
		const char *run = lead_run(m->lead, i, &step);

		metrics_count(
		    t, METRICS_MIXER_LEAD, (int64_t)step_next(m) - (int64_t)step, mix, run);
	}
}

/* What this process has done. */
static void
measure_process(const struct mix *m, struct metrics_text *t)
{
	const char *mix = m->config->mix.name;
	const struct output *o = &m->output;
	const struct {
		enum metrics_id id;
		uint64_t count;
	} total[] = {
	    {METRICS_MIXER_STEPS, o->steps_total},
	    {METRICS_MIXER_SEQUENCES, o->sequences_total},
	    {METRICS_MIXER_TOKENS, o->tokens_total},
	    {METRICS_MIXER_BYTES, o->bytes_total},
	    {METRICS_MIXER_COMMITTED, o->committed_total},
	    {METRICS_MIXER_ABORTED, o->aborted_total},
	    {METRICS_MIXER_DOUBT, o->in_doubt_total},
	    {METRICS_MIXER_QUARANTINED, m->quarantined_total},
	    {METRICS_MIXER_RECOVERIES, m->recoveries_total},
	    {METRICS_MIXER_FENCINGS, m->fencings_total},
	};

	for (size_t i = 0; i < sizeof(total) / sizeof(total[0]); i++)
		metrics_count(t, total[i].id, (int64_t)total[i].count, mix, NULL);
	metrics_histogram(t, METRICS_MIXER_SECONDS, &o->seconds, mix, NULL);
	for (size_t i = 0; m->lead != NULL && i < lead_runs(m->lead); i++) {
		uint64_t ignored;

		metrics_number(t, METRICS_MIXER_BLOCKED, (double)lead_blocked_ms(m->lead, i) / 1000,
		    mix, lead_run(m->lead, i, &ignored));
	}
	metrics_count(
	    t, METRICS_MIXER_BLOCKS, m->feed == NULL ? 0 : (int64_t)feed_bytes(m->feed), mix, NULL);
}

/* Leaves the metrics of now for whoever waits for them; called by every loop of this file. */
static void
measure(const struct mix *m)
{
	const struct kafka_stats *stats = &m->stats;
	struct metrics_text t = {0};
	bool attached = m->assembler != NULL;

	metrics_count(&t, METRICS_MIXER_ATTACHED, attached, m->config->mix.name, NULL);
	if (attached)
		measure_mixer(m, &t);
	measure_process(m, &t);
	kafka_stats_text(&t, &stats, 1, m->config->mix.name, NULL);
	metrics_board_put(m->o->board, &t);
}

/* How long this turn of a wait has lasted, ms; the first one begins. */
static int64_t
wait_turn_ms(struct mix *m, int64_t now)
{
	int64_t ms = m->turn_ms == 0 ? 0 : now - m->turn_ms;

	m->turn_ms = now;
	return ms;
}

/* ---- whose turn it is ---- */

/*
 * The group does not give us the partition, or did not for a while. That proves nothing: a session
 * may be lost and found again. The ledger tells whether another mixer has used the gap.
 */
static enum fail_code
look_for_another(struct mix *m, bool has, struct failure *f)
{
	if (m->had_partition && !has) /* warns each time that it is lost */
		log_warning("mix: MIX-ELECTION mix=%s: the election group has not given this mixer "
			    "its partition back: looking whether another has taken over",
		    m->config->mix.name);
	m->had_partition = has;
	return attach_still_ours(&m->attach, f);
}

/*
 * Takes part in the election; called by every loop of this file, at least every
 * ELECTION_POLL_MAX_MS.
 * FAIL_FENCED: another mixer has taken over. FAIL_BROKER: the user may not take part.
 */
static enum fail_code
elect(struct mix *m, struct failure *f)
{
	bool has;

	if (metrics_board_wanted(m->o->board))
		measure(m);
	if (election_group_poll(m->group, &has, f) != FAIL_NONE)
		return f->code;
	switch (election_step(&m->election, has, clock_ms())) {
	case ELECTION_WAIT:
	case ELECTION_TAKE_OVER:
	case ELECTION_GO_ON: return FAIL_NONE;
	case ELECTION_LOOK: return look_for_another(m, has, f);
	}
	return FAIL_NONE;
}

/* Before any wait that may be long. */
static void
tell_waits(struct mix *m)
{
	if (m->o->waits != NULL && !m->waited)
		m->o->waits(m->o->waits_opaque);
	m->waited = true;
}

/* A domains_stopped: takes part in the election while domains are waited for. */
static bool
stopped(void *mix)
{
	struct mix *m = mix;
	struct failure ignored; /* comes again when it matters */

	tell_waits(m);
	(void)elect(m, &ignored);
	return stop_asked(m->o->stop);
}

/*
 * Waits, as a standby, until it is this mixer's turn. FAIL_NONE with m->over: the mix has ended.
 * FAIL_STOPPED. FAIL_CONFIG: it could not take over.
 */
static enum fail_code
wait_turn(struct mix *m, struct failure *f)
{
	struct standby s;

	tell_waits(m);
	standby_init(&s, &m->attach);
	while (!stop_asked(m->o->stop)) {
		if (standby_follow(&s, &m->over, f) != FAIL_NONE || elect(m, f) != FAIL_NONE)
			return f->code;
		if (m->over) {
			log_info("mix: mix=%s ended before step=%" PRId64, m->config->mix.name,
			    s.step_next);
			return FAIL_NONE;
		}
		if (m->election.state == ELECTION_CHOSEN) {
			standby_log_turn(&s);
			return election_group_lead(m->group, f);
		}
		clock_pause_ms(TURN_PAUSE_MS);
	}
	return fail(f, FAIL_STOPPED, "stopped while waiting for the active mixer");
}

/* ---- opening and closing: what lasts as long as the run ---- */

/* Says of a domain in `full` order what that costs. A live one has not come to it yet. */
static void
log_full(const struct mix *m, const struct feed_piece *p, const char *name)
{
	uint64_t blocks = p->sequences / m->attach.plan.plan.block + 1;

	if (p->shuffle != MIX_SHUFFLE_FULL || p->live || p->sequences == 0)
		return;
	if (p->held)
		log_info("mix: domain=%s shuffle=full sequences=%" PRIu64 " held_bytes=%" PRIu64
			 " reads=%" PRIu64,
		    name, p->sequences, p->held_bytes, blocks);
	else
		log_warning("mix: MIX-FULL-READS domain=%s shuffle=full: a read for each of its "
			    "%" PRIu64 " sequences, %" PRIu64
			    " times as many as with shuffle: block; mix.memory of %" PRIu64
			    " MB would hold it, and read it once",
		    name, p->sequences, p->sequences / blocks,
		    (m->config->mix.memory_bytes + p->lacks_bytes) / 1000000 + 1);
}

/*
 * What the worst case leaves where the largest step has so many sequences, which requests may have
 * made more than the configuration says.
 */
static enum fail_code
find_room(
    const struct mix *m, uint32_t global_batch, struct worst_case_room *out, struct failure *f)
{
	struct config with = *m->config; /* borrows */

	with.mix.global_batch = global_batch;
	return worst_case_check(&with, m->domains, m->attach.plan.plan.block, out, f);
}

/* In which pieces each domain is read: [m->domains->n]. Gives *out (free). */
static enum fail_code
decide_pieces(struct mix *m, const struct mixer *mixer, struct feed_piece **out, struct failure *f)
{
	const struct domains *d = m->domains;
	uint32_t block = m->attach.plan.plan.block;
	struct worst_case_room room;
	struct feed_piece *piece;

	if (find_room(m, mixer_global_batch_most(mixer), &room, f) != FAIL_NONE)
		return f->code;
	piece = calloc(d->n + 1, sizeof(*piece));
	if (piece == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < d->n; i++) {
		const struct domains_facts *facts = &d->facts[i];

		piece[i] = (struct feed_piece){
		    .shuffle = facts->shuffle,
		    .live = facts->live,
		    .partitions_n = facts->partitions_n,
		    .sequences = facts->sequences_total,
		    .bytes = facts->sequences_total * facts->record_bytes,
		};
	}
	feed_pieces(piece, d->n, block, room.spare_bytes);
	*out = piece;
	return FAIL_NONE;
}

static enum fail_code
open_feed(struct mix *m, struct failure *f)
{
	uint32_t block = m->attach.plan.plan.block;
	struct worst_case_room room;
	struct feed_options o = {
	    .properties = &m->config->kafka,
	    .tokenizer = m->domains->tokenizer,
	    .block = block,
	};

	if (worst_case_check(m->config, m->domains, block, &room, f) != FAIL_NONE)
		return f->code;
	o.memory_bytes = room.blocks_bytes;
	for (size_t i = 0; i < m->domains->n; i++) {
		uint64_t bytes = block * m->domains->facts[i].record_bytes;

		o.block_bytes = bytes > o.block_bytes ? bytes : o.block_bytes;
	}
	return feed_open(&m->feed, &o, f);
}

/* Of all domains, or of one: whether its log is still the one that was drawn from. */
static enum fail_code
check_drawn(struct mix *m, const char *name, struct failure *f)
{
	return last_drawn_check(&m->output.drawn, m->domains, mixer_of(m), name, f);
}

/* A control_requests_join: what the topic of a domain that wants to join holds. */
static enum fail_code
look_at_joining(void *mix, const char *name, struct mixer_source *out, struct failure *f)
{
	struct mix *m = mix;
	struct domains *d = m->domains;
	const struct domains_facts *facts;
	struct worst_case_room ignored;
	int i = domains_named(d, name);

	if (i >= 0) {
		if (domains_ask(d, m->attach.reader, false, f) != FAIL_NONE ||
		    check_drawn(m, name, f) != FAIL_NONE)
			return f->code;
	} else {
		if (domains_add(d, m->attach.reader, name, false, f) != FAIL_NONE)
			return f->code;
		if (worst_case_check(m->config, d, m->attach.plan.plan.block, &ignored, f) !=
		    FAIL_NONE) {
			domains_drop_last(d);
			return f->code;
		}
		if (check_drawn(m, name, f) != FAIL_NONE) {
			domains_drop_last(d);
			return f->code;
		}
	}
	facts = &d->facts[domains_named(d, name)];
	*out = (struct mixer_source){
	    .name = facts->name,
	    .live = facts->live,
	    .partitions_n = facts->partitions_n,
	    .sequences = facts->sequences,
	    .sealed = facts->sealed,
	};
	return FAIL_NONE;
}

/*
 * A control_requests_batch: whether steps of that many sequences fit the topic of batches, and
 * mix.memory. What no mix can have is left to the mixer to refuse.
 */
static enum fail_code
look_at_batch(void *mix, uint32_t global_batch, struct failure *f)
{
	struct mix *m = mix;
	struct worst_case_room ignored;

	if (global_batch % m->config->mix.lanes != 0 || global_batch > LIMIT_BATCH)
		return FAIL_NONE;
	if (topics_check_batch(m->admin, m->config, global_batch, ASK_TIMEOUT_MS, f) != FAIL_NONE)
		return f->code;
	return find_room(m, global_batch, &ignored, f);
}

/* The feed's room beside the largest step that can come. FAIL_CONFIG: mix.memory is too small. */
static enum fail_code
fit_memory(struct mix *m, const struct mixer *mixer, struct failure *f)
{
	struct worst_case_room room;

	if (find_room(m, mixer_global_batch_most(mixer), &room, f) != FAIL_NONE)
		return f->code;
	feed_set_memory(m->feed, room.blocks_bytes);
	return FAIL_NONE;
}

/*
 * Waits for the Ends until ends_wait() tells it to stop. Compares each log with the ledger's
 * counts: a log that is shorter was lost.
 */
static enum fail_code
open_domains(struct mix *m, domains_stopped *ends_wait, struct failure *f)
{
	struct ledger last = {0};
	enum fail_code code = attach_last(&m->attach, &last, f);

	if (code == FAIL_NONE)
		code =
		    domains_open(&m->domains, m->attach.reader, m->config, &last, ends_wait, m, f);
	ledger_clear(&last);
	return code;
}

/*
 * Whether this configuration could continue the mix; nothing is written. *compared: the ledger has
 * a record, with which it was compared. Without the Ends of all domains it is not compared, because
 * that is no reason to wait.
 */
static enum fail_code
check_config(struct mix *m, bool *compared, struct failure *f)
{
	struct ledger last = {0};
	enum fail_code code = open_domains(m, NULL, f);

	*compared = false;
	if (code == FAIL_STOPPED)
		return FAIL_NONE;
	if (code == FAIL_NONE)
		code = attach_bind(&m->attach, m->domains, f);
	if (code == FAIL_NONE)
		code = attach_check(&m->attach, &last, compared, f);
	ledger_clear(&last);
	return code;
}

/*
 * A mixer that would publish nothing must not end one that does. A changed configuration that is to
 * be accepted is refused later, as no step follows.
 */
static enum fail_code
look_for_nothing_to_do(struct mix *m, struct failure *f)
{
	bool reached, compared;
	int64_t step;

	if (m->o->until_step == UINT64_MAX || m->o->ends || m->o->standby || m->o->accept_config ||
	    m->o->active == NULL)
		return FAIL_NONE;
	if (attach_reached(&m->attach, &reached, &step, f) != FAIL_NONE)
		return f->code;
	m->over = reached && m->other_runs;
	if (!m->over)
		return FAIL_NONE;
	if (check_config(m, &compared, f) != FAIL_NONE)
		return f->code;
	log_info("mix: mix=%s step=%" PRId64 ": --until-step %" PRIu64
		 " is reached, and another mixer is active on %s, or was within the last %d s: "
		 "nothing to do",
	    m->config->mix.name, step, m->o->until_step, m->other, KAFKA_GROUPS_SESSION_MS / 1000);
	return FAIL_NONE;
}

/* Before this one joins the election. A standby does not take over from one that runs. */
static enum fail_code
look_for_other(struct mix *m, struct failure *f)
{
	m->other_runs = !m->o->standby && m->o->active != NULL &&
			m->o->active(m->config, m->other, sizeof(m->other));
	return look_for_nothing_to_do(m, f);
}

/*
 * Topics that are missing, or not as they should be, may be signs of a lost one: creating it, or
 * changing its settings, would not be enough. Or the configuration differs from the mix's: once it
 * is set back, the topics are as they should be. With --accept-config, comparing would ask the
 * user.
 */
static enum fail_code
check_topics(struct mix *m, struct topics_use use, struct failure *f)
{
	enum fail_code code = topics_check(m->admin, m->config, use, ASK_TIMEOUT_MS, f);
	struct failure lost, differs;
	enum mix_loss loss;
	bool compared;

	if (code == FAIL_NONE)
		return FAIL_NONE;
	if (mix_loss_check(m->attach.reader, m->config->mix.name, &loss, true, LOSS_MS, &lost) ==
		FAIL_DATA &&
	    loss != MIX_LOSS_RECORDS)
		*f = lost;
	else if (!m->o->accept_config && check_config(m, &compared, &differs) == FAIL_CONFIG &&
		 compared)
		*f = differs;
	return f->code;
}

static enum fail_code
open_all(struct mix *m, struct failure *f)
{
	const struct config *c = m->config;
	struct kafka_options k = {
	    .role = KAFKA_ADMIN, .properties = &c->kafka, .client = "mix-admin"};
	struct topics_use use = {
	    .read = 1U << TOPIC_DOMAIN | 1U << TOPIC_CONTROL | 1U << TOPIC_LANES,
	    .written = 1U << TOPIC_REJECTS | 1U << TOPIC_BATCHES | 1U << TOPIC_LEDGER};
	const struct control_requests_judges judges = {look_at_joining, look_at_batch, m};
	const struct attach_accept accept = {.accept = m->o->accept_config,
	    .until_step = m->o->until_step,
	    .ends = m->o->ends,
	    .confirm = m->o->confirm,
	    .opaque = m->o->confirm_opaque};

	if (kafka_open(&m->admin, &k, f) != FAIL_NONE ||
	    kafka_wait_broker(m->admin, FIRST_ANSWER_MS, f) != FAIL_NONE ||
	    attach_open(&m->attach, c, &accept, f) != FAIL_NONE ||
	    check_topics(m, use, f) != FAIL_NONE || look_for_other(m, f) != FAIL_NONE)
		return f->code;
	if (m->over)
		return FAIL_NONE;
	if (election_group_join(&m->group, c->mix.name, &c->kafka, m->o->standby, f) != FAIL_NONE ||
	    open_domains(m, stopped, f) != FAIL_NONE ||
	    attach_bind(&m->attach, m->domains, f) != FAIL_NONE || open_feed(m, f) != FAIL_NONE ||
	    lead_open(&m->lead, c, f) != FAIL_NONE ||
	    control_requests_open(&m->requests, c->mix.name, &c->kafka, m->lead, &judges, f) !=
		FAIL_NONE)
		return f->code;
	output_init(&m->output, &(struct output_source){
				    .config = c,
				    .config_text = m->attach.config_text,
				    .schedule = m->attach.schedule,
				    .mixer_id = m->attach.claim.mixer,
				    .domains = m->domains,
				    .lead = m->lead,
				    .stats = m->o->board == NULL ? NULL : &m->stats,
				});
	return lead_ask(m->lead, f);
}

/* Lets go of the mixer's state and of what is not committed. Detached already: nothing to do. */
static void
detach(struct mix *m)
{
	output_close(&m->output);
	assembler_close(m->assembler);
	m->assembler = NULL;
}

static void
close_all(struct mix *m)
{
	detach(m);
	election_group_close(m->group); /* hands over to a standby: all is committed */
	control_requests_close(m->requests);
	lead_close(m->lead);
	feed_close(m->feed);
	domains_close(m->domains);
	attach_close(&m->attach);
	kafka_close(m->admin);
}

/* ---- committing, and the answers to requests ---- */

static enum fail_code
commit_open(struct mix *m, struct failure *f)
{
	if (!m->output.open)
		return FAIL_NONE;
	if (output_commit(&m->output, mixer_of(m), LEDGER_STEPS, f) != FAIL_NONE)
		return f->code;
	m->failing_ms = 0;
	return FAIL_NONE;
}

/*
 * Tells the feed of the mixer's domains that it does not know yet: it numbers them as the mixer
 * does. One that has left the mix has no facts, and is not drawn from.
 */
static enum fail_code
tell_feed(struct mix *m, const struct mixer *mixer, struct failure *f)
{
	struct feed_piece *piece = NULL;
	enum fail_code code = FAIL_NONE;
	uint32_t d = (uint32_t)feed_domains(m->feed);

	if (d < mixer_domains(mixer))
		code = decide_pieces(m, mixer, &piece, f);
	for (; code == FAIL_NONE && d < mixer_domains(mixer); d++) {
		const char *name = mixer_domain_name(mixer, d);
		int i = domains_named(m->domains, name);
		char topic[TOPIC_MAX_BYTES + 1];

		names_domain_topic(topic, m->config->corpus, name, SET_TRAIN);
		code = feed_add_domain(m->feed, topic, mixer_partitions(mixer, d),
		    i < 0 ? 1 : m->domains->facts[i].record_bytes, f);
		if (code == FAIL_NONE && i >= 0) {
			log_full(m, &piece[i], name);
			code = feed_read_as(m->feed, d, &piece[i], f);
		}
	}
	free(piece);
	return code;
}

/* Answers what waits, in a transaction of its own; only while no other is open. */
static enum fail_code
answer(struct mix *m, struct failure *f)
{
	if (control_requests_judge(m->requests, assembler_change(m->assembler), &m->output, f) !=
	    FAIL_NONE)
		return f->code;
	fault_point("mix.before_answer");
	if (tell_feed(m, mixer_of(m), f) != FAIL_NONE ||
	    fit_memory(m, mixer_of(m), f) != FAIL_NONE ||
	    output_commit(&m->output, mixer_of(m), LEDGER_STEPS, f) != FAIL_NONE)
		return f->code;
	fault_point("mix.after_answer");
	return FAIL_NONE;
}

/* Answers all that was asked before the mixer attached. */
static enum fail_code
answer_old(struct mix *m, struct failure *f)
{
	for (;;) {
		bool waits;

		if (control_requests_catch_up(m->requests, m->o->stop, &waits, f) != FAIL_NONE)
			return f->code;
		if (!waits)
			return FAIL_NONE;
		if (elect(m, f) != FAIL_NONE || answer(m, f) != FAIL_NONE)
			return f->code;
	}
}

/* Answers what was asked since, between two transactions: the open one ends first. */
static enum fail_code
answer_new(struct mix *m, struct failure *f)
{
	bool waits;

	if (control_requests_wait(m->requests, &waits, f) != FAIL_NONE)
		return f->code;
	if (!waits)
		return FAIL_NONE;
	if (commit_open(m, f) != FAIL_NONE || answer(m, f) != FAIL_NONE)
		return f->code;
	m->failing_ms = 0;
	return FAIL_NONE;
}

/* ---- attaching (attach.h has the order of these steps, claim.h the races) ---- */

/* An assembler_quarantined: a bad sequence becomes a dead letter of the next transaction. */
static void
keep_quarantined(void *mix, const struct mixer_draw *draw, const struct feed_block_record *record)
{
	struct mix *m = mix;
	const char *name = mixer_domain_name(mixer_of(m), draw->domain);
	char topic[TOPIC_MAX_BYTES + 1];
	struct transactions_reject letter = {
	    .topic = topic,
	    .partition = (int32_t)draw->partition,
	    .offset = record->offset,
	    .domain = name,
	    .ordinal = draw->ordinal,
	    .reason = record->reason,
	    .bytes = record->bytes,
	    .n = record->bytes_n,
	};

	m->quarantined_total++;
	log_warning("mix: MIX-QUARANTINE domain=%s partition=%" PRIu32 " ordinal=%" PRIu64 ": %s",
	    name, draw->partition, draw->ordinal, record->reason);
	names_domain_topic(topic, m->config->corpus, name, SET_TRAIN);
	dead_letters_keep(&m->output.letters, &letter);
}

static void
warn_lanes(const struct mix *m, const struct lane_end *end, uint32_t lanes, int64_t ledger_next)
{
	uint32_t warned = 0;

	for (uint32_t i = 0; i < lanes && warned < WARN_LANES; i++)
		if (end[i].state != LANE_ENDS_LEVEL) {
			log_warning("mix: MIX-LANE-END mix=%s lane=%" PRIu32 " step_next=%" PRIu64
				    " ledger_next=%" PRId64,
			    m->config->mix.name, i, end[i].next, ledger_next);
			warned++;
		}
}

/*
 * A log that seems damaged, as *f says, may be one that another mixer writes which has taken over:
 * one that lost its handle to ours, and opened another, writes no second START.
 */
static enum fail_code
damaged_or_fenced(struct mix *m, struct failure *f)
{
	struct failure fenced;

	if (output_check_owner(&m->output, &fenced) != FAIL_NONE)
		*f = fenced;
	return f->code;
}

/* The lanes end with the ledger, and whatever is written to them comes behind that. */
static enum fail_code
compare_lanes(struct mix *m, const struct ledger *last, struct failure *f)
{
	struct lane_end *end;
	uint32_t lanes;
	enum fail_code code = attach_compare(&m->attach, last, &end, &lanes, f);

	if (code == FAIL_DATA)
		code = damaged_or_fenced(m, f);
	if (code == FAIL_DATA && end != NULL)
		warn_lanes(m, end, lanes, last->step_next);
	for (uint32_t i = 0; code == FAIL_NONE && i < lanes; i++)
		output_expect(&m->output, i, end[i].high);
	if (code == FAIL_NONE)
		output_expect_ledger(&m->output, m->attach.ledger_end);
	free(end);
	return code;
}

/* Gives *mixer in the state of the logs, NULL after a failure. FAIL_DATA: they are damaged. */
static enum fail_code
take_state(struct mix *m, struct mixer **mixer, struct failure *f)
{
	struct ledger last = {0};
	bool found;
	enum fail_code code = attach_look(&m->attach, &last, &found, f);

	if (code == FAIL_NONE && found)
		code = compare_lanes(m, &last, f);
	if (code == FAIL_NONE) {
		code = attach_take(&m->attach, m->lead, &last, found, mixer, &m->over, f);
		if (code == FAIL_DATA && !found)
			code = damaged_or_fenced(m, f);
	}
	ledger_clear(&last);
	if (code != FAIL_NONE) {
		mixer_close(*mixer);
		*mixer = NULL;
	}
	return code;
}

/* The same, once more where only transactions that nobody ended made the logs look damaged. */
static enum fail_code
take_settled_state(struct mix *m, struct mixer **mixer, struct failure *f)
{
	enum fail_code code = take_state(m, mixer, f);

	for (int tries = 0; code == FAIL_DATA && tries < SETTLE_TRIES; tries++) {
		struct failure other;
		bool settled;

		code = attach_settle(&m->attach, m->output.transactions, &settled, &other);
		if (code != FAIL_NONE && code != FAIL_DATA) {
			*f = other;
			return code;
		}
		if (!settled)
			return f->code; /* what was found first */
		code = take_state(m, mixer, f);
	}
	return code;
}

/* From the ledger to an assembler. After a failure detach() is due. */
static enum fail_code
open_state(struct mix *m, struct failure *f)
{
	struct ledger last = {0};
	struct mixer *mixer = NULL;
	bool found;
	enum fail_code code = attach_check(&m->attach, &last, &found, f);

	ledger_clear(&last);
	if (code == FAIL_NONE)
		code = output_open(&m->output, f);
	/* Only now is every earlier transaction decided, and the ledger's end final. */
	if (code == FAIL_NONE)
		code = take_settled_state(m, &mixer, f);
	if (code == FAIL_NONE) {
		output_resume(&m->output, &m->attach.drawn);
		code = tell_feed(m, mixer, f);
	}
	if (code == FAIL_NONE)
		code = fit_memory(m, mixer, f);
	if (code == FAIL_NONE)
		code = assembler_open(&m->assembler, mixer, m->feed, keep_quarantined, m, f);
	if (code != FAIL_NONE)
		mixer_close(mixer);
	return code;
}

/*
 * The first time it writes START; later a START of another mixer is FAIL_FENCED. What stands in the
 * control topic is answered before the first step.
 */
static enum fail_code
attach(struct mix *m, struct failure *f)
{
	int64_t control;
	uint64_t step;

	assert(m->assembler == NULL);
	if (open_state(m, f) != FAIL_NONE)
		return f->code;
	step = step_next(m);
	if (m->over) {
		log_info("mix: mix=%s ended before step=%" PRIu64, m->config->mix.name, step);
		return FAIL_NONE;
	}
	if (control_requests_attach(m->requests, mixer_of(m), f) != FAIL_NONE)
		return f->code;
	/* Of a recreated topic nothing is answered, and START says so for the next mixer. */
	control = control_requests_next(m->requests);
	if (control != mixer_control_next(mixer_of(m)))
		mixer_set_control_next(assembler_change(m->assembler), control);
	if (!m->attach.claim.started &&
	    output_commit(&m->output, mixer_of(m), LEDGER_START, f) != FAIL_NONE)
		return f->code;
	if (!m->attach.claim.started && m->other_runs && m->attach.claim.seen != 0)
		log_warning("mix: MIX-TAKEOVER mix=%s: took over from mixer %016" PRIx64
			    " on %s, which ends with 3 if it still runs. `riffle mix --standby` "
			    "waits for its turn instead",
		    m->config->mix.name, m->attach.claim.seen, m->other);
	attach_started(&m->attach);
	m->drew_ms = m->ends_ms = clock_ms();
	m->ends_back = false;
	election_attached(&m->election, m->drew_ms);
	log_info("mix: mix=%s step=%" PRIu64 " version=%" PRIu64 " mixer=%016" PRIx64,
	    m->config->mix.name, step, mixer_version(mixer_of(m)), m->attach.claim.mixer);
	return answer_old(m, f);
}

/* ---- one step, or a wait for it ---- */

/*
 * How long a turn of the wait for trainers may last. A mixer that has waited for long is in no
 * hurry: what ends its wait it sees a WAIT_PARTS-th later than it could have, and one of many that
 * wait costs next to nothing.
 */
static int64_t
turn_ms(const struct mix *m, int64_t now, int64_t least, int64_t most)
{
	int64_t ms = m->blocked_ms == 0 ? 0 : (now - m->blocked_ms) / WAIT_PARTS;

	return ms < least ? least : ms > most ? most : ms;
}

/* Asks for the trainers' positions when it is time. *blocked: the next step must wait for them. */
static enum fail_code
check_lead(struct mix *m, bool *blocked, struct failure *f)
{
	int64_t now = clock_ms();
	bool waits = step_next(m) >= lead_limit(m->lead);

	if (now - m->lead_asked_ms >=
	    (waits ? turn_ms(m, now, LEAD_BLOCKED_MS, LEAD_BLOCKED_MAX_MS) : LEAD_ASK_MS)) {
		if (lead_ask(m->lead, f) != FAIL_NONE)
			return f->code;
		m->lead_asked_ms = now;
		waits = step_next(m) >= lead_limit(m->lead);
	}
	*blocked = waits;
	if (!waits)
		m->blocked_ms = 0;
	if (!waits && m->dry_ms == 0)
		m->turn_ms = 0;
	return FAIL_NONE;
}

/*
 * A mixer that writes hears where its records were delivered. One that waits would not learn that
 * lanes have lost their ends, or that their topic was recreated; and as the trainers' commits went
 * with the topic, nothing would ever end its wait. Once is no proof: a new leader believes in an
 * earlier end at first. What it is, attaching again finds out.
 */
static enum fail_code
look_at_ends(struct mix *m, int64_t now, struct failure *f)
{
	bool before = m->ends_back;
	enum fail_code code;
	int64_t *end;

	if (now - m->ends_ms < LOG_MS)
		return FAIL_NONE;
	m->ends_ms = now;
	code = attach_ends(&m->attach, &end, f);
	if (code == FAIL_NONE) {
		code = output_check_ends(&m->output, end, f);
		m->ends_back = code != FAIL_NONE;
		code = before ? code : FAIL_NONE;
	}
	free(end);
	return code;
}

/*
 * A mixer that writes learns from its handle that another has taken over. One that waits writes
 * nothing, and may keep its place in the election: it looks into the ledger. (Another that ended
 * the mix moves no trainer any more, so that nothing else would tell this one.)
 */
static enum fail_code
look_while_waiting(struct mix *m, struct failure *f)
{
	int64_t now = clock_ms();

	if (now - m->looked_ms < LOOK_MS)
		return FAIL_NONE;
	m->looked_ms = now;
	if (attach_still_ours(&m->attach, f) != FAIL_NONE)
		return f->code;
	return look_at_ends(m, now, f);
}

/*
 * After a wait: a domain topic may have been recreated meanwhile, with the length that it had. In
 * the midst of work that is seen, as the topic is gone for a while.
 */
static enum fail_code
look_after_wait(struct mix *m, struct failure *f)
{
	int64_t now = clock_ms();

	if (m->output.open || now - m->drew_ms < LOG_MS)
		return FAIL_NONE;
	m->drew_ms = now;
	return check_drawn(m, NULL, f);
}

/* Whether to warn of a wait that begins now if *since_ms is 0: after a while, then every minute. */
static bool
warn_of_wait(struct mix *m, int64_t *since_ms, int64_t now)
{
	if (*since_ms == 0) {
		*since_ms = now;
		m->reminder = (struct log_reminder){0};
	}
	return log_reminder_due(&m->reminder, now, LOG_MS);
}

/* Names every run that the mixer waits for, and what to type. */
static void
warn_of_lead(const struct mix *m)
{
	size_t n = lead_runs(m->lead);
	struct wait_words_run *run = calloc(n + 1, sizeof(*run));
	char *words = NULL;

	for (size_t i = 0; run != NULL && i < n; i++) {
		run[i].name = lead_run(m->lead, i, &run[i].step);
		run[i].committed = lead_committed(m->lead, i);
		run[i].apart = lead_apart(m->lead, i);
	}
	if (run != NULL)
		words = wait_words_lead(run, n, step_next(m), m->config->mix.max_lead_steps);
	if (words != NULL)
		log_warning("mix: MIX-LEAD waiting for %s", words);
	free(words);
	free(run);
}

/*
 * Reads ahead, so that the next step is there when the trainers are. Where they take long, the room
 * that this takes is given back: of many mixes most may wait.
 */
static enum fail_code
read_ahead(struct mix *m, int64_t waited_ms, int64_t pause_ms, struct failure *f)
{
	uint64_t before = feed_bytes(m->feed);

	if (waited_ms < LOG_MS)
		return assembler_idle(m->assembler, (int)pause_ms, f);
	if (assembler_rest(m->assembler, (int)pause_ms, f) != FAIL_NONE)
		return f->code;
	if (feed_bytes(m->feed) < before)
		malloc_trim(0);
	return FAIL_NONE;
}

/* Nothing may be published: commits what is open, reads ahead, and warns after a while for whom. */
static enum fail_code
wait_for_trainers(struct mix *m, struct failure *f)
{
	int64_t now = clock_ms(), pause_ms;

	if (commit_open(m, f) != FAIL_NONE || look_while_waiting(m, f) != FAIL_NONE)
		return f->code;
	lead_blocked(m->lead, wait_turn_ms(m, now));
	m->failing_ms = 0; /* waiting is no failure to recover from */
	output_serve(&m->output);
	tell_waits(m);
	if (warn_of_wait(m, &m->blocked_ms, now))
		warn_of_lead(m);
	pause_ms = turn_ms(m, now, LEAD_PAUSE_MS, LEAD_PAUSE_MAX_MS);
	if (read_ahead(m, now - m->blocked_ms, pause_ms, f) != FAIL_NONE)
		return f->code;
	clock_pause_ms(pause_ms);
	return FAIL_NONE;
}

/*
 * The next step needs what a live domain with `on_dry: wait` does not have yet. The commit matters:
 * only the next transaction has new lengths, by which the domain may be dry no longer.
 */
static enum fail_code
wait_for_domain(struct mix *m, struct failure *f)
{
	const struct mixer_draw *d = assembler_dry(m->assembler);
	int64_t now = clock_ms();

	if (commit_open(m, f) != FAIL_NONE || look_while_waiting(m, f) != FAIL_NONE)
		return f->code;
	m->failing_ms = 0;
	output_serve(&m->output);
	m->dry_total_ms[d->domain] += wait_turn_ms(m, now);
	tell_waits(m);
	if (warn_of_wait(m, &m->dry_ms, now))
		log_warning("mix: MIX-DRY waiting for domain=%s partition=%" PRIu32
			    " ordinal=%" PRIu64 " at step=%" PRIu64
			    ": `riffle produce %s --follow` writes it",
		    mixer_domain_name(mixer_of(m), d->domain), d->partition, d->ordinal,
		    step_next(m), mixer_domain_name(mixer_of(m), d->domain));
	clock_pause_ms(DRY_PAUSE_MS);
	return FAIL_NONE;
}

/*
 * Takes and publishes one step, or none where its sequences do not come: the loop's next turn tries
 * again, after whatever else is due. *ended: the mix is over, and there is none.
 */
static enum fail_code
take_step(struct mix *m, bool *ended, struct failure *f)
{
	struct assembled step;
	enum fail_code code = assembler_next(m->assembler, GATHER_MS, &step, ended, f);

	if (code == FAIL_TIMEOUT && assembler_dry(m->assembler) != NULL)
		return wait_for_domain(m, f);
	if (code == FAIL_TIMEOUT) /* a transaction must not be open for long */
		return commit_open(m, f);
	if (code != FAIL_NONE || *ended)
		return code;
	m->dry_ms = m->turn_ms = 0;
	m->drew_ms = clock_ms();
	if (m->began_ms == 0)
		m->began_ms = m->drew_ms;
	code = output_step(&m->output, mixer_of(m), &step, f);
	assembler_release(m->assembler);
	return code;
}

/* ---- the loop ---- */

/* Live domains whose draws others took, and what they are owed. */
static void
log_lends(const struct mixer *m)
{
	for (uint32_t d = 0; d < mixer_domains(m); d++) {
		struct mixer_standing s;

		mixer_stand(m, d, &s);
		if (s.owed > 0)
			log_warning("mix: MIX-LEND domain=%s owed=%" PRId64
				    " draws were lent to others while it was dry",
			    mixer_domain_name(m, d), s.owed);
	}
}

static void
log_progress(struct mix *m)
{
	int64_t now = clock_ms(), passed = now - m->logged_ms;
	uint64_t slowest, lead;
	bool waits = m->blocked_ms != 0 || m->dry_ms != 0;

	if (passed < LOG_MS || (waits && m->output.steps_total == m->logged_steps))
		return; /* of a wait, warn_of_wait() speaks */
	lead_slowest(m->lead, &slowest);
	lead = step_next(m) > slowest ? step_next(m) - slowest : 0;
	log_info("mix: step=%" PRIu64 " steps_per_s=%.1f mb_per_s=%.1f lead=%" PRIu64
		 " blocks_mb=%.0f",
	    step_next(m), (double)(m->output.steps_total - m->logged_steps) * 1000 / (double)passed,
	    (double)(m->output.bytes_total - m->logged_bytes) / 1000 / (double)passed, lead,
	    (double)feed_bytes(m->feed) / 1e6);
	log_lends(mixer_of(m));
	m->logged_ms = now;
	m->logged_steps = m->output.steps_total;
	m->logged_bytes = m->output.bytes_total;
}

static void
log_end(const struct mix *m, const char *how, bool ended)
{
	double seconds = m->began_ms == 0 ? 0 : (double)(clock_ms() - m->began_ms) / 1000;
	char next[64] = "";

	if (!ended)
		snprintf(
		    next, sizeof(next), ": `riffle mix` continues at step %" PRIu64, step_next(m));
	log_info("mix: mix=%s %s before step=%" PRIu64 " steps=%" PRIu64 " mb=%.1f seconds=%.3f%s",
	    m->config->mix.name, how, step_next(m), m->output.steps_total,
	    (double)m->output.bytes_total / 1e6, seconds, next);
}

/*
 * A mix that is over before its first step has nothing for a trainer: its domains are empty, or too
 * small. Their lengths are in the ledger already, for all of epoch 0.
 */
static enum fail_code
fail_empty(const struct mix *m, struct failure *f)
{
	const struct domains_facts *smallest = &m->domains->facts[0];
	uint64_t total = 0;

	for (size_t i = 0; i < m->domains->n; i++) {
		const struct domains_facts *d = &m->domains->facts[i];

		total += d->sequences_total;
		if (d->sequences_total < smallest->sequences_total)
			smallest = d;
	}
	return fail(f, FAIL_DATA,
	    "mix %s would end before its first step, which takes %" PRIu32
	    " sequences: its domains have %" PRIu64 ", domain %s %" PRIu64
	    ". Publish more (`riffle produce --append`) and begin the mix again (`riffle topics "
	    "--delete --mix --create`), or change on_end, max_epochs or mix.global_batch",
	    m->config->mix.name, mixer_global_batch_most(mixer_of(m)), total, smallest->name,
	    smallest->sequences_total);
}

/*
 * Runs until done (*done), a failure, or a stop. Why a turn has this order:
 *
 *     - the election first, in every turn: all else may wait for a broker;
 *     - requests before the lead: a mixer that waits for its trainers still answers;
 *     - the lead before lengths and steps: a step beyond it is not even drawn;
 *     - lengths only where no transaction is open (lengths.h).
 *
 * What ends it: a stop and --until-step commit what is open and can be resumed; the end of the mix,
 * by a domain or by --end-at-step, is published. In each case readers see it before the program
 * exits.
 */
static enum fail_code
run(struct mix *m, bool *done, struct failure *f)
{
	bool blocked = false, ended = false;

	while (!stop_asked(m->o->stop) && !ended && step_next(m) < m->o->until_step) {
		log_progress(m);
		if (elect(m, f) != FAIL_NONE || answer_new(m, f) != FAIL_NONE ||
		    check_lead(m, &blocked, f) != FAIL_NONE)
			return f->code;
		if (blocked) {
			if (wait_for_trainers(m, f) != FAIL_NONE)
				return f->code;
			continue;
		}
		if (look_after_wait(m, f) != FAIL_NONE)
			return f->code;
		if (!m->output.open && lengths_ask(&m->lengths, m->domains, m->attach.reader,
					   m->assembler, f) != FAIL_NONE)
			return f->code;
		if (take_step(m, &ended, f) != FAIL_NONE)
			return f->code;
		if (output_full(&m->output) && commit_open(m, f) != FAIL_NONE)
			return f->code;
	}
	if (ended && step_next(m) == 0)
		return fail_empty(m, f);
	ended = ended || (m->o->ends && step_next(m) == m->o->until_step);
	if (ended ? output_end(&m->output, mixer_of(m), f) != FAIL_NONE
		  : commit_open(m, f) != FAIL_NONE)
		return f->code;
	if (attach_wait_visible(&m->attach, step_next(m), f) != FAIL_NONE)
		return f->code;
	*done = true;
	log_end(m, ended ? "ended" : stop_asked(m->o->stop) ? "stopped" : "paused", ended);
	return FAIL_NONE;
}

/* ---- doubt ---- */

/* Whether a failure may pass: the broker's, and a fencing that may be only a time-out. */
static bool
recoverable(enum fail_code code)
{
	return code == FAIL_BROKER || code == FAIL_TIMEOUT || code == FAIL_FENCED;
}

/*
 * Attaches again after a failure, for MIX_RECOVER_MS at most without a commit in between.
 *
 *     1. Everything in memory is dropped: the outcome of the last transaction is unknown, and only
 *        the ledger tells it. The reader is replaced, too (attach_renew_reader()).
 *     2. Every half second: the election is polled, as it must be. A standby whose turn has passed
 *        to another before it attached waits for its next turn, however long that takes.
 *     3. When fenced, whoever did it needs a moment to write its START: it is waited for, so that
 *        two mixers do not fence each other in turn. If it comes, this mixer is the older one, and
 *        ends.
 *     4. Else it attaches. A failure in that counts like the first one; when fenced once more, it
 *        looks for another's START at once, and then waits as in step 3.
 */
static enum fail_code
recover(struct mix *m, struct failure *f)
{
	int64_t resume_ms = clock_ms() + (f->code == FAIL_FENCED ? FENCED_WAIT_MS : 0);
	struct log_reminder reminder = {0};
	struct failure said = *f;

	if (m->failing_ms == 0)
		m->failing_ms = clock_ms();
	if (clock_ms() - m->failing_ms >= MIX_RECOVER_MS)
		return f->code;
	log_warning("mix: MIX-RECOVER %s", f->text);
	m->recoveries_total++;
	m->fencings_total += f->code == FAIL_FENCED;
	m->turn_ms = 0;
	detach(m);
	if (attach_renew_reader(&m->attach, f) != FAIL_NONE)
		return f->code;
	while (!stop_asked(m->o->stop)) {
		clock_pause_ms(RECOVER_PAUSE_MS);
		if (elect(m, f) == FAIL_FENCED)
			return f->code;
		if (m->election.state == ELECTION_WAITING) { /* the turn passed to another */
			m->failing_ms = clock_ms();
			continue;
		}
		if (clock_ms() < resume_ms) {
			if (attach_still_ours(&m->attach, f) == FAIL_FENCED)
				return f->code;
			continue;
		}
		if (attach(m, f) == FAIL_NONE)
			return FAIL_NONE;
		detach(m);
		if (f->code == FAIL_FENCED)
			resume_ms = clock_ms() + FENCED_WAIT_MS;
		if (!recoverable(f->code) ||
		    (f->code == FAIL_FENCED && attach_still_ours(&m->attach, f) == FAIL_FENCED) ||
		    clock_ms() - m->failing_ms >= MIX_RECOVER_MS)
			return f->code;
		if (log_reminder_due(&reminder, clock_ms(), LOG_REMINDER_MS) ||
		    strcmp(f->text, said.text) != 0)
			log_warning("mix: MIX-RECOVER %s", f->text);
		said = *f;
		if (attach_renew_reader(&m->attach, f) != FAIL_NONE)
			return f->code;
	}
	return fail(f, FAIL_STOPPED, "stopped while recovering");
}

/*
 * A standby attaches when its turn has come. It does not give up where the broker died together
 * with the active mixer.
 */
static enum fail_code
take_turn(struct mix *m, struct failure *f)
{
	enum fail_code code = wait_turn(m, f);

	if (code != FAIL_NONE || m->over)
		return code;
	code = attach(m, f);
	return code == FAIL_BROKER || code == FAIL_TIMEOUT ? recover(m, f) : code;
}

/* A first transaction that timed out looks like that of a fenced mixer: the ledger tells. */
static enum fail_code
attach_first(struct mix *m, struct failure *f)
{
	enum fail_code code = m->o->standby ? take_turn(m, f) : attach(m, f);

	return code == FAIL_FENCED && m->attach.claim.looked ? recover(m, f) : code;
}

/* ---- all of it ---- */

enum fail_code
mix_run(const struct mix_options *o, struct failure *f)
{
	struct mix m = {.o = o,
	    .config = o->config,
	    .logged_ms = clock_ms(),
	    .stats = {.interval_ms = KAFKA_STATS_MS}};
	bool done = false;
	enum fail_code code;

	assert(o->config->mix.name != NULL);
	election_init(&m.election, o->standby);
	if (o->board != NULL)
		measure(&m); /* opening may wait for a broker */
	code = open_all(&m, f);
	if (code == FAIL_NONE && !m.over)
		code = attach_first(&m, f);
	while (code == FAIL_NONE && !done && !m.over) {
		code = run(&m, &done, f);
		if (recoverable(code))
			code = recover(&m, f);
	}
	close_all(&m);
	if (code != FAIL_STOPPED)
		return code;
	log_info("mix: mix=%s %s", o->config->mix.name, f->text);
	return FAIL_NONE;
}
