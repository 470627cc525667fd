/* roles.c - the kinds of work; each can find its own loss. */
#include "tests/stress/control_roles.h"
#include "tests/stress/stress.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A number that proves itself when read back. */
struct record {
	uint64_t number, proof;
};

static uint64_t proof_of(uint64_t number, uint64_t salt)
{
	return (number + 0x9e3779b97f4a7c15u) * (salt | 1) ^ number >> 31;
}

static void make_directory(struct shared *s, const char *name)
{
	stress_must(s, !mkdir(name, 0755), "mkdir", name);
}

static void make_empty(struct shared *s, const char *name)
{
	int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	stress_must(s, fd >= 0, "create", name);
	close(fd);
}

/* ---- Records: each worker writes its own file in place, and no update may be lost ---- */

static void records_path(const struct worker *w, char path[32])
{
	snprintf(path, 32, "own-%u", w->number);
}

static void records_prepare(struct shared *s)
{
	char path[32];

	for (unsigned i = 0; i < s->workers_count; i++) {
		records_path(&s->workers[i], path);
		make_empty(s, path);
	}
}

static void records_compare(struct shared *s, struct worker *w, int fd, unsigned at)
{
	struct record got = { 0 };
	ssize_t len = CALL(w, pread(fd, &got, sizeof got, (off_t)(at * sizeof got)));

	if (!w->records[at] && (len == 0 || !got.number))
		return;
	if (len != sizeof got || got.number != w->records[at] ||
		got.proof != proof_of(got.number, w->number))
		stress_fail(s, "worker %u: record %u is %ju, not %ju (read %zd)", w->number, at,
			(uintmax_t)got.number, (uintmax_t)w->records[at], len);
}

