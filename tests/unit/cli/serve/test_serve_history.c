/*
 * serve_history.h: answers without its thread and without a broker. All values are distinct, and
 * the whole text is compared.
 */
#include "cli/serve/serve_history_internal.h"

#include "common/schedule/weights.h"
#include "tests/unit/printed.h"

static struct config config = {.corpus = (char[]){"demo"}, .mix = {.name = (char[]){"pre"}}};
static struct failure f;
static struct serve_history *h;

/* As serve_history_open() makes it, without a thread that would ask a broker. */
static void
open_history(void)
{
	h = calloc(1, sizeof(*h));
	assert_non_null(h);
	h->config = &config;
	h->offset = h->noted = h->first_time_ms = -1;
	assert_int_equal(serve_requests_open(&h->requests, &config, &f), FAIL_NONE);
	pthread_mutex_init(&h->thread.lock, NULL);
	pthread_cond_init(&h->thread.wake, NULL);
}

static void *
ended(void *unused)
{
	return unused;
}

static void
close_history(void)
{
	struct serve_requests *requests = h->requests;

	assert_int_equal(pthread_create(&h->thread.thread, NULL, ended, NULL), 0);
	h->thread.ended = true;
	serve_history_close(h);
	serve_requests_close(requests);
}

static char name_a[] = "code", name_b[] = "web";

/* A record after `step` steps. Every other field follows from that number. */
static struct ledger
record(int64_t step, size_t domains_n)
{
	static struct ledger_domain domain[2];

	for (uint32_t i = 0; i < 2; i++)
		domain[i] = (struct ledger_domain){.name = i == 0 ? name_a : name_b,
		    .index = i,
		    .weight = WEIGHT_ONE / 4 * (1 + 2 * i),
		    .credit = (i == 0 ? step : -step) * (int64_t)(WEIGHT_ONE / 64),
		    .taken = 10 * step + (int64_t)i,
		    .tokens = 100 * step + (int64_t)i};
	return (struct ledger){.step_next = step,
	    .draws = 1000 * step,
	    .version = step / 10,
	    .domain = domain,
	    .domains_n = domains_n};
}

static void
add_points(struct mix_history *to, int64_t from, int64_t end, int64_t by)
{
	for (int64_t step = from; step < end; step += by) {
		struct ledger l = record(step, step < 20 ? 1 : 2);

		assert_int_equal(
		    mix_history_add(to, &l, step, 5000 + step, 1, true, &f), FAIL_NONE);
	}
}

static void
add_version(int64_t version, int64_t step, const char *who)
{
	struct weight_history_version v = {.version = version,
	    .step = step,
	    .reason = version == 1 ? LEDGER_BY_PHASE : LEDGER_BY_REQUEST,
	    .reason_id = strdup(version == 1 ? "p" : "r"),
	    .phase = strdup(version == 1 ? "" : "p"),
	    .temperature = (double)version + 0.25,
	    .lr_scale = (double)version + 0.5,
	    .global_batch = (uint32_t)version + 60,
	    .domain = calloc(2, sizeof(*v.domain)),
	    .domains_n = 2};

	v.domain[0] = (struct weight_history_domain){strdup(name_a), 7, 0.125};
	v.domain[1] = (struct weight_history_domain){strdup(name_b), 8, 0.875};
	h->version = realloc(h->version, (h->versions_n + 1) * sizeof(*h->version));
	h->version[h->versions_n++] =
	    (struct version){.v = v, .who = who == NULL ? NULL : strdup(who)};
}

static void
add_losses(const char *run, int64_t from, int64_t end)
{
	struct losses *l = &h->losses[h->losses_n++];

	snprintf(l->run, sizeof(l->run), "%s", run);
	assert_int_equal(loss_history_open(&l->points, 2, &f), FAIL_NONE);
	for (int64_t step = from; step < end; step += 10) {
		double loss = 1000 - (double)step;
		struct losses_means all = {loss, 0, 1},
				    domain[] = {{loss + 0.25, 0, 1}, {loss + 0.5, 0, step == 30}};

		assert_true(loss_history_add(&l->points, step, &all, domain));
	}
}

