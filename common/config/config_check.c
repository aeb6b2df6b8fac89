/*
 * What keys must be to each other: names that collide, records too large, keys without effect.
 *
 * Each value alone was checked when it was read (config_value.c). Here the struct is complete, with
 * its defaults. Whether a key was given, and in which line, only the tree knows: hence `root`
 * beside `c` everywhere. Of several problems the first in the order of config_check() is reported.
 */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/config/config_internal.h"
#include "common/config/topic_plan.h"

enum {
	MIX_TOPICS = 5,
	MIX_TOPIC_LANES = 4,
};

int
config_line(const struct yaml_node *root, const char *section, const char *key)
{
	/* As near as the file allows: the key, else its section, else the top of the file. */
	const struct yaml_node *outer = section == NULL ? root : yaml_node_get(root, section);
	const struct yaml_node *inner = yaml_node_get(outer, key);

	assert(key != NULL);
	return inner != NULL ? inner->line : outer != NULL ? outer->line : root->line;
}

static const struct yaml_node *
domain_node(const struct yaml_node *root, const struct config_domain *d)
{
	return yaml_node_get(yaml_node_get(root, "domains"), d->name);
}

static int
domain_line(const struct yaml_node *root, const struct config_domain *d, const char *key)
{
	const struct yaml_node *node = yaml_node_get(domain_node(root, d), key);

	return node != NULL ? node->line : d->line;
}

static enum fail_code
check_replicas(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	if (c->min_insync_replicas > c->replication)
		return config_fail(c, config_line(root, "topics", "min_insync_replicas"),
		    "topics.min_insync_replicas", f,
		    "out of range: %u (at most topics.replication, %u)", c->min_insync_replicas,
		    c->replication);
	return FAIL_NONE;
}

static bool
domain_has(const struct yaml_node *root, const struct config_domain *d, const char *key)
{
	return yaml_node_get(domain_node(root, d), key) != NULL;
}

/* FAIL_CONFIG about a key of a domain; "": about the domain. */
static enum fail_code
fail_domain(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    const char *key, struct failure *f, const char *what)
{
	char path[NAME_MAX_BYTES + 64];

	snprintf(path, sizeof(path), "domains.%s%s%s", d->name, *key == '\0' ? "" : ".", key);
	return config_fail(c, domain_line(root, d, key), path, f, "%s", what);
}

/* An address such as s3://bucket/x: riffle reads files, programs read the rest. */
static enum fail_code
check_local(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    const char *key, const struct config_list *files, struct failure *f)
{
	char what[4 * CONFIG_SHOWN_MAX], shown[CONFIG_SHOWN_MAX];
	bool train = strcmp(key, names_set_text[SET_TRAIN]) == 0;

	for (size_t i = 0; i < files->n; i++) {
		if (strstr(files->text[i], "://") == NULL)
			continue;
		config_shown(shown, files->text[i]);
		snprintf(what, sizeof(what),
		    "%s is not a path; %sexec: \"riffle-source '%s'\"%s, a program of riffle's "
		    "Python package",
		    shown, train ? "in place of train give " : "give {", shown, train ? "" : "}");
		return fail_domain(c, root, d, key, f, what);
	}
	return FAIL_NONE;
}

/* What a shell would expand: a component that begins with $NAME or ${NAME}, or a ~ in front. */
static bool
is_for_shell(const char *pattern)
{
	const char *at = pattern;

	if (*pattern == '~')
		return true;
	for (; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '$' && (at[1] == '{' || at[1] == '_' || isalpha((unsigned char)at[1])))
			return true;
	}
	return false;
}

static enum fail_code
check_expanded(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    const char *key, const struct config_list *files, struct failure *f)
{
	char what[4 * CONFIG_SHOWN_MAX], shown[CONFIG_SHOWN_MAX];

	for (size_t i = 0; i < files->n; i++) {
		if (!is_for_shell(files->text[i]))
			continue;
		config_shown(shown, files->text[i]);
		snprintf(what, sizeof(what),
		    "%s: ~ and $NAME are not expanded: write the path itself (a file that is "
		    "named so: [~] or [$])",
		    shown);
		return fail_domain(c, root, d, key, f, what);
	}
	return FAIL_NONE;
}

