/*
 * report -- writes reports of losses to <mix>.feedback, as trainers do.
 *
 *     RIFFLE_BOOTSTRAP=localhost:9092 report MIX < LINES
 *
 * A line is a report: "RUN STEP RANK WORLD DOMAIN:LOSS_SUM:EXCESS_SUM:TOKENS ...", numbers as
 * strtod() takes them, nan and inf among them; or "garbage TEXT", which is written as it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/names.h"
#include "common/kafka/kafka.h"
#include "consumer/feedback/reporter.h"

enum { WAIT_MS = 30000 };

static struct failure f;

static bool
take_loss(struct feedback_loss *loss, char *word)
{
	char *rest = word;

	loss->domain = strsep(&rest, ":");
	if (rest == NULL)
		return false;
	loss->loss_sum = strtod(rest, &rest);
	if (*rest++ != ':')
		return false;
	loss->excess_sum = strtod(rest, &rest);
	if (*rest++ != ':')
		return false;
	loss->tokens = strtoll(rest, &rest, 10);
	return *rest == '\0';
}

static bool
send_report(struct reporter *r, char *mix, char *line)
{
	struct feedback_loss loss[FEEDBACK_LOSSES_MAX];
	struct feedback b = {.mix = mix, .loss = loss};
	char *word, *rest = line;

	b.run = strsep(&rest, " ");
	b.step = rest == NULL ? 0 : strtoll(rest, &rest, 10);
	b.rank = rest == NULL ? 0 : (uint32_t)strtoul(rest, &rest, 10);
	b.world = rest == NULL ? 0 : (uint32_t)strtoul(rest, &rest, 10);
	while ((word = strsep(&rest, " ")) != NULL)
		if (*word != '\0' && !take_loss(&loss[b.losses_n++], word)) {
			fail(&f, FAIL_USAGE, "not DOMAIN:LOSS:EXCESS:TOKENS: %s", word);
			return false;
		}
	return reporter_send(r, &b, &f) == FAIL_NONE;
}

static bool
send_garbage(const struct properties *p, const char *mix, const char *text)
{
	struct kafka_options o = {.role = KAFKA_WRITER, .properties = p, .client = "report"};
	char topic[TOPIC_MAX_BYTES + 1];
	rd_kafka_t *rk;
	bool sent;

	names_topic(topic, mix, "feedback");
	if (kafka_open(&rk, &o, &f) != FAIL_NONE)
		return false;
	sent = rd_kafka_producev(rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(0),
		   RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
		   RD_KAFKA_V_VALUE((void *)(uintptr_t)text, strlen(text)), RD_KAFKA_V_END) == 0 &&
	       rd_kafka_flush(rk, WAIT_MS) == 0;
	kafka_close(rk);
	return sent;
}

static bool
send_line(struct reporter *r, const struct properties *p, char *mix, char *line)
{
	static const char garbage[] = "garbage ";

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, garbage, strlen(garbage)) != 0)
		return send_report(r, mix, line);
	return reporter_flush(r, WAIT_MS, &f) == FAIL_NONE &&
	       send_garbage(p, mix, line + strlen(garbage));
}

int
main(int argc, char **argv)
{
	struct property item[] = {{(char[]){"bootstrap.servers"}, getenv("RIFFLE_BOOTSTRAP")}};
	struct properties list = {item[0].value == NULL ? 0 : 1, item};
	struct reporter *r = NULL;
	char *line = NULL;
	size_t room = 0;
	bool good;

	if (argc != 2) {
		fprintf(stderr, "usage: report MIX < LINES\n");
		return 2;
	}
	good = reporter_open(&r, argv[1], &list, WAIT_MS, &f) == FAIL_NONE;
	while (good && getline(&line, &room, stdin) > 0)
		good = send_line(r, &list, argv[1], line);
	good = good && reporter_flush(r, WAIT_MS, &f) == FAIL_NONE;
	reporter_close(r);
	free(line);
	if (good)
		return 0;
	fprintf(stderr, "report: %s\n", f.text);
	return 1;
}
