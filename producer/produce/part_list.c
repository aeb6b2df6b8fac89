#include "producer/produce/part_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

/* What the list is made from, and how far it is. */
struct listing {
	struct part_list *out;
	const struct config *config;
	const bool *wanted;
	bool one_partition;
	uint32_t partition;
	bool *done;     /* domains whose train input is listed */
	size_t *member; /* room for one input's domains */
};

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Whether two domains are read together: all that decides which records come must be equal. */
static bool
same_input(const struct config_domain *a, const struct config_domain *b)
{
	if (a->where_field == NULL || b->where_field == NULL || a->partitions != b->partitions ||
	    !same_text(a->exec, b->exec) || !same_text(a->text, b->text) ||
	    a->train.n != b->train.n)
		return false;
	for (size_t i = 0; i < a->train.n; i++)
		if (strcmp(a->train.text[i], b->train.text[i]) != 0)
			return false;
	return true;
}

static void
name_item(struct part_item *item, const struct config_domain *d)
{
	size_t room = sizeof(item->label), used;

	used = (size_t)snprintf(item->label, room, "%s%s", d->name, names_set_suffix[item->set]);
	if (item->members_n > 1)
		used +=
		    (size_t)snprintf(item->label + used, room - used, "+%zu", item->members_n - 1);
	if (d->partitions > 1)
		snprintf(item->label + used, room - used, " lane %" PRIu32 "/%" PRIu32,
		    item->partition, d->partitions);
}

static enum fail_code
add_item(struct listing *l, const size_t *member, size_t n, enum names_set set, uint32_t partition,
    struct failure *f)
{
	const struct config_domain *d = &l->config->domains[member[0]];
	struct part_item *item;

	if (buffer_reserve_items(&l->out->item, &l->out->room, l->out->n + 1, sizeof(*item), f) !=
	    FAIL_NONE)
		return f->code;
	item = &l->out->item[l->out->n++];
	*item =
	    (struct part_item){.members_n = n, .set = set, .live = d->live, .partition = partition};
	item->member = calloc(n, sizeof(*item->member));
	item->wanted = calloc(n, sizeof(*item->wanted));
	if (item->member == NULL || item->wanted == NULL)
		return fail_memory(f);
	for (size_t k = 0; k < n; k++) {
		item->member[k] = member[k];
		item->wanted[k] = set != SET_TRAIN || l->wanted[member[k]];
	}
	name_item(item, d);
	return FAIL_NONE;
}

static enum fail_code
add_input(struct listing *l, const size_t *member, size_t n, enum names_set set, struct failure *f)
{
	uint32_t first = l->one_partition ? l->partition : 0;
	uint32_t end =
	    l->one_partition ? l->partition + 1 : l->config->domains[member[0]].partitions;

	for (uint32_t k = first; k < end; k++)
		if (add_item(l, member, n, set, k, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

/* The input of domain i with all that share it, unless it is listed; then those of other sets. */
static enum fail_code
add_domain(struct listing *l, size_t i, struct failure *f)
{
	const struct config_domain *d = &l->config->domains[i];
	size_t members = 0;

	for (size_t k = 0; !l->done[i] && k < l->config->domains_n; k++)
		if (k == i || same_input(d, &l->config->domains[k]))
			l->member[members++] = k;
	for (size_t k = 0; k < members; k++)
		l->done[l->member[k]] = true;
	if (members > 0 && add_input(l, l->member, members, SET_TRAIN, f) != FAIL_NONE)
		return f->code;
	for (int set = SET_VALID; set < SETS_COUNT; set++)
		if (config_set_has_input(d, (enum names_set)set) &&
		    add_input(l, &i, 1, (enum names_set)set, f) != FAIL_NONE)
			return f->code;
	return FAIL_NONE;
}

enum fail_code
part_list_open(struct part_list *out, const struct config *c, const bool *wanted,
    bool one_partition, uint32_t partition, struct failure *f)
{
	struct listing l = {.out = out,
	    .config = c,
	    .wanted = wanted,
	    .one_partition = one_partition,
	    .partition = partition};
	enum fail_code code = FAIL_NONE;

	*out = (struct part_list){0};
	l.done = calloc(c->domains_n, sizeof(*l.done));
	l.member = calloc(c->domains_n, sizeof(*l.member));
	if (l.done == NULL || l.member == NULL)
		code = fail_memory(f);
	for (size_t i = 0; i < c->domains_n && code == FAIL_NONE; i++)
		if (wanted[i])
			code = add_domain(&l, i, f);
	free(l.done);
	free(l.member);
	if (code != FAIL_NONE)
		part_list_close(out);
	return code;
}

void
part_list_close(struct part_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->item[i].member);
		free(l->item[i].wanted);
	}
	free(l->item);
	*l = (struct part_list){0};
}
