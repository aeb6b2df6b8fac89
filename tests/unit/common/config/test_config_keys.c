/* Every number that the table of keys bounds is taken at both of its bounds and refused beyond. */
#include <inttypes.h>

#include "common/base/scalar.h"
#include "common/config/config_internal.h"
#include "tests/unit/config_file.h"

/* What must stand beside a key for it to be allowed; the line of the base that it replaces. */
struct setting {
	const char *path;
	size_t line;
	const char *before; /* text of the line, to which " <value>" is added */
	const char *after;
};

static const struct setting settings[] = {
    {"sequence_length", 3, "sequence_length:", ""},
    {"split_piece", 3, "sequence_length: 8\nsplit: 8,1,1\nsplit_unit: tokens\nsplit_piece:", ""},
    {"max_document_bytes", 3, "sequence_length: 8\nmax_document_bytes:", ""},
    {"max_rejects", 3, "sequence_length: 8\nmax_rejects:", ""},
    {"topics.replication", 3, "sequence_length: 8\ntopics: {replication:", "}"},
    {"topics.min_insync_replicas", 3,
	"sequence_length: 8\ntopics: {replication: 32767, min_insync_replicas:", "}"},
    {"domains.NAME.partitions", 8, "    train: x\n    partitions:", ""},
    {"domains.NAME.catch_up", 8,
	"    train: x\n    live: true\n    on_dry: lend\n    catch_up:", ""},
    {"domains.NAME.max_epochs", 8, "    train: x\n    max_epochs:", ""},
    {"mix.seed", 10, "  name: m\n  seed:", ""},
    {"mix.global_batch", 0, "", ""},
    {"mix.lanes", 0, "", ""},
    {"mix.epoch_size", 13, "  weights: {web: 1, code: 0}\n  epoch_size:", ""},
    {"mix.phases[].start_step", 10, "  name: m\n  phases: [{start_step:", "}]"},
    {"mix.phases[].global_batch", 0, "", ""},
    {"mix.anneal_start_step", 10,
	"  name: m\n  anneal_weights: {web: 1}\n  anneal_start_step:", ""},
    {"mix.window", 10, "  name: m\n  window:", ""},
    {"mix.max_lead_steps", 10, "  name: m\n  max_lead_steps:", ""},
    {"mix.memory", 10, "  name: m\n  memory:", ""},
    {"mix.partitions", 10, "  name: m\n  partitions:", ""},
    {"mix.transaction_bytes", 10, "  name: m\n  transaction_bytes:", ""},
    {"mix.transaction_ms", 10, "  name: m\n  transaction_ms:", ""},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

static bool
is_bounded(const struct config_key *row)
{
	switch (row->kind) {
	case CONFIG_COUNT32:
	case CONFIG_COUNT:
	case CONFIG_SIZE:
	case CONFIG_NUMBER:
	case CONFIG_ROUND:
	case CONFIG_ANNEAL_STEP: return true;
	case CONFIG_TEXT:
	case CONFIG_NAME:
	case CONFIG_POSITIVE:
	case CONFIG_BOOL:
	case CONFIG_CHOICE:
	case CONFIG_LIST:
	case CONFIG_RUNS:
	case CONFIG_FIELDS:
	case CONFIG_SPLIT:
	case CONFIG_PROPERTIES:
	case CONFIG_DOMAINS:
	case CONFIG_FOLDER:
	case CONFIG_WEIGHTS:
	case CONFIG_PHASES:
	case CONFIG_PHASE_MAP:
	case CONFIG_ANNEAL_MAP: return false;
	}
	return false;
}

static const struct setting *
setting_of(const struct config_key *row)
{
	for (size_t i = 0; i < SETTINGS; i++)
		if (strcmp(settings[i].path, row->path) == 0)
			return &settings[i];
	print_error("%s: this test has no setting for the key\n", row->path);
	return NULL;
}

/*
 * Opens the file with one key at one value. Batch, lanes and partitions bound each other, and a
 * lane's record is bounded too: they stand in a file of their own.
 */
static enum fail_code
open_at(const struct setting *s, const char *value, struct failure *f)
{
	bool phase = strcmp(s->path, "mix.phases[].global_batch") == 0;
	bool batch = strcmp(s->path, "mix.global_batch") == 0;
	bool partitions = strcmp(s->path, "mix.partitions") == 0;
	struct config *c = NULL;
	char text[512];
	enum fail_code code;

	if (batch || phase || partitions || strcmp(s->path, "mix.lanes") == 0) {
		bool one = (batch || phase) && value[1] == '\0'; /* a lane for a batch of 1 */
		char phases[96] = "";

		if (phase)
			snprintf(phases, sizeof(phases),
			    "  phases: [{start_step: 1, global_batch: %s}]\n", value);
		snprintf(text, sizeof(text),
		    "corpus: demo\ntokenizer: {file: v, pattern: gpt2}\nsequence_length: 1\n"
		    "domains: {web: {exec: cat}}\nmix:\n  name: m\n  global_batch: %s\n"
		    "  lanes: %s\n  partitions: %s\n  weights: uniform\n%s"
		    "kafka: {bootstrap.servers: \"localhost:9092\"}\n",
		    batch ? value : "4096",
		    partitions         ? "4096"
		    : one              ? "1"
		    : !batch && !phase ? value
				       : "64",
		    partitions ? value : "auto", phases);
		folder_text("run.yml", text);
		code = config_open(&c, folder_path("run.yml"), f);
	} else {
		snprintf(text, sizeof(text), "%s %s%s", s->before, value, s->after);
		code = open_with(&c, s->line, text, f);
	}
	config_close(c);
	return code;
}

static void
assert_taken(const struct setting *s, const char *value)
{
	struct failure f = {0};

	if (open_at(s, value, &f) != FAIL_NONE)
		print_error("%s: %s: %s\n", s->path, value, f.text);
	assert_int_equal(f.code, FAIL_NONE);
}

static void
assert_out_of_range(const struct setting *s, const char *value)
{
	const char *key = strrchr(s->path, '.') == NULL ? s->path : strrchr(s->path, '.') + 1;
	struct failure f = {0};
	bool named;

	assert_int_equal(open_at(s, value, &f), FAIL_CONFIG);
	named = strstr(f.text, key) != NULL && strstr(f.text, "run.yml:") != NULL &&
		strstr(f.text, value) != NULL &&
		(strstr(f.text, "out of range") != NULL ||
		    strstr(f.text, "not a whole number") != NULL ||
		    strstr(f.text, "not a size") != NULL);

	if (!named)
		print_error("%s: %s: %s\n", s->path, value, f.text);
	assert_true(named);
}

static void
test_every_bounded_key_is_taken_at_its_bounds_and_refused_beyond(void **unused)
{
	static const char *const beyond_all[] = {
	    "18446744073709551616", "99999999999999999999999999", "-1", "-9223372036854775809"};
	size_t bounded = 0;

	(void)unused;
	for (size_t i = 0; i < config_keys_n; i++) {
		const struct config_key *row = &config_keys[i];
		const struct setting *s;
		char value[32];

		if (!is_bounded(row))
			continue;
		bounded++;
		s = setting_of(row);
		assert_non_null(s);
		snprintf(value, sizeof(value), "%" PRIu64, row->min);
		assert_taken(s, value);
		snprintf(value, sizeof(value), "%" PRIu64, row->max);
		assert_taken(s, value);
		if (row->min > 0) {
			snprintf(value, sizeof(value), "%" PRIu64, row->min - 1);
			assert_out_of_range(s, value);
		}
		if (row->max < UINT64_MAX) {
			snprintf(value, sizeof(value), "%" PRIu64, row->max + 1);
			assert_out_of_range(s, value);
		}
		EACH_ROW(k, beyond_all)
			assert_out_of_range(s, beyond_all[k]);
	}
	assert_int_equal(bounded, SETTINGS);
}

/* Doubles that are only asked to be above 0: the smallest and the largest do no harm. */
static void
test_positive_numbers_are_taken_from_the_smallest_to_the_largest(void **unused)
{
	static const char *const taken[] = {"4.9406564584124654e-324", "2.2250738585072014e-308",
	    "1e-9", "1", "1e9", "1.7976931348623157e308"};
	static const char *const refused[] = {
	    "0", "-0.0", "-4.9406564584124654e-324", "1e309", "-1e309", ".nan", "nan", "inf"};
	static const char *const keys[] = {"  name: m\n  temperature: %s",
	    "  name: m\n  phases: [{start_step: 1, lr_scale: %s}]",
	    "  name: m\n  phases: [{start_step: 1, temperature: %s}]"};

	(void)unused;
	EACH_ROW(k, keys) {
		char text[128];

		EACH_ROW(i, taken) {
			snprintf(text, sizeof(text), keys[k], taken[i]);
			assert_opens(10, text);
		}
		EACH_ROW(i, refused) {
			struct config *c = NULL;
			struct failure f;

			snprintf(text, sizeof(text), keys[k], refused[i]);
			assert_int_equal(open_with(&c, 10, text, &f), FAIL_CONFIG);
			assert_non_null(strstr(f.text, "a number above 0"));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_every_bounded_key_is_taken_at_its_bounds_and_refused_beyond, folder_open,
		folder_close),
	    cmocka_unit_test_setup_teardown(
		test_positive_numbers_are_taken_from_the_smallest_to_the_largest, folder_open,
		folder_close),
	};

	unsetenv("RIFFLE_BOOTSTRAP");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
