/*
 * memory.h -- allocations of the whole program, its libraries included, that fail when told.
 *
 * malloc and its family are defined here and pass on to the next ones, so that this also works in
 * front of AddressSanitizer. memory_walk() runs one operation again and again: first whole, to
 * learn what it gives, then with its first allocation refused, its second, and so on until none is
 * left to refuse; and the same with all allocations refused from the n-th on. Each time the
 * operation must give FAIL_MEMORY with a sentence or, where it can do without, exactly what it gave
 * first; and what it allocated must be free again.
 *
 * avro-c 1.11 does not survive refusals of its own (see common/record/avro_record.h): its are
 * passed over. Those of jansson 2.14 are where `memory_spares_jansson` is set: it asserts, in the
 * midst of a string, that an escape whose end it could not keep is one.
 */
#ifndef TESTS_UNIT_MEMORY_H
#define TESTS_UNIT_MEMORY_H

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/base/failure.h"
#include "tests/unit/test.h"

enum { MEMORY_REFUSALS_MAX = 200000 };

static atomic_long memory_left;    /* allocations until the refusal; 0: none is refused */
static atomic_bool memory_for_all; /* those after it, too */
static atomic_bool memory_refused;
static atomic_long memory_held; /* allocations that are not freed */
static bool memory_spares_jansson;

/*
 * A sanitizer's strdup() does not come by here: what is left behind AddressSanitizer tells itself.
 * And none outlives a refusal where a thread begins: only the thread of the test has any.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEMORY_SANITIZED = 1 };
#else
enum { MEMORY_SANITIZED = 0 };
#endif
static _Thread_local bool memory_mine; /* the thread of the test */

struct memory_library {
	const char *name;
	uintptr_t from, to;
};

static struct memory_library memory_avro = {.name = "libavro"},
			     memory_jansson = {.name = "libjansson"};

