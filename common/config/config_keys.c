#include "common/config/config_keys.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/base/limits.h"
#include "common/base/scalar.h"
#include "common/config/config_internal.h"
#include "common/schedule/order.h"

/* ---- the table ---- */

#define AT(field)        offsetof(struct config, field)
#define AT_DOMAIN(field) offsetof(struct config_domain, field)
#define AT_PHASE(field)  offsetof(struct config_phase, field)
#define GB               UINT64_C(1000000000)

static const char *const utf8_names[] = {
    [CONFIG_UTF8_REPLACE] = "replace", [CONFIG_UTF8_STRICT] = "strict", NULL};
static const char *const split_unit_names[] = {
    [CONFIG_SPLIT_DOCUMENTS] = "documents", [CONFIG_SPLIT_TOKENS] = "tokens", NULL};
static const char *const on_reject_names[] = {
    [CONFIG_REJECT_QUARANTINE] = "quarantine", [CONFIG_REJECT_STOP] = "stop", NULL};
static const char *const over_long_names[] = {[CONFIG_LONG_SPLIT] = "split",
    [CONFIG_LONG_TRUNCATE] = "truncate",
    [CONFIG_LONG_REJECT] = "reject",
    NULL};
static const char *const no_target_names[] = {[CONFIG_NO_TARGET_AUTO] = "auto",
    [CONFIG_NO_TARGET_SKIP] = "skip",
    [CONFIG_NO_TARGET_KEEP] = "keep",
    NULL};
static const char *const file_order_names[] = {
    [CONFIG_FILES_BY_NAME] = "name", [CONFIG_FILES_LISTED] = "listed", NULL};
static const char *const shuffle_names[] = {[MIX_SHUFFLE_BLOCK] = "block",
    [MIX_SHUFFLE_FULL] = "full",
    [MIX_SHUFFLE_NONE] = "none",
    [CONFIG_SHUFFLE_MIX] = "mix",
    NULL};
static const char *const width_names[] = {
    [CONFIG_WIDTH_FILE] = "file", [CONFIG_WIDTH_2] = "2", [CONFIG_WIDTH_4] = "4", NULL};

