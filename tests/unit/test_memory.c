/* Every allocation refused in turn: configuration, topics, records, frames, the text of a mix. */
#include "tests/unit/memory.h"

#include "common/base/json_memory.h"
#include "common/config/topic_plan.h"
#include "common/record/arrivals.h"
#include "common/record/control.h"
#include "common/record/feedback.h"
#include "common/record/frame.h"
#include "consumer/plan/bound_config.h"
#include "consumer/plan/ledger_plan.h"
#include "tests/unit/config_file.h"
#include "tests/unit/sample.h"

/* ---- configuration ---- */

static const char whole_file[] =
    "corpus: demo\n"
    "tokenizer: {file: v.json, add_special: true}\n"
    "sequence_length: 8\n"
    "split: 949,50,1\n"
    "topics: {replication: 3, min_insync_replicas: 2}\n"
    "domains_from: data\n"
    "domains:\n"
    "  web: {exec: \"cat web\"}\n"
    "  chat: {train: [\"c.{1..3}.jsonl\"], valid: v.jsonl, packing: none, prompt: p.q,\n"
    "         response: r, keep: [id, meta.x]}\n"
    "  wiki: {train: w.jsonl, where: {field: meta.source, equals: wiki}}\n"
    "  blog: {train: w.jsonl, where: {field: meta.source, equals: blog}}\n"
    "mix:\n"
    "  name: pretrain\n"
    "  global_batch: 16\n"
    "  lanes: 4\n"
    "  runs: [one, two]\n"
    "  weights: weights.json\n"
    "  phases:\n"
    "    - {name: half, start_step: 10, weights: {web: 0.5}}\n"
    "    - {start_step: 20, temperature: 2, lr_scale: 0.5}\n"
    "kafka: {bootstrap.servers: \"localhost:9092\", linger.ms: 5}\n";

static int
write_files(void **state)
{
	if (folder_open(state) != 0)
		return -1;
	folder_make("data");
	folder_make("data/code");
	folder_make("data/math");
	folder_text("data/code/a.jsonl", "{}\n");
	folder_text("data/math/b.txt", "b\n");
	folder_text("data/math/c.md", "c\n");
	folder_text("weights.json",
	    "{\"web\": 3, \"chat\": 1, \"wiki\": 1, \"blog\": 1, \"code\": 2, \"math\": 0.5}");
	folder_text("run.yml", whole_file);
	folder_text("wrong.yml", "corpus: demo\nsequence_lenght: 8\n");
	return 0;
}

static enum fail_code
open_config(uint64_t *gave, struct failure *f)
{
	struct config *c = NULL;
	char *path = NULL;

	if (config_open(&c, folder_path("run.yml"), f) != FAIL_NONE)
		return f->code;
	memory_gave(gave, c->domains_n);
	memory_gave(gave, c->mix.phases_n);
	for (size_t i = 0; i < c->domains_n; i++)
		memory_gave_bytes(gave, c->domains[i].name, strlen(c->domains[i].name));
	if (properties_set(&c->kafka, "client.id", "riffle", f) == FAIL_NONE &&
	    properties_set(&c->kafka, "linger.ms", "7", f) == FAIL_NONE &&
	    config_resolve(&path, c, c->tokenizer.file, f) == FAIL_NONE)
		memory_gave_bytes(gave, path, strlen(path));
	free(path);
	config_close(c);
	return f->code;
}

/* The error of a wrong file is that error, or memory's. */
static enum fail_code
open_wrong_config(uint64_t *gave, struct failure *f)
{
	struct config *c = NULL;
	enum fail_code code = config_open(&c, folder_path("wrong.yml"), f);

	assert_null(c);
	if (code != FAIL_CONFIG)
		return code;
	memory_gave_bytes(gave, f->text, strlen(f->text));
	*f = (struct failure){0};
	return FAIL_NONE;
}