static int
compare_patterns(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Who names a file twice expects its documents twice, and a file is read once. */
static enum fail_code
check_once(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    const char *key, const struct config_list *files, struct failure *f)
{
	char what[4 * CONFIG_SHOWN_MAX], shown[CONFIG_SHOWN_MAX];
	char **sorted = calloc(files->n + 1, sizeof(*sorted));
	enum fail_code code = sorted == NULL ? fail_memory(f) : FAIL_NONE;

	for (size_t i = 0; i < files->n && code == FAIL_NONE; i++)
		sorted[i] = files->text[i];
	if (files->n > 0 && code == FAIL_NONE)
		qsort(sorted, files->n, sizeof(*sorted), compare_patterns);
	for (size_t i = 1; i < files->n && code == FAIL_NONE; i++) {
		if (strcmp(sorted[i - 1], sorted[i]) != 0)
			continue;
		config_shown(shown, sorted[i]);
		snprintf(what, sizeof(what),
		    "%s is named twice: a file is read once; the weight of its domain says how "
		    "often it is drawn",
		    shown);
		code = fail_domain(c, root, d, key, f, what);
	}
	free(sorted);
	return code;
}

/* What a set is read from; the sets of a domain differ in it. */
static enum fail_code
check_input(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    enum names_set set, struct failure *f)
{
	const struct config_list *files = config_set_files(d, set);
	const char *key = names_set_text[set], *exec = config_set_exec(d, set);

	if (check_local(c, root, d, key, files, f) != FAIL_NONE ||
	    check_expanded(c, root, d, key, files, f) != FAIL_NONE ||
	    check_once(c, root, d, key, files, f) != FAIL_NONE)
		return f->code;
	if (set == SET_TRAIN)
		return FAIL_NONE;
	if (domain_has(root, d, key) && !config_set_has_input(d, set))
		return fail_domain(
		    c, root, d, key, f, "is empty: needs files, as train, or exec, a program");
	if (exec != NULL && d->exec != NULL && strcmp(exec, d->exec) == 0)
		return fail_domain(c, root, d, key, f,
		    "exec is that of the domain, too: its documents would be trained on and held "
		    "out");
	return FAIL_NONE;
}

static enum fail_code
check_domain(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	bool files = d->train.n > 0, program = d->exec != NULL;

	for (int set = SET_TRAIN; set < SETS_COUNT; set++)
		if (check_input(c, root, d, (enum names_set)set, f) != FAIL_NONE)
			return f->code;
	if (strcmp(d->name, "rejects") == 0)
		return fail_domain(c, root, d, "", f,
		    "the name is taken: <corpus>.rejects holds what could not be read");
	if (files && program)
		return fail_domain(
		    c, root, d, "exec", f, "train and exec exclude each other: give one of them");
	if (!files && !program && !config_is_split(d))
		return fail_domain(c, root, d,
		    config_set_has_input(d, SET_VALID) ? "valid" : "test", f,
		    "is without train: give train or exec, from which the mix is drawn");
	if (!files && !program)
		return fail_domain(c, root, d, "", f,
		    c->domains_from == NULL
			? "has no source: give train (files) or exec (a program)"
			: "has no source: the folder of domains_from has no sub-folder of that "
			  "name; make one, or give train (files) or exec (a program)");
	if (!config_has_program(d) && d->exec_name != NULL)
		return fail_domain(c, root, d, "exec_name", f,
		    "has no effect without exec: it is what records call the program");
	if (config_has_program(d) && d->partitions > 1)
		return fail_domain(c, root, d, "partitions", f,
		    "one program cannot be dealt to several producers: must be 1 with exec");
	if (d->where_field != NULL && d->where_equals == NULL)
		return fail_domain(c, root, d, "where", f,
		    "where.equals is missing: the value that makes a document this domain's");
	if (d->where_field == NULL && d->where_equals != NULL)
		return fail_domain(c, root, d, "where", f,
		    "where.field is missing: the field that must be equal to where.equals");
	if (d->where_field == NULL && domain_has(root, d, "where"))
		return fail_domain(c, root, d, "where", f, "is empty: needs field and equals");
	return FAIL_NONE;
}

static int
compare_inputs(const struct config_domain *a, const struct config_domain *b)
{
	int order = (a->exec == NULL) - (b->exec == NULL);

	if (order != 0)
		return order;
	if (a->exec != NULL)
		return strcmp(a->exec, b->exec);
	for (size_t i = 0; i < a->train.n && i < b->train.n; i++)
		if ((order = strcmp(a->train.text[i], b->train.text[i])) != 0)
			return order;
	return (a->train.n > b->train.n) - (a->train.n < b->train.n);
}

static int
compare_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return (a != NULL) - (b != NULL);
	return strcmp(a, b);
}