const struct config_key config_keys[] = {
    {"corpus", CONFIG_NAME, AT(corpus), .required = true,
	.help =
	    "names the tokenised data: topics are `<corpus>.<domain>`, `<corpus>.<domain>.valid`,"
	    " `<corpus>.<domain>.test` and `<corpus>.rejects`"},
    {"sequence_length", CONFIG_COUNT32, AT(sequence_length), 1, LIMIT_SEQUENCE, .required = true,
	.recipe = true,
	.help =
	    "inputs of one sequence, S; a sequence holds S + 1 tokens, and neighbours share one"},
    {"split", CONFIG_SPLIT, AT(split), .default_text = "1,0,0", .recipe = true,
	.help = "parts of the documents for train, valid and test, by hash of the document:"
		" `949,50,1` or `[949, 50, 1]`; a domain with `valid` or `test` is not split"},
    {"split_unit", CONFIG_CHOICE, AT(split_unit), .choice = split_unit_names,
	.default_text = "documents", .recipe = true,
	.help =
	    "what has the shares of `split`: the documents, each of which is in one set, or the"
	    " tokens: then a document of more than `split_piece` tokens is divided among the"
	    " sets, by hash as well. The standard deviation of a set with share p of T tokens is"
	    " at most sqrt(p * (1 - p) * split_piece * T) tokens. Only `packing: concat` divides"},
    {"split_piece", CONFIG_COUNT32, AT(split_piece), 1, LIMIT_SEQUENCE, .default_text = "4096",
	.recipe = true,
	.help = "under `split_unit: tokens`: tokens of a piece of a long document at most, whatever"
		" `sequence_length` is. Neighbouring pieces are in one set as far as the shares"
		" allow"},
    {"utf8", CONFIG_CHOICE, AT(utf8), .choice = utf8_names, .default_text = "replace",
	.recipe = true,
	.help = "a text that is not UTF-8: bad bytes become U+FFFD, or the document is a reject"},
    {"on_reject", CONFIG_CHOICE, AT(on_reject), .choice = on_reject_names,
	.default_text = "quarantine",
	.help = "input that is no document: record it in `<corpus>.rejects` and continue, or stop "
		"at the first"},
    {"max_rejects", CONFIG_NUMBER, AT(max_rejects), 0, 1, .default_text = "0.1",
	.help =
	    "the part of an input's records that may be rejects: a domain with more is not closed,"
	    " and `riffle produce` ends with 1. Only 1 does without what a damaged file or a failed"
	    " program lacks"},
    {"max_document_bytes", CONFIG_SIZE, AT(max_document_bytes), 1, GB, .default_text = "64MiB",
	.recipe = true,
	.help = "a longer line or file, or document of tokens as stored, is a reject"},
    {"tokenizer.file", CONFIG_TEXT, AT(tokenizer.file), .required = true,
	.help = "a `.tiktoken` or a `tokenizer.json`; relative to the folder of this file"},
    {"tokenizer.pattern", CONFIG_TEXT, AT(tokenizer.pattern),
	.help = "how text is cut into pieces before it is encoded, such as `gpt2` or `cl100k`; of"
		" a `.tiktoken` only, as a `tokenizer.json` has its own"},
    {"tokenizer.eos", CONFIG_TEXT, AT(tokenizer.eos), .default_text = "<|endoftext|>",
	.recipe = true, .help = "text of the special token that ends each document"},
    {"tokenizer.add_special", CONFIG_BOOL, AT(tokenizer.add_special), .default_text = "false",
	.recipe = true,
	.help = "put around each document what the `post_processor` of a `tokenizer.json` adds,"
		" such as a BOS; `eos` follows in any case, even if the template ends in it"},
    {"tokenizer.special_as_text", CONFIG_BOOL, AT(tokenizer.special_as_text),
	.default_text = "false", .recipe = true,
	.help = "special tokens of a `tokenizer.json` in a document are plain text; with"
		" `false` they become the special tokens, as in its own library. Those of a"
		" `.tiktoken` are always text"},
    {"topics.replication", CONFIG_COUNT32, AT(replication), 1, INT16_MAX, .default_text = "1",
	.help = "brokers that hold each topic; 3 in production"},
    {"topics.min_insync_replicas", CONFIG_COUNT32, AT(min_insync_replicas), 1, INT16_MAX,
	.default_text = "1",
	.help =
	    "of them, those that must have a record before it counts; 2 where replication is 3"},
    {"domains", CONFIG_DOMAINS, AT(domains),
	.help = "a map from the name of a domain to its keys: where its documents come from;"
		" this or `domains_from`, or both"},
    {"domains_from", CONFIG_FOLDER, AT(domains_from),
	.help =
	    "a folder, each of whose sub-folders (but hidden ones) is a domain of that name; its"
	    " `train` is the `.jsonl`, `.json` and `.txt` files in it, plain, gzip or zstd, at"
	    " least one where the domain is not live; `riffle config --check` and `riffle produce`"
	    " name what they do not read there. Other keys of such a domain, and a `train` or"
	    " `exec` instead of its files, are under `domains`, which may have further domains. "
	    "Relative to the folder of this file"},
    {CONFIG_DOMAIN_PREFIX "train", CONFIG_LIST, AT_DOMAIN(train), .recipe = true,
	.help =
	    "its files, as a path or a list of paths with brace ranges and globs:"
	    " `data/code.{1..4}.jsonl.zst`; `.jsonl`, `.json` (the same), `.txt` (one document a"
	    " file), plain, gzip or zstd; relative to the folder of this file. A file that several"
	    " of them match is read once. `file_order` says in which order they are read"},
    {CONFIG_DOMAIN_PREFIX "valid", CONFIG_LIST, AT_DOMAIN(valid), .recipe = true,
	.help = "files for validation, or `{exec: COMMAND}`, a program as `exec`; with `valid` or"
		" `test` the domain is not split, and all of `train` is for training"},
    {CONFIG_DOMAIN_PREFIX "valid.exec", CONFIG_TEXT, AT_DOMAIN(valid_exec), .recipe = true,
	.help = "in place of files for validation: a shell command, as `exec`"},
    {CONFIG_DOMAIN_PREFIX "test", CONFIG_LIST, AT_DOMAIN(test), .recipe = true,
	.help = "files for the test set, or `{exec: COMMAND}`; as `valid`"},
    {CONFIG_DOMAIN_PREFIX "test.exec", CONFIG_TEXT, AT_DOMAIN(test_exec), .recipe = true,
	.help = "in place of files for the test set: a shell command, as `exec`"},
    {CONFIG_DOMAIN_PREFIX "file_order", CONFIG_CHOICE, AT_DOMAIN(file_order),
	.choice = file_order_names, .default_text = "name", .recipe = true,
	.help =
	    "the order in which the files of `train` are read, and those of `valid` and `test`."
	    " `name`: sorted by the bytes of their names, whatever the order of the list."
	    " `listed`: in the order of the list, brace ranges as they count, and the files of a"
	    " glob sorted by name. With `listed`, `--append` takes new files only at the end of"
	    " the list, and the domain cannot be live"},
    {CONFIG_DOMAIN_PREFIX "exec", CONFIG_TEXT, AT_DOMAIN(exec), .recipe = true,
	.help = "instead of `train`: a shell command that prints JSONL, the same each time, run in"
		" the folder of this file. It fails if any program of a pipe fails; a pipe needs"
		" bash"},
    {CONFIG_DOMAIN_PREFIX "exec_name", CONFIG_NAME, AT_DOMAIN(exec_name), .recipe = true,
	.help = "what records call the program of `exec`; without it the name of the domain, of"
		" domains that share one input the first of their names. Records hold"
		" `exec:NAME#HASH`, with the XXH64 of the command, and never its text. The name can"
		" be changed; a run with another command is refused, so put what changes, or is "
		"secret, in a file or an environment variable"},
    {CONFIG_DOMAIN_PREFIX "tokens", CONFIG_CHOICE, AT_DOMAIN(tokens), .choice = token_format_names,
	.default_text = "none", .recipe = true,
	.help =
	    "`train` and `valid` are files of tokens that another tool made with the same"
	    " tokenizer, for `riffle import`: Megatron's `.bin` (its `.idx` beside it), Nanotron's"
	    " and datatrove's `.ds`, OLMo's and NumPy's `.npy`, or llm.c's `.bin`; or `jsonl`:"
	    " lines of `{\"tokens\": [...], \"no_loss\": [[first, end], ...], \"keep\": {...},"
	    " \"eos\": false}`, from files or `exec`: tokens in the ranges of `no_loss` are no"
	    " targets, the trainer gets the object `keep`, `eos` false appends no eos, and all but"
	    " the tokens may be missing"},
    {CONFIG_DOMAIN_PREFIX "token_bytes", CONFIG_CHOICE, AT_DOMAIN(token_bytes),
	.choice = width_names, .default_text = "file", .recipe = true,
	.help = "bytes of one of these tokens, where the files do not say it: `.npy` without a"
		" header, `.ds` without `.ds.metadata`; needs `tokens: npy` or `ds`"},
    {CONFIG_DOMAIN_PREFIX "text", CONFIG_TEXT, AT_DOMAIN(text), .default_text = "text",
	.recipe = true, .help = "the field that holds the text; dotted: `doc.body`"},
    {CONFIG_DOMAIN_PREFIX "where.field", CONFIG_TEXT, AT_DOMAIN(where_field), .recipe = true,
	.help =
	    "takes only documents whose field (dotted: `meta.source`) is `where.equals`. Domains"
	    " with the same `train` (the same list) or `exec` share one input, which is read once:"
	    " each needs a `where` of its own, and they agree in `partitions` and `live`"},
    {CONFIG_DOMAIN_PREFIX "where.equals", CONFIG_TEXT, AT_DOMAIN(where_equals), .recipe = true,
	.help = "the value of `where.field` that makes a document this domain's"},
    {CONFIG_DOMAIN_PREFIX "packing", CONFIG_CHOICE, AT_DOMAIN(packing),
	.choice = sequence_packing_names, .default_text = "concat", .recipe = true,
	.help =
	    "what a sequence is made of: all documents end to end, cut every S tokens; one document"
	    " a sequence, for fine-tuning and prompts; or several whole ones as they fit best, a"
	    " window of 4,096 documents at a time. The last two pad with `tokenizer.eos`, without"
	    " loss"},
    {CONFIG_DOMAIN_PREFIX "over_long", CONFIG_CHOICE, AT_DOMAIN(over_long),
	.choice = over_long_names, .default_text = "split", .recipe = true,
	.help = "a document of more than S + 1 tokens: continues in the next sequence, is cut off"
		" there, or is a reject; needs `packing: none`"},
    {CONFIG_DOMAIN_PREFIX "no_target", CONFIG_CHOICE, AT_DOMAIN(no_target),
	.choice = no_target_names, .default_text = "auto", .recipe = true,
	.help =
	    "a document without a target, such as an empty text: `skip` leaves it out and records"
	    " it in `<corpus>.rejects`, without counting it for `max_rejects`; `keep` packs it."
	    " A document has no target if riffle added all of its tokens (`tokenizer.eos`,"
	    " `add_special`), or if no loss is taken at any of them, because each is masked"
	    " (`prompt`, `no_loss`), cut off, or the first of a sequence (with `concat` the first"
	    " token follows another document, and counts). A record with `\"eos\": false` and only"
	    " masked tokens is a prompt, and is kept. `auto`: a domain that has begun keeps the "
	    "rule"
	    " it has; a new domain skips, unless it has prompts alone (no `response`)"},
    {CONFIG_DOMAIN_PREFIX "prompt", CONFIG_TEXT, AT_DOMAIN(prompt), .recipe = true,
	.help = "instead of `text`: the field (dotted) that a document begins with, whose tokens "
		"have no"
		" loss; needs `packing: none`"},
    {CONFIG_DOMAIN_PREFIX "response", CONFIG_TEXT, AT_DOMAIN(response), .recipe = true,
	.help =
	    "the field (dotted) that follows the `prompt`, with loss; without it all is prompt"},
    {CONFIG_DOMAIN_PREFIX "keep", CONFIG_FIELDS, AT_DOMAIN(keep), .recipe = true,
	.help =
	    "fields (dotted) of a document that go to the trainer beside its tokens, as they are:"
	    " `[id, answer]`; at most 64 KiB a document; needs `packing: none`"},
    {CONFIG_DOMAIN_PREFIX "partitions", CONFIG_COUNT32, AT_DOMAIN(partitions), 1,
	ORDER_PARTITIONS_MAX, .default_text = "1",
	.help = "partitions of the domain's topics, one for each producer lane; 1 with `exec`"},
    {CONFIG_DOMAIN_PREFIX "live", CONFIG_BOOL, AT_DOMAIN(live), .default_text = "false",
	.help =
	    "the data keep arriving: `riffle produce --follow` does not close the domain, and the"
	    " mix takes its sequences in the order of their arrival"},
    {CONFIG_DOMAIN_PREFIX "on_dry", CONFIG_CHOICE, AT_DOMAIN(on_dry), .choice = mix_on_dry_names,
	.default_text = "wait",
	.help = "a live domain that has nothing at the moment: the mix waits for it, or others are"
		" drawn and the debt is paid back; needs `live: true`"},
    {CONFIG_DOMAIN_PREFIX "catch_up", CONFIG_NUMBER, AT_DOMAIN(catch_up), 1, 1000,
	.default_text = "2",
	.help = "while its debt is paid back a domain is drawn at most so many times as often as"
		" its share; needs `on_dry: lend`"},
    {CONFIG_DOMAIN_PREFIX "on_end", CONFIG_CHOICE, AT_DOMAIN(on_end), .choice = mix_on_end_names,
	.default_text = "repeat",
	.help =
	    "when all is drawn: the next epoch in a new order; the mix ends; or the others share"
	    " its weight"},
    {CONFIG_DOMAIN_PREFIX "max_epochs", CONFIG_COUNT, AT_DOMAIN(max_epochs), 0, INT32_MAX,
	.default_text = "0",
	.help =
	    "passes after which all is drawn; then `repeat` does as `drop`. 0: one for `stop` and"
	    " `drop`, no limit for `repeat`"},
    {CONFIG_DOMAIN_PREFIX "shuffle", CONFIG_CHOICE, AT_DOMAIN(shuffle), .choice = shuffle_names,
	.default_text = "mix",
	.help = "the order of the domain's sequences in an epoch, as `mix.shuffle`, for this"
		" domain alone; `mix`: that of `mix.shuffle`. It cannot be changed once some were"
		" drawn"},
    {"mix.name", CONFIG_NAME, AT(mix.name), .required = true,
	.help = "names the mix: topics are `<mix>.batches`, `<mix>.ledger`, `<mix>.control` and"
		" `<mix>.feedback`"},
    {"mix.seed", CONFIG_COUNT, AT(mix.seed), 0, UINT64_MAX, .default_text = "0",
	.help = "of every permutation"},
    {"mix.global_batch", CONFIG_COUNT32, AT(mix.global_batch), 1, LIMIT_BATCH, .required = true,
	.help = "sequences of one step, B, over all ranks"},
    {"mix.lanes", CONFIG_COUNT32, AT(mix.lanes), 1, LIMIT_LANES, .required = true,
	.help = "parts of a step, L: the largest number of ranks; divides `global_batch`, and the"
		" record of a lane is at most 64 MiB"},
    {"mix.partitions", CONFIG_COUNT32, AT(mix.partitions), 1, LIMIT_LANES, .automatic = true,
	.default_text = "auto",
	.help =
	    "partitions of the batch topic, P: lane l lies in partition floor(l*P/L). `auto`: L."
	    " Fewer cost the mixer and the broker less; readers fetch the lanes beside theirs, too."
	    " It cannot be changed once the mix has begun"},
    {"mix.batches", CONFIG_CHOICE, AT(mix.batches), .choice = mix_batches_names,
	.default_text = "copied",
	.help =
	    "how steps are published. `copied`: each step's sequences, in `<mix>.batches`. "
	    "`derived`:"
	    " the decisions alone, in the ledger; readers take the sequences from the domain "
	    "topics,"
	    " on which they need the right READ, and which must be kept. The steps are the same. It"
	    " cannot be changed once the mix has begun"},
    {"mix.schedule", CONFIG_CHOICE, AT(mix.schedule), .choice = schedule_names,
	.default_text = "deficit",
	.help =
	    "which domain is drawn next: the one that is furthest behind its share, so that no"
	    " prefix is off by more than about one; as in Megatron's and Nanotron's index; or at"
	    " random, with the shares in expectation"},
    {"mix.weights_unit", CONFIG_CHOICE, AT(mix.weights_unit), .choice = mix_unit_names,
	.default_text = "sequences",
	.help = "what weights are shares of; `tokens` counts no padding, and needs"
		" `schedule: deficit`. It counts the tokens of a sequence, one more than the"
		" targets that `riffle status --json` counts as `tokens`"},
    {"mix.epoch_size", CONFIG_ROUND, AT(mix.epoch_size), 1, LIMIT_ROUND,
	.help =
	    "rounds of so many draws, or of as many as the largest domain has sequences: at the end"
	    " of each every domain was drawn exactly its share of them. Without the key there are "
	    "no"
	    " rounds. Needs `schedule: deficit` and `weights_unit: sequences`, and no domain that "
	    "is"
	    " live"},
    {"mix.weights", CONFIG_WEIGHTS, AT(mix.weight), .default_text = "size",
	.help =
	    "a map from each domain to its share, at least 0, one above 0, normalised, so that they"
	    " need not sum to 1; `FILE.json` with such a map, or with DoReMi's"
	    " `train_domain_weights`, relative to the folder of this file; `uniform`; or `size`:"
	    " shares as in all sequences end to end"},
    {"mix.temperature", CONFIG_POSITIVE, AT(mix.temperature), .default_text = "1.0",
	.help = "T: shares are proportional to weight^(1/T); above 1 is flatter"},
    {"mix.phases", CONFIG_PHASES, AT(mix.phases),
	.help =
	    "a list of maps, each of which changes the weights, and what else it names, from a step"
	    " on, until the next one starts or a request changes them"},
    {CONFIG_PHASE_PREFIX "name", CONFIG_NAME, AT_PHASE(name),
	.help = "every batch of the phase has it; `phase-1`, `phase-2`, ... if not given"},
    {CONFIG_PHASE_PREFIX "start_step", CONFIG_COUNT, AT_PHASE(start_step), 0, LIMIT_STEP,
	.required = true, .help = "first step of the phase; larger than that of the phase before"},
    {CONFIG_PHASE_PREFIX "weights", CONFIG_PHASE_MAP, AT_PHASE(weight),
	.help = "a map from domain to share; domains that are not named have that of"
		" `mix.weights`. If not given: `mix.weights` again"},
    {CONFIG_PHASE_PREFIX "temperature", CONFIG_POSITIVE, AT_PHASE(temperature),
	.help = "T of the phase; that of `mix.temperature` if not given"},
    {CONFIG_PHASE_PREFIX "lr_scale", CONFIG_POSITIVE, AT_PHASE(lr_scale), .default_text = "1.0",
	.help = "every batch of the phase has it, for the trainer to multiply its learning rate"
		" with"},
    {CONFIG_PHASE_PREFIX "global_batch", CONFIG_COUNT32, AT_PHASE(global_batch), 1, LIMIT_BATCH,
	.help = "sequences of a step in the phase, a multiple of `mix.lanes`; that of"
		" `mix.global_batch` if not given"},
    {"mix.anneal_start_step", CONFIG_ANNEAL_STEP, 0, 0, LIMIT_STEP,
	.help = "with `anneal_weights`: short for a list of one phase, named `anneal`"},
    {"mix.anneal_weights", CONFIG_ANNEAL_MAP, 0, .help = "`weights` of that phase"},
    {"mix.shuffle", CONFIG_CHOICE, AT(mix.shuffle), .choice = mix_shuffle_names,
	.default_text = "block",
	.help =
	    "the order of each domain's sequences in an epoch. `block`: blocks of 2^20 tokens in"
	    " random order, and within a `window` of them the sequences; `full`: all sequences in"
	    " random order, which reads slower unless `mix.memory` holds the domain; `none`: every"
	    " epoch as they stand, several partitions in turn. It cannot be changed once the mix"
	    " has begun"},
    {"mix.window", CONFIG_COUNT32, AT(mix.window), 1, ORDER_WINDOW_MAX, .default_text = "1",
	.help = "blocks of a domain whose sequences are shuffled together; costs memory. Needs"
		" `shuffle: block`"},
    {"mix.permute", CONFIG_BOOL, AT(mix.permute), .default_text = "true",
	.help = "shuffle the sequences of each global batch over the ranks"},
    {"mix.lane_order", CONFIG_CHOICE, AT(mix.lane_order), .choice = mix_lane_order_names,
	.default_text = "contiguous",
	.help = "a lane holds neighbours of the global batch, or every L-th sequence of it"},
    {"mix.max_lead_steps", CONFIG_COUNT32, AT(mix.max_lead_steps), 0, INT32_MAX,
	.default_text = "64",
	.help = "steps that the mixer may be ahead of the slowest of `runs`; 0: no limit"},
    {"mix.runs", CONFIG_RUNS, AT(mix.runs), .default_text = "trainers",
	.help = "training runs (consumer groups `<mix>.<run>`) that limit the lead"},
    {"mix.memory", CONFIG_SIZE, AT(mix.memory_bytes), 1000000, 1024 * GB, .default_text = "512MB",
	.help =
	    "memory of `riffle mix` for the blocks of its domains, fetches and what waits to be"
	    " sent. A mix of which one step may need more is refused at the start. If the blocks"
	    " that the next 16,384 draws need do not fit, they are held all the same: leave room"
	    " for a block of every domain, or for `window` of them. docs/SIZING.md has figures"},
    {"mix.transaction_bytes", CONFIG_SIZE, AT(mix.transaction_bytes), 1, GB, .automatic = true,
	.default_text = "auto",
	.help =
	    "a transaction ends with the step that reaches this size. `auto`: 128 KiB a lane, at "
	    "most"
	    " a quarter of `mix.memory`, at least 16 MiB. What waits to be sent, two transactions, "
	    "is"
	    " at most that quarter, too: the rest of a larger transaction waits for the broker"},
    {"mix.transaction_ms", CONFIG_COUNT32, AT(mix.transaction_ms), 1, 30000, .automatic = true,
	.default_text = "auto",
	.help =
	    "a transaction ends with the step that reaches this age, in milliseconds. `auto`: 200,"
	    " twice as many after each transaction that reached its size or age, at most 200 and 2 "
	    "a"
	    " lane, and 200 again when the mixer had to wait; so steps are visible at once where it"
	    " is not behind, and large transactions save time where it is. Never more than a short "
	    "`transaction.timeout.ms` leaves beside the commit"},
    {"kafka", CONFIG_PROPERTIES, AT(kafka),
	.help = "a map of librdkafka properties, passed on as they are: `bootstrap.servers`,"
		" `sasl.mechanisms`, ... Of several values of a property the last one of this list"
		" holds: this map, `RIFFLE_BOOTSTRAP` in the environment (`bootstrap.servers`"
		" alone), `-s kafka.NAME=VALUE`, `-X NAME=VALUE`. A value may come from elsewhere:"
		" `sasl.password: {file: PATH}`, or `{env: NAME}`"},
};
const size_t config_keys_n = sizeof(config_keys) / sizeof(config_keys[0]);
_Static_assert(sizeof(config_keys) / sizeof(config_keys[0]) <= CONFIG_KEYS_MAX, "CONFIG_KEYS_MAX");

