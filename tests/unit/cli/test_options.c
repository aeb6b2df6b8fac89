/* options.h: rows parsed, refused and printed. */
#include "cli/options.h"

#include "common/base/log.h"
#include "common/base/names.h"

#include "tests/unit/capture.h"
#include "tests/unit/folder.h"
#include "tests/unit/mock_topics.h"

enum form { FORM_STEPS, FORM_JSONL };
static const char *const forms[] = {[FORM_STEPS] = "steps", [FORM_JSONL] = "jsonl", NULL};

struct values {
	bool flag;
	const char *text;
	uint32_t rank;
	uint64_t steps, memory;
	double share, least;
	enum form form, other;
	struct option_range range;
	struct option_part lane;
	struct option_list names;
};

#undef AT
#define AT(field) offsetof(struct values, field)

static const struct option_row rows[] = {
    {.name = "flag", .letter = 'f', .kind = OPTION_FLAG, .at = AT(flag), .help = "a flag"},
    {.name = "text",
	.letter = 't',
	.kind = OPTION_TEXT,
	.at = AT(text),
	.value = "T",
	.help = "a text that is explained at a length which does not fit one line of the help at "
		"all"},
    {.name = "rank",
	.kind = OPTION_COUNT32,
	.at = AT(rank),
	.min = 1,
	.max = 7,
	.value = "R",
	.help = "a rank"},
    {.name = "steps",
	.kind = OPTION_COUNT,
	.at = AT(steps),
	.value = "N",
	.without = "as many as there are",
	.help = "a count"},
    {.name = "memory",
	.kind = OPTION_SIZE,
	.at = AT(memory),
	.min = 1024,
	.max = 1 << 20,
	.value = "SIZE",
	.help = "a size"},
    {.name = "share",
	.kind = OPTION_NUMBER,
	.at = AT(share),
	.max = 1,
	.value = "X",
	.help = "a number"},
    {.name = "least",
	.kind = OPTION_NUMBER,
	.at = AT(least),
	.value = "X",
	.help = "a number from nothing on"},
    {.name = "format",
	.kind = OPTION_CHOICE,
	.at = AT(form),
	.choice = forms,
	.value = "FORM",
	.help = "a choice"},
    {.name = "other",
	.kind = OPTION_CHOICE,
	.at = AT(other),
	.choice = forms,
	.without = "",
	.help = "a choice that must be made"},
    {.name = "range", .kind = OPTION_RANGE, .at = AT(range), .value = "a..b", .help = "a range"},
    {.name = "lane", .kind = OPTION_PART, .at = AT(lane), .value = "k/n", .help = "a lane"},
    {.name = "slice", .kind = OPTION_PART, .at = AT(lane), .value = "k/n"}, /* --lane, of before */
    {.name = "name", .kind = OPTION_LIST, .at = AT(names), .value = "NAME", .help = "names"},
};

static const struct values defaults = {.rank = 5, .text = "default", .memory = 4096, .share = 0.25};

static const struct command command = {
    .name = "try",
    .summary = "tries options",
    .usage = "[OPTION...] [WORD...]",
    .help = "A paragraph of words\nthat are filled\nup to the width of a line, and broken where "
	    "the next word has no room.\n\nAnother one.",
    .defaults = &defaults,
    .example = "riffle try --flag\nriffle try --rank 1",
    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = 2,
};

static const struct command bare = {.name = "bare",
    .summary = "has no options",
    .usage = "FILE",
    .example = "riffle bare x",
    .arguments_min = 1,
    .arguments_max = 1};

enum { WORDS_MAX = 600 };

/* A command line with blanks between the words; "_" is an empty word. */
struct line {
	char text[WORDS_MAX * 8];
	char *argv[WORDS_MAX + 1];
	int argc;
};

static void
line_init(struct line *l, const char *text)
{
	char *at = l->text;

	l->argc = 0;
	snprintf(l->text, sizeof(l->text), "try %s", text);
	for (;;) {
		char *end = at + strcspn(at, " ");
		bool last = *end == '\0';

		*end = '\0';
		assert_true(l->argc < WORDS_MAX);
		if (*at != '\0')
			l->argv[l->argc++] = strcmp(at, "_") == 0 ? at + 1 : at;
		if (last)
			break;
		at = end + 1;
	}
	l->argv[l->argc] = NULL;
}

static enum fail_code
parse(const struct command *c, const char *text, struct options *o, struct values *v,
    struct failure *f)
{
	static struct line l; /* argv is borrowed beyond the call */

	line_init(&l, text);
	*v = defaults;
	return options_parse(o, c, l.argc, l.argv, v, f);
}

static void
test_each_kind_reaches_its_destination(void **unused)
{
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(parse(&command,
			     "-f --text hello --rank=7 --steps 18446744073709551615 --memory 4KiB "
			     "--share 0.5 --format jsonl --range 3..9 --lane 1/4 --name a --name b",
			     &o, &v, &f),
	    FAIL_NONE);
	assert_true(v.flag);
	assert_string_equal(v.text, "hello");
	assert_int_equal(v.rank, 7);
	assert_true(v.steps == UINT64_MAX);
	assert_int_equal(v.memory, 4096);
	assert_true(v.share == 0.5);
	assert_int_equal(v.form, FORM_JSONL);
	assert_int_equal(v.range.first, 3);
	assert_int_equal(v.range.end, 9);
	assert_int_equal(v.lane.part, 1);
	assert_int_equal(v.lane.parts, 4);
	assert_int_equal(v.names.n, 2);
	assert_string_equal(v.names.text[1], "b");
}

