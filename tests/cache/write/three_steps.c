/*
 * The cases of plans.h: contents that others wrote stay, whole. Without others the sandbox has what
 * a plain directory has in which the same was done. A change that is not applied is reported.
 *
 * A mount lasts for some cases, each in a directory of its own: what its start and end cost is most
 * of what a case would.
 *
 * SANDBOXFS_CASES_STRIDE in the environment: one of so many cases is run, 1: all.
 * SANDBOXFS_CASES_TOGETHER: the number of cases of a mount. SANDBOXFS_CASE: the one that is run by
 * itself, and shown; SANDBOXFS_CASE_TIMES: how often.
 */
#include "cache/session/session.h"
#include "cache/tree/tree.h"
#include "cache/contents.h"
#include "cache/lease/entries.h"
#include "cache/metadata.h"
#include "cache/cache.h"
#include "cache/write/writeback_inside.h"
#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "tests/cache/distant.h"
#include "tests/cache/twin.h"
#include "tests/cache/write/plans.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATIENCE_MS 60000
#define THEIRS      "<THEIRS, and longer than anything of ours>"
#define STRIDE      10
/* Prime: some plans of every kind. */
#define FORESEEN_STRIDE 37
#define TOGETHER        16
#define TOGETHER_MAX    64

struct one {
	struct plan plan;
	unsigned number;
	char top[8]; /* the directory of the case */
	char paths[NAMES][64], dirs[FILES][32];
	unsigned names; /* given so far */
	bool was_done;  /* the directory and the cache have taken every step */
	char why[256];
};

static struct {
	struct distant far;
	struct scratch scratch;
	struct plain plain;
	struct mounted mounted;
	enum ending ending; /* of all cases */
	struct one cases[TOGETHER_MAX];
	size_t count;
	unsigned applies; /* that had arrived before the steps */
} now;

