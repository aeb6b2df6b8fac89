#include "producer/input/stream.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <utime.h>

#include "tests/unit/folder.h"

enum { READ_MAX = 8 << 20 };
static char *text; /* [READ_MAX] what a stream has given */
static size_t text_n;

static int
open_all(void **state)
{
	text = malloc(READ_MAX);
	return text == NULL || folder_open(state);
}

static int
close_all(void **state)
{
	free(text);
	return folder_close(state);
}

/* Reads a stream in pieces of `piece` bytes until it ends or fails. */
static enum fail_code
read_rest(struct stream *s, size_t piece, struct failure *f)
{
	enum fail_code code;
	size_t got;

	for (text_n = 0;; text_n += got) {
		assert_true(text_n + piece <= READ_MAX);
		code = stream_read(s, text + text_n, piece, &got, f);
		if (code != FAIL_NONE || got == 0)
			return code;
	}
}

static enum fail_code
read_file(const char *name, size_t piece, struct failure *f)
{
	struct stream *s;
	enum fail_code code;

	text_n = 0;
	f->text[0] = '\0';
	code = stream_open_file(&s, folder_path(name), name, f);
	if (code != FAIL_NONE)
		return code;
	code = read_rest(s, piece, f);
	stream_close(s);
	return code;
}

/* Some text that compresses, but not to nothing. */
static struct bytes
make_text(size_t n)
{
	struct bytes b = {malloc(n), n};
	uint32_t x = 1;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		b.at[i] = i % 61 == 60 ? '\n' : (uint8_t)('a' + (x >> 24) % 16);
	}
	return b;
}

static void
check_is(const void *bytes, size_t n)
{
	assert_int_equal(text_n, n);
	assert_memory_equal(text, bytes, n);
}

static void
test_the_kind_is_told_by_the_content(void **unused)
{
	static const char *const names[] = {"a", "a.gz", "a.zst", "a.jsonl"};
	struct bytes gz = bytes_gzip("hello\n", 6), zst = bytes_zstd("hello\n", 6);
	struct failure f;

	(void)unused;
	for (size_t i = 0; i < 4; i++) {
		folder_write(names[i], gz.at, gz.n);
		assert_int_equal(read_file(names[i], 4096, &f), FAIL_NONE);
		check_is("hello\n", 6);
		folder_write(names[i], zst.at, zst.n);
		assert_int_equal(read_file(names[i], 4096, &f), FAIL_NONE);
		check_is("hello\n", 6);
		folder_write(names[i], "{\"a\":1}\n", 8);
		assert_int_equal(read_file(names[i], 4096, &f), FAIL_NONE);
		check_is("{\"a\":1}\n", 8);
	}
	free(gz.at);
	free(zst.at);
}

static void
test_files_shorter_than_their_mark(void **unused)
{
	static const struct {
		const char *name, *bytes;
		const char *reason; /* NULL: it is a plain file */
	} rows[] = {
	    {"a", "", NULL},
	    {"a.gz", "", "gzip data ends at byte 0, before it has begun"},
	    {"a.gz", "\x1f", "gzip data ends at byte 1, before it has begun"},
	    {"a.zst", "", "zstd data ends at byte 0, before it has begun"},
	    {"a.zst", "\x28\xb5\x2f", "zstd data ends at byte 3, before it has begun"},
	    {"a.zst", "\x50\x2a", "zstd data ends at byte 2, before it has begun"},
	    {"a", "\x1f", NULL},
	    {"a.gz", "{", NULL},
	    {"a.zst", "{}\n", NULL},
	    {"a", "\x1f\x8c", NULL},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, name) {
		struct failure f;
		enum fail_code code;

		folder_text(rows[i].name, rows[i].bytes);
		code = read_file(rows[i].name, 16, &f);
		assert_int_equal(code, rows[i].reason == NULL ? FAIL_NONE : FAIL_DATA);
		assert_string_equal(f.text, rows[i].reason == NULL ? "" : rows[i].reason);
		check_is(rows[i].bytes, rows[i].reason == NULL ? strlen(rows[i].bytes) : 0);
	}
}

