/* UTF-8: the scanner against a decoder of one character at a time, and what replacing promises. */
#include <stdbool.h>
#include <string.h>

#include "common/base/utf8.h"
#include "tests/fuzz/fuzz.h"

/* Bytes of the character that begins text[n]; 0: none does. */
static size_t
character(const uint8_t *text, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t length = text[0] < 0x80         ? 1
			: text[0] >> 5 == 0x6  ? 2
			: text[0] >> 4 == 0xe  ? 3
			: text[0] >> 3 == 0x1e ? 4
					       : 0;
	uint32_t value = length < 2 ? text[0] : text[0] & (0x7fU >> length);

	if (length == 0 || length > n)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	return length;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char *text = malloc(n + 1), *out = malloc(n * UTF8_REPLACED_FACTOR + 1);
	size_t valid = 0, more, written;

	FUZZ_CHECK(text != NULL && out != NULL);
	memcpy(text, data, n);
	while (valid < n && (more = character(data + valid, n - valid)) > 0)
		valid += more;
	FUZZ_CHECK(utf8_valid_bytes(text, n) == valid);
	written = utf8_replace(out, text, n);
	FUZZ_CHECK(written <= n * UTF8_REPLACED_FACTOR);
	FUZZ_CHECK(utf8_valid(out, written));
	FUZZ_CHECK(valid < n ? written >= valid + 3 : written == n);
	FUZZ_CHECK(memcmp(out, text, valid) == 0);
	free(text);
	free(out);
	return 0;
}
