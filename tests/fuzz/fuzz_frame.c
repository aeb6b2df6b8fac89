/*
 * Frames: three bytes say how many tokens of which width into which size; the rest is the frame. It
 * has just those tokens or is refused, and never is more than asked for written.
 */
#include <string.h>

#include "common/record/frame.h"
#include "tests/fuzz/fuzz.h"

enum { COUNT_MAX = 4096, GUARD_BYTES = 64, GUARD = 0xa5 };

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const unsigned sizes[] = {2, 4, 8};
	static struct frame_codec *codec;
	struct failure f = {0};
	size_t count, out_n;
	unsigned width, size;
	uint8_t *out, *frame;
	enum fail_code code;

	if (n < 3)
		return -1;
	if (codec == NULL)
		FUZZ_CHECK(frame_codec_open(&codec, &f) == FAIL_NONE);
	count = 1 + (size_t)(data[0] | data[1] << 8) % COUNT_MAX;
	width = 2 + data[2] % 2;
	size = sizes[data[2] / 2 % 3];
	out_n = count * size;
	out = malloc(out_n + GUARD_BYTES);
	frame = malloc(n - 3 + 1);
	FUZZ_CHECK(out != NULL && frame != NULL);
	memset(out + out_n, GUARD, GUARD_BYTES);
	memcpy(frame, data + 3, n - 3);
	code = frame_decode(codec, frame, n - 3, count, width, out, size, &f);
	FUZZ_CHECK(code == FAIL_NONE || code == FAIL_DATA);
	FUZZ_CHECK(code == FAIL_NONE || f.text[0] != '\0');
	for (size_t i = 0; i < GUARD_BYTES; i++)
		FUZZ_CHECK(out[out_n + i] == GUARD);
	free(out);
	free(frame);
	return 0;
}