static void
test_all_members_and_frames_are_read_in_pieces_of_any_size(void **unused)
{
	static const size_t pieces[] = {1, 7, 4096, 300000, 1 << 20};
	static const uint8_t skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'};
	struct bytes t = make_text(700000);
	struct bytes gz = bytes_join(bytes_gzip(t.at, 10), bytes_gzip(t.at + 10, 500000));
	struct bytes zst =
	    bytes_join(bytes_copy(skippable, sizeof(skippable)), bytes_zstd(t.at, 10));

	(void)unused;
	gz = bytes_join(gz, bytes_join(bytes_gzip("", 0), bytes_gzip(t.at + 500010, 199990)));
	zst = bytes_join(zst, bytes_join(bytes_zstd(t.at + 10, 500000), bytes_zstd("", 0)));
	zst = bytes_join(zst, bytes_copy(skippable, sizeof(skippable)));
	zst = bytes_join(zst, bytes_zstd(t.at + 500010, 199990));
	zst = bytes_join(zst, bytes_copy(skippable, sizeof(skippable)));
	folder_write("gz", gz.at, gz.n);
	folder_write("zst", zst.at, zst.n);
	folder_write("plain", t.at, t.n);
	EACH_ROW(i, pieces) {
		static const char *const names[] = {"gz", "zst", "plain"};

		for (size_t k = 0; k < 3; k++) {
			struct failure f;

			assert_int_equal(read_file(names[k], pieces[i], &f), FAIL_NONE);
			check_is(t.at, t.n);
		}
	}
	free(t.at);
	free(gz.at);
	free(zst.at);
}

/*
 * Writes the first n bytes and reads them: a prefix of `whole`, and FAIL_DATA unless all is there.
 */
static void
check_truncated(const struct bytes *stored, size_t n, const char *name, const struct bytes *whole,
    size_t at_least)
{
	struct failure f;

	folder_write(name, stored->at, n);
	assert_int_equal(read_file(name, 64, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, " data ends at byte "));
	assert_true(text_n <= whole->n);
	assert_true(text_n >= at_least);
	assert_memory_equal(text, whole->at, text_n);
	{
		char place[48];

		snprintf(place, sizeof(place), "at byte %zu", n);
		assert_non_null(strstr(f.text, place));
	}
}

static void
test_a_file_cut_at_any_byte_gives_what_came_before_and_says_so(void **unused)
{
	struct bytes t = make_text(3000);
	struct bytes first_gz = bytes_gzip(t.at, 1000), first_zst = bytes_zstd(t.at, 1000);
	size_t gz_n = first_gz.n, zst_n = first_zst.n;
	struct bytes gz = bytes_join(first_gz, bytes_gzip(t.at + 1000, 2000));
	struct bytes zst = bytes_join(first_zst, bytes_zstd(t.at + 1000, 2000));

	(void)unused;
	for (size_t n = 0; n < gz.n; n++)
		if (n != gz_n) /* between two members nothing is missing */
			check_truncated(&gz, n, "a.gz", &t, n > gz_n ? 1000 : 0);
	for (size_t n = 0; n < zst.n; n++)
		if (n != zst_n)
			check_truncated(&zst, n, "a.zst", &t, n > zst_n ? 1000 : 0);
	free(t.at);
	free(gz.at);
	free(zst.at);
}

static void
test_a_damaged_byte_never_passes_unseen_nor_takes_what_came_before(void **unused)
{
	struct bytes t = make_text(400000), all;
	size_t seen = 0;

	(void)unused;
	for (int kind = 0; kind < 2; kind++) {
		struct bytes first = kind ? bytes_zstd(t.at, 300000) : bytes_gzip(t.at, 300000);
		size_t first_n = first.n;

		all = bytes_join(first,
		    kind ? bytes_zstd(t.at + 300000, 100000) : bytes_gzip(t.at + 300000, 100000));
		for (size_t at = first_n + 10; at < all.n; at += 97 + (all.n - first_n) / 200) {
			struct failure f;

			all.at[at] ^= 0x55;
			folder_write("a", all.at, all.n);
			assert_int_equal(read_file("a", 1 << 20, &f), FAIL_DATA);
			assert_true(text_n >= 300000);
			assert_memory_equal(text, t.at, 300000);
			assert_non_null(strstr(f.text, " at byte "));
			all.at[at] ^= 0x55;
			seen++;
		}
		free(all.at);
	}
	assert_true(seen > 200);
	free(t.at);
}

