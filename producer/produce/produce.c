#include "producer/produce/produce.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/base/thread.h"
#include "common/config/recipe.h"
#include "common/config/topic_plan.h"
#include "common/kafka/kafka.h"
#include "common/kafka/topics.h"
#include "producer/produce/part.h"
#include "producer/produce/part_list.h"
#include "producer/writer/resume.h"
#include "producer/writer/turn.h"
#include "producer/writer/writer.h"

enum {
	FIRST_ANSWER_MS = 10000,
	ASK_TIMEOUT_MS = 30000,
	AGAIN_MS = 1000, /* after the first failure; twice as long after each further one */
	PAUSE_SLICE_MS = 50,
	ATTEMPT_GOOD_MS = 60000, /* one that lasted so long does not count */
	NAMED_MAX = 8,           /* a suggested command says DOMAIN if more share the input */
};

struct produce {
	const struct produce_options *o;
	const struct config *config;
	struct tokenizer *tokenizer;
	bool *wanted; /* [domains_n of the configuration] */
	struct part_list parts;
	uint32_t workers; /* of each part */
	struct stop stop; /* of all parts */
};

/* ---- what there is to do ---- */

/* Text is tokenised by `riffle produce`, tokens are published by `riffle import`. */
static bool
is_ours(const struct produce *p, const struct config_domain *d)
{
	return (d->tokens != TOKEN_FORMAT_NONE) == p->o->tokens;
}

static enum fail_code
fail_not_ours(const struct produce *p, const char *name, struct failure *f)
{
	const char *holds = p->o->tokens ? "text" : "tokens";

	return fail(f, FAIL_USAGE, "domain %s holds %s: `riffle %s %s` publishes it", name, holds,
	    config_publisher(p->config, name), name);
}

/* All domains are wanted that are ours. */
static enum fail_code
choose_all(struct produce *p, struct failure *f)
{
	bool any = false;

	for (size_t i = 0; i < p->config->domains_n; i++) {
		const struct config_domain *d = &p->config->domains[i];

		p->wanted[i] = is_ours(p, d);
		any = any || p->wanted[i];
		if (!p->wanted[i] && !p->o->tokens)
			log_info("produce: domain=%s holds tokens: `riffle import` publishes it",
			    d->name);
	}
	if (!any && p->o->tokens)
		return fail(f, FAIL_USAGE,
		    "no domain of %s has tokens: jsonl, megatron, ds, npy or llmc; there is "
		    "nothing to "
		    "import",
		    p->config->path);
	return FAIL_NONE;
}

static enum fail_code
check_partitions(const struct produce *p, struct failure *f)
{
	for (size_t i = 0; i < p->config->domains_n; i++)
		if (p->wanted[i] && p->config->domains[i].partitions != p->o->partitions)
			return fail(f, FAIL_USAGE,
			    "--%s %" PRIu32 "/%" PRIu32 ": domain %s has partitions: %" PRIu32
			    "; they must be equal",
			    p->o->only, p->o->partition, p->o->partitions,
			    p->config->domains[i].name, p->config->domains[i].partitions);
	return FAIL_NONE;
}

/* Of a task of an array: domains with fewer partitions than it has tasks are done by others. */
static enum fail_code
leave_shorter(struct produce *p, struct failure *f)
{
	uint32_t most = 0;

	for (size_t i = 0; i < p->config->domains_n; i++) {
		uint32_t n = p->wanted[i] ? p->config->domains[i].partitions : 0;

		most = n > most ? n : most;
		p->wanted[i] = n > p->o->partition;
	}
	if (most <= p->o->partition)
		return fail(f, FAIL_USAGE,
		    "%s is %" PRIu32 ", and the domains have %" PRIu32
		    " partitions at most, from 0: give the array %" PRIu32 " tasks, from 0",
		    p->o->task_variable, p->o->partition, most, most);
	log_info("%s is %" PRIu32 ": of each domain that has it, partition %" PRIu32,
	    p->o->task_variable, p->o->partition, p->o->partition);
	return FAIL_NONE;
}

