/* command.h: whole commands, without a broker and with librdkafka's mock cluster. */
#include "cli/command.h"

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/mock_domain.h"
#include "tests/unit/printed.h"
#include "tests/unit/tiktoken_file.h"

enum { WORDS_MAX = 16 };

static char said[16384]; /* by the last command, without times and librdkafka's lines */
static char was[1024];   /* the folder of the program; a test runs in its own */

/* Runs "NAME WORD..." in the folder. *out: what it prints (free). */
static enum fail_code
run(const char *line, char **out)
{
	char words[1024], whole[sizeof(said)];
	char *argv[WORDS_MAX + 1] = {NULL};
	const struct command *c;
	struct capture log;
	struct printed p;
	enum fail_code code;
	int argc = 0;
	size_t n = 0;

	snprintf(words, sizeof(words), "%s", line);
	for (char *rest = NULL, *word = strtok_r(words, " ", &rest); word != NULL;
	     word = strtok_r(NULL, " ", &rest)) {
		assert_true(argc < WORDS_MAX);
		argv[argc++] = word;
	}
	c = command_find(argv[0]);
	assert_non_null(c);
	capture_begin(&log);
	printed_begin(&p);
	f = (struct failure){0};
	code = c->run(argc, argv, &f);
	printed_end(&p);
	capture_end_lines(&log, whole, sizeof(whole));
	for (char *rest = NULL, *event = strtok_r(whole, "\n", &rest); event != NULL;
	     event = strtok_r(NULL, "\n", &rest))
		if (strstr(event, " kafka: ") == NULL)
			n += (size_t)snprintf(
			    said + n, sizeof(said) - n, "%s\n", strchr(event, ' ') + 1);
	said[n] = '\0';
	*out = p.text;
	return code;
}

static int
begin(void **state)
{
	static const char *const more[] = {"th", "the", " t", " the", "in", NULL};

	if (folder_open(state) != 0 || tiktoken_file_setup(state) != 0 ||
	    getcwd(was, sizeof(was)) == NULL)
		return -1;
	tiktoken_file_of(more);
	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	return chdir(folder) != 0 || symlink(tiktoken_path, "t.tiktoken") != 0;
}

static int
end(void **state)
{
	return chdir(was) | tiktoken_file_teardown(state) | folder_close(state);
}

/* ---- which partition a task of an array produces ---- */

#define NO_TOKENIZER                                                                               \
	"tokenizer none.tiktoken: cannot be opened: No such file or directory; tokenizer.file is " \
	"relative to the folder of run.yml. Take the tokenizer.json of your model, or a "          \
	".tiktoken file"
#define OF_EACH(variable, k)                                                                       \
	"info " variable " is " k ": of each domain that has it, partition " k "\n"
#define TOKENS "info produce: domain=t holds tokens: `riffle import` publishes it\n"

/* Domain a has one partition, b has three; t has four, and holds tokens. */
static const char three[] = "corpus: c\n"
			    "tokenizer: {file: none.tiktoken, pattern: gpt2}\n"
			    "sequence_length: 8\n"
			    "domains:\n"
			    "  a: {train: a.jsonl}\n"
			    "  b: {train: b.jsonl, partitions: 3}\n"
			    "  t: {train: t.npy, tokens: npy, token_bytes: 2, partitions: 4}\n"
			    "kafka: {bootstrap.servers: \"127.0.0.1:1\"}\n";