/* ---- its print ---- */

static const char *const kind_text[] = {
    [CONFIG_TEXT] = "text",
    [CONFIG_NAME] = "name",
    [CONFIG_COUNT32] = "whole number",
    [CONFIG_COUNT] = "whole number",
    [CONFIG_SIZE] = "size",
    [CONFIG_POSITIVE] = "number above 0",
    [CONFIG_NUMBER] = "number",
    [CONFIG_BOOL] = "`true`, `false`",
    [CONFIG_CHOICE] = "",
    [CONFIG_LIST] = "text or list",
    [CONFIG_RUNS] = "name or list",
    [CONFIG_FIELDS] = "text or list",
    [CONFIG_SPLIT] = "three whole numbers",
    [CONFIG_PROPERTIES] = "map",
    [CONFIG_DOMAINS] = "map",
    [CONFIG_FOLDER] = "text",
    [CONFIG_WEIGHTS] = "map, `FILE.json`, `uniform`, `size`",
    [CONFIG_ROUND] = "`largest` or whole number",
    [CONFIG_PHASES] = "list of maps",
    [CONFIG_PHASE_MAP] = "map",
    [CONFIG_ANNEAL_STEP] = "whole number",
    [CONFIG_ANNEAL_MAP] = "map",
};

static const char introduction[] =
    "# Keys of the configuration\n"
    "\n"
    "Printed by `riffle config --keys`. One YAML file describes a corpus and a mix of it;\n"
    "[config/example.yml](../config/example.yml) is one with comments, and\n"
    "`riffle config --check -c FILE` checks yours and all that needs no broker: the tokenizer, "
    "the\n"
    "files of every domain and the fields of their first records (`--no-inputs` leaves these "
    "out).\n"
    "\n"
    "A name is letters, digits, `.`, `_` and `-`, at most 100, with a letter or digit first. A "
    "size\n"
    "is a whole number of bytes, or one with `KB`, `MB`, `GB` (10^3, 10^6, 10^9) or `KiB`, `MiB`,\n"
    "`GiB` (2^10, 2^20, 2^30). `domains.NAME` stands for each domain, `mix.phases[]` for each "
    "phase.\n"
    "Without a `mix` section the file describes a corpus only. An unknown key, a key given twice, "
    "a\n"
    "value out of range, and a key without effect, because another one that it needs is not "
    "there,\n"
    "are errors that name file, line and key.\n"
    "\n"
    "Refused, because names would collide: a domain `rejects`, or `arrivals` where a domain with "
    "files\n"
    "is live; a run `mixer` or `election`; two topics whose names are equal, or differ in `.` and "
    "`_`\n"
    "only (Kafka refuses these).\n"
    "\n"
    "`-s KEY=VALUE` sets any of these keys on the command line, in every command that takes -c:\n"
    "`-s mix.weights.code=0.3`, `-s 'mix.phases[0].start_step=500'`, `-s kafka.linger.ms=5`. A "
    "value\n"
    "that begins with `[`, `{` or a quotation mark is YAML, any other is a text as it is.\n"
    "`RIFFLE_CONFIG` in the environment names the file where `-c` is not given.\n"
    "\n"
    "| key | value | default | what it is |\n"
    "|---|---|---|---|\n";