static enum fail_code
choose_domains(struct produce *p, struct failure *f)
{
	if (p->o->domains_n == 0 && choose_all(p, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < p->o->domains_n; i++) {
		size_t k;

		if (config_find_domain(&k, p->config, p->o->domain[i], f) != FAIL_NONE)
			return f->code;
		if (!is_ours(p, &p->config->domains[k]))
			return fail_not_ours(p, p->o->domain[i], f);
		p->wanted[k] = true;
	}
	if (p->o->only == NULL)
		return FAIL_NONE;
	return p->o->partitions == 0 ? leave_shorter(p, f) : check_partitions(p, f);
}

static enum fail_code
open_tokenizer(struct tokenizer **out, const struct config *c, bool *missing, struct failure *f)
{
	struct tokenizer_options o = {.pattern = c->tokenizer.pattern,
	    .eos = c->tokenizer.eos,
	    .add_special = c->tokenizer.add_special,
	    .special_as_text = c->tokenizer.special_as_text};
	char *file;
	enum fail_code code;

	*missing = false;
	if (config_resolve(&file, c, c->tokenizer.file, f) != FAIL_NONE)
		return f->code;
	o.file = file;
	code = tokenizer_open(out, &o, f);
	*missing = code == FAIL_IO && access(file, F_OK) != 0 && errno == ENOENT;
	if (*missing)
		fail_more(f,
		    "; tokenizer.file is relative to the folder of %s. Take the tokenizer.json of "
		    "your model, or a .tiktoken file",
		    c->path);
	free(file);
	return code;
}

enum fail_code
produce_open_tokenizer(struct tokenizer **out, const struct config *c, struct failure *f)
{
	bool missing;

	return open_tokenizer(out, c, &missing, f);
}

void
produce_warn_eos(const struct config *c, const struct tokenizer *t)
{
	bool ends = tokenizer_ends_with_eos(t), begins = tokenizer_begins_with_eos(t);
	bool twice = false;
	size_t n;

	for (size_t i = 0; i < c->domains_n; i++) {
		const struct config_domain *d = &c->domains[i];

		if (d->tokens == TOKEN_FORMAT_NONE)
			twice = twice || ends || (begins && d->packing != SEQUENCE_NONE);
	}
	if (!twice)
		return;
	log_warning("tokenizer: TOKENIZER-EOS-TWICE %s: tokenizer.add_special %s each document "
		    "with %s, and riffle adds tokenizer.eos, %s, after each document, so there are "
		    "two in a row. Take the token out of the post_processor of %s, or set "
		    "add_special: false",
	    c->path, ends ? "ends" : "begins",
	    (const char *)tokenizer_bytes(t, tokenizer_eos(t), &n), c->tokenizer.eos,
	    c->tokenizer.file);
}

void
produce_note_tokenizer(struct config *c)
{
	struct tokenizer *t;
	struct failure why;
	bool missing;

	if (open_tokenizer(&t, c, &missing, &why) != FAIL_NONE) {
		if (why.code == FAIL_CONFIG)
			c->tokenizer.misfit = why;
		else if (!missing)
			log_warning(
			    "produce: PRODUCE-TOKENIZER the tokenizer of %s cannot be compared "
			    "with that of the domain logs: %s",
			    c->path, why.text);
		return;
	}
	c->tokenizer.known = true;
	c->tokenizer.fingerprint = tokenizer_fingerprint(t);
	tokenizer_close(t);
}

static enum fail_code
open_reader(const struct produce *p, rd_kafka_t **out, struct failure *f)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .properties = &p->config->kafka, .client = "produce-resume"};

	return kafka_open(out, &o, f);
}

/* FAIL_CONFIG: the domain's log was made with other keys. */
static enum fail_code
check_made_with(
    const struct produce *p, const struct config_domain *d, rd_kafka_t *reader, struct failure *f)
{
	const uint64_t tokenizer = tokenizer_fingerprint(p->tokenizer);
	struct resume_expected expected = {.domain = d->name,
	    .tokenizer = tokenizer,
	    .tokenizer_file = p->config->tokenizer.file,
	    .sequence_length = p->config->sequence_length,
	    .packing = d->packing,
	    .overlap_bytes = writer_overlap_bytes(&p->config->kafka)};
	struct resume log = {0};
	char topic[TOPIC_MAX_BYTES + 1], *recipe;
	int partitions;
	enum fail_code code;

	names_domain_topic(topic, p->config->corpus, d->name, SET_TRAIN);
	code = kafka_partitions(reader, topic, &partitions, ASK_TIMEOUT_MS, f);
	if (code != FAIL_NONE || partitions == 0)
		return code;
	if (recipe_text(&recipe, p->config, d, &tokenizer, f) != FAIL_NONE)
		return f->code;
	expected.recipe = recipe;
	code = resume_ask(&log, reader, topic, 0, &expected, f);
	resume_close(&log);
	free(recipe);
	return code;
}

