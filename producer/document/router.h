/*
 * router.h -- from a record of an input to its document: whose it is, its text, and what is kept
 * of it.
 *
 * Files of this room:
 *     router         chooses a record's domain, takes its text, rejects what cannot be used
 *     keep           fields of a record as one compact JSON object
 *     split          train, valid or test, by the hash of a text
 *     token_record   ids and ranges of a record that holds tokens
 *
 *     record --router_route()--> ROUTER_DOCUMENT: domain, text, keep --split_pieces()--> train, ...
 *                           |--> ROUTER_UNMATCHED: no domain's; it is counted, and left out
 *                           +--> ROUTER_REJECT: why; it goes to <corpus>.rejects
 *
 * This room decides and does no I/O. What it gives depends on the record and the configuration
 * alone, not on the order or the thread: the workers of producer/produce rely on that.
 *
 * A router serves the domains that share one input. A domain without `where` takes every record and
 * is then the only one; the others each name a field and the value that makes a record theirs:
 *
 *     domain wiki: where {field: meta.source, equals: wiki}; domain code: the same, equals: code
 *     {"meta": {"source": "wiki"}, "text": "A"}  ->  wiki, A
 *     {"meta": {"source": "blog"}, "text": "B"}  ->  nobody's: ROUTER_UNMATCHED
 *
 * The text is that of one field (`text`), or of two, `prompt` and then `response` where the domain
 * has one; of such a text the first prompt_n bytes are the prompt, all of it where there is no
 * response. What is kept (`keep`) is a JSON object of the fields named, each as it stands in the
 * record but without white space between its parts (keep.h); fields that a record does not have are
 * left out:
 *
 *     keep: [answer, meta.id]
 *     {"meta": {"id": 7}, "answer": ["a", "b"], ...}  ->  {"answer":["a","b"],"meta.id":7}
 *
 * Where a domain has `tokens: jsonl`, a record holds tokens in place of a text (token_record.h),
 * and what is kept is its own object `keep`, as it stands there.
 *
 * Strings are compared with `equals` after their escapes are decoded, other values by their JSON
 * text as it stands ("true", "3"). Where several domains match, which takes different fields, the
 * first in the order given takes the record. A record is a reject if it is not a valid JSON object,
 * if a field of its domain's text is missing or not a string, if what is kept is longer than
 * ROUTER_KEEP_BYTES, or, under utf8: strict, if one of them is not UTF-8; of a record that is
 * nobody's only the first can be said. A whole file is text as it is, to which fields cannot apply:
 * for a domain with `where`, `prompt` or `keep` it is a reject.
 *
 * Thread: a router is immutable and shared; a scratch belongs to one thread.
 */
#ifndef PRODUCER_DOCUMENT_ROUTER_H
#define PRODUCER_DOCUMENT_ROUTER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/failure.h"
#include "common/base/limits.h"
#include "common/config/config.h"
#include "producer/input/chunk.h"

enum {
	ROUTER_REASON_MAX = 512,
	ROUTER_KEEP_BYTES = LIMIT_KEEP_BYTES, /* of one document */
	ROUTER_GARBLED_PERCENT = 1,
};

/* What to do with text in another encoding. */
#define ROUTER_CONVERT                                                                             \
	"If the text has another encoding, convert it, as with iconv -f LATIN1 -t UTF-8 FILE > "   \
	"NEW"

/* The reason of a record without the field that its domain names begins with this. */
#define ROUTER_NO_FIELD "no field `"

enum router_verdict { ROUTER_DOCUMENT, ROUTER_UNMATCHED, ROUTER_REJECT };

/* `text` lies in the record or in the scratch: until the next call, or until the record is gone. */
struct router_result {
	enum router_verdict verdict;
	size_t domain;    /* ROUTER_DOCUMENT: index in the domains given to router_open() */
	const char *text; /* ROUTER_DOCUMENT: valid UTF-8; what was not became U+FFFD */
	size_t n;         /* its bytes; may be 0 */
	bool garbled;     /* more than ROUTER_GARBLED_PERCENT of its bytes were not: no text */
	struct text_view ids, no_loss; /* of tokens, in place of a text: JSON; NULL: none */
	bool no_eos;                   /* of tokens: none is to be appended */
	size_t prompt_n;               /* of them, those of the prompt */
	bool prompt_only;   /* there is no response: the document has no targets at all */
	const char *keep;   /* ROUTER_DOCUMENT: valid UTF-8; lives as `text` does */
	size_t keep_n;      /* 0: the domain keeps nothing */
	const char *reason; /* ROUTER_REJECT: "no field `text`"; as long as `text` */
};

struct router;
struct router_scratch;

/*
 * What a record that is not a JSON object suggests about its file, by how it looks:
 *
 *     [        [{"text": "a"}]      {"text": "a"},      an array, on one line or on several
 *     {        "text": "a"          }                   a line of an object over several lines
 *     {"text": "a", "score": NaN}                       a number that JSON lacks
 *     bytes that no text has                            another file, or a compressed one
 */
enum router_json_kind {
	ROUTER_JSON_OTHER,
	ROUTER_JSON_ARRAY,
	ROUTER_JSON_OBJECT,
	ROUTER_JSON_NUMBER,
	ROUTER_JSON_BINARY,
};
enum router_json_kind router_json_kind(const char *text, size_t n);

/* What follows the reason in a message: what it looks like, and the command that converts the file;
 * "" for ROUTER_JSON_OTHER. */
const char *router_json_hint(enum router_json_kind kind);

/* The same for a file that ends in .csv, or whose first line looks like CSV. NULL: another line. */
const char *router_csv_hint(const char *file, const struct chunk_record *first);

/*
 * Gives *out, to be ended with router_close(); borrows the domains until then. FAIL_CONFIG: two
 * domains with equal `where`, a domain without among others, more than JSON_FIELD_PATHS_MAX
 * different fields.
 */
enum fail_code router_open(struct router **out, const struct config_domain *const *domain, size_t n,
    enum config_utf8 utf8, struct failure *f);
void router_close(struct router *r); /* NULL is accepted */

/* Gives *out, to be ended with router_scratch_close(). One a thread, for any router. */
enum fail_code router_scratch_open(struct router_scratch **out, struct failure *f);
void router_scratch_close(struct router_scratch *s); /* NULL is accepted */

/*
 * Decides about one record; what the input has rejected is ROUTER_REJECT with the input's reason.
 * FAIL_MEMORY only.
 */
enum fail_code router_route(const struct router *r, struct router_scratch *s, enum chunk_form form,
    const struct chunk_record *record, struct router_result *out, struct failure *f);

#endif
