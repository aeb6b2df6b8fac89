/*
 * run_commit.h: what is asked of the lanes, the search and the broker, in which order, and that
 * each failure ends it. The modules around it are replaced here, and write down each call.
 */
#include "consumer/admin/run_commit.h"

#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/batches/step_search.h"
#include "consumer/ledger/batch_topic.h"
#include "consumer/ledger/run_position.h"
#include "tests/unit/test.h"

enum { LANES = 3 };

static const struct lane_map map = {.lanes = LANES, .partitions = LANES};
static const struct ledger last = {.step_next = 9};
static const struct properties properties;
static const char *fails; /* the call that fails */
static char calls[1024];
static size_t calls_n;
static int opened;

__attribute__((format(printf, 2, 3))) static enum fail_code
call(struct failure *why, const char *format, ...)
{
	const char *at = calls + calls_n;
	va_list list;

	va_start(list, format);
	calls_n += (size_t)vsnprintf(calls + calls_n, sizeof(calls) - calls_n, format, list);
	va_end(list);
	assert_true(calls_n < sizeof(calls));
	if (fails != NULL && strncmp(at, fails, strlen(fails)) == 0)
		return fail(why, FAIL_BROKER, "%s fails", fails);
	return FAIL_NONE;
}

/* ---- in place of lanes.c, batch_topic.c, step_search.c, run_position.c, kafka*.c ---- */

enum fail_code
lanes_open(struct lanes **out, const struct lanes_options *o, struct failure *why)
{
	assert_ptr_equal(o->properties, &properties);
	if (call(why, "lanes %s %s %u/%u %d %zu\n", o->mix, o->group, o->rank, o->world,
		o->timeout_ms, o->ahead_bytes) != FAIL_NONE)
		return why->code;
	*out = (struct lanes *)calls;
	opened++;
	return FAIL_NONE;
}

void
lanes_close(struct lanes *l)
{
	opened -= l != NULL;
}

uint32_t
lanes_count(const struct lanes *l)
{
	(void)l;
	return LANES;
}

uint32_t
lanes_first(const struct lanes *l)
{
	(void)l;
	return 4;
}

const struct lane_map *
lanes_map(const struct lanes *l)
{
	(void)l;
	return &map;
}

enum fail_code
lanes_watermarks(struct lanes *l, int64_t *low, int64_t *high, int timeout_ms, struct failure *why)
{
	(void)l;
	for (int i = 0; i < LANES; i++) {
		low[i] = 10 + i;
		high[i] = 20 + i;
	}
	return call(why, "watermarks %d\n", timeout_ms);
}

enum fail_code
batch_topic_judge(const char *mix, const struct ledger *l, const struct lane_map *m, uint32_t first,
    const int64_t *high, uint32_t n, struct failure *why)
{
	assert_ptr_equal(l, &last);
	assert_ptr_equal(m, &map);
	assert_true(high[0] == 20 && high[1] == 21 && high[2] == 22);
	return call(why, "judge %s %u %u\n", mix, first, n);
}

enum fail_code
step_search_run(struct lanes *l, const struct step_search *s, int64_t *offset_next, bool *expired,
    struct failure *why)
{
	(void)l;
	assert_null(s->commit_offset);
	assert_null(s->commit_step);
	*expired = false;
	for (int i = 0; i < LANES; i++)
		offset_next[i] = 30 + i;
	return call(why, "search %s %d %d\n", s->mix, (int)s->step, s->timeout_ms);
}

void
run_position_format(char out[static RUN_POSITION_TEXT_MAX], uint64_t step, const char *owner)
{
	assert_null(owner);
	snprintf(out, RUN_POSITION_TEXT_MAX, "at %d", (int)step);
}

enum fail_code
lanes_commit_begin(
    struct lanes *l, const int64_t *offset_next, const char *metadata, struct failure *why)
{
	(void)l;
	return call(why, "commit %d %d %d %s\n", (int)offset_next[0], (int)offset_next[1],
	    (int)offset_next[2], metadata);
}

