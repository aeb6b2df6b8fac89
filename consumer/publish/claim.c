#include "consumer/publish/claim.h"

#include <assert.h>

void
claim_init(struct claim *c, uint64_t mixer)
{
	*c = (struct claim){.mixer = mixer, .read = -1, .before = -1};
}

void
claim_read(struct claim *c, int64_t offset)
{
	assert(offset >= -1);
	c->read = offset;
}

void
claim_look(struct claim *c, uint64_t mixer)
{
	assert(mixer == 0 || !claim_lost(c, mixer));
	if (!c->started)
		c->before = c->read;
	c->looked = true;
	c->seen = mixer;
}

void
claim_start(struct claim *c)
{
	assert(c->looked);
	c->started = true;
}

bool
claim_lost(const struct claim *c, uint64_t mixer)
{
	if (mixer == c->mixer)
		return false;
	return c->started || (c->looked && mixer != c->seen);
}

bool
claim_lost_yet(const struct claim *c, uint64_t mixer)
{
	return c->read > c->before && claim_lost(c, mixer);
}

bool
claim_cut(const struct claim *c, uint64_t mixer)
{
	return c->read <= c->before && claim_lost(c, mixer);
}
