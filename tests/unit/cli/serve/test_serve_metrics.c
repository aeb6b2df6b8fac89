/* serve_metrics.h: each metric shows its own field. The whole text is compared. */
#include "cli/serve/serve_metrics.h"

#include "tests/unit/full_status.h"
#include "tests/unit/printed.h"

/* Prints the samples without HELP and TYPE, and without the label mix="pre". */
static void
check(const struct status *st, struct printed *p)
{
	char *text = serve_metrics(st), *rest = text, *line;
	FILE *to = printed_begin(p);

	assert_non_null(text);
	while ((line = strsep(&rest, "\n")) != NULL) {
		const char *mix = strstr(line, "mix=\"pre\"");

		if (line[0] == '#' || line[0] == '\0')
			continue;
		assert_non_null(mix);
		fprintf(to, "%.*s%s\n", (int)(mix - line), line, mix + strlen("mix=\"pre\""));
	}
	free(text);
}

static void
test_each_metric_is_that_of_its_field(void **unused)
{
	struct status st = full_status(STATUS_STARTED);
	struct status_problem same[] = {{"B", ""}, {"A", ""}, {"B", ""}, {"C", ""}, {"B", ""}};
	struct printed p;

	(void)unused;
	st.problem = same;
	st.problems_n = 5;
	check(&st, &p);
	printed_is(&p, "riffle_status_timestamp_seconds{} 1000\n"
		       "riffle_problems{} 30\n"
		       "riffle_problems_by_code{,code=\"B\"} 3\n"
		       "riffle_problems_by_code{,code=\"A\"} 1\n"
		       "riffle_problems_by_code{,code=\"C\"} 1\n"
		       "riffle_mixers_active{} 2\n"
		       "riffle_mixers_standby{} 2\n"
		       "riffle_ledger_offset{} 15\n"
		       "riffle_ledger_written_timestamp_seconds{} 988\n"
		       "riffle_mix_steps_total{} 69\n"
		       "riffle_mix_sequences_total{} 1201\n"
		       "riffle_mix_tokens_total{} 22\n"
		       "riffle_mix_ended{} 0\n"
		       "riffle_mix_weights_version{} 11\n"
		       "riffle_mix_weights_since_step{} 12\n"
		       "riffle_mix_weights_temperature{} 2\n"
		       "riffle_mix_lr_scale_ratio{} 0.5\n"
		       "riffle_mix_pending_changes{} 3\n"
		       "riffle_mix_quarantined_sequences{} 14\n"
		       "riffle_mix_info{,schedule=\"deficit\"} 1\n"
		       "riffle_mix_global_batch_sequences{} 24\n"
		       "riffle_mix_max_lead_steps{} 20\n"
		       "riffle_mix_step_limit{} 21\n"
		       "riffle_mix_first_kept_step{} 16\n"
		       "riffle_rejects_records{} 17\n"
		       "riffle_domain_sequences_total{,domain=\"code\"} 101\n"
		       "riffle_domain_sequences_total{,domain=\"web\"} 111\n"
		       "riffle_domain_sequences_total{,domain=\"longest\"} 121\n"
		       "riffle_domain_tokens_total{,domain=\"code\"} 103\n"
		       "riffle_domain_tokens_total{,domain=\"web\"} 113\n"
		       "riffle_domain_tokens_total{,domain=\"longest\"} 123\n"
		       "riffle_domain_share_intended_ratio{,domain=\"code\"} 0.25\n"
		       "riffle_domain_share_intended_ratio{,domain=\"web\"} 0.75\n"
		       "riffle_domain_share_intended_ratio{,domain=\"longest\"} 0\n"
		       "riffle_domain_share_target_ratio{,domain=\"code\"} 0.27000000000000002\n"
		       "riffle_domain_share_target_ratio{,domain=\"web\"} 0.72999999999999998\n"
		       "riffle_domain_share_realised_ratio{,domain=\"code\"} 0.26000000000000001\n"
		       "riffle_domain_share_realised_ratio{,domain=\"web\"} 0.73999999999999999\n"
		       "riffle_domain_share_realised_ratio{,domain=\"longest\"} 0\n"
		       "riffle_domain_deviation_sequences{,domain=\"code\"} -0.75\n"
		       "riffle_domain_deviation_sequences{,domain=\"web\"} 1.5\n"
		       "riffle_domain_epoch{,domain=\"code\"} 102\n"
		       "riffle_domain_epoch{,domain=\"web\"} 0\n"
		       "riffle_domain_epoch{,domain=\"longest\"} 122\n"
		       "riffle_domain_remaining_sequences{,domain=\"code\"} 101\n"
		       "riffle_domain_published_sequences{,domain=\"code\"} 205\n"
		       "riffle_domain_published_sequences{,domain=\"web\"} 216\n"
		       "riffle_domain_published_sequences{,domain=\"longest\"} 0\n"
		       "riffle_domain_dry{,domain=\"code\"} 0\n"
		       "riffle_domain_dry{,domain=\"web\"} 1\n"
		       "riffle_domain_dry{,domain=\"longest\"} 0\n"
		       "riffle_domain_owed_sequences{,domain=\"code\"} 0\n"
		       "riffle_domain_owed_sequences{,domain=\"web\"} 9\n"
		       "riffle_domain_owed_sequences{,domain=\"longest\"} 0\n"
		       "riffle_domain_loss{,domain=\"code\"} 2.25\n"
		       "riffle_domain_loss{,domain=\"longest\"} 2.75\n"
		       "riffle_run_step{,run=\"main\"} 62\n"
		       "riffle_run_step{,run=\"evaluation\"} 65\n"
		       "riffle_run_step{,run=\"new\"} 0\n"
		       "riffle_run_lag_steps{,run=\"main\"} 7\n"
		       "riffle_run_lag_steps{,run=\"evaluation\"} 4\n"
		       "riffle_run_lag_steps{,run=\"new\"} 69\n"
		       "riffle_run_position_lost{,run=\"main\"} 0\n"
		       "riffle_run_position_lost{,run=\"evaluation\"} 1\n"
		       "riffle_run_position_lost{,run=\"new\"} 0\n");
	full_status_end(&st);
}

