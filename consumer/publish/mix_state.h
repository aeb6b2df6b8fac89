/*
 * mix_state.h -- what a running mix holds: shared by the files of a mix. Nobody else includes it.
 *
 *     mix.c           the loop
 *     mix_open.c      opens and closes what lasts as long as the run
 *     mix_attach.c    takes the state from the ledger, also after a doubt
 *     mix_memory.c    whether the worst case fits, and the feed with what is left
 *     mix_publish.c   writes steps, ledger records and the end
 *     mix_letters.c   records that could not be used, for <corpus>.rejects
 *     mix_lengths.c   domains that grow
 *     mix_requests.c  what is asked on the control topic
 *     mix_standby.c   whose turn it is, and waiting for it
 */
#ifndef CONSUMER_PUBLISH_MIX_STATE_H
#define CONSUMER_PUBLISH_MIX_STATE_H

#include <librdkafka/rdkafka.h>

#include "common/record/ledger.h"
#include "common/base/names.h"
#include "consumer/publish/assembler.h"
#include "consumer/publish/control_feed.h"
#include "consumer/domain/domains.h"
#include "consumer/publish/election.h"
#include "consumer/publish/election_group.h"
#include "consumer/publish/lead.h"
#include "consumer/publish/mix.h"
#include "consumer/plan/config_plan.h"
#include "consumer/publish/transactions.h"

/* A record that could not be used; its dead letter goes into the next transaction. */
struct dead_letter {
	bool sequence; /* of a domain; else it is of the control topic */
	struct mixer_draw draw;
	int64_t offset;
	char *reason;
	uint8_t *bytes;
	size_t n;
};

struct mix {
	const struct mix_options *o;
	const struct config *config;
	char rejects_topic[TOPIC_MAX_BYTES + 1], ledger_topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *admin, *reader; /* reader: ledger, ends of domain topics, commits */
	struct election election;
	struct election_group *group;
	bool led; /* the election has found us leading, at least once */
	struct domains *domains;
	int64_t lengths_ms, live_ms;  /* last question how long all, and live, domains are */
	struct config_plan by_config; /* owns what the plan points to */
	struct mixer_plan plan;
	uint64_t schedule; /* hash */
	char *config_text;
	uint64_t mixer_id;     /* random */
	bool started;          /* our START record is in the ledger */
	bool looked;           /* the ledger was read after our id had become the producer's, and */
	uint64_t seen;         /* its last record was then of this mixer; 0: there was none */
	int64_t ledger_read;   /* offset of the record that was read last; -1: there was none */
	int64_t ledger_before; /* of the last one before our START */
	bool over;             /* the ledger says END */
	struct feed *feed;
	struct assembler *assembler;
	struct transactions *transactions;
	struct lead *lead;
	struct control_feed *control;
	uint64_t step_first; /* first step of the open transaction */
	bool open;           /* a transaction is */
	uint64_t open_bytes;
	int64_t open_ms;              /* since when */
	struct ledger_answer *answer; /* [answers_n], for the next ledger record */
	size_t answers_n;
	struct dead_letter *letter;
	size_t letters_n;
	uint64_t bytes_total, steps_total; /* published by this process, for the log */
};

/* mix_open.c */
enum fail_code mix_open(struct mix *m, const struct mix_options *o, struct failure *f);
/*
 * A reader that met brokers without leaders can go on answering from memory for longer than a
 * question may take: after each failure there is a new one.
 */
enum fail_code mix_renew_reader(struct mix *m, struct failure *f);
void mix_close(struct mix *m);

/* mix_attach.c */
/* *found: the ledger holds a record, now in *last (ended with ledger_clear). */
enum fail_code mix_read_ledger(struct mix *m, struct ledger *last, bool *found, struct failure *f);
/*
 * Opens the transactions, reads the ledger, takes its state. The first time it writes START; later a
 * START of another mixer is FAIL_FENCED.
 */
