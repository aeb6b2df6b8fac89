/* Every allocation refused in turn: tokenizers, inputs, documents, packing, token files. */
#include "tests/unit/memory.h"

#include "cli/request/request_words.h"
#include "common/base/names.h"
#include "producer/document/router.h"
#include "producer/encoder/encoder.h"
#include "producer/input/input.h"
#include "producer/input/live_order.h"
#include "producer/input/live_scan.h"
#include "producer/input/token_file.h"
#include "producer/pack/pack.h"
#include "producer/tokenizer/tokenizer.h"
#include "tests/unit/folder.h"
#include "tests/unit/tiktoken_file.h"

static const char json_file[] =
    "{\"version\": \"1.0\", \"added_tokens\": [{\"id\": 4, \"content\": \"<x>\", "
    "\"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, "
    "\"special\": true}], \"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": "
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+\"}, "
    "\"behavior\": \"Isolated\", \"invert\": false}, "
    "\"model\": {\"type\": \"BPE\", \"unk_token\": \"?\", \"fuse_unk\": true, \"vocab\": "
    "{\"?\": 0, \"a\": 1, \"b\": 2, \"ab\": 3}, \"merges\": [[\"a\", \"b\"]]}}";

static int
write_files(void **state)
{
	static const char *const few[] = {"th", "the", " t", " the", "in", NULL};
	static const uint16_t tokens[] = {1, 2, 0, 3, 4, 5, 0};
	static const char line[] = "{\"text\": \"the \\u00e9t\\u00e9 in\", \"id\": 7}\n";
	struct bytes gz = bytes_gzip(line, sizeof(line) - 1);
	struct bytes zst = bytes_zstd(line, sizeof(line) - 1);
	char *plain;

	if (tiktoken_file_setup(state) != 0 || folder_open(state) != 0)
		return -1;
	tiktoken_file_of(few);
	/* Without a pre-tokenizer: its pattern is one of a few. */
	plain = strdup(json_file);
	assert_non_null(plain);
	memset(strstr(plain, "\"pre_tokenizer\""), ' ',
	    (size_t)(strstr(plain, "\"model\"") - strstr(plain, "\"pre_tokenizer\"")));
	folder_text("t.json", plain);
	free(plain);
	folder_text("a.jsonl", "{\"text\": \"one\", \"id\": 1}\n{bad\n\n{\"text\": \"\xff\"}\n");
	folder_write("b.jsonl.gz", gz.at, gz.n);
	folder_write("c.jsonl.zst", zst.at, zst.n);
	folder_text("d.txt", "the text\n");
	folder_write("x.npy", tokens, sizeof(tokens));
	free(gz.at);
	free(zst.at);
	return 0;
}

static int
remove_files(void **state)
{
	return tiktoken_file_teardown(state) | folder_close(state);
}

/* ---- tokenizers ---- */

static enum fail_code
encode(const struct tokenizer *t, uint64_t *gave, struct failure *f)
{
	static char text[3000];
	struct token_buffer ids = {0};
	struct encoder *e = NULL;

	if (text[0] == '\0') {
		memset(text, 'a', sizeof(text) - 1);
		memcpy(text, "the\xff <x> theta\xcc\x81 ab in the ", 27);
	}
	if (encoder_open(&e, t, f) == FAIL_NONE)
		for (int i = 0; i < 2 && f->code == FAIL_NONE; i++)
			if (encoder_encode(e, text, sizeof(text) - 1, &ids, f) == FAIL_NONE)
				memory_gave_bytes(gave, ids.id, ids.n * sizeof(*ids.id));
	encoder_close(e);
	token_buffer_close(&ids);
	return f->code;
}

static enum fail_code
tokenize(const char *file, const char *pattern, uint64_t *gave, struct failure *f)
{
	struct tokenizer_options o = {.file = file, .pattern = pattern};
	struct tokenizer *t = NULL;

	if (tokenizer_open(&t, &o, f) == FAIL_NONE) {
		memory_gave(gave, tokenizer_fingerprint(t));
		encode(t, gave, f);
	}
	tokenizer_close(t);
	return f->code;
}

static enum fail_code
use_tiktoken(uint64_t *gave, struct failure *f)
{
	return tokenize(tiktoken_path, "cl100k", gave, f);
}

static enum fail_code
use_json(uint64_t *gave, struct failure *f)
{
	return tokenize(folder_path("t.json"), NULL, gave, f);
}

