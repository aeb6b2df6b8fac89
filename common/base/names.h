/*
 * names.h -- names of topics and groups, and which names are allowed.
 *
 * Domains, corpora, mixes and runs match [A-Za-z0-9][A-Za-z0-9._-]*. Topics:
 *   <corpus>.<domain>  <corpus>.<domain>.valid  <corpus>.<domain>.test  <corpus>.rejects
 *   <corpus>.arrivals
 *   <mix>.batches  <mix>.ledger  <mix>.control  <mix>.feedback
 * Groups: <mix>.mixer  <mix>.election  <mix>.<run>  <corpus>.producer/<input>/<partition>.
 */
#ifndef COMMON_BASE_NAMES_H
#define COMMON_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum {
	NAME_MAX_BYTES = 100,  /* of a domain, corpus, mix or run */
	TOPIC_MAX_BYTES = 249, /* Kafka's limit */
};

enum names_set { SET_TRAIN, SET_VALID, SET_TEST };
enum { SETS_COUNT = 3 };

/* "train", "valid", "test"; and what a set adds to the name of its domain, as ".valid", or "". */
extern const char *const names_set_text[SETS_COUNT];
extern const char *const names_set_suffix[SETS_COUNT];

bool names_valid(const char *name);
bool names_run_valid(const char *run); /* also refuses "mixer" and "election" */

/* Each writes a NUL-terminated name into `out`; the parts must be valid names. */
void names_domain_topic(char out[static TOPIC_MAX_BYTES + 1], const char *corpus,
    const char *domain, enum names_set set);
void names_topic(char out[static TOPIC_MAX_BYTES + 1], const char *owner, const char *what);

#endif
