/* The JSON of serve_history: columns of points, versions, losses. */
#include <stdlib.h>

#include "cli/json_writer.h"
#include "cli/serve/serve_history_internal.h"

/* ---- pieces of the answer ---- */

/* A point of the answer: of the whole mix, or of a part of it. */
struct pick {
	const struct mix_history *of;
	size_t at;
};

/* A column of the points: what `get` says of each. */
static void
put_column(struct json_writer *w, const struct pick *pick, size_t n, const char *name,
    int64_t (*get)(const struct mix_history_point *))
{
	json_writer_begin(w, name, '[');
	for (size_t i = 0; i < n; i++)
		json_writer_integer(w, NULL, get(&pick[i].of->point[pick[i].at]));
	json_writer_end(w, ']');
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
put_value(struct json_writer *w, const struct mix_history_value *v, enum column column)
{
	switch (column) {
	case TAKEN: json_writer_integer(w, NULL, v->taken); break;
	case TOKENS: json_writer_integer(w, NULL, v->tokens); break;
	case INTENDED: json_writer_float(w, NULL, (double)v->intended); break;
	case DEVIATION: json_writer_float(w, NULL, (double)v->deviation); break;
	case COLUMNS: break;
	}
}

/* A point from before a domain joined has null for it. */
static void
put_domains(struct json_writer *w, const struct serve_history *h, const struct pick *pick, size_t n)
{
	json_writer_begin(w, "domains", '[');
	for (size_t d = 0; d < h->points.domains_n; d++) {
		json_writer_begin(w, NULL, '{');
		json_writer_text(w, "name", h->points.name[d]);
		for (enum column c = TAKEN; c < COLUMNS; c++) {
			json_writer_begin(w, column_name[c], '[');
			for (size_t i = 0; i < n; i++)
				if (d < pick[i].of->point[pick[i].at].domains_n)
					put_value(
					    w, &mix_history_values(pick[i].of, pick[i].at)[d], c);
				else
					json_writer_null(w, NULL);
			json_writer_end(w, ']');
		}
		json_writer_end(w, '}');
	}
	json_writer_end(w, ']');
}

static void
put_version(struct json_writer *w, const struct version *v)
{
	json_writer_begin(w, NULL, '{');
	json_writer_integer(w, "version", v->v.version);
	json_writer_integer(w, "step", v->v.step);
	json_writer_text(w, "reason", ledger_reason_names[v->v.reason]);
	json_writer_text(w, "reason_id", v->v.reason_id);
	if (v->who == NULL)
		json_writer_null(w, "who");
	else
		json_writer_text(w, "who", v->who);
	json_writer_text(w, "phase", v->v.phase);
	json_writer_double(w, "temperature", v->v.temperature);
	json_writer_double(w, "lr_scale", v->v.lr_scale);
	json_writer_integer(w, "global_batch", v->v.global_batch);
	json_writer_begin(w, "shares", '{');
	for (size_t i = 0; i < v->v.domains_n; i++) {
		json_writer_key(w, v->v.domain[i].name);
		json_writer_double(w, NULL, v->v.domain[i].share);
	}
	json_writer_end(w, '}');
	json_writer_end(w, '}');
}

static void
put_versions(struct json_writer *w, const struct serve_history *h, uint64_t from, uint64_t to)
{
	json_writer_begin(w, "versions", '[');
	for (size_t i = 0; i < h->versions_n; i++) {
		uint64_t step = (uint64_t)h->version[i].v.step;
		uint64_t end =
		    i + 1 < h->versions_n ? (uint64_t)h->version[i + 1].v.step : UINT64_MAX;

		if (end > from && step <= to) /* in force in these steps */
			put_version(w, &h->version[i]);
	}
	json_writer_end(w, ']');
}

static void
put_loss(struct json_writer *w, const struct serve_history *h, const struct losses *l, size_t first)
{
	const struct loss_history *p = &l->points;

	json_writer_begin(w, NULL, '{');
	json_writer_text(w, "run", l->run);
	json_writer_begin(w, "step", '[');
	for (size_t i = first; i < p->n; i++)
		json_writer_integer(w, NULL, p->step[i]);
	json_writer_end(w, ']');
	json_writer_begin(w, "all", '[');
	for (size_t i = first; i < p->n; i++)
		json_writer_float(w, NULL, p->all[i]);
	json_writer_end(w, ']');
	json_writer_begin(w, "domains", '{');
	for (size_t d = 0; d < p->domains_n && d < h->names_n; d++) {
		json_writer_key(w, h->name[d]);
		json_writer_begin(w, NULL, '[');
		for (size_t i = first; i < p->n; i++)
			json_writer_float(w, NULL, (double)p->domain[i * p->domains_n + d]);
		json_writer_end(w, ']');
	}
	json_writer_end(w, '}');
	json_writer_end(w, '}');
}

static void
put_losses(struct json_writer *w, const struct serve_history *h, uint64_t from)
{
	json_writer_begin(w, "losses", '[');
	for (size_t i = 0; i < h->losses_n; i++) {
		const struct losses *l = &h->losses[i];
		size_t first = 0;

		while (first < l->points.n && (uint64_t)l->points.step[first] < from)
			first++;
		put_loss(w, h, l, first);
	}
	json_writer_end(w, ']');
}

static void
put_head(struct json_writer *w, const struct serve_history *h, bool complete)
{
	json_writer_text(w, "mix", h->config->mix.name);
	json_writer_known(w, "ledger_offset", h->offset >= 0, h->offset);
	json_writer_integer(w, "step_first", h->step_first);
	json_writer_integer(w, "step_next", h->step_next);
	json_writer_boolean(w, "complete", complete);
	if (h->why[0] == '\0')
		json_writer_null(w, "error");
	else
		json_writer_text(w, "error", h->why);
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
	struct json_writer w = {.compact = true};
	struct failure f;
	char *text;

	most = range->points < most ? (size_t)range->points : most < 2 ? 2 : most;
	at = calloc(most, sizeof(*at));
	pick = calloc(most, sizeof(*pick));
	if (at == NULL || pick == NULL) {
		free(at);
		free(pick);
		return NULL;
	}
	n = pick_points(h, part, range, pick, at, most);
	json_writer_begin(&w, NULL, '{');
	put_head(&w, h, complete);
	put_column(&w, pick, n, "step", step_of);
	put_column(&w, pick, n, "time_ms", time_of);
	put_column(&w, pick, n, "draws", draws_of);
	put_column(&w, pick, n, "version", version_of);
	put_domains(&w, h, pick, n);
	put_versions(&w, h, range->from, range->to);
	put_losses(&w, h, range->losses_from);
	json_writer_end(&w, '}');
	free(at);
	free(pick);
	return json_writer_take(&w, &text, &n, &f) == FAIL_NONE ? serve_text_make(text, n) : NULL;
}
