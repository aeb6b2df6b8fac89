#include "producer/produce.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kafka.h"
#include "common/log.h"
#include "common/topics.h"
#include "producer/lane.h"

enum {
	FIRST_ANSWER_MS = 10000,
	ASK_TIMEOUT_MS = 30000,
	AGAIN_MS = 1000, /* after the first failure; twice as long after each further one */
	PAUSE_SLICE_MS = 50,
	ATTEMPT_GOOD_MS = 60000, /* one that lasted so long does not count */
};

struct produce {
	const struct produce_options *o;
	const struct config *config;
	struct tokenizer *tokenizer;
	rd_kafka_t *reader;
	bool *wanted; /* [domains_n of the configuration] */
	bool *done;   /* the same: its train input is */
	/* The domains of the input at hand. */
	size_t *member;
	bool *member_wanted;
};

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool
same_input(const struct config_domain *a, const struct config_domain *b)
{
	if (a->where_field == NULL || b->where_field == NULL || a->partitions != b->partitions ||
	    !same_text(a->exec, b->exec) || !same_text(a->text, b->text) ||
	    a->train.n != b->train.n)
		return false;
	for (size_t i = 0; i < a->train.n; i++)
		if (strcmp(a->train.text[i], b->train.text[i]) != 0)
			return false;
	return true;
}

static enum fail_code
choose_domains(struct produce *p, struct failure *f)
{
	for (size_t i = 0; i < p->config->domains_n; i++)
		p->wanted[i] = p->o->domains_n == 0;
	for (size_t i = 0; i < p->o->domains_n; i++) {
		int k = config_domain_index(p->config, p->o->domain[i]);

		if (k < 0)
			return fail(f, FAIL_USAGE, "the configuration %s has no domain %s",
			    p->config->path, p->o->domain[i]);
		p->wanted[k] = true;
	}
	for (size_t i = 0; p->o->one_lane && i < p->config->domains_n; i++)
		if (p->wanted[i] && p->config->domains[i].partitions != p->o->lanes)
			return fail(f, FAIL_USAGE,
			    "--lane %" PRIu32 "/%" PRIu32 ": domain %s has partitions: %" PRIu32
			    "; they must be equal",
			    p->o->lane, p->o->lanes, p->config->domains[i].name,
			    p->config->domains[i].partitions);
	return FAIL_NONE;
}

static enum fail_code
open_tokenizer(struct produce *p, struct failure *f)
{
	struct tokenizer_options o = {.pattern = p->config->tokenizer.pattern,
	    .eos = p->config->tokenizer.eos,
	    .add_special = p->config->tokenizer.add_special,
	    .special_as_text = p->config->tokenizer.special_as_text};
	char *file;
	enum fail_code code;

	if (config_resolve(&file, p->config, p->config->tokenizer.file, f) != FAIL_NONE)
		return f->code;
	o.file = file;
	code = tokenizer_open(&p->tokenizer, &o, f);
	free(file);
	return code;
}

static enum fail_code
open_reader(struct produce *p, struct failure *f)
{
	struct kafka_options o = {
	    .role = KAFKA_READER, .properties = &p->config->kafka, .client = "produce-resume"};

	return kafka_open(&p->reader, &o, f);
}

static enum fail_code
open_kafka(struct produce *p, struct failure *f)
{
	struct kafka_options o = {
	    .role = KAFKA_ADMIN, .properties = &p->config->kafka, .client = "produce-admin"};
	rd_kafka_t *admin;

	if (kafka_open(&admin, &o, f) != FAIL_NONE)
		return f->code;
	if (kafka_wait_broker(admin, FIRST_ANSWER_MS, f) == FAIL_NONE &&
	    topics_check(admin, p->config, 1U << TOPIC_DOMAIN | 1U << TOPIC_REJECTS, ASK_TIMEOUT_MS,
		f) == FAIL_NONE)
		open_reader(p, f);
	kafka_close(admin);
	return p->reader == NULL ? f->code : FAIL_NONE;
}

/* A pause that a stop cuts short. */
static void
pause_ms(int ms, const volatile bool *stop)
{
	int64_t end_ms = clock_ms() + ms;

	while (!*stop && clock_ms() < end_ms)
		clock_pause_ms(PAUSE_SLICE_MS);
}

/*
 * Runs one lane to its end. The idempotent producer of librdkafka 2.0.2 can fail for good after a
 * broker restart: the lane is then resumed with a new one, as after a crash. The reader is new,
 * too: one that met a broker without leaders can go on answering "unknown partition" from memory.
 */
