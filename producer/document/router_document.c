/* The document that a record makes for its domain: its text, repaired where needed, what is kept.
 */
#include <stdio.h>
#include <string.h>

#include "producer/document/keep.h"
#include "producer/document/router_state.h"
#include "common/base/utf8.h"

void
router_reject(struct router_result *out, const char *reason)
{
	*out = (struct router_result){.verdict = ROUTER_REJECT, .reason = reason};
}

/* ---- the text ---- */

/* Whether text[n] is UTF-8 or may be repaired; else `out` says what is wrong with it. */
static bool
check_utf8(const struct router *r, struct router_scratch *s, const char *what, const char *text,
    size_t n, bool *valid, struct router_result *out)
{
	size_t good = utf8_valid_bytes(text, n);

	*valid = good == n;
	if (*valid || r->utf8 == CONFIG_UTF8_REPLACE)
		return true;
	snprintf(s->reason, sizeof(s->reason), "invalid UTF-8 at byte %zu of %s", good, what);
	router_reject(out, s->reason);
	return false;
}

/* Appends text[n], repaired if it has to be. */
static enum fail_code
append(struct byte_buffer *b, const char *text, size_t n, bool valid, struct failure *f)
{
	if (byte_buffer_reserve(b, (valid ? 1 : UTF8_REPLACED_FACTOR) * n, f) != FAIL_NONE)
		return f->code;
	if (valid && n > 0)
		memcpy(b->at + b->n, text, n);
	b->n += valid ? n : utf8_replace(b->at + b->n, text, n);
	return FAIL_NONE;
}

enum fail_code
router_give_text(const struct router *r, struct router_scratch *s, size_t domain, const char *text,
    size_t n, struct router_result *out, struct failure *f)
{
	bool valid;

	if (!check_utf8(r, s, "the text", text, n, &valid, out))
		return FAIL_NONE;
	s->text.n = 0;
	if (!valid && append(&s->text, text, n, valid, f) != FAIL_NONE)
		return f->code;
	*out = (struct router_result){.verdict = ROUTER_DOCUMENT,
	    .domain = domain,
	    .text = valid ? text : s->text.at,
	    .n = valid ? n : s->text.n};
	return FAIL_NONE;
}

/* Gives prompt and response as a document; each is repaired by itself. */
static enum fail_code
give_two(const struct router *r, struct router_scratch *s, size_t domain,
    const struct json_value *prompt, const struct json_value *response, struct router_result *out,
    struct failure *f)
{
	bool valid[2];
	size_t prompt_n;

	if (!check_utf8(r, s, "the prompt", prompt->bytes, prompt->n, &valid[0], out) ||
	    !check_utf8(r, s, "the response", response->bytes, response->n, &valid[1], out))
		return FAIL_NONE;
	s->text.n = 0;
	if (append(&s->text, prompt->bytes, prompt->n, valid[0], f) != FAIL_NONE)
		return f->code;
	prompt_n = s->text.n;
	if (append(&s->text, response->bytes, response->n, valid[1], f) != FAIL_NONE)
		return f->code;
	*out = (struct router_result){.verdict = ROUTER_DOCUMENT,
	    .domain = domain,
	    .text = s->text.n == 0 ? "" : s->text.at,
	    .n = s->text.n,
	    .prompt_n = prompt_n};
	return FAIL_NONE;
}

/* ---- what is kept ---- */

/* Repairs what is kept where it has to be: the same object, in the same place. */
static enum fail_code
repair_keep(struct byte_buffer *b, struct failure *f)
{
	size_t n = b->n;

	if (byte_buffer_reserve(b, UTF8_REPLACED_FACTOR * n, f) != FAIL_NONE)
		return f->code;
	b->n = utf8_replace(b->at + n, b->at, n);
	memmove(b->at, b->at + n, b->n);
	return FAIL_NONE;
}

/* Adds what the domain keeps to a document. */
static enum fail_code
give_keep(const struct router *r, struct router_scratch *s, const struct json_value *value,
    struct router_result *out, struct failure *f)
{
	const struct wanted *w = &r->wanted[out->domain];
	struct byte_buffer *b = &s->keep;
	bool valid;

	if (keep_begin(b, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < w->keeps_n; i++) {
		const struct json_value *v = &value[w->keep[i]];

		if (v->found != JSON_MISSING &&
		    keep_add(b, r->field[w->keep[i]], v->raw, v->raw_n, f) != FAIL_NONE)
			return f->code;
	}
	if (keep_end(b, f) != FAIL_NONE)
		return f->code;
	if (!check_utf8(r, s, "what is kept", b->at, b->n, &valid, out))
		return FAIL_NONE;
	if (!valid && repair_keep(b, f) != FAIL_NONE)
		return f->code;
	if (b->n > ROUTER_KEEP_BYTES) {
		snprintf(s->reason, sizeof(s->reason),
		    "the fields to keep are %zu bytes, more than the %d of a document", b->n,
		    ROUTER_KEEP_BYTES);
		router_reject(out, s->reason);
		return FAIL_NONE;
	}
	out->keep = b->at;
	out->keep_n = b->n;
	return FAIL_NONE;
}

/* ---- records ---- */

/* Whether the field is a string; else `out` says so. */
static bool
check_string(struct router_scratch *s, const char *field, const struct json_value *value,
    struct router_result *out)
{
	if (value->found == JSON_STRING)
		return true;
	if (value->found == JSON_MISSING)
		snprintf(s->reason, sizeof(s->reason), "no field `%s`", field);
	else
		snprintf(s->reason, sizeof(s->reason), "field `%s` is not a string", field);
	router_reject(out, s->reason);
	return false;
}

enum fail_code
router_give_document(const struct router *r, struct router_scratch *s, size_t domain,
    const struct json_value *value, struct router_result *out, struct failure *f)
{
	const struct wanted *w = &r->wanted[domain];
	const struct json_value *part[2] = {&value[w->part[0]], &value[w->part[1]]};
	enum fail_code code;

	for (size_t i = 0; i < w->parts_n; i++)
		if (!check_string(s, r->field[w->part[i]], part[i], out))
			return FAIL_NONE;
	if (w->parts_n == 2)
		code = give_two(r, s, domain, part[0], part[1], out, f);
	else
		code = router_give_text(r, s, domain, part[0]->bytes, part[0]->n, out, f);
	if (code != FAIL_NONE || out->verdict != ROUTER_DOCUMENT)
		return code;
	out->prompt_only = w->prompt && w->parts_n == 1;
	if (out->prompt_only)
		out->prompt_n = out->n;
	return w->keeps_n == 0 ? FAIL_NONE : give_keep(r, s, value, out, f);
}