enum fail_code mix_attach(struct mix *m, struct failure *f);
void mix_detach(struct mix *m);
/*
 * What can be refused before anyone is fenced. *last, *found: as mix_read_ledger(). FAIL_FENCED: a
 * newer mixer has taken over. FAIL_CONFIG: the configuration does not fit the ledger.
 */
enum fail_code mix_check_before(struct mix *m, struct ledger *last, bool *found, struct failure *f);
/*
 * Waits until readers see the last commit: a commit is answered when it is decided, and the broker
 * writes the markers that show it afterwards. FAIL_TIMEOUT, FAIL_BROKER.
 */
enum fail_code mix_wait_visible(struct mix *m, struct failure *f);
/* FAIL_FENCED: another mixer's START stands in the ledger. FAIL_BROKER: it could not be read. */
enum fail_code mix_still_ours(struct mix *m, struct failure *f);
/* Tells the feed of the mixer's domains that it does not know yet. */
enum fail_code mix_tell_feed(struct mix *m, const struct mixer *mixer, struct failure *f);

/* mix_memory.c */
/* FAIL_CONFIG: mix.memory cannot hold the worst case; else what of it is for blocks. */
enum fail_code mix_check_memory(const struct mix *m, uint64_t *blocks_bytes, struct failure *f);
enum fail_code mix_open_feed(struct mix *m, struct failure *f);

/* mix_publish.c */
enum fail_code mix_publish_step(struct mix *m, const struct assembled *step, struct failure *f);
/* Ends the open transaction, or one of its own for what has no steps. */
enum fail_code mix_commit(struct mix *m, enum ledger_kind kind, struct failure *f);
/* Gives *bytes (free): the ledger record of now. Answers that wait for one go into it. */
enum fail_code mix_encode_ledger(
    struct mix *m, enum ledger_kind kind, uint8_t **bytes, size_t *n, struct failure *f);
/* The record on each lane that ends the mix, and the END of the ledger. */
enum fail_code mix_publish_end(struct mix *m, struct failure *f);

/* mix_letters.c */
/* assembler_quarantined */
void mix_keep_dead_letter(
    void *mix, const struct mixer_draw *draw, const struct feed_record *record);
/* The same for what is no request. */
void mix_keep_garbage(struct mix *m, const struct control_feed_record *record);
enum fail_code mix_put_dead_letters(struct mix *m, struct failure *f);
/* Drawing again after a failed transaction finds the same bad sequences again. */
void mix_clear_dead_letters(struct mix *m);

/* mix_lengths.c */
/* The lengths as they are known, all of them, into a mixer that was just resumed. */
enum fail_code mix_set_lengths(struct mix *m, struct mixer *mixer, struct failure *f);
/* Asks for lengths when it is time, and tells the mixer; only while no transaction is open. */
enum fail_code mix_ask_lengths(struct mix *m, struct failure *f);

/* mix_requests.c */
/* Answers what waits, in a transaction of its own; only while no other is open. */
enum fail_code mix_answer(struct mix *m, struct failure *f);
/* Answers all that was asked before the mixer attached. */
enum fail_code mix_answer_old(struct mix *m, struct failure *f);
void mix_clear_answers(struct mix *m);

/* mix_standby.c */
/*
 * Takes part in the election; to be called by every loop, at least every ELECTION_POLL_MAX_MS.
 * FAIL_FENCED: another mixer has taken over. FAIL_BROKER: the user may not take part.
 */
enum fail_code mix_elect(struct mix *m, struct failure *f);
/* domains_stopped: takes part while domains are waited for. */
bool mix_stopped(void *mix);
/*
 * Waits, as a standby, until it is this mixer's turn, and follows the ledger. FAIL_NONE with
 * m->over: the mix has ended. FAIL_STOPPED. FAIL_CONFIG: it could not take over.
 */
enum fail_code mix_wait_turn(struct mix *m, struct failure *f);

#endif
