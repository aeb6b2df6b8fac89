/*
 * frame.h -- the tokens of one sequence as bytes: little-endian, 2 or 3 wide, one zstd frame.
 *
 * Width is 2 where the vocabulary has at most 65,536 entries, else 3; zstd level 1 without entropy
 * coding of literals, with the content size in the frame, no checksum (the record's XXH64 covers
 * it). A frame is compressed once, by the producer, and copied as it is by the mixer. Frames of any
 * other zstd setting are read, too.
 *
 * Thread: a codec belongs to one thread; the functions without one may be called from any.
 */
#ifndef COMMON_RECORD_FRAME_H
#define COMMON_RECORD_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "common/base/failure.h"
#include "common/base/limits.h"

enum { FRAME_TOKENS_MAX = LIMIT_SEQUENCE + 1 }; /* S + 1 for the largest S */

struct frame_codec;

enum fail_code frame_codec_open(struct frame_codec **out, struct failure *f);
void frame_codec_close(struct frame_codec *c);

/* 2 or 3 for a vocabulary of `entries` ids (largest id + 1). */
unsigned frame_width(uint32_t entries);

/* Room that frame_encode() may need for `count` tokens. */
size_t frame_bound(size_t count, unsigned width);

/*
 * Encodes tokens[count] into out[room], room >= frame_bound(); *size_bytes is what it took.
 * FAIL_DATA: a token is not below 1 << 8 * width.
 */
enum fail_code frame_encode(struct frame_codec *c, const uint32_t *tokens, size_t count,
    unsigned width, uint8_t *out, size_t room, size_t *size_bytes, struct failure *f);

/*
 * Decodes exactly `count` tokens into out: element size `out_bytes` is 2, 4 or 8, native order.
 * Never writes past count elements nor allocates by what the frame claims. FAIL_DATA: not a zstd
 * frame, another number of tokens, trailing bytes, or a token that does not fit out_bytes.
 */
enum fail_code frame_decode(struct frame_codec *c, const uint8_t *frame, size_t size_bytes,
    size_t count, unsigned width, void *out, unsigned out_bytes, struct failure *f);

/* XXH64, seed 0. */
uint64_t frame_hash(const uint8_t *frame, size_t size_bytes);

#endif