static void
test_what_is_no_text_is_named(void **unused)
{
	static const struct {
		const char *name, *bytes, *why; /* NULL: it is read as it is */
	} rows[] = {
	    {"a", "BZh91AY&SY....", "the file is bzip2"},
	    {"a", "BZh is a word", NULL},
	    {"a",
		"\xfd"
		"7zXZ",
		NULL}, /* five bytes; the sixth of the mark is NUL */
	    {"a.txt", "PK\3\4...", "the file is a zip archive"},
	    {"a.parquet", "PAR1\x15...", "the file is Parquet: give `exec: riffle-source"},
	    {"a.txt", "PAR1 is a word", NULL},
	    {"a", "\xff\xfe{",
		"the file is UTF-16: convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	    {"a", "\xfe\xff", "the file is UTF-16"},
	    {"a.jsonl.gz", "<html>", "the file is named .gz and holds neither gzip data"},
	    {"a.jsonl.zst", "<html>", "the file is named .zst and holds neither zstd data"},
	    {"a.jsonl.gz", "{\"text\": 1}", NULL},
	    {"a.txt.gz", "<html>", NULL},
	};
	struct failure f;

	(void)unused;
	EACH_NAMED_ROW(i, rows, name) {
		folder_write(rows[i].name, rows[i].bytes, strlen(rows[i].bytes));
		if (rows[i].why == NULL) {
			assert_int_equal(read_file(rows[i].name, 4096, &f), FAIL_NONE);
			check_is(rows[i].bytes, strlen(rows[i].bytes));
			continue;
		}
		assert_int_equal(read_file(rows[i].name, 4096, &f), FAIL_DATA);
		assert_non_null(strstr(f.text, rows[i].why));
	}
	folder_write("a", "\xff\xfe\0\0{\0\0", 8);
	assert_int_equal(read_file("a", 4096, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "the file is UTF-32"));
}

static void
test_a_wrong_checksum_is_damage_after_all_the_text(void **unused)
{
	struct bytes gz = bytes_gzip("hello\n", 6), zst = bytes_zstd("hello\n", 6);
	struct failure f;

	(void)unused;
	gz.at[gz.n - 5] ^= 1; /* the CRC's last byte; the length follows */
	folder_write("a.gz", gz.at, gz.n);
	assert_int_equal(read_file("a.gz", 4096, &f), FAIL_DATA);
	check_is("hello\n", 6);
	assert_non_null(strstr(f.text, "gzip data is damaged at byte"));
	assert_non_null(strstr(f.text, "incorrect data check"));
	gz.at[gz.n - 5] ^= 1;
	gz.at[gz.n - 1] ^= 1; /* the last byte of all */
	folder_write("a.gz", gz.at, gz.n);
	assert_int_equal(read_file("a.gz", 4096, &f), FAIL_DATA);
	check_is("hello\n", 6);
	assert_non_null(strstr(f.text, "incorrect length check"));
	zst.at[zst.n - 1] ^= 1;
	folder_write("a.zst", zst.at, zst.n);
	assert_int_equal(read_file("a.zst", 4096, &f), FAIL_DATA);
	check_is("hello\n", 6);
	assert_non_null(strstr(f.text, "zstd data is damaged at byte"));
	free(gz.at);
	free(zst.at);
}

static void
test_what_follows_gzip_data_is_taken_as_gzip_takes_it(void **unused)
{
	static const struct {
		const char *bytes;
		size_t n;
		enum fail_code code;
	} rows[] = {
	    {"\0\0\0\0\0", 5, FAIL_NONE},
	    {"\0", 1, FAIL_NONE},
	    {"garbage", 7, FAIL_NONE},
	    {"\0\0garbage", 9, FAIL_NONE},
	    {"\x1f garbage", 9, FAIL_NONE},
	    {"\x1f", 1, FAIL_DATA}, /* where gzip(1) warns: it may be the start of a member */
	    {"\x1f\x8b", 2, FAIL_DATA},
	    {"\x1f\x8b garbage", 10, FAIL_DATA},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, bytes) {
		struct bytes all =
		    bytes_join(bytes_gzip("hello\n", 6), bytes_copy(rows[i].bytes, rows[i].n));
		struct failure f;

		folder_write("a.gz", all.at, all.n);
		assert_int_equal(read_file("a.gz", 4096, &f), rows[i].code);
		check_is("hello\n", 6);
		free(all.at);
	}
}

static void
test_zstd_windows_of_2_gib_are_read_and_larger_ones_refused(void **unused)
{
	/* RFC 8878: magic, no flags, window descriptor, one last raw block of 3 bytes. */
	uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, (31 - 10) << 3, 0x19, 0, 0, 'a', 'b', 'c'};
	struct failure f;

	(void)unused;
	folder_write("a", frame, sizeof(frame));
	for (size_t piece = 1; piece < 5; piece++) { /* with 1 and 3 the last piece is a full one */
		assert_int_equal(read_file("a", piece, &f), FAIL_NONE);
		check_is("abc", 3);
	}
	frame[5]++; /* an eighth more */
	folder_write("a", frame, sizeof(frame));
	assert_int_equal(read_file("a", 4096, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "needs a window of more than 2 GiB"));
}

