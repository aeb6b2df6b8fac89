#include "cli/request/request_print.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/json_print.h"

/* An answer, and how it came about. It owns the answer's texts: ledger_answer_clear(). */
struct told {
	struct ledger_answer answer;
	bool before; /* was given before */
};

/* The answer's text without newlines in front of it; "" where it has none. */
static const char *
text_of(const struct told *t)
{
	const char *text = t->answer.text == NULL ? "" : t->answer.text;

	while (*text == '\n')
		text++;
	return text;
}

static enum fail_code
print_json(const struct told *t, const struct request_print_how *how, struct failure *f)
{
	json_t *o = json_pack("{s:s, s:b, s:I, s:b, s:b, s:s}", "id", t->answer.id, "accepted",
	    (int)t->answer.accepted, "step", (json_int_t)t->answer.step, "answered_before",
	    (int)t->before, "dry_run", (int)how->dry_run, "text", text_of(t));

	return json_print(o, JSON_COMPACT | JSON_PRESERVE_ORDER, stdout, f);
}

static void
print_text(const struct told *t, const struct request_print_how *how)
{
	const char *text = text_of(t);

	if (!t->answer.accepted)
		return; /* the reason goes to stderr, as the failure */
	if (how->dry_run)
		printf("would be accepted\n");
	else
		printf("%s: request %s\n", t->before ? "was accepted before" : "accepted",
		    t->answer.id);
	if (*text != '\0')
		printf("%s\n", text);
}

static enum fail_code
print(const struct told *told, size_t n, const struct request_print_how *how, struct failure *f)
{
	const struct told *refused = NULL;

	for (size_t i = 0; i < n; i++) {
		if (how->json ? print_json(&told[i], how, f) != FAIL_NONE
			      : (print_text(&told[i], how), false))
			return f->code;
		if (!told[i].answer.accepted && refused == NULL)
			refused = &told[i];
	}
	if (refused == NULL)
		return FAIL_NONE;
	if (how->dry_run)
		return fail(f, FAIL_DATA, "would be refused: %s", text_of(refused));
	return fail(f, FAIL_DATA, "request %s %s: %s; nothing was changed by it",
	    refused->answer.id, refused->before ? "was refused before" : "was refused",
	    text_of(refused));
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
	enum fail_code code = FAIL_NONE;

	if (rest == NULL || answer == NULL)
		code = fail_memory(f);
	for (size_t i = 0; code == FAIL_NONE && i < n; i++) {
		code = request_earlier(r, c[i].id, &told[i].answer, &told[i].before, f);
		if (code == FAIL_NONE && !told[i].before)
			rest[rest_n++] = c[i]; /* borrowed */
	}
	if (code == FAIL_NONE && rest_n > 0)
		code = request_send(r, rest, rest_n, f);
	if (code == FAIL_NONE && rest_n > 0)
		code = request_wait(r, rest, rest_n, answer, how->timeout_ms, f);
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
		if (request_dry(&told[i].answer, last, &c[i], how->config, f) != FAIL_NONE)
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
		ledger_answer_clear(&told[i].answer);
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
		code = print(&told, 1, how, f);
	ledger_answer_clear(&told.answer);
	return code;
}
