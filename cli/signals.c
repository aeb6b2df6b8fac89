#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "common/kafka/kafka.h"

enum { HANG_S = 4 };

static struct stop stop, signalled;

/* HANG_S after the first signal. */
static void
give_up(int signal_number)
{
	static const char why[] =
	    "riffle: starting a connection to Kafka hangs, as it does if the system gives this "
	    "process no more threads; raise the limit (`ulimit -u`, the container's limit of "
	    "pids)\n";

	ssize_t written;

	(void)signal_number;
	if (!kafka_opening())
		return;
	written = write(STDERR_FILENO, why, sizeof(why) - 1);
	(void)written; /* there is nobody left to tell */
	_exit(1);
}

static void
ask(int signal_number)
{
	if (stop_asked(&signalled))
		_exit(128 + signal_number);
	if (kafka_opening())
		alarm(HANG_S);
	stop_ask(&signalled);
	stop_ask(&stop);
}

static void
ask_child(int signal_number)
{
	(void)signal_number;
	stop_ask(&stop);
}

const struct stop *
signals_stop(void)
{
	struct sigaction action = {.sa_handler = ask};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = give_up;
	sigaction(SIGALRM, &action, NULL);
	kafka_set_stop(&stop);
	return &stop;
}

const struct stop *
signals_stop_child(void)
{
	struct sigaction action = {.sa_handler = ask_child};

	sigemptyset(&action.sa_mask);
	sigaction(SIGNALS_CHILD, &action, NULL);
	return signals_stop();
}