static const struct {
	const char *line, *job, *slurm, *count; /* three variables of the environment */
	enum fail_code code;
	const char *failure, *said;
} tasks[] = {
    {"produce -c run.yml", NULL, NULL, NULL, FAIL_IO, NO_TOKENIZER, TOKENS},
    {"produce -c run.yml", NULL, "1", NULL, FAIL_IO, NO_TOKENIZER,
	TOKENS OF_EACH("SLURM_ARRAY_TASK_ID", "1")},
    {"produce -c run.yml", "2", "1", NULL, FAIL_IO, NO_TOKENIZER,
	TOKENS OF_EACH("JOB_COMPLETION_INDEX", "2")},
    {"produce -c run.yml", NULL, "1", "2", FAIL_USAGE,
	"SLURM_ARRAY_TASK_COUNT is 2, and a domain has 3 partitions: give the array that many "
	"tasks, from 0; or --partition auto, which produces that of this task alone",
	""},
    {"produce -c run.yml", NULL, "1", "3", FAIL_IO, NO_TOKENIZER,
	TOKENS OF_EACH("SLURM_ARRAY_TASK_ID", "1")},
    {"produce -c run.yml", NULL, "x", NULL, FAIL_USAGE,
	"SLURM_ARRAY_TASK_ID is not the number of a partition: x (0 to 4095)", ""},
    {"produce -c run.yml", NULL, "4096", NULL, FAIL_USAGE,
	"SLURM_ARRAY_TASK_ID is not the number of a partition: 4096 (0 to 4095)", ""},
    {"produce -c run.yml", NULL, "3", NULL, FAIL_USAGE,
	"SLURM_ARRAY_TASK_ID is 3, and the domains have 3 partitions at most, from 0: give the "
	"array 3 tasks, from 0",
	TOKENS},
    {"produce -c run.yml a", NULL, "1", NULL, FAIL_IO, NO_TOKENIZER, ""},
    {"produce -c run.yml a b", NULL, "1", NULL, FAIL_IO, NO_TOKENIZER,
	OF_EACH("SLURM_ARRAY_TASK_ID", "1")},
    {"produce -c run.yml b", NULL, "0", "2", FAIL_USAGE,
	"SLURM_ARRAY_TASK_COUNT is 2, and a domain has 3 partitions: give the array that many "
	"tasks, from 0; or --partition auto, which produces that of this task alone",
	""},
    {"produce -c run.yml --partition auto", NULL, NULL, NULL, FAIL_USAGE,
	"--partition auto: this is no task of an array: neither JOB_COMPLETION_INDEX (Kubernetes) "
	"nor SLURM_ARRAY_TASK_ID is set; give K/N",
	""},
    {"produce -c run.yml --partition auto", NULL, "1", "2", FAIL_IO, NO_TOKENIZER,
	TOKENS OF_EACH("SLURM_ARRAY_TASK_ID", "1")},
    {"produce -c run.yml a --partition auto", NULL, "1", NULL, FAIL_USAGE,
	"SLURM_ARRAY_TASK_ID is 1, and the domains have 1 partitions at most, from 0: give the "
	"array 1 tasks, from 0",
	""},
    {"produce -c run.yml a --partition auto", NULL, "0", NULL, FAIL_IO, NO_TOKENIZER,
	OF_EACH("SLURM_ARRAY_TASK_ID", "0")},
    {"produce -c run.yml b --partition 2/3", NULL, "1", "1", FAIL_IO, NO_TOKENIZER, ""},
    {"produce -c run.yml b --partition 0/2", NULL, NULL, NULL, FAIL_USAGE,
	"--partition 0/2: domain b has partitions: 3; they must be equal", ""},
    {"produce -c run.yml b --lane 0/2", NULL, NULL, NULL, FAIL_USAGE,
	"--lane 0/2: domain b has partitions: 3; they must be equal", ""},
    {"produce -c run.yml t", NULL, NULL, NULL, FAIL_USAGE,
	"domain t holds tokens: `riffle import t` publishes it", ""},
    {"produce -c run.yml a --follow", NULL, NULL, NULL, FAIL_USAGE,
	"--follow: domain a is not live; set domains.a.live: true, or leave it out", ""},
    {"produce -c run.yml --skip-missing", NULL, NULL, NULL, FAIL_USAGE,
	"--skip-missing: no domain of run.yml has live: true", TOKENS},
    {"produce -c run.yml --follow --seal", NULL, NULL, NULL, FAIL_USAGE,
	"--follow and --seal exclude each other: end what follows, then seal", TOKENS},
    {"import -c run.yml", NULL, "1", "3", FAIL_USAGE,
	"SLURM_ARRAY_TASK_COUNT is 3, and a domain has 4 partitions: give the array that many "
	"tasks, from 0; or --partition auto, which produces that of this task alone",
	""},
    {"import -c run.yml", NULL, "3", "4", FAIL_IO, NO_TOKENIZER,
	OF_EACH("SLURM_ARRAY_TASK_ID", "3")},
    {"import -c run.yml a", NULL, NULL, NULL, FAIL_USAGE,
	"domain a holds text: `riffle produce a` publishes it", ""},
    {"produce -c run.yml none", NULL, NULL, NULL, FAIL_USAGE,
	"the configuration run.yml has no domain none; it has a, b, t", ""},
};