/*
 * A topic can be missing because a key was changed, as where a split now has parts for test. To
 * create it would be of no use then: what was changed is the failure, in place of *f.
 */
static enum fail_code
explain_missing(const struct produce *p, struct failure *f)
{
	rd_kafka_t *reader;
	struct failure why;
	enum fail_code code = open_reader(p, &reader, &why);

	if (code != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < p->config->domains_n && code == FAIL_NONE; i++)
		if (p->wanted[i])
			code = check_made_with(p, &p->config->domains[i], reader, &why);
	kafka_close(reader);
	if (code == FAIL_CONFIG)
		*f = why;
	return f->code;
}

static enum fail_code
check_topics(const struct produce *p, struct failure *f)
{
	struct kafka_options o = {
	    .role = KAFKA_ADMIN, .properties = &p->config->kafka, .client = "produce-admin"};
	struct topics_use use = {
	    .written = 1U << TOPIC_DOMAIN | 1U << TOPIC_REJECTS | 1U << TOPIC_ARRIVALS};
	rd_kafka_t *admin;
	enum fail_code code;

	if (kafka_open(&admin, &o, f) != FAIL_NONE)
		return f->code;
	code = kafka_wait_broker(admin, FIRST_ANSWER_MS, f);
	if (code == FAIL_NONE) {
		code = topics_check(admin, p->config, use, ASK_TIMEOUT_MS, f);
		if (code == FAIL_CONFIG || code == FAIL_BROKER)
			code = explain_missing(p, f);
	}
	kafka_close(admin);
	return code;
}

/* ---- one part ---- */

/* A pause that a stop cuts short. */
static void
pause_ms(int ms, const struct stop *stop)
{
	int64_t end_ms = clock_ms() + ms;

	while (!stop_asked(stop) && clock_ms() < end_ms)
		clock_pause_ms(PAUSE_SLICE_MS);
}

/*
 * Whether a part that failed may be run again, after a pause: what the broker or the network did
 * may be over, and so may what a producer that was killed had on its way; all other failures would
 * come again. The pause doubles, 1 s to 8 s. FAIL_STOPPED: the user wants no other attempt.
 */
static bool
is_worth_again(const struct part_options *o, int attempt, struct failure *f)
{
	if ((f->code != FAIL_BROKER && f->code != FAIL_TIMEOUT && f->code != FAIL_FENCED) ||
	    attempt == PRODUCE_ATTEMPTS_MAX)
		return false;
	log_warning("produce: PRODUCE-RETRY attempt=%d of=%d %s: %s", attempt, PRODUCE_ATTEMPTS_MAX,
	    o->label, f->text);
	pause_ms(AGAIN_MS << (attempt - 1), o->stop);
	if (stop_asked(o->stop)) {
		fail(f, FAIL_STOPPED, "stopped before its next attempt; run it again to continue");
		return false;
	}
	return true;
}

static enum fail_code
tick(void *turn, struct failure *f)
{
	return turn_poll(turn, f);
}

/*
 * One attempt. The turn is taken where there is something to do, for as long as the part is run,
 * attempts included; and what there is to do is asked again behind that.
 */
static enum fail_code
run_attempt(const struct produce *p, struct part_options *o, struct turn *turn, struct failure *f)
{
	bool needed = true;
	enum fail_code code = open_reader(p, &o->reader, f);

	if (code != FAIL_NONE)
		return code;
	if (!turn_taken(turn)) {
		code = part_look(o, &needed, f);
		if (code == FAIL_NONE && needed)
			code = turn_take(turn, f);
		if (code == FAIL_STOPPED && !turn_waits(turn))
			code = part_fail_early(o, f);
	}
	if (code == FAIL_NONE && needed)
		code = part_run(o, f);
	kafka_close(o->reader);
	return code;
}

/*
 * Another producer has written where this one wrote. Sets f->code: FAIL_FENCED while this one may
 * resume, since it is its turn; *over where it is not.
 */
static void
judge_other(struct turn *turn, bool *over, struct failure *f)
{
	struct failure why;

	*over = turn_taken(turn) && turn_check(turn, &why) == FAIL_FENCED;
	if (*over)
		*f = why;
}

/*
 * Completes the commands that lower rooms suggest, which know no domain: `riffle produce DOMAIN`
 * gets the names of those that are written, and `import` is the command where it was this one.
 */
