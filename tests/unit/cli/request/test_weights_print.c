/* weights_print.h: a record and a history. All values are distinct. */
#include "cli/request/weights_print.h"

#include "common/schedule/weights.h"
#include "tests/unit/printed.h"

static struct failure f;

static char config[] =
    "{\"changeable\":{\"domains\":{},\"phases\":["
    "{\"name\":\"warm\",\"start_step\":\"4\",\"weights\":{},\"lr_scale\":1,\"global_batch\":8},"
    "{\"name\":\"now\",\"start_step\":\"7\",\"weights\":{},\"lr_scale\":1,\"global_batch\":24},"
    "{\"name\":\"cool\",\"start_step\":\"90\",\"weights\":{},\"lr_scale\":1}]},"
    "\"fixed\":{\"corpus\":\"c\",\"sequence_length\":64,\"global_batch\":16,\"lanes\":4,"
    "\"block\":64,\"window\":1}}";

static struct ledger_domain domain[] = {
    {.name = (char[]){"code"},
	.index = 0,
	.state = LEDGER_ACTIVE,
	.weight = WEIGHT_ONE / 4,
	.raw_weight = 1.5,
	.base_weight = 2.5},
    {.name = (char[]){"documents"},
	.index = 1,
	.state = LEDGER_JOINING,
	.joined = true,
	.weight = WEIGHT_ONE / 4 * 3,
	.raw_weight = 3.5,
	.base_weight = 4.5},
};
static struct ledger_raw_weight change_weight[] = {{(char[]){"code"}, 5.5}, {(char[]){"web"}, 6.5}};
static struct ledger_change pending[] = {
    {.id = (char[]){"w1"},
	.who = (char[]){"ann"},
	.step = 31,
	.kind = LEDGER_WEIGHTS,
	.weight = change_weight,
	.weights_n = 2,
	.temperature = 32,
	.lr_scale = 33,
	.global_batch = 34},
    {.id = (char[]){"s1"},
	.who = (char[]){"bob"},
	.step = 35,
	.kind = LEDGER_SKIP,
	.domain = (char[]){"code"},
	.partition = 36,
	.first = 37,
	.end = 38},
    {.id = (char[]){"j1"},
	.who = (char[]){"eve"},
	.step = 39,
	.kind = LEDGER_LEAVE,
	.domain = (char[]){"web"}},
};
static struct weight_history_domain history_domain[] = {{(char[]){"a"}, 1, 0.1},
    {(char[]){"b"}, 2, 0.2}, {(char[]){"c"}, 3, 0.3}, {(char[]){"d"}, 4, 0.4},
    {(char[]){"e"}, 5, 0.5}, {(char[]){"f"}, 6, 0.6}, {(char[]){"g"}, 7, 0.7},
    {(char[]){"h"}, 8, 0.8}, {(char[]){"i"}, 9, 0.9}};
static struct weight_history_version version[] = {
    {.version = 41,
	.step = 42,
	.reason = LEDGER_BY_REQUEST,
	.reason_id = (char[]){"w0"},
	.phase = (char[]){"p2"},
	.temperature = 43,
	.lr_scale = 44,
	.global_batch = 45,
	.domain = history_domain,
	.domains_n = 9},
    {.version = 46,
	.step = 47,
	.reason = LEDGER_BY_PHASE,
	.reason_id = (char[]){"p1"},
	.phase = (char[]){"p1"},
	.temperature = 1,
	.lr_scale = 1,
	.global_batch = 16,
	.domain = history_domain,
	.domains_n = 8},
    {.version = 48,
	.step = 49,
	.reason_id = (char[]){""},
	.phase = (char[]){""},
	.temperature = 1,
	.lr_scale = 1,
	.domain = history_domain,
	.domains_n = 1},
};

static struct ledger
filled(void)
{
	static char reason_id[] = "now", phase[] = "middle";

	return (struct ledger){.config = config,
	    .step_next = 7,
	    .version = 21,
	    .version_step = 22,
	    .reason = LEDGER_BY_PHASE,
	    .reason_id = reason_id,
	    .phase = phase,
	    .lr_scale = 23,
	    .temperature = 24,
	    .global_batch = 28,
	    .domain = domain,
	    .domains_n = 2,
	    .pending = pending,
	    .pending_n = 3};
}

static void
print(const struct ledger *l, size_t versions, bool json, struct printed *p)
{
	const struct weight_history h = {.version = version, .n = versions};

	printed_begin(p);
	assert_int_equal(weights_print_history("pre", l, &h, json, &f), FAIL_NONE);
}

