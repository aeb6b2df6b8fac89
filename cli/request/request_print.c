#include "cli/request/request_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/json_print.h"
#include "cli/request/request_words.h"
#include "consumer/admin/request_list.h"

/* An answer, and how it came about. It owns the answer's texts, and the effect. */
struct told {
	struct ledger_answer answer;
	struct mixer_effect effect; /* of a dry run that accepts a change; else empty */
	bool before;                /* was given before */
	bool cancelled;             /* and its request was cancelled since */
};

static void
told_clear(struct told *t)
{
	ledger_answer_clear(&t->answer);
	mixer_effect_clear(&t->effect);
}

/* The answer's text without newlines in front of it; "" where it has none. */
static const char *
text_of(const struct told *t)
{
	const char *text = t->answer.text == NULL ? "" : t->answer.text;

	while (*text == '\n')
		text++;
	return text;
}

static json_t *
step_json(double step)
{
	return step >= MIXER_EFFECT_NEVER ? json_null() : json_integer((json_int_t)step);
}

static json_t *
domain_json(const struct mixer_effect_domain *d)
{
	json_t *o = json_pack("{s:o, s:f, s:f, s:b}", "name", json_print_text(d->name), "share",
	    d->share, "share_before", d->share_before, "live", (int)d->live);

	if (!d->live) {
		json_object_set_new(o, "epoch", json_integer((json_int_t)d->epoch));
		json_object_set_new(o, "epoch_end_step", step_json(d->epoch_end.with));
		json_object_set_new(o, "epoch_end_step_before", step_json(d->epoch_end.without));
	}
	if (d->limited) {
		json_object_set_new(o, "last_end", json_string(d->ends_mix ? "stop" : "drop"));
		json_object_set_new(o, "last_end_step", step_json(d->last_end.with));
		json_object_set_new(o, "last_end_step_before", step_json(d->last_end.without));
	}
	return o;
}

json_t *
request_print_effect(const struct mixer_effect *e)
{
	json_t *list, *o;

	if (e->skip)
		return json_pack("{s:I, s:I}", "excluded", (json_int_t)e->excluded, "sequences",
		    (json_int_t)e->sequences);
	if (e->domain == NULL)
		return json_null();
	list = json_array();
	for (size_t i = 0; i < e->domains_n; i++)
		json_array_append_new(list, domain_json(&e->domain[i]));
	o = json_pack("{s:f, s:f, s:f, s:f, s:I, s:I, s:o}", "temperature", e->temperature,
	    "temperature_before", e->temperature_before, "lr_scale", e->lr_scale, "lr_scale_before",
	    e->lr_scale_before, "global_batch", (json_int_t)e->global_batch, "global_batch_before",
	    (json_int_t)e->global_batch_before, "domains", list);
	if (e->rounds) {
		json_object_set_new(o, "round", json_integer((json_int_t)e->round));
		json_object_set_new(o, "round_draws_dealt", json_integer((json_int_t)e->dealt));
	}
	if (e->phase[0] != '\0') {
		json_object_set_new(o, "next_phase", json_print_text(e->phase));
		json_object_set_new(o, "next_phase_step", json_integer((json_int_t)e->phase_step));
	}
	return o;
}

static FILE *
stream(const struct request_print_how *how)
{
	return how->to == NULL ? stdout : how->to;
}

static enum fail_code
print_json(const struct told *t, const struct request_print_how *how, struct failure *f)
{
	json_t *o = json_pack("{s:s, s:b, s:I, s:b, s:b, s:b, s:s}", "id", t->answer.id, "accepted",
	    (int)t->answer.accepted, "step", (json_int_t)t->answer.step, "answered_before",
	    (int)t->before, "cancelled", (int)t->cancelled, "dry_run", (int)how->dry_run, "text",
	    text_of(t));

	if (how->dry_run)
		json_object_set_new(o, "effect", request_print_effect(&t->effect));
	return json_print(o, JSON_COMPACT | JSON_PRESERVE_ORDER, stream(how), f);
}

static void
print_text(const struct told *t, const struct request_print_how *how)
{
	const char *text = text_of(t);
	FILE *to = stream(how);

	if (!t->answer.accepted || t->cancelled)
		return; /* the reason goes to stderr, as the failure */
	if (how->dry_run)
		fprintf(to, "would be accepted\n");
	else
		fprintf(to, "%s: request %s\n", t->before ? "was accepted before" : "accepted",
		    t->answer.id);
	if (*text != '\0')
		fprintf(to, "%s\n", text);
}

static enum fail_code
print(const struct told *told, size_t n, const struct request_print_how *how, struct failure *f)
{
	const struct told *refused = NULL;

	for (size_t i = 0; i < n; i++) {
		if (how->json ? print_json(&told[i], how, f) != FAIL_NONE
			      : (print_text(&told[i], how), false))
			return f->code;
		if ((!told[i].answer.accepted || told[i].cancelled) && refused == NULL)
			refused = &told[i];
	}
	if (refused == NULL)
		return FAIL_NONE;
	if (how->dry_run)
		return fail(f, FAIL_DATA, "would be refused: %s", text_of(refused));
	if (refused->cancelled)
		return fail(f, FAIL_DATA,
		    "request %s was cancelled: it changes nothing; ask again with another --id, or "
		    "without",
		    refused->answer.id);
	return fail(f, FAIL_DATA, "request %s %s: %s; nothing was changed by it",
	    refused->answer.id, refused->before ? "was refused before" : "was refused",
	    text_of(refused));
}

