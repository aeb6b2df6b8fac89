#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static struct stop stop, signalled;

static void
ask(int signal_number)
{
	if (stop_asked(&signalled))
		_exit(128 + signal_number);
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