static void
set_variable(const char *name, const char *value)
{
	if (value == NULL)
		unsetenv(name);
	else
		setenv(name, value, 1);
}

/* Figures that are others in each run. */
static void
hide_seconds(char *text)
{
	char *at = strstr(text, "seconds=");

	if (at != NULL)
		memcpy(at, "seconds=...", sizeof("seconds=..."));
}

static void
assert_runs(const char *line, enum fail_code code, const char *failure, const char *printed,
    const char *log)
{
	char *out;

	assert_int_equal(run(line, &out), code);
	hide_seconds(out);
	assert_string_equal(f.text, failure);
	printed_compare(out, printed);
	printed_compare(said, log);
	free(out);
}

static void
test_a_task_of_an_array_produces_its_partition(void **unused)
{
	(void)unused;
	folder_text("run.yml", three);
	folder_text("a.jsonl", "{\"text\": \"a\"}\n");
	folder_text("b.jsonl", "{\"text\": \"b\"}\n");
	folder_text("t.npy", "12");
	EACH_NAMED_ROW(i, tasks, line) {
		set_variable("JOB_COMPLETION_INDEX", tasks[i].job);
		set_variable("SLURM_ARRAY_TASK_ID", tasks[i].slurm);
		set_variable("SLURM_ARRAY_TASK_COUNT", tasks[i].count);
		assert_runs(tasks[i].line, tasks[i].code, tasks[i].failure, "", tasks[i].said);
	}
	set_variable("JOB_COMPLETION_INDEX", NULL);
	set_variable("SLURM_ARRAY_TASK_ID", NULL);
	set_variable("SLURM_ARRAY_TASK_COUNT", NULL);
}

/* ---- commands that end ---- */

static const char mixed[] = "corpus: c\n"
			    "tokenizer: {file: t.tiktoken, pattern: gpt2}\n"
			    "sequence_length: 8\n"
			    "domains:\n"
			    "  a: {train: a.jsonl}\n"
			    "  b: {train: b.jsonl}\n"
			    "mix: {name: m, global_batch: 4, lanes: 2, weights: {a: 3, b: 1}}\n"
			    "kafka: {bootstrap.servers: \"127.0.0.1:1\"}\n";