static void
test_what_is_not_known_has_no_metric(void **unused)
{
	struct status st = full_status(STATUS_NOT_STARTED);
	struct printed p;

	(void)unused;
	st.mixers_known = st.batches_kept = false;
	st.step_limit = UINT64_MAX;
	st.feedback_n = st.runs_n = st.domains_n = 0;
	check(&st, &p);
	printed_is(&p, "riffle_status_timestamp_seconds{} 1000\n"
		       "riffle_problems{} 27\n"
		       "riffle_problems_by_code{,code=\"STATUS-ONE\"} 1\n"
		       "riffle_problems_by_code{,code=\"STATUS-TWO\"} 1\n"
		       "riffle_mix_info{,schedule=\"deficit\"} 1\n"
		       "riffle_mix_global_batch_sequences{} 24\n"
		       "riffle_mix_max_lead_steps{} 20\n"
		       "riffle_rejects_records{} 17\n");
	full_status_end(&st);
}

static void
test_whether_it_is_up_is_a_metric_of_its_own(void **unused)
{
	(void)unused;
	for (int up = 0; up < 2; up++) {
		char *text = serve_metrics_up("pre", up == 1);
		const char *sample;

		assert_non_null(text);
		sample = strstr(text, "\nriffle_up{");
		assert_non_null(sample);
		assert_string_equal(sample,
		    up == 1 ? "\nriffle_up{mix=\"pre\"} 1\n" : "\nriffle_up{mix=\"pre\"} 0\n");
		free(text);
	}
}

/* Earlier epochs and the position count towards the last pass. */
static void
test_a_domain_ends_after_its_last_pass(void **unused)
{
	static const struct {
		enum mix_on_end on_end;
		uint64_t max_epochs;
		enum ledger_domain_state state;
		int64_t epoch, position, sealed;
		const char *left; /* NULL: it does not end, or the end is unknown */
	} rows[] = {
	    {MIX_END_REPEAT, 0, LEDGER_ACTIVE, 0, 10, 100, NULL},
	    {MIX_END_REPEAT, 3, LEDGER_ACTIVE, 0, 10, 100, " 290\n"},
	    {MIX_END_REPEAT, 3, LEDGER_ACTIVE, 2, 10, 100, " 90\n"},
	    {MIX_END_REPEAT, 3, LEDGER_ACTIVE, 3, 10, 100, " 0\n"},
	    {MIX_END_STOP, 0, LEDGER_ACTIVE, 0, 10, 100, " 90\n"},
	    {MIX_END_DROP, 0, LEDGER_ACTIVE, 0, 100, 100, " 0\n"},
	    {MIX_END_DROP, 2, LEDGER_ACTIVE, 1, 99, 100, " 1\n"},
	    {MIX_END_STOP, 0, LEDGER_DROPPED, 0, 10, 100, NULL},
	    {MIX_END_STOP, 0, LEDGER_ACTIVE, 0, 10, -1, NULL},
	};
	static const char name[] = "riffle_domain_until_end_sequences{mix=\"pre\",domain=\"code\"}";

	(void)unused;
	EACH_ROW(i, rows) {
		struct status st = full_status(STATUS_STARTED);
		struct status_domain d = domains[0];
		char *text, *found;

		configured[0].on_end = rows[i].on_end;
		configured[0].max_epochs = rows[i].max_epochs;
		d.state = rows[i].state;
		d.epoch = rows[i].epoch;
		d.position = rows[i].position;
		d.sealed_length = rows[i].sealed;
		st.domain = &d;
		st.domains_n = 1;
		text = serve_metrics(&st);
		assert_non_null(text);
		found = strstr(text, name);
		assert_int_equal(found != NULL, rows[i].left != NULL);
		if (rows[i].left != NULL)
			assert_int_equal(
			    strncmp(found + strlen(name), rows[i].left, strlen(rows[i].left)), 0);
		free(text);
		configured[0].on_end = MIX_END_REPEAT;
		configured[0].max_epochs = 0;
		full_status_end(&st);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_metric_is_that_of_its_field),
	    cmocka_unit_test(test_what_is_not_known_has_no_metric),
	    cmocka_unit_test(test_whether_it_is_up_is_a_metric_of_its_own),
	    cmocka_unit_test(test_a_domain_ends_after_its_last_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