/*
 * Sorts domains so that those with one input are neighbours: among these the ones without `where`
 * come first, and equal `where` are neighbours too. Then comparing neighbours finds every conflict
 * among 4096 domains, where comparing pairs would take 8 million steps:
 *
 *     web   train: w.jsonl                         \  check_shared(web, blog): web takes every
 *     blog  train: w.jsonl, where: {source: blog}  /  document of an input that blog shares
 *     code  train: c.jsonl                            another input: not compared
 */
static int
compare_sources(const void *a, const void *b)
{
	const struct config_domain *x = *(const struct config_domain *const *)a;
	const struct config_domain *y = *(const struct config_domain *const *)b;
	int order = compare_inputs(x, y);

	if (order == 0)
		order = compare_text(x->where_field, y->where_field);
	if (order == 0)
		order = compare_text(x->where_equals, y->where_equals);
	return order != 0 ? order : strcmp(x->name, y->name);
}

/* `a` and `b` share one input; `a` comes first in the order of compare_sources(). */
static enum fail_code
check_shared(const struct config *c, const struct yaml_node *root, const struct config_domain *a,
    const struct config_domain *b, struct failure *f)
{
	char what[NAME_MAX_BYTES + 200];
	const char *key;

	assert(compare_inputs(a, b) == 0);
	if (a->where_field == NULL) {
		snprintf(what, sizeof(what),
		    "takes every document of an input that domain %s (%s) shares: give each a "
		    "where",
		    b->name, CONFIG_WHERE(b->line));
		return fail_domain(c, root, a, "", f, what);
	}
	if (compare_text(a->where_field, b->where_field) == 0 &&
	    compare_text(a->where_equals, b->where_equals) == 0) {
		snprintf(what, sizeof(what),
		    "wants the same documents of the same input as domain %s (%s)", a->name,
		    CONFIG_WHERE(a->line));
		return fail_domain(c, root, b, "where", f, what);
	}
	key = compare_text(a->exec_name, b->exec_name) != 0 ? "exec_name"
	      : a->live != b->live                          ? "live"
	      : a->partitions != b->partitions              ? "partitions"
	      : a->file_order != b->file_order              ? "file_order"
							    : NULL;
	if (key == NULL)
		return FAIL_NONE;
	snprintf(what, sizeof(what),
	    "differs from that of domain %s (%s), which shares its input: must agree", a->name,
	    CONFIG_WHERE(a->line));
	return fail_domain(c, root, b, key, f, what);
}

static enum fail_code
check_sources(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	const struct config_domain **sorted = calloc(c->domains_n, sizeof(struct config_domain *));
	enum fail_code code = FAIL_NONE;

	if (sorted == NULL)
		return fail_memory(f);
	for (size_t i = 0; i < c->domains_n; i++)
		sorted[i] = &c->domains[i];
	qsort(sorted, c->domains_n, sizeof(struct config_domain *), compare_sources);
	for (size_t i = 1; i < c->domains_n && code == FAIL_NONE; i++)
		if (compare_inputs(sorted[i - 1], sorted[i]) == 0)
			code = check_shared(c, root, sorted[i - 1], sorted[i], f);
	free(sorted);
	return code;
}

/*
 * A topic and what it is for. `canon` is its name with "_" as ".": names of metrics in Kafka have
 * no dots, so that a broker refuses to create a.b where a_b exists.
 */
