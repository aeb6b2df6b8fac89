#include "producer/input/input.h"

#include "producer/input/chunk_queue.h"

#include <inttypes.h>
#include <time.h>
#include <xxhash.h>

#include "tests/unit/folder.h"

/* What one input has given: its records as text, one a line: "document file:byte:line
 * bytes[!reason]". */
struct reading {
	char text[1 << 16];
	size_t n, records, chunks, rejects;
	uint64_t input_bytes;
};

static struct reading r;

static struct input_options
options(struct config_list *patterns, const char *pattern)
{
	static char *text[1];

	text[0] = (char *)(uintptr_t)pattern;
	*patterns = (struct config_list){1, text};
	return (struct input_options){
	    .patterns = patterns, .folder = folder, .partitions = 1, .max_document_bytes = 1 << 20};
}

static void
note(const struct chunk *k)
{
	r.chunks++;
	r.input_bytes += k->input_bytes;
	for (size_t i = 0; i < k->n; i++) {
		const struct chunk_record *d = &k->record[i];

		r.n += (size_t)snprintf(r.text + r.n, sizeof(r.text) - r.n,
		    "%d %s:%d:%d %.*s%s%s\n", (int)d->document, k->file, (int)d->byte, (int)d->line,
		    (int)(d->n < 40 ? d->n : 40), d->bytes, d->reject == NULL ? "" : "!",
		    d->reject == NULL ? "" : d->reject);
		assert_true(r.n < sizeof(r.text));
		r.rejects += d->reject != NULL;
	}
	r.records += k->n;
}

static enum fail_code
read_input(struct input *in, struct failure *f)
{
	struct chunk *k;
	enum fail_code code;

	memset(&r, 0, sizeof(r));
	while ((code = input_next(in, &k, f)) == FAIL_NONE && k != NULL) {
		note(k);
		chunk_close(k);
	}
	return code;
}

static enum fail_code
read_with(const struct input_options *o, const struct input_position *from, struct failure *f)
{
	struct input *in;
	enum fail_code code = input_open(&in, o, from, f);

	memset(&r, 0, sizeof(r));
	if (code != FAIL_NONE)
		return code;
	code = read_input(in, f);
	input_close(in);
	return code;
}

static void
check_reads(const char *pattern, const char *expected)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, pattern);
	struct failure f;

	for (o.chunk_bytes = 0; o.chunk_bytes < 30; o.chunk_bytes += 7) {
		assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
		assert_string_equal(r.text, expected);
	}
}

static void
write_all(void)
{
	struct bytes gz = bytes_gzip("{\"c\":1}\n{\"c\":2}", 15),
		     zst = bytes_zstd("whole\nfile\n", 11);

	folder_text("a.jsonl", "{\"a\":1}\r\n\n{\"a\":2}\n");
	folder_text("b.json", "");
	folder_write("c.jsonl.gz", gz.at, gz.n);
	folder_text("d.txt", "one\ntwo\n");
	folder_write("e.txt.zst", zst.at, zst.n);
	folder_text("f.txt", "");
	folder_text("g", "\xef\xbb\xbf{\"g\":1}\n");
	free(gz.at);
	free(zst.at);
}

#define ALL                                                                                        \
	"0 a.jsonl:0:1 {\"a\":1}\n1 a.jsonl:10:3 {\"a\":2}\n2 c.jsonl.gz:0:1 {\"c\":1}\n"          \
	"3 c.jsonl.gz:8:2 {\"c\":2}\n4 d.txt:0:1 one\ntwo\n\n5 e.txt.zst:0:1 whole\nfile\n\n"      \
	"6 g:3:1 {\"g\":1}\n"

static void
test_files_of_all_kinds_are_one_input(void **unused)
{
	(void)unused;
	write_all();
	check_reads("*", ALL);
	check_reads("{b.json,f.txt}", "");
}