static inline int
memory_find(struct dl_phdr_info *loaded, size_t size, void *opaque)
{
	struct memory_library *l = opaque;

	(void)size;
	if (strstr(loaded->dlpi_name, l->name) == NULL)
		return 0;
	l->from = UINTPTR_MAX;
	for (int i = 0; i < loaded->dlpi_phnum; i++) {
		uintptr_t from = loaded->dlpi_addr + loaded->dlpi_phdr[i].p_vaddr;
		uintptr_t to = from + loaded->dlpi_phdr[i].p_memsz;

		if (loaded->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		l->from = from < l->from ? from : l->from;
		l->to = to > l->to ? to : l->to;
	}
	return 1;
}

/* These run before a sanitizer is ready. */
#define MEMORY_PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

MEMORY_PLAIN static inline bool
memory_is_of(const void *caller, const struct memory_library *l)
{
	return (uintptr_t)caller >= l->from && (uintptr_t)caller < l->to;
}

MEMORY_PLAIN static inline bool
memory_refuses(const void *caller)
{
	if (atomic_load(&memory_left) == 0 || (MEMORY_SANITIZED && !memory_mine) ||
	    memory_is_of(caller, &memory_avro) ||
	    (memory_spares_jansson && memory_is_of(caller, &memory_jansson)))
		return false;
	if (atomic_load(&memory_left) > 1) {
		atomic_fetch_sub(&memory_left, 1);
		return false;
	}
	if (!atomic_load(&memory_for_all))
		atomic_store(&memory_left, 0);
	atomic_store(&memory_refused, true);
	errno = ENOMEM;
	return true;
}

/*
 * The next definition of a function, looked up once. dlsym() itself may free and allocate: what it
 * frees meanwhile stays, and what it asks for it does not get. Volatile, as the compiler is told
 * that dlsym() does not come back here.
 */
static volatile bool memory_looking;

#define MEMORY_NEXT(result, name, ...)                                                             \
	static result (*next)(__VA_ARGS__);                                                        \
	if (next == NULL && !memory_looking) {                                                     \
		memory_looking = true;                                                             \
		*(void **)(void *)&next = dlsym(RTLD_NEXT, #name);                                 \
		memory_looking = false;                                                            \
	}

#define MEMORY_PUBLIC __attribute__((visibility("default"), noinline)) MEMORY_PLAIN

MEMORY_PUBLIC void *
malloc(size_t n)
{
	MEMORY_NEXT(void *, malloc, size_t);
	void *p = next == NULL || memory_refuses(__builtin_return_address(0)) ? NULL : next(n);

	atomic_fetch_add(&memory_held, p != NULL);
	return p;
}

MEMORY_PUBLIC void *
calloc(size_t n, size_t each)
{
	MEMORY_NEXT(void *, calloc, size_t, size_t);
	void *p =
	    next == NULL || memory_refuses(__builtin_return_address(0)) ? NULL : next(n, each);

	atomic_fetch_add(&memory_held, p != NULL);
	return p;
}

MEMORY_PUBLIC void *
realloc(void *old, size_t n)
{
	MEMORY_NEXT(void *, realloc, void *, size_t);
	void *p;

	if (next == NULL || (n > 0 && memory_refuses(__builtin_return_address(0))))
		return NULL;
	p = next(old, n);
	atomic_fetch_add(&memory_held, (p != NULL && old == NULL) - (p == NULL && n == 0));
	return p;
}

MEMORY_PUBLIC void *
aligned_alloc(size_t alignment, size_t n)
{
	MEMORY_NEXT(void *, aligned_alloc, size_t, size_t);
	void *p =
	    next == NULL || memory_refuses(__builtin_return_address(0)) ? NULL : next(alignment, n);

	atomic_fetch_add(&memory_held, p != NULL);
	return p;
}

MEMORY_PUBLIC void
free(void *p)
{
	MEMORY_NEXT(void, free, void *);

	if (next == NULL)
		return;
	atomic_fetch_sub(&memory_held, p != NULL);
	next(p);
}

/* Does one thing from beginning to end, frees all, and adds what it gave to *gave. */
typedef enum fail_code memory_operation(uint64_t *gave, struct failure *f);

/* For *gave: order matters, and 0 counts. */
static inline void
memory_gave(uint64_t *gave, uint64_t value)
{
	*gave = (*gave ^ value) * UINT64_C(0x9E3779B97F4A7C15) + 1;
}

static inline void
memory_gave_bytes(uint64_t *gave, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memory_gave(gave, ((const uint8_t *)bytes)[i]);
}

/* One run; returns whether anything was refused. */
static inline bool
memory_try(const char *name, memory_operation *run, long n, bool all, uint64_t expected)
{
	struct failure f = {0};
	long held = atomic_load(&memory_held);
	uint64_t gave = 0;
	enum fail_code code;
	bool well;

	atomic_store(&memory_refused, false);
	atomic_store(&memory_for_all, all);
	atomic_store(&memory_left, n);
	code = run(&gave, &f);
	atomic_store(&memory_left, 0);
	held = MEMORY_SANITIZED ? 0 : atomic_load(&memory_held) - held;
	well = held == 0 && (code == FAIL_NONE ? gave == expected
					       : code == FAIL_MEMORY && f.code == FAIL_MEMORY &&
						     f.text[0] != '\0');
	if (!well)
		print_error("%s, allocation %ld%s: code %d, \"%s\", %ld left behind%s\n", name, n,
		    all ? " and all after" : "", (int)code, f.text, held,
		    code == FAIL_NONE && gave != expected ? ", other results" : "");
	assert_true(well);
	return atomic_load(&memory_refused);
}

static inline void
memory_walk(const char *name, memory_operation *run)
{
	struct failure f = {0};
	uint64_t expected = 0, again = 0;
	long n = 1;

	memory_mine = true;
	dl_iterate_phdr(memory_find, &memory_avro);
	dl_iterate_phdr(memory_find, &memory_jansson);
	/* The first run also warms what libraries keep for the life of the program. */
	if (run(&expected, &f) != FAIL_NONE)
		print_error("%s: %s\n", name, f.text);
	assert_int_equal(f.code, FAIL_NONE);
	assert_int_equal(run(&again, &f), FAIL_NONE);
	assert_true(again == expected);
	while (memory_try(name, run, n, false, expected) && n < MEMORY_REFUSALS_MAX) {
		memory_try(name, run, n, true, expected);
		n++;
	}
	print_message("%s: %ld allocations refused\n", name, n - 1);
	assert_true(n > 1 && n < MEMORY_REFUSALS_MAX);
}

#endif
