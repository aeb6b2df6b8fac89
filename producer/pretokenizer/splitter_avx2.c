/*
 * The splitters over 64 bytes at once, for x86-64 with AVX2; splitter.h has the patterns.
 *
 * The scalar way takes some ten branches for each piece, and as pieces are words they can hardly
 * be predicted. Here 64 bytes are a block: each byte's class becomes a bit in a 64-bit word for
 * each class, and where pieces begin follows from shifting and masking these words, without a
 * branch that depends on the text. Bit i of x << 1 says what stands before byte i, bit i of x >> 1
 * what stands behind it. Example, gpt2, the first byte leftmost:
 *
 *     text                 a b _ _ 4 2 _ !       (_ is a space)
 *     letter               1 1 . . . . . .
 *     number               . . . . 1 1 . .
 *     other                . . . . . . . 1
 *     white                . . 1 1 . . 1 .
 *
 *     starts of the first  1 . . . 1 . . 1       x & ~(x << 1) of letter, number and other
 *     behind a space       . . . 1 1 . . 1       space << 1
 *     (1) words            1 . . . . . . .       starts that have no space before them
 *     (2) white starts     . . 1 . . . 1 .       white & ~(white << 1)
 *     (3) white ends       . . . 1 . . 1 .       white & ~(white >> 1): the space that the next
 *                                                piece begins with
 *     begins, 1 | 2 | 3    1 . 1 1 . . 1 .       ab | _ | _42 | _!
 *
 * How far a block is right. A block begins where a piece begins, and no pattern looks behind, so
 * that nothing before it matters. At its other end some bits depend on bytes that are not in it: so
 * beginnings count only up to `certain`, and the next block begins at the last one that does. Some
 * bytes are then looked at twice, but nothing is ever carried from block to block.
 *
 * What is left to the scalar way. A character above ASCII sets the bits of all its bytes, in a loop
 * (add_wide). White space and numbers above ASCII, and for o200k letters with case beside letters
 * without, are rare and would need rules of their own: they end what is known of the block. If no
 * beginning is certain then, as in a piece longer than a block, splitter_piece() cuts one piece,
 * and the next block begins behind it. qwen2 has no way here and is all scalar.
 *
 * All functions are inlined into one for each pattern, where `pattern` is a constant.
 */
#include "producer/pretokenizer/splitter_internal.h"

#if defined(__x86_64__)

#include <assert.h>
#include <immintrin.h>
#include <string.h>

/*
 * A beginning at byte i is certain where i + AHEAD bytes are known: a contraction of three bytes
 * needs two behind its apostrophe.
 */
enum { BLOCK = 64, AHEAD = 3 };

#define INLINE static inline __attribute__((always_inline))
#define AVX2   __attribute__((target("avx2,bmi,bmi2,popcnt")))

/*
 * Bit i is about byte i. Each byte below `known` is in exactly one of letter, number, white and
 * other. Words that are shifted hold rubbish above `known`, which begins() masks away.
 */
struct block {
	uint64_t letter, number, white, other;
	uint64_t upper, uncased; /* among the letters */
	uint64_t space;          /* ' ' */
	uint64_t newline;        /* \r and \n */
	uint64_t apostrophe, slash;
	uint64_t tail;  /* bytes of a character behind its first */
	unsigned known; /* bytes of the block that can be relied on */
};

/*
 * What one byte is, as bits. A byte of ASCII is of a class if its high nibble allows it and its low
 * nibble does: a table of 16 entries for each, looked up by a shuffle for 32 bytes at once, and the
 * AND of both. Letters need two bits, as 41 to 4F and 50 to 5A allow different low nibbles. Bytes
 * above ASCII have no bit: the tables of high nibbles are 0 from 8 on.
 */
enum {
	BIT_LETTER_A = 1,    /* 41-4F 61-6F */
	BIT_LETTER_P = 2,    /* 50-5A 70-7A */
	BIT_NUMBER = 4,      /* 30-39 */
	BIT_SPACE = 8,       /* 20 */
	BIT_NEWLINE = 16,    /* 0A 0D */
	BIT_BLANK = 32,      /* 09 0B 0C */
	BIT_APOSTROPHE = 64, /* 27 */
	BIT_SLASH = 128,     /* 2F */
};

INLINE AVX2 __m256i
look_at(__m256i bytes)
{
	const __m256i low = _mm256_broadcastsi128_si256(_mm_setr_epi8(2 | 4 | 8, 1 | 2 | 4,
	    1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4, 1 | 2 | 4 | 64, 1 | 2 | 4,
	    1 | 2 | 4 | 32, 1 | 2 | 16, 1 | 32, 1 | 32, 1 | 16, 1, (char)(1 | 128)));
	const __m256i high = _mm256_broadcastsi128_si256(
	    _mm_setr_epi8(16 | 32, 0, (char)(8 | 64 | 128), 4, 1, 2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0));
	__m256i nibble = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0F));

	return _mm256_and_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, nibble));
}

