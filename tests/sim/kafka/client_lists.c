/* Lists of partitions, headers of messages. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/kafka/client.h"

rd_kafka_topic_partition_list_t *
rd_kafka_topic_partition_list_new(int size)
{
	rd_kafka_topic_partition_list_t *l = calloc(1, sizeof(*l));

	if (l == NULL)
		abort();
	l->size = size < 1 ? 1 : size;
	l->elems = calloc((size_t)l->size, sizeof(*l->elems));
	if (l->elems == NULL)
		abort();
	return l;
}

void
rd_kafka_topic_partition_list_destroy(rd_kafka_topic_partition_list_t *l)
{
	for (int i = 0; i < l->cnt; i++) {
		free(l->elems[i].topic);
		free(l->elems[i].metadata);
	}
	free(l->elems);
	free(l);
}

rd_kafka_topic_partition_t *
rd_kafka_topic_partition_list_add(
    rd_kafka_topic_partition_list_t *l, const char *topic, int32_t partition)
{
	rd_kafka_topic_partition_t *p;

	if (l->cnt == l->size) {
		l->size *= 2;
		p = realloc(l->elems, (size_t)l->size * sizeof(*p));
		if (p == NULL)
			abort();
		l->elems = p;
	}
	p = &l->elems[l->cnt++];
	memset(p, 0, sizeof(*p));
	p->topic = strdup(topic);
	p->partition = partition;
	p->offset = RD_KAFKA_OFFSET_INVALID;
	return p;
}

rd_kafka_topic_partition_t *
rd_kafka_topic_partition_list_find(
    const rd_kafka_topic_partition_list_t *l, const char *topic, int32_t partition)
{
	for (int i = 0; i < l->cnt; i++)
		if (l->elems[i].partition == partition && strcmp(l->elems[i].topic, topic) == 0)
			return &l->elems[i];
	return NULL;
}

rd_kafka_topic_partition_list_t *
rd_kafka_topic_partition_list_copy(const rd_kafka_topic_partition_list_t *src)
{
	rd_kafka_topic_partition_list_t *l = rd_kafka_topic_partition_list_new(src->cnt);

	for (int i = 0; i < src->cnt; i++) {
		const rd_kafka_topic_partition_t *from = &src->elems[i];
		rd_kafka_topic_partition_t *to =
		    rd_kafka_topic_partition_list_add(l, from->topic, from->partition);

		to->offset = from->offset;
		to->err = from->err;
		to->opaque = from->opaque;
		if (from->metadata == NULL)
			continue;
		to->metadata = calloc(1, from->metadata_size + 1);
		if (to->metadata == NULL)
			abort();
		memcpy(to->metadata, from->metadata, from->metadata_size);
		to->metadata_size = from->metadata_size;
	}
	return l;
}

/* ---- headers ---- */

rd_kafka_headers_t *
rd_kafka_headers_new(size_t initial_count)
{
	rd_kafka_headers_t *h = calloc(1, sizeof(*h));

	if (h == NULL)
		abort();
	h->room = initial_count < 1 ? 1 : initial_count;
	h->header = calloc(h->room, sizeof(*h->header));
	return h;
}

void
rd_kafka_headers_destroy(rd_kafka_headers_t *h)
{
	for (size_t i = 0; i < h->n; i++) {
		free(h->header[i].name);
		free(h->header[i].value);
	}
	free(h->header);
	free(h);
}

rd_kafka_resp_err_t
rd_kafka_header_add(rd_kafka_headers_t *h, const char *name, ssize_t name_size, const void *value,
    ssize_t value_size)
{
	size_t name_n = name_size < 0 ? strlen(name) : (size_t)name_size;
	size_t value_n = value == NULL ? 0 : value_size < 0 ? strlen(value) : (size_t)value_size;
	struct cluster_header *to;

	if (h->n == h->room) {
		h->room *= 2;
		h->header = realloc(h->header, h->room * sizeof(*h->header));
		if (h->header == NULL)
			abort();
	}
	to = &h->header[h->n++];
	to->name = strndup(name, name_n);
	to->value = value == NULL ? NULL : calloc(1, value_n + 1);
	to->value_n = value_n;
	if (to->name == NULL || (value != NULL && to->value == NULL))
		abort();
	if (value_n > 0)
		memcpy(to->value, value, value_n);
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_header_get_all(
    const rd_kafka_headers_t *h, size_t idx, const char **name, const void **valuep, size_t *sizep)
{
	if (idx >= h->n)
		return RD_KAFKA_RESP_ERR__NOENT;
	*name = h->header[idx].name;
	*valuep = h->header[idx].value;
	*sizep = h->header[idx].value_n;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t
rd_kafka_header_get_last(
    const rd_kafka_headers_t *h, const char *name, const void **valuep, size_t *sizep)
{
	for (size_t i = h->n; i-- > 0;)
		if (strcmp(h->header[i].name, name) == 0)
			return rd_kafka_header_get_all(h, i, &name, valuep, sizep);
	return RD_KAFKA_RESP_ERR__NOENT;
}

rd_kafka_resp_err_t
rd_kafka_message_headers(const rd_kafka_message_t *rkmessage, rd_kafka_headers_t **hdrsp)
{
	*hdrsp = ((const struct client_message *)rkmessage)->headers;
	return *hdrsp == NULL ? RD_KAFKA_RESP_ERR__NOENT : RD_KAFKA_RESP_ERR_NO_ERROR;
}
