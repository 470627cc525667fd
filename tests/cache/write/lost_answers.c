/*
 * Random steps through the cache, while the sandbox answers late and reports changes, the cache's
 * own among them. The cache shows what a plain directory shows in which the same steps were done,
 * and in the end so does the sandbox.
 *
 * SANDBOXFS_REPLAY_SEED and SANDBOXFS_REPLAY_STEPS in the environment replay one run, at length.
 */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/lease/lease.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"
#include "tests/cache/twin.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUNS        4
#define STEPS       300
#define PATIENCE_MS 60000
/*
 * Runs with lost answers: their number, every which recorded answer is lost, and the pause
 * before the next attempt.
 */
#define LOSING_RUNS   8
#define LOSE_EVERY    2
#define LOST_PAUSE_MS 5
/* Steps set old times: a younger time is one of the clocks. */
#define OLD_S 1000000000

/* The one directory in which others make changes, too: of names that begin so. */
#define SHARED "shared"
#define OTHERS 'x'

static struct replay {
	uint64_t random;
	struct distant far;
	struct scratch scratch;
	struct plain plain;
	struct mounted mounted;
	struct step step;
	unsigned number; /* the number of the step */
	bool is_drained; /* the sandbox has applied everything, and has reported everything */
} now;

static unsigned pick(unsigned below)
{
	now.random ^= now.random << 13;
	now.random ^= now.random >> 7;
	now.random ^= now.random << 17;
	return (unsigned)(now.random % below);
}

/* ---- The comparison ---- */

#define SAYS_WHERE "step %u: %s: %s"
#define WHERE      now.number, step_text(&now.step)

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, ".staging");
}

/* Names that others make are seen after an unknown time. */
static bool is_counted(const char *name)
{
	return !is_dot(name) && (now.is_drained || name[0] != OTHERS);
}

static void join(char out[TWIN_PATH_MAX], const char *dir, const char *name)
{
	cr_assert(lt(int, snprintf(out, TWIN_PATH_MAX, "%s%s%s", dir, *dir ? "/" : "", name),
		TWIN_PATH_MAX));
}

