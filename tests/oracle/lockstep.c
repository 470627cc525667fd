#include "tests/oracle/lockstep.h"
#include "tests/oracle/tree.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * ---- Files that a call may change: its paths, the directories they are in, its descriptors ----
 */

enum { POINT_PATH, POINT_PARENT, POINT_PATH2, POINT_PARENT2, POINT_SLOT, POINT_SLOT2, POINTS };

struct point {
	const char *name;
	bool there;
	struct stat st;
};

struct watch {
	struct point points[POINTS];
};

/* The directory part of a path: "a/b/" is in "a", "a" in ".". */
static void parent_path(const char *path, char *out)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	if (!len) {
		strcpy(out, ".");
		return;
	}
	memcpy(out, path, len);
	out[len] = '\0';
}

static void look_at_path(
	struct side *s, const struct where *w, struct point *self, struct point *parent)
{
	static char directory[sizeof w->path];
	int dir = w->base == BASE_SLOT ? s->slot[w->slot] : s->root;

	self->there = !fstatat(dir, w->path, &self->st, AT_SYMLINK_NOFOLLOW);
	parent_path(w->path, directory);
	parent->there = !fstatat(dir, directory, &parent->st, 0);
}

static void look(struct side *s, const struct call *c, struct watch *w)
{
	static const char *const names[POINTS] = { "path", "its directory", "second path",
		"its directory", "descriptor", "second descriptor" };

	*w = (struct watch){ 0 };
	for (int i = 0; i < POINTS; i++)
		w->points[i].name = names[i];
	if (c->op->uses & USES_PATH)
		look_at_path(s, &c->at[0], &w->points[POINT_PATH], &w->points[POINT_PARENT]);
	if (c->op->uses & USES_PATH2)
		look_at_path(s, &c->at[1], &w->points[POINT_PATH2], &w->points[POINT_PARENT2]);
	if (c->op->uses & USES_SLOT)
		w->points[POINT_SLOT].there =
			!fstat(s->slot[c->slot[0]], &w->points[POINT_SLOT].st);
	if (c->op->uses & USES_SLOT2)
		w->points[POINT_SLOT2].there =
			!fstat(s->slot[c->slot[1]], &w->points[POINT_SLOT2].st);
}