static const struct {
	const char *line;
	enum fail_code code;
	const char *failure, *printed, *said;
} commands[] = {
    {"plan -c mix.yml --draws 8", FAIL_NONE, "",
	"0\ta\t0\n"
	"1\ta\t1\n"
	"2\tb\t0\n"
	"3\ta\t2\n"
	"4\ta\t3\n"
	"5\ta\t4\n"
	"6\tb\t1\n"
	"7\ta\t5\n",
	""},
    {"plan -c mix.yml --draws 8 --sizes a=2,b=1", FAIL_NONE, "",
	"0\ta\t0\n"
	"1\ta\t1\n"
	"2\tb\t0\n"
	"3\ta\t2\n"
	"4\ta\t3\n"
	"5\ta\t4\n"
	"6\tb\t1\n"
	"7\ta\t5\n",
	""},
    {"plan -c mix.yml --steps 4 --sizes a=8,b=8", FAIL_NONE, "",
	"mix m: 4 steps of 4 sequences on 2 lanes: 16 sequences, 128 tokens; the mix continues\n"
	"through Kafka at most 0.0 MB: read by the mixer, written, read by one run, before "
	"compression\n"
	"\n"
	"steps 0..4  lr_scale 1  temperature 1\n"
	"DOMAIN      INTENDED      ACHIEVED     SEQUENCES            TOKENS      EPOCHS  WORST "
	"RANK\n"
	"a         75.000000%    75.000000%            12                96      1.5000     "
	"0.0000%\n"
	"b         25.000000%    25.000000%             4                32      0.5000     "
	"0.0000%\n"
	"\n"
	"all steps\n"
	"DOMAIN        LENGTH     SEQUENCES      EPOCHS   FIRST DRAWN     EXHAUSTED  REPETITION\n"
	"a                  8            12      1.5000             0             2      1.5000\n"
	"b                  8             4      0.5000             0         never      1.0000\n",
	""},
    {"plan -c mix.yml --sizes a=8", FAIL_USAGE, "--sizes: domain b is missing", "", ""},
    {"plan -c mix.yml --draws 8 --json", FAIL_USAGE, "--draws cannot go with --steps or --json", "",
	""},
    {"plan -c mix.yml --draws 8 --steps 1", FAIL_USAGE, "--draws cannot go with --steps or --json",
	"", ""},
    {"plan -c run.yml --draws 8", FAIL_CONFIG,
	"run.yml: mix: is missing (the section that says what is mixed, and how; see `riffle "
	"config --keys`)",
	"", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 a.jsonl", FAIL_NONE, "",
	"{\"tokens\":[257,32,256,260]}\n"
	"{\"tokens\":[]}\n"
	"{\"tokens\":[97,34]}\n",
	""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --decode ids.jsonl", FAIL_NONE, "",
	"{\"text\":\"the tin\"}\n"
	"{\"text\":\"\"}\n"
	"{\"text\":\"\\\"\\\\\\n\\t\\r\\u0001\xef\xbf\xbd\"}\n",
	""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --text b a.jsonl", FAIL_DATA,
	"a.jsonl: line 1: there is no field `b`; --text names the field that holds the text", "",
	""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --text n n.jsonl", FAIL_DATA,
	"n.jsonl: line 1: the field `n` is not a string", "", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --decode a.jsonl", FAIL_DATA,
	"a.jsonl: line 1: no field `tokens`", "", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --decode high.jsonl", FAIL_DATA,
	"high.jsonl: line 2: id 261 is not in the tokenizer", "{\"text\":\"a\"}\n", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 later.jsonl", FAIL_DATA,
	"later.jsonl: line 2: invalid JSON at byte 0: a value is missing; a line must be a JSON "
	"object; plain text is taken from a .txt file",
	"{\"tokens\":[97]}\n", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 a.txt", FAIL_NONE, "",
	"{\"tokens\":[257,32,256,260,10]}\n", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --count --threads 1 a.jsonl", FAIL_NONE, "",
	"documents=3 bytes=10 tokens=6 seconds=...", ""},
    {"tokenize --tokenizer t.tiktoken --pattern gpt2 --count --decode ids.jsonl", FAIL_NONE, "",
	"documents=3 bytes=14 tokens=10 seconds=...", ""},
    {"acls rejects --principal User:O'Brien -c mix.yml", FAIL_NONE, "",
	"\"$@\" --add --allow-principal 'User:O'\\''Brien' --operation Read --topic c.rejects\n",
	""},
    {"acls rejects --principal User:x -c mix.yml --table", FAIL_NONE, "",
	"READ\ttopic\tliteral\tc.rejects\n", ""},
    {"acls rejects --principal User:x -c mix.yml --remove", FAIL_NONE, "",
	"\"$@\" --remove --force --allow-principal 'User:x' --operation Read --topic c.rejects\n",
	""},
    {"acls none --principal User:x -c mix.yml", FAIL_USAGE,
	"no rights are known for none (there are: topics, topics-create, topics-delete, produce, "
	"mix, read, weights, skip, requests, runs, runs-forget, reweight, status, serve, "
	"serve-changes, rejects, inspect, replay, repair, export, retain)",
	"", ""},
    {"tokenize", FAIL_USAGE, "which tokenizer? give --tokenizer FILE", "", ""},
    {"tokenize --tokenizer none a.jsonl", FAIL_IO,
	"tokenizer none: cannot be opened: No such file or directory", "", ""},
    {"config --check -c mix.yml", FAIL_CONFIG,
	"mix.yml: tokenizer t.tiktoken: eos \"<|endoftext|>\" is not a token; no special tokens "
	"are known of a file of 261 ranks with pattern gpt2, which has 50256: is the file whole? "
	"Of a tokenizer of your own: name a token of the file as eos",
	"", ""},
    {"config --check -c run.yml --no-inputs", FAIL_NONE, "", "run.yml: ok: corpus c, 3 domains\n",
	""},
    {"config --check -c run.yml", FAIL_IO,
	"run.yml: tokenizer none.tiktoken: cannot be opened: No such file or directory; "
	"tokenizer.file is relative to the folder of run.yml. Take the tokenizer.json of your "
	"model, or a .tiktoken file",
	"", ""},
    {"config", FAIL_USAGE, "give one of --keys, --check and --init", "", ""},
    {"config --init", FAIL_USAGE,
	"--init: name a folder of data, as in `riffle config --init data > run.yml`", "", ""},
    {"config --check --tokenizer x -c mix.yml", FAIL_USAGE, "--tokenizer: needs --init", "", ""},
    {"config --keys x", FAIL_USAGE, "x: only --init takes folders", "", ""},
    {"mix -c run.yml", FAIL_CONFIG,
	"run.yml: mix: is missing (the section that says what is mixed, and how; see `riffle "
	"config --keys`)",
	"", ""},
    {"status -c mix.yml --mix .x", FAIL_USAGE, "--mix: \".x\" is not a name of a mix", "", ""},
    {"status", FAIL_USAGE, "no configuration is named: add -c FILE, or set RIFFLE_CONFIG", "", ""},
    {"skip -c mix.yml", FAIL_USAGE,
	"which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or --steps A..B",
	"", ""},
    {"read -c mix.yml --rank 2 --world 2", FAIL_USAGE,
	"--rank: out of range: 2 (0 to 1, as --world is 2)", "", ""},
    {"replay -c mix.yml --steps 3..2", FAIL_USAGE,
	"--steps: not a range: 3..2 (a..b: a up to, but without, b)", "", ""},
    {"retain -c mix.yml", FAIL_USAGE, "--from-step S is needed: the first step that stays", "", ""},
    {"acls -c mix.yml", FAIL_USAGE,
	"an argument is missing: COMMAND (usage: riffle acls COMMAND --principal User:NAME -c FILE "
	"[--remove] [--table])",
	"", ""},
    {"inspect -c mix.yml", FAIL_USAGE, "which STEP? or --document FILE[:LINE]", "", ""},
    {"inspect -c mix.yml x", FAIL_USAGE, "STEP: not a step: x", "", ""},
    {"inspect -c mix.yml 1 --document a", FAIL_USAGE,
	"--document: goes without STEP, --text and --tokens", "", ""},
    {"read -c mix.yml --set valid", FAIL_USAGE, "--set: which domain? give --domain NAME", "", ""},
    {"read -c mix.yml --from-step 1 --from-time x", FAIL_USAGE,
	"--from-step or --from-time, not both", "", ""},
    {"skip -c mix.yml a 1..2 --step 3", FAIL_USAGE,
	"which sequences? give either DOMAIN[/PARTITION] and a..b, or --step S, or --steps A..B",
	"", ""},
    {"export -c mix.yml a", FAIL_USAGE, "give --format: megatron, ds, npy or llmc", "", ""},
    {"runs -c mix.yml --reset x", FAIL_USAGE, "--reset RUN and --to STEP go together", "", ""},
    {"serve -c mix.yml --addr 0.0.0.0:0", FAIL_USAGE, "unknown option --addr", "", ""},
    {"completion", FAIL_USAGE,
	"an argument is missing: bash|zsh|fish (usage: riffle completion bash|zsh|fish)", "", ""},
    {"completion tcsh", FAIL_USAGE, "no completion for tcsh: bash, zsh and fish have one", "", ""},
};

