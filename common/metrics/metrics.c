#include "common/metrics/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static const struct row {
	enum metrics_kind kind;
	const char *name, *label[METRICS_LABELS_MAX], *programs, *meaning;
} rows[] = {
#define METRICS_ROW(id, kind, name, first, second, programs, meaning)                              \
	[METRICS_##id] = {METRICS_##kind, name, {first, second}, programs, meaning},
    METRICS(METRICS_ROW)
#undef METRICS_ROW
};

static const char *const kind_name[] = {
    [METRICS_COUNTER] = "counter", [METRICS_GAUGE] = "gauge", [METRICS_HISTOGRAM] = "histogram"};

const double metrics_seconds[METRICS_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30};

/* ---- samples ---- */

/* The two lines in front of the first sample of a metric. */
static const struct row *
begin(struct metrics_text *m, enum metrics_id id)
{
	const struct row *r = &rows[id];

	assert((size_t)id < METRICS_N);
	assert(!m->begun[id] || m->last == id); /* samples of a metric stand together */
	if (!m->begun[id])
		text_add(&m->text, "# HELP %s %s\n# TYPE %s %s\n", r->name, r->meaning, r->name,
		    kind_name[r->kind]);
	m->begun[id] = true;
	m->last = id;
	return r;
}

/* `"value"`, with what the format escapes. */
static void
add_value(struct text *t, const char *value)
{
	for (const char *at = value; *at != '\0';) {
		size_t plain = strcspn(at, "\\\"\n");

		text_add(t, "%.*s", (int)plain, at);
		at += plain;
		if (*at != '\0')
			text_add(t, "\\%c", *at == '\n' ? 'n' : *at);
		at += *at != '\0';
	}
}

/* Name and labels of a sample, up to the space in front of its value. `le` NULL: none. */
static void
add_name(struct metrics_text *m, const struct row *r, const char *suffix, const char *le,
    const char *first, const char *second)
{
	const char *const value[METRICS_LABELS_MAX] = {first, second};
	const char *between = "{";

	text_add(&m->text, "%s%s", r->name, suffix);
	for (size_t i = 0; i < METRICS_LABELS_MAX; i++) {
		assert(r->label[i] != NULL || value[i] == NULL);
		if (value[i] == NULL)
			continue;
		text_add(&m->text, "%s%s=\"", between, r->label[i]);
		add_value(&m->text, value[i]);
		text_add(&m->text, "\"");
		between = ",";
	}
	if (le != NULL) {
		text_add(&m->text, "%sle=\"%s\"", between, le);
		between = ",";
	}
	text_add(&m->text, "%s ", *between == ',' ? "}" : "");
}

void
metrics_count(struct metrics_text *m, enum metrics_id id, int64_t value, const char *first,
    const char *second)
{
	const struct row *r = begin(m, id);

	assert(r->kind != METRICS_HISTOGRAM);
	add_name(m, r, "", NULL, first, second);
	text_add(&m->text, "%" PRId64 "\n", value);
}

void
metrics_number(
    struct metrics_text *m, enum metrics_id id, double value, const char *first, const char *second)
{
	const struct row *r;

	if (isnan(value))
		return;
	r = begin(m, id);
	assert(r->kind != METRICS_HISTOGRAM);
	add_name(m, r, "", NULL, first, second);
	text_add(&m->text, "%.17g\n", value);
}

void
metrics_observe(struct metrics_histogram *h, double seconds)
{
	size_t i = 0;

	while (i < METRICS_BUCKETS && seconds > metrics_seconds[i])
		i++;
	h->bucket[i]++;
	h->sum += seconds;
}

void
metrics_histogram(struct metrics_text *m, enum metrics_id id, const struct metrics_histogram *h,
    const char *first, const char *second)
{
	const struct row *r = begin(m, id);
	uint64_t below = 0;

	assert(r->kind == METRICS_HISTOGRAM);
	for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
		char limit[32] = "+Inf";

		if (i < METRICS_BUCKETS)
			snprintf(limit, sizeof(limit), "%g", metrics_seconds[i]);
		below += h->bucket[i];
		add_name(m, r, "_bucket", limit, first, second);
		text_add(&m->text, "%" PRIu64 "\n", below);
	}
	add_name(m, r, "_sum", NULL, first, second);
	text_add(&m->text, "%.17g\n", h->sum);
	add_name(m, r, "_count", NULL, first, second);
	text_add(&m->text, "%" PRIu64 "\n", below);
}

char *
metrics_take(struct metrics_text *m)
{
	char *text = text_take(&m->text);

	*m = (struct metrics_text){0};
	return text;
}

/* ---- the page ---- */

static const char page[] =
    "# Metrics\n"
    "\n"
    "Terms: [GLOSSARY.md](GLOSSARY.md).\n"
    "\n"
    "Printed by `riffle serve --metrics-list`. The names are API: metrics are added, and "
    "none is\n"
    "renamed or changes its meaning. They come at `/metrics` in Prometheus' text format.\n"
    "\n"
    "| names | from | what they say |\n"
    "|---|---|---|\n"
    "| `riffle_mix_`, `riffle_domain_`, `riffle_run_`, and all others of `serve` | `riffle "
    "serve` | the whole mix, as the broker knows it: the same from every `serve`, after "
    "every restart, and equal to `riffle status --json`. Alert on these |\n"
    "| `riffle_mixer_` | `riffle mix --metrics ADDR` | what one mixer's process has done "
    "since it started. They say why |\n"
    "| `riffle_producer_` | `riffle produce`, `import` with `--metrics ADDR` | the same of "
    "a producer |\n"
    "| `riffle_reader_` | `riffle read --metrics ADDR`; `riffle_metrics()` in C, "
    "`reader.metrics()` and `riffle.serve_metrics()` in Python | the same of one rank of a "
    "run |\n"
    "| `riffle_kafka_` | all but `serve` | librdkafka's figures, every five seconds or as "
    "often as the property `statistics.interval.ms` says. libriffle has them only where "
    "that property is set |\n"
    "\n"
    "Three figures are there twice. `riffle_mix_weights_version`, "
    "`riffle_domain_owed_sequences` and\n"
    "`riffle_mix_quarantined_sequences` are those of the ledger, for alerts and dashboards.\n"
    "`riffle_mixer_weights_version` and `riffle_mixer_owed_sequences` are those of the "
    "step that the\n"
    "mixer draws now, which may not be committed yet. "
    "`riffle_mixer_quarantined_sequences_total` counts\n"
    "what this process found.\n"
    "\n"
    "A name ends with its unit: `_seconds`, `_bytes`, or what is counted. `_total` is a "
    "counter,\n"
    "`_timestamp_seconds` a moment in seconds since 1970, `_ratio` a number without a "
    "unit: a share from\n"
    "0 to 1, and of `riffle_mix_lr_scale_ratio` a factor above 0. `_info` is always 1, for "
    "its labels.\n"
    "\n"
    "| metric | kind | labels | given by | what it is |\n"
    "|---|---|---|---|---|\n";

void
metrics_print_page(FILE *to)
{
	fputs(page, to);
	for (size_t i = 0; i < METRICS_N; i++) {
		const struct row *r = &rows[i];

		fprintf(to, "| `%s` | %s |", r->name, kind_name[r->kind]);
		for (size_t k = 0; k < METRICS_LABELS_MAX && r->label[k] != NULL; k++)
			fprintf(to, "%s `%s`", k == 0 ? "" : ",", r->label[k]);
		fprintf(to, " | %s | %s |\n", r->programs, r->meaning);
	}
}
