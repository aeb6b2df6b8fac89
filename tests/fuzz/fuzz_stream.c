/*
 * .gz and .zst framing: the same bytes whatever the size of the reads, and after damage a failure
 * in both; never more than asked for.
 */
#include <string.h>

#include "producer/input/stream.h"
#include "tests/fuzz/fuzz.h"

enum { OUT_MAX = 1 << 20 /* a small file can hold gigabytes */ };

struct result {
	enum fail_code code;
	char text[FAILURE_TEXT_MAX];
	size_t n;
	char out[OUT_MAX];
};

static void
read_all(struct result *r, const char *path, size_t each)
{
	struct stream *s = NULL;
	struct failure f = {0};
	size_t got = 1;

	r->n = 0;
	r->code = stream_open_file(&s, path, "input", &f);
	while (r->code == FAIL_NONE && got > 0 && r->n < OUT_MAX) {
		size_t room = OUT_MAX - r->n < each ? OUT_MAX - r->n : each;

		r->code = stream_read(s, r->out + r->n, room, &got, &f);
		FUZZ_CHECK(r->code != FAIL_NONE || got <= room);
		r->n += r->code == FAIL_NONE ? got : 0;
	}
	snprintf(r->text, sizeof(r->text), "%s", r->code == FAIL_NONE ? "" : f.text);
	stream_close(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct result whole, parts;
	const char *path = fuzz_file(data, n);

	read_all(&whole, path, OUT_MAX);
	FUZZ_CHECK(whole.code == FAIL_NONE || whole.code == FAIL_DATA);
	FUZZ_CHECK(whole.code == FAIL_NONE || whole.text[0] != '\0');
	read_all(&parts, path, 1 + n % 97);
	FUZZ_CHECK(whole.n == parts.n && memcmp(whole.out, parts.out, whole.n) == 0);
	FUZZ_CHECK(whole.code == parts.code || whole.n == OUT_MAX);
	return 0;
}