static unsigned from_environment(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static const char *one_text(const struct one *c)
{
	static char text[256];
	int len = snprintf(text, sizeof text, "case %u: ", c->number);

	plan_text(&c->plan, text + len, sizeof text - (size_t)len);
	return text;
}

/* ---- Steps ---- */

/* Both may be of one case, whose other paths the compiler takes for the same memory. */
static void set_path(char *out, size_t room, const char *dir, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	snprintf(out, room, "%s", path);
}

/* false: the step cannot be done, in the directory or in the cache, where there is one. */
static bool step(
	struct one *c, enum step_kind kind, const char *path, const char *path2, struct step s)
{
	s.kind = kind;
	snprintf(s.path, sizeof s.path, "%s", path);
	snprintf(s.path2, sizeof s.path2, "%s", path2);
	if (plain_do(&now.plain, &s))
		return false;
	if (!now.mounted.cache)
		return true;
	enum err kind2 = mounted_do(&now.mounted, &s);

	if (kind2)
		snprintf(c->why, sizeof c->why, "%s: %s", step_text(&s), error_words(kind2));
	return !kind2;
}

static struct step contents(char byte, size_t len)
{
	return (struct step){ .byte = byte, .len = len };
}

static bool write_whole(
	struct one *c, enum step_kind opening, const char *path, char byte, size_t len)
{
	bool is_open = step(c, opening, path, "", (struct step){ 0 });
	bool is_empty = is_open &&
		(opening == STEP_CREATE || step(c, STEP_EMPTY, path, "", (struct step){ 0 }));
	bool is_written = is_empty && step(c, STEP_WRITE, path, "", contents(byte, len));

	return is_open && step(c, STEP_CLOSE, path, "", (struct step){ 0 }) && is_written;
}

static bool append(struct one *c, const char *path, char byte)
{
	bool is_open = step(c, STEP_OPEN, path, "", (struct step){ 0 });
	bool is_written = is_open && step(c, STEP_APPEND, path, "", contents(byte, 3));

	return is_open && step(c, STEP_CLOSE, path, "", (struct step){ 0 }) && is_written;
}

static bool save(struct one *c, const char *path, char byte)
{
	char temporary[80];

	snprintf(temporary, sizeof temporary, "%s.t", path);
	return write_whole(c, STEP_CREATE, temporary, byte, 5) &&
		step(c, STEP_RENAME, temporary, path, (struct step){ 0 });
}

static void new_path(struct one *c, char out[64], unsigned dir, char letter)
{
	char name[8];

	snprintf(name, sizeof name, "%c%u", letter, c->names++);
	set_path(out, 64, c->dirs[dir], name);
}

static bool is_there(const char *path)
{
	return plain_mode(&now.plain, path) != 0;
}

static bool move_dir(struct one *c, unsigned which)
{
	char to[32];

	snprintf(to, sizeof to, "%s/%c%u", c->top, which ? 'e' : 'd', ++c->names);
	if (!step(c, STEP_RENAME, c->dirs[which], to, (struct step){ 0 }))
		return false;
	for (unsigned n = 0; n < NAMES; n++) {
		char moved[64];
		size_t len = strlen(c->dirs[which]);

		if (strncmp(c->paths[n], c->dirs[which], len) || c->paths[n][len] != '/')
			continue;
		snprintf(moved, sizeof moved, "%.16s%.40s", to, c->paths[n] + len);
		memcpy(c->paths[n], moved, sizeof moved);
	}
	memcpy(c->dirs[which], to, sizeof to);
	return true;
}

/* Takes the step from the name to a new one in the other directory. */
static bool give_name(struct one *c, enum step_kind kind, unsigned name, char letter)
{
	bool is_in_first = !strncmp(c->paths[name], c->dirs[0], strlen(c->dirs[0]));
	char path[64];

	new_path(c, path, is_in_first, letter);
	if (!step(c, kind, c->paths[name], path, (struct step){ 0 }))
		return false;
	if (kind != STEP_COPY)
		memcpy(c->paths[name], path, sizeof path);
	return true;
}

static bool lose_link(struct one *c, unsigned name, const char *other)
{
	char path[64];

	new_path(c, path, name == A, 'k');
	return is_there(other) && step(c, STEP_LINK, c->paths[name], path, (struct step){ 0 }) &&
		(!now.mounted.cache || !cache_sync(now.mounted.cache, now.mounted.call, NULL)) &&
		step(c, STEP_RENAME, other, path, (struct step){ 0 });
}

/* rename(2) of one name of a file to another name of it moves neither. */
static bool is_same_file(const char *path, const char *path2)
{
	struct stat st, st2;

	return !fstatat(now.plain.dir, path, &st, 0) && !fstatat(now.plain.dir, path2, &st2, 0) &&
		st.st_ino == st2.st_ino;
}

static bool rename_over(struct one *c, const char *path, const char *path2, uint32_t flags)
{
	return is_there(path2) && !is_same_file(path, path2) &&
		step(c, STEP_RENAME, path, path2, (struct step){ .flags = flags });
}

static bool do_deed(struct one *c, enum deed deed, unsigned name, char byte)
{
	const char *path = c->paths[name], *other = c->paths[name == B ? A : B];

	switch (deed) {
	case APPENDS: return append(c, path, byte);
	case OVERWRITES: return is_there(path) && write_whole(c, STEP_OPEN, path, byte, 6);
	case CUTS: return step(c, STEP_CUT, path, "", (struct step){ .number = 2 });
	case SETS_MODE: return step(c, STEP_CHMOD, path, "", (struct step){ .number = 0600 });
	case SETS_TIMES: return step(c, STEP_TIMES, path, "", (struct step){ .number = 1000 });
	case SAVES: return is_there(path) && save(c, path, byte);
	case REMOVES: return step(c, STEP_UNLINK, path, "", (struct step){ 0 });
	case MAKES: return !is_there(path) && write_whole(c, STEP_CREATE, path, byte, 4);
	case MOVES: return give_name(c, STEP_RENAME, name, 'm');
	case MOVES_OVER: return rename_over(c, path, other, 0);
	case EXCHANGES: return rename_over(c, path, other, CHANGE_EXCHANGE);
	case LINKS: return give_name(c, STEP_LINK, name, 'l');
	case COPIES: return give_name(c, STEP_COPY, name, 'c');
	case COPIES_OVER:
		return is_there(other) && !is_same_file(path, other) &&
			step(c, STEP_COPY_OVER, path, other, (struct step){ 0 });
	case MOVES_DIR: return move_dir(c, name != A);
	case LOSES_LINK: return now.ending == KEEPS_UP && lose_link(c, name, other);
	case IS_REPLACED: return rename_over(c, other, path, 0);
	default: return true;
	}
}

/* ---- The files that exist ---- */

static bool is_ours(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		strcmp(entry->d_name, ".staging");
}

static void describe(int top, const char *path, struct buf *out)
{
	struct dirent **entries;
	int count = scandirat(top, *path ? path : ".", &entries, NULL, alphasort);

	for (int n = 0; n < count; n++) {
		char below[300];
		struct stat st;
		size_t len;

		snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", entries[n]->d_name);
		bool counts = is_ours(entries[n]) && !fstatat(top, below, &st, AT_SYMLINK_NOFOLLOW);

		free(entries[n]);
		if (!counts)
			continue;
		if (S_ISDIR(st.st_mode)) {
			buf_printf(out, "%s/\n", below);
			describe(top, below, out);
			continue;
		}
		AUTO_FREE char *text = plain_text(top, below, &len);

		buf_printf(out, "%s %o %u =%s\n", below, st.st_mode & 07777, (unsigned)st.st_nlink,
			text);
	}
	free(entries);
}

static void remove_all(int top)
{
	struct dirent **entries;
	int count = scandirat(top, ".", &entries, NULL, NULL);

	for (int n = 0; n < count; n++) {
		if (is_ours(entries[n])) {
			AUTO_CLOSE int fd = openat(top, entries[n]->d_name, O_RDONLY | O_DIRECTORY);

			if (fd >= 0)
				remove_all(fd);
			unlinkat(top, entries[n]->d_name, fd >= 0 ? AT_REMOVEDIR : 0);
		}
		free(entries[n]);
	}
	free(entries);
}

/* ---- The cases of a mount ---- */

static void make_files(const struct scratch *s, const struct one *c)
{
	static const char *const texts[FILES] = { "aaaaaaaaaa", "bbbbbbbbbbbb" };

	scratch_mkdir(s, c->top, 0755);
	for (unsigned n = 0; n < FILES; n++) {
		scratch_mkdir(s, c->dirs[n], 0755);
		scratch_write_text(s, c->paths[n], texts[n]);
	}
	if (c->plan.has_two_names)
		cr_assert(eq(int, linkat(s->fd, c->paths[A], s->fd, c->paths[A2], 0), 0));
}

/* All cases that are added before a run() have one ending. */
static void add(const struct plan *plan, unsigned number)
{
	struct one *c = &now.cases[now.count];

	*c = (struct one){ .plan = *plan, .number = number };
	snprintf(c->top, sizeof c->top, "%zu", now.count);
	for (unsigned n = 0; n < FILES; n++)
		snprintf(c->dirs[n], sizeof c->dirs[n], "%zu/%c", now.count, "de"[n]);
	set_path(c->paths[A], sizeof c->paths[A], c->dirs[0], "a");
	set_path(c->paths[B], sizeof c->paths[B], c->dirs[1], "b");
	set_path(c->paths[A2], sizeof c->paths[A2], c->dirs[1], "z");
	now.ending = plan->ending;
	now.count++;
}

static bool may_decide(const char *path)
{
	struct tree_entry *entries;
	struct error e = { 0 };
	struct inode *dir;
	size_t count;
	bool may;

	cr_assert(eq(int, mounted_find(&now.mounted, path, &dir), ERR_OK));
	cr_assert(eq(int, cache_entries(now.far.cache, NULL, dir, &entries, &count, &e), ERR_OK));
	cache_entries_free(now.far.cache, entries, count);
	may = tree_may_decide(now.far.cache->tree, dir, monotonic_ms());
	mounted_forget(&now.mounted, dir);
	return may;
}

static void await_deciding(const char *path)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	while (!may_decide(path)) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing may be decided");
		usleep(200);
	}
}

