/* feed_pieces.h: in which pieces domains are read, and which stay in memory. */
#include "tests/unit/test.h"

#include "consumer/domain/feed_block.h"
#include "consumer/domain/feed_pieces.h"

enum { BLOCK = 512, SEQUENCES = 10240, BYTES = 20 << 20 };

/* 20 blocks and the one that is not full, of 20 MiB, with a chunk each, and what describes each. */
static const uint64_t held =
    BYTES + SEQUENCES * sizeof(struct feed_block_record) + UINT64_C(21) * FEED_BLOCK_CHUNK_BYTES;

static struct feed_piece
domain(enum mix_shuffle shuffle, size_t partitions_n, unsigned times)
{
	return (struct feed_piece){.shuffle = shuffle,
	    .partitions_n = partitions_n,
	    .sequences = times * SEQUENCES,
	    .bytes = (uint64_t)times * BYTES};
}

static void
test_blocks_are_read_whole_whatever_room_there_is(void **state)
{
	struct feed_piece d[2] = {
	    domain(MIX_SHUFFLE_BLOCK, 1, 1), domain(MIX_SHUFFLE_BLOCK, 4096, 3)};

	(void)state;
	for (uint64_t room = 0; room < 2; room++) {
		feed_pieces(d, 2, BLOCK, room * UINT64_MAX);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(d[i].piece, BLOCK);
			assert_false(d[i].held);
			assert_int_equal(d[i].held_bytes + d[i].lacks_bytes, 0);
		}
	}
}

static void
test_partitions_that_take_turns_share_a_block(void **state)
{
	static const struct {
		size_t partitions_n;
		uint32_t piece;
	} rows[] = {{1, 512}, {2, 256}, {3, 128}, {4, 128}, {5, 64}, {512, 1}, {513, 1}, {4096, 1}};

	(void)state;
	EACH_ROW(i, rows) {
		struct feed_piece d = domain(MIX_SHUFFLE_NONE, rows[i].partitions_n, 1);

		feed_pieces(&d, 1, BLOCK, UINT64_MAX);
		assert_int_equal(d.piece, rows[i].piece);
		assert_false(d.held);
	}
	assert_int_equal(feed_pieces_turn(1, 1), 1);
}

static void
test_a_domain_in_full_order_is_held_where_there_is_room(void **state)
{
	struct feed_piece d = domain(MIX_SHUFFLE_FULL, 1, 1);

	(void)state;
	feed_pieces(&d, 1, BLOCK, held);
	assert_true(d.held);
	assert_int_equal(d.piece, BLOCK);
	assert_int_equal(d.held_bytes, held);
	assert_int_equal(d.lacks_bytes, 0);
	feed_pieces(&d, 1, BLOCK, held - 1);
	assert_false(d.held);
	assert_int_equal(d.piece, 1);
	assert_int_equal(d.lacks_bytes, 1);
}

/* Three, one and two times the size, beside one that takes none of the room: the small ones. */
static void
test_the_smallest_are_held_first(void **state)
{
	struct feed_piece d[4] = {domain(MIX_SHUFFLE_FULL, 1, 3), domain(MIX_SHUFFLE_FULL, 1, 1),
	    domain(MIX_SHUFFLE_BLOCK, 1, 1), domain(MIX_SHUFFLE_FULL, 1, 2)};

	(void)state;
	feed_pieces(d, 4, BLOCK, 3 * held);
	assert_true(d[1].held && d[3].held);
	assert_false(d[0].held);
	assert_int_equal(
	    d[0].lacks_bytes, d[0].held_bytes - (3 * held - d[1].held_bytes - d[3].held_bytes));
	feed_pieces(d, 4, BLOCK, 2 * held - FEED_BLOCK_CHUNK_BYTES - 1);
	assert_true(d[1].held);
	assert_false(d[3].held);
	feed_pieces(d, 4, BLOCK, 6 * held);
	assert_true(d[0].held && d[1].held && d[3].held && !d[2].held);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blocks_are_read_whole_whatever_room_there_is),
	    cmocka_unit_test(test_partitions_that_take_turns_share_a_block),
	    cmocka_unit_test(test_a_domain_in_full_order_is_held_where_there_is_room),
	    cmocka_unit_test(test_the_smallest_are_held_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
