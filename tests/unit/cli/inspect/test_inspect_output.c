/* inspect_output.h: all values of a lane are distinct, and whole texts are compared. */
#include "cli/inspect/inspect_output.h"

#include "common/record/frame.h"
#include "tests/unit/printed.h"
#include "tests/unit/sample.h"
#include "tests/unit/tiktoken_file.h"

static struct failure f;

/* ---- lines, of this test's own: slot 0 of lane 1 has them ---- */

static const struct inspect_lines *const lines = (const struct inspect_lines *)&f;

const struct document_line *
inspect_lines_of(
    const struct inspect_lines *l, uint32_t lane, size_t slot, size_t spans_n, int64_t *time_ms)
{
	static const struct document_line known[] = {{51, true}, {0, false}, {53, false}};
	bool here = l != NULL && lane == 1 && slot == 0;

	assert_true(l == NULL || l == lines);
	assert_int_equal(spans_n, 3);
	*time_ms = !here ? -1 : 1769855400123;
	return here ? known : NULL;
}

/* ---- lanes ---- */

/* A lane of two sequences of the payload: its bytes (wire_writer_close). */
static void
encode_payload(struct wire_writer *w, uint32_t lane, const struct sequence_payload *payload,
    uint64_t tokenizer, uint32_t second)
{
	static const struct sequence_position position = {0};
	const struct batch_head head = {.mix = {"pre", 3},
	    .schedule = 1,
	    .step = 11,
	    .lane = lane,
	    .lanes = 4,
	    .global_batch = 8,
	    .version = 12,
	    .phase = {"warm", 4},
	    .lr_scale = 0.5,
	    .lead = 13,
	    .tokenizer = tokenizer};
	const struct batch_domain domain[] = {{2, {"code", 4}}, {5, {"web", 3}}};
	const struct batch_drawn drawn[] = {
	    {.domain = 5, .partition = 21 + lane, .ordinal = 31, .epoch = 41},
	    {.domain = second, .partition = 51 + lane, .ordinal = 61, .epoch = 71}};
	struct wire_writer sequence = {0};
	struct sequence_view view;

	assert_int_equal(
	    sequence_encode(&sequence, 5, tokenizer, &position, payload, &f), FAIL_NONE);
	assert_int_equal(sequence_decode(&view, sequence.bytes, sequence.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(w, &head, domain, 2, 2, &f), FAIL_NONE);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
		    batch_add(w, &drawn[i], view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&sequence);
}

static void
encode_lane(struct wire_writer *w, uint32_t lane)
{
	encode_payload(w, lane, &sample_payload, SAMPLE_TOKENIZER, 2);
}

static void
print_lanes(struct printed *p, bool json)
{
	const struct inspect_output_options o = {
	    .to = printed_begin(p), .json = json, .derived = true};
	struct inspect_output *out;

	assert_int_equal(inspect_output_open(&out, &o, &f), FAIL_NONE);
	for (uint32_t lane = 1; lane < 3; lane++) {
		struct wire_writer w = {0};
		struct batch_view view;

		encode_lane(&w, lane);
		assert_int_equal(batch_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
		assert_int_equal(inspect_output_lane(out, &view, &f), FAIL_NONE);
		wire_writer_close(&w);
	}
	assert_int_equal(inspect_output_end(out, &f), FAIL_NONE);
	inspect_output_close(out);
}

static void
test_each_field_stands_in_its_place(void **unused)
{
	struct printed p;

	(void)unused;
	print_lanes(&p, false);
	printed_is(&p,
	    "lane\tslot\tdomain\tpartition\tordinal\tepoch\tstart\ttokens\tsource\tdocument"
	    "\toffset\tline\tkeep\n"
	    "1\t0\tweb\t22\t31\t41\t0\t3\tdata/a.jsonl\t41\t130\t-\t-\n"
	    "1\t0\tweb\t22\t31\t41\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\n"
	    "1\t0\tweb\t22\t31\t41\t7\t1\tb.txt\t1099511627776\t0\t-\t-\n"
	    "1\t1\tcode\t52\t61\t71\t0\t3\tdata/a.jsonl\t41\t130\t-\t-\n"
	    "1\t1\tcode\t52\t61\t71\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\n"
	    "1\t1\tcode\t52\t61\t71\t7\t1\tb.txt\t1099511627776\t0\t-\t-\n"
	    "2\t0\tweb\t23\t31\t41\t0\t3\tdata/a.jsonl\t41\t130\t-\t-\n"
	    "2\t0\tweb\t23\t31\t41\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\n"
	    "2\t0\tweb\t23\t31\t41\t7\t1\tb.txt\t1099511627776\t0\t-\t-\n"
	    "2\t1\tcode\t53\t61\t71\t0\t3\tdata/a.jsonl\t41\t130\t-\t-\n"
	    "2\t1\tcode\t53\t61\t71\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\n"
	    "2\t1\tcode\t53\t61\t71\t7\t1\tb.txt\t1099511627776\t0\t-\t-\n");
	print_lanes(&p, true);
	printed_json_is(&p,
	    "{'mix':'pre','step':11,'version':12,'phase':'warm','lr_scale':0.5,"
	    "'derived':true,'sequences':[{'lane':1,'slot':0,'domain':'web',"
	    "'domain_index':5,'partition':22,'ordinal':31,'epoch':41,'count':9,'used':8,"
	    "'documents':[{'start':0,'tokens':3,'source':'data/a.jsonl','document':41,"
	    "'offset':130,'line':null,'line_exact':false,'keep':null},{'start':3,"
	    "'tokens':4,'source':'data/a.jsonl','document':42,'offset':0,'line':null,"
	    "'line_exact':false,'keep':{}},{'start':7,'tokens':1,'source':'b.txt',"
	    "'document':1099511627776,'offset':0,'line':null,'line_exact':false,"
	    "'keep':null}],'no_loss':[[1,2],[8,9]],'time':null},{'lane':1,'slot':1,"
	    "'domain':'code','domain_index':2,'partition':52,'ordinal':61,'epoch':71,"
	    "'count':9,'used':8,'documents':[{'start':0,'tokens':3,'source':'data/a.jsonl',"
	    "'document':41,'offset':130,'line':null,'line_exact':false,'keep':null},"
	    "{'start':3,'tokens':4,'source':'data/a.jsonl','document':42,'offset':0,"
	    "'line':null,'line_exact':false,'keep':{}},{'start':7,'tokens':1,"
	    "'source':'b.txt','document':1099511627776,'offset':0,'line':null,"
	    "'line_exact':false,'keep':null}],'no_loss':[[1,2],[8,9]],'time':null},"
	    "{'lane':2,'slot':0,'domain':'web','domain_index':5,'partition':23,"
	    "'ordinal':31,'epoch':41,'count':9,'used':8,'documents':[{'start':0,'tokens':3,"
	    "'source':'data/a.jsonl','document':41,'offset':130,'line':null,"
	    "'line_exact':false,'keep':null},{'start':3,'tokens':4,'source':'data/a.jsonl',"
	    "'document':42,'offset':0,'line':null,'line_exact':false,'keep':{}},{'start':7,"
	    "'tokens':1,'source':'b.txt','document':1099511627776,'offset':0,'line':null,"
	    "'line_exact':false,'keep':null}],'no_loss':[[1,2],[8,9]],'time':null},"
	    "{'lane':2,'slot':1,'domain':'code','domain_index':2,'partition':53,"
	    "'ordinal':61,'epoch':71,'count':9,'used':8,'documents':[{'start':0,'tokens':3,"
	    "'source':'data/a.jsonl','document':41,'offset':130,'line':null,"
	    "'line_exact':false,'keep':null},{'start':3,'tokens':4,'source':'data/a.jsonl',"
	    "'document':42,'offset':0,'line':null,'line_exact':false,'keep':{}},{'start':7,"
	    "'tokens':1,'source':'b.txt','document':1099511627776,'offset':0,'line':null,"
	    "'line_exact':false,'keep':null}],'no_loss':[[1,2],[8,9]],'time':null}]}");
}

/* ---- tokens, texts and lines ---- */

static struct tokenizer *tokenizer; /* 256 is "the" */

static int
open_tokenizer(void **state)
{
	const char *const more[] = {"the", NULL};
	struct tokenizer_options o = {.file = tiktoken_path, .pattern = "gpt2"};

	if (tiktoken_file_setup(state) != 0)
		return -1;
	tiktoken_file_of(more);
	return tokenizer_open(&tokenizer, &o, &f) == FAIL_NONE ? 0 : -1;
}

static int
close_tokenizer(void **state)
{
	tokenizer_close(tokenizer);
	return tiktoken_file_teardown(state);
}

/* The sample with these nine tokens, in `frame`. */
static struct sequence_payload
encode_tokens(const uint32_t tokens[static 9], uint8_t frame[static 256])
{
	struct sequence_payload p = sample_payload;
	struct frame_codec *codec;

	assert_int_equal(frame_codec_open(&codec, &f), FAIL_NONE);
	assert_true(frame_bound(9, 2) <= 256);
	assert_int_equal(frame_encode(codec, tokens, 9, 2, frame, 256, &p.frame_n, &f), FAIL_NONE);
	frame_codec_close(codec);
	p.frame = frame;
	p.frame_hash = frame_hash(frame, p.frame_n);
	return p;
}

/* "the" around a double quote; then a newline. The last character continues after the document. */
static const uint32_t nine[] = {256, '"', 256, '\n', 'x', 0xc3, 0xa9, 0xc3, 0xa9};

/* Prints the lanes 1 and 2 of a step, or one of them; `lane` counts as the step's lanes do. */
static enum fail_code
print_step(struct printed *p, struct inspect_output_options o, const struct sequence_payload *load,
    uint64_t fingerprint, int64_t lane)
{
	struct wire_writer w[3] = {{0}};
	struct published_lane published[3];
	const struct published_step step = {
	    .step = 11, .lanes = 3, .topic = "pre.batches", .lane = published};
	struct inspect_output *out;
	enum fail_code code;

	for (uint32_t i = 0; i < 3; i++) {
		encode_payload(&w[i], i, load, fingerprint, 2);
		published[i] = (struct published_lane){w[i].bytes, w[i].n, 70 + i};
	}
	o.to = printed_begin(p);
	assert_int_equal(inspect_output_open(&out, &o, &f), FAIL_NONE);
	code = inspect_output_step(out, &step, lane, &f);
	inspect_output_close(out);
	for (uint32_t i = 0; i < 3; i++)
		wire_writer_close(&w[i]);
	return code;
}

#define HEADS                                                                                      \
	"lane\tslot\tdomain\tpartition\tordinal\tepoch\tstart\ttokens\tsource\tdocument\toffset"   \
	"\tline\tkeep"

static void
test_a_document_has_its_own_tokens_text_and_line(void **unused)
{
	uint8_t frame[256];
	const struct sequence_payload load = encode_tokens(nine, frame);
	uint64_t fingerprint = tokenizer_fingerprint(tokenizer);
	struct printed p;

	(void)unused;
	assert_int_equal(
	    print_step(&p,
		(struct inspect_output_options){.ids = true, .text = tokenizer, .lines = lines},
		&load, fingerprint, 1),
	    FAIL_NONE);
	printed_is(&p, HEADS
	    "\tids\ttext\n"
	    "1\t0\tweb\t22\t31\t41\t0\t3\tdata/a.jsonl\t41\t130\t51\t-\t256 34 "
	    "256\t\"the\\\"the\"\n"
	    "1\t0\tweb\t22\t31\t41\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\t10 120 195 169\t"
	    "\"\\nx\xc3\xa9\"\n"
	    "1\t0\tweb\t22\t31\t41\t7\t1\tb.txt\t1099511627776\t0\t~53\t-\t195\t\"\xef\xbf\xbd\"\n"
	    "1\t1\tcode\t52\t61\t71\t0\t3\tdata/a.jsonl\t41\t130\t-\t-\t256 34 "
	    "256\t\"the\\\"the\"\n"
	    "1\t1\tcode\t52\t61\t71\t3\t4\tdata/a.jsonl\t42\t0\t-\t{}\t10 120 195 169\t"
	    "\"\\nx\xc3\xa9\"\n"
	    "1\t1\tcode\t52\t61\t71\t7\t1\tb.txt\t1099511627776\t0\t-\t-\t195\t\"\xef\xbf\xbd\"\n");
	assert_int_equal(print_step(&p,
			     (struct inspect_output_options){
				 .json = true, .ids = true, .text = tokenizer, .lines = lines},
			     &load, fingerprint, 1),
	    FAIL_NONE);
	printed_json_is(&p,
	    "{'mix':'pre','step':11,'version':12,'phase':'warm','lr_scale':0.5,'derived':false,"
	    "'sequences':[{'lane':1,'slot':0,'domain':'web','domain_index':5,'partition':22,"
	    "'ordinal':31,'epoch':41,'count':9,'used':8,'documents':[{'start':0,'tokens':3,"
	    "'source':'data/a.jsonl','document':41,'offset':130,'line':51,'line_exact':true,"
	    "'keep':null,'ids':[256,34,256],'text':'the\\'the'},{'start':3,'tokens':4,"
	    "'source':'data/a.jsonl','document':42,'offset':0,'line':null,'line_exact':false,"
	    "'keep':{},'ids':[10,120,195,169],'text':'\\nx\xc3\xa9'},{'start':7,'tokens':1,"
	    "'source':'b.txt','document':1099511627776,'offset':0,'line':53,'line_exact':false,"
	    "'keep':null,'ids':[195],'text':'\xef\xbf\xbd'}],'no_loss':[[1,2],[8,9]],"
	    "'time':'2026-01-31T10:30:00.123Z'},{'lane':1,'slot':1,'domain':'code',"
	    "'domain_index':2,'partition':52,'ordinal':61,'epoch':71,'count':9,'used':8,"
	    "'documents':[{'start':0,'tokens':3,'source':'data/a.jsonl','document':41,"
	    "'offset':130,'line':null,'line_exact':false,'keep':null,'ids':[256,34,256],"
	    "'text':'the\\'the'},{'start':3,'tokens':4,'source':'data/a.jsonl','document':42,"
	    "'offset':0,'line':null,'line_exact':false,'keep':{},'ids':[10,120,195,169],"
	    "'text':'\\nx\xc3\xa9'},{'start':7,'tokens':1,'source':'b.txt',"
	    "'document':1099511627776,'offset':0,'line':null,'line_exact':false,'keep':null,"
	    "'ids':[195],'text':'\xef\xbf\xbd'}],'no_loss':[[1,2],[8,9]],'time':null}]}");
}

static void
test_ids_and_text_stand_alone_too(void **unused)
{
	static const struct {
		bool ids, text;
		const char *head, *first;
	} rows[] = {
	    {false, false, "", ""},
	    {true, false, "\tids", "\t256 34 256"},
	    {false, true, "\ttext", "\t\"the\\\"the\""},
	};
	uint8_t frame[256];
	const struct sequence_payload load = encode_tokens(nine, frame);

	(void)unused;
	EACH_ROW(i, rows) {
		struct printed p;
		char expected[512];
		int lines_n = 0;

		assert_int_equal(print_step(&p,
				     (struct inspect_output_options){.ids = rows[i].ids,
					 .text = rows[i].text ? tokenizer : NULL},
				     &load, tokenizer_fingerprint(tokenizer), -1),
		    FAIL_NONE);
		printed_end(&p);
		snprintf(expected, sizeof(expected),
		    HEADS "%s\n0\t0\tweb\t21\t31\t41\t0\t3\tdata/a.jsonl\t41\t130\t-\t-%s\n",
		    rows[i].head, rows[i].first);
		for (const char *at = p.text; (at = strchr(at, '\n')) != NULL; at++)
			lines_n++;
		assert_int_equal(lines_n, 1 + 3 * 2 * 3);
		p.text[strlen(expected)] = '\0';
		printed_compare(p.text, expected);
		free(p.text);
	}
}

/* A name and what is kept may be any bytes. */
static void
test_bytes_that_are_no_text_do_not_break_the_output(void **unused)
{
	static const struct text_view sources[] = {{"a\xff", 2}, {"b\tc", 3}};
	static const struct sequence_span spans[] = {
	    {0, 0, 1, 2, (const uint8_t *)"{\"a", 3},
	    {3, 1, 4, 5, (const uint8_t *)"\xff", 1},
	    {7, 1, 6, 7, (const uint8_t *)"{\"a\":[1]}", 9},
	};
	struct sequence_payload load = sample_payload;
	struct printed p;

	(void)unused;
	load.sources = sources;
	load.spans = spans;
	load.no_loss_n = 0;
	assert_int_equal(print_step(&p, (struct inspect_output_options){.json = true}, &load,
			     SAMPLE_TOKENIZER, 2),
	    FAIL_NONE);
	printed_end(&p);
	assert_non_null(strstr(p.text, "\"source\": \"(not UTF-8)\""));
	assert_non_null(strstr(p.text, "\"source\": \"b\\tc\""));
	assert_non_null(strstr(p.text, "\"keep\": \"{\\\"a\""));
	assert_non_null(strstr(p.text, "\"keep\": \"(not UTF-8)\""));
	assert_non_null(strstr(p.text, "\"keep\": {\n"));
	assert_non_null(strstr(p.text, "\"no_loss\": []"));
	assert_non_null(strstr(p.text, "\"lane\": 2"));
	assert_int_equal(p.text[strlen(p.text) - 1], '\n');
	free(p.text);
	assert_int_equal(
	    print_step(&p, (struct inspect_output_options){0}, &load, SAMPLE_TOKENIZER, 0),
	    FAIL_NONE);
	printed_end(&p);
	printed_compare(p.text,
	    HEADS "\n0\t0\tweb\t21\t31\t41\t0\t3\ta\\xff\t1\t2\t-\t{\"a\n"
		  "0\t0\tweb\t21\t31\t41\t3\t4\tb\\tc\t4\t5\t-\t\\xff\n"
		  "0\t0\tweb\t21\t31\t41\t7\t1\tb\\tc\t6\t7\t-\t{\"a\":[1]}\n"
		  "0\t1\tcode\t51\t61\t71\t0\t3\ta\\xff\t1\t2\t-\t{\"a\n"
		  "0\t1\tcode\t51\t61\t71\t3\t4\tb\\tc\t4\t5\t-\t\\xff\n"
		  "0\t1\tcode\t51\t61\t71\t7\t1\tb\\tc\t6\t7\t-\t{\"a\":[1]}\n");
	free(p.text);
}

static void
test_a_sequence_that_cannot_be_shown_is_named(void **unused)
{
	static const uint32_t too_high[] = {256, 257, 0, 0, 0, 0, 0, 0, 0};
	uint8_t frame[256], high_frame[256];
	const struct sequence_payload good = encode_tokens(nine, frame),
				      high = encode_tokens(too_high, high_frame);
	uint64_t fingerprint = tokenizer_fingerprint(tokenizer);
	struct sequence_payload cut = good;
	const struct {
		const struct sequence_payload *load;
		bool ids, text;
		uint64_t fingerprint;
		enum fail_code code;
		const char *why;
	} rows[] = {
	    {&sample_payload, true, false, 1, FAIL_DATA,
		"topic pre.batches, lane 1, offset 71: sequence 0 of the lane: domain web, "
		"partition 22, "
		"ordinal 31: its tokens cannot be read (without --text and --tokens its documents "
		"are shown): "},
	    {&cut, false, true, fingerprint, FAIL_DATA,
		"topic pre.batches, lane 1, offset 71: sequence 0 of the lane: domain web, "
		"partition 22, "
		"ordinal 31: its tokens cannot be read (without --text and --tokens its documents "
		"are shown): "},
	    {&high, false, true, fingerprint, FAIL_DATA,
		"topic pre.batches, lane 1, offset 71: sequence 0 of the lane: token 257 is none "
		"of the "
		"tokenizer's"},
	    {&good, false, true, 1, FAIL_CONFIG,
		"topic pre.batches, lane 1, offset 71: the step is of tokenizer 0000000000000001, "
		"the "
		"configuration has "},
	};

	(void)unused;
	cut.frame_n--;
	cut.frame_hash = frame_hash(cut.frame, cut.frame_n);
	EACH_ROW(i, rows) {
		for (int json = 0; json < 2; json++) {
			struct printed p;

			assert_int_equal(print_step(&p,
					     (struct inspect_output_options){.json = json == 1,
						 .ids = rows[i].ids,
						 .text = rows[i].text ? tokenizer : NULL},
					     rows[i].load, rows[i].fingerprint, 1),
			    rows[i].code);
			printed_end(&p);
			f.text[strlen(rows[i].why)] = '\0';
			assert_string_equal(f.text, rows[i].why);
			free(p.text);
		}
	}
}

static void
test_a_domain_without_a_name_is_named_by_its_number(void **unused)
{
	struct printed p;
	const struct inspect_output_options o = {.to = printed_begin(&p)};
	struct wire_writer w = {0};
	struct inspect_output *out;
	struct batch_view view;

	(void)unused;
	assert_int_equal(inspect_output_open(&out, &o, &f), FAIL_NONE);
	encode_payload(&w, 1, &sample_payload, SAMPLE_TOKENIZER, 3);
	assert_int_equal(batch_decode(&view, w.bytes, w.n, &f), FAIL_NONE);
	assert_int_equal(inspect_output_lane(out, &view, &f), FAIL_DATA);
	assert_string_equal(
	    f.text, "sequence 1 of the lane: domain number 3 has no name in the record");
	wire_writer_close(&w);
	inspect_output_close(out);
	printed_end(&p);
	free(p.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	    cmocka_unit_test(test_a_document_has_its_own_tokens_text_and_line),
	    cmocka_unit_test(test_ids_and_text_stand_alone_too),
	    cmocka_unit_test(test_bytes_that_are_no_text_do_not_break_the_output),
	    cmocka_unit_test(test_a_sequence_that_cannot_be_shown_is_named),
	    cmocka_unit_test(test_a_domain_without_a_name_is_named_by_its_number),
	};

	return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