static void
test_a_plain_file_is_read_from_any_byte_and_others_from_their_start(void **unused)
{
	static const struct {
		uint64_t byte;
		const char *rest;
	} rows[] = {{0, "0123456789"}, {1, "123456789"}, {9, "9"}, {10, ""}};
	struct bytes gz = bytes_gzip("0123456789", 10);
	struct stream *s;
	struct failure f;
	uint64_t at;

	(void)unused;
	folder_text("plain", "0123456789");
	folder_write("gz", gz.at, gz.n);
	EACH_NAMED_ROW(i, rows, rest) {
		assert_int_equal(
		    stream_open_file(&s, folder_path("plain"), "plain", &f), FAIL_NONE);
		assert_int_equal(stream_seek(s, rows[i].byte, &at, &f), FAIL_NONE);
		assert_int_equal(at, rows[i].byte);
		assert_int_equal(stream_used(s), rows[i].byte);
		assert_int_equal(read_rest(s, 3, &f), FAIL_NONE);
		check_is(rows[i].rest, strlen(rows[i].rest));
		assert_int_equal(stream_used(s), 10);
		stream_close(s);
	}
	assert_int_equal(stream_open_file(&s, folder_path("plain"), "plain", &f), FAIL_NONE);
	assert_int_equal(stream_seek(s, 11, &at, &f), FAIL_DATA);
	assert_string_equal(f.text, "file plain: has only 10 bytes");
	stream_close(s);
	assert_int_equal(stream_open_file(&s, folder_path("gz"), "gz", &f), FAIL_NONE);
	assert_int_equal(stream_seek(s, 5, &at, &f), FAIL_NONE);
	assert_int_equal(at, 0);
	assert_int_equal(read_rest(s, 3, &f), FAIL_NONE);
	check_is("0123456789", 10);
	assert_int_equal(stream_used(s), gz.n);
	stream_close(s);
	free(gz.at);
}

static void
test_what_cannot_be_opened_is_an_io_failure(void **unused)
{
	uid_t before = geteuid();
	struct failure f;

	(void)unused;
	assert_int_equal(read_file("none", 16, &f), FAIL_IO);
	assert_string_equal(f.text, "file none: cannot be opened: No such file or directory");
	folder_text("closed", "x");
	assert_int_equal(chmod(folder_path("closed"), 0), 0);
	if (before == 0)
		assert_int_equal(seteuid(65534), 0);
	assert_int_equal(read_file("closed", 16, &f), FAIL_IO);
	if (before == 0)
		assert_int_equal(seteuid(before), 0);
	assert_string_equal(f.text, "file closed: cannot be opened: Permission denied");
	folder_make("sub");
	assert_int_equal(read_file("sub", 16, &f), FAIL_IO);
	assert_string_equal(f.text, "file sub: is not a regular file");
	assert_int_equal(mkfifo(folder_path("pipe"), 0644), 0);
	assert_int_equal(read_file("pipe", 16, &f), FAIL_IO);
	assert_string_equal(f.text, "file pipe: is not a regular file");
}

/* What somebody does to the file "a" between its opening and its end. */
static void
shrink(void)
{
	assert_int_equal(truncate(folder_path("a"), 200000), 0);
}

static void
replace(void)
{
	folder_text("b", "other");
	assert_int_equal(rename(folder_path("b"), folder_path("a")), 0);
}