static unsigned count_in(int top, const char *path)
{
	AUTO_CLOSE int fd = openat(top, *path ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(dup(fd));
	unsigned count = 0;

	cr_assert(dir != NULL, SAYS_WHERE, WHERE, path);
	rewinddir(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		count += is_counted(entry->d_name);
	closedir(dir);
	return count;
}

/* `other` is of the cache or of the sandbox. */
static void compare_attr(const char *path, const struct stat *mine, const struct attr *other)
{
	bool is_dir = S_ISDIR(mine->st_mode);
	bool was_set = mine->st_mtim.tv_sec < OLD_S;

	cr_expect(eq(u32, other->mode, mine->st_mode), SAYS_WHERE, WHERE, path);
	cr_expect(eq(u32, other->nlink, (uint32_t)mine->st_nlink), SAYS_WHERE, WHERE, path);
	if (!is_dir)
		cr_expect(eq(u64, other->size, (uint64_t)mine->st_size), SAYS_WHERE, WHERE, path);
	if (!is_dir && was_set)
		cr_expect(eq(long, other->mtime.tv_sec, mine->st_mtim.tv_sec), SAYS_WHERE, WHERE,
			path);
	else if (!is_dir)
		cr_expect(other->mtime.tv_sec > (long)OLD_S, SAYS_WHERE, WHERE, path);
}

static void compare_texts(const char *path, char *mine, size_t mine_len, char *other, size_t len)
{
	cr_expect(eq(sz, len, mine_len), SAYS_WHERE, WHERE, path);
	cr_expect(len == mine_len && !memcmp(mine, other, len), SAYS_WHERE, WHERE, path);
	free(mine);
	free(other);
}

/* ---- The cache against the directory ---- */

static void compare_contents(const char *path, struct inode *i, bool is_link)
{
	size_t mine_len, len;
	char *mine = plain_text(now.plain.dir, path, &mine_len), *other;
	struct error e = { 0 };
	bool is_ours;

	if (is_link) {
		other = calloc(1, VERB_LINK_MAX + 1);
		cr_assert(eq(int, cache_readlink(now.far.cache, NULL, i, other, &is_ours, &e),
				  ERR_OK),
			SAYS_WHERE, WHERE, path);
		len = strlen(other);
	} else {
		other = mounted_text(&now.mounted, i, &len);
	}
	compare_texts(path, mine, mine_len, other, len);
}

static void compare_seen_entry(const char *path, const struct stat *mine)
{
	struct inode *i;
	struct attr attr;
	enum err kind = mounted_find(&now.mounted, path, &i);

	cr_assert(eq(int, kind, ERR_OK), SAYS_WHERE, WHERE, path);
	cr_assert(eq(int, mounted_attr(&now.mounted, i, &attr), ERR_OK), SAYS_WHERE, WHERE, path);
	compare_attr(path, mine, &attr);
	if (S_ISLNK(mine->st_mode) || (S_ISREG(mine->st_mode) && now.is_drained))
		compare_contents(path, i, S_ISLNK(mine->st_mode));
	mounted_forget(&now.mounted, i);
}

static unsigned count_seen(const char *path)
{
	struct tree_entry *entries;
	struct error e = { 0 };
	struct inode *dir;
	size_t count;
	unsigned counted = 0;

	cr_assert(eq(int, mounted_find(&now.mounted, path, &dir), ERR_OK), SAYS_WHERE, WHERE, path);
	cr_assert(eq(int, cache_entries(now.far.cache, NULL, dir, &entries, &count, &e), ERR_OK),
		SAYS_WHERE ": %s", WHERE, path, e.text);
	for (size_t n = 0; n < count; n++)
		counted += is_counted(entries[n].name);
	cache_entries_free(now.far.cache, entries, count);
	mounted_forget(&now.mounted, dir);
	return counted;
}

/* ---- The sandbox against the directory ---- */

static void compare_sandbox_entry(const char *path, const struct stat *mine)
{
	int top = now.far.scratch.fd;
	struct stat st;
	size_t mine_len, len;

	cr_assert(
		eq(int, fstatat(top, path, &st, AT_SYMLINK_NOFOLLOW), 0), SAYS_WHERE, WHERE, path);
	const struct attr attr = { .mode = st.st_mode,
		.nlink = (uint32_t)st.st_nlink,
		.size = (uint64_t)st.st_size,
		.mtime = st.st_mtim };

	compare_attr(path, mine, &attr);
	if (S_ISDIR(st.st_mode))
		return;
	char *own = plain_text(now.plain.dir, path, &mine_len);
	char *other = plain_text(top, path, &len);

	compare_texts(path, own, mine_len, other, len);
}

/* ---- Both sides ---- */

struct side {
	unsigned (*count)(const char *path);
	void (*compare)(const char *path, const struct stat *mine);
};

static unsigned count_in_sandbox(const char *path)
{
	return count_in(now.far.scratch.fd, path);
}

static const struct side cache_side = { count_seen, compare_seen_entry };
static const struct side sandbox_side = { count_in_sandbox, compare_sandbox_entry };

static void compare_dir(const char *path, const struct side *side)
{
	AUTO_CLOSE int fd = openat(now.plain.dir, *path ? path : ".", O_RDONLY | O_CLOEXEC);
	DIR *dir = fdopendir(dup(fd));

	cr_assert(dir != NULL, SAYS_WHERE, WHERE, path);
	rewinddir(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		char below[TWIN_PATH_MAX];
		struct stat st;

		if (!is_counted(entry->d_name))
			continue;
		join(below, path, entry->d_name);
		cr_assert(eq(int, fstatat(now.plain.dir, below, &st, AT_SYMLINK_NOFOLLOW), 0));
		side->compare(below, &st);
		if (S_ISDIR(st.st_mode))
			compare_dir(below, side);
	}
	closedir(dir);
	cr_expect(eq(uint, side->count(path), count_in(now.plain.dir, path)), SAYS_WHERE, WHERE,
		path);
}

/* An open file keeps its inode number and its contents, whatever becomes of its names. */
static void compare_handles(void)
{
	for (int n = 0; n < TWIN_HANDLES; n++) {
		struct inode *i = now.mounted.handles[n];
		struct attr attr;
		struct stat st;

		if (!i)
			continue;
		cr_assert(eq(int, mounted_attr(&now.mounted, i, &attr), ERR_OK));
		cr_assert(eq(int, fstat(now.plain.handles[n], &st), 0));
		compare_attr("a handle", &st, &attr);
		cr_expect(eq(u64, attr.ino, now.mounted.numbers[n]), SAYS_WHERE, WHERE, "a handle");
	}
}

/* ---- Steps ---- */

static void pick_dir(char out[TWIN_PATH_MAX])
{
	*out = 0;
	for (int depth = 0; depth < 3 && pick(3); depth++) {
		char name[2] = { (char)('a' + pick(4)), 0 }, below[TWIN_PATH_MAX];

		join(below, out, depth == 0 && !pick(4) ? SHARED : name);
		if (S_ISDIR(plain_mode(&now.plain, below)))
			snprintf(out, TWIN_PATH_MAX, "%s", below);
	}
}

static void pick_path(char out[TWIN_PATH_MAX])
{
	char dir[TWIN_PATH_MAX], name[2] = { (char)('a' + pick(4)), 0 };

	pick_dir(dir);
	join(out, dir, name);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && path[len] == '/';
}

static bool is_same_file(const char *one, const char *two)
{
	struct stat a, b;

	return !fstatat(now.plain.dir, one, &a, AT_SYMLINK_NOFOLLOW) &&
		!fstatat(now.plain.dir, two, &b, AT_SYMLINK_NOFOLLOW) && a.st_ino == b.st_ino;
}

/* Leaves out renames that the kernel refuses by itself, and those for which it sends no request. */
static bool may_rename(const struct step *s, uint32_t mode, uint32_t mode2)
{
	bool exchanges = s->flags & CHANGE_EXCHANGE;

	if (!mode || is_below(s->path2, s->path) || is_below(s->path, s->path2) ||
		is_same_file(s->path, s->path2))
		return false;
	if (exchanges || s->flags & CHANGE_NOREPLACE)
		return exchanges ? mode2 : !mode2;
	return !mode2 || S_ISDIR(mode) == S_ISDIR(mode2);
}

static bool may_handle(const struct step *s, uint32_t mode)
{
	bool is_open = now.plain.handles[s->handle] >= 0;

	if (s->kind == STEP_CREATE)
		return !is_open && !mode;
	if (s->kind == STEP_OPEN)
		return !is_open && S_ISREG(mode);
	return is_open;
}

static bool may_do(const struct step *s)
{
	uint32_t mode = plain_mode(&now.plain, s->path), mode2 = plain_mode(&now.plain, s->path2);

	switch (s->kind) {
	case STEP_MKDIR:
	case STEP_SYMLINK: return true;
	case STEP_LINK: return mode && !S_ISDIR(mode);
	case STEP_UNLINK: return !S_ISDIR(mode);
	case STEP_RMDIR: return !mode || S_ISDIR(mode);
	case STEP_RENAME: return may_rename(s, mode, mode2);
	case STEP_COPY: return S_ISREG(mode) && !mode2;
	case STEP_CHMOD:
	case STEP_TIMES: return S_ISREG(mode);
	case STEP_CUT: return S_ISREG(mode);
	default: return may_handle(s, mode);
	}
}

static uint64_t pick_number(enum step_kind kind)
{
	switch (kind) {
	case STEP_CHMOD: return pick(2) ? 0600 : 0755;
	case STEP_TIMES: return 1 + pick(OLD_S - 1);
	default: return pick(pick(4) ? 200 : 200000);
	}
}

static void pick_step(void)
{
	static const uint32_t flags[] = { 0, 0, 0, CHANGE_NOREPLACE, CHANGE_EXCHANGE };

	do {
		now.step = (struct step){ .kind = (enum step_kind)pick(STEP_COPY_OVER),
			.flags = flags[pick(5)],
			.len = 1 + pick(pick(4) ? 100 : 100000),
			.byte = (char)('A' + pick(26)),
			.handle = pick(TWIN_HANDLES) };
		now.step.number = pick_number(now.step.kind);
		pick_path(now.step.path);
		pick_path(now.step.path2);
	} while (!may_do(&now.step));
}

/* Another writer in the sandbox changes a file of its own. The directory gets the same change. */
static void let_others(void)
{
	char path[TWIN_PATH_MAX], path2[TWIN_PATH_MAX],
		name[3] = { OTHERS, (char)('0' + pick(6)), 0 };
	unsigned what = pick(3);

	join(path, SHARED, name);
	name[1] = (char)('0' + pick(6));
	join(path2, SHARED, name);
	const struct scratch plain = { .fd = now.plain.dir };
	const struct scratch *const sides[] = { &now.far.scratch, &plain };

	for (int n = 0; n < 2; n++) {
		if (what == 0)
			scratch_write_text(sides[n], path, step_text(&now.step));
		else if (what == 1)
			unlinkat(sides[n]->fd, path, 0);
		else
			renameat(sides[n]->fd, path, sides[n]->fd, path2);
	}
}

static void take_step(void)
{
	pick_step();
	enum err mine = plain_do(&now.plain, &now.step);
	enum err other = mounted_do(&now.mounted, &now.step);

	cr_assert(eq(int, other, mine), SAYS_WHERE ": %s, not %s", WHERE, "", error_words(other),
		error_words(mine));
	distant_step(&now.far);
	if (!pick(4))
		let_others();
	if (!pick(8))
		compare_dir("", &cache_side);
	if (!pick(4))
		compare_handles();
}

/* ---- Everything is applied and reported ---- */

static void await_file(const char *path)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;
	struct inode *i;

	while (mounted_find(&now.mounted, path, &i)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "%s: never seen", path);
		usleep(1000);
	}
	mounted_forget(&now.mounted, i);
}