static void
complete_commands(const struct produce *p, const struct part_options *o, struct failure *f)
{
	static const char command[] = "`riffle produce", domain[] = " DOMAIN";
	const struct failure given = *f;
	const char *rest = given.text, *at;

	f->text[0] = '\0';
	while ((at = strstr(rest, command)) != NULL) {
		fail_more(f, "%.*s`riffle %s", (int)(at - rest), rest,
		    p->o->tokens ? "import" : "produce");
		rest = at + strlen(command);
		if (strncmp(rest, domain, strlen(domain)) != 0 || o->domains_n > NAMED_MAX)
			continue;
		for (size_t i = 0; i < o->domains_n; i++)
			if (o->wanted[i])
				fail_more(f, " %s", p->config->domains[o->domain[i]].name);
		rest += strlen(domain);
	}
	fail_more(f, "%s", rest);
}

/*
 * Runs one part to its end. The idempotent producer of librdkafka 2.0.2 can fail for good after a
 * broker restart: the part is then resumed with a new one, as after a crash. The reader is new,
 * too: one that met a broker without leaders can go on answering "unknown partition" from memory.
 */
static enum fail_code
run_part(const struct produce *p, struct part_options *o, struct turn *turn, struct failure *f)
{
	bool program = config_set_exec(&p->config->domains[o->domain[0]], o->set) != NULL;

	for (int attempt = 1;;) {
		int64_t began_ms = clock_ms();
		enum fail_code code = run_attempt(p, o, turn, f);
		bool over = false;

		if (code == FAIL_NONE)
			return code;
		if (code == FAIL_FENCED)
			judge_other(turn, &over, f);
		if (*o->mismatch && program && o->follow && !o->repeats) {
			log_info("produce: %s: the program did not begin at document "
				 "RIFFLE_RESUME; taking it for one that prints all again",
			    o->label);
			o->repeats = true;
			continue;
		}
		if (clock_ms() - began_ms > ATTEMPT_GOOD_MS)
			attempt = 1;
		if (!over && is_worth_again(o, attempt++, f))
			continue;
		if (!over && f->code == FAIL_FENCED) { /* by one that is in no group */
			f->code = FAIL_DATA;
			fail_more(f, ". End the other one; then `riffle produce` resumes");
		}
		complete_commands(p, o, f);
		return f->code == FAIL_STOPPED ? f->code : fail_within(f, "%s", o->label);
	}
}

/*
 * The turn of an input's partition goes by the first domain that shares the input: whichever of
 * them are written, they are read together, and those that keep arriving in one order.
 */
static enum fail_code
open_turn(
    const struct produce *p, const struct part_options *o, struct turn **out, struct failure *f)
{
	char input[TOPIC_MAX_BYTES + 1], topic[TOPIC_MAX_BYTES + 1];

	snprintf(input, sizeof(input), "%s%s", p->config->domains[o->domain[0]].name,
	    names_set_suffix[o->set]);
	names_domain_topic(topic, p->config->corpus, part_domain(o), o->set);
	return turn_open(out,
	    &(struct turn_options){.properties = &p->config->kafka,
		.corpus = p->config->corpus,
		.input = input,
		.partition = o->partition,
		.topic = topic,
		.label = o->label,
		.stop = o->stop},
	    f);
}

static struct part_options
part_options_of(const struct produce *p, const struct part_item *item)
{
	return (struct part_options){
	    .config = p->config,
	    .tokenizer = p->tokenizer,
	    .domain = item->member,
	    .wanted = item->wanted,
	    .domains_n = item->members_n,
	    .set = item->set,
	    .append = p->o->append,
	    .follow = p->o->follow && item->live,
	    .seal = p->o->seal,
	    .skip_missing = p->o->skip_missing && item->live,
	    .partition = item->partition,
	    .partitions = p->config->domains[item->member[0]].partitions,
	    .workers = p->workers,
	    .label = item->label,
	    .stop = &p->stop,
	    .measures = p->o->measures,
	};
}

static enum fail_code
run_one(const struct produce *p, const struct part_item *item, struct failure *f)
{
	bool mismatch = false, empty = p->o->restarted;
	struct turn *turn;
	enum fail_code code;
	struct part_options o = part_options_of(p, item);

	o.mismatch = &mismatch;
	o.empty = &empty;
	if (open_turn(p, &o, &turn, f) != FAIL_NONE)
		return f->code;
	o.tick = tick;
	o.opaque = turn;
	code = run_part(p, &o, turn, f);
	if (code == FAIL_STOPPED)
		log_info("produce: %s %s", o.label, f->text);
	turn_close(turn);
	return code;
}

