/*
 * mix_state.h -- what a running mix holds: shared by mix.c, which loops, mix_attach.c, which opens,
 * recovers and closes, and mix_publish.c, which writes steps. Nobody else includes it.
 */
#ifndef CONSUMER_MIX_STATE_H
#define CONSUMER_MIX_STATE_H

#include <librdkafka/rdkafka.h>

#include "common/ledger.h"
#include "common/names.h"
#include "consumer/assembler.h"
#include "consumer/domains.h"
#include "consumer/lead.h"
#include "consumer/mix.h"
#include "consumer/publisher.h"

/* A quarantined sequence whose dead letter goes into the next transaction. */
struct dead_letter {
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
	struct domains *domains;
	struct mixer_source *source; /* [domains->n], for the plan */
	struct mixer_plan plan;
	uint64_t schedule; /* hash */
	char *config_text;
	uint64_t mixer_id; /* random */
	bool started;      /* our START record is in the ledger */
	bool over;         /* the ledger says END */
	struct feed *feed;
	struct assembler *assembler;
	struct publisher *publisher;
	struct lead *lead;
	uint64_t step_first; /* first step of the open transaction */
	bool open;           /* a transaction is */
	uint64_t open_bytes;
	int64_t open_ms; /* since when */
	struct dead_letter *letter;
	size_t letters_n;
	uint64_t bytes_total, steps_total; /* published by this process, for the log */
};

/* mix_attach.c */
enum fail_code mix_open(struct mix *m, const struct mix_options *o, struct failure *f);
void mix_close(struct mix *m);
/*
 * Opens a publisher, reads the ledger, takes its state. The first time it writes START; later a
 * START of another mixer is FAIL_FENCED.
 */
enum fail_code mix_attach(struct mix *m, struct failure *f);
void mix_detach(struct mix *m);
/*
 * Waits until readers see the last commit: a commit is answered when it is decided, and the broker
 * writes the markers that show it afterwards. FAIL_TIMEOUT, FAIL_BROKER.
 */
enum fail_code mix_wait_visible(struct mix *m, struct failure *f);
/* FAIL_FENCED: another mixer's START stands in the ledger. FAIL_BROKER: it could not be read. */
enum fail_code mix_still_ours(struct mix *m, struct failure *f);

/* mix_publish.c */
enum fail_code mix_publish_step(struct mix *m, const struct assembled *step, struct failure *f);
/* Ends the open transaction, or one of its own for START and END. */
enum fail_code mix_commit(struct mix *m, enum ledger_kind kind, struct failure *f);
/* The record on each lane that ends the mix, and the END of the ledger. */
enum fail_code mix_publish_end(struct mix *m, struct failure *f);
/* assembler_quarantined */
void mix_keep_dead_letter(
    void *mix, const struct mixer_draw *draw, const struct feed_record *record);
/* Drawing again after a failed transaction finds the same bad sequences again. */
void mix_clear_dead_letters(struct mix *m);

#endif