static void
test_lanes_read_all_files_once(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "*");
	size_t files = 0, records = 0;
	uint64_t bytes = 0;

	(void)unused;
	write_all();
	o.partitions = 9;
	for (o.partition = 0; o.partition < o.partitions; o.partition++) {
		struct input *in;
		struct failure f;

		assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
		files += input_files(in);
		assert_int_equal(read_input(in, &f), FAIL_NONE);
		assert_int_equal(r.input_bytes, r.records > 0 ? input_bytes_total(in) : 0);
		bytes += input_bytes_total(in);
		records += r.records;
		input_close(in);
	}
	assert_int_equal(files, 7);
	assert_int_equal(records, 7);
	o.partition = 0;
	o.partitions = 1;
	{
		struct input *in;
		struct failure f;

		assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
		assert_int_equal(input_bytes_total(in), bytes);
		assert_int_equal(read_input(in, &f), FAIL_NONE);
		assert_int_equal(r.input_bytes, bytes);
		input_close(in);
	}
}

/*
 * Writes `lines` lines of different lengths, some blank, plain and compressed, and a second file.
 */
static void
write_lines(int lines)
{
	char *text = malloc(1 << 20);
	size_t n = 0;
	struct bytes gz, zst;

	for (int i = 0; i < lines; i++)
		n += (size_t)snprintf(text + n, (1 << 20) - n, "%s{\"i\":%d%.*s}\n",
		    i % 3 == 1 ? "\n" : "", i, i % 17, "                 ");
	gz = bytes_gzip(text, n);
	zst = bytes_zstd(text, n);
	folder_write("a.plain", text, n);
	folder_write("a.gz", gz.at, gz.n);
	folder_write("a.zst", zst.at, zst.n);
	folder_text("z.last", "{\"z\":1}\n");
	free(gz.at);
	free(zst.at);
	free(text);
}

static void
test_a_resume_at_any_record_gives_exactly_the_rest(void **unused)
{
	static const char *const kinds[] = {"{a.plain,z.last}", "{a.gz,z.last}", "{a.zst,z.last}"};
	enum { LINES = 60 };

	(void)unused;
	write_lines(LINES);
	for (size_t kind = 0; kind < 3; kind++) {
		struct config_list patterns;
		struct input_options o = options(&patterns, kinds[kind]);
		struct failure f;
		static char whole[sizeof(r.text)];
		const char *line = whole;

		assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
		assert_int_equal(r.records, LINES + 1);
		memcpy(whole, r.text, sizeof(whole));
		o.chunk_bytes = 50;
		for (int i = 0; i < LINES; i++) {
			char file[16];
			int document, byte, at_line;
			struct input_position from = {.file = file};

			assert_int_equal(
			    sscanf(line, "%d %15[^:]:%d:%d", &document, file, &byte, &at_line), 4);
			from.document = (uint64_t)document;
			from.byte = (uint64_t)byte;
			from.line = (uint64_t)at_line;
			assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
			assert_string_equal(r.text, line);
			line = strchr(line, '\n') + 1;
		}
	}
}

static void
test_a_resume_counts_what_it_leaves_out(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "*.jsonl");
	struct input_position from = {.file = "b.jsonl", .document = 5, .byte = 8, .line = 2};
	struct input *in;
	struct failure f;

	(void)unused;
	folder_text("a.jsonl", "{\"a\":1}\n");
	folder_text("b.jsonl", "{\"b\":1}\n{\"b\":2}\n");
	folder_text("c.jsonl", "{\"c\":1}\n");
	assert_int_equal(input_open(&in, &o, &from, &f), FAIL_NONE);
	assert_int_equal(input_bytes_total(in), 32);
	assert_int_equal(input_bytes_skipped(in), 16);
	assert_int_equal(read_input(in, &f), FAIL_NONE);
	assert_string_equal(r.text, "5 b.jsonl:8:2 {\"b\":2}\n6 c.jsonl:0:1 {\"c\":1}\n");
	assert_int_equal(r.input_bytes, 16);
	input_close(in);
}

