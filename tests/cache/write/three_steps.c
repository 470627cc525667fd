/*
 * Every three steps on two files in two directories, or on the two names of one file: with or
 * without a kill behind them, and with or without a rewrite of one of the files by another writer
 * before they are sent. Contents that others wrote stay, whole. Without others the sandbox has what
 * a plain directory has in which the same was done. A change that is not applied is reported.
 *
 * SANDBOXFS_CASES_STRIDE in the environment: every so many of the cases are run, 1: all; from
 * SANDBOXFS_CASES_FROM on, and below SANDBOXFS_CASES_BELOW. SANDBOXFS_CASE: the one that is run by
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
#define STEPS       3
#define FILES       2
#define NAMES       3
#define THEIRS      "<THEIRS, and longer than anything of ours>"

/* The first file, the second, and the other name of the first where it has two. */
enum { A, B, A2 };

/* The deeds: each is done by one of the names, perhaps with another one. */
enum deed {
	APPENDS,
	OVERWRITES,
	CUTS,
	SETS_MODE,
	SETS_TIMES,
	SAVES, /* as editors do: a new file replaces the old one */
	REMOVES,
	MAKES, /* the file was removed before */
	MOVES, /* to the other directory */
	MOVES_OVER,
	EXCHANGES,
	LINKS, /* the later steps use the new name */
	COPIES,
	COPIES_OVER, /* the other one, as cp does */
	MOVES_DIR,
	/* a new second name, which the sandbox has by then, is given to the other file */
	LOSES_LINK,
	IS_REPLACED, /* the other file takes the name, also of a file that had two names before */
	DEEDS,
	NOTHING = DEEDS,
};

static const char *const deed_names[DEEDS + 1] = { "append", "overwrite", "cut", "chmod", "touch",
	"save", "unlink", "make", "move", "move over", "exchange", "link", "copy", "copy over",
	"mv dir", "lose link", "be replaced", "nothing" };

enum ending {
	KEEPS_UP,      /* the sandbox answers all the time */
	FAILS_TO_SEND, /* one attempt is in vain, then the sandbox answers again */
	KILLED,        /* before anything has left */
	KILLED_LATE,   /* behind an attempt in vain */
	ENDINGS,
};

static const char *const ending_names[ENDINGS] = { "connected", "outage", "kill",
	"outage and kill" };

struct plan {
	unsigned deeds[STEPS], names[STEPS];
	enum ending ending;
	unsigned rewritten; /* the file that others write meanwhile; FILES: none */
	bool has_two_names; /* the first file, from the beginning */
};

static struct {
	struct distant far;
	struct scratch scratch;
	struct plain plain;
	struct mounted mounted;
	struct plan plan;
	char paths[NAMES][64], dirs[FILES][32];
	unsigned names; /* given so far */
	unsigned number;
	char why[256];
} now;

static const char *plan_text(void)
{
	static char text[256];
	const struct plan *plan = &now.plan;
	static const char *const names[NAMES] = { "A", "B", "A2" };
	int len = snprintf(text, sizeof text, "case %u: ", now.number);

	for (unsigned n = 0; n < STEPS; n++)
		len += snprintf(text + len, sizeof text - (size_t)len, "%s %s; ",
			deed_names[plan->deeds[n]], names[plan->names[n]]);
	snprintf(text + len, sizeof text - (size_t)len, "%s%s%s", ending_names[plan->ending],
		plan->rewritten < FILES ? ", others rewrite " : "",
		plan->rewritten == FILES  ? ""
			: plan->rewritten ? "B"
					  : "A");
	return text;
}

/* ---- Steps ---- */

static void set_path(char *out, size_t room, const char *dir, const char *name)
{
	snprintf(out, room, "%s/%s", dir, name);
}

