#include "common/base/failure.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void
put(struct failure *f, const char *format, va_list ap)
{
	int saved = errno;

	vsnprintf(f->text, sizeof(f->text), format, ap);
	errno = saved;
}

enum fail_code
fail(struct failure *f, enum fail_code code, const char *format, ...)
{
	va_list ap;

	assert(code != FAIL_NONE);
	f->code = code;
	va_start(ap, format);
	put(f, format, ap);
	va_end(ap);
	return code;
}

static void
put_limit(struct failure *f)
{
	size_t used = strlen(f->text);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
		snprintf(f->text + used, sizeof(f->text) - used,
		    " (this process may have %llu; `ulimit -n` raises it, up to %llu)",
		    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
}

enum fail_code
fail_errno(struct failure *f, enum fail_code code, const char *format, ...)
{
	int saved = errno;
	size_t used;
	va_list ap;

	assert(code != FAIL_NONE);
	f->code = saved == ENOMEM ? FAIL_MEMORY : code;
	va_start(ap, format);
	put(f, format, ap);
	va_end(ap);
	used = strlen(f->text);
	snprintf(f->text + used, sizeof(f->text) - used, ": %s", strerror(saved));
	if (saved == EMFILE)
		put_limit(f);
	errno = saved;
	return f->code;
}

enum fail_code
fail_files(struct failure *f)
{
	const char *why = strerror(EMFILE);
	int saved = errno;

	assert(f->code != FAIL_NONE);
	if (strstr(f->text, why) == NULL) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			close(fd);
		else if (errno == EMFILE)
			fail_more(f, "; %s", why);
	}
	if (strstr(f->text, why) != NULL && strstr(f->text, "ulimit -n") == NULL)
		put_limit(f);
	errno = saved;
	return f->code;
}

enum fail_code
fail_memory(struct failure *f)
{
	return fail(f, FAIL_MEMORY, "out of memory");
}

enum fail_code
fail_within(struct failure *f, const char *format, ...)
{
	char inner[FAILURE_TEXT_MAX];
	size_t used;
	va_list ap;

	assert(f->code != FAIL_NONE);
	memcpy(inner, f->text, sizeof(inner));
	va_start(ap, format);
	put(f, format, ap);
	va_end(ap);
	used = strlen(f->text);
	snprintf(f->text + used, sizeof(f->text) - used, ": %s", inner);
	return f->code;
}

enum fail_code
fail_more(struct failure *f, const char *format, ...)
{
	size_t used = strlen(f->text);
	va_list ap;

	assert(f->code != FAIL_NONE);
	va_start(ap, format);
	vsnprintf(f->text + used, sizeof(f->text) - used, format, ap);
	va_end(ap);
	return f->code;
}

int
fail_exit(enum fail_code code)
{
	switch (code) {
	case FAIL_NONE:
	case FAIL_STOPPED: return 0;
	case FAIL_USAGE:
	case FAIL_CONFIG: return 2;
	case FAIL_FENCED: return 3;
	case FAIL_MEMORY:
	case FAIL_IO:
	case FAIL_DATA:
	case FAIL_BROKER:
	case FAIL_DENIED:
	case FAIL_TIMEOUT: return 1;
	}
	return 1;
}
