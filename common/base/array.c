#include "common/base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MORE = 16 };

enum fail_code
array_resize(void *array, size_t n, size_t size_bytes, struct failure *f)
{
	void *items;

	assert(n > 0);
	memcpy(&items, array, sizeof(items)); /* it is a pointer of another type */
	items = realloc(items, n * size_bytes);
	if (items == NULL)
		return fail_memory(f);
	memcpy(array, &items, sizeof(items));
	return FAIL_NONE;
}

enum fail_code
array_reserve(void *array, size_t *room, size_t needed, size_t size_bytes, struct failure *f)
{
	size_t more = 2 * *room + ROOM_MORE;

	if (needed <= *room)
		return FAIL_NONE;
	if (more < needed)
		more = needed;
	if (array_resize(array, more, size_bytes, f) != FAIL_NONE)
		return f->code;
	*room = more;
	return FAIL_NONE;
}