static void know_file(const char *path)
{
	struct inode *i;
	struct attr attr;

	cr_assert(eq(int, mounted_find(&now.mounted, path, &i), ERR_OK));
	cr_assert(eq(int, mounted_attr(&now.mounted, i, &attr), ERR_OK));
	mounted_forget(&now.mounted, i);
}

static void know(const struct one *c)
{
	await_deciding(c->top);
	await_deciding(c->dirs[0]);
	await_deciding(c->dirs[1]);
	for (unsigned n = 0; n < (c->plan.has_two_names ? NAMES : FILES); n++)
		know_file(c->paths[n]);
}

static void set_gather_ms(int64_t ms)
{
	distant_gather_for(&now.far, ms);
	now.far.cache->writeback->pause_ms = 1;
}

static void begin(void)
{
	for (size_t n = 0; n < now.count; n++) {
		make_files(&now.far.scratch, &now.cases[n]);
		make_files(&now.scratch, &now.cases[n]);
	}
	plain_init(&now.plain, now.scratch.fd);
	distant_remount(&now.far, NULL);
	now.mounted = (struct mounted){ .cache = now.far.cache };
	await_deciding("");
	for (size_t n = 0; n < now.count; n++)
		know(&now.cases[n]);
	set_gather_ms(AN_HOUR_MS);
}

