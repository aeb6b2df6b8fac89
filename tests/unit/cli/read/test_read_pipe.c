/* read_pipe.h: every byte arrives in order, and a stop ends a write that finds no room. */
#include "cli/read/read_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/unit/folder.h"

enum { BYTES = 300000 }; /* more than the stream keeps, and more than a pipe holds */

static unsigned char
byte_at(size_t i)
{
	return (unsigned char)(i * 7 + i / 251);
}

static void
write_bytes(FILE *to)
{
	for (size_t i = 0; i < BYTES; i++)
		assert_int_not_equal(putc(byte_at(i), to), EOF);
}

struct reader {
	int fd;
	size_t n;
	bool right;
};

static void *
read_all(void *of)
{
	struct reader *r = of;
	unsigned char bytes[1000];
	ssize_t n;

	r->right = true;
	while ((n = read(r->fd, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++)
			r->right = r->right && bytes[i] == byte_at(r->n++);
	return NULL;
}

/* Also through a descriptor that does not block: there is no room again and again. */
static void
test_what_is_written_arrives_whole(void **unused)
{
	(void)unused;
	for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
		struct stop stop = {0};
		struct reader r = {0};
		pthread_t thread;
		int ends[2];
		FILE *to;

		assert_int_equal(pipe(ends), 0);
		if (nonblocking == 1)
			assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
		r.fd = ends[0];
		assert_int_equal(pthread_create(&thread, NULL, read_all, &r), 0);
		to = read_pipe_open(ends[1], &stop);
		assert_non_null(to);
		write_bytes(to);
		assert_int_equal(fclose(to), 0);
		assert_int_equal(fcntl(ends[1], F_GETFD), 0); /* it stays open */
		close(ends[1]);
		pthread_join(thread, NULL);
		assert_int_equal(r.n, BYTES);
		assert_true(r.right);
		close(ends[0]);
	}
}

static void
test_a_file_takes_all_even_after_a_stop(void **unused)
{
	struct stop stop = {0};
	struct reader r = {0};
	FILE *to;
	int fd = open(folder_path("out"), O_CREAT | O_RDWR, 0600);

	(void)unused;
	assert_true(fd >= 0);
	stop_ask(&stop);
	to = read_pipe_open(fd, &stop);
	assert_non_null(to);
	write_bytes(to);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	r.fd = fd;
	read_all(&r);
	assert_int_equal(r.n, BYTES);
	assert_true(r.right);
	close(fd);
}

/* After a stop, what there is room for is still written; what comes then fails with EINTR. */
static void
test_a_stop_ends_a_write_to_a_full_pipe(void **unused)
{
	struct stop stop = {0};
	int ends[2], room;
	char text[64] = "";
	FILE *to;

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	room = fcntl(ends[1], F_GETPIPE_SZ);
	assert_true(room > 0);
	stop_ask(&stop);
	to = read_pipe_open(ends[1], &stop);
	assert_non_null(to);
	fputs("last words", to);
	assert_int_equal(fflush(to), 0);
	assert_int_equal(read(ends[0], text, sizeof(text)), 10);
	assert_string_equal(text, "last words");
	for (int i = 0; i <= room; i++)
		putc('x', to);
	errno = 0;
	assert_int_equal(fflush(to), EOF);
	assert_int_equal(errno, EINTR);
	assert_true(ferror(to));
	fclose(to);
	close(ends[0]);
	close(ends[1]);
}

static void
test_an_end_that_nobody_reads_is_an_error(void **unused)
{
	struct stop stop = {0};
	int ends[2];
	FILE *to;

	(void)unused;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	to = read_pipe_open(ends[1], &stop);
	assert_non_null(to);
	fputs("x", to);
	errno = 0;
	assert_int_equal(fflush(to), EOF);
	assert_int_equal(errno, EPIPE);
	fclose(to);
	close(ends[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_written_arrives_whole),
	    cmocka_unit_test_setup_teardown(
		test_a_file_takes_all_even_after_a_stop, folder_open, folder_close),
	    cmocka_unit_test(test_a_stop_ends_a_write_to_a_full_pipe),
	    cmocka_unit_test(test_an_end_that_nobody_reads_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
