/* live_scan.h: what a round takes of files that come, grow, shrink and are replaced. */
#include "tests/unit/folder.h"

#include "common/config/config.h"
#include "producer/input/live_scan.h"

static struct live_order order;
static struct live_scan scan;
static char *pattern[] = {"*"};
static const struct config_list patterns = {1, pattern};

static int
open_scan(void **state)
{
	order = (struct live_order){0};
	scan =
	    (struct live_scan){.now = {.patterns = &patterns, .folder = folder, .partitions = 1}};
	return folder_open(state);
}

static int
close_scan(void **state)
{
	live_scan_close(&scan);
	live_order_close(&order);
	return folder_close(state);
}

/* One round, adopted; as text: "a[0,4)1 b.gz(20)", the lines and whole files that it takes. */
static const char *
round_text(void)
{
	static char text[FAILURE_TEXT_MAX];
	struct failure f;
	size_t n = 0;

	text[0] = '\0';
	if (live_scan(&scan, &order, &f) != FAIL_NONE) {
		snprintf(text, sizeof(text), "%s", f.text);
		return text;
	}
	for (size_t i = 0; i < scan.n; i++) {
		const struct live_order_portion *p = &scan.portion[i];
		const char *name = order.file[p->file].name;

		assert_int_equal(live_order_add(&order, p, &f), FAIL_NONE);
		n += (size_t)(p->whole ? snprintf(text + n, sizeof(text) - n, "%s%s(%d)",
					     i > 0 ? " " : "", name, (int)p->end)
				       : snprintf(text + n, sizeof(text) - n, "%s%s[%d,%d)%d",
					     i > 0 ? " " : "", name, (int)p->byte, (int)p->end,
					     (int)p->line));
	}
	return text;
}

static void
test_whole_lines_are_taken_in_the_order_of_names(void **unused)
{
	(void)unused;
	assert_string_equal(round_text(), "");
	folder_text("m", "1\n2\nha");
	folder_text("z", "");
	folder_text("n", "no end");
	assert_string_equal(round_text(), "m[0,4)1");
	assert_string_equal(round_text(), "");
	folder_text("m", "1\n2\nhalf\n\n5\n6");
	folder_text("a", "late\n");
	assert_string_equal(round_text(), "a[0,5)1 m[4,12)3");
	folder_text("m", "1\n2\nhalf\n\n5\n6\n");
	folder_text("n", "no end\n");
	assert_string_equal(round_text(), "m[12,14)6 n[0,7)1");
	assert_string_equal(round_text(), "");
}

static void
test_the_last_round_takes_lines_without_an_end(void **unused)
{
	(void)unused;
	folder_text("m", "1\n2");
	folder_text("n", "3");
	assert_string_equal(round_text(), "m[0,2)1");
	scan.last = true;
	assert_string_equal(round_text(), "m[2,3)2 n[0,1)1");
	assert_string_equal(round_text(), "");
	folder_text("n", "3\n4\n"); /* grown, from where there was no end of line */
	assert_non_null(strstr(round_text(), "has grown since"));
}

static void
test_lines_are_counted_by_one_who_goes_on(void **unused)
{
	(void)unused;
	folder_text("m", "1\n2\n3\n");
	assert_string_equal(round_text(), "m[0,6)1");
	order.file[0].line_next = order.file[0].scanned = order.file[0].inode = 0;
	folder_text("m", "1\n2\n3\n4\n");
	assert_string_equal(round_text(), "m[6,8)4");
}

static void
test_texts_and_compressed_files_are_taken_whole(void **unused)
{
	struct bytes gz = bytes_gzip("1\n", 2), zst = bytes_zstd("1\n", 2);
	char expected[64];

	(void)unused;
	folder_text("b.txt", "no end");
	folder_write("c.jsonl.gz", gz.at, gz.n);
	folder_write("plain-name", zst.at, zst.n);
	snprintf(
	    expected, sizeof(expected), "b.txt(6) c.jsonl.gz(%zu) plain-name(%zu)", gz.n, zst.n);
	assert_string_equal(round_text(), expected);
	assert_string_equal(round_text(), "");
	folder_text("b.txt", "no end, and more");
	assert_non_null(strstr(round_text(), "has grown from 6 to 16 bytes after it was read"));
	free(gz.at);
	free(zst.at);
}