static void
test_what_is_not_given_keeps_its_default(void **unused)
{
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(parse(&command, "--steps 0", &o, &v, &f), FAIL_NONE);
	assert_int_equal(v.rank, 5);
	assert_string_equal(v.text, "default");
	assert_false(v.flag);
	assert_false(options_given(&o, &command, "rank"));
	assert_true(options_given(&o, &command, "steps"));
	assert_null(o.config);
	assert_int_equal(o.properties.n, 0);
}

static void
test_common_options_go_to_the_common_struct(void **unused)
{
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(
	    parse(&command, "-c a.yml -Xa=b -v -X c= --property d=e=f", &o, &v, &f), FAIL_NONE);
	assert_string_equal(o.config, "a.yml");
	assert_int_equal(o.properties.n, 3);
	assert_string_equal(o.properties.text[0], "a=b");
	assert_string_equal(o.properties.text[1], "c=");
	assert_string_equal(o.properties.text[2], "d=e=f");
	assert_true(o.verbose);
	assert_int_equal(parse(&command, "-q", &o, &v, &f), FAIL_NONE);
	assert_true(o.quiet);
	log_set_level(LOG_INFO);
}

static void
test_words_and_options_mix_until_two_dashes(void **unused)
{
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(parse(&command, "one -f two", &o, &v, &f), FAIL_NONE);
	assert_true(v.flag);
	assert_int_equal(o.arguments_n, 2);
	assert_string_equal(o.argument[0], "one");
	assert_string_equal(o.argument[1], "two");
	assert_int_equal(parse(&command, "one -- -f", &o, &v, &f), FAIL_NONE);
	assert_false(v.flag);
	assert_int_equal(o.arguments_n, 2);
	assert_string_equal(o.argument[1], "-f");
	assert_int_equal(parse(&command, "-", &o, &v, &f), FAIL_NONE);
	assert_string_equal(o.argument[0], "-");
}

static void
test_every_mistake_has_one_sentence(void **unused)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"--ranks 1", "unknown option --ranks (did you mean --rank?)"},
	    {"--ran 1", "unknown option --ran (did you mean --rank?)"},
	    {"--fl", "unknown option --fl (did you mean --flag?)"},
	    {"--conf=x", "unknown option --conf (did you mean --config?)"},
	    {"--r 1", "unknown option --r"},
	    {"--xyzzy=3", "unknown option --xyzzy"},
	    {"--xyzzy 3", "unknown option --xyzzy"},
	    {"-z", "unknown option -z"},
	    {"-fz", "unknown option -z"},
	    {"--rank", "--rank: needs a value: R"},
	    {"-t", "--text: needs a value: T"},
	    {"-c", "--config: needs a value: FILE"},
	    {"--flag=1", "--flag: takes no value, but has one: --flag=1"},
	    {"--fla=1", "unknown option --fla (did you mean --flag?)"},
	    {"--text _", "--text: is empty: needs a value: T"},
	    {"--text=", "--text: is empty: needs a value: T"},
	    {"--rank 0", "--rank: out of range: 0 (1 to 7)"},
	    {"--rank 8", "--rank: out of range: 8 (1 to 7)"},
	    {"--rank x", "--rank: not a whole number: x (1 to 7)"},
	    {"--rank -1", "--rank: out of range: -1 (1 to 7)"},
	    {"--steps 18446744073709551616",
		"--steps: out of range: 18446744073709551616 (0 to 18446744073709551615)"},
	    {"--memory 1023",
		"--memory: out of range: 1023 (1KiB to 1MiB, as 4096, 16MiB or 512MB)"},
	    {"--memory 2MiB",
		"--memory: out of range: 2MiB (1KiB to 1MiB, as 4096, 16MiB or 512MB)"},
	    {"--memory 1m", "--memory: not a size: 1m (1KiB to 1MiB, as 4096, 16MiB or 512MB)"},
	    {"--share 1.5", "--share: out of range: 1.5 (0 to 1)"},
	    {"--share -0.1", "--share: out of range: -0.1 (0 to 1)"},
	    {"--share nan", "--share: not a finite number: nan"},
	    {"--format json", "--format: unknown: json (one of steps, jsonl)"},
	    {"--range 3", "--range: not a range: 3 (a..b: a up to, but without, b)"},
	    {"--range 4..3", "--range: not a range: 4..3 (a..b: a up to, but without, b)"},
	    {"--range 1..x", "--range: not a range: 1..x (a..b: a up to, but without, b)"},
	    {"--range ..3", "--range: not a range: ..3 (a..b: a up to, but without, b)"},
	    {"--lane 4/4", "--lane: not a lane: 4/4 (k/n: lane k, from 0 to n-1, of n; or auto)"},
	    {"--lane 0/0", "--lane: not a lane: 0/0 (k/n: lane k, from 0 to n-1, of n; or auto)"},
	    {"--lane 1/4097",
		"--lane: not a lane: 1/4097 (k/n: lane k, from 0 to n-1, of n; or auto)"},
	    {"--lane 1", "--lane: not a lane: 1 (k/n: lane k, from 0 to n-1, of n; or auto)"},
	    {"--slice 4/4",
		"--slice: not a slice: 4/4 (k/n: slice k, from 0 to n-1, of n; or auto)"},
	    {"--slic 1/4", "unknown option --slic"},
	    {"--global-batch 8", "unknown option --global-batch: it is a key of the configuration: "
				 "give -s mix.global_batch=VALUE"},
	    {"--lanes 8", "unknown option --lanes (did you mean --lane?)"},
	    {"--name _", "--name: is empty: needs a value: NAME"},
	    {"-X a", "-X: not a property: it has no '=' (NAME=VALUE; what was given is not shown: "
		     "it may be a secret)"},
	    {"-X =a", "-X: not a property: it has no name (NAME=VALUE; what was given is not "
		      "shown: it may be a secret)"},
	    {"-t one -f --text=two", "--text: given twice (one, two): riffle try takes one"},
	    {"--rank 1 --rank 1", "--rank: given twice (1, 1): riffle try takes one"},
	    {"--log json --log logfmt", "--log: given twice (json, logfmt): riffle try takes one"},
	    {"-c run.yml --config=b.yml",
		"--config: given twice (run.yml, b.yml): riffle try takes one"},
	    {"-v -q", "--verbose and --quiet exclude each other"},
	    {"a b c", "unexpected argument: c (riffle try takes 2 at most; usage: riffle try "
		      "[OPTION...] [WORD...])"},
	    {"a b run.yml", "unexpected argument: run.yml (the configuration: -c run.yml)"},
	    {"a b run.yaml", "unexpected argument: run.yaml (the configuration: -c run.yaml)"},
	    {"-c x a b run.yml",
		"unexpected argument: run.yml (riffle try takes 2 at most; usage: riffle try "
		"[OPTION...] [WORD...])"},
	    {"-steps 1", "-steps: a name has two dashes in front: --steps"},
	    {"a -rank=1", "-rank=1: a name has two dashes in front: --rank=1"},
	    {"--bootstrap-server h:1", "unknown option --bootstrap-server: the broker is "
				       "bootstrap.servers of the configuration, or -X "
				       "bootstrap.servers=HOST:PORT"},
	    {"--bootstrap.servers=h:1", "unknown option --bootstrap.servers: the broker is "
					"bootstrap.servers of the configuration, or -X "
					"bootstrap.servers=HOST:PORT"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		struct options o;
		struct values v;
		struct failure f = {0};

		assert_int_equal(parse(&command, cases[i].text, &o, &v, &f), FAIL_USAGE);
		assert_string_equal(f.text, cases[i].expected);
	}
}

