/*
 * token_format.h -- the layout of token files of other projects, as both ways need it.
 *
 * All numbers are little-endian. What a file of tokens T[0..n) looks like:
 *
 *   megatron  NAME.bin: the tokens. NAME.idx: "MMIDIDX\0\0", u64 version 1, u8 type of a token, u64
 *             sequences, u64 entries of the last table; then i32 tokens of each sequence, i64 byte
 *             of each sequence in NAME.bin, and i64 the first sequence of each document, with the
 *             number of sequences as the last entry. (Multimodal files have i8 modes behind it.)
 *   ds        NAME.ds: the tokens, u16 or u32. NAME.ds.index: u64 for each document, where it ends,
 *             in tokens. NAME.ds.metadata: text; "NAME OF THE TOKENIZER|BYTES OF A TOKEN", then
 *             lines with the number of tokens, exact and rounded.
 *   npy       NAME.npy: the tokens, u16 or u32, and nothing else; or a header of NumPy's format 1.0
 *             to 3.0 ("\x93NUMPY") with a one-dimensional array of integers.
 *   llmc      NAME.bin: 256 i32 of which the first three are magic, version and number of tokens;
 *             then the tokens: u16 under magic 20240520 version 1, u32 under 20240801 version 7.
 *
 * Sources: Megatron-LM, megatron/core/datasets/readme.md and indexed_dataset.py; datatrove,
 * src/datatrove/pipeline/tokens/tokenizer.py (which Nanotron's datasets read); OLMo-core,
 * docs/source/guides/data_loading.rst; NumPy, numpy.lib.format; llm.c, dev/data/data_common.py.
 */
#ifndef COMMON_RECORD_TOKEN_FORMAT_H
#define COMMON_RECORD_TOKEN_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#define TOKEN_FORMAT_MEGATRON_MAGIC "MMIDIDX\0" /* nine bytes: the literal's own 0 is the last */
#define TOKEN_FORMAT_NPY_MAGIC      "\x93NUMPY"

enum {
	TOKEN_FORMAT_MEGATRON_MAGIC_BYTES = 9,
	TOKEN_FORMAT_MEGATRON_VERSION = 1,
	TOKEN_FORMAT_MEGATRON_HEADER_BYTES = 9 + 8 + 1 + 8 + 8,
	TOKEN_FORMAT_NPY_MAGIC_BYTES = 6,
	TOKEN_FORMAT_LLMC_NUMBERS = 256,
	TOKEN_FORMAT_LLMC_HEADER_BYTES = 4 * TOKEN_FORMAT_LLMC_NUMBERS,
	TOKEN_FORMAT_LLMC_MAGIC_U16 = 20240520,
	TOKEN_FORMAT_LLMC_VERSION_U16 = 1,
	TOKEN_FORMAT_LLMC_MAGIC_U32 = 20240801,
	TOKEN_FORMAT_LLMC_VERSION_U32 = 7,
};

/* What `tokens` of a domain can be. NONE: text; JSONL: JSON lines of tokens, riffle's own. */
enum token_format {
	TOKEN_FORMAT_NONE,
	TOKEN_FORMAT_JSONL,
	TOKEN_FORMAT_MEGATRON, /* this and all below: `--format` of an export, too */
	TOKEN_FORMAT_DS,
	TOKEN_FORMAT_NPY,
	TOKEN_FORMAT_LLMC,
};

/* Files with one of the layouts above, not lines of records. */
static inline bool
token_format_is_file(enum token_format format)
{
	return format >= TOKEN_FORMAT_MEGATRON;
}

/* Their words in the configuration and on the command line, an entry a constant; ends with NULL. */
extern const char *const token_format_names[];

/* Megatron's codes for the type of a token. */
enum token_format_type {
	TOKEN_FORMAT_U8 = 1,
	TOKEN_FORMAT_I8 = 2,
	TOKEN_FORMAT_I16 = 3,
	TOKEN_FORMAT_I32 = 4,
	TOKEN_FORMAT_I64 = 5,
	TOKEN_FORMAT_U16 = 8,
};

static inline uint64_t
token_format_get(const uint8_t *at, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)at[i] << (8 * i);
	return value;
}

static inline void
token_format_put(uint8_t *at, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

#endif
