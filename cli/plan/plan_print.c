#include "cli/plan/plan_print.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json_print.h"
#include "common/base/limits.h"
#include "common/config/topic_plan.h"

enum { TOKEN_WIDTH_MAX = 3 }; /* bytes */

/* Times that a sequence was drawn, on average over those that were drawn at all. */
static double
repetition(const struct forecast_domain *d)
{
	uint64_t once = d->at_end.taken < d->length ? d->at_end.taken : d->length;

	return once == 0 ? 0 : (double)d->at_end.taken / (double)once;
}

/* Of a domain without sequences nothing is drawn: 0, not a division by it. */
static double
passes(uint64_t drawn, uint64_t length)
{
	return length == 0 ? 0 : (double)drawn / (double)length;
}

static bool
keeps(const struct config *c, const char *domain)
{
	int i = config_domain_index(c, domain);

	return i >= 0 && c->domains[i].keep.n > 0;
}

/*
 * Records of batches before compression: more than they will be, but for what `keep` puts beside
 * the documents. How much that is only the documents know; `with_keep` counts the most that a
 * sequence of one document may have.
 */
static double
batch_bytes(const struct forecast *fc, const struct config *c, bool with_keep)
{
	double bytes = (double)topic_plan_plain_bytes(c, TOKEN_WIDTH_MAX) * (double)fc->draws;

	for (size_t i = 0; with_keep && i < fc->domains_n; i++)
		if (keeps(c, fc->domain[i].name))
			bytes += (double)LIMIT_KEEP_BYTES * (double)fc->domain[i].at_end.taken;
	return bytes;
}

/*
 * What goes through the broker: the mixer reads a sequence, writes it, and one run of trainers
 * reads it. A second run would add a third of this again.
 */
static double
kafka_bytes(const struct forecast *fc, const struct config *c, bool with_keep)
{
	return 3 * batch_bytes(fc, c, with_keep);
}

/* Names the domains whose records are larger than the figure says. */
static void
print_keep(const struct forecast *fc, const struct config *c, FILE *to)
{
	bool any = false;

	for (size_t i = 0; i < fc->domains_n; i++) {
		if (!keeps(c, fc->domain[i].name) || fc->domain[i].at_end.taken == 0)
			continue;
		fprintf(to, "%s%s",
		    any ? ", " : "not counted: what `keep` puts beside documents of ",
		    fc->domain[i].name);
		any = true;
	}
	if (any)
		fprintf(to, " (at most %d KiB a document)\n", LIMIT_KEEP_BYTES / 1024);
}

/* ---- the table ---- */

static int
name_width(const struct forecast *fc)
{
	int width = (int)strlen("DOMAIN");

	for (size_t i = 0; i < fc->domains_n; i++)
		if ((int)strlen(fc->domain[i].name) > width)
			width = (int)strlen(fc->domain[i].name);
	return width;
}

static bool
batch_changes(const struct forecast *fc)
{
	for (size_t i = 0; i < fc->stretches_n; i++)
		if (fc->stretch[i].global_batch != fc->global_batch)
			return true;
	return false;
}

/* "16", or "16 to 64" where phases change it. */
static const char *
batch_text(char out[static 32], const struct forecast *fc)
{
	uint32_t least = UINT32_MAX, most = 0;

	for (size_t i = 0; i < fc->stretches_n; i++) {
		uint32_t batch = fc->stretch[i].global_batch;

		least = batch < least ? batch : least;
		most = batch > most ? batch : most;
	}
	if (fc->stretches_n == 0)
		least = most = fc->global_batch;
	if (least == most)
		snprintf(out, 32, "%" PRIu32, most);
	else
		snprintf(out, 32, "%" PRIu32 " to %" PRIu32, least, most);
	return out;
}

