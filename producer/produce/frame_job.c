#include "producer/produce/frame_job.h"

#include <assert.h>
#include <stdlib.h>

#include "common/record/frame.h"

struct frame_job *
frame_job_open(const struct worker_context *c, void *output)
{
	struct frame_job *j = calloc(1, sizeof(*j));

	if (j != NULL) {
		j->context = c;
		j->output = output;
	}
	return j;
}

void
frame_job_close(struct frame_job *j)
{
	if (j == NULL)
		return;
	for (size_t i = 0; i < j->n; i++) {
		pack_sequence_close(j->item[i].sequence);
		free(j->item[i].frame);
	}
	free(j);
}

bool
frame_job_full(const struct frame_job *j)
{
	return j->n == FRAME_JOB_SEQUENCES ||
	       (j->n + 1) * (j->context->sequence_length + 1) > FRAME_JOB_TOKENS;
}

enum fail_code
frame_job_run(void *job, void *memory, struct failure *f)
{
	struct frame_job *j = job;
	struct worker_memory *m = memory;
	size_t count = j->context->sequence_length + 1;
	size_t room = frame_bound(count, j->context->width);

	assert(j->n <= FRAME_JOB_SEQUENCES);
	for (size_t i = 0; i < j->n; i++) {
		struct frame_job_item *item = &j->item[i];

		item->frame = malloc(room);
		if (item->frame == NULL)
			return fail_memory(f);
		if (frame_encode(m->codec, item->sequence->token, count, j->context->width,
			item->frame, room, &item->frame_n, f) != FAIL_NONE)
			return f->code;
		item->hash = frame_hash(item->frame, item->frame_n);
	}
	return FAIL_NONE;
}
