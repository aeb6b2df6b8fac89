#include "producer/pretokenizer/unicode_range.h"

static bool
is_in(const struct unicode_range *range, size_t n, uint32_t point)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (range[middle].last < point)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && range[low].first <= point;
}

bool
unicode_is_word(uint32_t point)
{
	return is_in(unicode_word_range, unicode_word_ranges_n, point);
}

bool
unicode_is_numeric(uint32_t point)
{
	return is_in(unicode_numeric_range, unicode_numeric_ranges_n, point);
}
