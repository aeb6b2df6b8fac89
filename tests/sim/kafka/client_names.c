/* Names and texts of the error codes that occur. */
#include "tests/sim/kafka/client.h"

struct name {
	rd_kafka_resp_err_t err;
	const char *name, *text;
};

#define NAME(code, text)                                                                           \
	{                                                                                          \
		RD_KAFKA_RESP_ERR_##code, #code, text                                              \
	}

static const struct name names[] = {
    NAME(NO_ERROR, "Success"),
    NAME(_TRANSPORT, "Local: Broker transport failure"),
    NAME(_TIMED_OUT, "Local: Timed out"),
    NAME(_MSG_TIMED_OUT, "Local: Message timed out"),
    NAME(_PARTITION_EOF, "Broker: No more messages"),
    NAME(_AUTO_OFFSET_RESET, "Local: No offset to automatically reset to"),
    NAME(_UNKNOWN_TOPIC, "Local: Unknown topic"),
    NAME(_UNKNOWN_PARTITION, "Local: Unknown partition"),
    NAME(_QUEUE_FULL, "Local: Queue full"),
    NAME(_PURGE_QUEUE, "Local: Purged in queue"),
    NAME(_PURGE_INFLIGHT, "Local: Purged in flight"),
    NAME(_FATAL, "Local: Fatal error"),
    NAME(_FENCED, "Local: This instance has been fenced by a newer instance"),
    NAME(_STATE, "Local: Erroneous state"),
    NAME(_CONFLICT, "Local: Conflicting use"),
    NAME(_NOT_CONFIGURED, "Local: Functionality not configured"),
    NAME(_NOT_IMPLEMENTED, "Local: Not implemented"),
    NAME(_INVALID_ARG, "Local: Invalid argument or configuration"),
    NAME(_NO_OFFSET, "Local: No offset stored"),
    NAME(_NOENT, "Local: No such entry"),
    NAME(_ALL_BROKERS_DOWN, "Local: All broker connections are down"),
    NAME(UNKNOWN_TOPIC_OR_PART, "Broker: Unknown topic or partition"),
    NAME(OFFSET_OUT_OF_RANGE, "Broker: Offset out of range"),
    NAME(LEADER_NOT_AVAILABLE, "Broker: Leader not available"),
    NAME(NOT_LEADER_FOR_PARTITION, "Broker: Not leader for partition"),
    NAME(KAFKA_STORAGE_ERROR, "Broker: Disk error when trying to access log file on disk"),
    NAME(REQUEST_TIMED_OUT, "Broker: Request timed out"),
    NAME(MSG_SIZE_TOO_LARGE, "Broker: Message size too large"),
    NAME(OFFSET_METADATA_TOO_LARGE, "Broker: Offset metadata string too large"),
    NAME(TOPIC_EXCEPTION, "Broker: Invalid topic"),
    NAME(INVALID_REPLICATION_FACTOR, "Broker: Invalid replication factor"),
    NAME(INVALID_CONFIG, "Broker: Configuration is invalid"),
    NAME(INVALID_TRANSACTION_TIMEOUT,
	"Broker: Transaction timeout is larger than the maximum value allowed by the broker's "
	"max.transaction.timeout.ms"),
    NAME(COORDINATOR_NOT_AVAILABLE, "Broker: Coordinator not available"),
    NAME(NOT_COORDINATOR, "Broker: Not coordinator"),
    NAME(TOPIC_ALREADY_EXISTS, "Broker: Topic already exists"),
    NAME(INVALID_PARTITIONS, "Broker: Invalid number of partitions"),
    NAME(OUT_OF_ORDER_SEQUENCE_NUMBER, "Broker: Broker received an out of order sequence number"),
    NAME(DUPLICATE_SEQUENCE_NUMBER, "Broker: Broker received a duplicate sequence number"),
    NAME(INVALID_PRODUCER_EPOCH, "Broker: Producer attempted an operation with an old epoch"),
    NAME(INVALID_TXN_STATE, "Broker: Producer attempted a transactional operation in an invalid "
			    "state"),
    NAME(INVALID_PRODUCER_ID_MAPPING, "Broker: Producer attempted to use a producer id which is "
				      "not currently assigned to its transactional id"),
    NAME(CONCURRENT_TRANSACTIONS,
	"Broker: Producer attempted to update a transaction while "
	"another concurrent operation on the same transaction was ongoing"),
    NAME(PRODUCER_FENCED, "Broker: There is a newer producer with the same transactional id"),
};

static const struct name *
find(rd_kafka_resp_err_t err)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].err == err)
			return &names[i];
	return NULL;
}

const char *
rd_kafka_err2name(rd_kafka_resp_err_t err)
{
	const struct name *n = find(err);

	return n == NULL ? "_UNKNOWN" : n->name;
}

const char *
rd_kafka_err2str(rd_kafka_resp_err_t err)
{
	const struct name *n = find(err);

	return n == NULL ? "an error that the simulation has no text for" : n->text;
}