static void try_in_vain(void)
{
	if (!now.far.cache->writeback->changes)
		return;
	set_gather_ms(0);
	distant_await_applies(&now.far, now.applies + 1);
}

static void rewrite(const struct one *c)
{
	static const char *const files[FILES] = { "d/a", "e/b" };
	char path[64];

	if (c->plan.rewritten == FILES || now.ending == KEEPS_UP)
		return;
	set_path(path, sizeof path, c->top, files[c->plan.rewritten]);
	scratch_write_text(&now.far.scratch, path, THEIRS);
}

static void take_steps(struct one *c)
{
	c->was_done = true;
	for (unsigned n = 0; n < STEPS && c->was_done; n++)
		c->was_done =
			do_deed(c, (enum deed)c->plan.deeds[n], c->plan.names[n], (char)('1' + n));
}

static void take_all_steps(void)
{
	static const struct call brief = { .progress_ms = 1 };

	now.far.is_cut = now.ending != KEEPS_UP;
	now.applies = distant_applies(&now.far);
	now.mounted.call = now.far.is_cut ? &brief : NULL;
	for (size_t n = 0; n < now.count; n++)
		take_steps(&now.cases[n]);
	now.mounted.call = NULL;
}

/* The next mount sends what is pending, and does not learn what became of it. */
static void send_in_vain(void)
{
	unsigned before = distant_applies(&now.far);

	now.far.lose_answers = true;
	distant_remount_at_once(&now.far, NULL);
	if (now.far.cache->writeback->changes)
		distant_await_applies(&now.far, before + 1);
	distant_await_over(&now.far);
	distant_break_off(&now.far);
	now.far.lose_answers = false;
}

static void kill_and_return(void)
{
	distant_break_off(&now.far);
	now.far.is_cut = false;
	if (now.ending == KILLED_TWICE)
		send_in_vain();
	distant_remount(&now.far, NULL);
	now.mounted = (struct mounted){ .cache = now.far.cache };
	now.far.cache->writeback->pause_ms = 1;
}

static void break_off(void)
{
	if (now.ending == FAILS_TO_SEND || now.ending == KILLED_LATE)
		try_in_vain();
	for (size_t n = 0; n < now.count; n++)
		rewrite(&now.cases[n]);
	if (now.ending >= KILLED)
		kill_and_return();
	now.far.is_cut = false;
}

static bool has_contents(const struct buf *all, const char *contents)
{
	char line[300];

	snprintf(line, sizeof line, "=%s\n", contents);
	return strstr(buf_text(all), line) != NULL;
}

