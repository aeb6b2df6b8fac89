#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static struct stop stop;

static void
ask(int signal_number)
{
	if (stop_asked(&stop))
		_exit(128 + signal_number);
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