static void
take_away(void)
{
	assert_int_equal(unlink(folder_path("a")), 0);
}

static void
rewrite(void)
{
	struct utimbuf later = {time(NULL) + 10, time(NULL) + 10};
	int fd = open(folder_path("a"), O_WRONLY);

	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	close(fd);
	assert_int_equal(utime(folder_path("a"), &later), 0);
}

static void
lengthen(void)
{
	int fd = open(folder_path("a"), O_WRONLY | O_APPEND);

	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
}

static void
test_a_file_that_changes_while_it_is_read_is_an_io_failure(void **unused)
{
	static const struct {
		void (*change)(void);
		const char *says; /* NULL: it is no failure */
	} rows[] = {
	    {shrink, "file a: shrank from 300000 to 200000 bytes while it was read"},
	    {replace, "file a: was replaced or removed while it was read"},
	    {take_away, "file a: was replaced or removed while it was read"},
	    {rewrite, "file a: was rewritten while it was read"},
	    {lengthen, NULL},
	};
	struct bytes t = make_text(300000);

	(void)unused;
	EACH_NAMED_ROW(i, rows, says) {
		struct stream *s;
		struct failure f;
		size_t got;

		folder_write("a", t.at, t.n);
		assert_int_equal(stream_open_file(&s, folder_path("a"), "a", &f), FAIL_NONE);
		assert_int_equal(stream_read(s, text, 10, &got, &f), FAIL_NONE);
		rows[i].change();
		assert_int_equal(
		    read_rest(s, 4096, &f), rows[i].says == NULL ? FAIL_NONE : FAIL_IO);
		if (rows[i].says != NULL)
			assert_non_null(strstr(f.text, rows[i].says));
		stream_close(s);
	}
	free(t.at);
}

static void
test_a_size_that_is_not_true_is_an_io_failure(void **unused)
{
	static const struct {
		uint64_t opened, now, read_bytes;
		const char *says; /* NULL: it is no failure */
	} rows[] = {
	    {0, 0, 0, NULL},
	    {300, 300, 300, NULL},
	    {300, 301, 300, NULL},
	    {300, 301, 301, NULL},
	    {300, 299, 300, "file a: shrank from 300 to 299 bytes while it was read; "},
	    {300, 0, 300, "file a: shrank from 300 to 0 bytes while it was read; "},
	    {300, 310, 311, "file a: shrank from 311 to 310 bytes while it was read; "},
	    {0, 0, 1, "file a: has a size of 0 bytes, but reading it gave 1, "},
	    {4096, 4096, 5, "file a: has a size of 4096 bytes, but reading it gave 5, "},
	    {300, 301, 299, "file a: has a size of 301 bytes, but reading it gave 299, "},
	};
	struct failure f;

	(void)unused;
	EACH_ROW(i, rows) {
		enum fail_code code =
		    stream_check_sizes("a", rows[i].opened, rows[i].now, rows[i].read_bytes, &f);

		assert_int_equal(code, rows[i].says == NULL ? FAIL_NONE : FAIL_IO);
		if (rows[i].says != NULL)
			assert_memory_equal(f.text, rows[i].says, strlen(rows[i].says));
	}
}

static void
test_a_file_of_proc_says_that_its_size_is_not_true(void **unused)
{
	struct stream *s;
	struct failure f;

	(void)unused;
	assert_int_equal(stream_open_file(&s, "/proc/self/status", "status", &f), FAIL_NONE);
	assert_int_equal(read_rest(s, 4096, &f), FAIL_IO);
	stream_close(s);
	assert_non_null(strstr(f.text, "file status: has a size of 0 bytes, but reading it gave "));
	assert_non_null(strstr(f.text, "; copy it to a regular file, and name the copy"));
}

static struct stream_program
program(const char *command)
{
	return (struct stream_program){
	    .command = command, .name = "web", .folder = folder, .stop_fd = -1, .idle_ms = -1};
}

static enum fail_code
run(const char *command, struct failure *f)
{
	struct stream_program p = program(command);
	struct stream *s;
	enum fail_code code;

	f->text[0] = '\0';
	code = stream_open_program(&s, &p, f);
	if (code != FAIL_NONE)
		return code;
	code = read_rest(s, 4096, f);
	stream_close(s);
	return code;
}