static void
test_both_ends_of_a_range_are_taken(void **unused)
{
	static const char *const right[] = {"--rank 1", "--rank 7", "--memory 1024",
	    "--memory 1MiB", "--share 0", "--share 1", "--range 0..0", "--range 5..5", "--lane 0/1",
	    "--lane 4095/4096", "--steps 0"};

	(void)unused;
	EACH_ROW(i, right) {
		struct options o;
		struct values v;
		struct failure f;

		assert_int_equal(parse(&command, right[i], &o, &v, &f), FAIL_NONE);
	}
}

static void
test_a_command_without_options_has_the_common_ones_only(void **unused)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
	    {"-c x y", "unknown option -c"},
	    {"--config x y", "unknown option --config"},
	    {"-X a=b y", "unknown option -X"},
	    {"", "an argument is missing: FILE (usage: riffle bare FILE)"},
	    {"y z",
		"unexpected argument: z (riffle bare takes 1 at most; usage: riffle bare FILE)"},
	};
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		assert_int_equal(parse(&bare, cases[i].text, &o, &v, &f), FAIL_USAGE);
		assert_string_equal(f.text, cases[i].expected);
	}
	assert_int_equal(parse(&bare, "x", &o, &v, &f), FAIL_NONE);
}

static void
test_a_list_is_bounded(void **unused)
{
	char text[WORDS_MAX * 8] = "";
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	for (int i = 0; i < OPTIONS_LIST_MAX; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "--name=x ");
	assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_NONE);
	assert_int_equal(v.names.n, OPTIONS_LIST_MAX);
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "--name=x ");
	assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_USAGE);
	assert_string_equal(f.text, "--name: given more than 256 times");
}

static void
test_help_is_wanted_as_an_option_not_as_a_value(void **unused)
{
	static const struct {
		const char *text;
		bool wanted;
	} cases[] = {
	    {"--help", true},
	    {"-h", true},
	    {"-fh", true},
	    {"word --help", true},
	    {"--nonsense --rank x --help", true},
	    {"--text --help", false},
	    {"--text=--help", false},
	    {"-- --help", false},
	    {"--hel", false},
	    {"--helpless", false},
	    {"help", false},
	    {"", false},
	};

	(void)unused;
	EACH_NAMED_ROW(i, cases, text) {
		static struct line l;

		line_init(&l, cases[i].text);
		assert_int_equal(options_help_wanted(&command, l.argc, l.argv), cases[i].wanted);
	}
}

static void
test_a_look_for_help_changes_nothing_for_the_parse_after_it(void **unused)
{
	static struct line l;
	struct options o;
	struct values v = {0};
	struct failure f;

	(void)unused;
	line_init(&l, "one -f two --rank 3 -- ");
	assert_false(options_help_wanted(&command, l.argc, l.argv));
	assert_int_equal(options_parse(&o, &command, l.argc, l.argv, &v, &f), FAIL_NONE);
	assert_int_equal(v.rank, 3);
	assert_int_equal(o.arguments_n, 2);
	assert_string_equal(o.argument[1], "two");
}

/* Neither the help shows it (test_the_help_is_the_table) nor a suggestion. */
static void
test_an_option_without_help_is_an_older_name_of_another(void **unused)
{
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(parse(&command, "--slice 2/3", &o, &v, &f), FAIL_NONE);
	assert_int_equal(v.lane.part, 2);
	assert_int_equal(v.lane.parts, 3);
	assert_true(options_given(&o, &command, "slice"));
	assert_false(options_given(&o, &command, "lane"));
}

