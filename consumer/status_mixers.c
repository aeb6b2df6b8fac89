/* Which mixers of a mix run, by the members of its election. */
#include <stdio.h>
#include <string.h>

#include "common/kafka_groups.h"
#include "consumer/election_group.h"
#include "consumer/status_source.h"

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

void
status_ask_mixers(struct status_source *s, struct status *st)
{
	struct kafka_member member[STATUS_MIXERS];
	char group[TOPIC_MAX_BYTES + 1];
	struct failure ignored; /* a right that no other question needs is no reason to fail */
	size_t n;

	names_topic(group, st->config->mix.name, "election");
	if (kafka_group_members(
		s->reader, group, member, STATUS_MIXERS, &n, STATUS_ASK_MS, &ignored) != FAIL_NONE)
		return;
	st->mixers_known = true;
	add(st, member, n, false);
	add(st, member, n, true);
}