struct program_row {
	const char *command, *prints, *says; /* says: NULL, it ends with 0 */
};

static void
check_programs(const struct program_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct failure f;
		enum fail_code code = run(rows[i].command, &f);

		assert_string_equal(f.text, rows[i].says == NULL ? "" : rows[i].says);
		assert_int_equal(code, rows[i].says == NULL ? FAIL_NONE : FAIL_DATA);
		check_is(rows[i].prints, strlen(rows[i].prints));
	}
}

static void
test_a_program_gives_what_it_prints_then_how_it_ended(void **unused)
{
	static const struct program_row rows[] = {
	    {"echo hello", "hello\n", NULL},
	    {"true", "", NULL},
	    {"cat", "", NULL}, /* there is nothing to read */
	    {"cat file; printf '%s' \"$PWD\" | wc -l", "in the folder\n0\n", NULL},
	    {"echo a; exit 3", "a\n", "the program ended with exit status 3"},
	    {"echo a; kill -9 $$", "a\n", "the program was ended by signal 9 (Killed)"},
	    {"no-such-program-at-all 2>/dev/null", "",
		"the program ended with exit status 127 (command not found)"},
	    {"./file 2>/dev/null", "",
		"the program ended with exit status 126 (command cannot be executed)"},
	    {"exec >&-; sleep 0.05; exit 4", "", "the program ended with exit status 4"},
	};

	(void)unused;
	folder_text("file", "in the folder\n");
	check_programs(rows, sizeof(rows) / sizeof(rows[0]));
}

static void
test_a_failure_anywhere_in_a_pipe_is_a_failure_of_the_command(void **unused)
{
	static const struct program_row rows[] = {
	    {"{ echo a; exit 3; } | cat", "a\n", "the program ended with exit status 3"},
	    {"{ echo a; exit 3; } | cat | cat", "a\n", "the program ended with exit status 3"},
	    {"{ echo a; exit 3; } | { cat; exit 4; }", "a\n",
		"the program ended with exit status 4"},
	    {"{ echo a; kill -9 $BASHPID; } | cat", "a\n",
		"the program ended with exit status 137"},
	    {"no-such-program-at-all 2>&- | cat", "",
		"the program ended with exit status 127 (command not found)"},
	    {"false || echo b", "b\n", NULL},
	    {"false || echo b | cat", "b\n", NULL},
	    {"yes | head -n 1", "y\n",
		"the program ended with exit status 141 (a program in the pipe had more to print "
		"when "
		"the next one ended, as head does; if that is intended, write `(PROGRAM || true) | "
		"head -n 1000`)"},
	    {"(yes || true) | head -n 1", "y\n", NULL},
	    {"exit 141", "", "the program ended with exit status 141"},
	    {"echo a | grep b", "",
		"the program ended with exit status 1 (grep also ends with 1 if it selects no "
		"line; "
		"if that is no failure, write `{ grep -v x || [ $? = 1 ]; }`)"},
	    {"echo a | { grep b || [ $? = 1 ]; }", "", NULL},
	    {"set +o pipefail; false | echo a", "a\n", NULL},
	};

	(void)unused;
	check_programs(rows, sizeof(rows) / sizeof(rows[0]));
}

static void
test_a_riffle_source_that_is_not_installed_is_named_with_the_pip_command(void **unused)
{
	static const struct program_row rows[] = {
	    {"riffle-source x 2>&-", "",
		"the program ended with exit status 127 (command not found: riffle-source comes "
		"with riffle's Python package. In a checkout of riffle, run "
		"`pip install './python[source]'`)"},
	};
	char *path = strdup(getenv("PATH"));

	(void)unused;
	assert_non_null(path);
	assert_int_equal(setenv("PATH", "/no/such/folder", 1), 0);
	check_programs(rows, sizeof(rows) / sizeof(rows[0]));
	assert_int_equal(setenv("PATH", path, 1), 0);
	free(path);
}

