#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/names.h"
#include "common/config/topic_plan.h"
#include "common/record/control.h"
#include "common/record/ledger.h"
#include "common/record/schema.h"

enum { ASK_MS = 10000, TEXT_MAX = 4096, DOCUMENTS_MAX = 64, BYTES = 256 };

/* What differs between the worlds. */
struct kind {
	const char *name;
	uint32_t lanes, ranks, lead;
	const char *more; /* of the mix section */
	const char *drop; /* what domain d does at its end */
	bool bad, repeated, requests;
};

static const struct kind kinds[WORLD_KINDS] = {
    {"plain", 4, 2, 0, "", "repeat", false, false, false},
    {"one lane, lead of 2", 1, 1, 2, "", "repeat", false, false, false},
    {"lead of 5, records twice", 4, 2, 5, "", "repeat", false, true, false},
    {"bad sequences", 2, 1, 0, "", "repeat", true, false, false},
    {"by tokens", 2, 2, 7, "  weights_unit: tokens\n", "drop", false, false, false},
    {"greedy, strided, phases", 4, 1, 0,
	"  schedule: greedy\n  lane_order: strided\n  phases:\n"
	"    - {name: late, start_step: 6, weights: {d: 1.0}, lr_scale: 0.5}\n",
	"repeat", false, true, false},
    {"requests", 4, 2, 6, "", "repeat", false, false, true},
    {"random, bad sequences, records twice", 2, 2, 9, "  schedule: random\n", "drop", true, true,
	false},
};

static void
give_up(const char *what, const struct failure *f)
{
	fprintf(stderr, "sim: %s: %s\n", what, f == NULL ? "it failed" : f->text);
	exit(1);
}

/* ---- files ---- */

static void
write_file(const char *folder, const char *name, const char *text, size_t n)
{
	char path[TEXT_MAX];
	FILE *to;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	to = fopen(path, "wb");
	if (to == NULL || fwrite(text, 1, n, to) != n || fclose(to) != 0)
		give_up(path, NULL);
}

/* A vocabulary of the 256 bytes; base64 of one byte is two digits (RFC 4648, section 4). */
static void
write_vocabulary(const char *folder)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char text[BYTES * 16];
	size_t n = 0;

	for (unsigned i = 0; i < BYTES; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%c== %u\n", digits[i >> 2],
		    digits[(i & 3) << 4], i);
	write_file(folder, "bytes.tiktoken", text, n);
}

static void
write_documents(const char *folder, const char *name, unsigned documents)
{
	char text[DOCUMENTS_MAX * 80];
	size_t n = 0;

	for (unsigned i = 0; i < documents; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "{\"text\":\"%s: document %u%.*s\"}\n", name, i, (int)(i * 7 % 23),
		    " and what else it says");
	write_file(folder, name, text, n);
}

static struct config *
make_config(const char *folder, const struct kind *k)
{
	char text[TEXT_MAX], path[TEXT_MAX];
	struct config *c;
	struct failure f;
	int n = snprintf(text, sizeof(text),
	    "corpus: c\n"
	    "tokenizer: {file: bytes.tiktoken, pattern: gpt2, eos: \"~\"}\n"
	    "sequence_length: 8\n"
	    "domains:\n"
	    "  a: {train: [a.jsonl], on_end: stop}\n"
	    "  b: {train: [\"b.{1..2}.jsonl\"], partitions: 2}\n"
	    "  d: {train: [d.jsonl], on_end: %s}\n"
	    "mix:\n"
	    "  name: m\n"
	    "  seed: 7\n"
	    "  global_batch: 8\n"
	    "  lanes: %" PRIu32 "\n"
	    "  max_lead_steps: %" PRIu32 "\n"
	    "  transaction_bytes: 1\n"
	    "  weights: {a: 0.5, b: 0.3, d: 0.2}\n%s",
	    k->drop, k->lanes, k->lead, k->more);

	write_file(folder, "run.yml", text, (size_t)n);
	snprintf(path, sizeof(path), "%s/run.yml", folder);
	if (config_open(&c, path, &f) != FAIL_NONE)
		give_up("the configuration", &f);
	return c;
}

