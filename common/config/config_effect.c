/* Keys that others make impossible, and keys that are given where they have no effect. */
#include <inttypes.h>
#include <math.h>

#include "common/config/config_parts.h"

/* ---- a domain ---- */

static bool
is_single(const struct config_domain *d)
{
	return d->packing == SEQUENCE_NONE;
}

static bool
has_prompt(const struct config_domain *d)
{
	return d->prompt != NULL;
}

static bool
has_no_prompt(const struct config_domain *d)
{
	return d->prompt == NULL;
}

static bool
is_live(const struct config_domain *d)
{
	return d->live;
}

static bool
lends(const struct config_domain *d)
{
	return d->live && d->on_dry == MIX_DRY_LEND;
}

static bool
is_text(const struct config_domain *d)
{
	return d->tokens == TOKEN_FORMAT_NONE;
}

static bool
is_without_width(const struct config_domain *d)
{
	return d->tokens == TOKEN_FORMAT_NPY || d->tokens == TOKEN_FORMAT_DS;
}

/* What a key needs to have an effect. */
struct need {
	const char *key;
	bool (*met)(const struct config_domain *d);
	const char *sentence;
};

static const struct need needs[] = {
    {"token_bytes", is_without_width,
	"has no effect without tokens: npy or ds; other files say how wide their tokens are"},
    {"exec", is_text, "cannot be given beside tokens: give the files that hold them as train"},
    {"where", is_text, "cannot be given beside tokens, which have no fields"},
    {"text", is_text, "cannot be given beside tokens, which have no fields"},
    {"prompt", is_text, "cannot be given beside tokens, which have no fields"},
    {"keep", is_text, "cannot be given beside tokens, which have no fields"},
    {"over_long", is_single,
	"has no effect without packing: none; what else is packed is cut where it must be"},
    {"prompt", is_single, "needs packing: none: a loss mask is that of one document a sequence"},
    {"response", has_prompt, "has no effect without prompt: the field in front of it"},
    {"text", has_no_prompt,
	"has no effect beside prompt: a document is its prompt and its response"},
    {"keep", is_single, "needs packing: none: what is kept is that of one document a sequence"},
    {"on_dry", is_live,
	"has no effect without live: true; only a domain whose data keep arriving can be dry"},
    {"catch_up", lends,
	"has no effect without on_dry: lend: where nothing is lent, nothing is "
	"paid back"},
};

/* What keeps arriving grows by whole lines, which tokens have not. */
static enum fail_code
check_tokens(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	if (d->tokens == TOKEN_FORMAT_NONE || !d->live)
		return FAIL_NONE;
	return config_fail_domain(
	    c, root, d, "live", f, "cannot be given beside tokens: their files are complete");
}

static enum fail_code
check_needs(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (config_domain_has(root, d, needs[i].key) && !needs[i].met(d))
			return config_fail_domain(c, root, d, needs[i].key, f, needs[i].sentence);
	return FAIL_NONE;
}

/* ---- the mix ---- */

static enum fail_code
check_schedule(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	const struct config_mix *m = &c->mix;
	bool rounds = m->epoch_size > 0 || m->epoch_largest;
	bool deficit = m->schedule == SCHEDULE_DEFICIT;
	bool tokens = m->weights_unit == MIX_BY_TOKENS;

	if (tokens && !deficit)
		return config_fail(c, config_line(root, "mix", "weights_unit"), "mix.weights_unit",
		    f, "tokens needs schedule: deficit, the only one that can count in tokens");
	if (rounds && !deficit)
		return config_fail(c, config_line(root, "mix", "epoch_size"), "mix.epoch_size", f,
		    "needs schedule: deficit, the only one that draws exact counts");
	if (rounds && tokens)
		return config_fail(c, config_line(root, "mix", "epoch_size"), "mix.epoch_size", f,
		    "counts draws, so that it needs weights_unit: sequences");
	return FAIL_NONE;
}

static enum fail_code
check_live(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	const struct config_mix *m = &c->mix;

	if (m->epoch_size > 0 || m->epoch_largest)
		return config_fail(c, config_line(root, "mix", "epoch_size"), "mix.epoch_size", f,
		    "cannot be given with a live domain, %s (line %d): what keeps arriving has no "
		    "length, and rounds no exact counts",
		    d->name, d->line);
	if (m->weights_kind == CONFIG_WEIGHTS_SIZE)
		return config_fail(c, config_line(root, "mix", "weights"), "mix.weights", f,
		    "size cannot be given with a live domain, %s (line %d): what keeps arriving "
		    "has no size",
		    d->name, d->line);
	if (!lends(d))
		return FAIL_NONE;
	if (m->schedule != SCHEDULE_DEFICIT)
		return config_fail_domain(c, root, d, "on_dry", f,
		    "lend needs mix.schedule: deficit, the only one that keeps debts");
	if (m->weights_unit == MIX_BY_TOKENS)
		return config_fail_domain(c, root, d, "on_dry", f,
		    "lend counts debts in draws, so that it needs mix.weights_unit: sequences");
	return FAIL_NONE;
}

/* Domains with a weight; of phase `p`, or of the base where it is NULL. */
static size_t
count_positive(const struct config *c, const struct config_phase *p)
{
	size_t n = 0;

	for (size_t d = 0; d < c->domains_n; d++) {
		double base = c->mix.weight[d];
		double weight = p == NULL || isnan(p->weight[d]) ? base : p->weight[d];

		n += weight > 0; /* a size, which is NAN, may turn out to be 0 */
	}
	return n;
}

/* Each domain with a weight is drawn at least once a round. */
static enum fail_code
check_round(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	const struct config_mix *m = &c->mix;

	for (size_t i = 0; m->epoch_size > 0 && i <= m->phases_n; i++) {
		const struct config_phase *p = i == 0 ? NULL : &m->phases[i - 1];
		size_t n = count_positive(c, p);

		if (n > m->epoch_size)
			return config_fail(c, config_line(root, "mix", "epoch_size"),
			    "mix.epoch_size", f,
			    "out of range: %" PRIu64
			    " (at least a draw for each of the %zu domains "
			    "with a weight%s%s)",
			    m->epoch_size, n, p == NULL ? "" : " in phase ",
			    p == NULL ? "" : p->name);
	}
	return FAIL_NONE;
}

enum fail_code
config_check_effect(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if (check_needs(c, root, &c->domains[i], f) != FAIL_NONE ||
		    check_tokens(c, root, &c->domains[i], f) != FAIL_NONE)
			return f->code;
	if (c->mix.name == NULL)
		return FAIL_NONE;
	if (check_schedule(c, root, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live && check_live(c, root, &c->domains[i], f) != FAIL_NONE)
			return f->code;
	return check_round(c, root, f);
}