static void
test_one_who_follows_waits_for_a_whole_file_to_be_quiet(void **unused)
{
	(void)unused;
	scan.follow = true;
	folder_text("b.txt", "begun");
	folder_text("m", "1\n");
	assert_string_equal(round_text(), "m[0,2)1");
	assert_true(scan.unsettled);
	assert_string_equal(round_text(), "");
	order.file[live_order_find_file(&order, "b.txt", 5)].quiet_ms -= LIVE_QUIET_MS;
	folder_text("b.txt", "begun, and on");
	assert_string_equal(round_text(), "");
	assert_true(scan.unsettled);
	order.file[live_order_find_file(&order, "b.txt", 5)].quiet_ms -= LIVE_QUIET_MS;
	assert_string_equal(round_text(), "b.txt(13)");
	assert_false(scan.unsettled);
}

static void
test_what_was_read_must_stay_as_it_is(void **unused)
{
	(void)unused;
	folder_text("m", "1\n2\n");
	assert_string_equal(round_text(), "m[0,4)1");
	folder_text("m", "1\n");
	assert_non_null(strstr(round_text(), "file m: has shrunk to 2 bytes, and 4 were read"));
	assert_non_null(strstr(round_text(), "move it where no pattern matches it"));
	folder_text("m", "1\nX\n3\n");
	assert_non_null(strstr(round_text(), "file m: has other bytes before byte 4"));
	folder_text("m2", "1\n2\n3\n");
	assert_int_equal(rename(folder_path("m2"), folder_path("m")), 0);
	assert_non_null(strstr(round_text(), "file m: was replaced by another"));
	assert_int_equal(unlink(folder_path("m")), 0);
	assert_string_equal(round_text(), "");
}

static void
test_a_long_line_that_grows_is_not_searched_again(void **unused)
{
	enum { LONG = 300000 };
	char *text = malloc(LONG + 2);

	(void)unused;
	memset(text, 'x', LONG);
	text[LONG] = '\n';
	text[LONG + 1] = '\0';
	folder_write("m", text, LONG - 10);
	assert_string_equal(round_text(), "");
	assert_int_equal(order.file[0].scanned, LONG - 10);
	folder_write("m", text, LONG + 1);
	assert_string_equal(round_text(), "m[0,300001)1");
	free(text);
}

static void
test_a_portion_is_read_again_only_from_the_same_bytes(void **unused)
{
	struct failure f;

	(void)unused;
	folder_text("m", "1\n2\n");
	assert_string_equal(round_text(), "m[0,4)1");
	folder_text("m", "1\n2\n3\n");
	assert_int_equal(live_scan_check(&scan.now, &order, &order.portion[0], &f), FAIL_NONE);
	folder_text("m", "1\n9\n3\n");
	assert_int_equal(live_scan_check(&scan.now, &order, &order.portion[0], &f), FAIL_DATA);
	folder_text("m", "1\n");
	assert_int_equal(live_scan_check(&scan.now, &order, &order.portion[0], &f), FAIL_DATA);
	assert_int_equal(unlink(folder_path("m")), 0);
	assert_int_equal(live_scan_check(&scan.now, &order, &order.portion[0], &f), FAIL_IO);
	assert_non_null(strstr(f.text, "is gone, and has to be read again"));
}

static void
test_a_file_that_was_given_up_and_comes_back_is_named(void **unused)
{
	struct live_order_portion lost;
	struct failure f;

	(void)unused;
	folder_text("m", "1\n2\n");
	assert_string_equal(round_text(), "m[0,4)1");
	assert_int_equal(unlink(folder_path("m")), 0);
	lost = live_order_loss(&order, order.portion[0].file);
	assert_int_equal(live_order_add(&order, &lost, &f), FAIL_NONE);
	folder_text("n", "1\n");
	assert_string_equal(round_text(), "n[0,2)1");
	folder_text("m", "1\n2\n3\n");
	assert_non_null(strstr(round_text(), "file m: was given up"));
}

