/* status_print.h: all fields of a status are distinct, and the whole text is compared. */
#include "cli/hints.h"
#include "cli/status/status_print.h"

#include "tests/unit/full_status.h"
#include "tests/unit/printed.h"

static struct failure f;

static void
test_the_table_has_each_field_in_its_place(void **unused)
{
	struct status st = full_status(STATUS_STARTED);
	struct printed p;

	(void)unused;
	status_print_table(&st, printed_begin(&p));
	printed_is(&p,
	    "health   2 problems\n"
	    "corpus   demo\n"
	    "rejects  17 at most; `riffle rejects` lists them\n"
	    "mix      pre, running\n"
	    "step     24 sequences of 128 tokens on 4 lanes\n"
	    "mixers   active host-a, host-b; standby host-c, host-d (one works at most: "
	    "those that died, or were refused after one died, are listed for up to 10 s)\n"
	    "next     step 69, kept from step 16, limit step 21\n"
	    "weights  version 11 since step 12, by request r7; phase warm; lr_scale 0.5; "
	    "phase cool at step 89\n"
	    "to come  a skip at step 71, by request q1; and 2 more (riffle weights)\n"
	    "owed     domain web gets 9 draws back that others took while it was dry\n"
	    "rates    4 steps/s, 1.5 k sequences/s, 2.5 M tokens/s (over 2.5 s up to the "
	    "last record)\n"
	    "written  12 s ago\n"
	    "losses   run main, mean of 31 steps, 32 to 33, in nats a token: 2.5000 over "
	    "all domains\n"
	    "losses   run tune (not in mix.runs), mean of 35 steps, 36 to 37, in nats a "
	    "token: 1.5000 over all domains\n"
	    "\n"
	    "RUN                STEP          LAG      MAY LAG\n"
	    "main                 62            7           20\n"
	    "evaluation           65            4          any\n"
	    "new                   -           69           20\n"
	    "\n"
	    "DOMAIN     SEQUENCES   SEALED   WEIGHT    INTENDED      TARGET    REALISED    "
	    "OFF        TAKEN  EPOCH     POSITION     LOSS\n"
	    "code             205      yes      1.5  25.000000%  27.000000%  26.000000%  "
	    "-0.75          101    102          104   2.2500\n"
	    "web              216 live dry      2.5  75.000000%  73.000000%  74.000000%  "
	    "+1.50          111      0          114        -  joining\n"
	    "longest            -        -      3.5   0.000000%           -   0.000000%    "
	    "  -          121    122          124   2.7500  left\n"
	    "\n"
	    "! STATUS-ONE the first\n"
	    "! STATUS-TWO the second\n"
	    "! and 25 more\n");
	full_status_end(&st);
}

static void
test_the_lanes_of_a_run_are_listed_if_it_stops_for_some_of_them(void **unused)
{
	struct status_run run[] = {
	    {.name = "part", .bounds = true, .seen_ms = -1, .committed = true, .lag_steps = 3},
	    {.name = "slow", .bounds = true, .known = 12, .seen_ms = -1, .step = 12},
	    {.name = "near", .bounds = true, .known = 12, .seen_ms = -1, .step = 12},
	};
	struct status st = full_status(STATUS_STARTED);
	struct printed p;

	(void)unused;
	run[1].committed = run[1].committed_all = run[2].committed = run[2].committed_all = true;
	run[1].lag_steps = st.lead_steps;
	run[2].lag_steps = st.lead_steps - 1;
	for (size_t i = 0; i < 3; i++)
		snprintf(run[i].apart, sizeof(run[i].apart), "lane 0 up to step 16, and so on");
	st.run = run;
	st.runs_n = 3;
	status_print_runs_table(&st, printed_begin(&p));
	printed_is(&p,
	    "RUN          STEP        KNOWN          LAG      MAY LAG  SEEN             STATE\n"
	    "part            0            0            3           20  -             part of its "
	    "lanes: lane 0 up to step 16, and so on\n"
	    "slow           12           12           20           20  -             good: lane 0 "
	    "up to step 16, and so on\n"
	    "near           12           12           19           20  -             good\n");
	full_status_end(&st);
}

