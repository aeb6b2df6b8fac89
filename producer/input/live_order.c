#include "producer/input/live_order.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/base/buffer.h"

void
live_order_close(struct live_order *r)
{
	for (size_t i = 0; i < r->files_n; i++)
		free(r->file[i].name);
	free(r->file);
	free(r->portion);
	free(r->slot);
	free(r->taker);
	*r = (struct live_order){0};
}

/*
 * The slot of a name, or the empty one where it belongs. Open addressing with steps of one; the
 * table is at most half full, so that there is an empty slot and searches are short.
 */
static size_t *
find_slot(const struct live_order *r, const char *name, size_t name_n)
{
	size_t at = XXH64(name, name_n, 0) & (r->slots_n - 1);

	while (r->slot[at] != 0) {
		const char *there = r->file[r->slot[at] - 1].name;

		if (strncmp(there, name, name_n) == 0 && there[name_n] == '\0')
			break;
		at = (at + 1) & (r->slots_n - 1);
	}
	return &r->slot[at];
}

static enum fail_code
grow_slots(struct live_order *r, struct failure *f)
{
	size_t n = r->slots_n == 0 ? 64 : 2 * r->slots_n;
	size_t *fresh = calloc(n, sizeof(*fresh));

	if (fresh == NULL)
		return fail_memory(f);
	free(r->slot);
	r->slot = fresh;
	r->slots_n = n;
	for (size_t i = 0; i < r->files_n; i++)
		*find_slot(r, r->file[i].name, strlen(r->file[i].name)) = i + 1;
	return FAIL_NONE;
}

enum fail_code
live_order_file(
    struct live_order *r, const char *name, size_t name_n, size_t *index, struct failure *f)
{
	size_t *slot;

	if (2 * (r->files_n + 1) > r->slots_n && grow_slots(r, f) != FAIL_NONE)
		return f->code;
	slot = find_slot(r, name, name_n);
	if (*slot == 0) {
		struct live_order_file fresh = {
		    .last = LIVE_ORDER_NONE, .after = LIVE_ORDER_NONE, .now_at = LIVE_ORDER_NONE};

		if (buffer_reserve_items(
			&r->file, &r->files_room, r->files_n + 1, sizeof(*r->file), f) != FAIL_NONE)
			return f->code;
		fresh.name = strndup(name, name_n);
		if (fresh.name == NULL)
			return fail_memory(f);
		r->file[r->files_n++] = fresh;
		*slot = r->files_n;
	}
	*index = *slot - 1;
	return FAIL_NONE;
}

size_t
live_order_find_file(const struct live_order *r, const char *name, size_t name_n)
{
	size_t slot = r->slots_n == 0 ? 0 : *find_slot(r, name, name_n);

	return slot == 0 ? LIVE_ORDER_NONE : slot - 1;
}

enum fail_code
live_order_add(struct live_order *r, const struct live_order_portion *p, struct failure *f)
{
	assert(p->file < r->files_n);
	assert(p->byte <= p->end);
	if (r->n == LIVE_ORDER_PORTIONS_MAX)
		return fail(f, FAIL_CONFIG,
		    "more than %d portions of files: seal this domain and begin another",
		    LIVE_ORDER_PORTIONS_MAX);
	if (buffer_reserve_items(&r->portion, &r->room, r->n + 1, sizeof(*r->portion), f) !=
	    FAIL_NONE)
		return f->code;
	r->file[p->file].last = r->n;
	r->file[p->file].lost = r->file[p->file].lost || p->byte == p->end;
	r->portion[r->n++] = *p;
	return FAIL_NONE;
}

void
live_order_reset(struct live_order *r)
{
	r->n = 0;
	live_order_settle(r);
}

void
live_order_settle(struct live_order *r)
{
	for (size_t i = 0; i < r->files_n; i++) {
		r->file[i].last = r->file[i].after = r->file[i].now_at = LIVE_ORDER_NONE;
		r->file[i].lost = false;
	}
	for (size_t i = 0; i < r->n; i++) {
		struct live_order_file *file = &r->file[r->portion[i].file];

		file->last = i;
		file->lost = file->lost || r->portion[i].byte == r->portion[i].end;
	}
}

size_t
live_order_behind(const struct live_order *r, size_t file)
{
	size_t last = r->file[file].last, after = r->file[file].after;

	assert(file < r->files_n);
	if (last == LIVE_ORDER_NONE || after == LIVE_ORDER_NONE)
		return last == LIVE_ORDER_NONE ? after : last;
	return r->portion[after].end > r->portion[last].end ? after : last;
}

struct live_order_portion
live_order_loss(const struct live_order *r, size_t file)
{
	struct live_order_portion p;

	assert(file < r->files_n);
	assert(r->file[file].last != LIVE_ORDER_NONE);
	p = r->portion[r->file[file].last];
	p.byte = p.end;
	return p;
}

