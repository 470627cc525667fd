#include "tests/oracle/behind.h"

#include <stdio.h>
#include <unistd.h>

static void side_for_paths(struct side *s, const char *name, const char *path, int root)
{
	*s = (struct side){ .name = name, .path = path, .top = -1, .root = root };
	for (int i = 0; i < SLOTS; i++)
		s->slot[i] = -1;
}

bool behind_begin(struct behind *w, const char *directory, const struct side *b)
{
	int top = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int root = top < 0 ? -1 : side_open_work(top);

	if (root < 0)
		perror(directory);
	if (top >= 0)
		close(top);
	side_for_paths(&w->a, "A seen from behind", directory, root);
	side_for_paths(&w->b, "B", b->path, b->root);
	return root >= 0;
}

void behind_end(struct behind *w)
{
	side_close_slots(&w->a);
	side_close_slots(&w->b);
	if (w->a.root >= 0)
		close(w->a.root);
	w->a.root = -1;
}

bool behind_takes(const struct behind *w, const struct call *c)
{
	unsigned uses = c->op->uses;

	if (!w->every || c->step % w->every != 0 || !(uses & USES_PATH) || uses & USES_SLOT2)
		return false;
	return c->at[0].base == BASE_ROOT && (!(uses & USES_PATH2) || c->at[1].base == BASE_ROOT);
}

bool behind_sync(const struct behind *w)
{
	int fd = w->sync_path ? open(w->sync_path, O_WRONLY | O_CLOEXEC) : -1;
	bool written = fd >= 0 && write(fd, "\n", 1) == 1;

	/* The close makes the mount send and check. */
	if (w->sync_path && (fd < 0 || close(fd) || !written)) {
		perror(w->sync_path);
		return false;
	}
	return true;
}

bool behind_drain(struct behind *w)
{
	side_close_slots(&w->a);
	side_close_slots(&w->b);
	return behind_sync(w);
}
