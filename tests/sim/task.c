#include "tests/sim/task.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { FILES_MAX = 32 };
#define STACK_BYTES ((size_t)4 << 20) /* of address space */
#define GUARD_BYTES ((size_t)4096)

struct task {
	ucontext_t at;
	uint8_t *stack;
	task_work *work;
	const void *context;
	bool over, opens_files;
	int status;
};

static struct task tasks[TASKS_MAX];
static struct task *running; /* NULL: the driver */
static ucontext_t driver;
static int file_first;               /* below it are the driver's */
static size_t file_owner[FILES_MAX]; /* a task's number and one; 0: it is not open */

bool
task_open(void)
{
#ifdef HEAP_NONE
	return false;
#else
	if (tasks[0].stack != NULL)
		return true;
	heap_open();
	for (size_t i = 0; i < TASKS_MAX; i++) {
		uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (stack == MAP_FAILED || mprotect(stack, GUARD_BYTES, PROT_NONE) != 0) {
			perror("sim: no memory for stacks");
			exit(1);
		}
		tasks[i].stack = stack;
	}
	file_first = dup(STDIN_FILENO);
	if (file_first < 0) {
		perror("sim: descriptors");
		exit(1);
	}
	close(file_first);
	return true;
#endif
}

bool
task_runs(void)
{
	return running != NULL;
}

static void
begin(void)
{
	running->work(running->context, (size_t)(running - tasks));
	task_exit(0);
}

void
task_start(size_t number, task_work *work, const void *context, bool opens_files)
{
	struct task *t = &tasks[number];

	assert(number < TASKS_MAX && running == NULL);
	t->work = work;
	t->context = context;
	t->over = false;
	t->opens_files = opens_files;
	heap_clear((int)number);
	getcontext(&t->at);
	t->at.uc_stack.ss_sp = t->stack;
	t->at.uc_stack.ss_size = STACK_BYTES;
	t->at.uc_link = NULL;
	makecontext(&t->at, begin, 0);
}

/* Who has opened what is open now. */
static void
look_at_files(size_t number)
{
	for (int i = 0; i < FILES_MAX; i++) {
		if (fcntl(file_first + i, F_GETFD) < 0)
			file_owner[i] = 0;
		else if (file_owner[i] == 0)
			file_owner[i] = number + 1;
	}
}

static void
close_files(size_t number)
{
	for (int i = 0; i < FILES_MAX; i++)
		if (file_owner[i] == number + 1) {
			close(file_first + i);
			file_owner[i] = 0;
		}
}

bool
task_go_on(size_t number, int *status)
{
	struct task *t = &tasks[number];

	assert(number < TASKS_MAX && running == NULL && !t->over);
	running = t;
	heap_use((int)number);
	swapcontext(&driver, &t->at);
	running = NULL;
	heap_use(HEAP_LIBRARY);
	if (t->opens_files)
		look_at_files(number);
	if (!t->over)
		return true;
	*status = t->status;
	task_drop(number);
	return false;
}

void
task_drop(size_t number)
{
	tasks[number].over = true;
	if (tasks[number].opens_files)
		close_files(number);
}

void
task_rest(void)
{
	struct task *t = running;
	int before = errno;

	swapcontext(&t->at, &driver);
	errno = before;
}

_Noreturn void
task_exit(int status)
{
	running->over = true;
	running->status = status;
	setcontext(&driver);
	abort(); /* unreachable */
}
