/*
 * topic_plan.h -- which topics a configuration implies, and with which settings.
 *
 * Plain data computed from the configuration alone: name, partitions, largest record, settings. No
 * broker is queried; common/kafka/topics.h creates the topics of a plan and compares those that
 * exist.
 *
 * How large a record can get. A sequence is S + 1 tokens of 2 or 3 bytes, and about 64 bytes of
 * ids, lengths and hash. A lane's batch record holds B/L sequences. Names and the spans of many
 * short documents come on top: max.message.bytes is three times that size, which costs nothing,
 * because a broker allocates what a record has and not what it might have.
 */
#ifndef COMMON_CONFIG_TOPIC_PLAN_H
#define COMMON_CONFIG_TOPIC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/names.h"
#include "common/config/config.h"

enum {
	TOPIC_RECORD_SLACK = 64 << 10,      /* what names, document spans and framing may add */
	TOPIC_LEDGER_BYTES = 8 << 20,       /* of a ledger record, at most */
	TOPIC_MESSAGE_BYTES_MIN = 1 << 20,  /* below it, batches of small records would suffer */
	TOPIC_MESSAGE_BYTES_MAX = 80 << 20, /* LIMIT_RECORD_BYTES and what may surround it */
};

enum topic_kind {
	TOPIC_DOMAIN,
	TOPIC_REJECTS,
	TOPIC_BATCHES,
	TOPIC_LEDGER,
	TOPIC_CONTROL,
	TOPIC_FEEDBACK,
	TOPIC_LANES,    /* without records: where lanes that share partitions are committed */
	TOPIC_ARRIVALS, /* where files of a live domain keep arriving */
};

struct planned_topic {
	char name[TOPIC_MAX_BYTES + 1];
	enum topic_kind kind;
	int domain; /* index in the configuration; -1 for the others */
	enum names_set set;
	int partitions;
	size_t message_bytes_max; /* max.message.bytes: more than any record, framing included */
};

struct topic_plan {
	size_t n;
	struct planned_topic *topic;
};

/*
 * Bytes of one lane's batch record: ((S+1) * width + 64) * B/L, of the largest B, and where some
 * domain keeps fields of its documents, LIMIT_KEEP_BYTES more a sequence. Names and the spans of
 * many short documents may come on top; message_bytes_max leaves room for them.
 */
size_t topic_plan_lane_bytes(const struct config *c, unsigned token_width);
/*
 * The same at worst, with the record's head, in which each of its domains is named: at most
 * LIMIT_RECORD_BYTES may be. So many sequences fit a lane.
 */
size_t topic_plan_record_bytes(const struct config *c);
size_t topic_plan_lane_sequences(const struct config *c);
/* Bytes of a record of a domain topic, in the same way; and without what is kept. */
size_t topic_plan_sequence_bytes(const struct config *c, unsigned token_width);
size_t topic_plan_plain_bytes(const struct config *c, unsigned token_width);

/* Whether documents can reach the set of a domain: an input of its own, or a part of the split. */
bool topic_plan_has_set(const struct config *c, const struct config_domain *d, enum names_set set);

/* Gives *out (topic_plan_close). Domain topics always; the mix's where there is a mix section. */
enum fail_code topic_plan_open(struct topic_plan **out, const struct config *c, struct failure *f);
void topic_plan_close(struct topic_plan *p);

/* A topic's setting: what it is created with, and what is right where it exists. */
enum { TOPIC_SETTINGS = 8, TOPIC_VALUE_MAX = 24 };

struct topic_setting {
	const char *name;
	char value[TOPIC_VALUE_MAX];
	uint64_t least; /* any number from here on is right; 0: only `value` is */
};

/* Fills the settings of one topic of the plan. */
void topic_plan_settings(struct topic_setting out[static TOPIC_SETTINGS], const struct config *c,
    const struct planned_topic *t);

#endif