/* Whether all contents of ours are there, but those that others wrote over. */
static bool has_ours(const struct one *c, const struct buf *all, const struct buf *mine)
{
	AUTO_FREE char *own = strdup(buf_text(mine));
	char *rest = own;

	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *text = strchr(line, '=');
		bool is_theirs = text && text[1] == "ab"[c->plan.rewritten];

		if (text && !is_theirs && !has_contents(all, text + 1))
			return false;
	}
	return true;
}

static bool has_failed(const struct one *c)
{
	static struct cache_failed_change failed[TOGETHER_MAX * 4 * STEPS];
	size_t len = strlen(c->top);
	size_t count =
		writeback_failed(now.far.cache->writeback, failed, sizeof failed / sizeof *failed);

	for (size_t n = 0; n < count; n++)
		if (!strncmp(failed[n].path, c->top, len) && failed[n].path[len] == '/')
			return true;
	return false;
}

/* NULL: everything is as expected. */
static const char *find_fault(const struct one *c)
{
	AUTO_BUF struct buf mine = BUF_INIT(65536), sandbox = BUF_INIT(65536);
	bool is_refused = distant_failed(&now.far) && has_failed(c);

	describe(now.plain.dir, c->top, &mine);
	describe(now.far.scratch.fd, c->top, &sandbox);
	bool keeps_both = strstr(buf_text(&sandbox), ".sandboxfs-conflict") != NULL;
	bool is_same = !strcmp(buf_text(&mine), buf_text(&sandbox));

	if (getenv("SANDBOXFS_CASE"))
		fprintf(stderr, "%s\nmine:\n%s\nsandbox:\n%sparked %d\n", one_text(c),
			buf_text(&mine), buf_text(&sandbox), is_refused);
	if (c->plan.rewritten < FILES)
		return !has_contents(&sandbox, THEIRS)                 ? "theirs is lost"
			: !is_refused && !has_ours(c, &sandbox, &mine) ? "ours is lost in silence"
								       : NULL;
	if (is_refused || keeps_both)
		return "a conflict with nobody";
	return is_same ? NULL : "the sandbox has something else";
}

static void end(void)
{
	for (unsigned n = 0; n <= TWIN_HANDLES; n++)
		if (now.mounted.handles[n])
			cache_close(now.far.cache, now.mounted.handles[n]);
	plain_release(&now.plain);
	distant_break_off(&now.far);
	remove_all(now.far.scratch.fd);
	remove_all(now.scratch.fd);
	remove_all(now.far.journal.fd);
	now.count = 0;
}

static void expect_sound(const struct one *c, const struct error *e)
{
	const char *fault = c->was_done ? find_fault(c) : c->why;

	cr_expect(eq(ptr, (void *)fault, NULL), "%s: %s: %s", one_text(c), fault, e->text);
}

/* Runs the cases that were added. */
static void run(void)
{
	struct error e = { 0 };

	if (!now.count)
		return;
	begin();
	take_all_steps();
	break_off();
	/* The error is a refusal. */
	cache_sync(now.far.cache, NULL, &e);
	for (size_t n = 0; n < now.count; n++)
		expect_sound(&now.cases[n], &e);
	now.far.is_cut = false;
	end();
}

static void start(void)
{
	distant_start_watched(&now.far);
	distant_keep_journal(&now.far);
	scratch_make(&now.scratch);
}

static void stop(void)
{
	distant_stop(&now.far);
	scratch_remove(&now.scratch);
}

TestSuite(three_steps, .timeout = 7200);

/* ---- Some of them ---- */

static void expect_all_sound(const struct plan *plans, size_t count)
{
	start();
	for (size_t n = 0; n < count; n++) {
		add(&plans[n], 0);
		run();
	}
	stop();
}

#define OF_A                   .ending = KILLED_LATE, .rewritten = 0
#define OF_NONE                .ending = KILLED_LATE, .rewritten = FILES
#define OF_A_WITH_TWO_NAMES    OF_A, .has_two_names = true
#define OF_NONE_WITH_TWO_NAMES OF_NONE, .has_two_names = true
#define EXPECT_SOUND(plans)    expect_all_sound(plans, sizeof(plans) / sizeof *(plans))

