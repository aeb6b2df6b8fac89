/* riffle tokenize: text to ids and back, without a broker. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/tokenize/tokenize_job.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "producer/document/token_record.h"

enum { THREADS_MAX = 256, THREADS_DEFAULT_MAX = 16 };

struct arguments {
	const char *tokenizer, *pattern, *text;
	uint32_t threads;
	bool count, decode, add_special, special_as_text;
};

#define AT(field) offsetof(struct arguments, field)

static const struct arguments defaults = {.text = "text"};

static const struct option_row rows[] = {
    {.name = "tokenizer",
	.kind = OPTION_TEXT,
	.at = AT(tokenizer),
	.value = "FILE",
	.help = "required: a .tiktoken file or a tokenizer.json"},
    {.name = "pattern",
	.kind = OPTION_TEXT,
	.at = AT(pattern),
	.value = "P",
	.help =
	    "of a .tiktoken, required: how text is cut into pieces: gpt2 (also for r50k), cl100k, "
	    "o200k or qwen2"},
    {.name = "text",
	.kind = OPTION_TEXT,
	.at = AT(text),
	.value = "FIELD",
	.help = "the field that holds the text; a dotted path goes through objects"},
    {.name = "threads",
	.kind = OPTION_COUNT32,
	.at = AT(threads),
	.min = 1,
	.max = THREADS_MAX,
	.value = "N",
	.without = "one for each processor, at most 16",
	.help = "threads that tokenise"},
    {.name = "count", .kind = OPTION_FLAG, .at = AT(count), .help = "print totals and rate only"},
    {.name = "add-special",
	.kind = OPTION_FLAG,
	.at = AT(add_special),
	.help = "put around each text what the tokenizer.json says, such as a BOS"},
    {.name = "special-as-text",
	.kind = OPTION_FLAG,
	.at = AT(special_as_text),
	.help = "special tokens of the tokenizer.json inside the text are ordinary text"},
    {.name = "decode",
	.kind = OPTION_FLAG,
	.at = AT(decode),
	.help = "the reverse: from lines of {\"tokens\":[...]} to lines of {\"text\":\"...\"}"},
};

static void
print_totals(const struct tokenize_job_totals *t, int64_t ms)
{
	double seconds = (double)(ms < 1 ? 1 : ms) / 1000;

	printf("documents=%" PRIu64 " bytes=%" PRIu64 " tokens=%" PRIu64
	       " seconds=%.3f mb_per_s=%.1f tokens_per_s=%.0f\n",
	    t->documents, t->bytes, t->tokens, seconds, (double)t->bytes / 1e6 / seconds,
	    (double)t->tokens / seconds);
}

/* Of a wrong pattern all ids are wrong, and look as good; one's own tokenizer may do so. */
static void
warn_of_pattern(const struct tokenizer *t, const struct arguments *a)
{
	const char *other = tokenizer_other_pattern(t);

	if (other != NULL)
		log_warning("tokenize: TOKENIZE-PATTERN %s has %" PRIu32
			    " ranks, which go with --pattern %s, and not %s: the ids are not those "
			    "of its models, unless it is a tokenizer of your own",
		    a->tokenizer, tokenizer_entries(t), other, a->pattern);
}

static enum fail_code
run(int argc, char **argv, struct failure *f)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct arguments a = defaults;
	struct tokenizer_options wanted;
	struct tokenizer *tokenizer = NULL;
	struct tokenize_job_totals totals;
	struct tokenize_job_task task;
	struct options o;
	int64_t begun_ms;
	enum fail_code code;

	if (options_parse(&o, &cmd_tokenize, argc, argv, &a, f) != FAIL_NONE)
		return f->code;
	if (a.threads == 0)
		a.threads = processors < 1                     ? 1
			    : processors > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX
							       : (uint32_t)processors;
	if (a.tokenizer == NULL)
		return fail(f, FAIL_USAGE, "which tokenizer? give --tokenizer FILE");
	wanted = (struct tokenizer_options){.file = a.tokenizer,
	    .pattern = a.pattern,
	    .add_special = a.add_special,
	    .special_as_text = a.special_as_text};
	task = (struct tokenize_job_task){
	    .field = a.decode ? TOKEN_RECORD_TOKENS : a.text, .decode = a.decode, .count = a.count};
	code = json_field_paths_open(&task.paths, &task.field, 1, f);
	if (code == FAIL_NONE)
		code = tokenizer_open(&tokenizer, &wanted, f);
	if (code == FAIL_NONE)
		warn_of_pattern(tokenizer, &a);
	task.tokenizer = tokenizer;
	begun_ms = clock_ms();
	if (code == FAIL_NONE)
		code = tokenize_job_run(
		    &task, a.threads, o.arguments_n > 0 ? o.argument[0] : NULL, stdout, &totals, f);
	if (code == FAIL_NONE && a.count)
		print_totals(&totals, clock_ms() - begun_ms);
	tokenizer_close(tokenizer);
	json_field_paths_close(task.paths);
	return code;
}

const struct command cmd_tokenize = {
    .name = "tokenize",
    .summary = "text to token ids, with no broker",
    .usage = "--tokenizer FILE [--pattern P] [OPTION...] [IN]",
    .help = "Reads JSON lines from IN, plain, .gz or .zst, or from standard input, and prints one "
	    "object {\"tokens\":[...]} a document, in order, empty documents included; a .txt file "
	    "is one document. Invalid UTF-8 is read as U+FFFD. Special tokens in the text are "
	    "ordinary text to a .tiktoken; a tokenizer.json is followed exactly and finds its own. "
	    "The first line that cannot be read ends it with 1, after all before it were printed.",
    .example = "riffle tokenize --tokenizer cl100k_base.tiktoken --pattern cl100k code.jsonl.zst\n"
	       "zcat web.jsonl.gz | riffle tokenize --tokenizer r50k_base.tiktoken --pattern gpt2 "
	       "--count",
    .defaults = &defaults,
    .option = rows,
    .options_n = sizeof(rows) / sizeof(rows[0]),
    .arguments_max = 1,
    .run = run,
};
