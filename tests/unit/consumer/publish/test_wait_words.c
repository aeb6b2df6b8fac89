/* wait_words.h: which runs hold a mixer up, and what to type. */
#include "consumer/publish/wait_words.h"

#include "tests/unit/test.h"

static void
test_every_run_that_holds_the_mixer_up_is_named_with_its_remedy(void **state)
{
	static const struct wait_words_run run[] = {
	    {"new", 0, false}, {"far", 41, true}, {"stopped", 40, true}};
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_run_that_holds_the_mixer_up_is_named_with_its_remedy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
