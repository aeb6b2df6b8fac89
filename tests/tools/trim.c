/*
 * trim -- deletes the records of a partition below an offset, as retention does.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 trim TOPIC PARTITION OFFSET [PARTITION OFFSET]...
 *
 * Exit 1 with a sentence on any failure.
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/kafka/kafka.h"

enum { WAIT_MS = 30000 };

static _Noreturn void
end_with(const char *why)
{
	fprintf(stderr, "trim: %s\n", why);
	exit(1);
}

static rd_kafka_t *
open_admin(void)
{
	static char name[] = "bootstrap.servers";
	struct property property = {name, getenv("RIFFLE_BOOTSTRAP")};
	struct properties properties = {property.value == NULL ? 0 : 1, &property};
	struct kafka_options o = {.role = KAFKA_ADMIN, .client = "trim", .properties = &properties};
	struct failure f;
	rd_kafka_t *rk;

	if (kafka_open(&rk, &o, &f) != FAIL_NONE || kafka_wait_broker(rk, WAIT_MS, &f) != FAIL_NONE)
		end_with(f.text);
	return rk;
}

static void
check_answer(rd_kafka_event_t *event)
{
	const rd_kafka_topic_partition_list_t *list;

	if (event == NULL)
		end_with("no answer");
	if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR)
		end_with(rd_kafka_event_error_string(event));
	list = rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event));
	for (int i = 0; i < list->cnt; i++)
		if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR)
			end_with(rd_kafka_err2str(list->elems[i].err));
}

int
main(int argc, char **argv)
{
	rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(8);
	rd_kafka_DeleteRecords_t *request;
	rd_kafka_queue_t *answers;
	rd_kafka_event_t *event;
	rd_kafka_t *rk;

	if (argc < 4 || argc % 2 != 0) {
		fprintf(
		    stderr, "usage: %s TOPIC PARTITION OFFSET [PARTITION OFFSET]...\n", argv[0]);
		return 2;
	}
	rk = open_admin();
	for (int i = 2; i < argc; i += 2)
		rd_kafka_topic_partition_list_add(list, argv[1], (int32_t)strtol(argv[i], NULL, 10))
		    ->offset = strtoll(argv[i + 1], NULL, 10);
	request = rd_kafka_DeleteRecords_new(list);
	answers = rd_kafka_queue_new(rk);
	rd_kafka_DeleteRecords(rk, &request, 1, NULL, answers);
	event = rd_kafka_queue_poll(answers, WAIT_MS);
	check_answer(event);
	rd_kafka_event_destroy(event);
	rd_kafka_queue_destroy(answers);
	rd_kafka_DeleteRecords_destroy(request);
	rd_kafka_topic_partition_list_destroy(list);
	kafka_close(rk);
	return 0;
}
