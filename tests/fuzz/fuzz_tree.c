/*
 * Answers and events of a sandbox that lies about names and inodes, and local changes among them:
 * the input is a row of steps of four bytes each, on few names and few inodes. The tree stays a
 * tree, and every walk in it ends.
 */
#include "cache/tree/tree.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HELD      8
#define STEPS_MAX 200
#define LATER     (INT64_MAX / 2)

struct world {
	struct tree *tree;
	struct inode *held[HELD]; /* inodes as a kernel has them; the first is the root */
	struct tree_scope scopes[2];
	bool is_changing[2];
	uint64_t seen[4]; /* tree_seen() when each request without an answer left */
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static const char *name_of(uint8_t byte)
{
	static const char *const names[] = { "a", "b", "c", "d" };

	return names[byte % 4];
}

static struct attr attr_of(uint8_t byte)
{
	static const uint32_t types[] = { S_IFDIR, S_IFDIR, S_IFREG, S_IFLNK };

	return (struct attr){ .dev = 1,
		.ino = 2 + byte % 6,
		.mode = types[byte >> 3 & 3] | 0755,
		.nlink = 1 + (byte >> 6),
		.ctime.tv_sec = byte >> 5 };
}

static struct tree_news news_of(uint8_t byte)
{
	return (struct tree_news){ .attr = attr_of(byte),
		.link = S_ISLNK(attr_of(byte).mode) ? "x" : NULL,
		.until_ms = byte & 1 ? LATER : 0,
		.name_until_ms = byte & 2 ? LATER : 0 };
}

/* The kernel gets the inode, and forgets the one in its slot. */
static void hold(struct world *w, uint8_t slot, struct inode *i)
{
	struct inode **at = &w->held[1 + slot % (HELD - 1)];

	if (*at)
		free(tree_kernel_forget(w->tree, *at, 1));
	*at = i;
	if (i)
		tree_kernel_get(w->tree, i);
}

static struct inode *dir_at(const struct world *w, uint8_t slot)
{
	struct inode *i = w->held[slot % HELD];
	struct attr attr = { 0 };

	if (i)
		tree_attr(w->tree, i, &attr);
	return i && S_ISDIR(attr.mode) ? i : w->held[0];
}

static void learn(struct world *w, const uint8_t *step)
{
	struct tree_news news = news_of(step[3]);
	bool changed;
	struct inode *i = tree_learn_name(w->tree, dir_at(w, step[1]), name_of(step[2]),
		w->seen[step[1] >> 6], &news, &changed);

	must(i);
	hold(w, step[2] >> 2, i);
	tree_unpin(w->tree, i);
}

static void complete(struct world *w, const uint8_t *step)
{
	struct tree_listing listing = { .until_ms = LATER, .name_until_ms = LATER };

	tree_listing_begins(w->tree, &listing);
	if (step[3] & 1)
		learn(w, step);
	tree_learn_complete(w->tree, dir_at(w, step[1]), &listing);
	tree_listing_ends(w->tree, &listing);
}

static void receive(struct world *w, const uint8_t *step)
{
	char path[16];
	const struct watch_event event = { .kind = WATCH_CREATED + step[1] % 4,
		.path = path,
		.has_attr = step[1] % 4 < 3 && step[1] & 0x80,
		.attr = attr_of(step[3]) };

	strcpy(path, step[1] & 0x40 ? "" : name_of(step[2]));
	for (int n = 0; *path && n < (step[2] >> 6); n++) {
		strcat(path, "/");
		strcat(path, name_of(step[2] >> (2 + n)));
	}
	tree_apply_event(w->tree, &event);
}

/* Begins a change, or ends one with an answer. */
static void change(struct world *w, const uint8_t *step)
{
	unsigned n = step[1] & 1;
	struct attr attr = attr_of(step[3]);

	if (w->is_changing[n]) {
		tree_adopt(w->tree, &w->scopes[n], w->scopes[n].inodes[0], &attr, LATER);
		tree_change_ends(w->tree, &w->scopes[n]);
	} else {
		w->scopes[n] = (struct tree_scope){ .inodes = { dir_at(w, step[2]),
							    w->held[step[2] >> 4 & 7] } };
		tree_change_begins(w->tree, &w->scopes[n]);
	}
	w->is_changing[n] = !w->is_changing[n];
}

static void make(struct world *w, const uint8_t *step)
{
	struct tree_news news = news_of(step[3]);
	struct inode *i = tree_made(w->tree, dir_at(w, step[1]), name_of(step[2]), &news);

	must(i);
	hold(w, step[2] >> 2, i);
	tree_unpin(w->tree, i);
}

static void move(struct world *w, const uint8_t *step)
{
	struct inode *from = dir_at(w, step[1]), *to = dir_at(w, step[1] >> 3);
	struct inode *moved = tree_peek(w->tree, from, name_of(step[2]));
	struct inode *there = tree_peek(w->tree, to, name_of(step[3]));

	if (step[3] & 0x80)
		tree_exchanged(w->tree, from, name_of(step[2]), to, name_of(step[3]));
	else if (moved && moved != there)
		tree_renamed(w->tree, &(struct tree_name){ from, name_of(step[2]) },
			&(struct tree_name){ to, name_of(step[3]) }, moved, LATER);
	tree_unpin(w->tree, there);
	tree_unpin(w->tree, moved);
}

static void take(struct world *w, const uint8_t *step)
{
	switch (step[0] % 10) {
	case 0:
	case 1: learn(w, step); break;
	case 2: w->seen[step[1] & 3] = tree_seen(w->tree); break;
	case 3:
		tree_learn_absent(
			w->tree, dir_at(w, step[1]), name_of(step[2]), w->seen[step[1] >> 6]);
		break;
	case 4: complete(w, step); break;
	case 5: receive(w, step); break;
	case 6: change(w, step); break;
	case 7: make(w, step); break;
	case 8: move(w, step); break;
	case 9: tree_unnamed(w->tree, dir_at(w, step[1]), name_of(step[2])); break;
	}
}

/* Walks up and down the tree. */
static void walk(struct world *w)
{
	size_t count = 0;
	struct tree_start *starts = tree_known_dirs(w->tree, &count);

	must(starts);
	for (size_t n = 0; n < count; n++) {
		/* A path has no more names than there are steps. */
		must(strlen(starts[n].path) <= 2 * STEPS_MAX);
		tree_start_release(w->tree, &starts[n]);
	}
	free(starts);
	tree_invalidate_below(w->tree, w->held[0]);
	for (int n = 0; n < HELD; n++) {
		AUTO_TREE_PATH struct tree_path path = { 0 };

		if (w->held[n])
			tree_path(w->tree, w->held[n], NULL, &path, NULL);
		if (w->held[n])
			tree_depth_in(w->tree, w->held[n]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct attr root = { .dev = 1, .ino = 2, .mode = S_IFDIR | 0755, .nlink = 2 };
	struct world w = { .tree = tree_new(&root, 4) };

	must(w.tree);
	w.held[0] = tree_root(w.tree);
	tree_kernel_get(w.tree, w.held[0]);
	for (size_t n = 0; n < STEPS_MAX && n < size / 4; n++) {
		take(&w, data + 4 * n);
		walk(&w);
	}
	for (unsigned n = 0; n < 2; n++)
		if (w.is_changing[n])
			tree_change_ends(w.tree, &w.scopes[n]);
	for (uint8_t n = 0; n < HELD - 1; n++)
		hold(&w, n, NULL);
	walk(&w);
	tree_free(w.tree);
	return 0;
}