static void
test_the_help_is_the_table(void **unused)
{
	static const char expected[] =
	    "usage: riffle try [OPTION...] [WORD...]\n"
	    "\n"
	    "tries options\n"
	    "\n"
	    "A paragraph of words that are filled up to the width of a line, and broken\n"
	    "where the next word has no room.\n"
	    "\n"
	    "Another one.\n"
	    "\n"
	    "options:\n"
	    "  -f, --flag              a flag\n"
	    "  -t, --text T            a text that is explained at a length which does not\n"
	    "                          fit one line of the help at all (default: default)\n"
	    "      --rank R            a rank (1 to 7; default: 5)\n"
	    "      --steps N           a count (default: as many as there are)\n"
	    "      --memory SIZE       a size (1KiB to 1MiB; default: 4KiB)\n"
	    "      --share X           a number (0 to 1; default: 0.25)\n"
	    "      --least X           a number from nothing on\n"
	    "      --format steps|jsonl\n"
	    "                          a choice (default: steps)\n"
	    "      --other steps|jsonl\n"
	    "                          a choice that must be made\n"
	    "      --range a..b        a range\n"
	    "      --lane k/n          a lane\n"
	    "      --name NAME         names\n"
	    "  -c, --config FILE       the configuration, in YAML (default: the file that\n"
	    "                          RIFFLE_CONFIG names)\n"
	    "  -s, --override KEY=VALUE\n"
	    "                          set a key of the configuration in place of what the\n"
	    "                          file has, as mix.weights.code=0.3; may be repeated; a\n"
	    "                          value that begins with [ or { is YAML\n"
	    "  -X, --property NAME=VALUE\n"
	    "                          set a librdkafka property; may be repeated; wins over\n"
	    "                          the configuration's kafka section\n"
	    "  -v, --verbose           log more, to stderr\n"
	    "  -q, --quiet             log warnings and errors only\n"
	    "      --log logfmt|json   how lines of the log look, on stderr: key=value, or a\n"
	    "                          JSON object each (default: RIFFLE_LOG, else logfmt)\n"
	    "  -h, --help              print this text\n"
	    "\n"
	    "example:\n"
	    "  riffle try --flag\n"
	    "  riffle try --rank 1\n";
	char *text;
	size_t n;
	FILE *to = open_memstream(&text, &n);

	(void)unused;
	options_print_help(&command, to);
	fclose(to);
	assert_string_equal(text, expected);
	free(text);
}

static void
test_the_configuration_gets_the_properties(void **unused)
{
	char text[1024], name[300];
	struct config *c;
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	assert_int_equal(parse(&command, "", &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_config(&c, &o, &f), FAIL_USAGE);
	assert_string_equal(f.text, "no configuration is named: add -c FILE, or set RIFFLE_CONFIG");
	assert_null(c);

	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\nkafka: {client.id: file}\n");
	snprintf(
	    text, sizeof(text), "-c %s -X linger.ms=1 -X client.id=line=2", folder_path("run.yml"));
	assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_config(&c, &o, &f), FAIL_NONE);
	assert_int_equal(c->kafka.n, 2);
	assert_string_equal(c->kafka.item[1].name, "client.id");
	assert_string_equal(c->kafka.item[1].value, "line=2");
	config_close(c);

	memset(name, 'n', sizeof(name));
	name[255] = '\0';
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "-c %s -X %s=1", folder_path("run.yml"), name);
		assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_NONE);
		assert_int_equal(options_config(&c, &o, &f), i == 0 ? FAIL_CONFIG : FAIL_USAGE);
		name[255] = 'n';
		name[256] = '\0';
	}
}

static void
test_keys_of_the_configuration_are_set_on_the_command_line(void **unused)
{
	static const char *const refused[][2] = {
	    {"-s sequence_length", "-s: not KEY=VALUE: sequence_length"},
	    {"-s =8", "-s: not KEY=VALUE: =8"},
	    {"-s kafka.=x", "-s kafka.: the name of a property is missing"},
	    {"-s sequence_length=x", "-s sequence_length: not a whole number: x (1 to 1048576)"},
	    {"-s kafka.sasl.password=x",
		"-X sasl.password: everybody can see the command line: give -X "
		"sasl.password=file:PATH or -X sasl.password=env:NAME"},
	    {"-s kafka.sasl.pasword=x", "-s: kafka property sasl.pasword: librdkafka has no such "
					"property; did you mean sasl.password?"},
	};
	char text[1024];
	struct config *c;
	struct options o;
	struct values v;
	struct failure f;
	enum fail_code code;

	(void)unused;
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\nkafka: {client.id: file}\n");
	assert_int_equal(setenv("RIFFLE_CONFIG", folder_path("run.yml"), 1), 0);
	snprintf(text, sizeof(text),
	    "-s sequence_length=16 --override kafka.client.id=s -s kafka.linger.ms=5 -X "
	    "linger.ms=7");
	assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_config(&c, &o, &f), FAIL_NONE);
	assert_int_equal(c->sequence_length, 16);
	assert_int_equal(c->kafka.n, 2);
	assert_string_equal(c->kafka.item[0].value, "s");
	assert_string_equal(c->kafka.item[1].value, "7"); /* -X wins */
	config_close(c);

	EACH_ROW(i, refused) {
		code = parse(&command, refused[i][0], &o, &v, &f);
		if (code == FAIL_NONE)
			code = options_config(&c, &o, &f);
		assert_int_not_equal(code, FAIL_NONE);
		assert_string_equal(f.text, refused[i][1]);
	}
	unsetenv("RIFFLE_CONFIG");
}

static void
test_a_property_that_librdkafka_lacks_is_refused_at_load_without_its_value(void **unused)
{
	char text[1024], said[1200];
	struct config *c;
	struct options o;
	struct values v;
	struct failure f;

	(void)unused;
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\nkafka:\n  client.id: a\n"
			       "  sasl.pasword: hunter2\n");
	snprintf(text, sizeof(text), "-c %s", folder_path("run.yml"));
	assert_int_equal(parse(&command, text, &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_config(&c, &o, &f), FAIL_CONFIG);
	assert_null(c);
	snprintf(said, sizeof(said),
	    "%s:7: kafka property sasl.pasword: librdkafka has no such property; did you mean "
	    "sasl.password?",
	    folder_path("run.yml"));
	assert_string_equal(f.text, said);
}

