/* Part of status_query: which mixers of a mix run, by the members of its election. */
#include "consumer/status/status_query_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "consumer/publish/election_group.h"

/* Adds the standbys, or the others: only the client's name tells them apart. */
static void
add(struct status *st, const struct kafka_member *member, size_t n, bool standby)
{
	for (size_t i = 0; i < n; i++) {
		struct status_mixer *m;

		if ((strcmp(member[i].client, "riffle-" ELECTION_STANDBY) == 0) != standby)
			continue;
		assert(st->mixers_n < STATUS_MIXERS);
		m = &st->mixer[st->mixers_n];
		snprintf(m->host, sizeof(m->host), "%s", member[i].host);
		m->standby = standby;
		st->mixers_n++;
	}
}

void
status_mixers_take(struct status *st, const struct kafka_member *member, size_t n)
{
	add(st, member, n, false);
	add(st, member, n, true);
}

enum fail_code
status_mixers_open(struct status_query *q, struct failure *f)
{
	assert(q->config->mix.name != NULL);
	if (q->election != NULL)
		return FAIL_NONE;
	q->election = status_query_open_group(q->config, "election", f);
	return q->election == NULL ? f->code : FAIL_NONE;
}

/* Nothing else needs the members, so this does not fail. Warns once until they are known again. */
static void
warn(struct status_query *q, const char *text)
{
	if (!q->mixers_warned)
		log_warning("status: STATUS-MIXERS %s: which mixers run is not known", text);
	q->mixers_warned = true;
}

enum fail_code
status_mixers_read(struct status_query *q, struct status *st, struct failure *f)
{
	struct kafka_member member[STATUS_MIXERS];
	enum fail_code code;
	size_t n;

	assert(q->election != NULL);
	if (!status_query_due(q, q->mixers_ms, q->pace.mixers_ms)) {
		memcpy(st->mixer, q->mixer_kept, sizeof(st->mixer));
		st->mixers_n = q->mixers_n;
		st->mixers_known = q->mixers_known;
		return FAIL_NONE;
	}
	code = kafka_group_members(q->election, member, STATUS_MIXERS, &n, STATUS_QUERY_MS, f);
	if (code == FAIL_MEMORY)
		return code;
	if (code == FAIL_NONE) {
		q->mixers_warned = false;
		st->mixers_known = true;
		status_mixers_take(st, member, n);
		memcpy(q->mixer_kept, st->mixer, sizeof(q->mixer_kept));
		q->mixers_n = st->mixers_n;
		q->mixers_known = true;
		q->mixers_ms = q->now_ms;
		return FAIL_NONE;
	}
	st->late[STATUS_PART_MIXERS] = code == FAIL_TIMEOUT;
	if (code == FAIL_TIMEOUT) { /* see kafka_group_members() */
		kafka_close(q->election);
		q->election = NULL;
	}
	warn(q, f->text);
	return FAIL_NONE;
}
