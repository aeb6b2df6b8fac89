#include "consumer/ledger/ledger_runs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/json_field.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "consumer/ledger/ledger_log.h"

enum { ANSWER_MS = 500, LIST_MAX = 201 };

void
ledger_runs_read(struct ledger_runs *out, const struct ledger *l)
{
	static const char *const path[] = {"changeable.max_lead_steps", "changeable.runs"};
	struct json_field_value value[2] = {0};
	struct json_field_paths *paths = NULL;
	struct json_field_scratch *scratch = NULL;
	struct failure f;

	*out = (struct ledger_runs){0};
	if (l->config != NULL && json_field_paths_open(&paths, path, 2, &f) == FAIL_NONE &&
	    json_field_scratch_open(&scratch, &f) == FAIL_NONE &&
	    json_field_read(paths, scratch, l->config, strlen(l->config), value, &f) == FAIL_NONE) {
		if (value[0].found == JSON_FIELD_OTHER)
			out->lead = strtoull(value[0].raw, NULL, 10); /* as canonical JSON */
		if (value[1].found == JSON_FIELD_OTHER)
			out->text = strndup(value[1].raw, value[1].raw_n);
	}
	json_field_scratch_close(scratch);
	json_field_paths_close(paths);
}

void
ledger_runs_clear(struct ledger_runs *r)
{
	free(r->text);
	r->text = NULL;
}

bool
ledger_runs_has(const struct ledger_runs *r, const char *run)
{
	char quoted[NAME_MAX_BYTES + 3];

	snprintf(quoted, sizeof(quoted), "\"%s\"", run);
	return r->text == NULL || strstr(r->text, quoted) != NULL;
}

void
ledger_runs_list(const struct ledger_runs *r, char *out, size_t room)
{
	size_t n = 0;

	assert(room > 0);
	/* No name has a character that JSON escapes. */
	for (const char *at = r->text == NULL ? "" : r->text; *at != '\0' && n + 2 < room; at++) {
		if (strchr("[]\" ", *at) == NULL)
			out[n++] = *at;
		if (*at == ',')
			out[n++] = ' ';
	}
	out[n] = '\0';
}

void
ledger_runs_warn(const char *mix, const char *run, const struct properties *properties)
{
	struct ledger last = {0};
	struct ledger_runs runs = {0};
	char list[LIST_MAX] = "";
	struct failure ignored;
	bool any = false;

	if (ledger_log_ask(&last, &any, mix, properties, ANSWER_MS, &ignored) == FAIL_NONE && any)
		ledger_runs_read(&runs, &last);
	ledger_runs_list(&runs, list, sizeof(list));
	if (list[0] != '\0' && !ledger_runs_has(&runs, run))
		log_warning(
		    "riffle: READ-RUN-UNKNOWN run %s is not in mix.runs (%s): the mixer "
		    "does not wait for it, and its commits hold back `riffle retain`. If the "
		    "name is mistyped, correct it, and `riffle runs --mix %s --forget %s` deletes "
		    "the commits; else add it to mix.runs and restart the mixer",
		    run, list, mix, run);
	ledger_runs_clear(&runs);
	ledger_clear(&last);
}