static enum fail_code
plan_topics(uint64_t *gave, struct failure *f)
{
	struct config *c = NULL;
	struct topic_plan *p = NULL;

	if (config_open(&c, folder_path("run.yml"), f) == FAIL_NONE &&
	    topic_plan_open(&p, c, f) == FAIL_NONE)
		for (size_t i = 0; i < p->n; i++)
			memory_gave_bytes(gave, p->topic[i].name, strlen(p->topic[i].name));
	topic_plan_close(p);
	config_close(c);
	return f->code;
}

static void
test_a_configuration_is_read_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("config_open", open_config);
	memory_walk("config_open of a wrong file", open_wrong_config);
	memory_walk("topic_plan_open", plan_topics);
}

/* ---- the text that a mix is bound to ---- */

static enum fail_code
use_text(const struct config *c, const struct config_plan *p, uint64_t *gave, struct failure *f)
{
	char *text = NULL;
	uint64_t schedule;
	bool changed;

	if (bound_config_text(&text, c, p, 7, f) == FAIL_NONE &&
	    bound_config_schedule(&schedule, text, f) == FAIL_NONE &&
	    bound_config_compare(text, text, false, &changed, f) == FAIL_NONE) {
		memory_gave_bytes(gave, text, strlen(text));
		memory_gave(gave, schedule);
		memory_gave(gave, changed);
	}
	free(text);
	return f->code;
}

static enum fail_code
bind_mix(uint64_t *gave, struct failure *f)
{
	static const uint64_t sequences[] = {1000};
	struct config_plan_length length[16];
	struct config_plan p = {0};
	struct config *c = NULL;

	for (size_t i = 0; i < 16; i++)
		length[i] = (struct config_plan_length){1, sequences, NULL};
	if (config_open(&c, folder_path("run.yml"), f) == FAIL_NONE &&
	    config_plan_open(&p, c, length, f) == FAIL_NONE)
		use_text(c, &p, gave, f);
	config_plan_close(&p);
	config_close(c);
	return f->code;
}

static enum fail_code
write_json(uint64_t *gave, struct failure *f)
{
	json_t *o = json_object(), *inner = json_object();
	char *text = NULL;

	if (o == NULL || inner == NULL ||
	    json_object_set_new(inner, "weight", json_real(0.5)) != 0 ||
	    json_object_set(o, "a domain", inner) != 0 || json_object_set(o, "zero", inner) != 0)
		fail_memory(f);
	else if ((text = json_memory_text(o, JSON_SORT_KEYS)) == NULL)
		fail_memory(f);
	else
		memory_gave_bytes(gave, text, strlen(text));
	free(text);
	json_decref(inner);
	json_decref(o);
	return f->code;
}

static void
test_the_text_of_a_mix_is_made_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_spares_jansson = true;
	memory_walk("bound_config", bind_mix);
	memory_spares_jansson = false;
	memory_walk("a text of jansson's", write_json);
}

/* ---- records ---- */

static enum fail_code
code_ledger(uint64_t *gave, struct failure *f)
{
	static struct ledger_partition partition[] = {{.sequences = 10, .sealed = true}};
	static char name[] = "web", id[] = "r-1", text[] = "accepted";
	static struct ledger_domain domain[] = {{.name = name,
	    .weight = 7,
	    .raw_weight = 1,
	    .partition = partition,
	    .partitions_n = 1}};
	static struct ledger_answer answer[] = {{.id = id, .accepted = true, .text = text}};
	static struct ledger_raw_weight weight[] = {{name, 0.5}};
	static struct ledger_change change[] = {{.id = id, .weight = weight, .weights_n = 1}};
	static char *ids[] = {id};
	struct ledger l = {.mix = name,
	    .domain = domain,
	    .domains_n = 1,
	    .pending = change,
	    .pending_n = 1,
	    .request_id = ids,
	    .request_ids_n = 1,
	    .answer = answer,
	    .answers_n = 1};
	struct ledger read = {0};
	uint8_t *bytes = NULL;
	size_t n = 0;

	if (ledger_encode(&l, &bytes, &n, f) == FAIL_NONE &&
	    ledger_decode(&read, bytes, n, f) == FAIL_NONE) {
		memory_gave_bytes(gave, bytes, n);
		memory_gave(gave, read.pending_n);
	}
	ledger_clear(&read);
	free(bytes);
	return f->code;
}