static void
test_commands_without_a_broker(void **unused)
{
	(void)unused;
	folder_text("mix.yml", mixed);
	folder_text("run.yml", three);
	folder_text(
	    "a.jsonl", "{\"text\": \"the thin\"}\n{\"text\": \"\"}\n{\"text\": \"a\\\"\"}\n");
	folder_text("n.jsonl", "{\"n\": 1}\n");
	folder_text("ids.jsonl", "{\"tokens\": [257, 258, 260]}\n{\"tokens\": []}\n{\"tokens\": "
				 "[34, 92, 10, 9, 13, 1, 255]}\n");
	folder_text("high.jsonl", "{\"tokens\": [97]}\n{\"tokens\": [261]}\n");
	folder_text("later.jsonl", "{\"text\": \"a\"}\nbad\n{\"text\": \"b\"}\n");
	folder_text("a.txt", "the thin\n");
	EACH_NAMED_ROW(i, commands, line) {
		assert_runs(commands[i].line, commands[i].code, commands[i].failure,
		    commands[i].printed, commands[i].said);
	}
}

/* ---- with a broker ---- */

/* Sequences: a has 6, b has 2. */
static const char sized[] = "corpus: c\n"
			    "tokenizer: {file: none.tiktoken, pattern: gpt2}\n"
			    "sequence_length: 8\n"
			    "domains:\n"
			    "  a: {train: a.jsonl}\n"
			    "  b: {train: b.jsonl}\n"
			    "mix: {name: m, global_batch: 4, lanes: 2}\n";

