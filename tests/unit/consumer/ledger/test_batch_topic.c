/* batch_topic.h: what the ledger knows of the batch topic that its partitions contradict. */
#include "consumer/ledger/batch_topic.h"

#include "tests/unit/test.h"

static const char two_lanes[] = "{\"changeable\":{},\"fixed\":{\"lanes\":2}}",
		  shared[] = "{\"changeable\":{},\"fixed\":{\"lanes\":5,\"partitions\":2}}",
		  derived[] = "{\"changeable\":{},\"fixed\":{\"batches\":\"derived\",\"lanes\":2}}",
		  few_lanes[] = "{\"changeable\":{},\"fixed\":{\"lanes\":2,\"partitions\":3}}",
		  empty[] = "";

static const struct row {
	const char *config;
	int64_t step_first, draws; /* the record's, up to step 60 */
	struct lane_map map;       /* of the topics */
	int64_t high[2];
	const char *said; /* NULL: nothing is wrong, as far as the record says */
} rows[] = {
    {two_lanes, 60, 480, {2, 2}, {120, 121}, NULL},
    {two_lanes, 60, 480, {2, 2}, {1, 1}, NULL}, /* a tail that is lost is not looked for */
    {two_lanes, 56, 480, {2, 2}, {110, 0},
	"topic m.batches was deleted and created again: lane 5 never held a record, and the ledger "
	"says that steps below 56 are published. "},
    {two_lanes, 0, 480, {2, 2}, {110, 0}, NULL}, /* the first steps: a marker is on its way */
    {two_lanes, 0, 0, {2, 2}, {0, 0}, NULL},
    {two_lanes, 0, 0, {3, 3}, {0, 0},
	"topic m.batches has 3 partitions, and the mix has 2 lanes: partitions were added, and "
	"Kafka takes none away. Delete the topic: `riffle topics --create`"},
    {two_lanes, 60, 480, {1, 1}, {0, 0},
	"topic m.batches has 1 partitions, and the mix has 2 lanes: it was deleted and created "
	"again with fewer"},
    {shared, 60, 480, {5, 2}, {300, 301}, NULL},
    {shared, 60, 480, {5, 3}, {300, 301},
	"topic m.batches has 3 partitions, and the mix has 5 lanes in 2 partitions: partitions "
	"were "
	"added, and Kafka takes none away. Delete the topic: `riffle topics --create`"},
    {shared, 60, 480, {6, 2}, {300, 301},
	"topic m.lanes has 6 partitions, and the mix has 5 lanes: partitions were added, and Kafka "
	"takes none away. Delete the topic: `riffle topics --create` creates it, and `riffle runs"},
    {shared, 60, 480, {4, 2}, {300, 301},
	"topic m.lanes has 4 partitions, and the mix has 5 lanes: it was deleted and created again "
	"with fewer. "},
    {shared, 60, 480, {2, 2}, {300, 301},
	"there is no topic m.lanes, or no right to see it, and the mix has 5 lanes in 2 "
	"partitions"},
    {two_lanes, 60, 480, {5, 2}, {300, 301},
	"there is a topic m.lanes, and no lanes of the mix share a partition"},
    {derived, 60, 480, {2, 0}, {0, 0}, NULL},
    {derived, 60, 480, {2, 2}, {120, 121},
	"there is a topic m.batches, and the mix was begun with mix.batches: derived"},
    {two_lanes, 60, 480, {2, 0}, {0, 0},
	"topic m.batches does not exist any more, and the mix has published its steps there"},
    {few_lanes, 60, 480, {2, 2}, {120, 121}, NULL}, /* more partitions than lanes say nothing */
    {two_lanes, 60, 0, {2, 2}, {0, 0}, NULL},       /* requests alone were answered */
    {empty, 60, 480, {3, 3}, {1, 1}, NULL},         /* a record that does not say how many lanes */
    {NULL, 60, 480, {3, 3}, {1, 1}, NULL},
};

static void
test_a_topic_that_is_not_the_ledgers_is_named(void **state)
{
	(void)state;
	EACH_ROW(i, rows) {
		const struct row *r = &rows[i];
		char *config = r->config == NULL ? NULL : strdup(r->config);
		struct ledger l = {.config = config,
		    .step_first = r->step_first,
		    .step_next = 60,
		    .draws = r->draws};
		struct failure f = {0};

		assert_int_equal(batch_topic_judge("m", &l, &r->map, 4, r->high,
				     r->map.partitions == 0 ? 0 : 2, &f),
		    r->said == NULL ? FAIL_NONE : FAIL_DATA);
		if (r->said != NULL)
			assert_int_equal(strncmp(f.text, r->said, strlen(r->said)), 0);
		free(config);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_topic_that_is_not_the_ledgers_is_named),
	};

	return cmocka_run_group_tests_name("batch_topic", tests, NULL, NULL);
}
