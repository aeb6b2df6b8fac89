#include "common/base/limits.h"
#include "common/config/config_internal.h"
#include "common/config/config_keys.h"
#include "common/config/topic_plan.h"
#include "tests/unit/config_file.h"

static void
test_a_file_fills_the_struct_and_the_rest_has_defaults(void **unused)
{
	struct config *c;
	struct failure f;

	(void)unused;
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	assert_string_equal(c->path, folder_path("run.yml"));
	assert_string_equal(c->corpus, "demo");
	assert_string_equal(c->tokenizer.file, "v.tiktoken");
	assert_string_equal(c->tokenizer.pattern, "gpt2");
	assert_string_equal(c->tokenizer.eos, "<|endoftext|>");
	assert_false(c->tokenizer.add_special || c->tokenizer.special_as_text);
	assert_int_equal(c->sequence_length, 8);
	assert_int_equal(c->split[0], 1);
	assert_int_equal(c->split[1] + c->split[2], 0);
	assert_int_equal(c->utf8, CONFIG_UTF8_REPLACE);
	assert_int_equal(c->on_reject, CONFIG_REJECT_QUARANTINE);
	assert_int_equal(c->max_document_bytes, 64 << 20);
	assert_int_equal(c->replication, 1);
	assert_int_equal(c->min_insync_replicas, 1);
	assert_int_equal(c->domains_n, 2);
	assert_string_equal(c->domains[0].name, "code"); /* sorted by name */
	assert_int_equal(c->domains[0].line, 7);
	assert_int_equal(c->domains[0].train.n, 2);
	assert_string_equal(c->domains[0].train.text[0], "b.jsonl"); /* as written */
	assert_null(c->domains[0].exec);
	assert_int_equal(c->domains[0].valid.n, 0);
	assert_string_equal(c->domains[0].text, "text");
	assert_null(c->domains[0].where_field);
	assert_null(c->domains[0].where_equals);
	assert_int_equal(c->domains[0].partitions, 1);
	assert_false(c->domains[0].live);
	assert_int_equal(c->domains[0].on_end, MIX_END_REPEAT);
	assert_string_equal(c->domains[1].exec, "cat web");
	assert_int_equal(c->domains[1].train.n, 0);
	config_close(c);
}

static void
test_a_mix_fills_the_struct_and_the_rest_has_defaults(void **unused)
{
	struct config *c;
	struct failure f;

	(void)unused;
	assert_int_equal(open_with(&c, 13, "  weights: {web: 0.75, code: 0.25}", &f), FAIL_NONE);
	assert_string_equal(c->mix.name, "pretrain");
	assert_int_equal(c->mix.seed, 0);
	assert_int_equal(c->mix.global_batch, 16);
	assert_int_equal(c->mix.lanes, 4);
	assert_int_equal(c->mix.partitions, 4);
	assert_int_equal(c->mix.max_lead_steps, 64);
	assert_int_equal(c->mix.runs.n, 1);
	assert_string_equal(c->mix.runs.text[0], "trainers");
	assert_int_equal(c->mix.weights_kind, CONFIG_WEIGHTS_MAP);
	assert_true(c->mix.weight[0] == 0.25 && c->mix.weight[1] == 0.75);
	assert_true(c->mix.temperature == 1.0);
	assert_int_equal(c->mix.shuffle, MIX_SHUFFLE_BLOCK);
	assert_int_equal(c->domains[0].shuffle, MIX_SHUFFLE_BLOCK);
	assert_int_equal(c->mix.window, 1);
	assert_true(c->mix.permute);
	assert_int_equal(c->mix.lane_order, MIX_LANES_CONTIGUOUS);
	assert_int_equal(c->mix.memory_bytes, 512000000);
	assert_int_equal(c->mix.transaction_bytes, 16 << 20);
	assert_int_equal(c->mix.transaction_first_ms, 200);
	assert_int_equal(c->mix.transaction_ms, 208);
	assert_int_equal(config_need_mix(c, &f), FAIL_NONE);
	assert_int_equal(config_domain_index(c, "code"), 0);
	assert_int_equal(config_domain_index(c, "web"), 1);
	assert_int_equal(config_domain_index(c, "we"), -1);
	config_close(c);
}

static const char all_keys[] =
    "corpus: demo\n"
    "tokenizer: {file: v.tiktoken, eos: <end>, add_special: true, special_as_text: true}\n"
    "sequence_length: 1048576\n"
    "split: [949, 50, 1]\n"
    "utf8: strict\n"
    "on_reject: stop\n"
    "max_document_bytes: 1KB\n"
    "topics: {replication: 3, min_insync_replicas: 2}\n"
    "domains:\n"
    "  a: {train: x.jsonl, valid: [v.jsonl], text: doc.body, partitions: 4, live: true,\n"
    "      on_end: drop, where: {field: meta.source, equals: A}}\n"
    "  b: {train: x.jsonl, partitions: 4, live: true, on_end: stop, on_dry: lend, catch_up: 3,\n"
    "      shuffle: block, where: {equals: \"true\", field: web}}\n"
    "  c: {train: y, max_epochs: 2, packing: none, over_long: truncate, prompt: p,\n"
    "      shuffle: full, response: r, keep: [id]}\n"
    "mix:\n"
    "  name: m\n"
    "  seed: 18446744073709551615\n"
    "  global_batch: 64\n"
    "  lanes: 64\n"
    "  max_lead_steps: 0\n"
    "  runs: [one, two]\n"
    "  weights: uniform\n"
    "  schedule: deficit\n"
    "  weights_unit: sequences\n"
    "  phases:\n"
    "    - {name: x, start_step: 5, weights: {a: 1, c: 2}, temperature: 2, lr_scale: 0.5}\n"
    "    - {start_step: 6}\n"
    "  temperature: 0.5\n"
    "  shuffle: none\n"
    "  window: 4\n"
    "  permute: false\n"
    "  lane_order: strided\n"
    "  memory: 2GiB\n"
    "  transaction_bytes: 1MB\n"
    "  transaction_ms: 50\n"
    "kafka: {a.b: 1, ssl: true, empty: \"\"}\n";