static void
write_reject(const char *const *header, const char *bytes, size_t n)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(8);

	for (; *header != NULL; header += 2) {
		char name[64];

		snprintf(name, sizeof(name), "riffle.error.%s", header[0]);
		rd_kafka_header_add(headers, name, -1, header[1], -1);
	}
	assert_int_equal(rd_kafka_producev(mock_writer, RD_KAFKA_V_TOPIC("c.rejects"),
			     RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, n),
			     RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_TIMESTAMP(1700000000000),
			     RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
	    RD_KAFKA_RESP_ERR_NO_ERROR);
	assert_int_equal(rd_kafka_flush(mock_writer, MOCK_WAIT_MS), RD_KAFKA_RESP_ERR_NO_ERROR);
}

/* What producers and a mixer could not use: one record twice, and each of its neighbours. */
static void
write_rejects(void)
{
	static const struct {
		const char *header[16], *bytes;
	} row[] = {
	    {{"stage", "produce", "domain", "a", "file", "f", "line", "1", "byte", "0", "count",
		 "1", "reason", "no field 7"},
		"{\"x\": \"\xff\t\"}"},
	    {{"stage", "produce", "domain", "a", "file", "f", "line", "1", "byte", "0", "count",
		 "2", "reason", "no field 7"},
		"{\"x\": \"\xff\t\"}"},
	    {{"stage", "produce", "domain", "a", "file", "f", "line", "2", "byte", "9", "count",
		 "2", "reason", "no field 8"},
		"{\"x\": \"\xff\t\"}"},
	    {{"stage", "produce", "domain", "a", "file", "f", "line", "2", "byte", "9", "count",
		 "2", "reason", "no field 8"},
		"other"},
	    {{"stage", "produce", "domain", "b", "file", "f", "line", "2", "byte", "9", "count",
		 "2", "reason", "no field 8"},
		"other"},
	    {{"stage", "mix", "domain", "b", "topic", "c.b", "partition", "0", "offset", "3",
		 "reason", "hash"},
		""},
	};
	char large[300];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		write_reject(row[i].header, row[i].bytes, strlen(row[i].bytes));
	memset(large, 'x', sizeof(large));
	write_reject(row[4].header, large, sizeof(large));
}