/* Debian's sh prints the same for each of these; it ends the last one with 2. */
static void
test_a_command_with_a_pipe_prints_what_sh_prints(void **unused)
{
	static const struct program_row rows[] = {
	    {"echo 'a\\tb' | cat", "a\tb\n", NULL},
	    {"{ echo -n a '\\\\' b; echo; echo; echo -n; } | cat", "a \\ b\n\n", NULL},
	    {"{ echo -e a; echo 'a\\c'; } | cat", "-e a\na", NULL},
	    {"set -u; IFS=:; echo -n a b | cat; echo | cat", "a b\n", NULL},
	    {"echo {a,b} {1..3} | cat", "{a,b} {1..3}\n", NULL},
	    {"x=1; f() { echo $x; }; x=2 f | cat", "2\n", NULL},
	    {". ./no-such-file 2>&-; echo on | cat", "", "the program ended with exit status 1"},
	};

	(void)unused;
	check_programs(rows, sizeof(rows) / sizeof(rows[0]));
}

static void
test_without_bash_a_pipe_is_refused_and_another_command_is_run(void **unused)
{
	static const char *const without[] = {"/no/such/folder", "", ":", "usr/bin:bin"};
	char *path = strdup(getenv("PATH"));
	struct failure f;

	(void)unused;
	assert_non_null(path);
	for (size_t i = 0; i <= sizeof(without) / sizeof(without[0]); i++) {
		if (i < sizeof(without) / sizeof(without[0]))
			assert_int_equal(setenv("PATH", without[i], 1), 0);
		else
			assert_int_equal(unsetenv("PATH"), 0);
		assert_int_equal(run("echo a | read b", &f), FAIL_CONFIG);
		assert_string_equal(f.text,
		    "exec:web: its command has a |, and PATH has no bash. In a pipe sh hides the "
		    "failure of every program but the last one, so that incomplete data would pass "
		    "as complete. Install bash");
		assert_int_equal(run("false || echo a", &f), FAIL_NONE);
		check_is("a\n", 2);
	}
	assert_int_equal(setenv("PATH", "/no/such/folder::/bin:/usr/bin", 1), 0);
	assert_int_equal(run("echo a | cat", &f), FAIL_NONE);
	check_is("a\n", 2);
	assert_int_equal(setenv("PATH", path, 1), 0);
	free(path);
}

static void
test_a_program_finds_where_to_resume_in_its_environment(void **unused)
{
	struct stream_program p = program("echo ${RIFFLE_RESUME-none}");
	struct stream *s;
	struct failure f;

	(void)unused;
	assert_int_equal(setenv("RIFFLE_RESUME", "of somebody else", 1), 0);
	assert_int_equal(run(p.command, &f), FAIL_NONE);
	check_is("none\n", 5);
	p.resume = 7; /* a program that is not followed prints all again and is told nothing */
	assert_int_equal(stream_open_program(&s, &p, &f), FAIL_NONE);
	assert_int_equal(read_rest(s, 4096, &f), FAIL_NONE);
	check_is("none\n", 5);
	stream_close(s);
	p.says_resume = true;
	p.resume = 12345678901234567890U;
	assert_int_equal(stream_open_program(&s, &p, &f), FAIL_NONE);
	assert_int_equal(read_rest(s, 4096, &f), FAIL_NONE);
	check_is("12345678901234567890\n", 21);
	stream_close(s);
	assert_int_equal(unsetenv("RIFFLE_RESUME"), 0);
}

static void
test_a_program_whose_folder_is_missing_is_an_io_failure(void **unused)
{
	struct stream_program p = program("true");
	struct stream *s;
	struct failure f;

	(void)unused;
	p.folder = "/no/such/folder";
	assert_int_equal(stream_open_program(&s, &p, &f), FAIL_IO);
	assert_string_equal(
	    f.text, "exec:web: cannot be run in folder /no/such/folder: No such file or directory");
}

static void
test_a_slow_program_times_out_and_is_stopped_by_the_descriptor(void **unused)
{
	struct stream_program p = program("echo one; sleep 1000");
	struct stream *s;
	struct failure f;
	size_t got;

	(void)unused;
	p.idle_ms = 20;
	p.stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(stream_open_program(&s, &p, &f), FAIL_NONE);
	while (stream_read(s, text, 16, &got, &f) == FAIL_TIMEOUT)
		; /* the shell has not come to echo yet */
	assert_int_equal(got, 4);
	assert_int_equal(stream_read(s, text, 16, &got, &f), FAIL_TIMEOUT);
	assert_int_equal(eventfd_write(p.stop_fd, 1), 0);
	assert_int_equal(stream_read(s, text, 16, &got, &f), FAIL_STOPPED);
	stream_close(s);
	close(p.stop_fd);
}