static void
test_runs_have_each_field_in_its_place(void **unused)
{
	struct status st = full_status(STATUS_STARTED);
	struct printed p;

	(void)unused;
	status_print_runs_table(&st, printed_begin(&p));
	printed_is(&p,
	    "RUN                STEP        KNOWN          LAG      MAY LAG  SEEN          "
	    "   STATE\n"
	    "main                 62           61            7           20  5.0 s ago     "
	    "good\n"
	    "evaluation           65           64            4          any  -             "
	    "commits lost\n"
	    "new                   -            0           69           20  -             "
	    "of no run\n");
	assert_int_equal(status_print_runs_json(&st, printed_begin(&p), &f), FAIL_NONE);
	printed_json_is(&p,
	    "[{'name':'main','bounds_lead':true,'committed':true,'step':62,'step_ahead':63,"
	    "'lane':3,'lag_steps':7,'step_known':61,'state':'good','seen_ms':5000,"
	    "'waited_for':true},{'name':'evaluation','bounds_lead':false,'committed':true,"
	    "'step':65,'step_ahead':66,'lane':2,'lag_steps':4,'step_known':64,"
	    "'state':'commits lost','seen_ms':null,'waited_for':false},{'name':'new',"
	    "'bounds_lead':true,'committed':false,'step':0,'step_ahead':0,'lane':0,"
	    "'lag_steps':69,'step_known':0,'state':'new','seen_ms':null,"
	    "'waited_for':false}]");
	full_status_end(&st);
}

