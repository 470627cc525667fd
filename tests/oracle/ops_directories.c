/*
 * ops_directories.c - reading directories: their entries, from the beginning and from the middle.
 *
 * The order of names is the file system's affair, so a listing is compared sorted. The rules for
 * the order are checked on each side by itself: a place returned to continues as before, and a name
 * that no call touched comes once.
 */
#include "tests/oracle/ops.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define ENTRIES_MAX 512

struct entry {
	uint64_t ino;
	int64_t next; /* the position behind this entry, where the listing goes on */
	unsigned char type;
	char name[256];
};

struct listing {
	size_t count;
	struct entry entries[ENTRIES_MAX];
};

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	unsigned short reclen;
	unsigned char type;
	char name[];
};

/* Reads from where the descriptor stands to the end, `room` bytes at a time. */
static long read_rest(int fd, size_t room, struct listing *l)
{
	__attribute__((aligned(8))) char chunk[32768];
	long got;

	l->count = 0;
	while ((got = syscall(SYS_getdents64, fd, chunk, room)) > 0)
		for (long at = 0; at < got && l->count < ENTRIES_MAX;) {
			const struct linux_dirent64 *d = (const void *)(chunk + at);
			struct entry *e = &l->entries[l->count++];

			e->ino = d->ino;
			e->next = d->off;
			e->type = d->type;
			snprintf(e->name, sizeof e->name, "%s", d->name);
			at += d->reclen;
		}
	return got;
}

static bool is_dots(const struct entry *e)
{
	return !strcmp(e->name, ".") || !strcmp(e->name, "..");
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/*
 * Adds each name with its type, and whether the inode number of the entry is the one that stat
 * finds.
 */
static void add_entry(struct outcome *o, int dir, const struct entry *e)
{
	struct stat st;

	text_add_escaped(&o->facts, e->name, strlen(e->name));
	text_add(&o->facts, " type %d", e->type);
	if (!is_dots(e) && !fstatat(dir, e->name, &st, AT_SYMLINK_NOFOLLOW) && st.st_ino != e->ino)
		text_add(&o->facts, " inode is another");
	text_add(&o->facts, "\n");
}

/* A descriptor that stays open must show the current entries after a rewind. */
static void run_readdir(struct side *s, const struct call *c, struct outcome *o)
{
	static struct listing l;
	int fd = SLOT(0);

	if (outcome_take(o, lseek(fd, 0, SEEK_SET)))
		return;
	if (outcome_take(o, read_rest(fd, 300 + c->length % 32000, &l)))
		return;
	qsort(l.entries, l.count, sizeof *l.entries, compare_entries);
	for (size_t i = 0; i < l.count; i++)
		add_entry(o, fd, &l.entries[i]);
}

static void run_opendir(struct side *s, const struct call *c, struct outcome *o)
{
	int fd = openat(AT(0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static struct listing l;

	outcome_take_fd(o, fd);
	if (fd < 0)
		return;
	if (!outcome_take(o, read_rest(fd, 300 + c->length % 32000, &l))) {
		qsort(l.entries, l.count, sizeof *l.entries, compare_entries);
		for (size_t i = 0; i < l.count; i++)
			add_entry(o, fd, &l.entries[i]);
	}
	close(fd);
}

static bool same_names(const struct listing *all, size_t from, const struct listing *rest)
{
	if (all->count - from != rest->count)
		return false;
	for (size_t i = 0; i < rest->count; i++)
		if (strcmp(all->entries[from + i].name, rest->entries[i].name))
			return false;
	return true;
}

static void run_seekdir(struct side *s, const struct call *c, struct outcome *o)
{
	int fd = openat(AT(0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	static struct listing all, rest;

	outcome_take_fd(o, fd);
	if (fd < 0)
		return;
	if (!outcome_take(o, read_rest(fd, 4096, &all)) && all.count) {
		size_t from = c->salt % all.count;

		if (lseek(fd, all.entries[from].next, SEEK_SET) < 0 || read_rest(fd, 400, &rest) ||
			!same_names(&all, from + 1, &rest))
			text_add(&o->facts, "the listing does not go on after entry %zu\n", from);
	}
	close(fd);
}

static size_t times_named(const struct listing *l, const char *name)
{
	size_t times = 0;

	for (size_t i = 0; i < l->count; i++)
		times += !strcmp(l->entries[i].name, name);
	return times;
}

/* Reads the first names, as many as fit into the buffer. */
static void read_some(int fd, struct listing *l)
{
	__attribute__((aligned(8))) char chunk[280];
	long got = syscall(SYS_getdents64, fd, chunk, sizeof chunk);

	l->count = 0;
	for (long at = 0; at < got;) {
		const struct linux_dirent64 *d = (const void *)(chunk + at);

		snprintf(l->entries[l->count++].name, sizeof l->entries->name, "%s", d->name);
		at += d->reclen;
	}
}

/* A name made and a name removed while a listing is half read: all the others come exactly once. */
static void try_race(int fd, const struct call *c, struct outcome *o)
{
	static struct listing before, first, second;

	if (outcome_take(o, read_rest(fd, 4096, &before)) || !before.count)
		return;
	qsort(before.entries, before.count, sizeof *before.entries, compare_entries);
	for (size_t i = 0; i < before.count; i++)
		add_entry(o, fd, &before.entries[i]);
	const char *victim = before.entries[c->salt % before.count].name;

	lseek(fd, 0, SEEK_SET);
	read_some(fd, &first);
	int made = mknodat(fd, "made.meanwhile", S_IFREG | 0600, 0);
	text_add(&o->facts, "removed %d\n", unlinkat(fd, victim, 0));
	read_rest(fd, 4096, &second);
	for (size_t i = 0; i < before.count; i++) {
		const char *name = before.entries[i].name;
		size_t times = times_named(&first, name) + times_named(&second, name);

		if (times != 1 && strcmp(name, victim))
			text_add(&o->facts, "entry %zu came %zu times\n", i, times);
	}
	if (!made)
		unlinkat(fd, "made.meanwhile", 0);
}

static void run_readdir_race(struct side *s, const struct call *c, struct outcome *o)
{
	int fd = openat(AT(0), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	outcome_take_fd(o, fd);
	if (fd < 0)
		return;
	try_race(fd, c, o);
	close(fd);
}

const struct op ops_directories[] = {
	{ "readdir", 20, USES_SLOT | USES_LENGTH, NULL, NULL, run_readdir },
	{ "opendir", 20, WANTS_FOLDER | USES_PATH | USES_LENGTH, NULL, NULL, run_opendir },
	{ "seekdir", 8, WANTS_FOLDER | USES_PATH, NULL, NULL, run_seekdir },
	{ "readdir_race", 5, WANTS_FOLDER | USES_PATH, NULL, NULL, run_readdir_race },
	{ 0 },
};