/* A mix of 50 steps, known every 10; its second domain joined at 20. */
static void
fill(void)
{
	open_history();
	assert_int_equal(mix_history_open(&h->points, 1, &f), FAIL_NONE);
	add_points(&h->points, 0, 51, 10);
	add_version(1, 0, NULL);
	add_version(2, 20, "ann");
	add_version(3, 40, NULL);
	add_losses("main", 10, 50);
	add_losses("tune", 30, 40);
	h->name = calloc(2, sizeof(*h->name));
	h->name[0] = strdup(name_a);
	h->name[1] = strdup(name_b);
	h->names_n = 2;
	h->offset = 50;
	h->step_first = 1;
	h->step_next = 51;
}

static void
check(const struct serve_range *range, const struct part *part, bool complete, struct printed *p)
{
	struct serve_text *t = serve_history_print(h, range, part, complete);

	assert_non_null(t);
	fwrite(t->bytes, 1, t->n, printed_begin(p));
	serve_text_release(t);
}

static void
test_each_column_is_that_of_its_field(void **unused)
{
	struct printed p;

	(void)unused;
	fill();
	check(&(struct serve_range){.to = 100, .points = 100}, NULL, true, &p);
	printed_json_is(&p,
	    "{'mix':'pre','ledger_offset':50,'step_first':1,'step_next':51,'complete':true,"
	    "'error':null,'step':[0,10,20,30,40,50],'time_ms':[5000,5010,5020,5030,5040,"
	    "5050],'draws':[0,10000,20000,30000,40000,50000],'version':[0,1,2,3,4,5],"
	    "'domains':[{'name':'code','taken':[0,100,200,300,400,500],'tokens':[0,900,"
	    "1800,2700,3600,4500],'intended':[1,1,0.25,0.25,0.25,0.25],'deviation':[null,0,"
	    "-0.3125,-0.46875,-0.625,-0.78125]},{'name':'web','taken':[null,null,201,301,"
	    "401,501],'tokens':[null,null,1800,2700,3600,4500],'intended':[null,null,0.75,"
	    "0.75,0.75,0.75],'deviation':[null,null,0.3125,0.46875,0.625,0.78125]}],"
	    "'versions':[{'version':1,'step':0,'reason':'phase','reason_id':'p','who':null,"
	    "'phase':'','temperature':1.25,'lr_scale':1.5,'global_batch':61,"
	    "'shares':{'code':0.125,'web':0.875}},{'version':2,'step':20,"
	    "'reason':'request','reason_id':'r','who':'ann','phase':'p','temperature':2.25,"
	    "'lr_scale':2.5,'global_batch':62,'shares':{'code':0.125,'web':0.875}},"
	    "{'version':3,'step':40,'reason':'request','reason_id':'r','who':null,"
	    "'phase':'p','temperature':3.25,'lr_scale':3.5,'global_batch':63,"
	    "'shares':{'code':0.125,'web':0.875}}],'losses':[{'run':'main','step':[10,20,"
	    "30,40],'all':[990,980,970,960],'domains':{'code':[990.25,980.25,970.25,"
	    "960.25],'web':[null,null,970.5,null]}},{'run':'tune','step':[30],'all':[970],"
	    "'domains':{'code':[970.25],'web':[970.5]}}]}");
	close_history();
}

/* Versions in force in the range, losses from their own step on, points of the range. */
static void
test_a_range_has_what_was_in_force_in_it(void **unused)
{
	static const struct serve_range rows[] = {{10, 19, 100, 20}, {20, 20, 100, 21},
	    {21, 39, 100, 0}, {39, 40, 2, 40}, {60, 70, 9, 60}};
	struct printed p;
	FILE *to;

	(void)unused;
	fill();
	snprintf(h->why, sizeof(h->why), "unreadable");
	to = printed_begin(&p);
	EACH_ROW(i, rows) {
		struct serve_text *t = serve_history_print(h, &rows[i], NULL, false);
		json_t *all = json_loads(t->bytes, 0, NULL), *item;
		size_t k;

		fprintf(to, "%s:", json_string_value(json_object_get(all, "error")));
		json_array_foreach(json_object_get(all, "step"), k, item)
		    fprintf(to, " %d", (int)json_integer_value(item));
		fprintf(to, "; versions");
		json_array_foreach(json_object_get(all, "versions"), k, item)
		    fprintf(to, " %d", (int)json_integer_value(json_object_get(item, "version")));
		fprintf(to, "; losses");
		json_array_foreach(json_object_get(all, "losses"), k, item)
		    fprintf(to, " %zu", json_array_size(json_object_get(item, "step")));
		fprintf(to, "\n");
		json_decref(all);
		serve_text_release(t);
	}
	printed_is(&p, "unreadable: 10; versions 1; losses 3 1\n"
		       "unreadable: 20; versions 2; losses 2 1\n"
		       "unreadable: 30; versions 2; losses 4 1\n"
		       "unreadable: 40; versions 2 3; losses 1 0\n"
		       "unreadable:; versions 3; losses 0 0\n");
	close_history();
}