static void
test_a_resume_on_other_data_is_refused(void **unused)
{
	static const struct {
		struct input_position from;
		enum fail_code code;
		const char *says;
	} rows[] = {
	    {{.file = "gone", .document = 1}, FAIL_CONFIG, "file gone: the last run ended there"},
	    {{.file = "a", .document = 1, .byte = 9, .line = 2}, FAIL_DATA,
		"file a: no line starts at byte 9, where the last run ended: put the file back as "
		"it "
		"was, or publish the domain again from its start (`riffle produce DOMAIN "
		"--restart`)"},
	    {{.file = "a", .document = 1, .byte = 16, .line = 3}, FAIL_DATA,
		"no record 1 starts at byte 16"},
	    {{.file = "a", .document = 1, .byte = 99, .line = 2}, FAIL_DATA,
		"a run cannot be resumed at byte 99: file a: has only 16 bytes: put the file back "
		"as "
		"it was, or publish the domain again"},
	    {{.file = "c.gz", .document = 1, .byte = 9, .line = 2}, FAIL_DATA,
		"c.gz: no record 1 starts at byte 9"},
	    {{.file = "c.gz", .document = 1, .byte = 99, .line = 2}, FAIL_DATA,
		"c.gz: no record 1 starts at byte 99"},
	    {{.file = "empty.gz", .document = 1, .byte = 9, .line = 2}, FAIL_DATA,
		"empty.gz: no record 1 starts at byte 9"},
	};
	struct config_list patterns;
	struct input_options o = options(&patterns, "*");
	struct bytes gz = bytes_gzip("{\"c\":1}\n{\"c\":2}\n", 16);

	(void)unused;
	folder_text("a", "{\"a\":1}\n{\"a\":2}\n");
	folder_write("c.gz", gz.at, gz.n);
	folder_text("empty.gz", "");
	EACH_NAMED_ROW(i, rows, says) {
		struct failure f;

		assert_int_equal(read_with(&o, &rows[i].from, &f), rows[i].code);
		assert_non_null(strstr(f.text, rows[i].says));
		assert_string_equal(r.text, "");
	}
	free(gz.at);
}

/* The files up to that of the resume are named by their number and the hash of their names. */
static void
test_a_resume_behind_other_files_is_refused(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "*.jsonl");
	struct input_position from = {.file = "b.jsonl", .document = 1, .byte = 0, .line = 1};
	struct input *in;
	struct failure f;

	(void)unused;
	folder_text("a.jsonl", "{\"a\":1}\n");
	folder_text("b.jsonl", "{\"b\":1}\n");
	folder_text("c.jsonl", "{\"c\":1}\n");
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	assert_false(input_files_up_to(in, "bb.jsonl", &from.files, &from.names));
	assert_true(input_files_up_to(in, "b.jsonl", &from.files, &from.names));
	assert_int_equal(from.files, 2);
	input_close(in);

	folder_text("bb.jsonl", "{\"bb\":1}\n"); /* comes behind the place: it is read */
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_string_equal(r.text,
	    "1 b.jsonl:0:1 {\"b\":1}\n2 bb.jsonl:0:1 {\"bb\":1}\n3 c.jsonl:0:1 {\"c\":1}\n");

	folder_text("aa.jsonl", "{\"aa\":1}\n");
	assert_int_equal(read_with(&o, &from, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "1 of the files that sort before b.jsonl are new"));
	assert_string_equal(r.text, "");

	from.files = 3; /* of a run that had one more */
	assert_int_equal(read_with(&o, &from, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "files that sort before b.jsonl, where the last run ended, "
				       "were removed or renamed (there were 2, there are 2)"));
	from.names = 0;
	from.files = 0; /* a log of before it was on records */
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
}