static void
test_a_tokenizer_is_opened_and_used_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("tiktoken", use_tiktoken);
	memory_walk("tokenizer.json", use_json);
}

/* ---- inputs ---- */

static enum fail_code
read_input(const struct input_options *o, uint64_t *gave, struct failure *f)
{
	struct chunk *k = NULL;
	struct input *in = NULL;

	if (input_open(&in, o, NULL, f) == FAIL_NONE)
		while (input_next(in, &k, f) == FAIL_NONE && k != NULL) {
			for (size_t i = 0; i < k->n; i++) {
				memory_gave_bytes(gave, k->record[i].bytes, k->record[i].n);
				memory_gave(gave, k->record[i].document);
			}
			chunk_close(k);
		}
	input_close(in);
	return f->code;
}

static enum fail_code
read_files(uint64_t *gave, struct failure *f)
{
	static char pattern[] = "{a,b}.jsonl*", second[] = "*.jsonl.zst", third[] = "d.txt";
	static char *text[] = {pattern, second, third};
	static char brace[] = "{a.jsonl,b.jsonl.gz}";
	struct config_list patterns = {3, text};
	struct input_options o = {.patterns = &patterns,
	    .folder = folder,
	    .partitions = 1,
	    .max_document_bytes = 1 << 20};

	text[0] = brace;
	return read_input(&o, gave, f);
}

static enum fail_code
read_program(uint64_t *gave, struct failure *f)
{
	struct input_options o = {.folder = folder,
	    .exec = "cat a.jsonl",
	    .exec_name = "a",
	    .partitions = 1,
	    .max_document_bytes = 1 << 20};

	return read_input(&o, gave, f);
}

static enum fail_code
look_for_files(uint64_t *gave, struct failure *f)
{
	static char pattern[] = "*.jsonl*";
	static char *text[] = {pattern};
	static struct live_scan s;
	struct config_list patterns = {1, text};
	struct live_order r = {0};

	s.now = (struct file_list_now){.patterns = &patterns, .folder = folder, .partitions = 1};
	s.last = true;
	if (live_scan(&s, &r, f) == FAIL_NONE) {
		for (size_t i = 0; i < s.n; i++)
			if (live_order_add(&r, &s.portion[i], f) != FAIL_NONE)
				break;
		memory_gave(gave, s.n);
	}
	live_order_close(&r);
	return f->code;
}

static enum fail_code
read_tokens(uint64_t *gave, struct failure *f)
{
	static const bool known[8] = {true, true, true, true, true, true, true, true};
	struct token_file_options o = {.path = folder_path("x.npy"),
	    .name = "x.npy",
	    .format = TOKEN_FORMAT_NPY,
	    .token_bytes = 2,
	    .known = known,
	    .entries = 8,
	    .max_document_bytes = 1000};
	struct token_file_buffer ids = {0};
	struct token_file_document d;
	struct token_file *t = NULL;
	bool there = true;

	if (token_file_open(&t, &o, f) == FAIL_NONE)
		while (token_file_next(t, &d, &ids, &there, f) == FAIL_NONE && there)
			memory_gave(gave, d.n);
	token_file_close(t);
	free(ids.id);
	return f->code;
}

static void
test_an_input_is_read_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("files", read_files);
	memory_walk("a program", read_program);
	memory_walk("live files", look_for_files);
	memory_walk("token file", read_tokens);
}

/* ---- documents ---- */

static enum fail_code
route_all(const struct router *r, uint64_t *gave, struct failure *f)
{
	static const char *const lines[] = {
	    "{\"m\": {\"s\": \"a\"}, \"p\": \"be\\u0067in\", \"r\": \"end\", \"id\": [1, 2]}",
	    "{\"m\": {\"s\": \"b\"}, \"text\": \"\xff\"}", "{\"m\": {\"s\": \"c\"}}", "{\"m\"",
	    "{\"m\": {\"s\": \"b\"}, \"text\": 7}"};
	struct router_scratch *s = NULL;

	if (router_scratch_open(&s, f) == FAIL_NONE)
		EACH_ROW(i, lines) {
			struct chunk_record record = {.bytes = lines[i], .n = strlen(lines[i])};
			struct router_result result;
			struct failure why;

			if (router_route(r, s, CHUNK_JSON_LINES, &record, &result, &why) !=
			    FAIL_NONE) {
				*f = why;
				break;
			}
			memory_gave(gave, result.verdict);
			if (result.verdict == ROUTER_DOCUMENT) {
				memory_gave_bytes(gave, result.text, result.n);
				memory_gave_bytes(gave, result.keep, result.keep_n);
			}
		}
	router_scratch_close(s);
	return f->code;
}