/*
 * What names the mix: --mix, else the file; without a file only the name and the broker are known.
 */
static void
test_the_mix_is_that_of_the_option_before_that_of_the_file(void **unused)
{
	static const struct {
		const char *line; /* "@" is the file */
		const char *mix;  /* of --mix; NULL: not given */
		const char *name; /* NULL: refused, and `says` */
		const char *says;
	} rows[] = {
	    {"-c @", NULL, "pre", NULL},
	    {"-c @", "other", "other", NULL},
	    {"-c @ -s mix.name=set", NULL, "set", NULL},
	    {"-c @ -s mix.name=set -s mix.seed=1 -s mix.name=b", NULL, NULL,
		"-s mix.name: given twice (set, b): give one"},
	    {"", "other", "other", NULL},
	    {"-X bootstrap.servers=h:1", "other", "other", NULL},
	    {"", "a b", NULL, "--mix: \"a b\" is not a name of a mix"},
	    {"-c @", "", NULL, "--mix: \"\" is not a name of a mix"},
	    {"", NULL, NULL,
		"which mix? give -c FILE with a mix section, or a broker (RIFFLE_BOOTSTRAP, or -X "
		"bootstrap.servers=HOST:PORT) and --mix NAME"},
	    {"-s mix.lanes=4", "other", NULL,
		"-s mix.lanes=4: needs the configuration: add -c FILE"},
	    {"-s kafka.no.such=4", "other", NULL,
		"-s: kafka property no.such: librdkafka has no such property (its CONFIGURATION.md "
		"lists all)"},
	};
	struct options o;
	struct values v;

	(void)unused;
	unsetenv("RIFFLE_BOOTSTRAP");
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\n"
			       "mix: {name: pre, global_batch: 8, lanes: 4, weights: uniform}\n");
	EACH_NAMED_ROW(i, rows, line)
		for (int own = 0; own < 2; own++) { /* the two functions agree */
			const char *name = rows[i].mix, *at = strchr(rows[i].line, '@');
			struct config *c = (struct config *)&v;
			char line[1024];
			enum fail_code code;

			snprintf(line, sizeof(line), "%.*s%s%s",
			    at == NULL ? (int)strlen(rows[i].line) : (int)(at - rows[i].line),
			    rows[i].line, at == NULL ? "" : folder_path("run.yml"),
			    at == NULL ? "" : at + 1);
			assert_int_equal(parse(&command, line, &o, &v, &f), FAIL_NONE);
			code = own ? options_config_of_mix(&c, name, &o, &f)
				   : options_mix_config(&c, &name, &o, &f);
			if (rows[i].name == NULL) {
				assert_int_not_equal(code, FAIL_NONE);
				assert_null(c);
				assert_string_equal(f.text, rows[i].says);
				continue;
			}
			assert_int_equal(code, FAIL_NONE);
			if (own)
				assert_string_equal(c->mix.name, rows[i].name);
			else
				assert_string_equal(name, rows[i].name);
			if (!own && rows[i].mix != NULL && at != NULL) /* the rest is the file's */
				assert_string_equal(c->mix.name, "pre");
			config_close(c);
		}
}

/* options_config_named() reads a file in any case. */
static void
test_a_command_with_a_file_takes_the_name_of_the_mix_as_an_override(void **unused)
{
	char line[1024];
	struct config *c;
	struct options o;
	struct values v;

	(void)unused;
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\n"
			       "mix: {name: pre, global_batch: 8, lanes: 4, weights: uniform}\n");
	snprintf(line, sizeof(line), "-c %s", folder_path("run.yml"));
	assert_int_equal(parse(&command, line, &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_config_named(&c, "late", &o, &f), FAIL_NONE);
	assert_string_equal(c->mix.name, "late");
	config_close(c);
	memset(line, 'n', NAME_MAX_BYTES); /* the longest name */
	line[NAME_MAX_BYTES] = '\0';
	assert_int_equal(options_config_named(&c, line, &o, &f), FAIL_NONE);
	assert_string_equal(c->mix.name, line);
	config_close(c);
	assert_int_equal(options_config_named(&c, "a b", &o, &f), FAIL_USAGE);
	assert_string_equal(f.text, "--mix: \"a b\" is not a name of a mix");
	assert_null(c);
	setenv("RIFFLE_CONFIG", "/no/such/run.yml", 1);
	assert_int_equal(parse(&command, "", &o, &v, &f), FAIL_NONE);
	assert_int_not_equal(options_config(&c, &o, &f), FAIL_NONE);
	assert_non_null(strstr(f.text, " (RIFFLE_CONFIG names this file)"));
	unsetenv("RIFFLE_CONFIG");
	assert_int_equal(parse(&command, "-c /no/such/run.yml", &o, &v, &f), FAIL_NONE);
	assert_int_not_equal(options_config(&c, &o, &f), FAIL_NONE);
	assert_null(strstr(f.text, "RIFFLE_CONFIG"));
}