/* With file_order: listed the list itself says what is in front, and only its end may grow. */
static void
test_a_list_that_changed_in_front_of_a_resume_is_refused(void **unused)
{
	static const struct {
		const char *pattern;
		bool ended;
		const char *says;
	} rows[] = {
	    {"{b,a}.jsonl", false, NULL},
	    {"{b,a,c}.jsonl", false, NULL},
	    {"{c,b,a}.jsonl", false,
		"the files listed before a.jsonl, where the last run ended, are not those of that "
		"run in the same order (there were 1, now there are 2; file_order: listed). "
		"Restore the list up to that file and add new files after it, or publish the "
		"domain again"},
	    {"{a,b,c}.jsonl", false, "(there were 1, now there are 0; file_order: listed)"},
	    {"{b,a}.jsonl", true, NULL},
	    {"{b,a,c}.jsonl", true, NULL},
	    {"{b,c,a}.jsonl", true,
		"the list no longer begins with the 2 files of the run before in the same order "
		"(file_order: listed). Restore it up to a.jsonl, the last of them, and add new "
		"files after that one, or make the new files a domain of their own"},
	    {"{a,b,c}.jsonl", true, "the list no longer begins with the 2 files"},
	};
	struct config_list patterns;
	struct input_options o = options(&patterns, "{b,a}.jsonl");
	struct input_position from = {.file = "a.jsonl", .document = 1, .line = 1};
	struct input *in;
	struct failure f;

	(void)unused;
	o.file_order = CONFIG_FILES_LISTED;
	folder_text("a.jsonl", "{\"a\":1}\n");
	folder_text("b.jsonl", "{\"b\":1}\n");
	folder_text("c.jsonl", "{\"c\":1}\n");
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	assert_true(input_files_up_to(in, "a.jsonl", &from.files, &from.names));
	assert_int_equal(from.files, 2);
	assert_int_equal(read_input(in, &f), FAIL_NONE);
	assert_string_equal(r.text, "0 b.jsonl:0:1 {\"b\":1}\n1 a.jsonl:0:1 {\"a\":1}\n");
	assert_int_equal(input_end(in)->names, from.names);
	input_close(in);
	EACH_NAMED_ROW(i, rows, pattern) {
		bool fits = rows[i].says == NULL, more = strchr(rows[i].pattern, 'c') != NULL;

		o = options(&patterns, rows[i].pattern);
		o.file_order = CONFIG_FILES_LISTED;
		from.ended = rows[i].ended;
		from.document = from.ended ? 2 : 1;
		from.byte = from.ended ? 8 : 0;
		from.line = from.ended ? 2 : 1;
		from.settled_bytes = 8;
		assert_int_equal(read_with(&o, &from, &f), fits ? FAIL_NONE : FAIL_CONFIG);
		if (!fits)
			assert_non_null(strstr(f.text, rows[i].says));
		assert_int_equal(r.records, fits ? !from.ended + more : 0);
	}
}

static void
test_damage_is_a_reject_between_the_records_before_and_after(void **unused)
{
	struct bytes gz = bytes_gzip("{\"b\":1}\n{\"b\":2}\n", 16);
	char expected[512];

	(void)unused;
	folder_text("a", "{\"a\":1}\n");
	folder_write("b.gz", gz.at, gz.n - 8); /* without its checksum and length */
	folder_text("c.zst", "");
	folder_text("d", "{\"d\":1}\n");
	snprintf(expected, sizeof(expected),
	    "0 a:0:1 {\"a\":1}\n1 b.gz:0:1 {\"b\":1}\n2 b.gz:8:2 {\"b\":2}\n"
	    "3 b.gz:16:3 !gzip data ends at byte %zu, in the middle of a member\n"
	    "4 c.zst:0:1 !zstd data ends at byte 0, before it has begun\n"
	    "5 d:0:1 {\"d\":1}\n",
	    gz.n - 8);
	check_reads("*", expected);
	assert_int_equal(r.rejects, 2);
	free(gz.at);
}

static void
test_a_file_cut_at_any_byte_gives_its_whole_lines_and_one_reject(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "a*");
	char text[2000];
	size_t n = 0, most = 0;

	(void)unused;
	for (int i = 0; n < 900; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"i\":%d}\n", i * i * 7919);
	for (int kind = 0; kind < 3; kind++) {
		struct bytes b = kind == 2 ? bytes_zstd(text, n) : bytes_gzip(text, n);
		const char *name = kind == 2 ? "a.zst" : kind == 1 ? "a.txt.gz" : "a.gz";

		for (size_t cut = 0; cut < b.n; cut++) {
			struct failure f;
			const char *at = text, *line = r.text;

			folder_write(name, b.at, cut);
			assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
			assert_int_equal(r.rejects, 1);
			while (strchr(line, '\n')[1] != '\0') { /* all but the last, the reject */
				size_t line_n = strcspn(at, "\n");

				assert_memory_equal(strchr(line, '{'), at, line_n + 1);
				at += line_n + 1;
				line = strchr(line, '\n') + 1;
			}
			assert_non_null(strchr(line, '!'));
			/*
			 * A .txt.gz is one record; of lines all are there that were decompressed.
			 */
			assert_true(kind != 1 || r.records == 1);
			most = r.records > most ? r.records : most;
		}
		assert_int_equal(unlink(folder_path(name)), 0);
		free(b.at);
	}
	assert_true(most > 30);
}