/* ---- all parts ---- */

/* A thread: one part that follows, or all that do not, one after the other. */
struct runner {
	struct produce *p;
	const struct part_item *item; /* NULL: all that do not follow */
	pthread_t thread;
	atomic_bool over;
	bool seen; /* watch_runners() has taken its failure */
	struct failure f;
};

/*
 * Whether only the domain that fails has the cause: its files, its program, its log. The others
 * continue then; what failed ends the command with its code when they are done.
 */
static bool
is_of_one(enum fail_code code)
{
	return code == FAIL_DATA || code == FAIL_IO;
}

/* Says it when it happens, where others go on. */
static void
note_failure(const struct produce *p, const struct failure *why)
{
	if (p->parts.n > 1)
		log_warning("produce: PRODUCE-FAILED %s; the other domains continue", why->text);
}

static enum fail_code
run_parts(const struct produce *p, const struct part_item *only, struct failure *f)
{
	enum fail_code code = FAIL_NONE;

	if (only != NULL)
		return run_one(p, only, f);
	for (size_t i = 0; i < p->parts.n; i++) {
		struct failure why;

		if (p->o->follow && p->parts.item[i].live)
			continue;
		if (run_one(p, &p->parts.item[i], &why) == FAIL_NONE)
			continue;
		if (!is_of_one(why.code)) {
			*f = why;
			return f->code;
		}
		note_failure(p, &why);
		if (code == FAIL_NONE)
			*f = why;
		code = f->code;
	}
	return code;
}

static void *
runner_main(void *argument)
{
	struct runner *r = argument;

	r->f.code = run_parts(r->p, r->item, &r->f);
	r->over = true;
	return NULL;
}

static enum fail_code
start_runner(struct runner *r, struct failure *f)
{
	int refused = thread_start(&r->thread, 0, runner_main, r);

	if (refused == 0)
		return FAIL_NONE;
	errno = refused;
	return fail_errno(f, FAIL_IO, "produce: starting a thread; " THREAD_LIMITS);
}

/*
 * Waits for all. The first failure is that of all, and stops the others unless only one domain has
 * its cause. A runner sets `over` last, so that its failure may be read then without a lock. The
 * caller's stop is asked by a signal; that of the parts, by this function too.
 */
static enum fail_code
watch_runners(struct produce *p, struct runner *r, size_t n, struct failure *f)
{
	enum fail_code code = FAIL_NONE;
	bool over;

	do {
		over = true;
		if (stop_asked(p->o->stop))
			stop_ask(&p->stop);
		for (size_t i = 0; i < n; i++) {
			over = over && r[i].over;
			if (!r[i].over || r[i].seen)
				continue;
			r[i].seen = true;
			if (r[i].f.code == FAIL_NONE || r[i].f.code == FAIL_STOPPED)
				continue;
			if (!is_of_one(r[i].f.code))
				stop_ask(&p->stop);
			else if (r[i].item != NULL)
				note_failure(p, &r[i].f);
			if (code == FAIL_NONE)
				*f = r[i].f;
			code = f->code;
		}
		if (!over)
			clock_pause_ms(PAUSE_SLICE_MS);
	} while (!over);
	return code;
}

/*
 * One runner does all parts that do not follow, in order; each part that follows never ends by
 * itself, and has a runner of its own. The workers are divided among the runners.
 */