static void
test_each_field_stands_in_its_place(void **unused)
{
	struct ledger l = filled();
	struct printed p;

	(void)unused;
	print(&l, 3, false, &p);
	printed_is(&p,
	    "mix      pre, next step 7\n"
	    "version  21 since step 22, by phase now\n"
	    "phase    middle, lr_scale 23, temperature 24, global_batch 28\n"
	    "\n"
	    "DOMAIN          WEIGHT        SHARE  STATE\n"
	    "code               1.5   25.000000%  active\n"
	    "documents          3.5   75.000000%  joining, by request\n"
	    "\n"
	    "to come\n"
	    "  step 31  weights code=5.5 web=6.5 temperature 32 lr_scale 33 global_batch "
	    "34  (request w1 by ann)\n"
	    "  step 35  skip code/36 37..38  (request s1 by bob)\n"
	    "  step 39  leave web  (request j1 by eve)\n"
	    "  step 7  phase now global_batch 24\n"
	    "  step 90  phase cool global_batch 16\n"
	    "\n"
	    "VERSION         STEP  BY\n"
	    "     41           42  request w0  a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8 and 1 more "
	    "temperature 43 lr_scale 44 global_batch 45\n"
	    "     46           47  phase p1  a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8\n"
	    "     48           49  config  a=1\n");
	print(&l, 3, true, &p);
	printed_json_is(&p,
	    "{'mix':'pre','step_next':7,'version':21,'since_step':22,'reason':'phase',"
	    "'reason_id':'now','phase':'middle','temperature':24.0,'lr_scale':23.0,"
	    "'global_batch':28,'domains':[{'name':'code','index':0,'state':'active',"
	    "'joined':false,'weight':1.5,'base_weight':2.5,'share':0.25},"
	    "{'name':'documents','index':1,'state':'joining','joined':true,'weight':3.5,"
	    "'base_weight':4.5,'share':0.75}],'pending':[{'id':'w1','kind':'weights',"
	    "'step':31,'weights':{'code':5.5,'web':6.5},'who':'ann','temperature':32.0,"
	    "'lr_scale':33.0,'global_batch':34},{'id':'s1','kind':'skip','step':35,"
	    "'weights':{},'who':'bob','domain':'code','partition':36,'first':37,'end':38},"
	    "{'id':'j1','kind':'leave','step':39,'weights':{},'who':'eve','domain':'web'}],"
	    "'phases':[{'name':'warm','start_step':4,'global_batch':8},{'name':'now',"
	    "'start_step':7,'global_batch':24},{'name':'cool','start_step':90,"
	    "'global_batch':16}],'history':[{'version':41,'step':42,'reason':'request',"
	    "'reason_id':'w0','phase':'p2','temperature':43.0,'lr_scale':44.0,"
	    "'global_batch':45,'weights':{'a':1.0,'b':2.0,'c':3.0,'d':4.0,'e':5.0,'f':6.0,"
	    "'g':7.0,'h':8.0,'i':9.0}},{'version':46,'step':47,'reason':'phase',"
	    "'reason_id':'p1','phase':'p1','temperature':1.0,'lr_scale':1.0,"
	    "'global_batch':16,'weights':{'a':1.0,'b':2.0,'c':3.0,'d':4.0,'e':5.0,'f':6.0,"
	    "'g':7.0,'h':8.0}},{'version':48,'step':49,'reason':'config','reason_id':'',"
	    "'phase':'','temperature':1.0,'lr_scale':1.0,'global_batch':16,"
	    "'weights':{'a':1.0}}]}");
}

/* After the last phase, without requests, without a phase or a batch of its own. */
static void
test_what_is_not_there_is_left_out(void **unused)
{
	struct ledger l = filled();
	struct printed p;

	(void)unused;
	l.step_next = 91;
	l.pending_n = l.domains_n = 0;
	l.reason = LEDGER_BY_CONFIG;
	l.reason_id = l.phase = NULL;
	l.global_batch = 0;
	print(&l, 0, false, &p);
	printed_is(&p, "mix      pre, next step 91\n"
		       "version  21 since step 22, by config\n"
		       "phase    none, lr_scale 23, temperature 24, global_batch 16\n"
		       "\n"
		       "DOMAIN       WEIGHT        SHARE  STATE\n"
		       "\n"
		       "VERSION         STEP  BY\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_field_stands_in_its_place),
	    cmocka_unit_test(test_what_is_not_there_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