static void
test_what_is_too_long_is_a_reject_in_its_place(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "*");
	struct failure f;
	char *line = malloc(3000002);

	(void)unused;
	memset(line, 'x', 3000001);
	memcpy(line + 1000000, "\ny\n", 3);
	line[3000001] = '\0';
	folder_text("a", line);
	folder_text("b.txt", line);
	folder_text("c", "z");
	o.max_document_bytes = 999999;
	assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
	assert_int_equal(r.records, 5);
	assert_int_equal(r.rejects, 3);
	assert_int_equal(r.input_bytes, 6000003);
	assert_non_null(strstr(r.text, "\n1 a:1000001:2 y\n2 a:1000003:3 xxx"));
	assert_non_null(strstr(r.text, "\n3 b.txt:0:1 xxx"));
	assert_non_null(strstr(r.text, "\n4 c:0:1 z\n"));
	o.max_document_bytes = 1000000;
	assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
	assert_int_equal(r.rejects, 2);
	o.max_document_bytes = 3000001;
	assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
	assert_int_equal(r.rejects, 0);
	free(line);
}

static void
test_a_file_that_goes_away_later_fails_after_what_came_before(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "*");
	struct chunk *k;
	struct input *in;
	struct failure f;
	char name[16];

	(void)unused;
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%02d", i);
		folder_text(name, "{}\n");
	}
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	/* No more than CHUNK_QUEUE_MAX and the one in hand can have been read. */
	assert_int_equal(unlink(folder_path("39")), 0);
	for (int i = 0; i < 39; i++) {
		assert_int_equal(input_next(in, &k, &f), FAIL_NONE);
		assert_non_null(k);
		assert_int_equal(k->record[0].document, i);
		chunk_close(k);
	}
	for (int again = 0; again < 2; again++) {
		assert_int_equal(input_next(in, &k, &f), FAIL_IO);
		assert_string_equal(f.text, "file 39: cannot be opened: No such file or directory");
		assert_null(k);
	}
	input_close(in);
}

static void
test_the_end_is_told_as_often_as_it_is_asked(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "a");
	struct chunk *k;
	struct input *in;
	struct failure f;

	(void)unused;
	folder_text("a", "\n");
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	for (int again = 0; again < 3; again++) {
		assert_int_equal(input_next(in, &k, &f), FAIL_NONE);
		assert_null(k);
	}
	input_close(in);
}

static void
test_an_input_can_be_closed_at_any_time(void **unused)
{
	struct config_list patterns;
	struct input_options o = options(&patterns, "a.*");

	(void)unused;
	write_lines(3000);
	o.chunk_bytes = 64;
	for (int taken = 0; taken < 30; taken += 3) {
		struct input *in;
		struct failure f;

		assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
		for (int i = 0; i < taken; i++) {
			struct chunk *k;

			assert_int_equal(input_next(in, &k, &f), FAIL_NONE);
			chunk_close(k);
		}
		input_close(in);
	}
	input_close(NULL);
}

static struct input_options
program(const char *command)
{
	return (struct input_options){.exec = command,
	    .exec_name = "web",
	    .folder = folder,
	    .partitions = 1,
	    .max_document_bytes = 1 << 20};
}