/* The bit that is `up` below the highest of each byte, for the 64 bytes of a and b. */
INLINE AVX2 uint64_t
bits(__m256i a, __m256i b, int up)
{
	uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(a, up));
	uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(b, up));

	return low | (uint64_t)high << 32;
}

/*
 * Adds the characters above ASCII to their classes, up to the first that is left to the scalar way.
 * `wide` has the bits of all their bytes. A mark counts as a letter of o200k if one without case is
 * before it, as it does in a word of either half.
 */
INLINE AVX2 void
add_wide(enum splitter_pattern pattern, struct block *b, const uint8_t *p, uint64_t wide)
{
	while (wide != 0) {
		unsigned at = (unsigned)_tzcnt_u64(wide);
		unsigned n = p[at] < 0xE0 ? 2 : p[at] < 0xF0 ? 3 : 4;
		enum unicode_class class = CLASS_SPACE;
		uint64_t mask = ((UINT64_C(1) << n) - 1) << at;

		if (at + n <= BLOCK)
			splitter_look(p + at, &class);
		if (class == CLASS_SPACE || class == CLASS_NUMBER) {
			b->known = at;
			return;
		}
		wide &= ~mask;
		if (class == CLASS_OTHER || (class == CLASS_MARK && pattern != SPLITTER_O200K)) {
			b->other |= mask;
			continue;
		}
		if (class == CLASS_MARK && (at == 0 || (b->uncased >> (at - 1) & 1) == 0)) {
			b->known = at;
			return;
		}
		b->letter |= mask;
		b->upper |= class == CLASS_UPPER ? mask : 0;
		b->uncased |= class == CLASS_LETTER || class == CLASS_MARK ? mask : 0;
	}
}

/* Fills the block of the 64 bytes at p. */
INLINE AVX2 void
fill(enum splitter_pattern pattern, struct block *b, const uint8_t *p)
{
	__m256i first = _mm256_loadu_si256((const __m256i *)(const void *)p);
	__m256i second = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
	__m256i x = look_at(first), y = look_at(second);
	uint64_t wide = bits(first, second, 0);

	b->letter = bits(_mm256_or_si256(x, _mm256_slli_epi16(x, 1)),
	    _mm256_or_si256(y, _mm256_slli_epi16(y, 1)), 6);
	b->upper = b->letter & ~bits(first, second, 2);
	b->uncased = 0;
	b->number = bits(x, y, 5);
	b->space = bits(x, y, 4);
	b->newline = bits(x, y, 3);
	b->white = b->space | b->newline | bits(x, y, 2);
	b->apostrophe = bits(x, y, 1);
	b->slash = bits(x, y, 0);
	b->other = ~(b->letter | b->number | b->white | wide);
	b->tail = wide & ~bits(first, second, 1);
	b->known = BLOCK;
	if (__builtin_expect(wide != 0, 0))
		add_wide(pattern, b, p, wide);
}

/* The number of the highest bit; x is not 0. */
INLINE unsigned
highest(uint64_t x)
{
	return BLOCK - 1 - (unsigned)__builtin_clzll(x);
}

/* Where runs of set bits in `x` begin. */
INLINE uint64_t
starts(uint64_t x)
{
	return x & ~(x << 1);
}

/*
 * The bits behind the runs of `x` that hold a bit of `from`, a subset of x. An addition does it:
 * the bit of `from` carries through the rest of its run and comes out behind it. Example, the
 * lowest bit leftmost: x 1 1 1 . 1 1 ., from . 1 . . . . ., x + from 1 . . 1 1 1 ., behind . . . 1
 * . . . .
 */
INLINE uint64_t
behind(uint64_t x, uint64_t from)
{
	return (x + from) & ~x;
}

/*
 * The bits behind the contractions that begin at apostrophes of `from`; *found: these apostrophes.
 * For o200k a contraction ends a word, and what begins where one ended is no end but a start.
 */
INLINE AVX2 uint64_t
behind_contractions(enum splitter_pattern pattern, const uint8_t *p, uint64_t from, uint64_t *found)
{
	uint64_t after = 0;
	unsigned end = 0;

	for (*found = 0; from != 0; from = _blsr_u64(from)) {
		unsigned at = (unsigned)_tzcnt_u64(from);
		size_t n = splitter_contraction(p + at, p + BLOCK, pattern != SPLITTER_GPT2);

		if (n == 0 || (pattern == SPLITTER_O200K && at == end))
			continue;
		end = at + (unsigned)n;
		*found |= UINT64_C(1) << at;
		after |= end < BLOCK ? UINT64_C(1) << end : 0;
	}
	return after;
}

