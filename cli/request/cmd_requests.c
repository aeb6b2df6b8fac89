/*
 * riffle requests: lists what a mix was asked, and withdraws what has not taken effect.
 *
 *     no --cancel  --> request_list --> requests_print
 *     --cancel ID  --> a request of kind CANCEL --> request_print: the answer
 */
#include <stddef.h>
#include <string.h>

#include "cli/command.h"
#include "cli/request/request_print.h"
#include "cli/request/request_words.h"
#include "cli/request/requests_print.h"
#include "cli/signals.h"
#include "consumer/admin/request.h"

struct arguments {
	const char *mix, *cancel, *id;
	uint64_t timeout_s;
	bool json;
};

#define AT(field) offsetof(struct arguments, field)

/* What --help prints of the options, below the text of cmd_requests; defaults are in run(). */
static const struct arguments defaults = {0};

static const struct option_row rows[] = {
    {.name = "cancel",
	.kind = OPTION_TEXT,
	.at = AT(cancel),
	.value = "ID",
	.help = "withdraw the request of that id: open, or accepted and not in force yet"},
    REQUEST_PRINT_ID_ROW(AT(id), "; with --cancel: of the new request, not of the one withdrawn"),
    REQUEST_PRINT_TIMEOUT_ROW(AT(timeout_s)),
    OPTIONS_MIX_ROW(AT(mix)),
    {.name = "json", .kind = OPTION_FLAG, .at = AT(json), .help = "JSON; its keys are stable"},
};

/* An id that nobody has asked with is a mistake, which the topic shows without a mixer. */
static enum fail_code
cancel(struct request *r, const struct request_list *l, const struct arguments *a,
    const struct config *config, struct failure *f)
{
	struct request_print_how how = {.config = config,
	    .json = a->json,
	    .named = a->id != NULL,
	    .timeout_ms = (int)a->timeout_s * 1000};
	const struct request_entry *of = request_list_find(l, a->cancel);
	struct control c = {.kind = LEDGER_CANCEL, .at_step = -1, .partition = -1};
	enum fail_code code;

	if (of == NULL)
		return fail(f, FAIL_DATA, "mix %s has no request %s; `riffle requests` lists them",
		    a->mix, a->cancel);
	if (of->state != REQUEST_OPEN && of->state != REQUEST_ACCEPTED)
		return fail(f, FAIL_DATA, "request %s is %s: there is nothing to cancel", a->cancel,
		    request_state_names[of->state]);
	code = request_words_name(&c, a->id, "cancel", f);
	c.request = strdup(a->cancel);
	if (code == FAIL_NONE && c.request == NULL)
		code = fail_memory(f);
	if (code == FAIL_NONE)
		code = request_print(r, &c, 1, &how, f);
	control_clear(&c);
	return code;
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	struct arguments a = defaults;
	struct request_options with = {.stop = signals_stop()};
	struct request_list list = {0};
	struct request *request = NULL;
	struct config *c = NULL;
	struct options o;
	enum fail_code code;

	if (options_parse(&o, &cmd_requests, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (a.id != NULL && a.cancel == NULL)
		return fail(f, FAIL_USAGE, "--id goes with --cancel");
	if (options_mix_config(&c, &a.mix, &o, f) != FAIL_NONE)
		return f->code;
	with.mix = a.mix;
	with.properties = &c->kafka;
	code = request_open(&request, &with, f);
	if (code == FAIL_CONFIG)
		request_words_ask_mix(c, a.mix, f);
	if (code == FAIL_NONE)
		code = request_list_read(&list, a.mix, &c->kafka, request_ledger(request), f);
	if (code == FAIL_NONE)
		code = a.cancel == NULL ? requests_print(&list, a.json, stdout, f)
					: cancel(request, &list, &a, c, f);
	request_list_close(&list);
	request_close(request);
	config_close(c);
	return code;
}

const struct command cmd_requests = {
    .name = "requests",
    .summary = "list the requests to a mix, or withdraw one",
    .usage = "-c FILE | --mix NAME  [--cancel ID]  [OPTION...]",
    .help =
	"Lists the requests of `riffle weights`, `skip`, `runs --reset` and of this command, in "
	"the order in which they were sent, each with its id and who sent it. STATE is open: no "
	"mixer has answered it yet, and the next one will; accepted: it waits for STEP, the first "
	"step that it governs; in force; refused; or cancelled.\n"
	"\n"
	"--cancel withdraws a request that is open or accepted. It is a request itself: the mixer "
	"answers it between two steps, and the answer is in the ledger. While no mixer runs, both "
	"wait; the next mixer takes both before its first step, so that the cancelled request "
	"changes nothing. Exit 1: the mixer refused, or no answer came in time.",
    .example = "riffle requests -c run.yml\n"
	       "riffle requests -c run.yml --cancel weights-3f9c2d7e01ab44c8",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .run = run,
};