static enum fail_code
fail_other(const struct control *before, const struct control *now, struct failure *f)
{
	struct text was = {0}, is = {0};
	char *a, *b;

	request_words_text(&was, before);
	request_words_text(&is, now);
	a = text_take(&was);
	b = text_take(&is);
	fail(f, FAIL_USAGE,
	    "--id %s: request %s was sent before, and asks for %.200s, not for %.200s: give "
	    "another --id, or none",
	    now->id, now->id, a == NULL ? "" : a, b == NULL ? "" : b);
	free(a);
	free(b);
	return f->code;
}

/*
 * What the control topic says of ids that were given: whether one stands for something else than
 * is asked for now, and which were cancelled since. A user who may not read the topic is not told.
 * `c` NULL: only told[0]'s is looked for.
 */
static enum fail_code
look_back(
    struct request *r, const struct control *c, size_t n, struct told *told, struct failure *f)
{
	const struct request_options *o = request_options(r);
	struct request_list list = {0};
	enum fail_code code = request_list_read(&list, o->mix, o->properties, request_ledger(r), f);

	if (code == FAIL_DENIED)
		code = FAIL_NONE;
	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		const char *id = c == NULL ? told[i].answer.id : c[i].id;
		const struct request_entry *e = request_list_find(&list, id);

		if (e != NULL && c != NULL && !request_words_same(&e->asked, &c[i]))
			code = fail_other(&e->asked, &c[i], f);
		told[i].cancelled = e != NULL && e->state == REQUEST_CANCELLED;
	}
	request_list_close(&list);
	return code;
}

/* Nobody answers soon: the request is there, and waiting for it is for those who want that. */
static enum fail_code
fail_open(const char *id, struct failure *f)
{
	return fail(f, FAIL_TIMEOUT,
	    "request %s is open: no mixer runs, and the next `riffle mix` answers it (--timeout "
	    "SECONDS waits for that); `riffle requests` shows what became of it",
	    id);
}

/*
 * All that were not answered before are sent together, and then waited for.
 *
 * `rest` holds the requests that are sent, in their order, and answer[k] belongs to rest[k].
 * Example, requests 0 to 2, of which 1 was answered before: rest is 0 2; answer[0] goes to told[0],
 * answer[1] to told[2]. On a failure the answers that did come go to `told` as well, which frees
 * them.
 */
static enum fail_code
ask(struct request *r, const struct control *c, size_t n, const struct request_print_how *how,
    struct told *told, struct failure *f)
{
	struct control *rest = calloc(n, sizeof(*rest));
	struct ledger_answer *answer = calloc(n, sizeof(*answer));
	size_t rest_n = 0, k = 0;
	int timeout_ms = how->timeout_ms;
	enum fail_code code = FAIL_NONE;

	if (rest == NULL || answer == NULL)
		code = fail_memory(f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		code = request_earlier(r, c[i].id, &told[i].answer, &told[i].before, f);
		if (code == FAIL_NONE && !told[i].before)
			rest[rest_n++] = c[i]; /* borrowed */
	}
	if (code == FAIL_NONE && how->named)
		code = look_back(r, c, n, told, f);
	if (code == FAIL_NONE && rest_n > 0)
		code = request_send(r, rest, rest_n, f);
	if (code == FAIL_NONE && rest_n > 0 && timeout_ms == 0 && request_without_mixer(r))
		code = fail_open(rest[0].id, f);
	else if (code == FAIL_NONE && rest_n > 0)
		code = request_wait(r, rest, rest_n, answer,
		    timeout_ms == 0 ? REQUEST_PRINT_TIMEOUT_S * 1000 : timeout_ms, f);
	for (size_t i = 0; answer != NULL && i < n && k < rest_n; i++)
		if (!told[i].before)
			told[i].answer = answer[k++];
	free(rest);
	free(answer);
	return code;
}

/* Each request by itself against the ledger's last record: none sees what another one changes. */
static enum fail_code
judge(struct request *r, const struct control *c, size_t n, const struct request_print_how *how,
    struct told *told, struct failure *f)
{
	const struct ledger *last = request_ledger(r);

	if (last == NULL)
		return fail(f, FAIL_DATA,
		    "the mix has not started: `riffle plan` shows what its configuration will do");
	for (size_t i = 0; i < n; i++)
		if (request_dry(&told[i].answer, &told[i].effect, last, &c[i], how->config, f) !=
		    FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
request_print(struct request *r, const struct control *c, size_t n,
    const struct request_print_how *how, struct failure *f)
{
	struct told *told = calloc(n, sizeof(*told));
	enum fail_code code;

	if (told == NULL)
		return fail_memory(f);
	if (how->dry_run)
		code = judge(r, c, n, how, told, f);
	else
		code = ask(r, c, n, how, told, f);
	if (code == FAIL_NONE)
		code = print(told, n, how, f);
	for (size_t i = 0; i < n; i++)
		told_clear(&told[i]);
	free(told);
	return code;
}

enum fail_code
request_print_earlier(
    struct request *r, const char *id, const struct request_print_how *how, struct failure *f)
{
	struct told told = {0};
	enum fail_code code = request_earlier(r, id, &told.answer, &told.before, f);

	if (code == FAIL_NONE && !told.before)
		code = fail(f, FAIL_DATA, "the mix has answered no request %s", id);
	if (code == FAIL_NONE)
		code = look_back(r, NULL, 1, &told, f);
	if (code == FAIL_NONE)
		code = print(&told, 1, how, f);
	told_clear(&told);
	return code;
}
