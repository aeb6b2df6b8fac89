/* The JSON of serve_history: columns of points, versions, losses. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "cli/serve/serve_history_internal.h"
#include "common/base/buffer.h"
#include "common/base/json_memory.h"

enum { NUMBER_BYTES = 24 };

/* ---- numbers and texts ---- */

/*
 * Hundreds of thousands of numbers stand in an answer, so that they are not printed by jansson.
 * Without memory a text is marked, and ends as NULL.
 */
struct writer {
	struct buffer b;
	bool lost;
	double number; /* that was put last, */
	char text[32]; /* and its text: number_n bytes; 0: none was put */
	size_t number_n;
};

static void
put(struct writer *w, const char *text, size_t n)
{
	struct failure f;

	w->lost = w->lost || buffer_add(&w->b, text, n, &f) != FAIL_NONE;
}

static void
put_text(struct writer *w, const char *text)
{
	put(w, text, strlen(text));
}

static void
put_integer(struct writer *w, int64_t value)
{
	char text[NUMBER_BYTES], *at = text + sizeof(text);
	uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + left % 10);
	while ((left /= 10) > 0);
	if (value < 0)
		*--at = '-';
	put(w, at, (size_t)(text + sizeof(text) - at));
}

/* A value often stands many times in a row, as a share does: it is made a text once. */
static void
put_float(struct writer *w, double value)
{
	if (!isfinite(value)) {
		put_text(w, "null");
		return;
	}
	if (w->number_n == 0 || value < w->number || value > w->number)
		w->number_n = (size_t)snprintf(w->text, sizeof(w->text), "%.7g", value);
	w->number = value;
	put(w, w->text, w->number_n);
}

static void
put_string(struct writer *w, const char *text)
{
	json_t *s = json_print_text(text);
	char *quoted = s == NULL ? NULL : json_memory_text(s, JSON_ENCODE_ANY);

	w->lost = w->lost || quoted == NULL;
	put_text(w, quoted == NULL ? "\"\"" : quoted);
	free(quoted);
	json_decref(s);
}

/* Takes `value`, a piece of the answer that jansson prints. */
static void
put_json(struct writer *w, json_t *value)
{
	char *text =
	    value == NULL ? NULL : json_memory_text(value, JSON_COMPACT | JSON_PRESERVE_ORDER);

	w->lost = w->lost || text == NULL;
	put_text(w, text == NULL ? "null" : text);
	free(text);
	json_decref(value);
}

/* ---- pieces of the answer ---- */

/* A point of the answer: of the whole mix, or of a part of it. */
struct pick {
	const struct mix_history *of;
	size_t at;
};

/* A column of the points: what `get` says of each. */
static void
put_column(struct writer *w, const struct pick *pick, size_t n, const char *name,
    int64_t (*get)(const struct mix_history_point *))
{
	put_text(w, ",\"");
	put_text(w, name);
	put_text(w, "\":[");
	for (size_t i = 0; i < n; i++) {
		put_text(w, i == 0 ? "" : ",");
		put_integer(w, get(&pick[i].of->point[pick[i].at]));
	}
	put_text(w, "]");
}

static int64_t
step_of(const struct mix_history_point *p)
{
	return p->step;
}

static int64_t
time_of(const struct mix_history_point *p)
{
	return p->time_ms;
}

static int64_t
draws_of(const struct mix_history_point *p)
{
	return p->draws;
}

static int64_t
version_of(const struct mix_history_point *p)
{
	return p->version;
}

enum column { TAKEN, TOKENS, INTENDED, DEVIATION, COLUMNS };
static const char *const column_name[] = {
    [TAKEN] = "taken", [TOKENS] = "tokens", [INTENDED] = "intended", [DEVIATION] = "deviation"};

static void
put_value(struct writer *w, const struct mix_history_value *v, enum column column)
{
	switch (column) {
	case TAKEN: put_integer(w, v->taken); break;
	case TOKENS: put_integer(w, v->tokens); break;
	case INTENDED: put_float(w, (double)v->intended); break;
	case DEVIATION: put_float(w, (double)v->deviation); break;
	case COLUMNS: break;
	}
}

static void
put_domains(struct writer *w, const struct serve_history *h, const struct pick *pick, size_t n)
{
	put_text(w, ",\"domains\":[");
	for (size_t d = 0; d < h->points.domains_n; d++) {
		put_text(w, d == 0 ? "{\"name\":" : ",{\"name\":");
		put_string(w, h->points.name[d]);
		for (enum column c = TAKEN; c < COLUMNS; c++) {
			put_text(w, ",\"");
			put_text(w, column_name[c]);
			put_text(w, "\":[");
			for (size_t i = 0; i < n; i++) {
				put_text(w, i == 0 ? "" : ",");
				if (d < pick[i].of->point[pick[i].at].domains_n)
					put_value(
					    w, &mix_history_values(pick[i].of, pick[i].at)[d], c);
				else
					put_text(w, "null");
			}
			put_text(w, "]");
		}
		put_text(w, "}");
	}
	put_text(w, "]");
}

static json_t *
version_json(const struct version *v)
{
	static const char *const reason[] = {[LEDGER_BY_CONFIG] = "config",
	    [LEDGER_BY_PHASE] = "phase",
	    [LEDGER_BY_REQUEST] = "request"};
	json_t *shares = json_object();

	for (size_t i = 0; i < v->v.domains_n; i++)
		json_object_set_new(shares, v->v.domain[i].name, json_real(v->v.domain[i].share));
	return json_pack("{s:I, s:I, s:s, s:o, s:o, s:o, s:f, s:f, s:I, s:o}", "version",
	    (json_int_t)v->v.version, "step", (json_int_t)v->v.step, "reason", reason[v->v.reason],
	    "reason_id", json_print_text(v->v.reason_id), "who",
	    v->who == NULL ? json_null() : json_print_text(v->who), "phase",
	    json_print_text(v->v.phase), "temperature", v->v.temperature, "lr_scale", v->v.lr_scale,
	    "global_batch", (json_int_t)v->v.global_batch, "shares", shares);
}

