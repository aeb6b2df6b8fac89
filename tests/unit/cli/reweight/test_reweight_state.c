/* reweight_state.h: what a run has saved is what the next one has; no broker. */
#include "cli/reweight/reweight_state.h"
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/folder.h"
#include "tests/unit/printed.h"

enum { DOMAINS = 2 };

static char *names[] = {(char[]){"code"}, (char[]){"web"}};
static struct config_domain configured[DOMAINS] = {{.name = "code"}, {.name = "web"}};
static const struct config config = {.domains_n = DOMAINS, .domains = configured};
static struct failure f;

static struct reweight_job
opened(const struct reweight_job_arguments *a)
{
	static const double floor[DOMAINS], ceiling[DOMAINS] = {1, 1};
	const struct reweight_options o = {.method = a->method,
	    .floor = floor,
	    .ceiling = ceiling,
	    .domains_n = DOMAINS,
	    .eta = a->eta,
	    .smoothing = a->smoothing,
	    .memory = a->memory};
	struct reweight_job job = {.a = a,
	    .config = &config,
	    .domain = names,
	    .domains_n = DOMAINS,
	    .learner = calloc(1, sizeof(struct reweight)),
	    .id = "0000000000000000"};

	assert_non_null(job.learner);
	reweight_init(job.learner, &o);
	return job;
}

static struct reweight_job_arguments
arguments(enum reweight_method method)
{
	static char out[1024]; /* folder_path() uses its texts again */

	snprintf(out, sizeof(out), "%s", folder_path("out.json"));
	return (struct reweight_job_arguments){.mix = "pre",
	    .run = "trainers",
	    .out = out,
	    .method = method,
	    .eta = 0.1,
	    .smoothing = 1e-3,
	    .memory = 0.9};
}

/* Sums that no short decimal fraction is equal to; an excess where `excess`. */
static void
learn(struct reweight_job *job, int64_t step, bool excess)
{
	const struct losses_sum sum[DOMAINS] = {
	    {.loss_sum = 10.0 / 3, .excess_sum = excess ? 1.0 / 7 : 0, .tokens = 11},
	    {.loss_sum = 20.0 / 7, .excess_sum = excess ? 2.0 / 3 : 0, .tokens = 13}};

	reweight_step(job->learner, &(struct losses_step){.step = step, .world = 1, .sum = sum});
}

static void
check_same_learner(const struct reweight *a, const struct reweight *b)
{
	enum { BYTES = DOMAINS * sizeof(double) };

	assert_int_equal(reweight_steps(a), reweight_steps(b));
	assert_int_equal(a->excess_seen, b->excess_seen);
	if (a->method == REWEIGHT_DOREMI) {
		assert_memory_equal(a->of.doremi.weight, b->of.doremi.weight, BYTES);
		assert_memory_equal(a->of.doremi.excess, b->of.doremi.excess, BYTES);
		assert_memory_equal(a->of.doremi.average, b->of.doremi.average, BYTES);
	} else {
		assert_memory_equal(a->of.odm.weight, b->of.odm.weight, BYTES);
		assert_memory_equal(a->of.odm.reward, b->of.odm.reward, BYTES);
	}
}

static void
test_what_was_saved_is_what_the_next_run_has(void **unused)
{
	(void)unused;
	for (int k = 0; k < 4; k++) {
		struct reweight_job_arguments a = arguments(k < 2 ? REWEIGHT_DOREMI : REWEIGHT_ODM);
		struct reweight_job was = opened(&a), is = opened(&a);
		bool found;

		snprintf(was.id, sizeof(was.id), "9f0c9f0c9f0c9f0%u", (unsigned)k % 10);
		for (int64_t step = 0; step < 5; step++)
			learn(&was, step, k % 2 == 1);
		was.offset_next = 101;
		was.offset_counted = 102;
		was.step_next = 5;
		was.asked = 4;
		was.refused = 3;
		was.counts = (struct losses_counts){.reports = 11,
		    .duplicate = 12,
		    .late = 13,
		    .unknown_step = 14,
		    .malformed = 15,
		    .other_run = 16,
		    .replaced = 17,
		    .incomplete = 18,
		    .unknown_domain = 19,
		    .not_a_number = 20};
		assert_int_equal(reweight_state_save(&was, &f), FAIL_NONE);
		assert_int_equal(reweight_state_load(&is, &found, &f), FAIL_NONE);
		assert_true(found);
		assert_string_equal(is.id, was.id);
		assert_int_equal(is.offset_next, was.offset_next);
		assert_int_equal(is.offset_counted, was.offset_counted);
		assert_int_equal(is.step_next, was.step_next);
		assert_int_equal(is.asked, was.asked);
		assert_int_equal(is.refused, was.refused);
		assert_memory_equal(&is.counts, &was.counts, sizeof(is.counts));
		check_same_learner(is.learner, was.learner);
		for (int64_t step = 5; step < 9; step++) { /* and it goes on with the same bits */
			learn(&was, step, false);
			learn(&is, step, false);
		}
		check_same_learner(is.learner, was.learner);
		free(was.learner);
		free(is.learner);
	}
}

