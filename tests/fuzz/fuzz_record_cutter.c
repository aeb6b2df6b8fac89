/*
 * Lines and whole files: the records, their places and the reasons against them are the same
 * whatever the pieces in which the bytes come, and none is longer than allowed.
 */
#include <stdbool.h>
#include <string.h>

#include "producer/input/record_cutter.h"
#include "tests/fuzz/fuzz.h"

enum { DOCUMENT_MAX = 48, TEXT_MAX = 1 << 20 };

struct cut {
	char text[TEXT_MAX];
	size_t n;
};

static void
note(struct cut *to, const struct chunk *k)
{
	FUZZ_CHECK(k->n > 0 && k->n <= RECORD_CUTTER_RECORDS_MAX);
	for (size_t i = 0; i < k->n; i++) {
		const struct chunk_record *r = &k->record[i];

		FUZZ_CHECK(r->reject != NULL || r->n <= DOCUMENT_MAX);
		to->n += (size_t)snprintf(to->text + to->n, TEXT_MAX - to->n,
		    "%d:%d:%d:%s:", (int)r->document, (int)r->byte, (int)r->line,
		    r->reject == NULL ? "" : r->reject);
		if (r->reject != NULL) /* how much of it is kept is no promise */
			continue;
		FUZZ_CHECK(to->n + r->n < TEXT_MAX);
		memcpy(to->text + to->n, r->bytes, r->n);
		to->n += r->n;
	}
}

static void
take(struct cut *to, struct record_cutter *c)
{
	struct chunk *k = NULL;
	struct failure f;

	FUZZ_CHECK(record_cutter_take(c, 0, &k, &f) == FAIL_NONE);
	if (k == NULL)
		return;
	note(to, k);
	chunk_close(k);
}

static void
cut(struct cut *to, enum chunk_form form, const uint8_t *data, size_t n, size_t piece,
    uint64_t each)
{
	struct record_cutter *c;
	struct failure f;

	to->n = 0;
	FUZZ_CHECK(record_cutter_open(&c, DOCUMENT_MAX, each, &f) == FAIL_NONE);
	record_cutter_start(c, "x", form, 0, 1);
	for (size_t at = 0; at < n && record_cutter_wants(c); at += piece) {
		size_t some = n - at < piece ? n - at : piece, room;
		bool full;
		char *out;

		FUZZ_CHECK(record_cutter_room(c, &out, &room, &f) == FAIL_NONE && room >= some);
		memcpy(out, data + at, some);
		record_cutter_feed(c, some);
		do {
			FUZZ_CHECK(record_cutter_cut(c, &full, &f) == FAIL_NONE);
			if (full)
				take(to, c);
		} while (full);
	}
	FUZZ_CHECK(record_cutter_end(c, NULL, &f) == FAIL_NONE);
	take(to, c);
	record_cutter_close(c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct cut whole, parts;
	enum chunk_form form;

	if (n == 0 || n > 8192)
		return -1;
	form = data[0] % 2 == 0 ? CHUNK_JSON_LINES : CHUNK_WHOLE_FILE;
	cut(&whole, form, data + 1, n - 1, RECORD_CUTTER_ROOM_BYTES, 1 << 20);
	cut(&parts, form, data + 1, n - 1, 1 + data[0] / 2 % 13, 16 + data[0]);
	FUZZ_CHECK(whole.n == parts.n && memcmp(whole.text, parts.text, whole.n) == 0);
	return 0;
}