/* The first table: one stretch, the half-open range of steps [first, end). */
static void
print_stretch(const struct forecast *fc, const struct forecast_stretch *s, int width, FILE *to)
{
	double all = (double)s->draws;

	fprintf(to, "\nsteps %" PRIu64 "..%" PRIu64 "%s%s  lr_scale %g  temperature %g", s->first,
	    s->end, s->phase[0] == '\0' ? "" : "  phase ", s->phase, s->lr_scale, s->temperature);
	if (batch_changes(fc))
		fprintf(to, "  global_batch %" PRIu32, s->global_batch);
	fprintf(to, "\n");
	fprintf(to, "%-*s  %12s  %12s  %12s  %16s  %10s  %10s\n", width, "DOMAIN", "INTENDED",
	    "ACHIEVED", "SEQUENCES", "TOKENS", "EPOCHS", "WORST RANK");
	for (size_t d = 0; d < fc->domains_n; d++) {
		const struct forecast_share *x = &s->share[d];

		fprintf(to,
		    "%-*s  %11.6f%%  %11.6f%%  %12" PRIu64 "  %16" PRIu64 "  %10.4f  %9.4f%%\n",
		    width, fc->domain[d].name, 100 * x->intended, 100 * (double)x->drawn / all,
		    x->drawn, x->drawn * fc->sequence_length,
		    passes(x->drawn, fc->domain[d].length), 100 * x->rank_error);
	}
}

static const char *
step_text(char out[static 24], uint64_t step)
{
	if (step == FORECAST_NEVER)
		return "never";
	snprintf(out, 24, "%" PRIu64, step);
	return out;
}

/* The second table: where each domain stands after the last step. */
static void
print_domains(const struct forecast *fc, int width, FILE *to)
{
	fprintf(to, "\nall steps\n%-*s  %12s  %12s  %10s  %12s  %12s  %10s\n", width, "DOMAIN",
	    "LENGTH", "SEQUENCES", "EPOCHS", "FIRST DRAWN", "EXHAUSTED", "REPETITION");
	for (size_t i = 0; i < fc->domains_n; i++) {
		const struct forecast_domain *d = &fc->domain[i];
		char first[24], exhausted[24];

		fprintf(to, "%-*s  %12" PRIu64 "  %12" PRIu64 "  %10.4f  %12s  %12s  %10.4f\n",
		    width, d->name, d->length, d->at_end.taken, passes(d->at_end.taken, d->length),
		    step_text(first, d->first_step), step_text(exhausted, d->exhausted_step),
		    repetition(d));
	}
}

void
plan_print_table(const struct forecast *fc, const struct config *c, FILE *to)
{
	int width = name_width(fc);
	char batch[32];

	assert(fc->stretches_n <= FORECAST_STRETCHES_MAX);
	fprintf(to,
	    "mix %s: %" PRIu64 " steps of %s sequences on %" PRIu32 " lanes: %" PRIu64
	    " sequences, %" PRIu64 " tokens; ",
	    c->mix.name, fc->steps, batch_text(batch, fc), fc->lanes, fc->draws,
	    fc->draws * fc->sequence_length);
	if (fc->dry)
		fprintf(to, "then domain %s, which is live, has nothing further\n", fc->dry_domain);
	else
		fprintf(to, "%s\n", fc->ended ? "then the mix ends" : "the mix continues");
	fprintf(to,
	    "through Kafka at most %.1f MB: read by the mixer, written, read by one run, before "
	    "compression\n",
	    kafka_bytes(fc, c, false) / 1e6);
	print_keep(fc, c, to);
	for (size_t i = 0; i < fc->stretches_n; i++)
		print_stretch(fc, &fc->stretch[i], width, to);
	print_domains(fc, width, to);
}

/* ---- JSON ---- */

static json_t *
number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *
step_or_null(uint64_t step)
{
	return step == FORECAST_NEVER ? json_null() : number(step);
}

/* All steps, with the keys that `riffle status --json` has for a domain where both know it. */
static json_t *
domains_of(const struct forecast *fc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fc->domains_n; i++) {
		const struct forecast_domain *d = &fc->domain[i];
		const struct mixer_standing *at = &d->at_end;
		double all = fc->draws == 0 ? 1 : (double)fc->draws;

		json_array_append_new(list,
		    json_pack("{s:s, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:o, s:f}",
			"name", d->name, "weight", at->weight, "intended", at->share, "realised",
			(double)at->taken / all, "taken", number(at->taken), "tokens",
			number(at->tokens - at->taken), "epoch", number(at->epoch), "position",
			number(at->position), "length", number(d->length), "epochs",
			passes(at->taken, d->length), "first_step", step_or_null(d->first_step),
			"exhausted_step", step_or_null(d->exhausted_step), "repetition",
			repetition(d)));
	}
	return list;
}