static enum fail_code
route(uint64_t *gave, struct failure *f)
{
	static char names[2][2] = {"a", "b"}, field[] = "m.s", text[] = "text", p[] = "p",
		    response[] = "r", id[] = "id";
	static char *kept[] = {id};
	struct config_domain domain[] = {{.name = names[0],
					     .text = text,
					     .where_field = field,
					     .where_equals = names[0],
					     .prompt = p,
					     .response = response,
					     .keep = {1, kept}},
	    {.name = names[1], .where_field = field, .where_equals = names[1], .text = text}};
	const struct config_domain *const both[] = {&domain[0], &domain[1]};
	struct router *r = NULL;

	if (router_open(&r, both, 2, CONFIG_UTF8_REPLACE, f) == FAIL_NONE)
		route_all(r, gave, f);
	router_close(r);
	return f->code;
}

static enum fail_code
take_sequences(struct pack *p, uint64_t *gave, struct failure *f)
{
	bool there = true;

	while (there) {
		struct pack_sequence *s = NULL;

		if (pack_next(p, &s, &there, f) != FAIL_NONE)
			return f->code;
		if (there) {
			memory_gave_bytes(gave, s->token, 9 * sizeof(*s->token));
			memory_gave(gave, s->spans_n);
			pack_sequence_close(s);
		}
	}
	return FAIL_NONE;
}

static enum fail_code
pack(enum sequence_packing packing, uint64_t *gave, struct failure *f)
{
	static uint32_t id[40] = {0, PACK_NO_LOSS, 0, 0, PACK_NO_LOSS};
	struct pack_options o = {.packing = packing, .sequence_length = 8};
	struct pack *p = NULL;

	if (pack_open(&p, &o, f) == FAIL_NONE) {
		for (uint64_t i = 0; i < 30 && f->code == FAIL_NONE; i++) {
			struct pack_document d = {.place = {.document = i, .file = "x"},
			    .n = 1 + i * 7 % 23,
			    .keep = (const uint8_t *)"{}",
			    .keep_n = i % 2 * 2};

			if (pack_add(p, &d, id, 0, d.n, f) == FAIL_NONE)
				take_sequences(p, gave, f);
		}
		if (f->code == FAIL_NONE) {
			pack_finish(p);
			take_sequences(p, gave, f);
		}
	}
	pack_close(p);
	return f->code;
}

static enum fail_code
pack_concat(uint64_t *gave, struct failure *f)
{
	return pack(SEQUENCE_CONCAT, gave, f);
}

static enum fail_code
pack_none(uint64_t *gave, struct failure *f)
{
	return pack(SEQUENCE_NONE, gave, f);
}

static enum fail_code
pack_best_fit(uint64_t *gave, struct failure *f)
{
	return pack(SEQUENCE_BEST_FIT, gave, f);
}

static void
test_documents_are_routed_and_packed_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("router", route);
	memory_walk("pack concat", pack_concat);
	memory_walk("pack none", pack_none);
	memory_walk("pack best_fit", pack_best_fit);
}

/* ---- requests ---- */

static enum fail_code
make_request(uint64_t *gave, struct failure *f)
{
	static char words[2][16] = {"web=0.5", "code=0.25"};
	char *word[] = {words[0], words[1]};
	struct control c = {0};

	if (request_words_weights(&c, word, 2, f) == FAIL_NONE &&
	    request_words_place(&c, "web/3", f) == FAIL_NONE &&
	    request_words_range(&c, "3..9", f) == FAIL_NONE)
		memory_gave(gave, c.weights_n);
	control_clear(&c);
	return f->code;
}

static void
test_a_request_is_made_or_there_is_no_memory(void **unused)
{
	(void)unused;
	memory_walk("request", make_request);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_tokenizer_is_opened_and_used_or_there_is_no_memory),
	    cmocka_unit_test(test_an_input_is_read_or_there_is_no_memory),
	    cmocka_unit_test(test_documents_are_routed_and_packed_or_there_is_no_memory),
	    cmocka_unit_test(test_a_request_is_made_or_there_is_no_memory),
	};

	return cmocka_run_group_tests(tests, write_files, remove_files);
}
