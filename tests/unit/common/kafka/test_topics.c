/* topics.h: which settings in force deserve a warning. */
#include "common/kafka/topics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/test.h"

/* What topics_warn_losses() logs of one topic. */
static void
warnings(char *out, size_t room, const struct topics_report *report)
{
	struct planned_topic topic = {.name = "c.web"};
	struct topic_plan plan = {.n = 1, .topic = &topic};
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(file);
	fflush(stderr);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	topics_warn_losses(&plan, report);
	fflush(stderr);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	rewind(file);
	n = fread(out, 1, room - 1, file);
	out[n] = '\0';
	fclose(file);
	close(saved);
}

static void
each_way_to_lose_acknowledged_records_is_warned_of(void **unused)
{
	static const struct {
		struct topics_report report;
		const char *id; /* NULL: no warning */
	} row[] = {
	    {{.exists = true, .replicas = 3, .min_insync = 2, .flush_messages = INT64_MAX}, NULL},
	    {{.exists = true, .replicas = 3, .min_insync = 1, .flush_messages = 1},
		"TOPICS-MIN-INSYNC"},
	    {{.exists = true, .replicas = 2, .min_insync = 1, .flush_messages = 1}, NULL},
	    {{.exists = true, .replicas = 3, .min_insync = 2, .flush_messages = 1, .unclean = true},
		"TOPICS-UNCLEAN"},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 1, .unclean = true},
		NULL},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 2}, "TOPICS-FLUSH"},
	    {{.exists = true, .replicas = 1, .min_insync = 1, .flush_messages = 1}, NULL},
	    /* What the broker does not say is not warned of; nor is a topic that is missing. */
	    {{.exists = true, .replicas = 3, .min_insync = -1, .flush_messages = -1}, NULL},
	    {{.exists = false, .replicas = 3, .min_insync = 1, .unclean = true}, NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, row, id) {
		char text[1024];

		warnings(text, sizeof(text), &row[i].report);
		if (row[i].id == NULL)
			assert_string_equal(text, "");
		else
			assert_non_null(strstr(text, row[i].id));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_way_to_lose_acknowledged_records_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