struct arrivals_portion
live_order_record(const struct live_order *r, const struct live_order_portion *p)
{
	const char *name = r->file[p->file].name;

	return (struct arrivals_portion){.file = {name, strlen(name)},
	    .whole = p->whole,
	    .byte = p->byte,
	    .end = p->end,
	    .line = p->line,
	    .hash = p->hash};
}

bool
live_order_is_lost(const struct live_order *r, size_t portion)
{
	assert(portion < r->n);
	return r->file[r->portion[portion].file].lost;
}

static enum fail_code
add_all(struct live_order *r, const struct arrivals *a, struct failure *f)
{
	struct arrivals_portion *portion = calloc(a->portions_n + 1, sizeof(*portion));
	enum fail_code code = FAIL_NONE;

	if (portion == NULL)
		return fail_memory(f);
	arrivals_portions(a, portion);
	for (size_t i = 0; i < a->portions_n && code == FAIL_NONE; i++) {
		const struct arrivals_portion *p = &portion[i];
		struct live_order_portion add = {.whole = p->whole,
		    .byte = p->byte,
		    .end = p->end,
		    .line = p->line,
		    .hash = p->hash};

		code = live_order_file(r, p->file.bytes, p->file.n, &add.file, f);
		if (code == FAIL_NONE)
			code = live_order_add(r, &add, f);
	}
	free(portion);
	return code;
}

static enum fail_code
add_taker(struct live_order *r, const struct arrivals *a, struct failure *f)
{
	if (buffer_reserve_items(
		&r->taker, &r->takers_room, r->takers_n + 1, sizeof(*r->taker), f) != FAIL_NONE)
		return f->code;
	r->taker[r->takers_n++] =
	    (struct live_order_taker){.writer = a->writer, .first = (size_t)a->first};
	return FAIL_NONE;
}

/*
 * Makes `writer` the one that appends, if it has taken over and nobody who took over later has
 * appended. Takers before it are dropped, and so are the portions after its take-over that it had
 * not seen. Returns false if the writer's records are void.
 */
static bool
choose_taker(struct live_order *r, uint64_t writer)
{
	size_t k = r->takers_n;

	while (k > 0 && r->taker[k - 1].writer != writer)
		k--;
	if (k == 0 || r->taker[k - 1].first > r->n)
		return false;
	if (k > 1)
		r->n = r->taker[k - 1].first;
	r->takers_n -= k - 1;
	memmove(r->taker, r->taker + k - 1, r->takers_n * sizeof(*r->taker));
	return true;
}

enum fail_code
live_order_apply(struct live_order *r, const struct arrivals *a, struct failure *f)
{
	bool fits = a->first <= r->n;

	assert(r->n <= r->room);
	if (a->takes_over && fits && add_taker(r, a, f) != FAIL_NONE)
		return f->code;
	if (a->takes_over && fits && a->portions_n == 0)
		return FAIL_NONE;
	if (!a->takes_over || fits) {
		if (!choose_taker(r, a->writer))
			return FAIL_NONE; /* of one that somebody else has taken over from */
		fits = a->first == r->n;
	}
	if (!fits)
		return fail(f, FAIL_DATA,
		    "portion %" PRIu64 " of input %.*s stands where %zu belongs: records were "
		    "deleted or damaged",
		    a->first, (int)a->input.n, a->input.bytes, r->n);
	return add_all(r, a, f);
}

bool
live_order_is_doubtful(const struct live_order *r)
{
	return r->takers_n > 0 && r->taker[r->takers_n - 1].first < r->n &&
	       r->taker[r->takers_n - 1].writer != r->taker[0].writer;
}

void
live_order_void(struct live_order *r)
{
	assert(live_order_is_doubtful(r));
	r->n = r->taker[r->takers_n - 1].first;
	live_order_settle(r);
}

/* From the end: a resume starts in one of the last portions. */
size_t
live_order_find(const struct live_order *r, const char *name, uint64_t byte)
{
	size_t file = live_order_find_file(r, name, strlen(name));

	for (size_t i = r->n; file != LIVE_ORDER_NONE && i > 0; i--) {
		const struct live_order_portion *p = &r->portion[i - 1];

		if (p->file == file && p->byte < p->end &&
		    (p->whole || (p->byte <= byte && byte < p->end)))
			return i - 1;
	}
	return LIVE_ORDER_NONE;
}

uint64_t
live_order_hash(const struct live_order *r, size_t n)
{
	uint64_t hash = 0;

	assert(n <= r->n);
	for (size_t i = 0; i < n; i++) {
		const struct live_order_portion *p = &r->portion[i];
		const char *name = r->file[p->file].name;

		hash = XXH64(name, strlen(name), hash);
		hash = XXH64(&p->hash, sizeof(p->hash), hash ^ p->end);
	}
	return hash;
}