static void
test_json_has_each_field_in_its_place(void **unused)
{
	struct status st = full_status(STATUS_STARTED);
	struct printed p;

	(void)unused;
	assert_int_equal(status_print_json(&st, printed_begin(&p), true, &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'corpus':'demo','now_ms':1000000,'mix':{'name':'pre','state':'running',"
	    "'lanes':4,'global_batch':24,'sequence_length':128,'max_lead_steps':20,"
	    "'step_next':69,'draws':1201,'step_limit':21,'step_kept':16,"
	    "'lanes_behind':[{'lane':0,'step_next':51},{'lane':3,'step_next':54}],"
	    "'lanes_ahead':[{'lane':1,'step_next':52}],'ledger_offset':15,"
	    "'written_ms':988000,'age_ms':12000,'schedule':'000000000000000a',"
	    "'tokenizer':'000000000000000b','choices':'000000000000000c','quarantined':14,"
	    "'mixers':[{'host':'host-a','standby':false},{'host':'host-b','standby':false},"
	    "{'host':'host-c','standby':true},{'host':'host-d','standby':true}],"
	    "'weights':{'version':11,'since_step':12,'reason':'request','reason_id':'r7',"
	    "'phase':'warm','lr_scale':0.5,'temperature':2.0},'next_phase':{'name':'cool',"
	    "'step':89,'seconds':5.0},'first_end':{'domain':'web','epoch':0,'steps':24,"
	    "'seconds':6.0},'deviation_promised':2,'tokens':22,'pending':[{'step':71,"
	    "'kind':'skip','id':'q1','domain':'web'},{'step':72,'kind':'weights','id':'q2',"
	    "'domain':''},{'step':73,'kind':'undo','id':'q3','domain':'code'}],'skips':13,"
	    "'rates':{'window_ms':2500,'steps_per_s':4.0,'sequences_per_s':1500.0,"
	    "'tokens_per_s':2.5e6},'runs':[{'name':'main','bounds_lead':true,"
	    "'committed':true,'step':62,'step_ahead':63,'lane':3,'lag_steps':7,"
	    "'step_known':61,'state':'good','seen_ms':5000,'waited_for':true},"
	    "{'name':'evaluation','bounds_lead':false,'committed':true,'step':65,"
	    "'step_ahead':66,'lane':2,'lag_steps':4,'step_known':64,'state':'commits lost',"
	    "'seen_ms':null,'waited_for':false},{'name':'new','bounds_lead':true,"
	    "'committed':false,'step':0,'step_ahead':0,'lane':0,'lag_steps':69,"
	    "'step_known':0,'state':'new','seen_ms':null,'waited_for':false}],"
	    "'losses':[{'run':'idle','configured':true,'steps':0,'step_first':null,"
	    "'step_last':null,'world':null,'all':null,'domains':{'web':{'loss':1.25,"
	    "'excess':0.625,'tokens':44}},'dropped':{'duplicate':0,'late':0,"
	    "'unknown_step':0,'unknown_domain':0,'not_a_number':0,'malformed':0}},"
	    "{'run':'main','configured':true,'steps':31,'step_first':32,'step_last':33,"
	    "'world':34,'all':{'loss':2.5,'excess':0.25,'tokens':42},"
	    "'domains':{'code':{'loss':2.25,'excess':0.125,'tokens':41},"
	    "'longest':{'loss':2.75,'excess':0.375,'tokens':43}},'dropped':{'duplicate':2,"
	    "'late':3,'unknown_step':4,'unknown_domain':9,'not_a_number':10,"
	    "'malformed':5}},{'run':'tune','configured':false,'steps':35,'step_first':36,"
	    "'step_last':37,'world':38,'all':{'loss':1.5,'excess':0.5,'tokens':44},"
	    "'domains':{'web':{'loss':1.25,'excess':0.625,'tokens':44}},"
	    "'dropped':{'duplicate':0,'late':0,'unknown_step':0,'unknown_domain':0,"
	    "'not_a_number':0,'malformed':0}}]},'domains':[{'name':'code',"
	    "'configured':true,'mixed':true,'live':false,'weight':1.5,'intended':0.25,"
	    "'realised':0.26,'target':0.27,'deviation':-0.75,'state':'active','dry':false,"
	    "'owed':0,'taken':101,'tokens':103,'epoch':102,'position':104,"
	    "'sealed_length':205,'sequences':205,'remaining':101,'partitions':1,"
	    "'partitions_sealed':1,'mixer_commit':107,'loss':2.25},{'name':'web',"
	    "'configured':true,'mixed':true,'live':true,'weight':2.5,'intended':0.75,"
	    "'realised':0.74,'target':0.73,'deviation':1.5,'state':'joining','dry':true,"
	    "'owed':9,'taken':111,'tokens':113,'epoch':0,'position':114,"
	    "'sealed_length':null,'sequences':216,'remaining':102,'partitions':4,"
	    "'partitions_sealed':3,'mixer_commit':null,'loss':null},{'name':'longest',"
	    "'configured':false,'mixed':true,'live':false,'weight':3.5,'intended':0.0,"
	    "'realised':0.0,'target':null,'deviation':null,'state':'left','dry':false,"
	    "'owed':0,'taken':121,'tokens':123,'epoch':122,'position':124,"
	    "'sealed_length':null,'sequences':0,'remaining':null,'partitions':0,"
	    "'partitions_sealed':0,'mixer_commit':127,'loss':2.75}],"
	    "'topics':[{'name':'demo.code','exists':true,'partitions':30,"
	    "'partitions_wanted':1,'problem':'p0'},{'name':'demo.web','exists':false,"
	    "'partitions':31,'partitions_wanted':4,'problem':'p1'},{'name':'demo.rejects',"
	    "'exists':true,'partitions':32,'partitions_wanted':1,'problem':'p2'},"
	    "{'name':'pre.batches','exists':false,'partitions':33,'partitions_wanted':4,"
	    "'problem':'p3'},{'name':'pre.ledger','exists':true,'partitions':34,"
	    "'partitions_wanted':1,'problem':'p4'},{'name':'pre.control','exists':false,"
	    "'partitions':35,'partitions_wanted':1,'problem':'p5'},{'name':'pre.feedback',"
	    "'exists':true,'partitions':36,'partitions_wanted':1,'problem':'p6'}],"
	    "'rejects':17,'arrivals_foreign':18,'problems':['the first','the second'],"
	    "'problem_list':[{'code':'STATUS-ONE','text':'the first'},{'code':'STATUS-TWO',"
	    "'text':'the second'}],'problems_more':25,'headline':'2 problems'}");
	full_status_end(&st);
}

/* The same status without most of its facts. */
static struct status
bare(enum status_state state)
{
	struct status st = full_status(state);

	st.domains_n = st.runs_n = st.feedback_n = st.ledger.pending_n = st.ends_n = 0;
	st.plan->n = st.problems_n = st.problems_more = 0;
	st.mixers_known = st.batches_kept = false;
	st.rate_ms = st.rejects = 0;
	st.next_phase_step = st.first_end = -1;
	st.step_limit = UINT64_MAX;
	st.ledger.global_batch = 0;
	st.ledger.lr_scale = 1;
	st.arrivals_foreign = -1;
	return st;
}

static void
test_what_is_not_known_is_null_or_left_out(void **unused)
{
	struct printed p;
	struct status st = bare(STATUS_NO_MIX);

	(void)unused;
	status_print_table(&st, printed_begin(&p));
	printed_is(&p, "health   2 problems\n"
		       "corpus   demo\n"
		       "\n"
		       "DOMAIN    SEQUENCES   SEALED\n");
	assert_int_equal(status_print_json(&st, printed_begin(&p), false, &f), FAIL_NONE);
	printed_json_is(&p, "{'corpus':'demo','now_ms':1000000,'mix':null,'domains':[],'topics':[],"
			    "'rejects':0,'arrivals_foreign':null,'problems':[],'problem_list':[],"
			    "'problems_more':0,'headline':'2 problems'}");
	full_status_end(&st);
	st = bare(STATUS_NOT_STARTED);
	status_print_table(&st, printed_begin(&p));
	printed_is(&p,
	    "health   2 problems\n"
	    "corpus   demo\n"
	    "mix      pre, not started\n"
	    "step     16 sequences of 128 tokens on 4 lanes\n"
	    "\n"
	    "RUN         STEP          LAG      MAY LAG\n"
	    "\n"
	    "DOMAIN    SEQUENCES   SEALED   WEIGHT    INTENDED      TARGET    REALISED    "
	    "OFF        TAKEN  EPOCH     POSITION\n");
	assert_int_equal(status_print_json(&st, printed_begin(&p), false, &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'corpus':'demo','now_ms':1000000,'mix':{'name':'pre','state':'not started',"
	    "'lanes':4,'global_batch':16,'sequence_length':128,'max_lead_steps':20,"
	    "'step_next':69,'draws':1201,'step_limit':null,'step_kept':null,"
	    "'lanes_behind':[],'lanes_ahead':[],'ledger_offset':null,'written_ms':null,"
	    "'age_ms':null,'schedule':null,'tokenizer':null,'choices':null,"
	    "'quarantined':14,'mixers':null,'weights':null,'next_phase':null,"
	    "'first_end':null,'deviation_promised':2,'tokens':22,'pending':[],'skips':13,"
	    "'rates':null,'runs':[],'losses':[]},'domains':[],'topics':[],'rejects':0,"
	    "'arrivals_foreign':null,'problems':[],'problem_list':[],'problems_more':0,"
	    "'headline':'2 problems'}");
	full_status_end(&st);
	st = bare(STATUS_STARTED);
	status_print_table(&st, printed_begin(&p));
	printed_is(&p,
	    "health   2 problems\n"
	    "corpus   demo\n"
	    "mix      pre, started; whether a mixer runs is not known\n"
	    "step     16 sequences of 128 tokens on 4 lanes\n"
	    "next     step 69\n"
	    "weights  version 11 since step 12, by request r7; phase warm\n"
	    "written  12 s ago\n"
	    "\n"
	    "RUN         STEP          LAG      MAY LAG\n"
	    "\n"
	    "DOMAIN    SEQUENCES   SEALED   WEIGHT    INTENDED      TARGET    REALISED    "
	    "OFF        TAKEN  EPOCH     POSITION\n");
	assert_int_equal(status_print_json(&st, printed_begin(&p), false, &f), FAIL_NONE);
	printed_json_is(&p,
	    "{'corpus':'demo','now_ms':1000000,'mix':{'name':'pre','state':'unknown',"
	    "'lanes':4,'global_batch':16,'sequence_length':128,'max_lead_steps':20,"
	    "'step_next':69,'draws':1201,'step_limit':null,'step_kept':null,"
	    "'lanes_behind':[],'lanes_ahead':[],'ledger_offset':15,'written_ms':988000,"
	    "'age_ms':12000,'schedule':'000000000000000a','tokenizer':'000000000000000b',"
	    "'choices':'000000000000000c','quarantined':14,'mixers':null,"
	    "'weights':{'version':11,'since_step':12,'reason':'request','reason_id':'r7',"
	    "'phase':'warm','lr_scale':1.0,'temperature':2.0},'next_phase':null,"
	    "'first_end':null,'deviation_promised':2,'tokens':22,'pending':[],'skips':13,"
	    "'rates':null,'runs':[],'losses':[]},'domains':[],'topics':[],'rejects':0,"
	    "'arrivals_foreign':null,'problems':[],'problem_list':[],'problems_more':0,"
	    "'headline':'2 problems'}");
	full_status_end(&st);
	st = bare(STATUS_ENDED);
	st.mixers_known = true;
	status_print_table(&st, printed_begin(&p));
	printed_is(&p,
	    "health   2 problems\n"
	    "corpus   demo\n"
	    "mix      pre, ended\n"
	    "step     16 sequences of 128 tokens on 4 lanes\n"
	    "next     step 69\n"
	    "weights  version 11 since step 12, by request r7; phase warm\n"
	    "written  12 s ago\n"
	    "\n"
	    "RUN         STEP          LAG      MAY LAG\n"
	    "\n"
	    "DOMAIN    SEQUENCES   SEALED   WEIGHT    INTENDED      TARGET    REALISED    "
	    "OFF        TAKEN  EPOCH     POSITION\n");
	full_status_end(&st);
}

/* No mixer, one, or several, and only standbys. */
static void
test_active_mixers_come_before_standbys(void **unused)
{
	static const struct {
		size_t n;
		bool standby[3];
		const char *text;
	} rows[] = {
	    {0, {false}, "mixers   none runs\n"},
	    {1, {false}, "mixers   active a\n"},
	    {1, {true}, "mixers   standby a\n"},
	    {2, {true, true}, "mixers   standby a, b\n"},
	    {2, {false, true}, "mixers   active a; standby b\n"},
	    {2, {false, false}, "mixers   active a, b (one works at most"},
	    {3, {false, true, true}, "mixers   active a; standby b, c\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct status st = bare(STATUS_STARTED);
		struct printed p;

		st.mixers_known = true;
		st.mixers_n = rows[i].n;
		for (size_t k = 0; k < rows[i].n; k++) {
			st.mixer[k].standby = rows[i].standby[k];
			snprintf(st.mixer[k].host, sizeof(st.mixer[k].host), "%c", (char)('a' + k));
		}
		status_print_table(&st, printed_begin(&p));
		printed_end(&p);
		assert_non_null(strstr(p.text, rows[i].text));
		free(p.text);
		full_status_end(&st);
	}
}

static void
test_rates_have_three_figures_and_a_unit(void **unused)
{
	static const struct {
		double rate;
		const char *text;
	} rows[] = {
	    {0, "rates    0 steps/s"},
	    {0.5, "rates    0.5 steps/s"},
	    {999, "rates    999 steps/s"},
	    {1000, "rates    1 k steps/s"},
	    {1234567, "rates    1.23 M steps/s"},
	    {1e9, "rates    1 G steps/s"},
	    {5e12, "rates    5 T steps/s"},
	    {5e15, "rates    5e+03 T steps/s"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct status st = bare(STATUS_STARTED);
		struct printed p;

		st.rate_ms = 1;
		st.steps_per_s = rows[i].rate;
		status_print_table(&st, printed_begin(&p));
		printed_end(&p);
		assert_non_null(strstr(p.text, rows[i].text));
		free(p.text);
		full_status_end(&st);
	}
}

/* A status of one domain alone, which is web's with what `d` changes. */
static void
print_domain(struct status_domain d, bool json, struct printed *p)
{
	struct status st = bare(STATUS_STARTED);

	st.domain = &d;
	st.domains_n = 1;
	if (json)
		assert_int_equal(status_print_json(&st, printed_begin(p), true, &f), FAIL_NONE);
	else
		status_print_table(&st, printed_begin(p));
	printed_end(p);
	full_status_end(&st);
}

/*
 * A sealed or reopened domain is shown as such, whether it was live or not. If a domain that is
 * not live has several partitions, the column says how many are sealed.
 */
static void
test_the_column_sealed_says_what_can_still_come(void **unused)
{
	static const struct {
		const char *text;
		size_t partitions, sealed;
		int64_t sequences, sealed_length;
		bool live, dry;
	} rows[] = {
	    {"yes", 1, 1, 10, 10, false, false},
	    {"yes", 4, 4, 10, 10, false, false},
	    {"yes", 4, 4, 10, 10, true, false},
	    {"yes", 1, 1, 10, 10, true, true},
	    {"yes", 1, 1, 0, 0, false, false},
	    {"reopened", 1, 1, 11, 10, false, false},
	    {"reopened", 4, 4, 11, 10, true, false},
	    {"reopened", 4, 4, 11, 10, true, true},
	    {"live", 1, 0, 10, -1, true, false},
	    {"live", 4, 3, 10, -1, true, false},
	    {"live dry", 1, 0, 10, -1, true, true},
	    {"live dry", 4, 3, 10, -1, true, true},
	    {"no", 1, 0, 10, -1, false, false},
	    {"0 of 4", 4, 0, 10, -1, false, false},
	    {"3 of 4", 4, 3, 10, -1, false, false},
	    {"no topic", 0, 0, 0, -1, false, false},
	    {"no topic", 0, 0, 0, -1, true, true},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct status_domain d = domains[1];
		struct printed p;
		char line[128];

		d.partitions_n = rows[i].partitions;
		d.partitions_sealed = rows[i].sealed;
		d.sequences = rows[i].sequences;
		d.sealed_length = rows[i].sealed_length;
		d.live = rows[i].live;
		d.dry = rows[i].dry;
		print_domain(d, false, &p);
		snprintf(line, sizeof(line), "\nweb    %12d %8s      2.5 ", (int)d.sequences,
		    rows[i].text);
		assert_non_null(strstr(p.text, line));
		free(p.text);
	}
}

/* Whether a topic is asked about depends on both the file and the ledger. */
static void
test_a_domain_is_marked_by_what_the_mix_does_with_it(void **unused)
{
	static const struct {
		const char *claim;
		enum ledger_domain_state state;
		int configured, mixed;
		const char *before, *mark; /* SEQUENCES and SEALED; the end of the line */
	} rows[] = {
	    {"drawn", LEDGER_ACTIVE, 1, 0, "         216 no topic", " 114\n"},
	    {"ended", LEDGER_DROPPED, 1, 0, "         216 no topic", " 114  dropped\n"},
	    {"joins", LEDGER_JOINING, 1, 0, "         216 no topic", " 114  joining\n"},
	    {"left, still in the file", LEDGER_LEFT, 1, 0, "         216 no topic", " 114  left\n"},
	    {"left", LEDGER_LEFT, -1, 0, "           -        -", " 114  left\n"},
	    {"only drawn", LEDGER_ACTIVE, -1, 0, "         216 no topic", " 114\n"},
	    {"only in the file", LEDGER_DROPPED, 1, -1, "         216 no topic", " 114\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, claim) {
		struct status_domain d = domains[1];
		struct printed p;
		char line[64];

		d.partitions_n = d.partitions_sealed = 0;
		d.state = rows[i].state;
		d.configured = rows[i].configured;
		d.mixed = rows[i].mixed;
		print_domain(d, false, &p);
		snprintf(line, sizeof(line), "\nweb    %s      2.5 ", rows[i].before);
		assert_non_null(strstr(p.text, line));
		assert_non_null(strstr(p.text, rows[i].mark));
		free(p.text);
	}
}

static void
test_a_deviation_has_a_sign_unless_it_rounds_to_none(void **unused)
{
	static const struct {
		double deviation;
		const char *text;
	} rows[] = {
	    {0, "  +0.00 "},
	    {-0.004, "  +0.00 "},
	    {0.004, "  +0.00 "},
	    {-0.006, "  -0.01 "},
	    {0.006, "  +0.01 "},
	    {-1.5, "  -1.50 "},
	    {12.25, " +12.25 "},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct status_domain d = domains[1];
		struct printed p;

		d.deviation = rows[i].deviation;
		print_domain(d, false, &p);
		assert_non_null(strstr(p.text, "  74.000000%"));
		assert_non_null(strstr(p.text, rows[i].text));
		free(p.text);
	}
}

/* An unknown number is null; 0 is a known number. */
static void
test_numbers_of_a_domain_are_null_where_they_are_not_known(void **unused)
{
	static const struct {
		const char *text;
		double target;
		int64_t sealed_length, mixer_commit;
	} rows[] = {
	    {"\"target\":null,\"deviation\":null", NAN, 0, 0},
	    {"\"target\":0.0,\"deviation\":0.0", 0, 0, 0},
	    {"\"sealed_length\":null", 0, -1, 0},
	    {"\"sealed_length\":0,", 0, 0, -1},
	    {"\"mixer_commit\":null", 0, 0, -1},
	    {"\"mixer_commit\":0,", 0, -1, 0},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, text) {
		struct status_domain d = domains[1];
		struct printed p;

		d.target = d.deviation = rows[i].target;
		d.sealed_length = rows[i].sealed_length;
		d.mixer_commit = rows[i].mixer_commit;
		print_domain(d, true, &p);
		assert_non_null(strstr(p.text, rows[i].text));
		free(p.text);
	}
}

static bool
takes_config(const char *command)
{
	return command != NULL;
}

static void
test_the_command_that_lists_rejects_can_be_copied(void **unused)
{
	struct status st = full_status(STATUS_STARTED);
	struct printed p;

	(void)unused;
	hints_set_takes(takes_config);
	hints_set("run.yml", NULL, 0, NULL);
	status_print_table(&st, printed_begin(&p));
	hints_set_takes(NULL);
	printed_end(&p);
	assert_non_null(
	    strstr(p.text, "\nrejects  17 at most; `riffle rejects -c run.yml` lists them\n"));
	free(p.text);
	full_status_end(&st);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_table_has_each_field_in_its_place),
	    cmocka_unit_test(test_runs_have_each_field_in_its_place),
	    cmocka_unit_test(test_the_lanes_of_a_run_are_listed_if_it_stops_for_some_of_them),
	    cmocka_unit_test(test_json_has_each_field_in_its_place),
	    cmocka_unit_test(test_what_is_not_known_is_null_or_left_out),
	    cmocka_unit_test(test_active_mixers_come_before_standbys),
	    cmocka_unit_test(test_rates_have_three_figures_and_a_unit),
	    cmocka_unit_test(test_the_column_sealed_says_what_can_still_come),
	    cmocka_unit_test(test_a_domain_is_marked_by_what_the_mix_does_with_it),
	    cmocka_unit_test(test_a_deviation_has_a_sign_unless_it_rounds_to_none),
	    cmocka_unit_test(test_numbers_of_a_domain_are_null_where_they_are_not_known),
	    cmocka_unit_test(test_the_command_that_lists_rejects_can_be_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