static void
test_a_program_is_an_input(void **unused)
{
	static const struct {
		const char *command, *expected;
	} rows[] = {
	    {"echo '{}'; echo; echo '[]'", "0 %:0:1 {}\n1 %:4:3 []\n"},
	    {"printf '{}'", "0 %:0:1 {}\n"},
	    {"true", ""},
	    {"echo '{}'; exit 2", "0 %:0:1 {}\n1 %:3:2 !the program ended with exit status 2\n"},
	    {"printf '{}\\n{\"a'; kill -15 $$",
		"0 %:0:1 {}\n1 %:3:2 {\"a!the program was ended by signal 15 (Terminated)\n"},
	};

	(void)unused;
	EACH_NAMED_ROW(i, rows, command) {
		struct input_options o = program(rows[i].command);
		struct failure f;
		char expected[512] = "";

		for (const char *at = rows[i].expected; *at != '\0'; at++) {
			size_t n = strlen(expected);

			if (*at == '%')
				snprintf(expected + n, sizeof(expected) - n, "exec:web#%016" PRIx64,
				    XXH64(rows[i].command, strlen(rows[i].command), 0));
			else
				snprintf(expected + n, sizeof(expected) - n, "%c", *at);
		}
		assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
		assert_string_equal(r.text, expected);
		{
			struct input *in;

			assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
			assert_int_equal(input_bytes_total(in), 0);
			assert_int_equal(input_files(in), 0);
			input_close(in);
		}
	}
}

static void
test_a_program_is_resumed_by_skipping_what_it_prints_again(void **unused)
{
	static const char command[] =
	    "for i in 1 2 3 4; do echo \"{\\\"i\\\":$i}\"; done; echo ${RIFFLE_RESUME-no}";
	struct input_options o = program(command);
	struct input_position from = {.file = command, .document = 2, .byte = 16, .line = 3};
	struct failure f;

	(void)unused;
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_int_equal(r.records, 3);
	assert_non_null(strstr(r.text, ":16:3 {\"i\":3}\n3 "));
	assert_non_null(strstr(r.text, ":32:5 no\n"));

	from.byte = 15; /* another place than now: it has not printed the same */
	assert_int_equal(read_with(&o, &from, &f), FAIL_DATA);
	assert_non_null(strstr(f.text, "no record 2 starts at byte 15, where the last run ended"));
	from.byte = 16;
	from.document = 9; /* it has printed less */
	assert_int_equal(read_with(&o, &from, &f), FAIL_DATA);
}

static void
test_another_command_is_named_by_name_and_hash_and_never_written_out(void **unused)
{
	static const char command[] = "echo 1; echo 2 # of token hunter2";
	struct input_options o = program(command);
	struct input_position from = {.document = 1, .byte = 2, .line = 2};
	char file[64];
	struct failure f;

	(void)unused;
	/* Under whatever name it was read then, and as logs of before names have it. */
	snprintf(file, sizeof(file), "exec:feed#%016" PRIx64, XXH64(command, strlen(command), 0));
	from.file = file;
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_int_equal(r.records, 1);
	from.file = command;
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_null(strstr(r.text, "hunter2"));

	for (int i = 0; i < 4; i++) {
		static const char *const others[] = {"exec:web#0123456789abcdef", "exec:web#",
		    "echo 1; echo 3 # of token hunter2", "a.jsonl"};

		from.file = others[i];
		assert_int_equal(read_with(&o, &from, &f), FAIL_CONFIG);
		assert_non_null(strstr(f.text, "exec:web: the last run read another command"));
		assert_null(strstr(f.text, "hunter2"));
	}
	o.exec = "echo 1; exit 7 # hunter2";
	assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
	assert_null(strstr(r.text, "hunter2"));
}

static void
test_a_program_that_is_followed_begins_where_it_is_told_to(void **unused)
{
	static const char command[] =
	    "for i in 1 2 3; do test $i -gt $RIFFLE_RESUME && echo $i; done";
	struct input_options o = program(command);
	struct input_position from = {.file = command, .document = 2, .byte = 4, .line = 3};
	struct failure f;

	(void)unused;
	o.follow = true;
	assert_int_equal(read_with(&o, NULL, &f), FAIL_NONE);
	assert_int_equal(r.records, 3);
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_int_equal(r.records, 1);
	assert_non_null(strstr(r.text, ":4:3 3\n"));

	o.repeats = true; /* it is known to begin with its first record all the same */
	o.exec = from.file = "echo 1; echo 2; echo 3 $RIFFLE_RESUME";
	assert_int_equal(read_with(&o, &from, &f), FAIL_NONE);
	assert_int_equal(r.records, 1);
	assert_non_null(strstr(r.text, ":4:3 3 2\n"));
}

