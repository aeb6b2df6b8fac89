#include "tests/conformance/scene.h"

#include <stdarg.h>
#include <stdio.h>

void
scene_init(struct scene *s, const char *claim, const char *prefix)
{
	*s = (struct scene){.claim = claim, .prefix = prefix};
}

void
crash(struct producer *p)
{
	while (p->topics_n > 0)
		rd_kafka_topic_destroy(p->topic[--p->topics_n]);
	kafka_close(p->rk);
	p->rk = NULL;
}

void
scene_end(struct scene *s)
{
	for (size_t i = 0; i < s->producers_n; i++)
		crash(&s->producer[i]);
	for (size_t i = 0; i < s->others_n; i++)
		kafka_close(s->other[i]);
	kafka_close(s->admin);
	kafka_close(s->reader[COMMITTED]);
	if (s->reader[UNCOMMITTED] != NULL)
		rd_kafka_destroy_flags(
		    s->reader[UNCOMMITTED], RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
}

static void
add_text(struct scene *s, const char *format, va_list arguments)
{
	size_t room = sizeof(s->text) - s->text_n;
	int n = vsnprintf(s->text + s->text_n, room, format, arguments);

	s->text_n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

static void
add(struct scene *s, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_text(s, format, arguments);
	va_end(arguments);
}

void
say(struct scene *s, const char *format, ...)
{
	va_list arguments;

	add(s, "  ");
	va_start(arguments, format);
	add_text(s, format, arguments);
	va_end(arguments);
	add(s, "\n");
}

void
scene_broken(struct scene *s, const char *format, ...)
{
	va_list arguments;

	add(s, "  BROKEN: ");
	va_start(arguments, format);
	add_text(s, format, arguments);
	va_end(arguments);
	add(s, "\n");
	s->broken = true;
}

void
say_error(struct scene *s, const char *what, rd_kafka_error_t *error)
{
	if (error == NULL) {
		say(s, "%s: ok", what);
		return;
	}
	say(s, "%s: %s%s%s%s", what, rd_kafka_err2name(rd_kafka_error_code(error)),
	    rd_kafka_error_is_fatal(error) ? ", fatal" : "",
	    rd_kafka_error_txn_requires_abort(error) ? ", abort" : "",
	    rd_kafka_error_is_retriable(error) ? ", retriable" : "");
	rd_kafka_error_destroy(error);
}

void
say_code(struct scene *s, const char *what, rd_kafka_resp_err_t err)
{
	say(s, "%s: %s", what, rd_kafka_err2name(err));
}

bool
must(struct scene *s, const char *what, rd_kafka_error_t *error)
{
	if (error == NULL)
		return true;
	scene_broken(s, "%s: %s", what, rd_kafka_error_string(error));
	rd_kafka_error_destroy(error);
	return false;
}

void
scene_name(const struct scene *s, char out[static SCENE_NAME_MAX], const char *name)
{
	snprintf(out, SCENE_NAME_MAX, "%s.%s.%s", s->prefix, s->claim, name);
}
