#include "providers/helper/copied.h"

#include "providers/helper/root.h"

#include <stdlib.h>

void copied_release(struct copied *c)
{
	free(c->all);
	*c = (struct copied){ 0 };
}

void copied_note(struct copied *c, const struct change *change, const struct expect *before,
	const struct change_result *done)
{
	if (!change_keeps_inode(change) || expect_is_any(before) || !done->has_attr ||
		expect_met(before, &done->attr))
		return;
	struct copied_file *all = realloc(c->all, (c->count + 1) * sizeof *all);

	if (!all)
		return;
	c->all = all;
	all[c->count++] = (struct copied_file){ .from = *before, .to = expect_of(&done->attr) };
}

bool copied_has(const struct copied *c, const struct expect *x, const struct attr *there)
{
	for (size_t n = 0; n < c->count; n++)
		if (x->dev == c->all[n].from.dev && x->ino == c->all[n].from.ino &&
			expect_met(&c->all[n].to, there))
			return true;
	return false;
}