static void
test_a_property_that_is_wrong_is_blamed_on_what_gave_it(void **unused)
{
	static const struct {
		const char *line, *bootstrap, *says;
	} rows[] = {
	    {"-X linger.mz=1", NULL, "-X: kafka property linger.mz: "},
	    {"-s kafka.linger.mz=1", NULL, "-s: kafka property linger.mz: "},
	    {"-s kafka.linger.mz=1 -X linger.mz=2", NULL, "-X: kafka property linger.mz: "},
	    {"-X sasl.password=x", NULL, "-X sasl.password: everybody can see the command line"},
	};
	struct config *c;
	struct options o;
	struct values v;

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		assert_int_equal(parse(&command, rows[i].line, &o, &v, &f), FAIL_NONE);
		assert_int_not_equal(options_broker_config(&c, &o, &f), FAIL_NONE);
		assert_null(c);
		assert_memory_equal(f.text, rows[i].says, strlen(rows[i].says));
	}
	setenv("RIFFLE_BOOTSTRAP", "there:1", 1);
	assert_int_equal(parse(&command, "", &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_broker_config(&c, &o, &f), FAIL_NONE);
	assert_string_equal(properties_value(&c->kafka, "bootstrap.servers"), "there:1");
	config_close(c);
	assert_int_equal(parse(&command, "-X bootstrap.servers=h:2", &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_broker_config(&c, &o, &f), FAIL_NONE);
	assert_string_equal(properties_value(&c->kafka, "bootstrap.servers"), "h:2");
	config_close(c);
	unsetenv("RIFFLE_BOOTSTRAP");
}

/* A number of 0 is no default to speak of, and one from 1 on is. */
static void
test_the_help_shows_a_default_that_is_not_0(void **unused)
{
	static const struct option_row counts[] = {
	    {.name = "steps", .kind = OPTION_COUNT, .at = AT(steps), .value = "N", .help = "s"},
	    {.name = "rank", .kind = OPTION_COUNT32, .at = AT(rank), .value = "R", .help = "r"},
	    {.name = "memory", .kind = OPTION_SIZE, .at = AT(memory), .value = "M", .help = "m"},
	    {.name = "share", .kind = OPTION_NUMBER, .at = AT(share), .value = "X", .help = "x"},
	    {.name = "text", .kind = OPTION_TEXT, .at = AT(text), .value = "T", .help = "t"},
	};
	static const char *const shown[][5] = {
	    {"--steps N           s\n", "--rank R            r\n", "--memory M          m\n",
		"--share X           x\n", "--text T            t\n"},
	    {"s (default: 1)\n", "r (default: 1)\n", "m (default: 1)\n", "x (default: 1)\n",
		"t (default: 1)\n"},
	};

	(void)unused;
	for (int one = 0; one < 2; one++) {
		const struct values given = {.steps = (uint64_t)one,
		    .rank = (uint32_t)one,
		    .memory = (uint64_t)one,
		    .share = one,
		    .text = one == 1 ? "1" : NULL};
		const struct command counter = {.name = "count",
		    .usage = "",
		    .summary = "",
		    .help = "",
		    .example = "",
		    .defaults = &given,
		    .option = counts,
		    .options_n = 5};
		char *text;
		size_t n;
		FILE *to = open_memstream(&text, &n);

		options_print_help(&counter, to);
		fclose(to);
		for (size_t i = 0; i < 5; i++)
			assert_non_null(strstr(text, shown[one][i]));
		free(text);
	}
}

/* ---- a mix that only the broker knows ---- */

static void
test_the_only_mix_of_a_broker_needs_no_name(void **unused)
{
	static const char none[] =
	    "which mix? the broker has none (no topic MIX.ledger that this user may see): give "
	    "--mix NAME, or a configuration with a mix section";
	static const struct {
		const char *topic; /* that comes */
		const char *name;  /* NULL: refused, and `says` */
		const char *says;
	} rows[] = {
	    {"pre.batches", NULL, none},
	    {"pre.ledger", "pre", NULL},
	    {"other.ledger", NULL,
		"which mix? the broker has 2: other, pre: give --mix NAME, or a configuration with "
		"a mix section"},
	};
	struct options o;
	struct values v;
	struct config *c;

	(void)unused;
	setenv("RIFFLE_BOOTSTRAP", mock_bootstrap, 1);
	assert_int_equal(parse(&command, "", &o, &v, &f), FAIL_NONE);
	EACH_NAMED_ROW(i, rows, topic) {
		const char *name = NULL;

		mock_topic(rows[i].topic, 1);
		if (rows[i].name == NULL) {
			assert_int_equal(options_mix_config(&c, &name, &o, &f), FAIL_CONFIG);
			assert_string_equal(f.text, rows[i].says);
			assert_null(c);
			assert_int_equal(options_config_of_mix(&c, NULL, &o, &f), FAIL_CONFIG);
			assert_string_equal(f.text, rows[i].says);
			assert_null(c);
			continue;
		}
		assert_int_equal(options_mix_config(&c, &name, &o, &f), FAIL_NONE);
		assert_string_equal(name, rows[i].name);
		assert_string_equal(c->mix.name, rows[i].name);
		config_close(c);
		assert_int_equal(options_config_of_mix(&c, NULL, &o, &f), FAIL_NONE);
		assert_string_equal(c->mix.name, rows[i].name);
		config_close(c);
	}
	for (int i = 0; i < 20; i++) { /* more names than a sentence has room for */
		char topic[64];

		snprintf(topic, sizeof(topic), "a-mix-with-a-longer-name-%02d.ledger", i);
		mock_topic(topic, 1);
	}
	assert_int_equal(options_config_of_mix(&c, NULL, &o, &f), FAIL_CONFIG);
	assert_string_equal(f.text,
	    "which mix? the broker has 22: a-mix-with-a-longer-name-00, "
	    "a-mix-with-a-longer-name-01, a-mix-with-a-longer-name-02, "
	    "a-mix-with-a-longer-name-03, a-mix-with-a-longer-name-04, "
	    "a-mix-with-a-longer-name-05, a-mix-with-a-longer-name-06, "
	    "a-mix-with-a-longer-name-07, a-mix-with-a-longer-nam...: give --mix NAME, or a "
	    "configuration with a mix section");
	unsetenv("RIFFLE_BOOTSTRAP");
}

/* ---- the form of the log ---- */

static void
test_the_log_has_the_form_of_the_option_else_of_the_environment(void **unused)
{
	static const struct {
		const char *line, *variable;
		bool known; /* the command */
		enum log_form form;
		const char *says; /* NULL: it succeeds */
	} rows[] = {
	    {"", NULL, true, LOG_LOGFMT, NULL},
	    {"", "", true, LOG_LOGFMT, NULL},
	    {"", "json", true, LOG_JSON, NULL},
	    {"", "json", false, LOG_JSON, NULL},
	    {"", "logfmt", true, LOG_LOGFMT, NULL},
	    {"--log json", NULL, true, LOG_JSON, NULL},
	    {"--log json", NULL, false, LOG_LOGFMT, NULL}, /* whose option it is is not known */
	    {"--log logfmt", "json", true, LOG_LOGFMT, NULL},
	    {"--log logfmt --log json", NULL, true, LOG_JSON, NULL},
	    {"--nonsense --rank x --log json", NULL, true, LOG_JSON, NULL},
	    {"-- --log json", NULL, true, LOG_LOGFMT, NULL},
	    {"--text --log json", NULL, true, LOG_LOGFMT, NULL},
	    {"--log yaml", "json", true, LOG_LOGFMT, NULL}, /* options_parse() refuses it */
	    {"", "yaml", true, LOG_LOGFMT,
		"RIFFLE_LOG: --log: unknown: yaml (one of logfmt, json)"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		static struct line l;
		enum fail_code code;

		line_init(&l, rows[i].line);
		if (rows[i].variable == NULL)
			unsetenv("RIFFLE_LOG");
		else
			setenv("RIFFLE_LOG", rows[i].variable, 1);
		log_set_form(LOG_LOGFMT);
		code = options_set_log(rows[i].known ? &command : NULL, l.argc, l.argv, &f);
		assert_int_equal(code, rows[i].says == NULL ? FAIL_NONE : FAIL_USAGE);
		assert_int_equal(log_form(), rows[i].form);
		if (rows[i].says != NULL)
			assert_string_equal(f.text, rows[i].says);
	}
	unsetenv("RIFFLE_LOG");
	log_set_form(LOG_LOGFMT);
}

/* What was set before stays, if the line has no --log. */
static void
test_a_command_line_sets_how_much_is_logged_and_how(void **unused)
{
	static const struct {
		const char *line;
		enum log_form before, form;
		int lines; /* of debug, info and warning */
	} rows[] = {
	    {"", LOG_LOGFMT, LOG_LOGFMT, 2},
	    {"", LOG_JSON, LOG_JSON, 2},
	    {"--log json", LOG_LOGFMT, LOG_JSON, 2},
	    {"--log logfmt", LOG_JSON, LOG_LOGFMT, 2},
	    {"-v", LOG_LOGFMT, LOG_LOGFMT, 3},
	    {"-q", LOG_LOGFMT, LOG_LOGFMT, 1},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, line) {
		struct capture log;
		struct options o;
		struct values v;
		char text[1024];

		log_set_form(rows[i].before);
		capture_begin(&log);
		assert_int_equal(parse(&command, rows[i].line, &o, &v, &f), FAIL_NONE);
		log_debug("a");
		log_info("b");
		log_warning("c");
		assert_int_equal(capture_end_lines(&log, text, sizeof(text)), rows[i].lines);
		assert_int_equal(log_form(), rows[i].form);
	}
	log_set_form(LOG_LOGFMT);
	log_set_level(LOG_INFO);
}

/* ---- words that stand for an option elsewhere ---- */

static void
test_what_was_meant_is_offered_where_the_command_has_it(void **unused)
{
	static const struct option_row readers[] = {
	    {.name = "world", .kind = OPTION_COUNT32, .at = AT(rank), .value = "W", .help = "w"},
	    {.name = "domain", .kind = OPTION_TEXT, .at = AT(text), .value = "D", .help = "d"},
	    {.name = "mix", .kind = OPTION_TEXT, .at = AT(text), .value = "M", .help = "m"}};
	const struct command reader = {.name = "reader",
	    .usage = "-c FILE\nand more",
	    .common = OPTIONS_CONFIG | OPTIONS_PROPERTIES,
	    .option = readers,
	    .options_n = 3};
	struct command mixer = reader, other = reader;
	const struct {
		const struct command *of;
		const char *line; /* "@" is the file */
		const char *says;
	} rows[] = {
	    {&reader, "--lanes 4", "unknown option --lanes (did you mean --world?)"},
	    {&reader, "--world-size=4", "unknown option --world-size (did you mean --world?)"},
	    {&other, "--world-size 4", "unknown option --world-size"},
	    {&other, "--lanes 4",
		"unknown option --lanes: it is a key of the configuration: give -s "
		"mix.lanes=VALUE"},
	    {&reader, "-c @ cod",
		"unexpected argument: cod (did you mean --domain code? usage: riffle reader -c "
		"FILE)"},
	    {&mixer, "-c @ cod",
		"unexpected argument: cod (did you mean domain code? `riffle reader` is about all "
		"domains; usage: riffle reader -c FILE)"},
	    {&reader, "-c @ prr",
		"unexpected argument: prr (did you mean --mix pre? usage: riffle reader -c FILE)"},
	    {&reader, "-c @ xyzzy", "unexpected argument: xyzzy (usage: riffle reader -c FILE)"},
	    {&reader, "pre",
		"unexpected argument: pre (did you mean --mix pre? usage: riffle reader -c FILE)"},
	    {&other, "-c @ pre", "unexpected argument: pre (usage: riffle reader -c FILE)"},
	    {&bare, "--broker h:1 y", "unknown option --broker"},
	    {&reader, "--broker-list h:1",
		"unknown option --broker-list: the broker is bootstrap.servers of the "
		"configuration, or -X bootstrap.servers=HOST:PORT"},
	};

	(void)unused;
	mixer.option = &readers[2]; /* --mix alone */
	mixer.options_n = 1;
	other.options_n = 0;
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {code: {train: x}, web: {train: y}}\n"
			       "mix: {name: pre, global_batch: 8, lanes: 4, weights: uniform}\n");
	EACH_NAMED_ROW(i, rows, line) {
		const char *at = strchr(rows[i].line, '@');
		char line[1024];
		struct options o;
		struct values v;

		snprintf(line, sizeof(line), "%.*s%s%s",
		    at == NULL ? (int)strlen(rows[i].line) : (int)(at - rows[i].line), rows[i].line,
		    at == NULL ? "" : folder_path("run.yml"), at == NULL ? "" : at + 1);
		assert_int_equal(parse(rows[i].of, line, &o, &v, &f), FAIL_USAGE);
		assert_string_equal(f.text, rows[i].says);
	}
}

static void
test_the_folder_of_an_output_must_exist(void **unused)
{
	char expected[1024];

	(void)unused;
	assert_int_equal(options_check_folder("out", &f), FAIL_NONE);
	assert_int_equal(options_check_folder("/out", &f), FAIL_NONE);
	assert_int_equal(options_check_folder("/no/such/", &f), FAIL_NONE); /* no file's name */
	assert_int_equal(options_check_folder(folder_path("out"), &f), FAIL_NONE);
	assert_int_equal(options_check_folder(folder_path("a/b/out"), &f), FAIL_USAGE);
	snprintf(expected, sizeof(expected),
	    "--out %s: folder %s does not exist: `mkdir -p %s` makes it", folder_path("a/b/out"),
	    folder_path("a/b"), folder_path("a/b"));
	assert_string_equal(f.text, expected);
	folder_text("file", "x"); /* another fault than a missing folder is said later */
	assert_int_equal(options_check_folder(folder_path("file/x/out"), &f), FAIL_NONE);
}

static void
test_auto_is_no_part_and_a_secret_comes_from_elsewhere(void **unused)
{
	char line[1024];
	struct options o;
	struct values v;
	struct config *c;

	(void)unused;
	assert_int_equal(parse(&command, "--lane auto", &o, &v, &f), FAIL_NONE);
	assert_int_equal(v.lane.part, 0);
	assert_int_equal(v.lane.parts, 0);
	folder_text("secret", "hunter2\n");
	setenv("RIFFLE_TEST_SECRET", "hunter3", 1);
	snprintf(line, sizeof(line),
	    "-X sasl.password=file:%s -s kafka.ssl.key.password=env:RIFFLE_TEST_SECRET",
	    folder_path("secret"));
	assert_int_equal(parse(&command, line, &o, &v, &f), FAIL_NONE);
	assert_int_equal(options_broker_config(&c, &o, &f), FAIL_NONE);
	assert_string_equal(properties_value(&c->kafka, "sasl.password"), "hunter2");
	assert_string_equal(properties_value(&c->kafka, "ssl.key.password"), "hunter3");
	config_close(c);
	unsetenv("RIFFLE_TEST_SECRET");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_kind_reaches_its_destination),
	    cmocka_unit_test(test_what_is_not_given_keeps_its_default),
	    cmocka_unit_test(test_common_options_go_to_the_common_struct),
	    cmocka_unit_test(test_words_and_options_mix_until_two_dashes),
	    cmocka_unit_test(test_every_mistake_has_one_sentence),
	    cmocka_unit_test(test_both_ends_of_a_range_are_taken),
	    cmocka_unit_test(test_a_command_without_options_has_the_common_ones_only),
	    cmocka_unit_test(test_a_list_is_bounded),
	    cmocka_unit_test(test_help_is_wanted_as_an_option_not_as_a_value),
	    cmocka_unit_test(test_a_look_for_help_changes_nothing_for_the_parse_after_it),
	    cmocka_unit_test(test_an_option_without_help_is_an_older_name_of_another),
	    cmocka_unit_test(test_the_help_is_the_table),
	    cmocka_unit_test_setup_teardown(
		test_the_configuration_gets_the_properties, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_keys_of_the_configuration_are_set_on_the_command_line, folder_open,
		folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_property_that_librdkafka_lacks_is_refused_at_load_without_its_value,
		folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_mix_is_that_of_the_option_before_that_of_the_file, folder_open,
		folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_command_with_a_file_takes_the_name_of_the_mix_as_an_override, folder_open,
		folder_close),
	    cmocka_unit_test(test_a_property_that_is_wrong_is_blamed_on_what_gave_it),
	    cmocka_unit_test(test_the_help_shows_a_default_that_is_not_0),
	    cmocka_unit_test_setup_teardown(
		test_the_only_mix_of_a_broker_needs_no_name, mock_begin, mock_end),
	    cmocka_unit_test(test_the_log_has_the_form_of_the_option_else_of_the_environment),
	    cmocka_unit_test(test_a_command_line_sets_how_much_is_logged_and_how),
	    cmocka_unit_test_setup_teardown(
		test_what_was_meant_is_offered_where_the_command_has_it, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_the_folder_of_an_output_must_exist, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_auto_is_no_part_and_a_secret_comes_from_elsewhere, folder_open, folder_close),
	};

	return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
