/* riffle serve: its words reach the server, which is the test's own. */
#include "cli/serve/serve.h"

#include "common/metrics/metrics.h"
#include "tests/unit/config_file.h"
#include "tests/unit/run_command.h"

static char called[512];
static enum fail_code ends_with;

enum fail_code
serve_run(const struct serve_options *o, const struct config *c, const struct options *reload,
    struct failure *f)
{
	size_t n = (size_t)snprintf(called, sizeof(called),
	    "mix=%s of %s listen=%s token=%s cert=%s key=%s%s hosts:",
	    o->mix == NULL ? "-" : o->mix, c->mix.name, o->listen,
	    o->token_file == NULL ? "-" : o->token_file, o->cert == NULL ? "-" : o->cert,
	    o->key == NULL ? "-" : o->key, o->changes ? " changes" : "");

	assert_string_equal(reload->config, c->path);
	for (size_t i = 0; i < o->hosts_n; i++)
		n += (size_t)snprintf(called + n, sizeof(called) - n, " %s", o->host[i]);
	return ends_with == FAIL_NONE ? FAIL_NONE : fail(f, ends_with, "the address is taken");
}

static void
test_the_options_reach_the_server(void **unused)
{
	static const struct {
		const char *words, *called;
	} rows[] = {
	    {"", "mix=- of pretrain listen=127.0.0.1:8640 token=- cert=- key=- hosts:"},
	    {"--mix other", "mix=other of other listen=127.0.0.1:8640 token=- cert=- key=- hosts:"},
	    {"--listen 1 --token-file t --tls-cert c --tls-key k --allow-changes --host a --host b",
		"mix=- of pretrain listen=1 token=t cert=c key=k changes hosts: a b"},
	};
	struct config *c;
	char line[1024];

	(void)unused;
	assert_int_equal(open_with(&c, 0, "", &f), FAIL_NONE);
	config_close(c);
	EACH_NAMED_ROW(i, rows, words) {
		snprintf(line, sizeof(line), "-c %s %s", folder_path("run.yml"), rows[i].words);
		run_command_is(&cmd_serve, line, FAIL_NONE, "");
		assert_string_equal(called, rows[i].called);
	}
	ends_with = FAIL_IO;
	run_command_is(&cmd_serve, line, FAIL_IO, "the address is taken");
	ends_with = FAIL_NONE;
}

static void
test_what_is_no_mix_is_not_served(void **unused)
{
	struct printed p;
	char *page, line[1024];
	size_t n;
	FILE *to = open_memstream(&page, &n);

	(void)unused;
	called[0] = '\0';
	metrics_print_page(to);
	fclose(to);
	run_command_is(&cmd_serve, "--metrics-list", FAIL_NONE, page);
	free(page);
	run_command_is(&cmd_serve, "", FAIL_USAGE,
	    "no configuration is named: add -c FILE, or set RIFFLE_CONFIG");
	folder_text("run.yml", "corpus: a\ntokenizer: {file: v}\nsequence_length: 8\n"
			       "domains: {d: {train: x}}\n");
	snprintf(line, sizeof(line), "-c %s", folder_path("run.yml"));
	assert_int_equal(run_command(&p, &cmd_serve, line), FAIL_CONFIG);
	free(p.text);
	assert_non_null(strstr(f.text, "mix: is missing"));
	assert_string_equal(called, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_the_options_reach_the_server, folder_open, folder_close),
	    cmocka_unit_test_setup_teardown(
		test_what_is_no_mix_is_not_served, folder_open, folder_close),
	};

	unsetenv("RIFFLE_CONFIG");
	unsetenv("RIFFLE_BOOTSTRAP");
	log_set_level(LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
