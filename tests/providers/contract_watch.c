#include "providers/base/cleanup.h"
#include "tests/providers/contract.h"
#include "tests/support/changes.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

/* The time within which a change must be reported; later counts as missed. */
#define SEEN_MS 60000

struct seen {
	enum watch_kind kind;
	bool has_attr;
	char path[300];
	struct attr attr;
};

/* A watch in its own thread, and its events so far. */
struct watcher {
	struct subject *s;
	struct watch_request request;
	struct cancel cancel;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct seen seen[4096]; /* under lock */
	size_t count;           /* under lock */
	bool lists;             /* under lock; from WATCH_READY */
	bool has_ended;         /* under lock */
	enum err end;           /* under lock */
	struct error why;       /* under lock */
};

/* The end of a list, as a name: no file can be called "/". */
#define END_OF_LIST "/"

static const char *path_of(const struct watch_event *event)
{
	if (event->kind != WATCH_ITEM)
		return event->path;
	if (event->item->kind == LIST_END)
		return END_OF_LIST;
	return event->item->name ? event->item->name : "";
}

static enum err take_event(void *context, const struct watch_event *event, struct error *e)
{
	struct watcher *w = context;

	(void)e;
	pthread_mutex_lock(&w->lock);
	if (w->count < 4096) {
		struct seen *new = &w->seen[w->count++];

		*new = (struct seen){ event->kind, event->has_attr, "", event->attr };
		snprintf(new->path, sizeof new->path, "%s", path_of(event));
		w->lists |= event->lists;
	}
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return ERR_OK;
}

static void *watch(void *context)
{
	struct watcher *w = context;
	struct call call = { .cancel = &w->cancel };
	struct error why = { 0 };
	enum err end = provider_watch(w->s->p, &call, &w->request, take_event, w, &why);

	pthread_mutex_lock(&w->lock);
	w->has_ended = true;
	w->end = end;
	w->why = why;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static bool has_seen_locked(const struct watcher *w, enum watch_kind kind, const char *path)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->seen[i].kind == kind && !strcmp(w->seen[i].path, path))
			return true;
	return false;
}

static bool is_below(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return !strncmp(path, directory, len) && path[len] == '/';
}

/*
 * Whether the name was reported as created, or its directory as lost, so that a listener lists it.
 */
static bool has_come_locked(const struct watcher *w, enum watch_kind kind, const char *path)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->seen[i].kind == WATCH_LOST && is_below(path, w->seen[i].path))
			return true;
	return has_seen_locked(w, kind, path);
}

typedef bool (*claim)(const struct watcher *w, enum watch_kind kind, const char *path);

static bool is_soon(struct watcher *w, claim is_so_locked, enum watch_kind kind, const char *path)
{
	struct timespec end;
	bool is_so, late = false;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += SEEN_MS / 1000;
	pthread_mutex_lock(&w->lock);
	while (!(is_so = is_so_locked(w, kind, path)) && !w->has_ended && !late)
		late = pthread_cond_timedwait(&w->changed, &w->lock, &end) != 0;
	pthread_mutex_unlock(&w->lock);
	return is_so;
}

static bool is_seen_soon(struct watcher *w, enum watch_kind kind, const char *path)
{
	return is_soon(w, has_seen_locked, kind, path);
}

static struct watcher *start(struct subject *s, const struct list_request *first)
{
	struct watcher *w = calloc(1, sizeof *w);

	cr_assert(w != NULL);
	w->s = s;
	w->request.first = first;
	cr_assert(eq(int, cancel_init(&w->cancel, NULL), ERR_OK));
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
	cr_assert(pthread_create(&w->thread, NULL, watch, w) == 0);
	return w;
}

static struct attr attr_seen(struct watcher *w, enum watch_kind kind, const char *path)
{
	struct attr attr = { 0 };

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->count; i++)
		if (w->seen[i].kind == kind && w->seen[i].has_attr &&
			!strcmp(w->seen[i].path, path))
			attr = w->seen[i].attr;
	pthread_mutex_unlock(&w->lock);
	return attr;
}