static json_t *
shares_of(const struct forecast *fc, const struct forecast_stretch *s)
{
	double all = (double)s->draws;
	json_t *list = json_array();

	for (size_t d = 0; d < fc->domains_n; d++) {
		const struct forecast_share *x = &s->share[d];

		json_array_append_new(list,
		    json_pack("{s:s, s:f, s:f, s:o, s:o, s:f, s:f}", "name", fc->domain[d].name,
			"intended", x->intended, "achieved", (double)x->drawn / all, "sequences",
			number(x->drawn), "tokens", number(x->drawn * fc->sequence_length),
			"epochs", passes(x->drawn, fc->domain[d].length), "worst_rank_error",
			x->rank_error));
	}
	return list;
}

static json_t *
stretches_of(const struct forecast *fc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < fc->stretches_n; i++) {
		const struct forecast_stretch *s = &fc->stretch[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:o, s:o, s:f, s:f, s:o, s:o}", "phase", s->phase,
			"first_step", number(s->first), "end_step", number(s->end), "lr_scale",
			s->lr_scale, "temperature", s->temperature, "global_batch",
			number(s->global_batch), "domains", shares_of(fc, s)));
	}
	return list;
}

enum fail_code
plan_print_json(const struct forecast *fc, const struct config *c, FILE *to, struct failure *f)
{
	json_t *o =
	    json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:o}",
		"mix", c->mix.name, "steps", number(fc->steps), "ended", fc->ended, "dry",
		fc->dry ? json_string(fc->dry_domain) : json_null(), "global_batch",
		number(fc->global_batch), "lanes", number(fc->lanes), "sequence_length",
		number(fc->sequence_length), "draws", number(fc->draws), "tokens",
		number(fc->draws * fc->sequence_length), "batch_bytes", batch_bytes(fc, c, false),
		"kafka_bytes", kafka_bytes(fc, c, false), "batch_bytes_max",
		batch_bytes(fc, c, true), "kafka_bytes_max", kafka_bytes(fc, c, true), "phases",
		stretches_of(fc), "domains", domains_of(fc));

	return json_print(o, JSON_PRESERVE_ORDER | JSON_INDENT(2), to, f);
}

/* ---- draws ---- */

/*
 * A mixer of its own takes the steps again. Without the permutation, and with lanes that are
 * contiguous, a step's draws are in the order in which they were made. Neither of the two changes
 * which domain is drawn. The third column is count[domain], how many the domain gave before; it is
 * no ordinal, as the order of an epoch decides which sequence that is.
 *
 *     0	prose	0
 *     1	code	0
 *     2	prose	1
 */
enum fail_code
plan_print_draws(const struct config *c, const struct mixer_plan *plan, uint64_t draws, FILE *to,
    struct failure *f)
{
	struct mixer_plan bare = *plan;
	uint64_t *count = calloc(c->domains_n, sizeof(*count));
	struct mixer_draw *draw = NULL;
	enum mixer_result result = MIXER_DRAWN;
	struct mixer *m = NULL;
	uint32_t i = 0, n = 0; /* the next draw of the open step, and how many it has */
	enum fail_code code = count == NULL ? fail_memory(f) : FAIL_NONE;

	bare.permute = false;
	bare.lane_order = MIX_LANES_CONTIGUOUS;
	if (code == FAIL_NONE)
		code = mixer_open(&m, &bare, f);
	if (code == FAIL_NONE) {
		draw = calloc(mixer_global_batch_most(m), sizeof(*draw));
		code = draw == NULL ? fail_memory(f) : FAIL_NONE;
	}
	for (uint64_t k = 0; code == FAIL_NONE && k < draws; k++, i++) {
		if (i == n) {
			code = mixer_step(m, draw, &result, f);
			i = 0;
			n = mixer_global_batch(m);
		}
		if (code != FAIL_NONE || result != MIXER_DRAWN)
			break;
		fprintf(to, "%" PRIu64 "\t%s\t%" PRIu64 "\n", k,
		    mixer_domain_name(m, draw[i].domain), count[draw[i].domain]++);
	}
	mixer_close(m);
	free(count);
	free(draw);
	return code;
}