/* ---- topics and logs ---- */

/* As `riffle topics --create` makes them. */
static void
make_topics(const struct world *w)
{
	struct topic_setting wanted[TOPIC_SETTINGS];
	struct topic_plan *plan;
	struct failure f = {0};

	if (topic_plan_open(&plan, w->config, &f) != FAIL_NONE)
		give_up("topics", &f);
	for (size_t i = 0; i < plan->n; i++) {
		struct cluster_topic *t =
		    cluster_make_topic(plan->topic[i].name, plan->topic[i].partitions);

		topic_plan_settings(wanted, w->config, &plan->topic[i]);
		for (size_t k = 0; k < TOPIC_SETTINGS; k++) {
			struct cluster_setting *s = &t->setting[t->settings_n++];

			snprintf(s->name, sizeof(s->name), "%s", wanted[k].name);
			snprintf(s->value, sizeof(s->value), "%s", wanted[k].value);
		}
	}
	topic_plan_close(plan);
}

static struct world_bytes
copy(const struct cluster_record *r)
{
	struct world_bytes b = {malloc(r->n + 1), r->n};

	if (b.bytes == NULL)
		abort();
	memcpy(b.bytes, r->bytes, r->n);
	return b;
}

static void
must(size_t actor, const char *what)
{
	const struct world_outcome *o = &world_told()->outcome[actor];
	struct failure f = {.code = o->code};

	snprintf(f.text, sizeof(f.text), "%s", o->text);
	if (!o->done || o->code != FAIL_NONE)
		give_up(what, &f);
}

static void
fill(struct world *w)
{
	for (size_t i = 0; i < WORLD_PRODUCERS; i++) {
		struct world_part *s = &w->part[i];
		const struct cluster_partition *p;

		actor_produce(w, WORLD_PRODUCER_FIRST + i);
		must(WORLD_PRODUCER_FIRST + i, "producing without faults");
		p = cluster_partition(s->topic, (int32_t)s->partition);
		s->records_n = (size_t)p->end;
		for (size_t k = 0; k < s->records_n; k++)
			s->record[k] = copy(&p->record[k]);
	}
}

/* A record whose frame is not what its hash says: its last byte is the frame's. */
static void
damage(struct cluster_partition *p, int64_t offset)
{
	struct cluster_record *r = &p->record[offset];
	uint8_t *bytes = cluster_allocate(r->n);

	memcpy(bytes, r->bytes, r->n);
	bytes[r->n - 1] ^= 0x55;
	r->bytes = bytes;
}

/* The n records before `offset` once more, as after a producer's crash. */
static void
repeat(struct cluster_partition *p, int64_t offset, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		cluster_append(p);
	memmove(&p->record[offset + n], &p->record[offset],
	    (size_t)(p->end - n - offset) * sizeof(*p->record));
	memcpy(&p->record[offset], &p->record[offset - n], (size_t)n * sizeof(*p->record));
}

static void
ask_for(const struct control *c)
{
	struct cluster_partition *p = cluster_partition("m.control", 0);
	struct cluster_record *r;
	struct failure f;
	uint8_t *bytes;
	size_t n;

	if (control_encode(c, &bytes, &n, &f) != FAIL_NONE)
		give_up("a request", &f);
	r = cluster_append(p);
	r->bytes = cluster_allocate(n);
	memcpy(r->bytes, bytes, n);
	r->n = n;
	free(bytes);
}