/* Forgets what one process knows of files, as a restart does. */
static void
restart(void)
{
	for (size_t i = 0; i < order.files_n; i++) {
		struct live_order_file *file = &order.file[i];

		*file = (struct live_order_file){.name = file->name,
		    .last = file->last,
		    .lost = file->lost,
		    .after = LIVE_ORDER_NONE,
		    .now_at = LIVE_ORDER_NONE};
	}
}

static void
move(const char *from, const char *to)
{
	assert_int_equal(rename(folder_path(from), folder_path(to)), 0);
}

static void
test_a_renamed_file_is_read_on_and_not_again(void **unused)
{
	struct failure f;
	bool there;

	(void)unused;
	for (int restarts = 0; restarts < 2; restarts++) {
		folder_text("m", "1\n2\n");
		folder_text("w.txt", "whole");
		assert_string_equal(round_text(), "m[0,4)1 w.txt(5)");
		move("m", "b");
		move("w.txt", "c.txt");
		if (restarts)
			restart();
		assert_string_equal(round_text(), "");
		folder_text("b", "1\n2\n3\n");
		assert_string_equal(round_text(), "b[4,6)3");
		move("b", "m2"); /* of which a portion has the new name */
		if (restarts)
			restart();
		assert_string_equal(round_text(), "");
		/* What was read of the first name, and of the second. */
		for (size_t i = order.n - 3; i < order.n; i += 2) {
			assert_int_equal(
			    live_scan_find(&scan.now, &order, i, &there, &f), FAIL_NONE);
			assert_true(there);
			assert_string_equal(live_scan_name(&order, &order.portion[i]), "m2");
			assert_int_equal(
			    live_scan_check(&scan.now, &order, &order.portion[i], &f), FAIL_NONE);
		}
		move("m2", "m"); /* and back to the first */
		folder_text("m", "1\n2\n3\n4\n");
		assert_string_equal(round_text(), "m[6,8)4");
		assert_int_equal(unlink(folder_path("m")), 0);
		assert_int_equal(unlink(folder_path("c.txt")), 0);
		live_order_close(&order);
	}
}

static void
test_what_only_begins_like_a_file_that_is_gone_is_new(void **unused)
{
	char text[LIVE_RENAMED_BYTES + 2];

	(void)unused;
	memset(text, 'x', sizeof(text));
	text[LIVE_RENAMED_BYTES - 2] = '\n';
	text[LIVE_RENAMED_BYTES] = '\n';
	text[LIVE_RENAMED_BYTES + 1] = '\0';
	folder_write("m", text, LIVE_RENAMED_BYTES - 1);
	assert_string_equal(round_text(), "m[0,255)1");
	folder_write("n", text, LIVE_RENAMED_BYTES + 1);
	assert_string_equal(round_text(), "n[0,257)1"); /* m is there */
	assert_int_equal(unlink(folder_path("m")), 0);
	assert_int_equal(unlink(folder_path("n")), 0);
	folder_write("o", "yy\n", 3);
	assert_string_equal(round_text(), "o[0,3)1");
	restart();
	text[LIVE_RENAMED_BYTES + 1] = '\n';
	folder_write("p", text, LIVE_RENAMED_BYTES + 2); /* 257 bytes prove n, 255 would not m */
	assert_string_equal(round_text(), "p[257,258)3");
	text[0] = 'y';
	folder_write("q", text, LIVE_RENAMED_BYTES + 2);
	assert_string_equal(round_text(), "q[0,258)1");
}