static void drain(void)
{
	struct error e = { 0 };
	char marker[TWIN_PATH_MAX];
	const struct scratch plain = { .fd = now.plain.dir };

	cr_assert(eq(int, cache_sync(now.far.cache, NULL, &e), ERR_OK), "step %u: %s", now.number,
		e.text);
	snprintf(marker, sizeof marker, SHARED "/xm%u", now.number);
	scratch_write_text(&now.far.scratch, marker, "");
	scratch_write_text(&plain, marker, "");
	await_file(marker);
	now.is_drained = true;
	compare_dir("", &sandbox_side);
	compare_dir("", &cache_side);
	compare_handles();
	now.is_drained = false;
}

/* ---- Runs ---- */

static void await_stream(void)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	count_seen("");
	while (!lease_is_live(now.far.cache->lease)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "no stream of changes");
		usleep(1000);
	}
}

/* The link of a run. */
struct way {
	unsigned lose_every;  /* one answer of so many is lost; 0: none is lost */
	size_t takes_changes; /* the most changes in one request; 0: any number */
};

static void begin_run(uint64_t seed, const struct way *way)
{
	now = (struct replay){ .random = seed * 0x9e3779b97f4a7c15u };
	distant_start_watched(&now.far);
	scratch_make(&now.scratch);
	scratch_mkdir(&now.far.scratch, SHARED, 0755);
	scratch_mkdir(&now.scratch, SHARED, 0755);
	plain_init(&now.plain, now.scratch.fd);
	now.mounted.cache = now.far.cache;
	await_stream();
	now.far.late_most = 40;
	now.far.lose_every = way->lose_every;
	now.far.takes_changes = way->takes_changes;
	now.far.cache->writeback->pause_ms = LOST_PAUSE_MS;
}