enum fail_code
lanes_commit_end(struct lanes *l, int timeout_ms, struct failure *why)
{
	(void)l;
	return call(why, "end %d\n", timeout_ms);
}

enum fail_code
kafka_open(rd_kafka_t **out, const struct kafka_options *o, struct failure *why)
{
	assert_ptr_equal(o->properties, &properties);
	if (call(why, "handle %s %d\n", o->client, o->role == KAFKA_READER) != FAIL_NONE)
		return why->code;
	*out = (rd_kafka_t *)calls;
	opened++;
	return FAIL_NONE;
}

void
kafka_close(rd_kafka_t *rk)
{
	opened -= rk != NULL;
}

enum fail_code
kafka_group_delete(rd_kafka_t *rk, const char *group, int timeout_ms, struct failure *why)
{
	assert_ptr_equal((const void *)rk, calls);
	return call(why, "delete %s %d\n", group, timeout_ms);
}

/* ---- tests ---- */

#define FOUND                                                                                      \
	"lanes m m.trainers 0/1 30000 1048576\nwatermarks 30000\njudge m 4 3\nsearch m 7 30000\n"

static void
begin(const char *failing)
{
	fails = failing;
	calls_n = 0;
	calls[0] = '\0';
}

static void
test_every_lane_is_committed_at_the_step_that_was_found(void **unused)
{
	struct run_commit *r;

	(void)unused;
	begin(NULL);
	assert_int_equal(
	    run_commit_find(&r, "m", "trainers", 7, &last, &properties, &f), FAIL_NONE);
	assert_string_equal(calls, FOUND);
	assert_int_equal(run_commit_lanes(r), LANES);
	begin(NULL);
	assert_int_equal(run_commit_set(r, &f), FAIL_NONE);
	assert_string_equal(calls, "commit 30 31 32 at 7\nend 30000\n");
	begin("commit");
	assert_int_equal(run_commit_set(r, &f), FAIL_BROKER);
	assert_string_equal(calls, "commit 30 31 32 at 7\n");
	begin("end");
	assert_int_equal(run_commit_set(r, &f), FAIL_BROKER);
	run_commit_close(r);
	assert_int_equal(opened, 0);
	run_commit_close(NULL);
}

static void
test_a_run_is_not_found_after_any_failure(void **unused)
{
	static const char *const rows[] = {"lanes", "watermarks", "judge", "search"};

	(void)unused;
	EACH_ROW(i, rows) {
		struct run_commit *r = NULL;

		begin(rows[i]);
		assert_int_equal(
		    run_commit_find(&r, "m", "trainers", 7, &last, &properties, &f), FAIL_BROKER);
		assert_null(r);
		assert_int_equal(opened, 0);
		/* Nothing is asked after it. */
		assert_null(strchr(strchr(strstr(calls, rows[i]), '\n') + 1, '\n'));
	}
}

static void
test_a_forgotten_runs_group_is_deleted(void **unused)
{
	(void)unused;
	begin(NULL);
	assert_int_equal(run_commit_forget("m", "trainers", &properties, &f), FAIL_NONE);
	assert_string_equal(calls, "handle runs-forget 1\ndelete m.trainers 30000\n");
	begin("delete");
	assert_int_equal(run_commit_forget("m", "trainers", &properties, &f), FAIL_BROKER);
	begin("handle");
	assert_int_equal(run_commit_forget("m", "trainers", &properties, &f), FAIL_BROKER);
	assert_string_equal(calls, "handle runs-forget 1\n");
	assert_int_equal(opened, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_lane_is_committed_at_the_step_that_was_found),
	    cmocka_unit_test(test_a_run_is_not_found_after_any_failure),
	    cmocka_unit_test(test_a_forgotten_runs_group_is_deleted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