struct use {
	char name[TOPIC_MAX_BYTES + 1];
	char canon[TOPIC_MAX_BYTES + 1];
	const struct config_domain *domain; /* NULL: of the mix, or the rejects */
};

static int
compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = strcmp(x->canon, y->canon);

	/* Those of the mix come last, so that a collision is reported with the domain's line. */
	return order != 0 ? order : (x->domain == NULL) - (y->domain == NULL);
}

static void
canonise(struct use *u)
{
	for (size_t i = 0; i <= strlen(u->name); i++)
		u->canon[i] = u->name[i] == '_' ? '.' : u->name[i];
}

/* Whether some domain's files keep arriving: their order is in a topic of its own. */
static bool
any_live_files(const struct config *c)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live && config_has_files(&c->domains[i]))
			return true;
	return false;
}

/*
 * Fills use[SETS_COUNT * domains_n + 2 + MIX_TOPICS] with all topics that the file can imply, and
 * sorts them so that names which collide are neighbours. Returns how many there are. All three sets
 * of each domain count, whatever `split` is today: a set that is added later must not collide.
 */
static size_t
list_uses(const struct config *c, struct use *use)
{
	static const char *const of_mix[MIX_TOPICS] = {
	    "batches", "ledger", "control", "feedback", [MIX_TOPIC_LANES] = "lanes"};
	size_t n = 0;

	for (size_t i = 0; i < c->domains_n; i++)
		for (int set = 0; set < SETS_COUNT; set++) {
			use[n].domain = &c->domains[i];
			names_domain_topic(
			    use[n++].name, c->corpus, c->domains[i].name, (enum names_set)set);
		}
	names_topic(use[n++].name, c->corpus, "rejects");
	if (any_live_files(c))
		names_topic(use[n++].name, c->corpus, "arrivals");
	for (size_t i = 0; c->mix.name != NULL && i < MIX_TOPICS; i++)
		if (i == MIX_TOPIC_LANES ? c->mix.partitions < c->mix.lanes
					 : i > 0 || c->mix.partitions > 0)
			names_topic(use[n++].name, c->mix.name, of_mix[i]);
	assert(n <= c->domains_n * SETS_COUNT + 2 + MIX_TOPICS);
	for (size_t i = 0; i < n; i++)
		canonise(&use[i]);
	qsort(use, n, sizeof(*use), compare_uses);
	return n;
}

/*
 * `a` and `b` are neighbours in the order of compare_uses(). The line is that of a domain where one
 * of them is a domain's, else that of mix.name; `owner` says whose the other topic is.
 */
static enum fail_code
fail_collision(const struct config *c, const struct yaml_node *root, const struct use *a,
    const struct use *b, struct failure *f)
{
	bool equal = strcmp(a->name, b->name) == 0;
	const struct config_domain *d = a->domain != NULL ? a->domain : b->domain;
	char key[NAME_MAX_BYTES + 16] = "mix.name", owner[NAME_MAX_BYTES + 80] = "the mix's";
	int line = d != NULL ? d->line : config_line(root, "mix", "name");

	assert(strcmp(a->canon, b->canon) == 0);
	if (d != NULL)
		snprintf(key, sizeof(key), "domains.%s", d->name);
	if (b->domain != NULL)
		snprintf(owner, sizeof(owner), "that of domain %s (%s)", b->domain->name,
		    CONFIG_WHERE(b->domain->line));
	if (strncmp(b->name, c->corpus, strlen(c->corpus)) == 0 &&
	    strcmp(b->name + strlen(c->corpus), ".rejects") == 0)
		snprintf(owner, sizeof(owner), "the topic of rejects");
	if (strncmp(b->name, c->corpus, strlen(c->corpus)) == 0 &&
	    strcmp(b->name + strlen(c->corpus), ".arrivals") == 0)
		snprintf(owner, sizeof(owner), "the topic of the live domains' files");
	if (equal)
		return config_fail(
		    c, line, key, f, "its topic %s would be %s too: rename one", a->name, owner);
	return config_fail(c, line, key, f,
	    "its topic %s collides with %s, %s: Kafka takes '.' and '_' for equal; rename one",
	    a->name, owner, b->name);
}