/* NULL where the subject has no stream: its error is checked here. */
static struct watcher *start_watch_of(struct subject *s, const struct list_request *first)
{
	struct watcher *w = start(s, first);

	if (s->lacks & LACKS_WATCH) {
		pthread_join(w->thread, NULL);
		cr_assert(eq(int, w->end, ERR_UNSUPPORTED), "%s", w->why.text);
		cr_assert(strstr(w->why.text, "helper") != NULL, "%s", w->why.text);
		cancel_release(&w->cancel);
		free(w);
		return NULL;
	}
	cr_assert(is_seen_soon(w, WATCH_READY, ""), "not ready: %s", w->why.text);
	cr_expect(eq(int, (int)w->seen[0].kind, WATCH_READY), "something before it was ready");
	return w;
}

static struct watcher *start_watch(struct subject *s)
{
	return start_watch_of(s, NULL);
}

static void expect_end(struct watcher *w, enum err end)
{
	pthread_join(w->thread, NULL);
	cr_expect(eq(int, w->end, end), "%s", w->why.text);
	cr_expect(not(has_seen_locked(w, WATCH_LOST, "")));
	cancel_release(&w->cancel);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->changed);
	free(w);
}

static void stop_watch(struct watcher *w)
{
	cancel_throw(&w->cancel);
	expect_end(w, ERR_INTERRUPTED);
}

BEHAVIOUR(watch, reports_what_others_do)
{
	struct watcher *w;

	outside_write_text(s, "there", "x");
	w = start_watch(s);
	if (!w)
		return;
	outside_write_text(s, "new", "x");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "new"));
	outside_write_text(s, "there", "longer");
	cr_expect(is_seen_soon(w, WATCH_CHANGED, "there"));
	outside_chmod(s, "there", 0600);
	cr_expect(is_seen_soon(w, WATCH_ATTR, "there"));
	outside_unlink(s, "new");
	cr_expect(is_seen_soon(w, WATCH_REMOVED, "new"));
	outside_rename(s, "there", "moved");
	cr_expect(is_seen_soon(w, WATCH_REMOVED, "there"));
	cr_expect(is_seen_soon(w, WATCH_CREATED, "moved"));
	stop_watch(w);
}

BEHAVIOUR(watch, tells_the_attributes_of_what_is_there)
{
	struct watcher *w;
	struct attr reported, now;

	outside_write_text(s, "f", "x");
	w = start_watch(s);
	if (!w)
		return;
	outside_chmod(s, "f", 0600);
	cr_expect(is_seen_soon(w, WATCH_ATTR, "f"));
	reported = attr_seen(w, WATCH_ATTR, "f");
	now = outside_attr(s, "f");
	cr_expect(reported.dev == now.dev && reported.ino == now.ino && reported.size == 1);
	cr_expect(eq(u32, reported.mode, now.mode));
	cr_expect(eq(long, reported.ctime.tv_sec, now.ctime.tv_sec));
	cr_expect(eq(long, reported.ctime.tv_nsec, now.ctime.tv_nsec));
	cr_expect(eq(long, reported.mtime.tv_sec, now.mtime.tv_sec));
	cr_expect(eq(long, reported.mtime.tv_nsec, now.mtime.tv_nsec));
	stop_watch(w);
}

BEHAVIOUR(watch, lists_first_what_is_asked_for)
{
	static const char *const starts[] = { "" };
	static const struct list_request first = {
		.starts = starts, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};
	struct watcher *w;

	outside_mkdir(s, "d", 0755);
	outside_write_text(s, "d/there", "x");
	w = start_watch_of(s, &first);
	if (!w)
		return;
	cr_assert(w->lists);
	cr_expect(is_seen_soon(w, WATCH_ITEM, END_OF_LIST));
	cr_expect(is_seen_soon(w, WATCH_ITEM, "there"));
	cr_expect(eq(int, (int)w->seen[1].kind, WATCH_ITEM));
	outside_write_text(s, "d/new", "x");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "d/new"));
	stop_watch(w);
}

