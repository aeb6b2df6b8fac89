#include "cli/stop.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile bool asked;

static void
ask(int signal_number)
{
	if (asked)
		_exit(128 + signal_number);
	asked = true;
}

const volatile bool *
stop_on_signals(void)
{
	struct sigaction action = {.sa_handler = ask};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return &asked;
}