/* The failure is FOLDER/out.json.state and this, with `what` in it. */
static void
says(const char *format, const char *what)
{
	char rest[256], whole[1024];

	snprintf(rest, sizeof(rest), format, what);
	snprintf(whole, sizeof(whole), "%s%s", folder_path("out.json.state"), rest);
	assert_string_equal(f.text, whole);
}

static void
test_a_state_of_another_learning_is_refused(void **unused)
{
	static const char *const what[] = {
	    "another mix", "another run", "another method", "another --eta", "another --smoothing"};
	struct reweight_job_arguments a = arguments(REWEIGHT_DOREMI);
	struct reweight_job was = opened(&a);

	(void)unused;
	learn(&was, 0, true);
	assert_int_equal(reweight_state_save(&was, &f), FAIL_NONE);
	EACH_ROW(i, what) {
		struct reweight_job_arguments other = arguments(REWEIGHT_DOREMI);
		struct reweight_job is;
		bool found;

		other.mix = i == 0 ? "post" : other.mix;
		other.run = i == 1 ? "eval" : other.run;
		other.method = i == 2 ? REWEIGHT_ODM : other.method;
		other.eta = i == 3 ? 0.2 : other.eta;
		other.smoothing = i == 4 ? 1e-2 : other.smoothing;
		is = opened(&other);
		assert_int_equal(reweight_state_load(&is, &found, &f), FAIL_CONFIG);
		says(" is of %s: name another --out, or start over with --anew", what[i]);
		free(is.learner);
	}
	free(was.learner);
	a = arguments(REWEIGHT_ODM);
	was = opened(&a);
	assert_int_equal(reweight_state_save(&was, &f), FAIL_NONE);
	a.smoothing = 0.5; /* which is not of this method */
	assert_int_equal(reweight_state_load(&was, &(bool){false}, &f), FAIL_NONE);
	a.memory = 0.5;
	assert_int_equal(reweight_state_load(&was, &(bool){false}, &f), FAIL_CONFIG);
	says(" is of %s: name another --out, or start over with --anew", "another --memory");
	free(was.learner);
}

static void
file_is(const char *name, const char *expected)
{
	struct printed p;
	json_t *o = json_load_file(folder_path(name), 0, NULL);

	assert_non_null(o);
	json_dumpf(o, printed_begin(&p), JSON_PRESERVE_ORDER);
	printed_json_is(&p, expected);
	json_decref(o);
}

