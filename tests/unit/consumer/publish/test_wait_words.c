/* wait_words.h: which runs hold a mixer up, and what to type. */
#include "consumer/publish/wait_words.h"

#include "tests/unit/test.h"

static void
test_every_run_that_holds_the_mixer_up_is_named_with_its_remedy(void **state)
{
	static const struct wait_words_run run[] = {
	    {"new", 0, false, ""}, {"far", 41, true, ""}, {"stopped", 40, true, ""}};
	char *text = wait_words_lead(run, 3, 72, 32);

	(void)state;
	assert_string_equal(text,
	    "run=new at step=0, run=stopped at step=40: step=72 is max_lead_steps=32 ahead of "
	    "them. Run new has committed nothing: start its trainers; in a trial `riffle read "
	    "--run new --commit-every 1` takes their place. Run stopped has committed no "
	    "step since: start its trainers again; if nobody trains it any more, take it out of "
	    "mix.runs and restart the mixer with `riffle mix --accept-config`");
	free(text);
	text = wait_words_lead(run, 2, 72, 32);
	assert_non_null(
	    strstr(text, "run=new at step=0: step=72 is max_lead_steps=32 ahead of it."));
	free(text);
}

static void
test_a_rank_that_is_missing_is_asked_for_by_its_lanes(void **state)
{
	static const struct wait_words_run run = {
	    "part", 0, true, "lanes 0 and 1 up to step 16, and nothing on lanes 2 and 3"};
	char *text = wait_words_lead(&run, 1, 16, 16);

	(void)state;
	assert_string_equal(text,
	    "run=part at step=0: step=16 is max_lead_steps=16 ahead of it. Run part has committed "
	    "lanes 0 and 1 up to step 16, and nothing on lanes 2 and 3: is the rank that reads "
	    "them running? If nobody trains it any more, take it out of mix.runs and restart the "
	    "mixer with `riffle mix --accept-config`");
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_run_that_holds_the_mixer_up_is_named_with_its_remedy),
	    cmocka_unit_test(test_a_rank_that_is_missing_is_asked_for_by_its_lanes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