static void
ask(void)
{
	struct ledger_raw_weight weight[] = {{(char[]){"a"}, .2}, {(char[]){"d"}, .8}};
	struct control heavier = {.id = (char[]){"heavier"},
	    .kind = LEDGER_WEIGHTS,
	    .at_step = 4,
	    .weight = weight,
	    .weights_n = 2,
	    .lr_scale = 0.5,
	    .partition = -1,
	    .who = (char[]){"sim"}};
	struct control skip = {.id = (char[]){"skip"},
	    .kind = LEDGER_SKIP,
	    .at_step = 3,
	    .domain = (char[]){"b"},
	    .partition = 1,
	    .first = 2,
	    .end = 6,
	    .who = (char[]){"sim"}};

	ask_for(&heavier);
	ask_for(&skip);
}

/* ---- the unfaulted run ---- */

static void
keep_batches(struct world *w)
{
	for (uint32_t lane = 0; lane < w->lanes; lane++) {
		const struct cluster_partition *p = cluster_partition("m.batches", (int32_t)lane);
		size_t n = 0;

		for (int64_t i = 0; i < p->end; i++)
			if (p->record[i].fate == CLUSTER_COMMITTED && n < WORLD_STEPS_MAX)
				w->batch[lane][n++] = copy(&p->record[i]);
		w->steps_n = n;
	}
}

const struct world_state *
world_state(const struct world *w, int64_t step_next, int64_t control_next)
{
	for (size_t i = 0; i < w->states_n; i++)
		if (w->state[i].step_next == step_next && w->state[i].control_next == control_next)
			return &w->state[i];
	return NULL;
}

bool
world_add_answers(char text[static WORLD_ANSWERS_MAX], const struct ledger *l)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < l->answers_n && n < WORLD_ANSWERS_MAX; i++)
		n += (size_t)snprintf(text + n, WORLD_ANSWERS_MAX - n, "%s %s at %" PRId64 " %s\n",
		    l->answer[i].id, l->answer[i].accepted ? "accepted" : "refused",
		    l->answer[i].step, l->answer[i].text == NULL ? "" : l->answer[i].text);
	return n < WORLD_ANSWERS_MAX;
}

static void
keep_state(struct world *w, const struct ledger *l, const struct cluster_record *r)
{
	const struct world_state *known = world_state(w, l->step_next, l->control_next);
	struct world_state *s = &w->state[known == NULL ? w->states_n : (size_t)(known - w->state)];

	if (s == &w->state[WORLD_STATES_MAX] || !world_add_answers(w->answers, l))
		give_up("too many states or answers", NULL);
	w->states_n += known == NULL;
	w->answers_n += l->answers_n;
	free(s->ledger.bytes);
	*s = (struct world_state){l->step_next, l->control_next, copy(r)};
}

static void
keep_ledger(struct world *w)
{
	const struct cluster_partition *p = cluster_partition("m.ledger", 0);

	for (int64_t i = 0; i < p->end; i++) {
		struct ledger l = {0};
		struct failure f;

		if (p->record[i].fate != CLUSTER_COMMITTED)
			continue;
		if (ledger_decode(&l, p->record[i].bytes, p->record[i].n, &f) != FAIL_NONE)
			give_up("the ledger", &f);
		keep_state(w, &l, &p->record[i]);
		ledger_clear(&l);
	}
}

static void
keep_taken(struct world *w)
{
	for (size_t i = 0; i < WORLD_PRODUCERS; i++) {
		const struct cluster_commit *c =
		    cluster_commit("m.mixer", w->part[i].topic, (int32_t)w->part[i].partition);

		w->taken[i] = c == NULL ? -1 : c->offset;
	}
}

static void
mix_until(struct world *w, uint64_t step)
{
	actor_mix(w, 0, step);
	must(0, "mixing without faults");
	chance_wait(ASK_MS); /* markers */
}