/* Later programs read these keys, and `mix.weights` the result. */
static void
test_both_files_have_each_value_in_its_place(void **unused)
{
	static struct config_domain more[] = {
	    {.name = "code"}, {.name = "papers"}, {.name = "web"}};
	static const struct config with_more = {.domains_n = 3, .domains = more};
	struct reweight_job_arguments a = arguments(REWEIGHT_DOREMI);
	struct reweight_job job = opened(&a);

	(void)unused;
	job.config = &with_more; /* a domain that is not learned has no weight */
	job.offset_next = 1;
	job.offset_counted = 2;
	job.step_next = 3;
	job.asked = 4;
	job.refused = 5;
	job.counts = (struct losses_counts){11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
	job.learner->of.doremi.steps = 1;
	job.learner->excess_seen = true;
	for (size_t i = 0; i < DOMAINS; i++) {
		job.learner->of.doremi.weight[i] = i == 0 ? 0.25 : 0.75;
		job.learner->of.doremi.excess[i] = 6.5 + (double)i;
		job.learner->of.doremi.average[i] = i == 0 ? 0.125 : 0.875;
	}
	assert_int_equal(reweight_state_save(&job, &f), FAIL_NONE);
	file_is("out.json", "{'code':0.125,'papers':0.0,'web':0.875}");
	file_is("out.json.state",
	    "{'reweight':1,'id':'0000000000000000','mix':'pre','run':'trainers','method':'doremi','"
	    "eta':0.1,'parameter':0.001,'offset_next':1,'offset_counted':2,'step_next':3,'steps':1,"
	    "'asked':4,'refused':5,'excess_seen':true,'domains':{'code':{'weight':0.25,'memory':6."
	    "5,'average':0.125},'web':{'weight':0.75,'memory':7.5,'average':0.875}},'dropped':{'"
	    "reports':11,'duplicate':12,'late':13,'unknown_step':14,'unknown_domain':19,'not_a_"
	    "number':20,'malformed':15,'other_run':16,'replaced':17,'incomplete':18}}");
	assert_int_not_equal(access(folder_path("out.json.new"), F_OK), 0);
	free(job.learner);
	a = arguments(REWEIGHT_ODM);
	job = opened(&a);
	assert_int_equal(reweight_state_save(&job, &f), FAIL_NONE);
	file_is("out.json", "{'code':0.5,'web':0.5}");
	file_is("out.json.state",
	    "{'reweight':1,'id':'0000000000000000','mix':'pre','run':'trainers','method':'odm','"
	    "eta':0.1,'parameter':0.9,'offset_next':0,'offset_counted':0,'step_next':0,'steps':0,'"
	    "asked':0,'refused':0,'excess_seen':false,'domains':{'code':{'weight':0.5,'memory':0.0}"
	    ",'web':{'weight':0.5,'memory':0.0}},'dropped':{'reports':0,'duplicate':0,'late':0,'"
	    "unknown_step':0,'unknown_domain':0,'not_a_number':0,'malformed':0,'other_run':0,'"
	    "replaced':0,'incomplete':0}}");
	free(job.learner);
}

/* Saves a state and puts `value` (JSON; NULL: nothing) in the place of object.key. */
static void
save_with(const struct reweight_job *job, const char *object, const char *key, const char *value)
{
	json_t *o, *in;

	assert_int_equal(reweight_state_save(job, &f), FAIL_NONE);
	o = json_load_file(folder_path("out.json.state"), 0, NULL);
	in = *object == '\0' ? o : json_object_get(o, object);
	in = strcmp(object, "web") == 0 ? json_object_get(json_object_get(o, "domains"), object)
					: in;
	assert_non_null(in);
	if (value == NULL)
		json_object_del(in, key);
	else
		json_object_set_new(in, key, json_loads(value, JSON_DECODE_ANY, NULL));
	assert_int_equal(json_dump_file(o, folder_path("out.json.state"), 0), 0);
	json_decref(o);
}

#define DAMAGED " is damaged: remove it, or start over with --anew"
#define OTHERS                                                                                     \
	" is of other domains than mix pre has: name another --out, or start over with --anew"

static void
test_a_damaged_state_is_refused(void **unused)
{
	static const struct {
		const char *object, *key, *value; /* the value is replaced; NULL: it is missing */
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {"", "offset_next", "0", FAIL_NONE, ""},
	    {"", "offset_next", "9007199254740992", FAIL_NONE, ""},
	    {"", "offset_next", "9007199254740994", FAIL_DATA, DAMAGED},
	    {"", "offset_next", "-1", FAIL_DATA, DAMAGED},
	    {"", "offset_next", "1.5", FAIL_DATA, DAMAGED},
	    {"", "offset_next", "\"1\"", FAIL_DATA, DAMAGED},
	    {"", "offset_next", NULL, FAIL_DATA, DAMAGED},
	    {"", "offset_counted", NULL, FAIL_DATA, DAMAGED},
	    {"", "step_next", NULL, FAIL_DATA, DAMAGED},
	    {"", "steps", NULL, FAIL_DATA, DAMAGED},
	    {"", "asked", NULL, FAIL_DATA, DAMAGED},
	    {"", "refused", NULL, FAIL_DATA, DAMAGED},
	    {"", "dropped", NULL, FAIL_DATA, DAMAGED},
	    {"dropped", "reports", NULL, FAIL_DATA, DAMAGED},
	    {"dropped", "incomplete", "-1", FAIL_DATA, DAMAGED},
	    {"", "id", "\"00000000000000000\"", FAIL_DATA, DAMAGED},
	    {"", "id", "\"000000000000000\"", FAIL_DATA, DAMAGED},
	    {"", "id", NULL, FAIL_DATA, DAMAGED},
	    {"", "mix", NULL, FAIL_CONFIG,
		" is of another mix: name another --out, or start over with --anew"},
	    {"", "domains", NULL, FAIL_CONFIG, OTHERS},
	    {"domains", "web", NULL, FAIL_CONFIG, OTHERS},
	    {"domains", "books", "{}", FAIL_CONFIG, OTHERS},
	    {"domains", "web", "{\"weight\": 1, \"memory\": 1}", FAIL_CONFIG, OTHERS},
	    {"web", "weight", "\"1\"", FAIL_CONFIG, OTHERS},
	    {"web", "memory", NULL, FAIL_CONFIG, OTHERS},
	    {"web", "average", NULL, FAIL_CONFIG, OTHERS},
	};
	struct reweight_job_arguments a = arguments(REWEIGHT_DOREMI);
	struct reweight_job job = opened(&a);

	(void)unused;
	EACH_NAMED_ROW(i, rows, key) {
		struct reweight_job is = opened(&a);
		bool found = false;

		save_with(&job, rows[i].object, rows[i].key, rows[i].value);
		assert_int_equal(reweight_state_load(&is, &found, &f), rows[i].code);
		assert_true(found);
		if (rows[i].code != FAIL_NONE)
			says("%s", rows[i].says);
		free(is.learner);
	}
	folder_text("out.json.state", "{");
	assert_int_equal(reweight_state_load(&job, &(bool){false}, &f), FAIL_CONFIG);
	assert_memory_equal(f.text, "reading ", 8);
	free(job.learner);
}

/* What cannot be written leaves nothing behind. */
static void
test_what_cannot_be_written_is_a_failure(void **unused)
{
	struct reweight_job_arguments a = arguments(REWEIGHT_ODM);
	struct reweight_job job = opened(&a);
	char expected[2048];

	(void)unused;
	a.out = folder;
	assert_int_equal(reweight_state_save(&job, &f), FAIL_CONFIG);
	snprintf(expected, sizeof(expected),
	    "cannot write %s: it is no regular file, and --out is replaced whole; name a file",
	    folder);
	assert_string_equal(f.text, expected);
	a.out = "/none/out.json";
	assert_int_equal(reweight_state_save(&job, &f), FAIL_IO);
	assert_string_equal(f.text,
	    "writing /none/out.json.state (by way of /none/out.json.new): No such file or "
	    "directory");
	a = arguments(REWEIGHT_ODM);
	assert_int_equal(mkdir(folder_path("out.json.state"), 0700), 0);
	assert_int_equal(reweight_state_save(&job, &f), FAIL_IO);
	assert_non_null(strstr(f.text, "out.json.new): Is a directory"));
	assert_int_not_equal(access(folder_path("out.json.new"), F_OK), 0);
	assert_int_not_equal(access(folder_path("out.json"), F_OK), 0);
	free(job.learner);
}

static void
test_without_a_file_there_is_nothing_to_continue(void **unused)
{
	struct reweight_job_arguments a = arguments(REWEIGHT_ODM);
	struct reweight_job job = opened(&a);
	bool found = true;

	(void)unused;
	assert_int_equal(reweight_state_load(&job, &found, &f), FAIL_NONE);
	assert_false(found);
	free(job.learner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_what_was_saved_is_what_the_next_run_has, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_state_of_another_learning_is_refused, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_both_files_have_each_value_in_its_place, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_a_damaged_state_is_refused, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_what_cannot_be_written_is_a_failure, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_without_a_file_there_is_nothing_to_continue, folder_open, folder_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