/* 128 KiB a lane, at most a quarter of the memory, at least 16 MiB; 2 ms a lane, at most 5 s. */
static void
test_transactions_grow_with_the_lanes_unless_their_size_is_given(void **unused)
{
	static const struct {
		const char *lanes, *keys;
		uint64_t bytes;
		uint32_t first_ms, ms;
	} rows[] = {
	    {"16", "", 16 << 20, 200, 232},
	    {"128", "", 16 << 20, 200, 456},
	    {"256", "", 32 << 20, 200, 712},
	    {"256", "  transaction_bytes: auto\n  transaction_ms: auto\n", 32 << 20, 200, 712},
	    {"256", "  memory: 100MB\n", 25000000, 200, 712},
	    {"256", "  memory: 10MB\n", 16 << 20, 200, 712},
	    {"256", "  transaction_bytes: 4KiB\n", 4096, 200, 712},
	    {"256", "  transaction_ms: 30000\n", 32 << 20, 30000, 30000},
	    {"1024", "", 128000000, 200, 2248},
	    {"1024", "  memory: 1GiB\n", 128 << 20, 200, 2248},
	    {"4096", "  memory: 16GiB\n", 512 << 20, 200, 5000},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, lanes) {
		char text[512];
		struct config *c;
		struct failure f;

		snprintf(text, sizeof(text),
		    "corpus: c\ntokenizer: {file: t, pattern: gpt2}\nsequence_length: 8\n"
		    "domains: {a: {train: x}}\nmix:\n  name: m\n  global_batch: 4096\n"
		    "  weights: uniform\n  lanes: %s\n%s",
		    rows[i].lanes, rows[i].keys);
		folder_text("lanes.yml", text);
		assert_int_equal(config_open(&c, folder_path("lanes.yml"), &f), FAIL_NONE);
		assert_int_equal(c->mix.transaction_bytes, rows[i].bytes);
		assert_int_equal(c->mix.transaction_first_ms, rows[i].first_ms);
		assert_int_equal(c->mix.transaction_ms, rows[i].ms);
		config_close(c);
	}
}

static void
test_keys_that_go_together_can_all_be_given(void **unused)
{
	struct config *c;
	struct failure f;

	(void)unused;
	folder_text("all.yml", all_keys);
	assert_int_equal(config_open(&c, folder_path("all.yml"), &f), FAIL_NONE);
	assert_null(c->tokenizer.pattern);
	assert_string_equal(c->tokenizer.eos, "<end>");
	assert_true(c->tokenizer.add_special && c->tokenizer.special_as_text);
	assert_int_equal(c->split[0], 949);
	assert_int_equal(c->split[1], 50);
	assert_int_equal(c->split[2], 1);
	assert_int_equal(c->utf8, CONFIG_UTF8_STRICT);
	assert_int_equal(c->on_reject, CONFIG_REJECT_STOP);
	assert_int_equal(c->max_document_bytes, 1000);
	assert_int_equal(c->replication * 10 + c->min_insync_replicas, 32);
	assert_string_equal(c->domains[0].valid.text[0], "v.jsonl");
	assert_string_equal(c->domains[0].train.text[0], "x.jsonl");
	assert_string_equal(c->domains[0].text, "doc.body");
	assert_string_equal(c->domains[0].where_field, "meta.source");
	assert_string_equal(c->domains[0].where_equals, "A");
	assert_int_equal(c->domains[0].partitions, 4);
	assert_true(c->domains[0].live);
	assert_int_equal(c->domains[0].on_end, MIX_END_DROP);
	assert_int_equal(c->domains[1].on_end, MIX_END_STOP);
	assert_true(c->domains[1].catch_up == 3);
	assert_int_equal(c->domains[2].over_long, CONFIG_LONG_TRUNCATE);
	assert_int_equal(c->mix.phases_n, 2);
	assert_true(c->mix.seed == UINT64_MAX);
	assert_int_equal(c->mix.max_lead_steps, 0);
	assert_string_equal(c->mix.runs.text[1], "two");
	assert_int_equal(c->mix.weights_kind, CONFIG_WEIGHTS_UNIFORM);
	assert_true(c->mix.weight[0] == 1 && c->mix.weight[1] == 1);
	assert_true(c->mix.temperature == 0.5);
	assert_int_equal(c->mix.shuffle, MIX_SHUFFLE_NONE);
	assert_int_equal(c->mix.window, 4);
	assert_int_equal(c->domains[0].shuffle, MIX_SHUFFLE_NONE);
	assert_int_equal(c->domains[1].shuffle, MIX_SHUFFLE_BLOCK);
	assert_int_equal(c->domains[2].shuffle, MIX_SHUFFLE_FULL);
	assert_false(c->mix.permute);
	assert_int_equal(c->mix.lane_order, MIX_LANES_STRIDED);
	assert_true(c->mix.memory_bytes == UINT64_C(2) << 30);
	assert_int_equal(c->mix.transaction_bytes, 1000000);
	assert_int_equal(c->mix.transaction_first_ms, 50);
	assert_int_equal(c->mix.transaction_ms, 50);
	assert_int_equal(c->kafka.n, 3);
	assert_string_equal(c->kafka.item[1].value, "true");
	assert_string_equal(c->kafka.item[2].value, "");
	config_close(c);
}

static void
test_a_file_without_a_mix_describes_a_corpus(void **unused)
{
	struct config *c;
	struct failure f;
	char expected[1200];

	(void)unused;
	folder_text("corpus.yml", "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\n"
				  "domains: {a: {train: x}}\n");
	assert_int_equal(config_open(&c, folder_path("corpus.yml"), &f), FAIL_NONE);
	assert_null(c->mix.name);
	assert_int_equal(c->kafka.n, 0);
	assert_int_equal(config_need_mix(c, &f), FAIL_CONFIG);
	snprintf(expected, sizeof(expected),
	    "%s: mix: is missing (the section that says what is mixed, and how; see `riffle "
	    "config --keys`)",
	    folder_path("corpus.yml"));
	assert_string_equal(f.text, expected);
	config_close(c);
}

