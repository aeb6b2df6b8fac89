#include "producer/utf8.h"

#include <stdint.h>
#include <string.h>

static const char replacement[3] = {'\xEF', '\xBF', '\xBD'};

/* Bytes of ASCII at the start, eight at a time. */
static size_t
ascii_length(const uint8_t *text, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; n - i >= 8; i += 8) {
		memcpy(&word, text + i, 8);
		if ((word & UINT64_C(0x8080808080808080)) != 0)
			break;
	}
	while (i < n && text[i] < 0x80)
		i++;
	return i;
}

/* Bytes that a lead byte announces; 0: it is no lead byte. */
static size_t
announced(uint8_t lead)
{
	if (lead >= 0xC2 && lead <= 0xDF)
		return 2;
	if (lead >= 0xE0 && lead <= 0xEF)
		return 3;
	if (lead >= 0xF0 && lead <= 0xF4)
		return 4;
	return 0;
}

/* Whether `second` may follow `lead`: table 3-7 narrows it for E0, ED, F0 and F4. */
static int
second_fits(uint8_t lead, uint8_t second)
{
	uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
	uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;

	return second >= low && second <= high;
}

/* Bytes of the sequence that begins here: *whole, or a maximal subpart of at least 1. */
static size_t
sequence_length(const uint8_t *text, size_t n, int *whole)
{
	size_t want = announced(text[0]), have = 1;

	*whole = 0;
	if (want == 0 || n < 2 || !second_fits(text[0], text[1]))
		return 1;
	for (have = 2; have < want; have++)
		if (have >= n || (text[have] & 0xC0) != 0x80)
			return have;
	*whole = 1;
	return want;
}

size_t
utf8_valid_length(const char *text, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t i = 0;

	for (;;) {
		int whole;
		size_t length;

		i += ascii_length(bytes + i, n - i);
		if (i == n)
			return n;
		length = sequence_length(bytes + i, n - i, &whole);
		if (!whole)
			return i;
		i += length;
	}
}

size_t
utf8_replace(char *out, const char *text, size_t n)
{
	size_t at = 0, used = 0;

	while (at < n) {
		size_t good = utf8_valid_length(text + at, n - at);
		int whole;

		memcpy(out + used, text + at, good);
		used += good;
		at += good;
		if (at == n)
			break;
		at += sequence_length((const uint8_t *)text + at, n - at, &whole);
		memcpy(out + used, replacement, sizeof(replacement));
		used += sizeof(replacement);
	}
	return used;
}
