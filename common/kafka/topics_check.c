#include <stdlib.h>

#include "common/kafka/kafka_handle.h"
#include "common/base/log.h"
#include "common/config/topics.h"

void
topics_warn_hidden(rd_kafka_t *rk, const struct topics_plan *p, const struct topics_report *report)
{
	struct failure f;
	size_t n = 0, first = 0;

	for (size_t i = p->n; i-- > 0;)
		if (report[i].hidden) {
			first = i;
			n++;
		}
	if (n == 0)
		return;
	kafka_fail_denied(&f, rk, RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "DESCRIBE_CONFIGS",
	    p->topic[first].name, "asking for its settings");
	log_warning(
	    "topics: TOPICS-HIDDEN the settings of %zu topic%s are not compared with what they "
	    "must be: %s",
	    n, n == 1 ? "" : "s", f.text);
}

/* Who does not write domains reads no held-out set, and may not be allowed to see it. */
static bool
is_passed_over(const struct topic_plan *t, struct topics_use use)
{
	return t->kind == TOPIC_DOMAIN && t->set != SET_TRAIN &&
	       (use.written & 1u << TOPIC_DOMAIN) == 0;
}

enum fail_code
topics_check(rd_kafka_t *rk, const struct config *c, struct topics_use use, int timeout_ms,
    struct failure *f)
{
	struct topics_report *report = NULL;
	struct topics_plan *p;
	enum fail_code code = topics_plan_open(&p, c, f);
	size_t kept = 0;

	if (code != FAIL_NONE)
		return code;
	for (size_t i = 0; i < p->n; i++)
		if (((use.read | use.written) & (1u << p->topic[i].kind)) != 0 &&
		    !is_passed_over(&p->topic[i], use))
			p->topic[kept++] = p->topic[i];
	p->n = kept;
	report = calloc(kept + 1, sizeof(*report));
	code = report == NULL ? fail_memory(f) : topics_ask(rk, c, p, use, report, timeout_ms, f);
	for (size_t i = 0; code == FAIL_NONE && i < kept; i++)
		if (!report[i].exists)
			code = fail(f, FAIL_CONFIG,
			    "topic %s is missing: run `riffle topics -c %s --create`",
			    p->topic[i].name, c->path);
		else if (report[i].problem[0] != '\0')
			code =
			    fail(f, FAIL_CONFIG, "topic %s: %s (`riffle topics -c %s` shows all)",
				p->topic[i].name, report[i].problem, c->path);
	if (code == FAIL_NONE)
		topics_warn_hidden(rk, p, report);
	free(report);
	topics_plan_close(p);
	return code;
}