static int compare_times(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

static char moved(const struct timespec *before, const struct timespec *after)
{
	return "-=+"[compare_times(after, before) + 1];
}

/*
 * Whether a read must or must not move the access time: where relatime compares that with a moment
 * ago, either is right.
 */
static bool is_far(const struct timespec *t)
{
	time_t away = time(NULL) - t->tv_sec;

	return away > 86400 || away < -86400;
}

/* Which times moved, and which way. */
static void describe_moves(const struct lockstep *l, const struct point *before,
	const struct point *after, struct text *out)
{
	const struct stat *was = &before->st, *is = &after->st;

	text_add(out, "    mtime%c ctime%c", moved(&was->st_mtim, &is->st_mtim),
		moved(&was->st_ctim, &is->st_ctim));
	if (l->rules.atime && is_far(&was->st_atim))
		text_add(out, " atime%c", moved(&was->st_atim, &is->st_atim));
	text_add(out, "\n");
}

static void describe_point(const struct lockstep *l, bool with_atime, const struct point *before,
	const struct point *after, struct text *out)
{
	struct stat_rules rules = l->rules;

	if (!before->there && !after->there)
		return;
	text_add(out, "%s ", after->name);
	if (!after->there) {
		text_add(out, "gone\n");
		return;
	}
	rules.atime |= with_atime;
	text_add_stat(out, &after->st, &rules);
	if (S_ISFIFO(after->st.st_mode))
		return;
	if (before->there && before->st.st_ino == after->st.st_ino)
		describe_moves(l, before, after, out);
	else
		text_add(out, "    %s\n", before->there ? "another than before" : "new");
}

/*
 * Whether the call set the access time of this point, which then is comparable whatever the rules.
 */
static bool says_atime(const struct call *c, bool done, int point, const struct stat *after)
{
	return done && c->op->uses & SETS_ATIME && c->times[0].tv_nsec != UTIME_OMIT &&
		(point == POINT_PATH || point == POINT_SLOT) && !S_ISLNK(after->st_mode);
}

static void describe_watch(const struct lockstep *l, const struct call *c, bool done,
	const struct watch *before, const struct watch *after, struct text *out)
{
	for (int i = 0; i < POINTS; i++)
		describe_point(l, says_atime(c, done, i, &after->points[i].st), &before->points[i],
			&after->points[i], out);
}

/* ---- Sabotage: differences made on purpose, to show that they are found ---- */

static bool sabotage_due(const struct lockstep *l, const struct call *c, enum sabotage kind)
{
	return l->sabotage == kind && c->step >= l->sabotage_step;
}

static bool sabotage_drops(struct lockstep *l, const struct call *c, const struct outcome *b)
{
	return sabotage_due(l, c, SABOTAGE_DROP) && b->ret > 0 && !strcmp(c->op->name, "pwrite");
}

static bool change_a_byte(struct side *s)
{
	for (int i = 0; i < SLOTS; i++) {
		struct stat st;
		char byte;

		if (fstat(s->slot[i], &st) || !S_ISREG(st.st_mode) || !st.st_nlink ||
			(fcntl(s->slot[i], F_GETFL) & (O_ACCMODE | O_PATH | O_APPEND)) != O_RDWR ||
			pread(s->slot[i], &byte, 1, 0) != 1)
			continue;
		byte ^= 1;
		return pwrite(s->slot[i], &byte, 1, 0) == 1;
	}
	return false;
}

static void sabotage_after(struct lockstep *l, const struct call *c, struct outcome *a)
{
	if (sabotage_due(l, c, SABOTAGE_RESULT))
		a->ret++;
	if (sabotage_due(l, c, SABOTAGE_CONTENT) && change_a_byte(&l->a))
		l->sabotage = SABOTAGE_NONE;
}

/* ---- One step ---- */

/* Waits for a tick, so that a time set now differs from one set before. */
static void wait_for_tick(void)
{
	struct timespec before, now;

	clock_gettime(CLOCK_REALTIME_COARSE, &before);
	do
		clock_gettime(CLOCK_REALTIME_COARSE, &now);
	while (!compare_times(&before, &now));
}

static void run_call(struct side *s, const struct call *c, struct outcome *o)
{
	text_clear(&o->facts);
	o->ret = 0;
	o->err = 0;
	become(c->user);
	c->op->run(s, c, o);
	become(0);
}

static void count_call(struct lockstep *l, const struct call *c, const struct outcome *o)
{
	for (size_t i = 0; i < l->trace.ops_count; i++)
		if (l->trace.ops[i] == c->op) {
			l->done[i]++;
			l->failed[i] += o->ret < 0;
		}
	l->steps_done++;
}

static void report_outcomes(struct lockstep *l, const struct outcome *a, const struct outcome *b)
{
	const struct outcome *const both[] = { a, b };

	for (int i = 0; i < 2; i++) {
		text_add(&l->difference, "  %c: %ld", "AB"[i], both[i] -> ret);
		if (both[i]->err)
			text_add(&l->difference, " %s", strerrorname_np(both[i]->err));
		text_add(&l->difference, "\n");
	}
	if (a->facts.len || b->facts.len)
		text_first_difference(&a->facts, &b->facts, &l->difference);
}

static void sync_where(const struct side *s, const struct where *w)
{
	static char directory[sizeof w->path];
	int dir = w->base == BASE_SLOT ? s->slot[w->slot] : s->root;

	side_sync_path(dir, w->path);
	parent_path(w->path, directory);
	side_sync_path(dir, directory);
}

static void sync_side(const struct side *s, const struct call *c)
{
	side_sync(s);
	if (c->op->uses & USES_PATH)
		sync_where(s, &c->at[0]);
	if (c->op->uses & USES_PATH2)
		sync_where(s, &c->at[1]);
}

/* Syncs the files that the call may change, on both sides: a close gives up locks. */
static void sync_changed(struct lockstep *l, const struct call *c)
{
	if (!l->changes_follow)
		return;
	sync_side(&l->a, c);
	sync_side(&l->b, c);
}

/* Syncs everything on the mount. */
static void sync_all(struct lockstep *l)
{
	if (!behind_sync(&l->writer))
		exit(2);
}

/* Whether the second writer makes this call: then nothing is open. */
static bool goes_behind(struct lockstep *l, const struct call *c)
{
	if (!behind_takes(&l->writer, c))
		return false;
	side_close_slots(&l->a);
	side_close_slots(&l->b);
	sync_all(l);
	return true;
}

/* true: both sides did the same. */
static bool step(struct lockstep *l, const struct call *c)
{
	static struct outcome a, b;
	static struct watch before_a, before_b, after_a, after_b;
	bool is_behind = goes_behind(l, c);
	bool look_closer = is_behind || (l->times_every && c->step % l->times_every == 0);

	if (look_closer) {
		sync_changed(l, c);
		look(&l->a, c, &before_a);
		look(&l->b, c, &before_b);
		if (l->times_are_coarse)
			wait_for_tick();
	}
	run_call(is_behind ? &l->writer.b : &l->b, c, &b);
	if (!sabotage_drops(l, c, &b)) {
		run_call(is_behind ? &l->writer.a : &l->a, c, &a);
	} else {
		l->sabotage = SABOTAGE_NONE;
		a.ret = b.ret;
		a.err = b.err;
		text_clear(&a.facts);
		text_add(&a.facts, "%s", b.facts.bytes ? b.facts.bytes : "");
	}
	if (is_behind && !behind_drain(&l->writer))
		exit(2);
	if (look_closer) {
		/*
		 * After a call of the second writer A has read directories, to check what it knows.
		 */
		bool says_times = b.ret >= 0 && !is_behind;

		look(&l->a, c, &after_a);
		look(&l->b, c, &after_b);
		describe_watch(l, c, says_times, &before_a, &after_a, &a.facts);
		describe_watch(l, c, says_times, &before_b, &after_b, &b.facts);
	}
	sabotage_after(l, c, &a);
	count_call(l, c, &b);
	if (outcome_equal(&a, &b))
		return true;
	report_outcomes(l, &a, &b);
	return false;
}

static bool compare_trees(
	struct lockstep *l, int a, const struct stat_rules *rules, const char *what)
{
	static struct text tree_a, tree_b;

	tree_describe(a, rules, &tree_a);
	tree_describe(l->b.top, rules, &tree_b);
	if (tree_a.len == tree_b.len &&
		(!tree_a.len || !memcmp(tree_a.bytes, tree_b.bytes, tree_a.len)))
		return true;
	text_add(&l->difference, "  the whole trees differ%s:\n", what);
	text_first_difference(&tree_a, &tree_b, &l->difference);
	return false;
}

/*
 * From behind, a file that is open without a name may still have one, elsewhere: links are not
 * counted there.
 */
static bool compare_all(struct lockstep *l)
{
	struct stat_rules behind = l->rules;

	behind.nlink = false;
	if (!compare_trees(l, l->a.top, &l->rules, ""))
		return false;
	sync_all(l);
	if (l->changes_follow && !compare_trees(l, l->a.top, &l->rules, " (once A has it all)"))
		return false;
	return l->behind < 0 || compare_trees(l, l->behind, &behind, " (A seen from behind)");
}

static bool is_left_out(const struct lockstep *l, const struct call *c)
{
	if (l->dropped && l->dropped[c->step])
		return true;
	for (size_t i = 0; i < l->without_count; i++)
		if (l->without[i] == c->op)
			return true;
	return false;
}

static atomic_ulong step_now;

static bool run_steps(struct lockstep *l)
{
	static struct call c;

	for (unsigned long n = l->first; n < l->first + l->count; n++) {
		bool last = n + 1 == l->first + l->count;

		l->failed_step = n;
		atomic_store(&step_now, n + 1);
		trace_call(&l->trace, n, &c);
		if (!is_left_out(l, &c) && !step(l, &c))
			return false;
		if ((last || (l->tree_every && n % l->tree_every == 0)) && !compare_all(l))
			return false;
	}
	return true;
}

bool lockstep_run(struct lockstep *l)
{
	bool same;

	text_clear(&l->difference);
	umask(022);
	if (!side_begin(&l->a) || !side_begin(&l->b))
		exit(2);
	sync_all(l);
	if (l->writer.every && !behind_begin(&l->writer, l->behind_path, &l->b))
		exit(2);
	same = run_steps(l);
	if (l->writer.every)
		behind_end(&l->writer);
	side_clear(&l->a);
	side_clear(&l->b);
	umask(022);
	return same;
}

/* ---- Watching for calls that never return ---- */

struct guard {
	struct lockstep *l;
	unsigned seconds;
};

static void *guard_main(void *context)
{
	struct guard *g = context;
	unsigned long seen = 0, seen_met = 0;
	static struct call c;
	struct text words = { 0 };

	for (;;) {
		sleep(g->seconds);
		unsigned long now = atomic_load(&step_now), met = atomic_load(&tree_names_met);

		if (now == seen && met == seen_met && now) {
			trace_call(&g->l->trace, now - 1, &c);
			call_describe(&c, &words);
			fprintf(stderr, "seed %ju: a call has not returned for %u s: %s\n",
				(uintmax_t)g->l->trace.seed, g->seconds, words.bytes);
			_exit(3);
		}
		seen = now;
		seen_met = met;
	}
}

void lockstep_watch(struct lockstep *l, unsigned seconds)
{
	static struct guard guard;
	pthread_t thread;

	guard = (struct guard){ l, seconds };
	if (pthread_create(&thread, NULL, guard_main, &guard))
		perror("watchdog");
	else
		pthread_detach(thread);
}