static enum fail_code
run_all(struct produce *p, struct failure *f)
{
	struct runner *r = calloc(p->parts.n + 1, sizeof(*r));
	enum fail_code code = FAIL_NONE;
	size_t n = 1, started = 0;

	if (r == NULL)
		return fail_memory(f);
	r[0].p = p; /* those that do not follow */
	for (size_t i = 0; i < p->parts.n; i++)
		if (p->o->follow && p->parts.item[i].live) {
			r[n].p = p;
			r[n++].item = &p->parts.item[i];
		}
	p->workers = p->o->workers / (uint32_t)n;
	p->workers = p->workers == 0 ? 1 : p->workers;
	if (n > PRODUCE_FOLLOW_MAX)
		code = fail(f, FAIL_CONFIG, "--follow: %zu lanes are more than %d: name domains",
		    n - 1, PRODUCE_FOLLOW_MAX - 1);
	while (code == FAIL_NONE && started < n) {
		code = start_runner(&r[started], f);
		started += code == FAIL_NONE;
	}
	if (code != FAIL_NONE)
		stop_ask(&p->stop);
	if (started > 0) {
		struct failure late;

		if (watch_runners(p, r, started, &late) != FAIL_NONE && code == FAIL_NONE) {
			*f = late;
			code = late.code;
		}
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(r[i].thread, NULL);
	free(r);
	return code;
}

/* Options that are for live domains only. */
static enum fail_code
check_live(const struct produce *p, struct failure *f)
{
	const struct config *c = p->config;
	const char *option = p->o->follow ? "--follow" : "--skip-missing";
	bool any = false;

	if (!p->o->follow && !p->o->skip_missing)
		return FAIL_NONE;
	if (p->o->follow && p->o->seal)
		return fail(f, FAIL_USAGE,
		    "--follow and --seal exclude each other: end what follows, then seal");
	for (size_t i = 0; i < c->domains_n; i++) {
		any = any || (p->wanted[i] && c->domains[i].live);
		if (p->o->domains_n > 0 && p->wanted[i] && !c->domains[i].live)
			return fail(f, FAIL_USAGE,
			    "%s: domain %s is not live; set domains.%s.live: true, or leave "
			    "it out",
			    option, c->domains[i].name, c->domains[i].name);
	}
	if (!any)
		return fail(f, FAIL_USAGE, "%s: no domain of %s has live: true", option, c->path);
	return FAIL_NONE;
}

/* All that needs no broker. */
static enum fail_code
prepare(struct produce *p, struct failure *f)
{
	p->wanted = calloc(p->config->domains_n, sizeof(*p->wanted));
	if (p->wanted == NULL)
		return fail_memory(f);
	if (choose_domains(p, f) != FAIL_NONE || check_live(p, f) != FAIL_NONE ||
	    part_list_open(&p->parts, p->config, p->wanted, p->o->only != NULL, p->o->partition,
		f) != FAIL_NONE)
		return f->code;
	return produce_open_tokenizer(&p->tokenizer, p->config, f);
}

static void
end(struct produce *p)
{
	tokenizer_close(p->tokenizer);
	part_list_close(&p->parts);
	free(p->wanted);
}

enum fail_code
produce_check(const struct produce_options *given, struct failure *f)
{
	struct produce p = {.o = given, .config = given->config};
	enum fail_code code = prepare(&p, f);

	end(&p);
	return code;
}

enum fail_code
produce_check_idle(const struct produce_options *given, struct failure *f)
{
	struct produce_options o = *given;
	struct produce p = {.o = &o, .config = o.config};
	enum fail_code code;

	o.only = NULL; /* topics go with all their partitions */
	code = prepare(&p, f);
	for (size_t i = 0; i < p.parts.n && code == FAIL_NONE; i++) {
		const struct part_item *item = &p.parts.item[i];
		const struct part_options part = part_options_of(&p, item);
		struct turn *turn;

		code = open_turn(&p, &part, &turn, f);
		if (code != FAIL_NONE)
			break;
		code = turn_free(turn, f);
		turn_close(turn);
		if (code != FAIL_NONE)
			fail_within(f, "%s", item->label);
		if (code == FAIL_DATA)
			fail_more(f, ". End it first: its topics are to be deleted");
	}
	end(&p);
	return code;
}

enum fail_code
produce_run(const struct produce_options *given, struct failure *f)
{
	struct produce_options o = *given;
	struct produce p = {.o = &o, .config = o.config};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	enum fail_code code;

	if (o.workers == 0)
		o.workers = processors < 1                     ? 1
			    : processors > PRODUCE_WORKERS_MAX ? PRODUCE_WORKERS_MAX
							       : (uint32_t)processors;
	code = prepare(&p, f);
	if (code == FAIL_NONE && !o.tokens)
		produce_warn_eos(o.config, p.tokenizer);
	if (code == FAIL_NONE)
		code = check_topics(&p, f);
	if (code == FAIL_STOPPED)
		log_info("produce: %s%s", f->text,
		    o.restarted ? "; the topics are empty: run it again without --restart" : "");
	if (code == FAIL_NONE)
		code = run_all(&p, f);
	end(&p);
	return code == FAIL_STOPPED ? FAIL_NONE : code;
}