static enum fail_code
check_topics(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	struct use *use = calloc(c->domains_n * SETS_COUNT + 2 + MIX_TOPICS, sizeof(*use));
	enum fail_code code = FAIL_NONE;
	size_t n;

	if (use == NULL)
		return fail_memory(f);
	n = list_uses(c, use);
	for (size_t i = 1; i < n && code == FAIL_NONE; i++)
		if (strcmp(use[i - 1].canon, use[i].canon) == 0)
			code = fail_collision(c, root, &use[i - 1], &use[i], f);
	free(use);
	return code;
}

/* All lanes have as many sequences of each step of phase i. */
static enum fail_code
check_batch(const struct config *c, size_t i, struct failure *f)
{
	const struct config_phase *p = &c->mix.phases[i];
	uint32_t below = p->global_batch / c->mix.lanes * c->mix.lanes;
	char key[64];

	if (p->global_batch == below) /* also 0, which is not given */
		return FAIL_NONE;
	snprintf(key, sizeof(key), "mix.phases[%zu].global_batch", i);
	return config_fail(c, p->line, key, f,
	    "is no multiple of mix.lanes, %u: %u (%u is the next one)", c->mix.lanes,
	    p->global_batch, below + c->mix.lanes);
}

/*
 * Whether the record of one lane fits LIMIT_RECORD_BYTES. The tokenizer is not read here, so
 * a token is taken for 3 bytes. Example: B = 1024, L = 8 and S = 65536 are 128 sequences of
 * 65537 * 3 + 64 bytes, 25 MB; the same with L = 2 is 100 MB, which does not fit 64 MiB. A record
 * names at most as many domains as it has sequences.
 */
static enum fail_code
check_record(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	uint32_t fewer = c->mix.lanes;
	size_t bytes;

	assert(c->mix.lanes >= 1); /* the table's range */
	while (c->mix.global_batch % fewer != 0)
		fewer--;
	if (c->mix.partitions > 0 && c->mix.batches == MIX_BATCHES_DERIVED)
		return config_fail(c, config_line(root, "mix", "partitions"), "mix.partitions", f,
		    "has no effect with mix.batches: derived, which has no batch topic");
	if (c->mix.partitions > c->mix.lanes)
		return config_fail(c, config_line(root, "mix", "partitions"), "mix.partitions", f,
		    "out of range: %u (at most mix.lanes, %u)", c->mix.partitions, c->mix.lanes);
	if (fewer != c->mix.lanes)
		return config_fail(c, config_line(root, "mix", "lanes"), "mix.lanes", f,
		    "%u does not divide mix.global_batch, %u: take %u lane%s, or a global_batch of "
		    "%u",
		    c->mix.lanes, c->mix.global_batch, fewer, fewer == 1 ? "" : "s",
		    (c->mix.global_batch / c->mix.lanes + 1) * c->mix.lanes);
	for (size_t i = 0; i < c->mix.phases_n; i++)
		if (check_batch(c, i, f) != FAIL_NONE)
			return f->code;
	bytes = topic_plan_record_bytes(c);
	if (bytes <= LIMIT_RECORD_BYTES)
		return FAIL_NONE;
	return config_fail(c, config_line(root, "mix", "lanes"), "mix.lanes", f,
	    "one lane's record could be %zu bytes: %u (use more lanes: at most %zu sequences of "
	    "%u tokens fit the 64 MiB of a record)",
	    bytes, c->mix.lanes, topic_plan_lane_sequences(c), c->sequence_length);
}

