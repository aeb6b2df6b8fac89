/*
 * Part of status_query: records of <corpus>.arrivals that producers pass over, because another
 * program wrote them.
 *
 * The topic is never trimmed and grows by up to 86,400 records a day, so the first look takes the
 * last LOOK_BACK records alone, and each later one what is new. Producers read all of the topic,
 * and warn of older records when they start (PRODUCE-ARRIVALS).
 */
#include "consumer/status/status_query_internal.h"

#include "common/base/log.h"
#include "common/record/arrivals.h"

enum { LOOK_BACK = 1000 };

static bool
take(const rd_kafka_message_t *m, void *to)
{
	struct status_arrivals *a = to;
	struct arrivals ignored;
	struct failure why;

	a->next = m->offset + 1;
	if (arrivals_decode(&ignored, m->payload, m->len, &why) == FAIL_NONE)
		return true;
	if (a->foreign++ == 0)
		a->first_offset = m->offset;
	return true;
}

enum fail_code
status_arrivals_read(struct status_query *q, struct status *st, struct failure *f)
{
	const struct status_ends *e = &q->ends[STATUS_ENDS_ARRIVALS];
	struct status_arrivals *a = &q->arrivals;
	const char *topic;
	enum fail_code code = FAIL_NONE;

	st->arrivals_foreign = -1;
	if (e->low < 0 || status_query_topic(st, TOPIC_ARRIVALS, -1, &topic) == NULL)
		return FAIL_NONE;
	if (e->high < a->next) /* another topic of that name */
		*a = (struct status_arrivals){.warned = a->warned};
	if (a->next == 0)
		a->next = e->high - LOOK_BACK;
	if (a->next < e->low)
		a->next = e->low;
	if (a->next < e->high)
		code = status_query_range(q->reader, topic, a->next, e->high, take, a,
		    &st->late[STATUS_PART_ARRIVALS], f);
	if (code == FAIL_DENIED) {
		if (!a->warned)
			log_warning("status: STATUS-ARRIVALS-HIDDEN %s: cannot tell whether "
				    "another program has written there",
			    f->text);
		a->warned = true;
		return FAIL_NONE;
	}
	if (code != FAIL_NONE)
		return code;
	if (!st->late[STATUS_PART_ARRIVALS])
		a->next = e->high; /* the last offsets may hold no visible record */
	st->arrivals_foreign = a->foreign;
	st->arrivals_offset = a->first_offset;
	return FAIL_NONE;
}