BEHAVIOUR(watch, covers_new_directories)
{
	struct watcher *w = start_watch(s);

	if (!w)
		return;
	AUTO_RAN struct ran r =
		run(s, "mkdir -p a/b/c && echo x >a/b/c/f && mkdir a/z && echo y >a/z/g");

	cr_assert(eq(int, r.result.exit_code, 0));
	cr_expect(is_seen_soon(w, WATCH_CREATED, "a"));
	cr_expect(is_seen_soon(w, WATCH_CREATED, "a/b"));
	cr_expect(is_seen_soon(w, WATCH_CREATED, "a/b/c"));
	cr_expect(is_soon(w, has_come_locked, WATCH_CREATED, "a/b/c/f"));
	cr_expect(is_soon(w, has_come_locked, WATCH_CREATED, "a/z/g"));
	outside_write_text(s, "a/b/c/later", "x");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "a/b/c/later"));
	stop_watch(w);
}

BEHAVIOUR(watch, follows_a_directory_that_is_renamed)
{
	struct watcher *w;

	outside_mkdir(s, "d", 0755);
	outside_mkdir(s, "d/e", 0755);
	w = start_watch(s);
	if (!w)
		return;
	outside_rename(s, "d", "new");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "new"));
	outside_write_text(s, "new/e/f", "x");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "new/e/f"));
	stop_watch(w);
}

BEHAVIOUR(watch, names_may_hold_any_byte)
{
	static const char *const names[] = { "\n", "a\nb", "-rf", " ", "\xff\xfe" };
	struct watcher *w = start_watch(s);

	if (!w)
		return;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		outside_write_text(s, names[i], "x");
		cr_expect(is_seen_soon(w, WATCH_CREATED, names[i]), "name %zu", i);
	}
	stop_watch(w);
}

static bool has_named(struct watcher *w, const char *part)
{
	bool has = false;

	pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->count; i++)
		has |= strstr(w->seen[i].path, part) != NULL;
	pthread_mutex_unlock(&w->lock);
	return has;
}

BEHAVIOUR(watch, says_nothing_of_staging)
{
	struct change changes[] = {
		CHANGE_ROW(CREATE, "/t", .mode = 0600),
		CHANGE_ROW(WRITE, "/t", TEXT("one")),
		CHANGE_ROW(PLACE, "/t", .path2 = "placed"),
	};
	struct change_result results[3];
	struct watcher *w = start_watch(s);

	if (!w)
		return;
	apply_all(s, changes, 3, results);
	cr_expect(is_seen_soon(w, WATCH_CREATED, "placed"));
	outside_write_text(s, "last", "x");
	cr_expect(is_seen_soon(w, WATCH_CREATED, "last"));
	cr_expect(not(has_named(w, "sandboxfs")));
	stop_watch(w);
}

/* Whether a helper watches this sandbox, by its arguments. */
static bool is_listened_for(struct subject *s)
{
	char command[sizeof s->root + 200];

	snprintf(command, sizeof command,
		"for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$p; echo; done 2>/dev/null | "
		"grep -q -e '[-]t 3600 .*%s '",
		s->root);
	AUTO_RAN struct ran r = run(s, command);

	return r.result.exit_code == 0;
}

BEHAVIOUR(watch, leaves_no_program_behind)
{
	struct watcher *w = start_watch(s);
	int64_t end_ms;

	if (!w)
		return;
	stop_watch(w);
	end_ms = monotonic_ms() + SEEN_MS;
	while (is_listened_for(s))
		cr_assert(monotonic_ms() < end_ms, "it listens still");
}

BEHAVIOUR(watch, other_calls_go_on_meanwhile)
{
	struct watcher *w = start_watch(s);

	if (!w)
		return;
	for (int i = 0; i < 20; i++) {
		char name[16];
		struct change change = CHANGE(MKDIR, name, .mode = 0755);

		snprintf(name, sizeof name, "d%d", i);
		cr_expect(eq(int, apply_one(s, change).err, ERR_OK));
		AUTO_LISTED struct listed l = list_one(s, name, 1);

		cr_expect(eq(ulong, listed_count(&l, LIST_DIR), 1));

		cr_expect(is_seen_soon(w, WATCH_CREATED, name), "%s", name);
	}
	stop_watch(w);
}
