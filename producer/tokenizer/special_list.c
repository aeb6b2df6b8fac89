#include "producer/tokenizer/special_list.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/buffer.h"

void
special_list_close(struct special_list *l)
{
	buffer_close(&l->texts);
	free(l->entry);
	*l = (struct special_list){.entry = NULL};
}

enum fail_code
special_list_add(struct special_list *l, uint32_t id, const void *text, size_t n, struct failure *f)
{
	assert(memchr(text, '\0', n) == NULL);
	if (buffer_reserve_items(&l->entry, &l->room, l->n + 1, sizeof(*l->entry), f) != FAIL_NONE)
		return f->code;
	l->entry[l->n] = (struct special_list_entry){id, l->texts.n, l->n};
	l->n++;
	if (buffer_add(&l->texts, text, n, f) != FAIL_NONE)
		return f->code;
	return buffer_add(&l->texts, "", 1, f);
}

/* By id; of one id the last that was noted comes first. */
static int
compare(const void *left, const void *right)
{
	const struct special_list_entry *a = left, *b = right;

	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return a->order > b->order ? -1 : 1;
}

enum fail_code
special_list_give(struct special_list *l, struct tokenizer *t, struct failure *f)
{
	struct tokenizer_special *special = malloc((l->n + 1) * sizeof(*special));

	assert(t->special_owned == NULL);
	assert(t->recipe != NULL);
	if (special == NULL)
		return fail_memory(f);
	if (l->n > 1)
		qsort(l->entry, l->n, sizeof(*l->entry), compare);
	t->special_owned = special;
	t->special = special;
	t->specials_n = 0;
	t->recipe->texts = l->texts;
	l->texts = (struct buffer){NULL, 0, 0};
	for (size_t i = 0; i < l->n; i++)
		if (i == 0 || l->entry[i].id != l->entry[i - 1].id)
			special[t->specials_n++] = (struct tokenizer_special){
			    (const char *)t->recipe->texts.bytes + l->entry[i].start,
			    l->entry[i].id};
	special_list_close(l);
	return FAIL_NONE;
}