Test(three_steps, a_file_in_a_directory_that_was_moved_is_held_against_what_was_there)
{
	static const struct plan plans[] = {
		{ { APPENDS, MOVES_DIR, SAVES }, OF_A },
		{ { APPENDS, MOVES_DIR, OVERWRITES }, OF_A },
		{ { APPENDS, MOVES_DIR, CUTS }, OF_A },
		{ { APPENDS, MOVES_DIR, REMOVES }, OF_A },
		{ { SETS_MODE, MOVES_DIR, SAVES }, OF_A },
		{ { SETS_MODE, MOVES_DIR, OVERWRITES }, OF_A },
		{ { SETS_MODE, MOVES_DIR, CUTS }, OF_A },
		{ { SETS_MODE, MOVES_DIR, REMOVES }, OF_A },
		{ { SETS_TIMES, MOVES_DIR, SAVES }, OF_A },
		{ { SETS_TIMES, MOVES_DIR, REMOVES }, OF_A },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, what_is_done_to_a_file_in_a_directory_that_was_moved_is_done)
{
	static const struct plan plans[] = {
		{ { APPENDS, MOVES_DIR, SAVES }, OF_NONE },
		{ { APPENDS, MOVES_DIR, APPENDS }, OF_NONE },
		{ { APPENDS, MOVES_DIR, REMOVES }, OF_NONE },
		{ { SETS_MODE, MOVES_DIR, OVERWRITES }, OF_NONE },
		{ { SETS_MODE, MOVES_DIR, CUTS }, OF_NONE },
		{ { SETS_TIMES, MOVES_DIR, SAVES }, OF_NONE },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_that_changed_places_is_held_against_what_was_there)
{
	static const struct plan plans[] = {
		{ { EXCHANGES, MOVES_OVER, SAVES }, { 0, 1, 0 }, OF_A },
		{ { EXCHANGES, SAVES, APPENDS }, { 0, 1, 1 }, .ending = KILLED_LATE,
			.rewritten = 1 },
		{ { SAVES, MOVES_DIR, REMOVES }, OF_A },
		{ { SAVES, SETS_MODE, OVERWRITES }, OF_A },
		{ { SAVES, MOVES_OVER, LINKS }, { 0, 1, 0 }, .ending = FAILS_TO_SEND },
		{ { MOVES_DIR, SETS_TIMES, SAVES }, .ending = FAILS_TO_SEND },
		{ { SAVES, EXCHANGES, CUTS }, { 0, 1, 1 }, .ending = FAILS_TO_SEND,
			.rewritten = 1 },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_that_left_a_directory_that_was_moved_is_held_against_what_was_there)
{
	static const struct plan plans[] = {
		{ { SAVES, MOVES_DIR, MOVES, REMOVES }, OF_A },
		{ { SAVES, MOVES_DIR, MOVES, REMOVES }, .ending = KILLED, .rewritten = 0 },
		{ { SAVES, MOVES_DIR, MOVES, REMOVES }, .ending = FAILS_TO_SEND, .rewritten = 0 },
		{ { SAVES, MOVES_DIR, MOVES_OVER, SAVES }, { A, A, A, B }, OF_A },
		{ { SAVES, MOVES_DIR, MOVES_OVER, SAVES }, { A, A, A, B }, .ending = KILLED,
			.rewritten = 0 },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_that_moved_before_a_kill_without_an_answer_is_the_file_that_was_moved)
{
	static const struct plan plans[] = {
		{ { MOVES, MOVES_DIR, APPENDS }, .ending = KILLED_TWICE, .rewritten = FILES },
		{ { MOVES, MOVES_DIR, OVERWRITES }, .ending = KILLED_TWICE, .rewritten = FILES },
		{ { MOVES, MOVES_DIR, APPENDS }, { A, B, A }, .ending = KILLED_TWICE,
			.rewritten = FILES },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_that_changed_places_before_a_kill_without_an_answer_is_that_file)
{
	static const struct plan plans[] = {
		{ { EXCHANGES, APPENDS, SETS_MODE }, .ending = KILLED_TWICE, .rewritten = FILES },
		{ { EXCHANGES, MOVES_DIR, APPENDS }, .ending = KILLED_TWICE, .rewritten = FILES },
		{ { COPIES, EXCHANGES, OVERWRITES }, .ending = KILLED_TWICE, .rewritten = FILES },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_that_others_wrote_and_that_moved_twice_before_a_kill_is_theirs)
{
	static const struct plan plans[] = {
		{ { IS_REPLACED, MOVES, OVERWRITES }, .ending = KILLED_TWICE, .rewritten = 1 },
		{ { LINKS, MOVES_OVER, CUTS }, { A, A, B }, .ending = KILLED_TWICE,
			.rewritten = 0 },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_of_which_a_copy_is_pending_is_held_against_what_was_copied)
{
	static const struct plan plans[] = {
		{ { COPIES, APPENDS, CUTS }, OF_A },
		{ { COPIES, SAVES, NOTHING }, OF_A },
		{ { COPIES, REMOVES, NOTHING }, OF_A },
		{ { COPIES, SAVES, NOTHING }, .ending = FAILS_TO_SEND },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, a_file_with_two_names_is_held_against_what_was_there_by_either)
{
	static const struct plan plans[] = {
		{ { SAVES, APPENDS, NOTHING }, { A, A2 }, OF_A_WITH_TWO_NAMES },
		{ { MOVES_DIR, SAVES, APPENDS }, { A, A, A2 }, OF_A_WITH_TWO_NAMES },
		{ { APPENDS, MOVES, CUTS }, { A, A2, A }, OF_A_WITH_TWO_NAMES },
		{ { REMOVES, APPENDS, OVERWRITES }, { A, A2, A2 }, OF_A_WITH_TWO_NAMES },
		{ { IS_REPLACED, SAVES, OVERWRITES }, { A, A, A2 }, OF_A_WITH_TWO_NAMES },
		{ { REMOVES, MOVES, OVERWRITES }, { A, A2, A2 }, .ending = FAILS_TO_SEND,
			.rewritten = 0, .has_two_names = true },
		{ { SETS_TIMES, SAVES, APPENDS }, { A, A2, A }, OF_A_WITH_TWO_NAMES },
		{ { SETS_MODE, EXCHANGES, APPENDS }, { A, A2, A }, OF_A_WITH_TWO_NAMES },
		{ { SETS_MODE, EXCHANGES, APPENDS }, { A, A2, A }, .ending = KILLED, .rewritten = 0,
			.has_two_names = true },
		{ { SETS_TIMES, EXCHANGES, CUTS }, { A, A2, A }, .ending = KILLED, .rewritten = 0,
			.has_two_names = true },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, what_is_done_to_a_file_by_either_of_two_names_is_done)
{
	static const struct plan plans[] = {
		{ { EXCHANGES, REMOVES, OVERWRITES }, { A, A2, A }, OF_NONE_WITH_TWO_NAMES },
		{ { EXCHANGES, SAVES, SETS_TIMES }, { A, A2, A2 }, OF_NONE_WITH_TWO_NAMES },
		{ { IS_REPLACED, SAVES, REMOVES }, { A, A, A2 }, OF_NONE_WITH_TWO_NAMES },
		{ { SAVES, APPENDS, CUTS }, { A, A2, A2 }, OF_NONE_WITH_TWO_NAMES },
	};

	EXPECT_SOUND(plans);
}

Test(three_steps, what_left_before_a_conflict_is_done_though_the_conflict_leaves_again)
{
	static const struct plan plans[] = {
		{ { MOVES, SAVES, APPENDS }, { 0, 1, 0 }, .ending = KILLED_LATE, .rewritten = 1 },
	};

	EXPECT_SOUND(plans);
}

/* No other writer changes the files. */
Test(three_steps, a_copy_along_with_any_pending_change_is_no_conflict)
{
	start();
	for (unsigned n = 0; n < DEEDS * FILES * 2; n++) {
		unsigned deed = APPENDS + n / FILES % DEEDS;
		bool is_first = n / FILES / DEEDS;
		const struct plan plan = {
			.deeds = { is_first ? COPIES : deed, is_first ? deed : COPIES, NOTHING },
			.names = { is_first ? 0 : n % FILES, is_first ? n % FILES : 0 },
			.ending = KEEPS_UP,
			.rewritten = FILES,
		};

		if (plan_can_be_done(&plan))
			add(&plan, n);
		if (now.count == TOGETHER)
			run();
	}
	run();
	stop();
}

/* ---- Which plans are cases ---- */

static bool is_as_made(const char *path, const char *text)
{
	AUTO_FREE char *is = is_there(path) ? scratch_read(&now.scratch, path, NULL) : NULL;

	return is && !strcmp(is, text);
}

/* The steps are done in the directory alone. */
static void expect_foreseen(unsigned sequence)
{
	const struct plan plan = plan_of(sequence * FATES);
	struct one *c = &now.cases[0];

	add(&plan, sequence * FATES);
	make_files(&now.scratch, c);
	take_steps(c);
	cr_expect(eq(int, c->was_done, plan_can_be_done(&plan)), "%s", one_text(c));
	cr_expect(
		plan_concerns(&plan, B) || is_as_made("0/e/b", "bbbbbbbbbbbb"), "%s", one_text(c));
	remove_all(now.scratch.fd);
	now.count = 0;
}

Test(three_steps, a_directory_takes_the_steps_of_cases_and_no_others)
{
	unsigned stride = from_environment("SANDBOXFS_CASES_STRIDE", FORESEEN_STRIDE);

	scratch_make(&now.scratch);
	plain_init(&now.plain, now.scratch.fd);
	for (unsigned n = 0; n < SEQUENCES; n++)
		if (plan_is_chosen(n * FATES, stride))
			expect_foreseen(n);
	scratch_remove(&now.scratch);
}

/* tests/README.md says how many cases there are. */
Test(three_steps, the_cases_are_counted)
{
	unsigned count = 0;

	for (unsigned n = 0; n < PLANS; n++) {
		const struct plan plan = plan_of(n);

		count += plan_is_case(&plan);
	}
	cr_expect(eq(u32, count, CASES));
}

/* ---- All cases ---- */

/* The number of tests that share the cases. They run in parallel: they wait more than they work. */
#define SHARES 8

/* Returns the number of cases. */
static unsigned run_some(unsigned share, enum ending ending)
{
	unsigned stride = from_environment("SANDBOXFS_CASES_STRIDE", STRIDE);
	unsigned together = from_environment("SANDBOXFS_CASES_TOGETHER", TOGETHER);
	unsigned count = 0;

	for (unsigned n = 0; n < PLANS; n++) {
		if (n / FATES % SHARES != share || !plan_is_chosen(n, stride))
			continue;
		const struct plan plan = plan_of(n);

		if (plan.ending != ending || !plan_is_case(&plan))
			continue;
		add(&plan, n);
		count++;
		if (now.count >= together)
			run();
	}
	run();
	return count;
}

static void run_share(unsigned share)
{
	unsigned count = 0;

	start();
	for (unsigned ending = 0; ending < ENDINGS; ending++)
		count += run_some(share, (enum ending)ending);
	stop();
	cr_log_info("%u cases", count);
}

#define SHARE(n)                                                                                   \
	Test(three_steps, nothing_is_lost_nor_overwritten_in_silence_##n)                          \
	{                                                                                          \
		run_share(n);                                                                      \
	}

SHARE(0)
SHARE(1)
SHARE(2)
SHARE(3)
SHARE(4)
SHARE(5)
SHARE(6)
SHARE(7)

Test(three_steps, the_case_of_the_environment_is_sound)
{
	unsigned times = from_environment("SANDBOXFS_CASE_TIMES", 1);
	unsigned number = from_environment("SANDBOXFS_CASE", 0);
	const struct plan plan = plan_of(number);

	start();
	for (unsigned n = 0; n < times; n++) {
		add(&plan, number);
		run();
	}
	stop();
}