/* ==== keys that others make impossible, or leave without effect ==== */

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
may_have_targets(const struct config_domain *d)
{
	return d->no_target != CONFIG_NO_TARGET_SKIP || !config_is_prompts(d);
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
is_fixed_or_sorted(const struct config_domain *d)
{
	return !d->live || d->file_order == CONFIG_FILES_BY_NAME;
}

static bool
is_text(const struct config_domain *d)
{
	return d->tokens == TOKEN_FORMAT_NONE;
}

static bool
is_lines(const struct config_domain *d)
{
	return !token_format_is_file(d->tokens);
}

static bool
is_without_width(const struct config_domain *d)
{
	return d->tokens == TOKEN_FORMAT_NPY || d->tokens == TOKEN_FORMAT_DS;
}

/*
 * What a key needs to have an effect. A key that is given and has none is an error: its author
 * expects something that will not happen. The rows are in the order of the reports, so that the row
 * that names the actual mistake comes first: `prompt` beside tokens is wrong whatever `packing` is.
 */
struct need {
	const char *key;
	bool (*met)(const struct config_domain *d);
	const char *sentence;
};

static const struct need needs[] = {
    {"file_order", config_has_files, "has no effect without train, valid or test files"},
    {"file_order", is_fixed_or_sorted,
	"listed cannot be given with live: true: files that keep arriving are read as they come"},
    {"token_bytes", is_without_width,
	"has no effect without tokens: npy or ds; other files say how wide their tokens are"},
    {"exec", is_lines, "cannot be given beside tokens: give the files that hold them as train"},
    {"where", is_lines, "cannot be given beside tokens, which have no fields"},
    {"text", is_text, "cannot be given beside tokens, which are there already"},
    {"prompt", is_text, "cannot be given beside tokens; tokens: jsonl has its field no_loss"},
    {"keep", is_text, "cannot be given beside tokens; tokens: jsonl has its field keep"},
    {"over_long", is_single,
	"has no effect without packing: none; what else is packed is cut where it must be"},
    {"prompt", is_single, "needs packing: none: a loss mask is that of one document a sequence"},
    {"response", has_prompt, "has no effect without prompt: the field in front of it"},
    {"text", has_no_prompt,
	"has no effect beside prompt: a document is its prompt and its response"},
    {"no_target", may_have_targets,
	"skip needs response: prompts alone have no target, so that nothing would remain"},
    {"keep", is_single, "needs packing: none: what is kept is that of one document a sequence"},
    {"on_dry", is_live,
	"has no effect without live: true; only a domain whose data keep arriving can be dry"},
    {"catch_up", lends,
	"has no effect without on_dry: lend: where nothing is lent, nothing is "
	"paid back"},
};

/* The files of a live domain grow by whole lines; a file of tokens has no lines. */
static enum fail_code
check_tokens(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	if (token_format_is_file(d->tokens) && config_has_program(d))
		return fail_domain(c, root, d, d->valid_exec != NULL ? "valid" : "test", f,
		    "exec cannot be given beside tokens: give the files that hold them");
	if (d->tokens == TOKEN_FORMAT_NONE || !d->live)
		return FAIL_NONE;
	return fail_domain(
	    c, root, d, "live", f, "cannot be given beside tokens: their files are complete");
}

static enum fail_code
check_needs(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (domain_has(root, d, needs[i].key) && !needs[i].met(d))
			return fail_domain(c, root, d, needs[i].key, f, needs[i].sentence);
	return FAIL_NONE;
}

/* ---- the mix ---- */

/* A mix is drawn from train; a split that gives it nothing leaves the domains empty. */
static enum fail_code
check_split(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	for (size_t i = 0; i < c->domains_n && c->split[SET_TRAIN] == 0; i++)
		if (config_is_split(&c->domains[i]))
			return config_fail(c, config_line(root, NULL, "split"), "split", f,
			    "has 0 parts for train, from which the mix is drawn: domain %s would "
			    "have no sequence",
			    c->domains[i].name);
	return FAIL_NONE;
}

/* What is packed one document a sequence, or several, is whole for a reason. */
static enum fail_code
check_split_unit(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	if (c->split_unit == CONFIG_SPLIT_DOCUMENTS && yaml_node_get(root, "split_piece") != NULL)
		return config_fail(c, config_line(root, NULL, "split_piece"), "split_piece", f,
		    "has no effect without split_unit: tokens, under which documents have pieces");
	for (size_t i = 0; i < c->domains_n; i++)
		if (config_split_piece(c, &c->domains[i]) > 0)
			return FAIL_NONE;
	if (c->split_unit == CONFIG_SPLIT_DOCUMENTS)
		return FAIL_NONE;
	return config_fail(c, config_line(root, NULL, "split_unit"), "split_unit", f,
	    "tokens has no effect: no domain is split in several sets and has packing: concat, "
	    "which alone cuts documents");
}

/* Exact counts, whether of tokens or of a round, need a schedule that keeps accounts: deficit. */
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

/* Only blocks have windows. A domain that joins by request has the mix's order. */
static enum fail_code
check_window(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	bool blocks = c->mix.shuffle == MIX_SHUFFLE_BLOCK;

	for (size_t i = 0; i < c->domains_n; i++)
		blocks = blocks || c->domains[i].shuffle == MIX_SHUFFLE_BLOCK;
	if (blocks || yaml_node_get(yaml_node_get(root, "mix"), "window") == NULL)
		return FAIL_NONE;
	return config_fail(c, config_line(root, "mix", "window"), "mix.window", f,
	    "has no effect: no domain has shuffle: block, which alone has windows");
}

static enum fail_code
check_live(const struct config *c, const struct yaml_node *root, const struct config_domain *d,
    struct failure *f)
{
	const struct config_mix *m = &c->mix;

	assert(d->live);
	if (m->epoch_size > 0 || m->epoch_largest)
		return config_fail(c, config_line(root, "mix", "epoch_size"), "mix.epoch_size", f,
		    "cannot be given with a live domain, %s (%s): what keeps arriving has no "
		    "length, and rounds no exact counts",
		    d->name, CONFIG_WHERE(d->line));
	if (m->weights_kind == CONFIG_WEIGHTS_SIZE)
		return config_fail(c, config_line(root, "mix", "weights"), "mix.weights", f,
		    "%s cannot be given with a live domain, %s (%s): what keeps arriving has no "
		    "size",
		    yaml_node_get(yaml_node_get(root, "mix"), "weights") != NULL
			? "size"
			: "is not set, and its default, size,",
		    d->name, CONFIG_WHERE(d->line));
	if (!lends(d))
		return FAIL_NONE;
	if (m->schedule != SCHEDULE_DEFICIT)
		return fail_domain(c, root, d, "on_dry", f,
		    "lend needs mix.schedule: deficit, the only one that keeps debts");
	if (m->weights_unit == MIX_BY_TOKENS)
		return fail_domain(c, root, d, "on_dry", f,
		    "lend counts debts in draws, so that it needs mix.weights_unit: sequences");
	return FAIL_NONE;
}

/* Domains with a weight; of phase `p`, or of the base where it is NULL. */
static size_t
count_positive(const struct config *c, const struct config_phase *p)
{
	size_t n = 0;

	assert(c->mix.weight != NULL);
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

static enum fail_code
check_effect(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	for (size_t i = 0; i < c->domains_n; i++)
		if (check_needs(c, root, &c->domains[i], f) != FAIL_NONE ||
		    check_tokens(c, root, &c->domains[i], f) != FAIL_NONE)
			return f->code;
	if (check_split_unit(c, root, f) != FAIL_NONE)
		return f->code;
	if (c->mix.name == NULL)
		return FAIL_NONE;
	if (check_split(c, root, f) != FAIL_NONE || check_schedule(c, root, f) != FAIL_NONE ||
	    check_window(c, root, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < c->domains_n; i++)
		if (c->domains[i].live && check_live(c, root, &c->domains[i], f) != FAIL_NONE)
			return f->code;
	return check_round(c, root, f);
}

/* ==== all of it ==== */

enum fail_code
config_check(const struct config *c, const struct yaml_node *root, struct failure *f)
{
	assert(c->corpus != NULL);
	assert(c->domains_n > 0);
	if (check_replicas(c, root, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < c->domains_n; i++)
		if (check_domain(c, root, &c->domains[i], f) != FAIL_NONE)
			return f->code;
	if (check_sources(c, root, f) != FAIL_NONE || check_topics(c, root, f) != FAIL_NONE)
		return f->code;
	if (c->mix.name != NULL && check_record(c, root, f) != FAIL_NONE)
		return f->code;
	return check_effect(c, root, f);
}