/* A range that is known more closely. Points of the whole mix only follow it. */
static void
test_points_of_a_part_come_before_those_of_the_whole_and_none_twice(void **unused)
{
	struct part part = {0};
	struct serve_text *t;
	json_t *all, *item;
	int64_t last = -1;
	size_t k, n;

	(void)unused;
	fill();
	assert_int_equal(mix_history_open(&part.points, 2, &f), FAIL_NONE);
	add_points(&part.points, 20, 31, 2); /* 30 is known of both */
	for (uint64_t points = 2; points < 30; points++) {
		const struct serve_range range = {20, 50, points, 0};

		last = -1;
		t = serve_history_print(h, &range, &part, true);
		assert_non_null(t);
		all = json_loads(t->bytes, 0, NULL);
		n = json_array_size(json_object_get(all, "step"));
		assert_true(n <= points);
		json_array_foreach(json_object_get(all, "step"), k, item)
		{
			int64_t step = json_integer_value(item);

			assert_true(step > last);
			last = step;
		}
		/* If all points fit, they are six of the part, and 40 and 50. */
		if (points >= 12)
			assert_int_equal(n, 8);
		json_decref(all);
		serve_text_release(t);
	}
	mix_history_close(&part.points);
	close_history();
}

/* ---- answers that are kept ---- */

static struct status
status_at(int64_t offset, uint64_t mixer, int64_t step)
{
	static struct status_domain domain[] = {{.name = "code"}, {.name = "web"}};
	struct status st = {.config = &config,
	    .ledger = record(step, 2),
	    .ledger_offset = offset,
	    .ledger_time_ms = 5000 + step,
	    .domain = domain,
	    .domains_n = 2};

	st.ledger.mixer = mixer;
	return st;
}

static void
note(int64_t offset, uint64_t mixer, int64_t step)
{
	struct status st = status_at(offset, mixer, step);

	serve_history_note(h, &st);
}

/* An answer is only reused for a range with the same four numbers. */
static void
test_an_answer_is_used_again_for_the_same_range_until_something_is_new(void **unused)
{
	static const struct serve_range base = {1, 90, 3, 5},
					rows[] = {{2, 90, 3, 5}, {1, 91, 3, 5}, {1, 90, 4, 5},
					    {1, 90, 3, 6}};
	struct serve_text *first, *other;

	(void)unused;
	open_history();
	note(3, 7, 10);
	EACH_ROW(i, rows) {
		first = serve_history_text(h, &base);
		other = serve_history_text(h, &base);
		assert_ptr_equal(first, other);
		serve_text_release(other);
		other = serve_history_text(h, &rows[i]);
		assert_true(other != first);
		serve_text_release(other);
		note(4 + (int64_t)i, 7, 11 + (int64_t)i); /* a new point */
		other = serve_history_text(h, &base);
		assert_true(other != first);
		serve_text_release(first);
		serve_text_release(other);
	}
	close_history();
}

/* The oldest range gives way to a new one. A text that is in use is not freed. */
static void
test_more_ranges_than_are_kept_take_turns(void **unused)
{
	struct serve_text *held[2 * SERVE_HISTORY_ANSWERS];

	(void)unused;
	open_history();
	note(3, 7, 10);
	for (size_t i = 0; i < 2 * SERVE_HISTORY_ANSWERS; i++)
		held[i] = serve_history_text(h, &(struct serve_range){i, 90, 3, 0});
	for (size_t i = 0; i < 2 * SERVE_HISTORY_ANSWERS; i++) {
		size_t kept = SERVE_HISTORY_ANSWERS + i % SERVE_HISTORY_ANSWERS;
		struct serve_text *t = serve_history_text(h, &(struct serve_range){kept, 90, 3, 0});

		assert_ptr_equal(t, held[kept]);
		serve_text_release(t);
		assert_non_null(strstr(held[i]->bytes, "\"mix\":"));
	}
	for (size_t i = 0; i < 2 * SERVE_HISTORY_ANSWERS; i++)
		serve_text_release(held[i]);
	close_history();
}