static void end_run(void)
{
	mounted_release(&now.mounted);
	plain_release(&now.plain);
	drain();
	distant_stop(&now.far);
	scratch_remove(&now.scratch);
}

static unsigned from_environment(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Forgets the limit, as if the last batch that was too large had been long ago. */
static void forget_limit(void)
{
	struct writeback *p = now.far.cache->writeback;

	pthread_mutex_lock(&p->lock);
	p->most.until_ms = 0;
	pthread_mutex_unlock(&p->lock);
}

static void run(uint64_t seed, const struct way *way)
{
	unsigned steps = from_environment("SANDBOXFS_REPLAY_STEPS", STEPS);

	begin_run(seed, way);
	for (now.number = 1; now.number <= steps; now.number++) {
		take_step();
		forget_limit();
		if (!pick(100))
			drain();
	}
	end_run();
}

static void run_all(unsigned runs, const struct way *way)
{
	unsigned only = from_environment("SANDBOXFS_REPLAY_SEED", 0);

	for (unsigned seed = 1; seed <= runs && !only; seed++)
		run(seed, way);
	if (only)
		run(only, way);
}

TestSuite(replay, .timeout = 600);

Test(replay, random_steps_show_what_a_plain_directory_has)
{
	run_all(RUNS, &(struct way){ 0 });
}

Test(replay, random_steps_show_the_same_where_every_second_answer_is_lost)
{
	run_all(LOSING_RUNS, &(struct way){ .lose_every = LOSE_EVERY });
}

/* With this limit every batch is cut. */
Test(replay, random_steps_show_the_same_where_the_way_takes_two_changes_at_once)
{
	run_all(RUNS, &(struct way){ .takes_changes = 2 });
}