static void
test_a_name_that_a_renamed_file_had_is_refused(void **unused)
{
	(void)unused;
	for (int restarts = 0; restarts < 2; restarts++) {
		folder_text("app", "1\n2\n");
		assert_string_equal(round_text(), "app[0,4)1");
		move("app", "app.1");
		folder_text("app", "newer\n");
		if (restarts)
			restart();
		assert_non_null(strstr(round_text(), "file app: was renamed to app.1 after it was "
						     "read, and another file has its name"));
		if (restarts)
			restart(); /* who is refused ends */
		move("app", "app.new");
		assert_string_equal(round_text(), "app.new[0,6)1");
		folder_text("app", "new\n");
		assert_non_null(strstr(round_text(), "file app: was renamed to app.1"));
		for (const char *const *name =
			 (const char *const[]){"app", "app.1", "app.new", NULL};
		     *name != NULL; name++)
			assert_int_equal(unlink(folder_path(*name)), 0);
		live_order_close(&order);
	}
}

static void
test_a_file_that_was_compressed_after_it_was_read_is_refused(void **unused)
{
	(void)unused;
	folder_text("m", "1\n2\n");
	folder_text("n", "3\n");
	assert_string_equal(round_text(), "m[0,4)1 n[0,2)1");
	folder_text("m.gz", "other");
	folder_text("x.gz", "new");
	assert_string_equal(round_text(), "m.gz(5) x.gz(3)"); /* m is there */
	assert_int_equal(unlink(folder_path("n")), 0);
	folder_text("n.zst", "bytes");
	assert_non_null(strstr(round_text(), "file n.zst: is n, which was read and is gone"));
}

static void
test_of_two_names_of_one_file_one_is_read(void **unused)
{
	(void)unused;
	folder_text("m", "1\n2\n");
	assert_int_equal(link(folder_path("m"), folder_path("b")), 0);
	assert_string_equal(round_text(), "b[0,4)1");
	assert_string_equal(round_text(), "");
	assert_int_equal(unlink(folder_path("b")), 0);
	assert_string_equal(round_text(), "");
	folder_text("m", "1\n2\n3\n");
	assert_string_equal(round_text(), "m[4,6)3");
}

static void
test_a_file_stays_in_its_lane_whatever_comes(void **unused)
{
	enum { PARTITIONS = 3, FILES = 60 };
	uint32_t lane_of[FILES] = {0};

	(void)unused;
	for (int i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%02d", (7 * i) % FILES);
		folder_text(name, "1\n");
		for (uint32_t partition = 0; partition < PARTITIONS; partition++) {
			struct file_list_now now = scan.now;
			struct file_list *list;
			struct failure f;

			now.partition = partition;
			now.partitions = PARTITIONS;
			assert_int_equal(file_list_scan(&list, &now, &f), FAIL_NONE);
			for (size_t k = 0; k < list->n; k++) {
				uint32_t *before = &lane_of[atol(list->file[k].name)];

				assert_true(*before == 0 || *before == partition + 1);
				*before = partition + 1;
			}
			file_list_close(list);
		}
	}
	for (int i = 0; i < FILES; i++)
		assert_true(lane_of[i] > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_scan, close_scan)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_whole_lines_are_taken_in_the_order_of_names),
	    TEST(test_the_last_round_takes_lines_without_an_end),
	    TEST(test_lines_are_counted_by_one_who_goes_on),
	    TEST(test_texts_and_compressed_files_are_taken_whole),
	    TEST(test_one_who_follows_waits_for_a_whole_file_to_be_quiet),
	    TEST(test_what_was_read_must_stay_as_it_is),
	    TEST(test_a_long_line_that_grows_is_not_searched_again),
	    TEST(test_a_portion_is_read_again_only_from_the_same_bytes),
	    TEST(test_a_file_that_was_given_up_and_comes_back_is_named),
	    TEST(test_a_renamed_file_is_read_on_and_not_again),
	    TEST(test_what_only_begins_like_a_file_that_is_gone_is_new),
	    TEST(test_a_name_that_a_renamed_file_had_is_refused),
	    TEST(test_a_file_that_was_compressed_after_it_was_read_is_refused),
	    TEST(test_of_two_names_of_one_file_one_is_read),
	    TEST(test_a_file_stays_in_its_lane_whatever_comes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