static void
test_unknown_and_duplicate_keys_are_named(void **unused)
{
	static const struct row rows[] = {
	    {1, "corpus: demo\ncropus: x", "2: cropus: unknown key; did you mean corpus?"},
	    {12, "  lanse: 4", "12: mix.lanse: unknown key; did you mean lanes?"},
	    {12, "  lanes: 4\n  corpus: x",
		"13: mix.corpus: unknown key; did you mean corpus, "
		"at the top level?"},
	    {3, "sequence_length: 8\nseed: 4", "4: seed: unknown key; did you mean mix.seed?"},
	    {3, "sequence_length: 8\nlanes: 4", "4: lanes: unknown key; did you mean mix.lanes?"},
	    {6, "    exec: cat web\n    trian: x",
		"7: domains.web.trian: unknown key; did you mean train?"},
	    {6, "    exec: cat web\n    where: {feild: a, equals: b}",
		"7: domains.web.where.feild: unknown key; did you mean field?"},
	    {2, "tokenizer: {file: v, kind: x}",
		"2: tokenizer.kind: unknown key (`riffle config --keys` lists all)"},
	    {3, "sequence_length: 8\nmix.lanes: 4",
		"4: mix.lanes: unknown key (`riffle config --keys` lists all)"},
	    {3, "sequence_length: 8\n\"a\\nb\": 4",
		"4: a\\nb: unknown key (`riffle config --keys` lists all)"},
	    {3, "sequence_length: 8\n\"\": 4",
		"4: : unknown key (`riffle config --keys` lists all)"},
	    {3, "sequence_length: 8\ncorpus: other", "4: corpus: given twice, first in line 1"},
	    {8, "    train: x\n  web: {train: y}", "9: domains.web: given twice, first in line 5"},
	    {13, "  weights: {code: 1, web: 1, code: 2}",
		"13: mix.weights.code: given twice, first in line 13"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
}

static void
test_missing_keys_say_what_they_are_for(void **unused)
{
	static const struct row rows[] = {
	    {1, "",
		"2: corpus: is missing (names the tokenised data: topics are "
		"`<corpus>.<domain>`, `<corpus>.<domain>.valid`, `<corpus>.<domain>.test` and "
		"`<corpus>.rejects`)"},
	    {2, "tokenizer: {pattern: gpt2}",
		"1: tokenizer.file: is missing (a `.tiktoken` or a `tokenizer.json`; relative to "
		"the "
		"folder of this file)"},
	    {3, "",
		"1: sequence_length: is missing (inputs of one sequence, S; a sequence holds S + "
		"1 tokens, and neighbours share one)"},
	    {10, "",
		"9: mix.name: is missing (names the mix: topics are `<mix>.batches`, "
		"`<mix>.ledger`, `<mix>.control` and `<mix>.feedback`)"},
	    {11, "", "9: mix.global_batch: is missing (sequences of one step, B, over all ranks)"},
	    {12, "",
		"9: mix.lanes: is missing (parts of a step, L: the largest number of ranks; "
		"divides `global_batch`, and the record of a lane is at most 64 MiB)"},
	};
	struct config *c;
	struct failure f;

	(void)unused;
	ASSERT_REFUSED(rows);
	folder_text("none.yml", "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\n");
	assert_int_equal(config_open(&c, folder_path("none.yml"), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text,
	    "none.yml:1: domains: is missing (a map from the name of a domain to its keys"));
}

#define WEIGHTS_ARE                                                                                \
	"must be a map from domain to number, FILE.json with such a map, uniform, or size"

static void
test_a_value_of_the_wrong_shape_is_refused(void **unused)
{
	static const struct row rows[] = {
	    {12, "  lanes: [4]", "12: mix.lanes: is a list (must be one value)"},
	    {12, "  lanes: {a: 4}", "12: mix.lanes: is a map (must be one value)"},
	    {8, "    train: {a: b}", "8: domains.code.train: is a map (must be a value or a list)"},
	    {8, "    train:\n    - a\n    - {b: c}",
		"10: domains.code.train: an entry of the list is a map (must be one value)"},
	    {8, "    train: [[a]]",
		"8: domains.code.train: an entry of the list is a list (must be one value)"},
	    {2, "tokenizer: v.tiktoken",
		"2: tokenizer: is a text (must be a map of keys and values)"},
	    {2, "tokenizer: [a]", "2: tokenizer: is a list (must be a map of keys and values)"},
	    {2, "tokenizer:", "2: tokenizer: has no value (must be a map of keys and values)"},
	    {5, "  web: x\n  cobol:",
		"5: domains.web: is a text (must be a map of keys and values)"},
	    {14, "kafka: x", "14: kafka: is a text (must be a map of keys and values)"},
	    {14, "kafka: {a: [b]}",
		"14: kafka.a: is a map or a list (must be one value, or {file: PATH}, or {env: "
		"NAME})"},
	    {14, "kafka: {a: }",
		"14: kafka.a: has no value (a librdkafka property; \"\" is an empty one)"},
	    {14, "kafka: {\"\": a}", "14: kafka: a property has no name"},
	    {13, "  weights: flat", "13: mix.weights: is flat (" WEIGHTS_ARE ")"},
	    {13, "  weights: [1, 2]", "13: mix.weights: is a list (" WEIGHTS_ARE ")"},
	    {13, "  weights:", "13: mix.weights: is empty (" WEIGHTS_ARE ")"},
	    {13, "  weights: {code: [1], web: 1}",
		"13: mix.weights.code: is a map or a list (must be a number, at least 0)"},
	    {11, "  global_batch:",
		"11: mix.global_batch: has no value (sequences of one step, B, over all ranks)"},
	    {8, "    packing:", "8: domains.code.packing: has no value (concat, none, best_fit)"},
	    {6, "    exec: ''",
		"6: domains.web.exec: is empty (instead of `train`: a shell command that prints "
		"JSONL, the same each time, run in the folder of this file. It fails if any "
		"program of a pipe fails; a pipe needs bash)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
}

static void
test_a_file_that_is_no_map_is_refused(void **unused)
{
	static const char *const texts[] = {"- a\n- b\n", "hello\n"};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct config *c;
		struct failure f;

		folder_text("odd.yml", texts[i]);
		assert_int_equal(config_open(&c, folder_path("odd.yml"), &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "odd.yml:1: is not a map of keys and values"));
	}
}

/* Each key's smallest and largest value is taken, and what lies beyond is not. */
static void
test_both_sides_of_every_range(void **unused)
{
	static const struct {
		size_t line;
		const char *key, *low, *high, *below, *above, *allowed;
	} rows[] = {
	    {3, "sequence_length", "1", "1048576", "0", "1048577", "1 to 1048576"},
	    {12, "  lanes", "1", "16", "0", "4097", "1 to 4096"},
	    {10, "  name: m\n  partitions", "1", "4", "0", "4097", "auto, or 1 to 4096"},
	    {11, "  global_batch", "4", "1048576", "0", "1048577", "1 to 1048576"},
	    {10, "  name: m\n  seed", "0", "18446744073709551615", "-1", "18446744073709551616",
		"0 to 18446744073709551615"},
	    {10, "  name: m\n  window", "1", "16", "0", "17", "1 to 16"},
	    {10, "  name: m\n  max_lead_steps", "0", "2147483647", "-1", "2147483648",
		"0 to 2147483647"},
	    {10, "  name: m\n  transaction_ms", "1", "30000", "0", "30001", "auto, or 1 to 30000"},
	    {10, "  name: m\n  memory", "1MB", "1024GB", "999999", "1024000000001",
		"1MB to 1024GB, as 4096, 16MiB or 512MB"},
	    {10, "  name: m\n  transaction_bytes", "1", "1GB", "0", "1000000001",
		"auto, or 1 to 1GB, as 4096, 16MiB or 512MB"},
	    {3, "sequence_length: 8\nmax_document_bytes", "1", "1GB", "0", "1000000001",
		"1 to 1GB, as 4096, 16MiB or 512MB"},
	    {8, "    train: x\n    partitions", "1", "4096", "0", "4097", "1 to 4096"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, key) {
		const char *below_above[] = {rows[i].below, rows[i].above};
		char text[256];

		snprintf(text, sizeof(text), "%s: %s", rows[i].key, rows[i].low);
		assert_opens(rows[i].line, text);
		snprintf(text, sizeof(text), "%s: %s", rows[i].key, rows[i].high);
		assert_opens(rows[i].line, text);
		for (size_t k = 0; k < 2; k++) {
			struct config *c;
			struct failure f;
			char ending[256];

			snprintf(text, sizeof(text), "%s: %s", rows[i].key, below_above[k]);
			assert_int_equal(open_with(&c, rows[i].line, text, &f), FAIL_CONFIG);
			snprintf(ending, sizeof(ending), "%s: %s (%s)",
			    below_above[k][0] == '-' ? "not a whole number" : "out of range",
			    below_above[k], rows[i].allowed);
			assert_non_null(strstr(f.text, ending));
			assert_string_equal(strstr(f.text, ending), ending);
		}
	}
}

static void
test_values_that_are_no_values_say_what_is_allowed(void **unused)
{
	static const struct row rows[] = {
	    {12, "  lanes: 4\n  partitions: 5",
		"13: mix.partitions: out of range: 5 (at most mix.lanes, 4)"},
	    {12, "  lanes: four", "12: mix.lanes: not a whole number: four (1 to 4096)"},
	    {12, "  lanes: auto", "12: mix.lanes: not a whole number: auto (1 to 4096)"},
	    {12, "  lanes: 4\n  memory: auto",
		"13: mix.memory: not a size: auto (1MB to 1024GB, as 4096, 16MiB or 512MB)"},
	    {12, "  lanes: 4.0", "12: mix.lanes: not a whole number: 4.0 (1 to 4096)"},
	    {12, "  lanes: 4\n  memory: 512mb",
		"13: mix.memory: not a size: 512mb (1MB to 1024GB, as 4096, 16MiB or 512MB)"},
	    {12, "  lanes: 4\n  temperature: 0",
		"13: mix.temperature: out of range: 0 (a number above 0)"},
	    {12, "  lanes: 4\n  temperature: -1",
		"13: mix.temperature: out of range: -1 (a number above 0)"},
	    {12, "  lanes: 4\n  temperature: .inf",
		"13: mix.temperature: not a finite number: .inf (a number above 0)"},
	    {12, "  lanes: 4\n  permute: yes",
		"13: mix.permute: not a truth value: yes (true or false)"},
	    {12, "  lanes: 4\n  lane_order: random",
		"13: mix.lane_order: unknown value: random (contiguous, strided)"},
	    {12, "  lanes: 4\n  shuffle: mix",
		"13: mix.shuffle: unknown value: mix (block, full, none)"},
	    {8, "    train: x\n    shuffle: no",
		"9: domains.code.shuffle: unknown value: no (block, full, none, mix)"},
	    {12, "  lanes: 4\n  shuffle: full\n  window: 4",
		"14: mix.window: has no effect: no domain has shuffle: block, which alone has "
		"windows"},
	    {3, "sequence_length: 8\nutf8: ignore",
		"4: utf8: unknown value: ignore (replace, strict)"},
	    {3, "sequence_length: 8\non_reject: skip",
		"4: on_reject: unknown value: skip (quarantine, stop)"},
	    {8, "    train: x\n    on_end: wait",
		"9: domains.code.on_end: unknown value: wait (repeat, stop, drop)"},
	    {1, "corpus: a/b",
		"1: corpus: not a name: a/b (letters, digits, '.', '_', '-', at most 100, a "
		"letter or digit first)"},
	    {10, "  name: .m",
		"10: mix.name: not a name: .m (letters, digits, '.', '_', '-', at most 100, a "
		"letter or digit first)"},
	    {7, "  a b:",
		"7: domains.a b: not a name of a domain (letters, digits, '.', '_', '-', at most "
		"100, a letter or digit first)"},
	    {1, "corpus: \"a\\nb\\u0007\"",
		"1: corpus: not a name: a\\nb\\x07 (letters, digits, '.', '_', '-', at most 100, a "
		"letter or digit first)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
}

static void
test_a_long_value_is_cut_between_characters(void **unused)
{
	char shown[CONFIG_SHOWN_MAX], value[300] = "";

	(void)unused;
	for (size_t i = 0; i < 60; i++)
		memcpy(value + 2 * i, "\xc3\xa9", 3);
	config_shown(shown, value);
	assert_int_equal(strlen(shown), 96 + 3);
	assert_memory_equal(shown + 94, "\xc3\xa9...", 5);
	memmove(value + 1, value, 120);
	value[0] = 'x';
	config_shown(shown, value);
	assert_int_equal(strlen(shown), 95 + 3);
	assert_memory_equal(shown + 93, "\xc3\xa9...", 5);
}

static void
test_a_split_is_three_parts_of_which_one_counts(void **unused)
{
#define SPLIT_IS "three whole numbers for train, valid and test, as 949,50,1"
	static const struct row rows[] = {
	    {3, "sequence_length: 8\nsplit: 1,0", "4: split: has 2 parts (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: [1, 2, 3, 4, 5]",
		"4: split: has 5 parts (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 1,2,3,4", "4: split: has 4 parts (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 0,0,0", "4: split: all parts are 0 (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 1,,0", "4: split: not a whole number:  (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 0.9,0.1,0",
		"4: split: not a whole number: 0.9 (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 1 2 3", "4: split: not a split: 1 2 3 (" SPLIT_IS ")"},
	    {3, "sequence_length: 8\nsplit: 0,9,1",
		"4: split: has 0 parts for train, from which the mix is drawn: domain code would "
		"have no sequence"},
	    {3, "sequence_length: 8\nsplit: 1000000001,1,1",
		"4: split: out of range: 1000000001 (0 to 1000000000)"},
	    {3, "sequence_length: 8\nsplit: []",
		"4: split: is an empty list (parts of the documents for train, valid and test, by "
		"hash of the document: `949,50,1` or `[949, 50, 1]`; a domain with `valid` or "
		"`test` is not split)"},
	};
	static const char *const right[] = {
	    "949,50,1", "949, 50 ,1", "\" 9,1,0 \"", "[1, 1, 0]", "1000000000,0,0"};

	(void)unused;
	ASSERT_REFUSED(rows);
	EACH_ROW(i, right) {
		char text[64];

		snprintf(text, sizeof(text), "sequence_length: 8\nsplit: %s", right[i]);
		assert_opens(3, text);
	}
}

static void
test_a_unit_of_the_split_has_an_effect(void **unused)
{
#define NO_EFFECT                                                                                  \
	"split_unit: tokens has no effect: no domain is split in several sets and has packing: "   \
	"concat, which alone cuts documents"
	static const struct row rows[] = {
	    {3, "sequence_length: 8\nsplit: 8,1,1\nsplit_unit: bytes",
		"5: split_unit: unknown value: bytes (documents, tokens)"},
	    {3, "sequence_length: 8\nsplit_unit: tokens", "4: " NO_EFFECT},
	    {3, "sequence_length: 8\nsplit: 8,0,0\nsplit_unit: tokens", "5: " NO_EFFECT},
	    {3, "sequence_length: 8\nsplit: 8,1,1\nsplit_piece: 100",
		"5: split_piece: has no effect without split_unit: tokens, under which documents "
		"have pieces"},
	};
	struct config *c;
	struct failure f;

	(void)unused;
	ASSERT_REFUSED(rows);
	/* One domain that is split is enough, whichever it is. */
	assert_opens(8, "    train: x\n    packing: none\nsplit: 8,1,1\nsplit_unit: tokens");
	assert_refused(8, "    train: x\n    valid: v\nsplit: 0,1,1",
	    "10: split: has 0 parts for train, from which the mix is drawn: domain web would have "
	    "no sequence");
	assert_int_equal(open_with(&c, 3,
			     "sequence_length: 8\nsplit: 8,1,1\nsplit_unit: tokens\n"
			     "split_piece: 100",
			     &f),
	    FAIL_NONE);
	assert_int_equal(config_split_piece(c, &c->domains[0]), 100);
	c->domains[0].packing = SEQUENCE_NONE;
	assert_int_equal(config_split_piece(c, &c->domains[0]), 0);
	config_close(c);
}

static void
test_weights_are_finite_and_one_is_positive(void **unused)
{
	static const struct row rows[] = {
	    {13, "  weights: {code: 0.3}",
		"13: mix.weights: a domain without a weight: `domains` has web (line 5), "
		"`mix.weights` has not: add `web: NUMBER`; 0 draws nothing of it"},
	    {13, "  weights: {}",
		"13: mix.weights: a domain without a weight: `domains` has code (line 7), "
		"`mix.weights` has not: add `code: NUMBER`; 0 draws nothing of it"},
	    {13, "  weights:\n    code: 1\n    web: 1\n    wbe: 1",
		"16: mix.weights.wbe: a weight without a domain: `domains` has no wbe; did you "
		"mean web?"},
	    {13, "  weights: {code: 1, web: 1, books: 1}",
		"13: mix.weights.books: a weight without a domain: `domains` has no books"},
	    {13, "  weights: {code: -0.1, web: 1}",
		"13: mix.weights.code: is negative: -0.1 (at least 0)"},
	    {13, "  weights: {code: .nan, web: 1}",
		"13: mix.weights.code: not a finite number: .nan (a number, at least 0)"},
	    {13, "  weights: {code: .inf, web: 1}",
		"13: mix.weights.code: not a finite number: .inf (a number, at least 0)"},
	    {13, "  weights: {code: 1e309, web: 1}",
		"13: mix.weights.code: not a finite number: 1e309 (a number, at least 0)"},
	    {13, "  weights: {code: , web: 1}",
		"13: mix.weights.code: not a finite number:  (a number, at least 0)"},
	    {13, "  weights: {code: 0, web: 0.0}",
		"13: mix.weights: all are 0 (at least one above 0)"},
	};
	static const char *const right[] = {
	    "{code: 0, web: 1e-7}", "{code: 30, web: 70}", "{code: 0.1, web: 0.1}", "uniform"};

	(void)unused;
	ASSERT_REFUSED(rows);
	EACH_ROW(i, right) {
		char text[64];

		snprintf(text, sizeof(text), "  weights: %s", right[i]);
		assert_opens(13, text);
	}
}

#define RUN_NAME_IS                                                                                \
	"letters, digits, '.', '_', '-', at most 100, a letter or digit first; not mixer, not "    \
	"election: the mixer's own groups"

static void
test_reserved_names_are_refused(void **unused)
{
	static const struct row rows[] = {
	    {10, "  name: m\n  runs: mixer",
		"11: mix.runs: not a name of a run: mixer (" RUN_NAME_IS ")"},
	    {10, "  name: m\n  runs: [a, election]",
		"11: mix.runs: not a name of a run: election (" RUN_NAME_IS ")"},
	    {10, "  name: m\n  runs: [a, \"\"]",
		"11: mix.runs: not a name of a run:  (" RUN_NAME_IS ")"},
	    {10, "  name: m\n  runs: [a, b, a]", "11: mix.runs: run a is named twice"},
	    {10, "  name: m\n  runs: []",
		"11: mix.runs: is an empty list (training runs (consumer groups `<mix>.<run>`) "
		"that limit the lead)"},
	    {7, "  rejects:",
		"7: domains.rejects: the name is taken: <corpus>.rejects holds what could not be "
		"read"},
	};
	char many[1024] = "  name: m\n  runs: [";

	(void)unused;
	ASSERT_REFUSED(rows);
	for (int i = 0; i < LIMIT_RUNS; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "%sr%d",
		    i == 0 ? "" : ",", i);
	snprintf(many + strlen(many), sizeof(many) - strlen(many), "]");
	assert_opens(10, many);
	snprintf(many + strlen(many) - 1, sizeof(many) - strlen(many), ",more]");
	assert_refused(10, many, "11: mix.runs: has 65 entries (at most 64)");
}

#define SHELL_IS                                                                                   \
	": ~ and $NAME are not expanded: write the path itself (a file that is named so: [~] or "  \
	"[$])"

static void
test_a_domain_has_one_source(void **unused)
{
	static const struct row rows[] = {
	    {8, "    train: x\n    exec: cat y",
		"9: domains.code.exec: train and exec exclude each other: give one of them"},
	    {8, "    text: body",
		"7: domains.code: has no source: give train (files) or exec (a program)"},
	    {8, "    train: [y, \"s3://bucket/x/*.parquet\"]",
		"8: domains.code.train: s3://bucket/x/*.parquet is not a path; in place of train "
		"give exec: \"riffle-source 's3://bucket/x/*.parquet'\", a program of riffle's "
		"Python "
		"package"},
	    {8, "    train: [y, ~/x.jsonl]", "8: domains.code.train: ~/x.jsonl" SHELL_IS},
	    {8, "    train: $HOME/x.jsonl", "8: domains.code.train: $HOME/x.jsonl" SHELL_IS},
	    {8, "    train: /data/${USER}/x", "8: domains.code.train: /data/${USER}/x" SHELL_IS},
	    {8, "    train: a/$_x", "8: domains.code.train: a/$_x" SHELL_IS},
	    {8, "    train: $Z", "8: domains.code.train: $Z" SHELL_IS},
	    {8, "    train: x\n    valid: ~me/v", "9: domains.code.valid: ~me/v" SHELL_IS},
	    {8, "    valid: v",
		"8: domains.code.valid: is without train: give train or exec, from which the mix "
		"is drawn"},
	    {8, "    test: {exec: cat t}",
		"8: domains.code.test: is without train: give train or exec, from which the mix "
		"is drawn"},
	    {8, "    train: x\n    valid: gs://bucket/v.parquet",
		"9: domains.code.valid: gs://bucket/v.parquet is not a path; give {exec: "
		"\"riffle-source 'gs://bucket/v.parquet'\"}, a program of riffle's Python package"},
	    {8, "    train: x\n    test: ~me/v", "9: domains.code.test: ~me/v" SHELL_IS},
	    {8, "    train: x\n    test: {}",
		"9: domains.code.test: is empty: needs files, as train, or exec, a program"},
	    {8, "    train: x\n    valid: {exce: cat v}",
		"9: domains.code.valid.exce: unknown key; did you mean exec?"},
	    {8, "    exec: cat x\n    valid: {exec: cat x}",
		"9: domains.code.valid: exec is that of the domain, too: its documents would be "
		"trained on and held out"},
	    {8, "    train: x\n    valid: {exec: cat v}\n    partitions: 2",
		"10: domains.code.partitions: one program cannot be dealt to several producers: "
		"must be 1 with exec"},
	    {8, "    train: x.npy\n    tokens: npy\n    test: {exec: cat v}",
		"10: domains.code.test: exec cannot be given beside tokens: give the files that "
		"hold them"},
	    {8, "    train: [x, 'y*', x]",
		"8: domains.code.train: x is named twice: a file is read once; the weight of its "
		"domain says how often it is drawn"},
	    {8, "    train: x\n    valid: [v, v]",
		"9: domains.code.valid: v is named twice: a file is read once; the weight of its "
		"domain says how often it is drawn"},
	    {8, "    train: x\n    exec_name: dump",
		"9: domains.code.exec_name: has no effect without exec: it is what records call "
		"the program"},
	    {6, "    exec: cat web\n    partitions: 2",
		"7: domains.web.partitions: one program cannot be dealt to several producers: "
		"must be 1 with exec"},
	    {6, "    exec: cat web\n    where: {field: a}",
		"7: domains.web.where: where.equals is missing: the value that makes a document "
		"this domain's"},
	    {6, "    exec: cat web\n    where: {equals: a}",
		"7: domains.web.where: where.field is missing: the field that must be equal to "
		"where.equals"},
	    {6, "    exec: cat web\n    where: {}",
		"7: domains.web.where: is empty: needs field and equals"},
	    {4, "domains: {}\nold:", "4: domains: is empty (at least one domain)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(6, "    exec: cat web\n    valid: v\n    partitions: 1");
	assert_opens(8, "    train: x\n    valid: {exec: cat v}\n    exec_name: dump");
	assert_opens(8, "    train: x\n    test: {exec: cat v}\n    exec_name: dump");
	assert_opens(6, "    exec: cat x\n    valid: {exec: cat y}\n    test: {exec: cat z}");
	assert_opens(8, "    train: [\"[~]/x\", \"/[$]HOME/x\", a~, a$b, $5, d/$]");
	assert_opens(6, "    exec: cat ~/web");
}

/* The last two keys of `b` in a file of two domains with one input. */
static void
check_sharing(const char *a, const char *b, const char *expected)
{
	char text[1024];
	struct config *c;
	struct failure f = {0};

	snprintf(text, sizeof(text),
	    "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\ndomains:\n  a: {%s}\n  b: "
	    "{%s}\n",
	    a, b);
	folder_text("share.yml", text);
	if (config_open(&c, folder_path("share.yml"), &f) == FAIL_NONE) {
		config_close(c);
		assert_null(expected);
		return;
	}
	assert_non_null(expected);
	assert_non_null(strstr(f.text, "share.yml:"));
	assert_string_equal(strstr(f.text, "share.yml:") + strlen("share.yml:"), expected);
}

static void
test_domains_of_one_input_each_need_a_where_of_their_own(void **unused)
{
	static const struct {
		const char *a, *b, *expected;
	} rows[] = {
	    {"train: [x, y]", "train: [y, x]", NULL}, /* not the same list: two inputs */
	    {"train: [x]", "train: [x, y]", NULL},
	    {"exec: x", "train: x", NULL},
	    {"train: x, where: {field: s, equals: A}", "train: [x], where: {field: s, equals: B}",
		NULL},
	    {"exec: x, where: {field: s, equals: A}", "exec: x, where: {field: t, equals: A}",
		NULL},
	    {"train: x, where: {field: s, equals: A}, text: t, on_end: drop",
		"train: x, where: {field: s, equals: B}, text: u, valid: z", NULL},
	    {"train: x", "train: x",
		"5: domains.a: takes every document of an input that domain b (line 6) shares: "
		"give each a where"},
	    {"exec: x, where: {field: s, equals: A}", "exec: x",
		"6: domains.b: takes every document of an input that domain a (line 5) shares: "
		"give each a where"},
	    {"exec: x, where: {field: s, equals: A}", "exec: x, where: {field: s, equals: A}",
		"6: domains.b.where: wants the same documents of the same input as domain a "
		"(line 5)"},
	    {"exec: x, where: {field: s, equals: A}",
		"exec: x, where: {field: s, equals: B}}\n  c: {exec: x, where: {field: s, equals: "
		"A}",
		"7: domains.c.where: wants the same documents of the same input as domain a "
		"(line 5)"},
	    {"exec: x, where: {field: s, equals: A}",
		"exec: x, where: {field: t, equals: A}}\n  c: {exec: x, where: {field: s, equals: "
		"A}",
		"7: domains.c.where: wants the same documents of the same input as domain a "
		"(line 5)"},
	    {"exec: x, where: {field: s, equals: A}",
		"exec: y, where: {field: s, equals: A}}\n  c: {exec: x, where: {field: s, equals: "
		"A}",
		"7: domains.c.where: wants the same documents of the same input as domain a "
		"(line 5)"},
	    {"train: [x, y], where: {field: s, equals: A}",
		"train: [x], where: {field: s, equals: A}}\n  c: {train: [x, y], where: {field: s, "
		"equals: A}",
		"7: domains.c.where: wants the same documents of the same input as domain a "
		"(line 5)"},
	    {"exec: x, exec_name: n, where: {field: s, equals: A}",
		"exec: x, exec_name: n, where: {field: s, equals: B}", NULL},
	    {"exec: x, exec_name: n, where: {field: s, equals: A}",
		"exec: x, where: {field: s, equals: B}",
		"6: domains.b.exec_name: differs from that of domain a (line 5), which shares its "
		"input: must agree"},
	    {"train: x, where: {field: s, equals: A}, partitions: 2",
		"train: x, where: {field: s, equals: B}",
		"6: domains.b.partitions: differs from that of domain a (line 5), which shares "
		"its input: must agree"},
	    {"train: x, where: {field: s, equals: A}, file_order: listed",
		"train: x, where: {field: s, equals: B}",
		"6: domains.b.file_order: differs from that of domain a (line 5), which shares "
		"its input: must agree"},
	    {"train: x, where: {field: s, equals: A}",
		"train: x, where: {field: s, equals: B}, live: true",
		"6: domains.b.live: differs from that of domain a (line 5), which shares its "
		"input: must agree"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, a)
		check_sharing(rows[i].a, rows[i].b, rows[i].expected);
}

static void
test_topics_that_collide_are_refused(void **unused)
{
	static const struct row rows[] = {
	    {7, "  web.valid:",
		"5: domains.web: its topic demo.web.valid would be that of domain web.valid "
		"(line 7) too: rename one"},
	    {7, "  web.test:",
		"5: domains.web: its topic demo.web.test would be that of domain web.test (line "
		"7) too: rename one"},
	    {7, "  web_valid:",
		"5: domains.web: its topic demo.web.valid collides with that of domain web_valid "
		"(line 7), demo.web_valid: Kafka takes '.' and '_' for equal; rename one"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(7, "  web-valid:");
}

static void
test_a_mix_whose_topics_are_those_of_the_corpus_is_refused(void **unused)
{
	static const struct {
		const char *domain, *mix, *expected;
	} rows[] = {
	    {"code", "demo", NULL},
	    {"batches", "demo",
		"4: domains.batches: its topic demo.batches would be the mix's too: rename one"},
	    {"batches", "demo, batches: derived", NULL},
	    {"lanes", "demo, batches: derived",
		"4: domains.lanes: its topic demo.lanes would be the mix's too: rename one"},
	    {"lanes", "demo", NULL},
	    {"x.ledger", "demo.x",
		"4: domains.x.ledger: its topic demo.x.ledger would be the mix's too: rename one"},
	    {"x_control", "demo.x",
		"4: domains.x_control: its topic demo.x_control collides with the mix's, "
		"demo.x.control: Kafka takes '.' and '_' for equal; rename one"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, domain) {
		char text[512];
		struct config *c;
		struct failure f = {0};

		snprintf(text, sizeof(text),
		    "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\n"
		    "domains: {%s: {train: x}}\n"
		    "mix: {name: %s, global_batch: 1, lanes: 1, weights: uniform}\n",
		    rows[i].domain, rows[i].mix);
		folder_text("mix.yml", text);
		config_open(&c, folder_path("mix.yml"), &f);
		assert_true((c != NULL) == (rows[i].expected == NULL));
		config_close(c);
		if (rows[i].expected != NULL)
			assert_string_equal(
			    strstr(f.text, "mix.yml:") + strlen("mix.yml:"), rows[i].expected);
	}
}

static void
test_lanes_divide_the_batch_and_replicas_suffice(void **unused)
{
	static const struct row rows[] = {
	    {12, "  lanes: 3",
		"12: mix.lanes: 3 does not divide mix.global_batch, 16: take 2 lanes, or a "
		"global_batch of 18"},
	    {12, "  lanes: 32",
		"12: mix.lanes: 32 does not divide mix.global_batch, 16: take 16 lanes, or a "
		"global_batch of 32"},
	    {3, "sequence_length: 8\ntopics: {min_insync_replicas: 2}",
		"4: topics.min_insync_replicas: out of range: 2 (at most topics.replication, 1)"},
	    {3, "sequence_length: 8\ntopics:\n  replication: 3\n  min_insync_replicas: 4",
		"6: topics.min_insync_replicas: out of range: 4 (at most topics.replication, 3)"},
	};

	(void)unused;
	ASSERT_REFUSED(rows);
	assert_opens(12, "  lanes: 16");
	assert_opens(3, "sequence_length: 8\ntopics: {replication: 2, min_insync_replicas: 2}");
}

static void
test_a_lane_of_over_64_mib_asks_for_more_lanes(void **unused)
{
	struct config *c;
	struct failure f;
	char text[512];
	size_t each = 2049 * 3 + 64, head = 1024 + 2 * 108, fit = ((64 << 20) - head) / each;
	static const char format[] =
	    "corpus: demo\ntokenizer: {file: v}\nsequence_length: 2048\n"
	    "domains: {a: {train: x}, b: {train: y}}\n"
	    "mix: {name: m, global_batch: %zu, lanes: 1, weights: uniform}\n";

	(void)unused;
	snprintf(text, sizeof(text), format, fit);
	folder_text("fits.yml", text);
	assert_int_equal(config_open(&c, folder_path("fits.yml"), &f), FAIL_NONE);
	assert_true(topic_plan_lane_bytes(c, 3) <= LIMIT_RECORD_BYTES);
	config_close(c);
	snprintf(text, sizeof(text), format, fit + 1);
	folder_text("over.yml", text);
	assert_int_equal(config_open(&c, folder_path("over.yml"), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "over.yml:5: mix.lanes: one lane's record could be 6711"));
	assert_non_null(strstr(f.text, " bytes: 1 (use more lanes: at most "));
	assert_non_null(strstr(f.text, " sequences of 2048 tokens fit the 64 MiB of a record)"));
}

/* `format` names each of n domains; gives the file's text. */
static char *
many_domains(size_t n)
{
	size_t room = n * 64 + 256, used;
	char *text = malloc(room);

	used = (size_t)snprintf(
	    text, room, "corpus: demo\ntokenizer: {file: v}\nsequence_length: 8\ndomains:\n");
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, room - used, "  d%zu: {train: f%zu}\n", i, i);
	return text;
}

static void
test_the_number_of_domains_is_bounded(void **unused)
{
	struct config *c;
	struct failure f;
	char *text = many_domains(LIMIT_DOMAINS);

	(void)unused;
	folder_text("many.yml", text);
	free(text);
	assert_int_equal(config_open(&c, folder_path("many.yml"), &f), FAIL_NONE);
	assert_int_equal(c->domains_n, LIMIT_DOMAINS);
	assert_int_equal(config_domain_index(c, "d4095") >= 0, 1);
	config_close(c);
	text = many_domains(LIMIT_DOMAINS + 1);
	folder_text("many.yml", text);
	free(text);
	assert_int_equal(config_open(&c, folder_path("many.yml"), &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "many.yml:4: domains: has 4097 domains (at most 4096)"));
}

static void
test_the_number_of_properties_is_bounded(void **unused)
{
	size_t room = (PROPERTIES_MAX + 1) * 16 + 16, used = 0;
	char *text = malloc(room);

	(void)unused;
	used = (size_t)snprintf(text, room, "kafka:\n  bootstrap.servers: a");
	for (size_t i = 1; i < PROPERTIES_MAX; i++)
		used += (size_t)snprintf(text + used, room - used, "\n  p%zu: 1", i);
	assert_opens(14, text);
	snprintf(text + used, room - used, "\n  more: 1");
	assert_refused(14, text, "14: kafka: has 1025 properties (at most 1024)");
	free(text);
}

static const char *
property(const struct config *c, const char *name)
{
	const char *value = NULL;

	for (size_t i = 0; i < c->kafka.n; i++)
		if (strcmp(c->kafka.item[i].name, name) == 0) {
			assert_null(value); /* each name once */
			value = c->kafka.item[i].value;
		}
	return value;
}

static void
test_the_environment_and_then_the_command_line_replace_properties(void **unused)
{
	struct config *c;
	struct failure f;

	(void)unused;
	unsetenv("RIFFLE_BOOTSTRAP");
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	assert_string_equal(property(c, "bootstrap.servers"), "localhost:9092");
	config_close(c);
	setenv("RIFFLE_BOOTSTRAP", "other:1", 1);
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	assert_string_equal(property(c, "bootstrap.servers"), "other:1");
	assert_int_equal(properties_set(&c->kafka, "bootstrap.servers", "third:2", &f), FAIL_NONE);
	assert_int_equal(properties_set(&c->kafka, "client.rack", "r1", &f), FAIL_NONE);
	assert_string_equal(property(c, "bootstrap.servers"), "third:2");
	assert_string_equal(property(c, "client.rack"), "r1");
	assert_int_equal(c->kafka.n, 2);
	config_close(c);
	assert_int_equal(open_with(&c, 14, "", &f), FAIL_NONE);
	assert_string_equal(property(c, "bootstrap.servers"), "other:1");
	config_close(c);
	setenv("RIFFLE_BOOTSTRAP", "", 1);
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	assert_string_equal(property(c, "bootstrap.servers"), "localhost:9092");
	config_close(c);
	unsetenv("RIFFLE_BOOTSTRAP");
}

static void
test_paths_are_relative_to_the_folder_of_the_file(void **unused)
{
	static const struct {
		const char *file, *path, *expected;
	} rows[] = {
	    {"run.yml", "data/a", "data/a"},
	    {"conf/run.yml", "data/a", "conf/data/a"},
	    {"/run.yml", "data/a", "/data/a"},
	    {"../x/run.yml", "../a", "../x/../a"},
	    {"conf/run.yml", "/data/a", "/data/a"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, file) {
		struct config c = {.path = strdup(rows[i].file)};
		struct failure f;
		char *path;

		assert_int_equal(config_resolve(&path, &c, rows[i].path, &f), FAIL_NONE);
		assert_string_equal(path, rows[i].expected);
		free(path);
		free(c.path);
	}
}

static void
test_the_table_of_keys_has_every_row_with_help(void **unused)
{
	char *text;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	(void)unused;
	config_keys_print(to);
	fclose(to);
	for (size_t i = 0; i < config_keys_n; i++) {
		char row[128];

		snprintf(row, sizeof(row), "\n| `%s` | ", config_keys[i].path);
		assert_non_null(strstr(text, row));
		assert_true(strlen(config_keys[i].help) > 0);
	}
	assert_non_null(strstr(text, "| `<\\|endoftext\\|>` |")); /* no cell ends in between */
	free(text);
}

static void
test_errors_of_the_file_itself_come_through(void **unused)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
	    {"", "bad.yml:1: is empty: `riffle config --init DATA` prints a first configuration"},
	    {"a:\n\tb: 1\n", "bad.yml:2: a tab cannot indent in YAML: use blanks"},
	    {"a: \xff\n", "bad.yml:1: not UTF-8 text: invalid leading UTF-8 octet at byte 3"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct config *c;
		struct failure f;

		folder_text("bad.yml", rows[i].text);
		assert_int_equal(config_open(&c, folder_path("bad.yml"), &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, rows[i].expected));
		assert_null(c);
	}
	config_close(NULL);
}

enum { DAMAGE_ROUNDS = 2000, DAMAGE_MOST = 4 };

/* Replaces, removes or doubles a few bytes; returns the new length. */
static size_t
damage(char *text, size_t n, unsigned *seed)
{
	static const char odd[] = "\n\t :,-[]{}&*!|>'\"%@`#?\\0a.\xff\x01";

	for (int i = 1 + rand_r(seed) % DAMAGE_MOST; i > 0; i--) {
		size_t at = (size_t)rand_r(seed) % n;

		switch (rand_r(seed) % 3) {
		case 0: text[at] = odd[(size_t)rand_r(seed) % (sizeof(odd) - 1)]; break;
		case 1: memmove(text + at, text + at + 1, --n - at); break;
		default:
			memmove(text + at + 1, text + at, n++ - at);
			text[at] = odd[(size_t)rand_r(seed) % (sizeof(odd) - 1)];
		}
	}
	return n;
}

static void
test_a_damaged_file_opens_or_is_told_about(void **unused)
{
	unsigned seed = (unsigned)getpid(), first = seed;

	(void)unused;
	print_message("seed %u\n", first);
	for (int i = 0; i < DAMAGE_ROUNDS; i++) {
		char text[sizeof(all_keys) + DAMAGE_MOST];
		struct config *c;
		struct failure f = {0};

		memcpy(text, all_keys, sizeof(all_keys));
		folder_write("hurt.yml", text, damage(text, sizeof(all_keys) - 1, &seed));
		if (config_open(&c, folder_path("hurt.yml"), &f) == FAIL_NONE) {
			config_close(c);
			continue;
		}
		assert_int_equal(f.code, FAIL_CONFIG);
		assert_non_null(strstr(f.text, "hurt.yml:"));
		assert_null(strchr(f.text, '\n'));
	}
}

static void
test_an_unknown_domain_is_named_with_the_nearest_and_all_there_are(void **state)
{
	struct config_domain domains[] = {{.name = "code"}, {.name = "wiki"}};
	const struct config c = {.path = (char[]){"run.yml"}, .domains = domains, .domains_n = 2};
	struct failure f;
	size_t index = 9;

	(void)state;
	assert_int_equal(config_find_domain(&index, &c, "wiki", &f), FAIL_NONE);
	assert_int_equal(index, 1);
	assert_int_equal(config_find_domain(&index, &c, "wikki", &f), FAIL_USAGE);
	assert_string_equal(f.text,
	    "the configuration run.yml has no domain wikki (did you mean wiki?); it has code, "
	    "wiki");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_file_fills_the_struct_and_the_rest_has_defaults),
	    cmocka_unit_test(test_a_mix_fills_the_struct_and_the_rest_has_defaults),
	    cmocka_unit_test(test_transactions_grow_with_the_lanes_unless_their_size_is_given),
	    cmocka_unit_test(test_keys_that_go_together_can_all_be_given),
	    cmocka_unit_test(test_a_file_without_a_mix_describes_a_corpus),
	    cmocka_unit_test(test_unknown_and_duplicate_keys_are_named),
	    cmocka_unit_test(test_missing_keys_say_what_they_are_for),
	    cmocka_unit_test(test_a_value_of_the_wrong_shape_is_refused),
	    cmocka_unit_test(test_a_file_that_is_no_map_is_refused),
	    cmocka_unit_test(test_both_sides_of_every_range),
	    cmocka_unit_test(test_values_that_are_no_values_say_what_is_allowed),
	    cmocka_unit_test(test_a_long_value_is_cut_between_characters),
	    cmocka_unit_test(test_a_split_is_three_parts_of_which_one_counts),
	    cmocka_unit_test(test_a_unit_of_the_split_has_an_effect),
	    cmocka_unit_test(test_weights_are_finite_and_one_is_positive),
	    cmocka_unit_test(test_reserved_names_are_refused),
	    cmocka_unit_test(test_a_domain_has_one_source),
	    cmocka_unit_test(test_domains_of_one_input_each_need_a_where_of_their_own),
	    cmocka_unit_test(test_topics_that_collide_are_refused),
	    cmocka_unit_test(test_a_mix_whose_topics_are_those_of_the_corpus_is_refused),
	    cmocka_unit_test(test_lanes_divide_the_batch_and_replicas_suffice),
	    cmocka_unit_test(test_a_lane_of_over_64_mib_asks_for_more_lanes),
	    cmocka_unit_test(test_the_number_of_domains_is_bounded),
	    cmocka_unit_test(test_the_number_of_properties_is_bounded),
	    cmocka_unit_test(test_the_environment_and_then_the_command_line_replace_properties),
	    cmocka_unit_test(test_paths_are_relative_to_the_folder_of_the_file),
	    cmocka_unit_test(test_the_table_of_keys_has_every_row_with_help),
	    cmocka_unit_test(test_errors_of_the_file_itself_come_through),
	    cmocka_unit_test(test_a_damaged_file_opens_or_is_told_about),
	    cmocka_unit_test(test_an_unknown_domain_is_named_with_the_nearest_and_all_there_are),
	};

	return cmocka_run_group_tests_name("config", tests, folder_open, folder_close);
}
