#include "common/record/avro_walk.h"

#include <assert.h>

/*
 * One walk. It goes along the schema and the bytes at once, as Avro's encoding has no tags: only
 * the schema tells what the next bytes are.
 *
 *     items_left   of AVRO_WALK_ITEMS_MAX, over the whole value: lists in lists of items without
 *                  bytes (an array of null) would otherwise cost time that no byte pays for
 *     depth        of values inside each other; a schema can contain itself (AVRO_LINK), so that
 *                  bytes alone decide how deep the walk recurses
 */
struct walk {
	struct wire_reader *r;
	size_t items_left;
	unsigned depth;
	struct failure *f;
};

static enum fail_code walk_value(struct walk *w, avro_schema_t schema);

/* FAIL_DATA where the reader met something bad, with the byte. */
static enum fail_code
checked(struct walk *w)
{
	if (w->r->bad == NULL)
		return FAIL_NONE;
	return fail(w->f, FAIL_DATA, "%s at byte %zu", w->r->bad, (size_t)(w->r->at - w->r->start));
}

static enum fail_code
walk_record(struct walk *w, avro_schema_t schema)
{
	int fields = (int)avro_schema_record_size(schema);

	for (int i = 0; i < fields; i++) {
		avro_schema_t field = avro_schema_record_field_get_by_index(schema, i);

		if (walk_value(w, field) != FAIL_NONE)
			return fail_within(w->f, "%s", avro_schema_record_field_name(schema, i));
	}
	return FAIL_NONE;
}

/*
 * Items of an array, or of a map, each of which has its key in front. A block is taken off
 * items_left before its first item is walked. The loop ends at a block of no items, or where the
 * reader is bad, for then wire_block() returns 0 as well.
 */
static enum fail_code
walk_items(struct walk *w, avro_schema_t item, bool keyed)
{
	size_t number = 0, n;

	for (size_t items; (items = wire_block(w->r)) > 0;) {
		if (items > w->items_left)
			return fail(w->f, FAIL_DATA, "more than %d items in one record",
			    AVRO_WALK_ITEMS_MAX);
		w->items_left -= items;
		for (size_t i = 0; i < items; i++, number++) {
			if (keyed)
				(void)wire_bytes(w->r, &n);
			if (walk_value(w, item) != FAIL_NONE)
				return fail_within(w->f, "item %zu", number);
		}
	}
	return checked(w);
}

/* A union is the number of a branch, which would index an array of avro-c's, then its value. */
static enum fail_code
walk_union(struct walk *w, avro_schema_t schema)
{
	int64_t branches = (int64_t)avro_schema_union_size(schema), branch;

	branch = wire_ranged(w->r, 0, branches - 1);
	if (w->r->bad != NULL)
		return checked(w);
	return walk_value(w, avro_schema_union_branch(schema, (int)branch));
}

static void
skip_fixed(struct wire_reader *r, int64_t size_bytes)
{
	if (size_bytes > r->end - r->at)
		(void)wire_spoil(r, r->at, "the record ends in the middle of fixed bytes");
	else
		r->at += size_bytes;
}

static enum fail_code
walk_typed(struct walk *w, avro_schema_t schema)
{
	size_t n;

	/* As an int, because avro-c 1.12 has one more type than 1.11: AVRO_INVALID. */
	switch ((int)avro_typeof(schema)) {
	case AVRO_STRING:
	case AVRO_BYTES: (void)wire_bytes(w->r, &n); break;
	case AVRO_INT32: (void)wire_ranged(w->r, INT32_MIN, INT32_MAX); break;
	case AVRO_INT64: (void)wire_long(w->r); break;
	case AVRO_FLOAT: skip_fixed(w->r, 4); break;
	case AVRO_DOUBLE: skip_fixed(w->r, 8); break;
	case AVRO_BOOLEAN: (void)wire_boolean(w->r); break;
	case AVRO_NULL: break;
	case AVRO_FIXED: skip_fixed(w->r, avro_schema_fixed_size(schema)); break;
	case AVRO_ENUM:
		(void)wire_ranged(w->r, 0, avro_schema_enum_number_of_symbols(schema) - 1);
		break;
	case AVRO_RECORD: return walk_record(w, schema);
	case AVRO_ARRAY: return walk_items(w, avro_schema_array_items(schema), false);
	case AVRO_MAP: return walk_items(w, avro_schema_map_values(schema), true);
	case AVRO_UNION: return walk_union(w, schema);
	case AVRO_LINK: return walk_value(w, avro_schema_link_target(schema));
	default: return fail(w->f, FAIL_DATA, "of a type that riffle does not know");
	}
	return checked(w);
}

static enum fail_code
walk_value(struct walk *w, avro_schema_t schema)
{
	enum fail_code code;

	assert(w->depth <= AVRO_WALK_DEPTH_MAX);
	if (w->depth == AVRO_WALK_DEPTH_MAX)
		return fail(w->f, FAIL_DATA, "nested more than %d deep", AVRO_WALK_DEPTH_MAX);
	w->depth++;
	code = walk_typed(w, schema);
	w->depth--;
	return code;
}

enum fail_code
avro_walk_over(struct wire_reader *r, avro_schema_t schema, struct failure *f)
{
	struct walk w = {.r = r, .items_left = AVRO_WALK_ITEMS_MAX, .f = f};
	enum fail_code code;

	assert(schema != NULL);
	code = walk_value(&w, schema);
	assert(w.depth == 0);
	return code;
}

enum fail_code
avro_walk(avro_schema_t schema, const uint8_t *bytes, size_t n, struct failure *f)
{
	struct wire_reader r;

	wire_reader_init(&r, bytes, n);
	if (avro_walk_over(&r, schema, f) != FAIL_NONE)
		return f->code;
	return wire_reader_check(&r, true, "after the last field", f);
}