/* Through write, or through a mapping. */
static void records_put(struct shared *s, struct worker *w, int fd, unsigned at)
{
	struct record next = { w->records[at] + 1, proof_of(w->records[at] + 1, w->number) };
	struct stat st;

	w->records[at]++;
	if (stress_chance(w) % 8 || fstat(fd, &st) || st.st_size < (off_t)(RECORDS * sizeof next)) {
		ssize_t len = CALL(w, pwrite(fd, &next, sizeof next, (off_t)(at * sizeof next)));

		stress_must(s, len == sizeof next, "pwrite", "a record");
		return;
	}
	struct record *map =
		mmap(NULL, RECORDS * sizeof next, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	stress_must(s, map != MAP_FAILED, "mmap", "a file");
	if (map == MAP_FAILED)
		return;
	map[at] = next;
	stress_must(s, !CALL(w, msync(map, RECORDS * sizeof next, MS_SYNC)), "msync", "a file");
	munmap(map, RECORDS * sizeof next);
}

static void records_round(struct shared *s, struct worker *w)
{
	char path[32], other[40];
	int fd;

	records_path(w, path);
	fd = CALL(w, open(path, O_RDWR | O_CLOEXEC));
	stress_must(s, fd >= 0, "open", path);
	for (int i = 0; i < 8 && fd >= 0; i++) {
		records_compare(s, w, fd, stress_chance(w) % RECORDS);
		records_put(s, w, fd, stress_chance(w) % RECORDS);
	}
	if (stress_chance(w) % 4 == 0) {
		snprintf(other, sizeof other, "%s.moved", path);
		stress_must(s, !CALL(w, rename(path, other)), "rename", path);
		records_put(s, w, fd, stress_chance(w) % RECORDS);
		stress_must(s, !CALL(w, rename(other, path)), "rename back", path);
	}
	if (stress_chance(w) % 16 == 0)
		stress_must(s, !CALL(w, fsync(fd)), "fsync", path);
	stress_must(s, !CALL(w, close(fd)), "close", path);
}

static void records_check(struct shared *s)
{
	char path[32];

	for (unsigned i = 0; i < s->workers_count; i++) {
		struct worker *w = &s->workers[i];
		int fd;

		records_path(w, path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		stress_must(s, fd >= 0, "open at the end", path);
		for (unsigned at = 0; at < RECORDS; at++)
			records_compare(s, w, fd, at);
		close(fd);
	}
}

/*
 * ---- The log: lines of all workers, each written by one append, must all be there, whole and in
 * order ----
 */

static void log_prepare(struct shared *s)
{
	make_empty(s, "log");
}

static int log_line(char *line, size_t size, unsigned worker, uint64_t number)
{
	int pad = (int)(number % 50);

	return snprintf(line, size, "%u %ju %016jx %.*s\n", worker, (uintmax_t)number,
		(uintmax_t)proof_of(number, worker), pad,
		"..................................................");
}

static void log_round(struct shared *s, struct worker *w)
{
	int fd = CALL(w, open("log", O_WRONLY | O_APPEND | O_CLOEXEC));
	char line[128];

	stress_must(s, fd >= 0, "open", "log");
	for (int i = 0; i < 10 && fd >= 0; i++) {
		int len = log_line(line, sizeof line, w->number, w->lines + 1);

		stress_must(s, CALL(w, write(fd, line, (size_t)len)) == len, "append to", "log");
		w->lines++;
	}
	stress_must(s, !CALL(w, close(fd)), "close", "log");
}

static void log_check(struct shared *s)
{
	static uint64_t seen[PROCESSES * WORKERS_MAX];
	FILE *log = fopen("log", "re");
	char line[256], wanted[128];
	unsigned worker;

	for (unsigned long n = 1; log && fgets(line, sizeof line, log); n++) {
		if (sscanf(line, "%u", &worker) != 1 || worker >= s->workers_count) {
			stress_fail(s, "log: line %lu is torn", n);
			continue;
		}
		log_line(wanted, sizeof wanted, worker, ++seen[worker]);
		if (strcmp(line, wanted))
			stress_fail(s, "log: line %lu is not worker %u's line %ju", n, worker,
				(uintmax_t)seen[worker]);
	}
	for (unsigned i = 0; i < s->workers_count; i++)
		if (seen[i] != s->workers[i].lines)
			stress_fail(s, "log: %ju of %ju lines of worker %u", (uintmax_t)seen[i],
				(uintmax_t)s->workers[i].lines, i);
	if (log)
		fclose(log);
}

/* ---- Balls: thrown between two directories, never lost and never doubled ---- */

static void balls_prepare(struct shared *s)
{
	char path[32];

	make_directory(s, "left");
	make_directory(s, "right");
	for (int i = 0; i < BALLS; i++) {
		snprintf(path, sizeof path, "left/ball-%d", i);
		make_empty(s, path);
	}
}

static void balls_round(struct shared *s, struct worker *w)
{
	unsigned ball = stress_chance(w) % BALLS;
	char from[32], to[32];

	snprintf(from, sizeof from, "%s/ball-%u", w->process ? "right" : "left", ball);
	snprintf(to, sizeof to, "%s/ball-%u", w->process ? "left" : "right", ball);
	if (!CALL(w, rename(from, to)))
		atomic_fetch_add(&s->throws[ball], 1);
	else if (errno != ENOENT)
		stress_must(s, false, "rename", from);
}

static void balls_check(struct shared *s)
{
	char left[32], right[32];
	struct stat st;

	for (unsigned i = 0; i < BALLS; i++) {
		snprintf(left, sizeof left, "left/ball-%u", i);
		snprintf(right, sizeof right, "right/ball-%u", i);
		bool is_left = !lstat(left, &st), is_right = !lstat(right, &st);

		if (is_left + is_right != 1)
			stress_fail(s, "ball %u is in %d places", i, is_left + is_right);
		else if (is_right != (atomic_load(&s->throws[i]) % 2 == 1))
			stress_fail(s, "ball %u is not where %ju throws leave it", i,
				(uintmax_t)atomic_load(&s->throws[i]));
	}
}

/*
 * ---- Prizes: the worker that makes a name with O_EXCL has the name alone until removing it ----
 */

static void prizes_prepare(struct shared *s)
{
	make_directory(s, "prizes");
}

static void prizes_hold(struct shared *s, struct worker *w, int fd, const char *path)
{
	uint64_t mine = w->number, got = 0;

	stress_must(s, CALL(w, write(fd, &mine, sizeof mine)) == sizeof mine, "write", path);
	int again = CALL(w, open(path, O_RDONLY | O_CLOEXEC));

	stress_must(s, again >= 0, "open my own", path);
	if (CALL(w, pread(again, &got, sizeof got, 0)) != sizeof got || got != mine)
		stress_fail(s, "%s: worker %u reads %ju", path, w->number, (uintmax_t)got);
	close(again);
}

static void prizes_round(struct shared *s, struct worker *w)
{
	unsigned prize = stress_chance(w) % PRIZES, nobody = 0;
	char path[32];
	int fd;

	snprintf(path, sizeof path, "prizes/%u", prize);
	fd = CALL(w, open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600));
	if (fd < 0) {
		stress_must(s, errno == EEXIST, "create", path);
		return;
	}
	if (!atomic_compare_exchange_strong(&s->prize_owner[prize], &nobody, w->number + 1))
		stress_fail(s, "%s: made by worker %u while worker %u has it", path, w->number,
			nobody - 1);
	prizes_hold(s, w, fd, path);
	atomic_store(&s->prize_owner[prize], 0);
	stress_must(s, !CALL(w, unlink(path)), "unlink", path);
	stress_must(s, !CALL(w, close(fd)), "close", path);
}

static void prizes_check(struct shared *s)
{
	stress_must(s, !rmdir("prizes"), "at the end: rmdir", "prizes");
}

/* ---- Lists: names that no worker touches are listed exactly once, whatever else happens ---- */

static void lists_prepare(struct shared *s)
{
	char path[32];

	make_directory(s, "lists");
	for (int i = 0; i < FIXED_NAMES; i++) {
		snprintf(path, sizeof path, "lists/fixed-%d", i);
		make_empty(s, path);
	}
}

static void lists_read(struct shared *s, struct worker *w)
{
	unsigned char seen[FIXED_NAMES] = { 0 };
	DIR *dir = CALL(w, opendir("lists"));
	int number;

	stress_must(s, dir, "opendir", "lists");
	if (!dir)
		return;
	for (struct dirent *d; (d = CALL(w, readdir(dir)));)
		if (sscanf(d->d_name, "fixed-%d", &number) == 1 && number < FIXED_NAMES)
			seen[number]++;
	for (int i = 0; i < FIXED_NAMES; i++)
		if (seen[i] != 1)
			stress_fail(s, "lists/fixed-%d was listed %d times", i, seen[i]);
	closedir(dir);
}

static void lists_round(struct shared *s, struct worker *w)
{
	char path[48], other[56];

	snprintf(path, sizeof path, "lists/passing-%u-%u", w->number,
		(unsigned)stress_chance(w) % 8);
	snprintf(other, sizeof other, "%s.new", path);
	int fd = CALL(w, open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
	stress_must(s, fd >= 0, "create", path);
	stress_must(s, !CALL(w, close(fd)), "close", path);
	if (stress_chance(w) % 4 == 0)
		lists_read(s, w);
	stress_must(s, !CALL(w, rename(path, other)), "rename", path);
	stress_must(s, !CALL(w, unlink(other)), "unlink", other);
}

static void lists_check(struct shared *s)
{
	lists_read(s, &s->workers[0]);
}

/*
 * ---- Trees: directories made, moved and removed; the file system must refuse at the right moments
 * ----
 */

static void trees_prepare(struct shared *s)
{
	make_directory(s, "trees");
}

static void trees_round(struct shared *s, struct worker *w)
{
	char top[32], sub[48], moved[40], file[64];

	snprintf(top, sizeof top, "trees/t%u", w->number);
	snprintf(sub, sizeof sub, "%s/sub", top);
	snprintf(moved, sizeof moved, "%s.m", top);
	snprintf(file, sizeof file, "%s/sub/link", moved);
	stress_must(s, !CALL(w, mkdir(top, 0755)), "mkdir", top);
	stress_must(s, !CALL(w, mkdir(sub, 0755)), "mkdir", sub);
	if (!CALL(w, rmdir(top)))
		stress_fail(s, "%s: removed though not empty", top);
	stress_must(s, !CALL(w, rename(top, moved)), "rename", top);
	stress_must(s, !CALL(w, symlink("../../log", file)), "symlink", file);
	stress_must(s, CALL(w, access(sub, F_OK)) != 0, "still there:", sub);
	stress_must(s, !CALL(w, unlink(file)), "unlink", file);
	snprintf(sub, sizeof sub, "%s/sub", moved);
	stress_must(s, !CALL(w, rmdir(sub)), "rmdir", sub);
	stress_must(s, !CALL(w, rmdir(moved)), "rmdir", moved);
}

static void trees_check(struct shared *s)
{
	stress_must(s, !rmdir("trees"), "at the end: rmdir", "trees");
}

/* ---- A count that locks protect: read, add one, write, by everyone ---- */

static void locks_prepare(struct shared *s)
{
	make_empty(s, "locked");
}

static void locks_round(struct shared *s, struct worker *w)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	uint64_t count = 0;
	int fd = CALL(w, open("locked", O_RDWR | O_CLOEXEC));

	stress_must(s, fd >= 0, "open", "locked");
	stress_must(s, !CALL(w, fcntl(fd, F_OFD_SETLKW, &lock)), "lock", "locked");
	ssize_t got = CALL(w, pread(fd, &count, sizeof count, 0));

	stress_must(s, got == 0 || got == sizeof count, "read", "locked");
	count++;
	stress_must(
		s, CALL(w, pwrite(fd, &count, sizeof count, 0)) == sizeof count, "write", "locked");
	atomic_fetch_add(&s->locked_count, 1);
	stress_must(s, !CALL(w, close(fd)), "close", "locked");
}

static void locks_check(struct shared *s)
{
	uint64_t count = 0;
	int fd = open("locked", O_RDONLY | O_CLOEXEC);

	if (atomic_load(&s->locked_count) && read(fd, &count, sizeof count) != sizeof count)
		stress_must(s, false, "at the end: read", "locked");
	if (count != atomic_load(&s->locked_count))
		stress_fail(s, "locked: %ju of %ju increments", (uintmax_t)count,
			(uintmax_t)atomic_load(&s->locked_count));
	close(fd);
}

const struct role roles[] = {
	{ "records", false, records_prepare, records_round, records_check },
	{ "log", false, log_prepare, log_round, log_check },
	{ "balls", false, balls_prepare, balls_round, balls_check },
	{ "prizes", false, prizes_prepare, prizes_round, prizes_check },
	{ "lists", false, lists_prepare, lists_round, lists_check },
	{ "trees", false, trees_prepare, trees_round, trees_check },
	{ "locks", false, locks_prepare, locks_round, locks_check },
	{ "facts", true, NULL, facts_round, NULL },
	{ "commands", true, NULL, commands_round, NULL },
	{ "jobs", true, NULL, jobs_round, NULL },
	{ "strangers", true, strangers_prepare, strangers_round, NULL },
	{ "signals", true, signals_prepare, signals_round, NULL },
	{ 0 },
};
