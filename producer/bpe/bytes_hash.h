/*
 * bytes_hash.h -- a hash of a few bytes for the tokenizer's own tables.
 *
 * It never leaves the process, so that it may differ between machines and versions. It has no
 * secret: a text that is made to collide slows a cache down, and changes no id.
 */
#ifndef PRODUCER_BPE_BYTES_HASH_H
#define PRODUCER_BPE_BYTES_HASH_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Odd numbers of 64 random bits (digits of pi, as in Blowfish's subkeys). */
#define BYTES_HASH_A UINT64_C(0x243F6A8885A308D3)
#define BYTES_HASH_B UINT64_C(0x13198A2E03707345)

static inline uint64_t
bytes_hash_mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * BYTES_HASH_A;
	return h ^ h >> 32;
}

/*
 * Eight bytes at a time; the last eight may overlap those before, so that no byte is read alone.
 * All 64 bits of the result depend on all bytes: tables may use any of them.
 */
static inline uint64_t
bytes_hash(const uint8_t *p, size_t n)
{
	uint64_t h = BYTES_HASH_B ^ n, word = 0;

	if (n < 8) {
		for (size_t i = 0; i < n; i++)
			word |= (uint64_t)p[i] << 8 * i;
		return bytes_hash_mix(h, word) * BYTES_HASH_B;
	}
	for (size_t at = 0; at + 8 < n; at += 8) {
		memcpy(&word, p + at, 8);
		h = bytes_hash_mix(h, word);
	}
	memcpy(&word, p + n - 8, 8);
	return bytes_hash_mix(h, word) * BYTES_HASH_B;
}

/* The same, faster where n > 0 is small: all bytes up to `end` may be read. */
static inline uint64_t
bytes_hash_within(const uint8_t *p, size_t n, const uint8_t *end)
{
	uint64_t word;

	if (n >= 8 || end - p < 8)
		return bytes_hash(p, n);
	memcpy(&word, p, 8);
	word = le64toh(word) & ((UINT64_C(1) << 8 * n) - 1);
	return bytes_hash_mix(BYTES_HASH_B ^ n, word) * BYTES_HASH_B;
}

#endif
