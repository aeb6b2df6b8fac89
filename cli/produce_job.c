#include "cli/produce_job.h"

#include "cli/stop.h"
#include "producer/produce.h"

enum fail_code
produce_job_run(
    const struct command *command, bool tokens, int argc, char **argv, struct failure *f)
{
	struct produce_arguments a = {0};
	struct config *c = NULL;
	struct options o;
	struct produce_options p = {.stop = stop_on_signals(), .tokens = tokens};
	enum fail_code code;

	if (options_parse(&o, command, argc, argv, &a, f) != FAIL_NONE ||
	    options_config(&c, &o, f) != FAIL_NONE)
		return f->code;
	p.config = c;
	p.domain = o.argument;
	p.domains_n = o.arguments_n;
	p.one_lane = options_given(&o, command, "lane");
	p.lane = a.lane.lane;
	p.lanes = a.lane.lanes;
	p.follow = a.follow;
	p.seal = a.seal;
	p.append = a.append;
	p.workers = a.workers;
	code = produce_run(&p, f);
	config_close(c);
	return code;
}