static enum fail_code
code_control(uint64_t *gave, struct failure *f)
{
	static char id[] = "r-9", name[] = "web", who[] = "somebody";
	static struct ledger_raw_weight weight[] = {{name, 0.25}};
	struct control c = {.id = id, .weight = weight, .weights_n = 1, .who = who}, read = {0};
	uint8_t *bytes = NULL;
	size_t n = 0;

	if (control_encode(&c, &bytes, &n, f) == FAIL_NONE &&
	    control_decode(&read, bytes, n, f) == FAIL_NONE)
		memory_gave_bytes(gave, bytes, n);
	control_clear(&read);
	free(bytes);
	return f->code;
}

static enum fail_code
code_feedback(uint64_t *gave, struct failure *f)
{
	static char mix[] = "m", run[] = "r", name[] = "web";
	static struct feedback_loss loss[] = {{name, 1.5, 0.5, 10}};
	struct feedback b = {.mix = mix, .run = run, .world = 1, .loss = loss, .losses_n = 1};
	struct feedback read = {0};
	uint8_t *bytes = NULL;
	size_t n = 0;

	if (feedback_encode(&b, &bytes, &n, f) == FAIL_NONE &&
	    feedback_decode(&read, bytes, n, f) == FAIL_NONE)
		memory_gave_bytes(gave, bytes, n);
	feedback_clear(&read);
	free(bytes);
	return f->code;
}

static enum fail_code
code_hot(uint64_t *gave, struct failure *f)
{
	struct sequence_position position = {.file = {"x", 1}};
	struct arrivals a = {.input = {"i", 1}, .portions_n = 1};
	struct arrivals_portion portion = {.file = {"f", 1}, .end = 7};
	struct sequence_end e = {.sequences = 1, .sequence_length = 8};
	struct sequence_view view;
	struct wire_writer w = {0};

	if (sequence_encode(&w, 3, 1, &position, &sample_payload, f) == FAIL_NONE &&
	    sequence_decode(&view, w.bytes, w.n, f) == FAIL_NONE &&
	    sequence_end_encode(&w, &e, f) == FAIL_NONE &&
	    arrivals_encode(&w, &a, &portion, f) == FAIL_NONE)
		memory_gave_bytes(gave, w.bytes, w.n);
	wire_writer_close(&w);
	return f->code;
}

static enum fail_code
code_frame(uint64_t *gave, struct failure *f)
{
	enum { TOKENS = 4096 };
	static uint32_t tokens[TOKENS], back[TOKENS];
	static uint8_t out[5 * TOKENS];
	struct frame_codec *c = NULL;
	size_t n = 0;

	for (uint32_t i = 0; i < TOKENS; i++)
		tokens[i] = i * i % 60000;
	if (frame_codec_open(&c, f) == FAIL_NONE &&
	    frame_encode(c, tokens, TOKENS, 3, out, sizeof(out), &n, f) == FAIL_NONE &&
	    frame_decode(c, out, n, TOKENS, 3, back, 4, f) == FAIL_NONE)
		memory_gave_bytes(gave, back, sizeof(back));
	frame_codec_close(c);
	return f->code;
}

static void
test_records_are_coded_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("ledger", code_ledger);
	memory_walk("control", code_control);
	memory_walk("feedback", code_feedback);
	memory_walk("sequence, end, arrivals", code_hot);
	memory_walk("frame", code_frame);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_configuration_is_read_or_there_is_no_memory),
	    cmocka_unit_test(test_the_text_of_a_mix_is_made_or_there_is_no_memory),
	    cmocka_unit_test(test_records_are_coded_or_there_is_no_memory),
	};

	unsetenv("RIFFLE_BOOTSTRAP");
	return cmocka_run_group_tests(tests, write_files, folder_close);
}
