#include "consumer/reader/step_slot.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/base/log.h"

struct step_pool {
	pthread_mutex_t lock; /* of all below, and of the slots' lent and kept */
	struct step_slot *free;
	size_t free_n, out_n;
	bool closed;
	uint32_t lanes, token_bytes;
	pid_t process;
};

enum fail_code
step_pool_open(struct step_pool **out, uint32_t lanes, uint32_t token_bytes, struct failure *f)
{
	struct step_pool *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return fail_memory(f);
	pthread_mutex_init(&p->lock, NULL); /* cannot fail for a plain one */
	p->lanes = lanes;
	p->token_bytes = token_bytes;
	p->process = getpid();
	*out = p;
	return FAIL_NONE;
}

static void
free_records(struct step_slot *slot)
{
	for (uint32_t i = 0; slot->lane != NULL && i < slot->lanes; i++) {
		lanes_free(slot->lane[i].record);
		slot->lane[i].record = NULL;
	}
}

static void
free_slot(struct step_slot *slot)
{
	if (slot == NULL)
		return;
	free_records(slot);
	step_decode_close(slot->decode);
	free(slot->lane);
	free(slot);
}

static void
free_pool(struct step_pool *p)
{
	while (p->free != NULL) {
		struct step_slot *slot = p->free;

		p->free = slot->next_free;
		free_slot(slot);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

void
step_pool_close(struct step_pool *p)
{
	bool last;

	if (p == NULL)
		return;
	pthread_mutex_lock(&p->lock);
	p->closed = true;
	last = p->out_n == 0;
	pthread_mutex_unlock(&p->lock);
	if (last)
		free_pool(p);
}

static struct step_slot *
new_slot(struct step_pool *p, struct failure *f)
{
	struct step_slot *slot = calloc(1, sizeof(*slot));

	if (slot == NULL)
		goto failed;
	slot->pool = p;
	slot->lanes = p->lanes;
	slot->lane = calloc(p->lanes + 1, sizeof(*slot->lane));
	if (slot->lane != NULL && step_decode_open(&slot->decode, p->token_bytes, f) == FAIL_NONE)
		return slot;
failed:
	free_slot(slot);
	fail_memory(f);
	return NULL;
}

enum fail_code
step_pool_get(struct step_pool *p, struct step_slot **out, struct failure *f)
{
	struct step_slot *slot;

	pthread_mutex_lock(&p->lock);
	slot = p->free;
	if (slot != NULL) {
		p->free = slot->next_free;
		p->free_n--;
	}
	p->out_n++;
	pthread_mutex_unlock(&p->lock);
	if (slot == NULL)
		slot = new_slot(p, f);
	*out = slot;
	if (slot != NULL)
		return FAIL_NONE;
	pthread_mutex_lock(&p->lock);
	p->out_n--;
	pthread_mutex_unlock(&p->lock);
	return f->code;
}

/* Puts a slot that nobody holds back, or frees it, and the pool after it. Lets go of the lock. */
static void
put_locked(struct step_slot *slot)
{
	struct step_pool *p = slot->pool;
	bool spare = p->closed || p->free_n >= STEP_POOL_FREE_MAX, last;

	assert(p->out_n > 0);
	assert(!slot->lent);
	assert(!slot->kept);
	p->out_n--;
	if (!spare) {
		slot->next_free = p->free;
		p->free = slot;
		p->free_n++;
	}
	last = p->closed && p->out_n == 0;
	pthread_mutex_unlock(&p->lock);
	if (spare)
		free_slot(slot);
	if (last)
		free_pool(p);
}

void
step_pool_put(struct step_slot *slot)
{
	free_records(slot);
	pthread_mutex_lock(&slot->pool->lock);
	put_locked(slot);
}

enum fail_code
step_slot_decode(
    struct step_slot *slot, struct frame_codec *codec, const char *topic, struct failure *f)
{
	enum fail_code code;

	code = step_decode_begin(slot->decode, slot->lanes, slot->lane[0].view.sequences_n, f);
	step_decode_lend(slot->decode, codec);
	for (uint32_t i = 0; code == FAIL_NONE && i < slot->lanes; i++) {
		code = step_decode_lane(slot->decode, &slot->lane[i].view, f);
		if (code != FAIL_NONE) {
			fail_within(f, "step %" PRIu64, slot->step.step);
			fail_within(f, "topic %s, lane %" PRIu32 ", offset %" PRId64, topic,
			    slot->lane[i].number, slot->lane[i].offset);
		}
	}
	step_decode_lend(slot->decode, NULL);
	free_records(slot);
	if (code == FAIL_NONE)
		step_decode_end(slot->decode, &slot->step);
	return code;
}

size_t
step_slot_bytes(const struct step_slot *slot)
{
	return sizeof(*slot) + slot->lanes * sizeof(*slot->lane) + step_decode_bytes(slot->decode);
}

void
step_slot_hand_out(struct step_slot *slot)
{
	pthread_mutex_lock(&slot->pool->lock);
	assert(!slot->lent);
	slot->lent = true;
	pthread_mutex_unlock(&slot->pool->lock);
}

void
step_slot_take_back(struct step_slot *slot)
{
	if (slot == NULL)
		return;
	pthread_mutex_lock(&slot->pool->lock);
	assert(slot->lent);
	slot->lent = false;
	if (slot->kept)
		pthread_mutex_unlock(&slot->pool->lock);
	else
		put_locked(slot);
}

void
step_slot_keep(struct step_slot *slot)
{
	pthread_mutex_lock(&slot->pool->lock);
	assert(slot->lent);
	slot->kept = true;
	pthread_mutex_unlock(&slot->pool->lock);
}

void
step_slot_let_go(const struct riffle_step *step)
{
	struct step_slot *slot = (struct step_slot *)(uintptr_t)step; /* its first member */
	bool kept;

	_Static_assert(offsetof(struct step_slot, step) == 0, "a step leads to its slot");
	if (step == NULL || slot->pool->process != getpid())
		return; /* behind a fork the lock may be held by a thread that is not there */
	pthread_mutex_lock(&slot->pool->lock);
	kept = slot->kept;
	slot->kept = false;
	if (!kept || slot->lent)
		pthread_mutex_unlock(&slot->pool->lock);
	else
		put_locked(slot);
	if (!kept)
		log_error("riffle: riffle_free_step() of a step that is not kept: free each kept "
			  "step once");
}