static const struct {
	const char *line;
	enum fail_code code;
	const char *failure, *printed, *said;
} asked[] = {
    {"plan -c sized.yml -s mix.weights=uniform --draws 4", FAIL_NONE, "",
	"0\ta\t0\n"
	"1\tb\t0\n"
	"2\ta\t1\n"
	"3\tb\t1\n",
	""},
    {"inspect -c sized.yml 0", FAIL_DATA,
	"step 0 of mix m is not published yet: the mix has not begun: run `riffle mix`", "", ""},
    {"inspect -c sized.yml --mix other 0", FAIL_DATA,
	"step 0 of mix other is not published yet: the mix has not begun: run `riffle mix`", "",
	""},
    {"inspect -c sized.yml --document f:3", FAIL_DATA, "mix m has not started: its ledger is empty",
	"", ""},
    {"rejects -c sized.yml", FAIL_NONE, "",
	"a\tf:1\tno field 7\t{\"x\": \"..\"}\n"
	"a\tf:2\tno field 8\t{\"x\": \"..\"}\n"
	"a\tf:2\tno field 8\tother\n"
	"b\tf:2\tno field 8\tother\n"
	"b\tc.b/0 offset 3\thash\t\n"
	"b\tf:2\tno field "
	"8\txxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	"xxxxxxxxxxxxx...\n"
	"6 records\n"
	"a: 3 no field N\n"
	"b: 2 no field N, 1 hash\n",
	""},
    {"rejects -c sized.yml --count", FAIL_NONE, "",
	"6 records\n"
	"a: 3 no field N\n"
	"b: 2 no field N, 1 hash\n",
	""},
    {"rejects -c sized.yml --domain b --json", FAIL_NONE, "",
	"{\"record\":4,\"time_ms\":1700000000000,\"stage\":\"produce\",\"domain\":\"b\",\"reason\":"
	"\"no field "
	"8\",\"file\":\"f\",\"line\":2,\"byte\":9,\"count\":2,\"begins\":\"other\",\"bytes\":5}\n"
	"{\"record\":5,\"time_ms\":1700000000000,\"stage\":\"mix\",\"domain\":\"b\",\"reason\":"
	"\"hash\",\"topic\":\"c.b\",\"partition\":0,\"offset\":3,\"begins\":\"\",\"bytes\":0}\n"
	"{\"record\":6,\"time_ms\":1700000000000,\"stage\":\"produce\",\"domain\":\"b\",\"reason\":"
	"\"no field "
	"8\",\"file\":\"f\",\"line\":2,\"byte\":9,\"count\":2,\"begins\":"
	"\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	"xxxxxxxxxxxx\",\"bytes\":300}\n"
	"{\"records\":3,\"domains\":[{\"domain\":\"b\",\"records\":3,\"reasons\":{\"no field "
	"N\":2,\"hash\":1},\"other_reasons\":0}]}\n",
	""},
    {"rejects -c sized.yml --reason hash", FAIL_NONE, "",
	"b\tc.b/0 offset 3\thash\t\n"
	"1 record\n"
	"b: 1 hash\n",
	""},
    {"rejects -c sized.yml --domain none", FAIL_USAGE,
	"the configuration sized.yml has no domain none; it has a, b", "", ""},
    {"requests -c sized.yml", FAIL_NONE, "", "no request\n", ""},
    {"weights -c sized.yml a=1 none=2", FAIL_USAGE, "the mix has no domain none; it has a, b", "",
	""},
    {"replay -c sized.yml --steps 0..1", FAIL_DATA, "mix m has not begun: `riffle mix` starts it",
	"", ""},
    {"read -c sized.yml --rank 0 --world 1 --steps 1", FAIL_CONFIG,
	"topic m.batches has 4 partitions, the configuration wants 2 (mix.lanes): set it back to "
	"4, or give mix.name another name; if partitions were added, `riffle topics` says what to "
	"do",
	"", "info riffle: run trainers of mix m has committed nothing: it starts at step 0\n"},
    {"read -c sized.yml --domain a --set valid --format none", FAIL_DATA,
	"topic c.a.valid holds nothing yet: `riffle produce a` publishes it", "", ""},
};

static void
test_commands_of_a_corpus_that_is_published(void **state)
{
	assert_int_equal(mock_begin(state), 0);
	setenv("RIFFLE_BOOTSTRAP", mock_bootstrap, 1);
	folder_text("sized.yml", sized);
	mock_topic("c.a", 1);
	mock_topic("c.b", 1);
	mock_topic("c.rejects", 1);
	mock_topic("m.ledger", 1);
	mock_topic("m.control", 1);
	mock_topic("m.batches", 4);
	mock_topic("c.a.valid", 1);
	mock_topic("other.ledger", 1);
	mock_write_domain("c.a", 0, MOCK_END + 6, -1, SAMPLE_TOKENIZER, NULL);
	mock_write_domain("c.b", 0, MOCK_END + 2, -1, SAMPLE_TOKENIZER, NULL);
	write_rejects();
	EACH_NAMED_ROW(i, asked, line) {
		assert_runs(asked[i].line, asked[i].code, asked[i].failure, asked[i].printed,
		    asked[i].said);
	}
	unsetenv("RIFFLE_BOOTSTRAP");
	mock_end(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_task_of_an_array_produces_its_partition),
	    cmocka_unit_test(test_commands_without_a_broker),
	    cmocka_unit_test(test_commands_of_a_corpus_that_is_published),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