static void
test_a_program_on_two_lanes_is_refused(void **unused)
{
	struct input_options o = program("true");
	struct input *in;
	struct failure f;

	(void)unused;
	o.partitions = 2;
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_CONFIG);
	assert_non_null(strstr(f.text, "cannot be dealt out to 2 lanes"));
}

static void
test_a_slow_programs_records_come_before_its_chunk_is_full(void **unused)
{
	struct input_options o = program("echo '{\"a\":1}'; echo '{\"a\":2}'; exec sleep 1000");
	struct chunk *k = NULL;
	struct input *in;
	struct failure f;
	uint64_t records = 0;

	(void)unused;
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	while (records < 2) {
		assert_int_equal(input_next_within(in, 60000, &k, &f), FAIL_NONE);
		records += k->n;
		chunk_close(k);
	}
	assert_int_equal(input_next_within(in, 10, &k, &f), FAIL_TIMEOUT);
	assert_null(k);
	input_close(in); /* and does not wait for the program */
}

static void
test_the_reader_stays_a_few_chunks_ahead(void **unused)
{
	static const char command[] = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); printf "
				      "'%.1000d\\n' $i; echo $i > printed; done";
	struct input_options o = program(command);
	struct chunk *k;
	struct input *in;
	struct failure f;
	const struct timespec pause = {0, 20 * 1000000L};
	long before = -1, now = 0;

	(void)unused;
	o.chunk_bytes = 1000;
	assert_int_equal(input_open(&in, &o, NULL, &f), FAIL_NONE);
	assert_int_equal(input_next(in, &k, &f), FAIL_NONE);
	chunk_close(k);
	/* Until it has come to rest: the queue, one read of the cutter and the pipe are full. */
	for (int still = 0, looks = 0; still < 10 && now < 2000 && looks < 1500; looks++) {
		FILE *file = fopen(folder_path("printed"), "r");

		before = now;
		if (file != NULL && fscanf(file, "%ld", &now) != 1)
			now = before;
		if (file != NULL)
			fclose(file);
		still = now > 0 && now == before ? still + 1 : 0;
		nanosleep(&pause, NULL);
	}
	assert_in_range(now, 1, 1 + CHUNK_QUEUE_MAX + 2 * (256 << 10) / 1000 + 2);
	input_close(in);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_open, folder_close)
	const struct CMUnitTest tests[] = {
	    TEST(test_files_of_all_kinds_are_one_input),
	    TEST(test_lanes_read_all_files_once),
	    TEST(test_a_resume_at_any_record_gives_exactly_the_rest),
	    TEST(test_a_resume_counts_what_it_leaves_out),
	    TEST(test_a_resume_on_other_data_is_refused),
	    TEST(test_a_resume_behind_other_files_is_refused),
	    TEST(test_a_list_that_changed_in_front_of_a_resume_is_refused),
	    TEST(test_damage_is_a_reject_between_the_records_before_and_after),
	    TEST(test_a_file_cut_at_any_byte_gives_its_whole_lines_and_one_reject),
	    TEST(test_what_is_too_long_is_a_reject_in_its_place),
	    TEST(test_a_file_that_goes_away_later_fails_after_what_came_before),
	    TEST(test_the_end_is_told_as_often_as_it_is_asked),
	    TEST(test_an_input_can_be_closed_at_any_time),
	    TEST(test_a_program_is_an_input),
	    TEST(test_a_program_is_resumed_by_skipping_what_it_prints_again),
	    TEST(test_another_command_is_named_by_name_and_hash_and_never_written_out),
	    TEST(test_a_program_that_is_followed_begins_where_it_is_told_to),
	    TEST(test_a_program_on_two_lanes_is_refused),
	    TEST(test_a_slow_programs_records_come_before_its_chunk_is_full),
	    TEST(test_the_reader_stays_a_few_chunks_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
