/* Which mixers of a mix run, by the members of its election. */
#include <stdio.h>
#include <string.h>

#include "common/kafka/kafka.h"
#include "common/kafka/kafka_groups.h"
#include "common/base/log.h"
#include "consumer/publish/election_group.h"
#include "consumer/status/status_source.h"

/* Active ones first: who is a standby can be told by the name alone. */
static void
add(struct status *st, const struct kafka_member *member, size_t n, bool standby)
{
	for (size_t i = 0; i < n; i++) {
		struct status_mixer *m = &st->mixer[st->mixers_n];

		if ((strcmp(member[i].client, "riffle-" ELECTION_STANDBY) == 0) != standby)
			continue;
		snprintf(m->host, sizeof(m->host), "%s", member[i].host);
		m->standby = standby;
		st->mixers_n++;
	}
}

enum fail_code
status_open_mixers(struct status_source *s, struct failure *f)
{
	if (s->election != NULL)
		return FAIL_NONE;
	s->election = status_open_group(s->config, "election", f);
	return s->election == NULL ? f->code : FAIL_NONE;
}

/* What no other question needs is no reason to fail: said once, until it is answered again. */
static void
warn(struct status_source *s, const char *text)
{
	if (!s->mixers_warned)
		log_warning("status: STATUS-MIXERS %s: which mixers run is not known", text);
	s->mixers_warned = true;
}

enum fail_code
status_ask_mixers(struct status_source *s, struct status *st, struct failure *f)
{
	struct kafka_member member[STATUS_MIXERS];
	enum fail_code code;
	size_t n;

	code = kafka_group_members(s->election, member, STATUS_MIXERS, &n, STATUS_ASK_MS, f);
	if (code == FAIL_MEMORY)
		return code;
	if (code == FAIL_NONE) {
		s->mixers_warned = false;
		st->mixers_known = true;
		add(st, member, n, false);
		add(st, member, n, true);
		return FAIL_NONE;
	}
	if (code == FAIL_TIMEOUT) { /* see kafka_group_members() */
		kafka_close(s->election);
		s->election = NULL;
	}
	warn(s, f->text);
	return FAIL_NONE;
}
