#include "tests/oracle/tree.h"
#include "tests/oracle/side.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LINKED_MAX 4096

atomic_ulong tree_names_met;

/* Inodes of several names, numbered as they are met. */
struct walk {
	const struct stat_rules *rules;
	struct text *out;
	struct text path;
	size_t linked_count;
	ino_t linked[LINKED_MAX];
};

static void describe_linked(struct walk *w, ino_t ino)
{
	size_t i = 0;

	while (i < w->linked_count && w->linked[i] != ino)
		i++;
	if (i == w->linked_count && i < LINKED_MAX)
		w->linked[w->linked_count++] = ino;
	text_add(w->out, " linked inode %zu", i);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void describe_xattrs(struct walk *w, int fd)
{
	static char names[65536], value[65536];
	char *sorted[1024];
	size_t count = 0;
	ssize_t len = flistxattr(fd, names, sizeof names);

	for (char *n = names; n < names + len && count < 1024; n += strlen(n) + 1)
		if (!strncmp(n, "user.", 5))
			sorted[count++] = n;
	if (count)
		qsort(sorted, count, sizeof *sorted, compare_names);
	for (size_t i = 0; i < count; i++) {
		ssize_t value_len = fgetxattr(fd, sorted[i], value, sizeof value);

		text_add(w->out, "    ");
		text_add_escaped(w->out, sorted[i], strlen(sorted[i]));
		text_add(w->out, ": ");
		text_add_data(w->out, value, value_len < 0 ? 0 : (size_t)value_len);
	}
}

static void describe_contents(struct walk *w, int fd)
{
	static unsigned char piece[256 * 1024];
	uint64_t hash = 0;
	off_t total = 0;
	ssize_t got;

	while ((got = read(fd, piece, sizeof piece)) > 0) {
		hash = hash * 31 + hash_bytes(piece, (size_t)got);
		total += got;
	}
	text_add(w->out, "    contents: %jd bytes%s, hash %016jx\n", (intmax_t)total,
		got < 0 ? " and an error" : "", (uintmax_t)hash);
}

static void describe_link(struct walk *w, int dir, const char *name)
{
	char target[4200];
	ssize_t len = readlinkat(dir, name, target, sizeof target);

	text_add(w->out, "    -> ");
	text_add_escaped(w->out, target, len < 0 ? 0 : (size_t)len);
	text_add(w->out, "\n");
}

static void describe_below(struct walk *w, int dir);

static void describe_inside(struct walk *w, int dir, const char *name, mode_t mode)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		text_add(w->out, "    cannot be opened: %m\n");
		return;
	}
	describe_xattrs(w, fd);
	if (S_ISDIR(mode))
		describe_below(w, fd);
	else
		describe_contents(w, fd);
	close(fd);
}

static void describe_name(struct walk *w, int dir, const char *name)
{
	size_t before = w->path.len;
	struct stat st;

	atomic_fetch_add(&tree_names_met, 1);
	text_add(&w->path, "/%s", name);
	text_add_escaped(w->out, w->path.bytes, w->path.len);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) {
		text_add(w->out, ": %m\n");
	} else {
		if (w->rules->nlink && st.st_nlink > 1 && !S_ISDIR(st.st_mode))
			describe_linked(w, st.st_ino);
		text_add(w->out, " ");
		text_add_stat(w->out, &st, w->rules);
		if (S_ISLNK(st.st_mode))
			describe_link(w, dir, name);
		else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode))
			describe_inside(w, dir, name, st.st_mode);
	}
	w->path.len = before;
	w->path.bytes[before] = '\0';
}

static void describe_below(struct walk *w, int dir)
{
	char **names = names_read(dir);

	if (!names)
		text_add(w->out, "    cannot be listed: %m\n");
	for (char **n = names; n && *n; n++)
		describe_name(w, dir, *n);
	names_free(names);
}

void tree_describe(int dir, const struct stat_rules *rules, struct text *out)
{
	struct walk w = { .rules = rules, .out = out };

	text_clear(out);
	describe_below(&w, dir);
	text_release(&w.path);
}

void text_first_difference(const struct text *a, const struct text *b, struct text *out)
{
	const char *x = a->bytes ? a->bytes : "", *y = b->bytes ? b->bytes : "";
	size_t at = 0;

	for (size_t i = 0; x[i] && x[i] == y[i]; i++)
		if (x[i] == '\n')
			at = i + 1;
	text_add(out, "    A: %.*s\n", (int)strcspn(x + at, "\n"), x + at);
	text_add(out, "    B: %.*s\n", (int)strcspn(y + at, "\n"), y + at);
}