/* Waits until no process of the group is left; they may take a moment to be gone. */
static bool
group_is_gone(pid_t group)
{
	const struct timespec pause = {0, 5 * 1000000L};

	for (int i = 0; i < 1000; i++) {
		if (kill(-group, 0) != 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static void
test_a_program_is_killed_on_close_with_its_children_even_against_its_will(void **unused)
{
	static const char *const commands[] = {
	    "echo $$; sleep 1000 | sleep 1000",
	    "trap '' TERM; echo $$; sleep 1000 & sleep 1000; true",
	};

	(void)unused;
	for (size_t i = 0; i < 2; i++) {
		struct stream_program p = program(commands[i]);
		struct stream *s;
		struct failure f;
		size_t got;
		pid_t group;

		assert_int_equal(stream_open_program(&s, &p, &f), FAIL_NONE);
		assert_int_equal(stream_read(s, text, 16, &got, &f), FAIL_NONE);
		text[got] = '\0';
		group = (pid_t)strtol(text, NULL, 10);
		assert_true(group > 1 && group != getpgrp());
		assert_int_equal(kill(-group, 0), 0);
		stream_close(s);
		assert_true(group_is_gone(group));
	}
}

/* Found by fuzzing: with little room inflate() kept output back that no further byte let out. */
static void
test_a_truncated_gzip_file_gives_as_much_to_small_reads_as_to_large_ones(void **unused)
{
	static char repeated[4000];
	struct bytes gz;
	struct failure f;
	size_t whole;

	(void)unused;
	memset(repeated, 'x', sizeof(repeated));
	gz = bytes_gzip(repeated, sizeof(repeated));
	for (size_t cut = 1; cut < gz.n - 10; cut++) {
		folder_write("a.gz", gz.at, gz.n - cut);
		assert_int_equal(read_file("a.gz", sizeof(repeated), &f), FAIL_DATA);
		whole = text_n;
		for (size_t room = 1; room < 300; room += 37) {
			assert_int_equal(read_file("a.gz", room, &f), FAIL_DATA);
			check_is(repeated, whole);
		}
	}
	free(gz.at);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)
	const struct CMUnitTest tests[] = {
	    TEST(test_a_truncated_gzip_file_gives_as_much_to_small_reads_as_to_large_ones),
	    TEST(test_the_kind_is_told_by_the_content),
	    TEST(test_files_shorter_than_their_mark),
	    TEST(test_all_members_and_frames_are_read_in_pieces_of_any_size),
	    TEST(test_a_file_cut_at_any_byte_gives_what_came_before_and_says_so),
	    TEST(test_a_damaged_byte_never_passes_unseen_nor_takes_what_came_before),
	    TEST(test_what_is_no_text_is_named),
	    TEST(test_a_wrong_checksum_is_damage_after_all_the_text),
	    TEST(test_what_follows_gzip_data_is_taken_as_gzip_takes_it),
	    TEST(test_zstd_windows_of_2_gib_are_read_and_larger_ones_refused),
	    TEST(test_a_plain_file_is_read_from_any_byte_and_others_from_their_start),
	    TEST(test_what_cannot_be_opened_is_an_io_failure),
	    TEST(test_a_file_that_changes_while_it_is_read_is_an_io_failure),
	    TEST(test_a_size_that_is_not_true_is_an_io_failure),
	    TEST(test_a_file_of_proc_says_that_its_size_is_not_true),
	    TEST(test_a_program_gives_what_it_prints_then_how_it_ended),
	    TEST(test_a_failure_anywhere_in_a_pipe_is_a_failure_of_the_command),
	    TEST(test_a_riffle_source_that_is_not_installed_is_named_with_the_pip_command),
	    TEST(test_a_command_with_a_pipe_prints_what_sh_prints),
	    TEST(test_without_bash_a_pipe_is_refused_and_another_command_is_run),
	    TEST(test_a_program_finds_where_to_resume_in_its_environment),
	    TEST(test_a_program_whose_folder_is_missing_is_an_io_failure),
	    TEST(test_a_slow_program_times_out_and_is_stopped_by_the_descriptor),
	    TEST(test_a_program_is_killed_on_close_with_its_children_even_against_its_will),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