/* As in the example above; then contractions, whose apostrophe begins a run without a space. */
INLINE AVX2 uint64_t
begins_gpt2(const struct block *b, const uint8_t *p)
{
	uint64_t runs = starts(b->letter) | starts(b->number) | starts(b->other);
	uint64_t begins =
	    (runs & ~(b->space << 1)) | starts(b->white) | (b->white & ~(b->white >> 1));
	uint64_t short_forms = b->apostrophe & starts(b->other) & ~(b->space << 1) & b->letter >> 1;
	uint64_t after, found;

	if (short_forms == 0)
		return begins;
	after = behind_contractions(SPLITTER_GPT2, p, short_forms, &found);
	return (begins & ~(found << 1)) | after;
}

/*
 * Each third number of a run, from its first on: a beginning moves on by three as long as the two
 * bytes before that place are numbers, too.
 */
INLINE uint64_t
begins_of_numbers(uint64_t number)
{
	uint64_t at = starts(number), begins = at;
	uint64_t inside = number & number << 1 & number << 2;

	while ((at = at << 3 & inside) != 0)
		begins |= at;
	return begins;
}

/*
 * White space of cl100k and o200k, apart from the newlines that a piece of other characters takes,
 * of which `taken` has the first. A piece begins at the start of a run, behind the last newline of
 * the run, and at the last byte of a run unless that is a newline. Example, n a newline:
 *
 *     a _ n _ n _ _ b      pieces a | _n_n | _ | _b
 *       1   .   1 1        the start; not behind the first newline; behind the second; the last
 *       byte
 */
INLINE AVX2 uint64_t
begins_of_white(const struct block *b, uint64_t taken)
{
	uint64_t blank = b->white & ~b->newline;
	uint64_t behind_newline = blank & b->newline << 1;
	uint64_t last = blank & ~(b->white >> 1);
	/* Newlines that follow blanks that follow a newline: behind that one no piece begins. */
	uint64_t between = behind(blank, behind_newline) & b->newline;

	for (; between != 0; between = _blsr_u64(between)) {
		uint64_t before = behind_newline & (_blsmsk_u64(between) >> 1);

		behind_newline &= ~(UINT64_C(1) << highest(before));
	}
	return (starts(b->white) & ~taken) | behind_newline | last;
}

/*
 * Where the run of `x` begins that reaches to byte `known`, which is not 0; `known` if none does.
 * 
 */
INLINE AVX2 unsigned
last_run(uint64_t x, unsigned known)
{
	uint64_t outside = ~x & (UINT64_MAX >> (BLOCK - known));

	return outside == 0 ? 0 : highest(outside) + 1;
}

/*
 * The letters that begin no piece, as one character of `free` before them begins it: the bit behind
 * the character, of which `free` has the first byte only.
 */
INLINE uint64_t
led_by(const struct block *b, uint64_t free)
{
	uint64_t second = free << 1, tail = second & b->tail;

	return ((second & ~b->tail) | behind(b->tail, tail)) & b->letter;
}

/*
 * cl100k. `free` are the other characters that begin a piece, and a letter behind a single one of
 * them belongs to it; so does a letter behind a blank. Newlines behind other characters belong to
 * these (`line_ends`), and a piece begins behind them.
 */
INLINE AVX2 uint64_t
begins_cl100k(const struct block *b, const uint8_t *p)
{
	uint64_t blank = b->white & ~b->newline;
	uint64_t free = starts(b->other) & ~(b->space << 1);
	uint64_t line_ends = b->newline & b->other << 1;
	uint64_t words = starts(b->letter) & ~(blank << 1) & ~led_by(b, free);
	uint64_t begins = words | free | begins_of_numbers(b->number) |
			  begins_of_white(b, line_ends) | behind(b->newline, line_ends);
	uint64_t short_forms = b->apostrophe & free & b->letter >> 1, found;

	if (short_forms == 0)
		return begins;
	return begins | behind_contractions(SPLITTER_CL100K, p, short_forms, &found);
}

/*
 * o200k: as cl100k, with slashes among the line ends, where they are no other characters any more;
 * and a word ends before an upper case letter behind a lower case one, and behind a contraction.
 */