/* false: the step cannot be done, in the directory or in the cache. */
static bool step(enum step_kind kind, const char *path, const char *path2, struct step s)
{
	s.kind = kind;
	snprintf(s.path, sizeof s.path, "%s", path);
	snprintf(s.path2, sizeof s.path2, "%s", path2);
	if (plain_do(&now.plain, &s))
		return false;
	enum err kind2 = mounted_do(&now.mounted, &s);

	if (kind2)
		snprintf(now.why, sizeof now.why, "%s: %s", step_text(&s), error_words(kind2));
	return !kind2;
}

static struct step contents(char byte, size_t len)
{
	return (struct step){ .byte = byte, .len = len };
}

static bool write_whole(enum step_kind opening, const char *path, char byte, size_t len)
{
	bool is_open = step(opening, path, "", (struct step){ 0 });
	bool is_empty = is_open &&
		(opening == STEP_CREATE || step(STEP_EMPTY, path, "", (struct step){ 0 }));
	bool is_written = is_empty && step(STEP_WRITE, path, "", contents(byte, len));

	return is_open && step(STEP_CLOSE, path, "", (struct step){ 0 }) && is_written;
}

static bool append(const char *path, char byte)
{
	bool is_open = step(STEP_OPEN, path, "", (struct step){ 0 });
	bool is_written = is_open && step(STEP_APPEND, path, "", contents(byte, 3));

	return is_open && step(STEP_CLOSE, path, "", (struct step){ 0 }) && is_written;
}

static bool save(const char *path, char byte)
{
	char temporary[80];

	snprintf(temporary, sizeof temporary, "%s.t", path);
	return write_whole(STEP_CREATE, temporary, byte, 5) &&
		step(STEP_RENAME, temporary, path, (struct step){ 0 });
}

static void new_path(char out[64], unsigned dir, char letter)
{
	char name[8];

	snprintf(name, sizeof name, "%c%u", letter, now.names++);
	set_path(out, 64, now.dirs[dir], name);
}

static bool is_there(const char *path)
{
	return plain_mode(&now.plain, path) != 0;
}

static bool move_dir(unsigned which)
{
	char to[32];

	snprintf(to, sizeof to, "%c%u", which ? 'e' : 'd', ++now.names);
	if (!step(STEP_RENAME, now.dirs[which], to, (struct step){ 0 }))
		return false;
	for (unsigned n = 0; n < NAMES; n++) {
		char moved[64];
		size_t len = strlen(now.dirs[which]);

		if (strncmp(now.paths[n], now.dirs[which], len) || now.paths[n][len] != '/')
			continue;
		snprintf(moved, sizeof moved, "%.16s%.40s", to, now.paths[n] + len);
		memcpy(now.paths[n], moved, sizeof moved);
	}
	memcpy(now.dirs[which], to, sizeof to);
	return true;
}

/* Takes the step from the name to a new one in the other directory. */
static bool give_name(enum step_kind kind, unsigned name, char letter)
{
	bool is_in_first = !strncmp(now.paths[name], now.dirs[0], strlen(now.dirs[0]));
	char path[64];

	new_path(path, is_in_first, letter);
	if (!step(kind, now.paths[name], path, (struct step){ 0 }))
		return false;
	if (kind != STEP_COPY)
		memcpy(now.paths[name], path, sizeof path);
	return true;
}

static bool lose_link(unsigned name, const char *other)
{
	char path[64];

	new_path(path, name == A, 'k');
	return is_there(other) && step(STEP_LINK, now.paths[name], path, (struct step){ 0 }) &&
		!cache_sync(now.far.cache, now.mounted.call, NULL) &&
		step(STEP_RENAME, other, path, (struct step){ 0 });
}

/* rename(2) of one name of a file to another name of it moves neither. */
static bool is_same_file(const char *path, const char *path2)
{
	struct stat st, st2;

	return !fstatat(now.plain.dir, path, &st, 0) && !fstatat(now.plain.dir, path2, &st2, 0) &&
		st.st_ino == st2.st_ino;
}

