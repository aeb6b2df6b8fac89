/* Dead letters: records that could not be used, until the transaction that passes them over. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "consumer/publish/mix_state.h"

void
mix_clear_dead_letters(struct mix *m)
{
	for (size_t i = 0; i < m->letters_n; i++) {
		free(m->letter[i].reason);
		free(m->letter[i].bytes);
	}
	free(m->letter);
	m->letter = NULL;
	m->letters_n = 0;
}

/* A letter that finds no memory is only logged: the ledger passes the record over in any case. */
static void
keep(struct mix *m, const struct dead_letter *letter, const char *reason, const uint8_t *bytes)
{
	struct dead_letter *grown = realloc(m->letter, (m->letters_n + 1) * sizeof(*grown)), *l;

	if (grown == NULL)
		return;
	m->letter = grown;
	l = &grown[m->letters_n];
	*l = *letter;
	l->reason = strdup(reason);
	l->bytes = malloc(l->n + 1);
	if (l->reason == NULL || l->bytes == NULL) {
		free(l->reason);
		free(l->bytes);
		return;
	}
	if (l->n > 0)
		memcpy(l->bytes, bytes, l->n);
	m->letters_n++;
}

void
mix_keep_dead_letter(void *mix, const struct mixer_draw *draw, const struct feed_record *record)
{
	struct mix *m = mix;
	const char *name = mixer_domain_name(assembler_mixer(m->assembler), draw->domain);
	struct dead_letter letter = {
	    .sequence = true, .draw = *draw, .offset = record->offset, .n = record->bytes_n};

	log_warning("mix: MIX-QUARANTINE domain=%s partition=%" PRIu32 " ordinal=%" PRIu64 ": %s",
	    name, draw->partition, draw->ordinal, record->reason);
	keep(m, &letter, record->reason, record->bytes);
}

void
mix_keep_garbage(struct mix *m, const struct control_feed_record *record)
{
	struct dead_letter letter = {.offset = record->offset,
	    .n = record->n < FEED_BAD_BYTES_MAX ? record->n : FEED_BAD_BYTES_MAX};

	log_warning("mix: MIX-CONTROL topic=%s offset=%" PRId64
		    " is no request and is passed over: %s",
	    control_feed_topic(m->control), record->offset, record->reason);
	keep(m, &letter, record->reason, record->bytes);
}

static enum fail_code
put_letter(struct mix *m, const struct dead_letter *l, struct failure *f)
{
	char topic[TOPIC_MAX_BYTES + 1];
	struct transactions_reject r = {
	    .topic = control_feed_topic(m->control),
	    .offset = l->offset,
	    .reason = l->reason,
	    .bytes = l->bytes,
	    .n = l->n,
	};

	if (l->sequence) {
		r.topic = topic;
		r.partition = (int32_t)l->draw.partition;
		r.domain = mixer_domain_name(assembler_mixer(m->assembler), l->draw.domain);
		r.ordinal = l->draw.ordinal;
		names_domain_topic(topic, m->config->corpus, r.domain, SET_TRAIN);
	}
	return transactions_put_reject(m->transactions, &r, f);
}

enum fail_code
mix_put_dead_letters(struct mix *m, struct failure *f)
{
	for (size_t i = 0; i < m->letters_n; i++)
		if (put_letter(m, &m->letter[i], f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}