/* ---- which ledger it is ---- */

static void
test_a_ledger_that_was_recreated_leaves_nothing_of_the_one_before(void **unused)
{
	struct serve_text *t;

	(void)unused;
	fill();
	h->version_newest = h->version_known = 3;
	h->first_known = h->losses_known = h->looked = true;
	h->noted = 50;
	h->mixer = 7;
	note(50, 7, 50); /* the same record again */
	assert_true(h->versions_n == 3 && h->losses_n == 2 && h->first_known);
	note(51, 8, 51); /* another mixer: the first record is to be looked at again */
	assert_true(h->versions_n == 3 && !h->first_known && h->looked);
	h->first_known = true;
	note(52, 8, 52);
	assert_true(h->first_known);
	assert_int_equal(h->step_next, 52);
	note(4, 9, 5);
	assert_true(h->versions_n == 0 && h->losses_n == 0 && h->points.n == 1);
	assert_true(!h->first_known && !h->looked && !h->losses_known);
	assert_true(h->offset == 4 && h->step_next == 5 && h->version_known == 0);
	t = serve_history_text(h, &(struct serve_range){0, 90, 100, 0});
	assert_non_null(strstr(t->bytes, "\"complete\":false"));
	assert_non_null(strstr(t->bytes, "\"step\":[5]"));
	assert_non_null(strstr(t->bytes, "\"versions\":[],\"losses\":[]"));
	serve_text_release(t);
	close_history();
}

static void
test_losses_are_kept_by_run_and_begin_anew_with_other_domains(void **unused)
{
	struct losses_means all = {1, 2, 3}, domain[3] = {{4, 5, 6}, {7, 8, 9}, {1, 1, 1}};
	struct status_feedback b[] = {
	    {.run = "a", .steps = 1, .step_last = 5, .world = 2, .all = all, .domain = domain},
	    {.run = "none", .steps = 0, .step_last = 5, .all = all, .domain = domain},
	    {.run = "b", .steps = 1, .step_last = 6, .world = 4, .all = all, .domain = domain},
	    {.run = "c", .steps = 1, .step_last = 7, .world = 3, .all = all, .domain = domain},
	};
	struct status_domain domains[3] = {{.name = "code"}, {.name = "web"}, {.name = "new"}};
	struct status st = status_at(3, 7, 10);

	(void)unused;
	open_history();
	st.feedback = b;
	st.feedback_n = 4;
	for (int i = 0; i < 2; i++) /* the same reports again add nothing */
		serve_history_note(h, &st);
	assert_int_equal(h->losses_n, 3);
	assert_int_equal(h->world, 4);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(h->losses[i].points.n, 1);
		assert_int_equal(h->losses[i].points.domains_n, 2);
		assert_int_equal(h->losses[i].points.step[0], 5 + (int64_t)i);
	}
	b[0].step_last = 50;
	st.domain = domains;
	st.domains_n = 3;
	st.feedback_n = 1;
	serve_history_note(h, &st);
	assert_int_equal(h->names_n, 3);
	assert_string_equal(h->name[2], "new");
	assert_int_equal(h->losses_n, 3);
	for (size_t i = 0; i < 3; i++)
		if (strcmp(h->losses[i].run, "a") == 0) {
			assert_int_equal(h->losses[i].points.n, 1);
			assert_int_equal(h->losses[i].points.domains_n, 3);
			assert_int_equal(h->losses[i].points.step[0], 50);
		} else {
			assert_int_equal(h->losses[i].points.domains_n, 2);
		}
	close_history();
}

/* ---- ranges that are looked into more closely ---- */

/* A mix of which every thousandth step is known, and all gaps were looked into once. */
static void
fill_coarsely(void)
{
	open_history();
	assert_int_equal(mix_history_open(&h->points, 1, &f), FAIL_NONE);
	add_points(&h->points, 0, 10001, 1000);
	h->offset = h->noted = 10000;
	h->step_next = 10001;
	h->looked = true;
	h->first_known = h->losses_known = h->followed = true;
}