static void
put_versions(struct writer *w, const struct serve_history *h, uint64_t from, uint64_t to)
{
	bool first = true;

	put_text(w, ",\"versions\":[");
	for (size_t i = 0; i < h->versions_n; i++) {
		uint64_t step = (uint64_t)h->version[i].v.step;
		uint64_t end =
		    i + 1 < h->versions_n ? (uint64_t)h->version[i + 1].v.step : UINT64_MAX;

		if (end <= from || step > to)
			continue; /* not in force in these steps */
		put_text(w, first ? "" : ",");
		put_json(w, version_json(&h->version[i]));
		first = false;
	}
	put_text(w, "]");
}

static void
put_loss(struct writer *w, const struct serve_history *h, const struct losses *l, size_t first)
{
	put_text(w, "{\"run\":");
	put_string(w, l->run);
	put_text(w, ",\"step\":[");
	for (size_t i = first; i < l->points.n; i++) {
		put_text(w, i == first ? "" : ",");
		put_integer(w, l->points.step[i]);
	}
	put_text(w, "],\"all\":[");
	for (size_t i = first; i < l->points.n; i++) {
		put_text(w, i == first ? "" : ",");
		put_float(w, l->points.all[i]);
	}
	put_text(w, "],\"domains\":{");
	for (size_t d = 0; d < l->points.domains_n && d < h->names_n; d++) {
		put_text(w, d == 0 ? "" : ",");
		put_string(w, h->name[d]);
		put_text(w, ":[");
		for (size_t i = first; i < l->points.n; i++) {
			put_text(w, i == first ? "" : ",");
			put_float(w, (double)l->points.domain[i * l->points.domains_n + d]);
		}
		put_text(w, "]");
	}
	put_text(w, "}}");
}

static void
put_losses(struct writer *w, const struct serve_history *h, uint64_t from)
{
	put_text(w, ",\"losses\":[");
	for (size_t i = 0; i < h->losses_n; i++) {
		const struct losses *l = &h->losses[i];
		size_t first = 0;

		while (first < l->points.n && (uint64_t)l->points.step[first] < from)
			first++;
		put_text(w, i == 0 ? "" : ",");
		put_loss(w, h, l, first);
	}
	put_text(w, "]");
}

static void
put_head(struct writer *w, const struct serve_history *h, bool complete)
{
	put_text(w, "{\"mix\":");
	put_string(w, h->config->mix.name);
	put_text(w, ",\"ledger_offset\":");
	if (h->offset < 0)
		put_text(w, "null");
	else
		put_integer(w, h->offset);
	put_text(w, ",\"step_first\":");
	put_integer(w, h->step_first);
	put_text(w, ",\"step_next\":");
	put_integer(w, h->step_next);
	put_text(w, complete ? ",\"complete\":true" : ",\"complete\":false");
	put_text(w, ",\"error\":");
	if (h->why[0] == '\0')
		put_text(w, "null");
	else
		put_string(w, h->why);
}

/* ---- the whole ---- */

/*
 * Points of a range: of a part at most three quarters of them, and behind it of the whole. Each of
 * the two has even ones. Returns how many.
 */
static size_t
pick_points(const struct serve_history *h, const struct part *part, const struct serve_range *range,
    struct pick *pick, size_t *at, size_t most)
{
	int64_t from = (int64_t)range->from, to = (int64_t)range->to;
	size_t n = 0, behind;

	if (part != NULL) {
		const struct mix_history *of = &part->points;

		n = mix_history_choose(of, from, to, at, most > 4 ? most - most / 4 : 2);
		for (size_t i = 0; i < n; i++)
			pick[i] = (struct pick){of, at[i]};
		if (of->point[of->n - 1].step >= from)
			from = of->point[of->n - 1].step + 1;
	}
	if (h->points.n == 0 || most - n < 2)
		return n;
	behind = mix_history_choose(&h->points, from, to, at, most - n);
	for (size_t i = 0; i < behind; i++)
		pick[n + i] = (struct pick){&h->points, at[i]};
	return n + behind;
}

struct serve_text *
serve_history_print(const struct serve_history *h, const struct serve_range *range,
    const struct part *part, bool complete)
{
	size_t most = SERVE_HISTORY_VALUES / (h->points.domains_n + 1), n;
	struct pick *pick;
	size_t *at;
	struct writer w = {0};

	most = range->points < most ? (size_t)range->points : most < 2 ? 2 : most;
	at = calloc(most, sizeof(*at));
	pick = calloc(most, sizeof(*pick));
	if (at == NULL || pick == NULL) {
		free(at);
		free(pick);
		return NULL;
	}
	n = pick_points(h, part, range, pick, at, most);
	put_head(&w, h, complete);
	put_column(&w, pick, n, "step", step_of);
	put_column(&w, pick, n, "time_ms", time_of);
	put_column(&w, pick, n, "draws", draws_of);
	put_column(&w, pick, n, "version", version_of);
	put_domains(&w, h, pick, n);
	put_versions(&w, h, range->from, range->to);
	put_losses(&w, h, range->losses_from);
	put_text(&w, "}\n");
	free(at);
	free(pick);
	if (w.lost) {
		buffer_close(&w.b);
		return NULL;
	}
	return serve_text_make((char *)w.b.bytes, w.b.n);
}