static void
print_range(const struct config_key *k, FILE *to)
{
	char low[SCALAR_SIZE_TEXT_MAX], high[SCALAR_SIZE_TEXT_MAX];

	if (k->kind == CONFIG_SIZE) {
		scalar_size_text(low, k->min);
		scalar_size_text(high, k->max);
		fprintf(to, ", %s to %s", low, high);
	} else if (k->max != 0) {
		fprintf(to, ", %" PRIu64 " to %" PRIu64, k->min, k->max);
	}
	if (k->automatic)
		fputs(", or `auto`", to);
	for (size_t i = 0; k->kind == CONFIG_CHOICE && k->choice[i] != NULL; i++)
		fprintf(to, "%s`%s`", i == 0 ? "" : ", ", k->choice[i]);
}

/* A "|" would end the cell of a table, even inside a code span. */
static void
print_cell(const char *text, FILE *to)
{
	for (; *text != '\0'; text++)
		fprintf(to, *text == '|' ? "\\|" : "%c", *text);
}

void
config_keys_print(FILE *to)
{
	fputs(introduction, to);
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *k = &config_keys[i];

		fprintf(to, "| `%s` | %s", k->path, kind_text[k->kind]);
		print_range(k, to);
		fputs(k->required               ? " | required"
		      : k->default_text == NULL ? " | none"
						: " | `",
		    to);
		if (!k->required && k->default_text != NULL) {
			print_cell(k->default_text, to);
			fputc('`', to);
		}
		fputs(" | ", to);
		print_cell(k->help, to);
		fputs(" |\n", to);
	}
}
