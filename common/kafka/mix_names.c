#include "common/kafka/mix_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/nearest.h"
#include "common/kafka/topics.h"

enum { ASK_MS = 5000 };

static const char ledger_end[] = ".ledger";

enum fail_code
mix_names_fail(rd_kafka_t *rk, const char *topic, const char *mix, struct failure *f)
{
	struct failure ignored;
	struct nearest near;
	char *topics;
	size_t n = 0;

	fail(f, FAIL_CONFIG,
	    "topic %s does not exist: if mix %s is new, run `riffle topics --create`; else give "
	    "the name of a mix that exists",
	    topic, mix);
	if (topics_ending(&topics, &n, rk, ledger_end, ASK_MS, &ignored) != FAIL_NONE)
		return f->code;
	nearest_init(&near, mix);
	for (char *at = topics; n > 0; n--) {
		size_t size = strlen(at) + 1;

		at[size - sizeof(ledger_end)] = '\0';
		nearest_list(&near, at);
		at += size;
	}
	nearest_fail_more(&near, "the broker has the mixes", f);
	free(topics);
	return f->code;
}