/* Asks for a range; whether its answer is complete. */
static bool
ask(uint64_t from, uint64_t to, uint64_t points)
{
	struct serve_text *t = serve_history_text(h, &(struct serve_range){from, to, points, 0});
	bool complete = strstr(t->bytes, "\"complete\":true") != NULL;

	serve_text_release(t);
	return complete;
}

static struct part *
place_of(uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < SERVE_HISTORY_PARTS; i++)
		if (h->part[i].points.n > 0 && h->part[i].range.from == from &&
		    h->part[i].range.to == to)
			return &h->part[i];
	return NULL;
}

/* The ranges that have a place, with how many had it before and since; "." for each free one. */
static void
places_are(const char *expected)
{
	struct printed p;
	FILE *to = printed_begin(&p);

	for (uint64_t from = 0; from <= 10000; from += 100)
		for (uint64_t end = from; end <= 10000; end += 100) {
			const struct part *x = place_of(from, end);

			if (x != NULL)
				fprintf(to, "%d-%d(%d) ", (int)from, (int)end, (int)x->number);
		}
	for (size_t i = 0; i < SERVE_HISTORY_PARTS; i++)
		fputs(h->part[i].points.n == 0 ? "." : "", to);
	printed_is(&p, expected);
}

static void
test_many_points_of_a_range_with_gaps_get_a_place_of_their_own(void **unused)
{
	(void)unused;
	fill_coarsely();
	h->looked = false; /* the whole comes first */
	assert_false(ask(1200, 1300, 64));
	places_are("....");
	h->looked = true;
	assert_true(ask(1200, 1300, 63)); /* what is known will do */
	places_are("....");
	assert_false(ask(1200, 1300, 64));
	places_are("1200-1300(1) ...");
	assert_false(ask(1200, 1300, 99)); /* it has one already */
	places_are("1200-1300(1) ...");
	assert_false(ask(1200, 1400, 64));
	assert_false(ask(1100, 1300, 64));
	assert_false(ask(5000, 6000, 512));
	places_are("1100-1300(1) 1200-1300(1) 1200-1400(1) 5000-6000(1) ");
	close_history();
}

static void
test_a_place_is_kept_for_ten_seconds_after_it_was_asked_for(void **unused)
{
	const struct serve_range late = {8000, 9000, 64, 0};
	struct serve_text *one, *other;
	const struct part *last;

	(void)unused;
	fill_coarsely();
	for (uint64_t i = 0; i < SERVE_HISTORY_PARTS; i++)
		assert_false(ask(1000 * i, 1000 * i + 900, 64));
	one = serve_history_text(h, &late); /* no place is free */
	other = serve_history_text(h, &late);
	assert_non_null(strstr(one->bytes, "\"complete\":false"));
	assert_ptr_not_equal(one, other); /* the next one may get more */
	serve_text_release(one);
	serve_text_release(other);
	places_are("0-900(1) 1000-1900(1) 2000-2900(1) 3000-3900(1) ");
	place_of(1000, 1900)->asked_ms -= 11000;
	place_of(2000, 2900)->asked_ms -= 12000;
	assert_false(ask(2000, 2900, 64)); /* it was asked for again */
	assert_false(ask(late.from, late.to, late.points));
	places_are("0-900(1) 2000-2900(1) 3000-3900(1) 8000-9000(2) ");
	last = place_of(late.from, late.to);
	note(4, 9, 5); /* another ledger */
	places_are("....");
	assert_int_equal(last->number, 3); /* a look that is under way belongs to nobody now */
	close_history();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_column_is_that_of_its_field),
	    cmocka_unit_test(test_a_range_has_what_was_in_force_in_it),
	    cmocka_unit_test(test_points_of_a_part_come_before_those_of_the_whole_and_none_twice),
	    cmocka_unit_test(
		test_an_answer_is_used_again_for_the_same_range_until_something_is_new),
	    cmocka_unit_test(test_more_ranges_than_are_kept_take_turns),
	    cmocka_unit_test(test_a_ledger_that_was_recreated_leaves_nothing_of_the_one_before),
	    cmocka_unit_test(test_losses_are_kept_by_run_and_begin_anew_with_other_domains),
	    cmocka_unit_test(test_many_points_of_a_range_with_gaps_get_a_place_of_their_own),
	    cmocka_unit_test(test_a_place_is_kept_for_ten_seconds_after_it_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
