/*
 * router_state.h -- what a router and its scratch are inside: shared by router.c, which chooses the
 * domain of a record, and router_document.c, which makes the document. Nobody else includes it.
 */
#ifndef PRODUCER_DOCUMENT_ROUTER_STATE_H
#define PRODUCER_DOCUMENT_ROUTER_STATE_H

#include "common/base/byte_buffer.h"
#include "common/base/json_field.h"
#include "producer/document/router.h"

/* One value that makes a record a domain's. */
struct choice {
	const char *equals;
	size_t n;
	size_t domain;
};

/* All values that are looked for in one field, sorted. */
struct group {
	size_t field;
	struct choice *choice;
	size_t choices_n;
};

/* The fields that make a domain's document, by index in the router's. */
struct wanted {
	size_t part[2]; /* the text, or prompt and response */
	size_t parts_n;
	bool prompt;  /* part[0] is one */
	size_t *keep; /* in the order of the configuration */
	size_t keeps_n;
};

struct router {
	const struct config_domain *const *domain;
	size_t domains_n;
	enum config_utf8 utf8;
	struct json_paths *paths;
	const char *field[JSON_FIELDS_MAX]; /* the dotted paths, each once */
	size_t fields_n;
	struct wanted *wanted; /* [domains_n] */
	struct group group[JSON_FIELDS_MAX];
	size_t groups_n; /* 0: one domain, which takes all */
};

struct router_scratch {
	struct json_scratch *json;
	struct byte_buffer text; /* what was repaired, or put together */
	struct byte_buffer keep;
	char reason[ROUTER_REASON_MAX];
};

/* ---- router_document.c ---- */

void router_reject(struct router_result *out, const char *reason);

/*
 * Gives one text as a document, or rejects it; it is not copied unless it has to be repaired.
 * FAIL_MEMORY only.
 */
enum fail_code router_give_text(const struct router *r, struct router_scratch *s, size_t domain,
    const char *text, size_t n, struct router_result *out, struct failure *f);

/* Gives the document that the fields of a record make for a domain, or rejects it. FAIL_MEMORY
 * only. */
enum fail_code router_give_document(const struct router *r, struct router_scratch *s, size_t domain,
    const struct json_value *value, struct router_result *out, struct failure *f);

#endif
