/*
 * storm -- for LD_PRELOAD: a thousand signals a second, each to the next thread of the process,
 * with a handler that does nothing and is set without SA_RESTART, so that system calls end with
 * EINTR.
 *
 *     STORM_FILE=PATH   at the end of the process, how many signals were sent
 *
 * Compiled by the test that uses it: cc -shared -fPIC -pthread -o storm.so storm.c
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { STORM_SIGNAL = SIGUSR2, PAUSE_NS = 1000000 };

static volatile unsigned long sent;

static void
nothing(int signal_number)
{
	(void)signal_number;
}

static void
send_round(pid_t self)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};
	DIR *threads = opendir("/proc/self/task");
	const struct dirent *entry;

	while (threads != NULL && (entry = readdir(threads)) != NULL) {
		pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);

		if (thread <= 0 || thread == self)
			continue;
		if (syscall(SYS_tgkill, getpid(), thread, STORM_SIGNAL) == 0)
			sent++;
		nanosleep(&pause, NULL);
	}
	if (threads != NULL)
		closedir(threads);
}

static void *
storm(void *unused)
{
	pid_t self = (pid_t)syscall(SYS_gettid);

	(void)unused;
	for (;;)
		send_round(self);
	return NULL;
}

__attribute__((constructor)) static void
begin(void)
{
	struct sigaction action = {.sa_handler = nothing};
	sigset_t all, before;
	pthread_t thread;

	sigemptyset(&action.sa_mask);
	sigaction(STORM_SIGNAL, &action, NULL);
	unsetenv("LD_PRELOAD"); /* not for programs that this one runs */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, storm, NULL) == 0)
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

__attribute__((destructor)) static void
end(void)
{
	const char *path = getenv("STORM_FILE");
	FILE *out = path == NULL ? NULL : fopen(path, "w");

	if (out == NULL)
		return;
	fprintf(out, "%lu\n", sent);
	fclose(out);
}