/* Trainers that would hold the mixer back are all at the end. */
static void
run_unfaulted(struct world *w)
{
	struct cluster_partition *control = cluster_partition("m.control", 0);
	int64_t asked = control->end;

	for (uint32_t i = 0; i < w->lanes; i++) {
		struct cluster_commit c = {.group = "m.trainers",
		    .topic = "m.batches",
		    .partition = (int32_t)i,
		    .metadata = cluster_copy_text("step=1000000")};

		cluster_commit_set(&c);
	}
	/* Requests one by one, before the first step: all states that lie between them. */
	for (control->end = 0; control->end < asked; control->end++)
		mix_until(w, 0);
	mix_until(w, UINT64_MAX);
	keep_batches(w);
	keep_ledger(w);
	if (w->answers_n != (size_t)asked) {
		struct failure f;

		fail(&f, FAIL_DATA, "%" PRId64 " requests, answers: \"%s\"", asked, w->answers);
		give_up("mixing without faults", &f);
	}
	keep_taken(w);
}

struct world_told *
world_told(void)
{
	return cluster->world;
}

static void
name_shares(struct world *w)
{
	static const size_t domain[WORLD_PRODUCERS] = {0, 1, 1, 2};
	static const uint32_t partition[WORLD_PRODUCERS] = {0, 0, 1, 0};

	for (size_t i = 0; i < WORLD_PRODUCERS; i++) {
		w->part[i].domain = domain[i];
		w->part[i].partition = partition[i];
		names_domain_topic(
		    w->part[i].topic, "c", w->config->domains[domain[i]].name, SET_TRAIN);
	}
}

static void
open_world(struct world *w, const struct kind *k, const char *where, const void *nothing, size_t n)
{
	cluster_restore(nothing, n);
	w->name = k->name;
	w->lanes = k->lanes;
	w->ranks = k->ranks;
	w->config = make_config(where, k);
	w->produces = !k->bad && !k->repeated;
	name_shares(w);
	cluster->world = cluster_allocate(sizeof(struct world_told));
	make_topics(w);
	if (k->requests)
		ask();
	w->empty = cluster_save(&w->empty_n);
	fill(w);
	if (k->bad) {
		damage(cluster_partition("c.a", 0), 5);
		damage(cluster_partition("c.b", 1), 9);
	}
	if (k->repeated) {
		repeat(cluster_partition("c.a", 0), 12, 3);
		repeat(cluster_partition("c.d", 0), 4, 4);
	}
	memset(world_told(), 0, sizeof(*world_told()));
	w->filled = cluster_save(&w->filled_n);
	run_unfaulted(w);
}

static const char *const files[] = {
    "run.yml", "bytes.tiktoken", "a.jsonl", "b.1.jsonl", "b.2.jsonl", "d.jsonl"};
static char folder[] = P_tmpdir "/riffle-sim-XXXXXX";

void
world_close_all(struct world *w)
{
	char path[TEXT_MAX];

	for (size_t i = 0; i < WORLD_KINDS; i++)
		config_close(w[i].config);
	tokenizer_close(w[0].tokenizer);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, files[i]);
		unlink(path);
	}
	rmdir(folder);
}

void
world_open_all(struct world *w)
{
	char vocabulary[TEXT_MAX];
	struct tokenizer_options o = {.file = vocabulary, .pattern = "gpt2", .eos = "~"};
	struct tokenizer *tokenizer;
	struct failure f;
	void *nothing;
	size_t n;

	if (mkdtemp(folder) == NULL)
		give_up("a folder for the input", NULL);
	write_vocabulary(folder);
	write_documents(folder, "a.jsonl", 24);
	write_documents(folder, "b.1.jsonl", 20);
	write_documents(folder, "b.2.jsonl", 14);
	write_documents(folder, "d.jsonl", 6);
	snprintf(vocabulary, sizeof(vocabulary), "%s/bytes.tiktoken", folder);
	if (tokenizer_open(&tokenizer, &o, &f) != FAIL_NONE)
		give_up("the vocabulary", &f);
	cluster_open(0);
	nothing = cluster_save(&n);
	for (size_t i = 0; i < WORLD_KINDS; i++) {
		w[i].tokenizer = tokenizer;
		open_world(&w[i], &kinds[i], folder, nothing, n);
	}
	free(nothing);
}