static bool rename_over(const char *path, const char *path2, uint32_t flags)
{
	return is_there(path2) && !is_same_file(path, path2) &&
		step(STEP_RENAME, path, path2, (struct step){ .flags = flags });
}

static bool do_deed(enum deed deed, unsigned name, char byte)
{
	const char *path = now.paths[name], *other = now.paths[name == B ? A : B];

	switch (deed) {
	case APPENDS: return append(path, byte);
	case OVERWRITES: return is_there(path) && write_whole(STEP_OPEN, path, byte, 6);
	case CUTS: return step(STEP_CUT, path, "", (struct step){ .number = 2 });
	case SETS_MODE: return step(STEP_CHMOD, path, "", (struct step){ .number = 0600 });
	case SETS_TIMES: return step(STEP_TIMES, path, "", (struct step){ .number = 1000 });
	case SAVES: return is_there(path) && save(path, byte);
	case REMOVES: return step(STEP_UNLINK, path, "", (struct step){ 0 });
	case MAKES: return !is_there(path) && write_whole(STEP_CREATE, path, byte, 4);
	case MOVES: return give_name(STEP_RENAME, name, 'm');
	case MOVES_OVER: return rename_over(path, other, 0);
	case EXCHANGES: return rename_over(path, other, CHANGE_EXCHANGE);
	case LINKS: return give_name(STEP_LINK, name, 'l');
	case COPIES: return give_name(STEP_COPY, name, 'c');
	case COPIES_OVER:
		return is_there(other) && !is_same_file(path, other) &&
			step(STEP_COPY_OVER, path, other, (struct step){ 0 });
	case MOVES_DIR: return move_dir(name != A);
	case LOSES_LINK: return now.plan.ending == KEEPS_UP && lose_link(name, other);
	case IS_REPLACED: return rename_over(other, path, 0);
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

/* ---- One case ---- */

static void make_files(const struct scratch *s, bool has_two_names)
{
	scratch_mkdir(s, "d", 0755);
	scratch_mkdir(s, "e", 0755);
	scratch_write_text(s, "d/a", "aaaaaaaaaa");
	scratch_write_text(s, "e/b", "bbbbbbbbbbbb");
	if (has_two_names)
		cr_assert(eq(int, linkat(s->fd, "d/a", s->fd, "e/z", 0), 0));
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

static void know_file(const char *path)
{
	struct inode *i;
	struct attr attr;

	cr_assert(eq(int, mounted_find(&now.mounted, path, &i), ERR_OK));
	cr_assert(eq(int, mounted_attr(&now.mounted, i, &attr), ERR_OK));
	mounted_forget(&now.mounted, i);
}

static void set_gather_ms(int64_t ms)
{
	distant_gather_for(&now.far, ms);
	now.far.cache->writeback->pause_ms = 1;
}

static void begin(const struct plan *plan)
{
	int64_t end_ms = monotonic_ms() + PATIENCE_MS;

	now.plan = *plan;
	now.names = 0;
	now.why[0] = 0;
	set_path(now.paths[0], sizeof now.paths[0], "d", "a");
	set_path(now.paths[1], sizeof now.paths[1], "e", "b");
	set_path(now.paths[2], sizeof now.paths[2], "e", "z");
	memcpy(now.dirs[0], "d", 2);
	memcpy(now.dirs[1], "e", 2);
	make_files(&now.far.scratch, plan->has_two_names);
	make_files(&now.scratch, plan->has_two_names);
	plain_init(&now.plain, now.scratch.fd);
	distant_remount(&now.far, NULL);
	now.mounted = (struct mounted){ .cache = now.far.cache };
	while (!may_decide("") || !may_decide("d") || !may_decide("e")) {
		cr_assert(lt(i64, monotonic_ms(), end_ms), "nothing may be decided");
		usleep(200);
	}
	know_file("d/a");
	know_file("e/b");
	if (plan->has_two_names)
		know_file("e/z");
	set_gather_ms(AN_HOUR_MS);
}

static void try_in_vain(void)
{
	unsigned before = distant_applies(&now.far);

	if (!now.far.cache->writeback->changes)
		return;
	set_gather_ms(0);
	distant_await_applies(&now.far, before + 1);
}

static void rewrite(void)
{
	static const char *const files[FILES] = { "d/a", "e/b" };

	if (now.plan.rewritten < FILES && now.plan.ending != KEEPS_UP)
		scratch_write_text(&now.far.scratch, files[now.plan.rewritten], THEIRS);
}

static bool take_steps(void)
{
	static const struct call brief = { .progress_ms = 1 };
	bool is_done = true;

	now.far.is_cut = now.plan.ending != KEEPS_UP;
	now.mounted.call = now.far.is_cut ? &brief : NULL;
	for (unsigned n = 0; n < STEPS && is_done; n++)
		is_done = do_deed((enum deed)now.plan.deeds[n], now.plan.names[n], (char)('1' + n));
	now.mounted.call = NULL;
	return is_done;
}

static void break_off(void)
{
	bool was_tried = now.plan.ending == FAILS_TO_SEND || now.plan.ending == KILLED_LATE;

	if (was_tried)
		try_in_vain();
	rewrite();
	if (now.plan.ending == KILLED || now.plan.ending == KILLED_LATE) {
		distant_break_off(&now.far);
		now.far.is_cut = false;
		distant_remount(&now.far, NULL);
		now.mounted = (struct mounted){ .cache = now.far.cache };
		now.far.cache->writeback->pause_ms = 1;
	}
	now.far.is_cut = false;
}

static bool has_contents(const struct buf *all, const char *contents)
{
	char line[300];

	snprintf(line, sizeof line, "=%s\n", contents);
	return strstr(buf_text(all), line) != NULL;
}

/* Whether all contents of ours are there, but those that others wrote over. */
static bool has_ours(const struct buf *all, const struct buf *mine)
{
	AUTO_FREE char *own = strdup(buf_text(mine));
	char *rest = own;

	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *text = strchr(line, '=');
		bool is_theirs = text && text[1] == "ab"[now.plan.rewritten];

		if (text && !is_theirs && !has_contents(all, text + 1))
			return false;
	}
	return true;
}

/* NULL: everything is as expected. */
static const char *find_fault(void)
{
	AUTO_BUF struct buf mine = BUF_INIT(65536), sandbox = BUF_INIT(65536);
	bool has_failed = distant_failed(&now.far) > 0;

	describe(now.plain.dir, "", &mine);
	describe(now.far.scratch.fd, "", &sandbox);
	bool keeps_both = strstr(buf_text(&sandbox), ".sandboxfs-conflict") != NULL;
	bool is_same = !strcmp(buf_text(&mine), buf_text(&sandbox));

	if (getenv("SANDBOXFS_CASE"))
		fprintf(stderr, "%s\nmine:\n%s\nsandbox:\n%sparked %d\n", plan_text(),
			buf_text(&mine), buf_text(&sandbox), has_failed);
	if (now.plan.rewritten < FILES)
		return !has_contents(&sandbox, THEIRS)              ? "theirs is lost"
			: !has_failed && !has_ours(&sandbox, &mine) ? "ours is lost in silence"
								    : NULL;
	if (has_failed || keeps_both)
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
}

/* true: no fault was found. *was_done: whether the steps could be done. */
static bool run_case(const struct plan *plan, bool *was_done)
{
	const char *fault = NULL;
	struct error e = { 0 };

	begin(plan);
	*was_done = take_steps();
	if (*was_done) {
		break_off();
		/* The error is a refusal. */
		cache_sync(now.far.cache, NULL, &e);
		fault = find_fault();
	}
	now.far.is_cut = false;
	end();
	if (fault)
		fprintf(stderr, "%s: %s: %s\n", plan_text(), fault, e.text);
	return !fault;
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

static void expect_sound(const struct plan *plans, size_t count)
{
	bool was_done;

	start();
	for (size_t n = 0; n < count; n++) {
		cr_expect(run_case(&plans[n], &was_done), "%s", plan_text());
		cr_expect(was_done, "%s: %s", plan_text(), now.why);
	}
	stop();
}

#define OF_A                   .ending = KILLED_LATE, .rewritten = 0
#define OF_NONE                .ending = KILLED_LATE, .rewritten = FILES
#define OF_A_WITH_TWO_NAMES    OF_A, .has_two_names = true
#define OF_NONE_WITH_TWO_NAMES OF_NONE, .has_two_names = true
#define EXPECT_SOUND(plans)    expect_sound(plans, sizeof(plans) / sizeof *(plans))

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
	bool was_done;

	start();
	for (unsigned n = 0; n < DEEDS * FILES * 2; n++) {
		unsigned deed = n / FILES % DEEDS;
		bool is_first = n / FILES / DEEDS;
		const struct plan plan = {
			.deeds = { is_first ? COPIES : deed, is_first ? deed : COPIES, NOTHING },
			.names = { is_first ? 0 : n % FILES, is_first ? n % FILES : 0 },
			.ending = KEEPS_UP,
			.rewritten = FILES,
		};

		cr_expect(run_case(&plan, &was_done), "%s", plan_text());
	}
	stop();
}

/* ---- All cases ---- */

/*
 * The first step is by the first name: two files are alike, and so are two names of one file. The
 * second and the third are by either name.
 */
#define DEEDS_ALL (DEEDS * 2)
/* While the sandbox answers, each change leaves before others could write the file. */
#define FATES (1 + (ENDINGS - 1) * (FILES + 1))
#define CASES (2 * DEEDS * DEEDS_ALL * DEEDS_ALL * FATES)

static unsigned take_digit(unsigned *rest, unsigned below)
{
	unsigned taken = *rest % below;

	*rest /= below;
	return taken;
}

static struct plan plan_of(unsigned number)
{
	unsigned fate = take_digit(&number, FATES);
	struct plan plan = { .ending = KEEPS_UP, .rewritten = FILES };

	if (fate) {
		plan.ending = (enum ending)(1 + (fate - 1) % (ENDINGS - 1));
		plan.rewritten = (fate - 1) / (ENDINGS - 1);
	}
	plan.deeds[0] = take_digit(&number, DEEDS);
	for (unsigned n = 1; n < STEPS; n++) {
		plan.deeds[n] = take_digit(&number, DEEDS);
		plan.names[n] = take_digit(&number, 2);
	}
	plan.has_two_names = number;
	for (unsigned n = 0; n < STEPS; n++)
		plan.names[n] *= plan.has_two_names ? A2 : B;
	return plan;
}

/* The number of tests that share the cases. They run in parallel: they wait more than they work. */
#define SHARES 8
/* Prime: some cases of every kind. */
#define STRIDE 397

static unsigned from_environment(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void run_share(unsigned share)
{
	unsigned stride = from_environment("SANDBOXFS_CASES_STRIDE", STRIDE);
	unsigned from = from_environment("SANDBOXFS_CASES_FROM", 0);
	unsigned below = from_environment("SANDBOXFS_CASES_BELOW", CASES);
	unsigned done = 0;
	bool was_done;

	start();
	for (unsigned n = from + share * stride; n < below; n += SHARES * stride) {
		const struct plan plan = plan_of(n);

		now.number = n;
		cr_expect(run_case(&plan, &was_done), "%s", plan_text());
		done += was_done;
	}
	stop();
	fprintf(stderr, "%u cases of those below %u\n", done, below);
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
	bool was_done;

	now.number = from_environment("SANDBOXFS_CASE", 0);
	const struct plan plan = plan_of(now.number);

	start();
	for (unsigned n = 0; n < times; n++)
		cr_expect(run_case(&plan, &was_done), "%s", plan_text());
	stop();
}
