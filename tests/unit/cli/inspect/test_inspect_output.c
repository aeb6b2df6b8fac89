/* inspect_output.h: all values of a lane are distinct, and whole texts are compared. */
#include "cli/inspect/inspect_output.h"

#include "tests/unit/printed.h"
#include "tests/unit/sample.h"

static struct failure f;

/* A lane of two sequences of the sample: its bytes (wire_writer_close). */
static void
encode_lane(struct wire_writer *w, uint32_t lane)
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
	    .tokenizer = SAMPLE_TOKENIZER};
	const struct batch_domain domain[] = {{2, {"code", 4}}, {5, {"web", 3}}};
	const struct batch_drawn drawn[] = {
	    {.domain = 5, .partition = 21 + lane, .ordinal = 31, .epoch = 41},
	    {.domain = 2, .partition = 51 + lane, .ordinal = 61, .epoch = 71}};
	struct wire_writer sequence = {0};
	struct sequence_view view;

	assert_int_equal(
	    sequence_encode(&sequence, 5, SAMPLE_TOKENIZER, &position, &sample_payload, &f),
	    FAIL_NONE);
	assert_int_equal(sequence_decode(&view, sequence.bytes, sequence.n, &f), FAIL_NONE);
	assert_int_equal(batch_begin(w, &head, domain, 2, 2, &f), FAIL_NONE);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
		    batch_add(w, &drawn[i], view.payload.raw, view.payload.raw_n, &f), FAIL_NONE);
	assert_int_equal(batch_end(w, &f), FAIL_NONE);
	wire_writer_close(&sequence);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