INLINE AVX2 uint64_t
begins_o200k(struct block *b, const uint8_t *p)
{
	uint64_t blank = b->white & ~b->newline;
	uint64_t line = b->newline | b->slash;
	uint64_t line_ends = b->newline & b->other << 1;
	uint64_t after_lines = behind(line, line_ends);
	uint64_t taken = line & ~(line + line_ends);
	uint64_t other = b->other & ~taken;
	uint64_t free = starts(other) & ~(b->space << 1);
	uint64_t lower = b->letter & ~b->upper & ~b->uncased;
	uint64_t words = starts(b->letter) & ~(blank << 1) & ~led_by(b, free);
	uint64_t begins = words | free | (b->upper & lower << 1) | begins_of_numbers(b->number) |
			  begins_of_white(b, line_ends) | after_lines;
	uint64_t short_forms = b->apostrophe & b->letter << 1 & b->letter >> 1, after, found;

	if (short_forms == 0)
		return begins;
	after = behind_contractions(SPLITTER_O200K, p, short_forms, &found);
	return (begins & ~(found | found << 1 | found << 2)) | after;
}

/* o200k: letters without case are read here only where no letter with case is beside them. */
INLINE AVX2 void
end_at_mixed(struct block *b)
{
	uint64_t cased = b->letter & ~b->uncased;
	uint64_t mixed = (b->uncased & cased << 1) | (cased & b->uncased << 1);

	if (mixed != 0 && _tzcnt_u64(mixed) < b->known)
		b->known = (unsigned)_tzcnt_u64(mixed);
}

/*
 * Where pieces begin in the block at p, except at byte 0; *certain: up to which byte these are all.
 * If the text ends in the block, spaces fill it up: for every pattern, spaces behind the last byte
 * do what the end of the text does, and the end itself is a beginning. Else white space that
 * reaches to the end of what is known is not certain, for cl100k and o200k, as a newline may
 * follow.
 */
INLINE AVX2 uint64_t
begins(enum splitter_pattern pattern, const uint8_t *p, size_t text_n, unsigned *certain)
{
	struct block b;
	uint64_t found;

	fill(pattern, &b, p);
	if (pattern == SPLITTER_O200K)
		end_at_mixed(&b);
	found = pattern == SPLITTER_GPT2     ? begins_gpt2(&b, p)
		: pattern == SPLITTER_CL100K ? begins_cl100k(&b, p)
					     : begins_o200k(&b, p);
	if (b.known == BLOCK && text_n <= BLOCK - AHEAD) {
		*certain = (unsigned)text_n;
		found |= UINT64_C(1) << text_n;
	} else if (b.known <= AHEAD) {
		*certain = 0;
	} else {
		*certain = b.known - AHEAD;
		if (pattern != SPLITTER_GPT2) {
			uint64_t open = b.white | (pattern == SPLITTER_O200K ? b.slash : 0);
			unsigned run = last_run(open, b.known);

			*certain = run < *certain ? run : *certain;
		}
	}
	return found & ((UINT64_C(2) << *certain) - 2);
}

/* Writes the numbers of the bits, plus `base`, to `end`; at most 64 of them. */
INLINE AVX2 size_t
write_ends(uint64_t found, uint32_t base, uint32_t *end)
{
	size_t count = (size_t)_mm_popcnt_u64(found);

	for (size_t done = 0; done < count; done += 8)
		for (size_t i = 0; i < 8; i++) {
			end[done + i] = base + (uint32_t)_tzcnt_u64(found);
			found = _blsr_u64(found);
		}
	return count;
}

INLINE AVX2 size_t
pieces(enum splitter_pattern pattern, const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	uint8_t padded[BLOCK];
	size_t count = 0, at = 0;

	while (at < n && room - count > SPLITTER_SLACK) {
		const uint8_t *p = text + at;
		unsigned certain;
		uint64_t found;

		if (n - at < BLOCK) {
			memset(padded, ' ', BLOCK);
			p = memcpy(padded, p, n - at);
		}
		found = begins(pattern, p, n - at, &certain);
		if (found != 0) {
			count += write_ends(found, (uint32_t)at, end + count);
			at += highest(found);
		} else {
			at += splitter_piece(pattern, text + at, n - at);
			end[count++] = (uint32_t)at;
		}
	}
	return count;
}

AVX2 static size_t
pieces_gpt2(const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	return pieces(SPLITTER_GPT2, text, n, end, room);
}

AVX2 static size_t
pieces_cl100k(const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	return pieces(SPLITTER_CL100K, text, n, end, room);
}

AVX2 static size_t
pieces_o200k(const uint8_t *text, size_t n, uint32_t *end, size_t room)
{
	return pieces(SPLITTER_O200K, text, n, end, room);
}

splitter_many *
splitter_many_avx2(enum splitter_pattern pattern)
{
	static splitter_many *const many[SPLITTER_PATTERNS] = {
	    [SPLITTER_GPT2] = pieces_gpt2,
	    [SPLITTER_CL100K] = pieces_cl100k,
	    [SPLITTER_O200K] = pieces_o200k,
	};

	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
	    !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
		return NULL;
	return many[pattern];
}

#else

splitter_many *
splitter_many_avx2(enum splitter_pattern pattern)
{
	(void)pattern;
	return NULL;
}

#endif
