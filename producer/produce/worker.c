#include "producer/produce/worker.h"

#include <stdlib.h>

static void
close_memory(void *memory)
{
	struct worker_memory *m = memory;

	if (m == NULL)
		return;
	encoder_close(m->encoder);
	router_scratch_close(m->scratch);
	frame_codec_close(m->codec);
	buffer_close(&m->text);
	free(m);
}

static enum fail_code
open_memory(void **out, void *context, struct failure *f)
{
	const struct worker_context *c = context;
	struct worker_memory *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return fail_memory(f);
	if (encoder_open(&m->encoder, c->tokenizer, f) != FAIL_NONE ||
	    router_scratch_open(&m->scratch, f) != FAIL_NONE ||
	    frame_codec_open(&m->codec, f) != FAIL_NONE) {
		close_memory(m);
		return f->code;
	}
	*out = m;
	return FAIL_NONE;
}

struct pool_memory
worker_memory(struct worker_context *context)
{
	return (struct pool_memory){.open = open_memory, .close = close_memory, .context = context};
}