static enum fail_code
run_lane(struct produce *p, struct lane_options *o, struct failure *f)
{
	for (int attempt = 1;; attempt++) {
		int64_t began_ms = clock_ms();

		o->reader = p->reader;
		if (lane_run(o, f) == FAIL_NONE)
			return FAIL_NONE;
		if (clock_ms() - began_ms > ATTEMPT_GOOD_MS)
			attempt = 1;
		if ((f->code != FAIL_BROKER && f->code != FAIL_TIMEOUT) ||
		    attempt == PRODUCE_ATTEMPTS_MAX || *o->stop)
			return fail_within(f, "%s", o->label);
		log_warning("produce: PRODUCE-RETRY attempt=%d of=%d %s: %s", attempt,
		    PRODUCE_ATTEMPTS_MAX, o->label, f->text);
		pause_ms(AGAIN_MS << (attempt - 1), o->stop);
		if (*o->stop)
			return fail(f, FAIL_STOPPED, "stopped");
		kafka_close(p->reader);
		p->reader = NULL;
		if (open_reader(p, f) != FAIL_NONE)
			return f->code;
	}
}

static enum fail_code
run_input(struct produce *p, size_t members, bool held_out, struct failure *f)
{
	const struct config_domain *d = &p->config->domains[p->member[0]];
	uint32_t first = p->o->one_lane ? p->o->lane : 0;
	uint32_t end = p->o->one_lane ? p->o->lane + 1 : d->partitions;
	char label[NAME_MAX_BYTES + 64];
	struct lane_options o = {
	    .config = p->config,
	    .tokenizer = p->tokenizer,
	    .domain = p->member,
	    .wanted = p->member_wanted,
	    .domains_n = members,
	    .held_out = held_out,
	    .lanes = d->partitions,
	    .workers = p->o->workers,
	    .label = label,
	    .stop = p->o->stop,
	};

	for (o.lane = first; o.lane < end; o.lane++) {
		int used =
		    snprintf(label, sizeof(label), "%s%s", d->name, held_out ? ".valid" : "");

		if (members > 1)
			used += snprintf(
			    label + used, sizeof(label) - (size_t)used, "+%zu", members - 1);
		if (d->partitions > 1)
			snprintf(label + used, sizeof(label) - (size_t)used,
			    " lane %" PRIu32 "/%" PRIu32, o.lane, d->partitions);
		if (run_lane(p, &o, f) != FAIL_NONE)
			return f->code;
	}
	return FAIL_NONE;
}

/* The input of domain i with all that share it, unless that is done; then its held-out files. */
static enum fail_code
run_domain(struct produce *p, size_t i, struct failure *f)
{
	const struct config_domain *d = &p->config->domains[i];
	size_t members = 0;

	for (size_t k = 0; !p->done[i] && k < p->config->domains_n; k++) {
		if (k != i && !same_input(d, &p->config->domains[k]))
			continue;
		p->member[members] = k;
		p->member_wanted[members++] = p->wanted[k];
	}
	for (size_t k = 0; k < members; k++)
		p->done[p->member[k]] = true;
	if (members > 0 && run_input(p, members, false, f) != FAIL_NONE)
		return f->code;
	if (d->valid.n == 0)
		return FAIL_NONE;
	p->member[0] = i;
	p->member_wanted[0] = true;
	return run_input(p, 1, true, f);
}

static enum fail_code
run(struct produce *p, struct failure *f)
{
	size_t n = p->config->domains_n;

	p->wanted = calloc(n, sizeof(*p->wanted));
	p->done = calloc(n, sizeof(*p->done));
	p->member = calloc(n, sizeof(*p->member));
	p->member_wanted = calloc(n, sizeof(*p->member_wanted));
	if (p->wanted == NULL || p->done == NULL || p->member == NULL || p->member_wanted == NULL)
		return fail_memory(f);
	if (choose_domains(p, f) != FAIL_NONE || open_tokenizer(p, f) != FAIL_NONE ||
	    open_kafka(p, f) != FAIL_NONE)
		return f->code;
	for (size_t i = 0; i < n; i++)
		if (p->wanted[i] && run_domain(p, i, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
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
	code = run(&p, f);
	kafka_close(p.reader);
	tokenizer_close(p.tokenizer);
	free(p.wanted);
	free(p.done);
	free(p.member);
	free(p.member_wanted);
	return code == FAIL_STOPPED ? FAIL_NONE : code;
}
