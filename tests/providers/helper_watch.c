#include "tests/support/shown.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/helper/sys.h"
#include "providers/helper/watch_table.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* How long an event may take to come. */
#define DEADLINE_S 60

static struct shown shown;

/*
 * A watch in a thread of its own, and its events: "+path", "-path", "~path" contents, "@path"
 * attributes, "?path" lost, "*path" found; "<path" before the new name of a file that was renamed
 * from there; of a list "[path", "=name" and "]" for its end.
 */
static struct watching {
	const struct root *root;
	const struct watch_request *request;
	pthread_t thread;
	struct cancel cancel;
	pthread_mutex_t mutex;
	pthread_cond_t received;
	struct buf log;   /* one event a line; under mutex */
	struct attr of_f; /* the attributes in the last event of "f"; under mutex */
	enum err result;
	bool is_over; /* under mutex */
	bool is_slow; /* does not read until `gate` opens; under mutex */
} watching = { .mutex = PTHREAD_MUTEX_INITIALIZER,
	.received = PTHREAD_COND_INITIALIZER,
	.log = BUF_INIT(64 << 20) };

static void log_item(struct buf *log, const struct list_item *item)
{
	if (item->kind == LIST_DIR)
		buf_printf(log, "[%s\n", item->path);
	if (item->kind == LIST_ENTRY)
		buf_printf(log, "=%s\n", item->name);
	if (item->kind == LIST_END)
		buf_add_string(log, "]\n");
}

static void log_event(struct buf *log, const struct watch_event *event)
{
	static const char marks[] = { [WATCH_READY] = '!',
		[WATCH_CREATED] = '+',
		[WATCH_CHANGED] = '~',
		[WATCH_ATTR] = '@',
		[WATCH_REMOVED] = '-',
		[WATCH_LOST] = '?',
		[WATCH_FOUND] = '*' };

	if (event->from)
		buf_printf(log, "<%s\n", event->from);
	if (event->kind == WATCH_ITEM)
		log_item(log, event->item);
	else
		buf_printf(
			log, "%c%s%s\n", marks[event->kind], event->path, event->is_dir ? "/" : "");
}

static enum err receive(void *context, const struct watch_event *event, struct error *e)
{
	struct watching *w = context;

	(void)e;
	pthread_mutex_lock(&w->mutex);
	log_event(&w->log, event);
	if (event->has_attr && !strcmp(event->path, "f"))
		w->of_f = event->attr;
	pthread_cond_broadcast(&w->received);
	while (w->is_slow)
		pthread_cond_wait(&w->received, &w->mutex);
	pthread_mutex_unlock(&w->mutex);
	return ERR_OK;
}

static void *watch(void *context)
{
	struct watching *w = context;
	const struct call call = { .progress_ms = 1, .cancel = &w->cancel };
	enum err k = helper_watch(w->root, &call, w->request, receive, w, NULL);

	pthread_mutex_lock(&w->mutex);
	w->result = k;
	w->is_over = true;
	pthread_cond_broadcast(&w->received);
	pthread_mutex_unlock(&w->mutex);
	return NULL;
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

static bool hears_in(struct watching *w, const char *line, int within_s)
{
	struct timespec end;
	bool received, in_time = true;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += within_s;
	pthread_mutex_lock(&w->mutex);
	while (!(received = has_line(buf_text(&w->log), line)) && in_time && !w->is_over)
		in_time = pthread_cond_timedwait(&w->received, &w->mutex, &end) == 0;
	pthread_mutex_unlock(&w->mutex);
	return received;
}

static bool hears(const char *line, int within_s)
{
	return hears_in(&watching, line, within_s);
}

#define expect_event(line)                                                                         \
	cr_assert(hears(line, DEADLINE_S), "no '%s' in:\n%s", line, buf_text(&watching.log))

static void forget_events(void)
{
	pthread_mutex_lock(&watching.mutex);
	buf_reset(&watching.log);
	buf_add_string(&watching.log, "");
	pthread_mutex_unlock(&watching.mutex);
}

static bool has_event(const char *line)
{
	bool received;

	pthread_mutex_lock(&watching.mutex);
	received = has_line(buf_text(&watching.log), line);
	pthread_mutex_unlock(&watching.mutex);
	return received;
}

/*
 * Events come in order: once this event is there, so are all before it. After an overflow the first
 * one may be lost as well.
 */
static void expect_all_events(void)
{
	bool received = false;

	for (int tries = 0; tries < DEADLINE_S && !received; tries++) {
		scratch_write_text(&shown.scratch, "tree/last", "");
		cr_assert(unlinkat(shown.scratch.fd, "tree/last", 0) == 0);
		received = hears("-last", 1);
	}
	cr_assert(received, "no '-last' in:\n%s", buf_text(&watching.log));
}

static void start_watch_of(const struct root *root, const struct list_request *first)
{
	static struct watch_request request;

	request.first = first;
	watching.root = root;
	watching.request = &request;
	cr_assert(eq(int, cancel_init(&watching.cancel, NULL), ERR_OK));
	cr_assert(pthread_create(&watching.thread, NULL, watch, &watching) == 0);
	expect_event("!/");
}

static void start_watch(const struct root *root)
{
	start_watch_of(root, NULL);
}

static enum err stop_watch(void)
{
	cancel_throw(&watching.cancel);
	pthread_join(watching.thread, NULL);
	cancel_release(&watching.cancel);
	return watching.result;
}

static void set_up(void)
{
	shown_make(&shown, false);
}

static void tear_down(void)
{
	buf_release(&watching.log);
	shown_remove(&shown);
}

TestSuite(helper_watch, .init = set_up, .fini = tear_down, .timeout = 300);

static void rename_in(const char *from, const char *to)
{
	cr_assert(
		renameat(shown.scratch.fd, from, shown.scratch.fd, to) == 0, "%s to %s", from, to);
}

Test(helper_watch, changes_of_links_and_directories_are_reported)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	start_watch(&shown.root);
	scratch_write_text(&shown.scratch, "tree/d/e/f", "text");
	expect_event("~d/e/f");
	rename_in("tree/d/e/f", "tree/g");
	expect_event("-d/e/f");
	expect_event("+g");
	cr_assert(symlinkat("x", shown.scratch.fd, "tree/l") == 0);
	expect_event("+l");
	cr_assert(fchmodat(shown.scratch.fd, "tree/d", 0700, 0) == 0);
	expect_event("@d/");
	cr_assert(unlinkat(shown.scratch.fd, "tree/d/e", AT_REMOVEDIR) == 0);
	expect_event("-d/e/");
	cr_assert(fchmodat(shown.scratch.fd, "tree", 0700, 0) == 0);
	expect_event("@/");
	cr_expect(eq(int, stop_watch(), ERR_INTERRUPTED));
}

Test(helper_watch, a_quiet_tree_is_no_stalled_call)
{
	/* The call's progress limit is 1 ms: more than that passes before the change. */
	int64_t begin = monotonic_ms();

	start_watch(&shown.root);
	while (monotonic_ms() < begin + 20)
		cr_assert(not(cancel_thrown(&watching.cancel)));
	scratch_write_text(&shown.scratch, "tree/f", "");
	expect_event("+f");
	cr_expect(eq(int, stop_watch(), ERR_INTERRUPTED));
}

Test(helper_watch, what_fills_a_new_directory_is_reported_too)
{
	start_watch(&shown.root);
	/* The directory is made aside and moved in: there is no event of its contents. */
	scratch_mkdir(&shown.scratch, "new", 0755);
	scratch_mkdir(&shown.scratch, "new/d", 0755);
	scratch_write_text(&shown.scratch, "new/d/f", "");
	rename_in("new", "tree/new");
	expect_event("+new/");
	expect_event("+new/d/");
	expect_event("+new/d/f");
	scratch_write_text(&shown.scratch, "tree/new/d/g", "");
	expect_event("+new/d/g");
	stop_watch();
}

Test(helper_watch, a_chain_made_at_once_is_covered_to_its_end)
{
	char path[256] = "tree", line[256];

	start_watch(&shown.root);
	for (int i = 0; i < 50; i++) {
		strcat(path, "/d");
		scratch_mkdir(&shown.scratch, path, 0755);
	}
	strcat(path, "/f");
	scratch_write_text(&shown.scratch, path, "");
	snprintf(line, sizeof line, "+%s", path + strlen("tree/"));
	expect_event(line);
	stop_watch();
}

Test(helper_watch, a_moved_directory_is_gone_there_and_new_here)
{
	scratch_mkdir(&shown.scratch, "tree/a", 0755);
	scratch_mkdir(&shown.scratch, "tree/ab", 0755);
	scratch_mkdir(&shown.scratch, "tree/a/d", 0755);
	scratch_write_text(&shown.scratch, "tree/a/d/f", "");
	start_watch(&shown.root);
	rename_in("tree/a", "tree/b");
	expect_event("-a/");
	expect_event("+b/");
	expect_event("+b/d/f");
	forget_events();
	scratch_write_text(&shown.scratch, "tree/b/d/f", "changed");
	expect_event("~b/d/f");
	cr_expect(not(has_event("~a/d/f")));
	/* The file is next to "a", not below it. */
	scratch_write_text(&shown.scratch, "tree/ab/g", "");
	expect_event("+ab/g");
	stop_watch();
}

Test(helper_watch, a_directory_moved_out_is_no_longer_watched)
{
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	start_watch(&shown.root);
	rename_in("tree/d", "outside/d");
	expect_event("-d/");
	scratch_write_text(&shown.scratch, "outside/d/e/f", "secret");
	expect_all_events();
	cr_expect(not(has_event("+d/e/f")));
	cr_expect(not(has_event("-d/e/f")));
	stop_watch();
}

Test(helper_watch, a_name_used_again_is_watched_again)
{
	start_watch(&shown.root);
	for (int i = 0; i < 50; i++) {
		scratch_mkdir(&shown.scratch, "tree/d", 0755);
		rename_in("tree/d", "tree/e");
		cr_assert(unlinkat(shown.scratch.fd, "tree/e", AT_REMOVEDIR) == 0);
	}
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	expect_all_events();
	scratch_write_text(&shown.scratch, "tree/d/f", "");
	expect_event("+d/f");
	stop_watch();
}

Test(helper_watch, links_lead_nowhere)
{
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	start_watch(&shown.root);
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/m") == 0);
	scratch_write_text(&shown.scratch, "outside/new", "");
	expect_all_events();
	cr_expect(has_event("+m"));
	cr_expect(not(has_event("+l/new")));
	cr_expect(not(has_event("+m/new")));
	stop_watch();
}

Test(helper_watch, staging_inside_the_tree_is_not_watched)
{
	char tree[128], staging[128];
	struct root inner;

	snprintf(tree, sizeof tree, "%s/tree", shown.scratch.path);
	snprintf(staging, sizeof staging, "%s/tree/hidden", shown.scratch.path);
	cr_assert(eq(int, root_open(&inner, tree, staging, NULL), ERR_OK));
	start_watch(&inner);
	scratch_write_text(&shown.scratch, "tree/hidden/t", "");
	expect_all_events();
	cr_expect(not(has_event("+hidden/t")));
	stop_watch();
	root_close(&inner);
}

static void rename_shown(const char *from, const char *to)
{
	cr_assert(renameat(shown.scratch.fd, from, shown.scratch.fd, to) == 0);
}

Test(helper_watch, a_rename_is_reported_with_both_names)
{
	scratch_write_text(&shown.scratch, "tree/old", "");
	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_mkdir(&shown.scratch, "tree/d/e", 0755);
	scratch_write_text(&shown.scratch, "outside/new", "");
	start_watch(&shown.root);
	rename_shown("tree/old", "tree/d/new");
	expect_event("-old\n<old\n+d/new");
	rename_shown("tree/d", "tree/moved");
	expect_event("-d/\n<d\n+moved/");
	/* A file from elsewhere has no other name. */
	rename_shown("outside/new", "tree/in");
	expect_event("+in");
	cr_expect(not(has_event("<d/new")));
	stop_watch();
}

/*
 * A file that is made before its directory's watch stands is not reported, but a later write to it
 * is.
 */
static void expect_watched(const char *path, const char *line)
{
	bool received = false;

	forget_events();
	for (int tries = 0; tries < DEADLINE_S && !received; tries++) {
		scratch_write_text(&shown.scratch, path, "text");
		received = hears(line, 1);
	}
	cr_assert(received, "no '%s' in:\n%s", line, buf_text(&watching.log));
}

/*
 * Another directory lies where the root was, or none: everything is reported as lost, once at once
 * and once when a root is back.
 */
Test(helper_watch, a_root_that_another_directory_replaces_is_watched)
{
	scratch_mkdir(&shown.scratch, "other", 0755);
	scratch_mkdir(&shown.scratch, "other/d", 0755);
	start_watch(&shown.root);
	rename_shown("tree", "was");
	expect_event("?/");
	scratch_write_text(&shown.scratch, "other/d/f", "");
	rename_shown("other", "tree");
	expect_watched("tree/d/f", "~d/f");
	forget_events();
	scratch_write_text(&shown.scratch, "was/f", "");
	expect_all_events();
	cr_expect(not(has_event("+f")));
	stop_watch();
}

Test(helper_watch, a_root_that_is_removed_and_made_again_is_watched)
{
	start_watch(&shown.root);
	cr_assert(unlinkat(shown.scratch.fd, "tree", AT_REMOVEDIR) == 0);
	expect_event("?/");
	scratch_mkdir(&shown.scratch, "tree", 0755);
	scratch_write_text(&shown.scratch, "tree/f", "");
	expect_watched("tree/f", "~f");
	stop_watch();
}

Test(helper_watch, a_directory_above_the_root_may_be_replaced)
{
	char tree[128];
	struct root inner;

	snprintf(tree, sizeof tree, "%s/outside/a/b", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "outside/a", 0755);
	scratch_mkdir(&shown.scratch, "outside/a/b", 0755);
	scratch_mkdir(&shown.scratch, "new", 0755);
	scratch_mkdir(&shown.scratch, "new/b", 0755);
	scratch_write_text(&shown.scratch, "new/b/f", "");
	cr_assert(eq(int, root_open(&inner, tree, NULL, NULL), ERR_OK));
	start_watch(&inner);
	rename_shown("outside/a", "old");
	expect_event("?/");
	rename_shown("new", "outside/a");
	expect_watched("outside/a/b/f", "~f");
	stop_watch();
	root_close(&inner);
}

/* The root has no directory above, like the root directory of a machine. */
Test(helper_watch, a_root_with_no_directory_above_is_watched)
{
	AUTO_CLOSE int tree = openat(shown.scratch.fd, "tree", O_PATH | O_CLOEXEC);
	struct root alone;

	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_assert(eq(int, root_open_below(&alone, tree, "", NULL, NULL), ERR_OK));
	start_watch(&alone);
	scratch_write_text(&shown.scratch, "tree/f", "text");
	expect_event("~f");
	stop_watch();
	root_close(&alone);
}

Test(helper_watch, a_root_that_is_missing_is_waited_for)
{
	char tree[128];
	struct root none;

	snprintf(tree, sizeof tree, "%s/none", shown.scratch.path);
	cr_assert(eq(int, root_open_any(&none, tree, NULL, NULL), ERR_OK));
	start_watch(&none);
	scratch_mkdir(&shown.scratch, "none", 0755);
	expect_event("?/\n?/");
	scratch_write_text(&shown.scratch, "none/f", "");
	expect_event("+f");
	stop_watch();
	root_close(&none);
}

Test(helper_watch, other_file_systems_are_reported_as_lost)
{
	char path[128];

	snprintf(path, sizeof path, "%s/tree/m", shown.scratch.path);
	scratch_mkdir(&shown.scratch, "tree/m", 0755);
	if (mount("none", path, "tmpfs", 0, NULL))
		shown_skip(&shown, "no right to mount");
	start_watch(&shown.root);
	stop_watch();
	cr_assert(umount(path) == 0);
	cr_expect(has_event("?m/"));
}

static void be_slow(bool is_slow)
{
	pthread_mutex_lock(&watching.mutex);
	watching.is_slow = is_slow;
	pthread_cond_broadcast(&watching.received);
	pthread_mutex_unlock(&watching.mutex);
}

/* Events from here on lie in the queue until be_slow(false). */
static void hold_up(void)
{
	be_slow(true);
	scratch_write_text(&shown.scratch, "tree/stone", "");
	expect_event("+stone");
}

static size_t count_events(const char *line)
{
	size_t times = 0;

	pthread_mutex_lock(&watching.mutex);
	for (const char *at = buf_text(&watching.log); (at = strstr(at, line)); at++)
		times++;
	pthread_mutex_unlock(&watching.mutex);
	return times;
}

Test(helper_watch, a_file_that_is_gone_by_now_is_reported_once_and_as_gone)
{
	start_watch(&shown.root);
	hold_up();
	scratch_write_text(&shown.scratch, "tree/temp", "text");
	rename_in("tree/temp", "tree/name");
	be_slow(false);
	expect_all_events();
	cr_expect(eq(ulong, count_events("-temp\n"), 1));
	cr_expect(not(has_event("+temp")));
	cr_expect(not(has_event("~temp")));
	cr_expect(has_event("+name"));
	stop_watch();
}

Test(helper_watch, a_name_that_is_another_file_by_now_is_reported_as_that)
{
	struct attr now;

	scratch_write_text(&shown.scratch, "tree/f", "old");
	start_watch(&shown.root);
	hold_up();
	cr_assert(unlinkat(shown.scratch.fd, "tree/f", 0) == 0);
	scratch_mkdir(&shown.scratch, "tree/f", 0755);
	be_slow(false);
	expect_all_events();
	cr_expect(not(has_event("-f")));
	cr_expect(has_event("+f/"));
	cr_assert(sys_stat(shown.scratch.fd, "tree/f", &now) == 0);
	cr_expect(eq(ulong, watching.of_f.ino, now.ino));
	stop_watch();
}

static const char *const whole[] = { "" };

static size_t place_of(const char *line)
{
	const char *log;
	size_t place;

	expect_event(line);
	pthread_mutex_lock(&watching.mutex);
	log = buf_text(&watching.log);
	place = (size_t)(strstr(log, line) - log);
	pthread_mutex_unlock(&watching.mutex);
	return place;
}

Test(helper_watch, a_list_comes_first_and_what_changed_meanwhile_after_it)
{
	const struct list_request first = {
		.starts = whole, .starts_count = 1, .depth = LIST_DEPTH_ALL
	};

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	scratch_write_text(&shown.scratch, "tree/d/old", "");
	be_slow(true);
	start_watch_of(&shown.root, &first);
	/* The watch is ready and has listed nothing yet. */
	scratch_write_text(&shown.scratch, "tree/new", "");
	be_slow(false);
	expect_event("=old");
	expect_event("=new");
	expect_event("+new");
	cr_expect(lt(ulong, place_of("!/"), place_of("[d")));
	cr_expect(lt(ulong, place_of("=new"), place_of("]")));
	cr_expect(lt(ulong, place_of("]"), place_of("+new")));
	cr_expect(eq(int, stop_watch(), ERR_INTERRUPTED));
}

static long queue_limit(void)
{
	AUTO_CLOSE int fd = open("/proc/sys/fs/inotify/max_queued_events", O_RDONLY | O_CLOEXEC);
	char text[32] = "";

	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? strtol(text, NULL, 10) : 0;
}

/* Two files in turn, since a repeated event is not queued again. */
static void overflow_queue(void)
{
	for (long i = 0; i < queue_limit(); i++) {
		cr_assert(fchmodat(shown.scratch.fd, "tree/one", 0600, 0) == 0);
		cr_assert(fchmodat(shown.scratch.fd, "tree/two", 0600, 0) == 0);
	}
}

Test(helper_watch, after_an_overflow_everything_is_lost_and_watched_again)
{
	long limit = queue_limit();

	if (limit <= 0 || limit > 200000)
		shown_skip(&shown, "max_queued_events is %ld", limit);
	scratch_write_text(&shown.scratch, "tree/one", "");
	scratch_write_text(&shown.scratch, "tree/two", "");
	start_watch(&shown.root);
	be_slow(true);
	overflow_queue();
	scratch_mkdir(&shown.scratch, "tree/unheard", 0755);
	be_slow(false);
	/* Everything is reported as lost, at once and when the watches stand again. */
	expect_event("?/\n?/");
	/* The directory whose event was lost has its watch now, too. */
	expect_all_events();
	scratch_write_text(&shown.scratch, "tree/unheard/f", "");
	expect_event("+unheard/f");
	stop_watch();
}

static enum err refuse(void *context, const struct watch_event *event, struct error *e)
{
	(void)context;
	(void)event;
	return error_set(e, ERR_GONE, "enough");
}

Test(helper_watch, a_sink_that_refuses_ends_it)
{
	struct error e = { 0 };

	cr_expect(eq(int,
		helper_watch(&shown.root, NULL, &(struct watch_request){ 0 }, refuse, NULL, &e),
		ERR_GONE));
	cr_expect(eq(str, e.text, "enough"));
}

static enum err refuse_items(void *context, const struct watch_event *event, struct error *e)
{
	(void)context;
	return event->kind == WATCH_ITEM ? error_set(e, ERR_GONE, "enough") : ERR_OK;
}

Test(helper_watch, a_sink_that_refuses_an_item_ends_it)
{
	const struct list_request first = { .starts = whole, .starts_count = 1, .depth = 1 };
	const struct watch_request request = { .first = &first };

	cr_expect(eq(int, helper_watch(&shown.root, NULL, &request, refuse_items, NULL, NULL),
		ERR_GONE));
}

static enum err forbid(void *context, const struct watch_event *event, struct error *e)
{
	bool *is_lost = context;

	*is_lost = *is_lost || (event->kind == WATCH_LOST && !strcmp(event->path, "d"));
	return event->kind == WATCH_READY ? error_set(e, ERR_GONE, "ready") : ERR_OK;
}

static int watch_unreadable(struct shown *s)
{
	bool is_lost = false;

	if (mkdirat(s->scratch.fd, "tree/d", 0300))
		return 1;
	if (helper_watch(&s->root, NULL, &(struct watch_request){ 0 }, forbid, &is_lost, NULL) !=
		ERR_GONE)
		return 2;
	return is_lost ? 0 : 3;
}

Test(helper_watch, an_unreadable_directory_is_reported_as_lost)
{
	shown_as_nobody(&shown, watch_unreadable);
}

/* ---- A system that allows few watches ---- */

#define FEW 4

/* Sets the limit, in a user namespace of its own, where an ordinary user may do that. */
static bool allow_few_watches(void)
{
	AUTO_CLOSE int fd = unshare(CLONE_NEWUSER)
		? -1
		: open("/proc/sys/user/max_inotify_watches", O_WRONLY | O_CLOEXEC);

	return fd >= 0 && dprintf(fd, "%d", FEW) > 0;
}

static void name_line(char line[16], char mark, unsigned n, const char *end)
{
	snprintf(line, 16, "%cd%u%s", mark, n, end);
}

static unsigned count_lost(void)
{
	char line[16];
	unsigned count = 0;

	for (unsigned n = 0; n < 6; n++) {
		name_line(line, '?', n, "/");
		count += has_event(line);
	}
	return count;
}

/* The first directory that was reported as lost, or was not. */
static unsigned find_dir(bool is_lost)
{
	char line[16];
	unsigned n = 0;

	for (; n < 6; n++) {
		name_line(line, '?', n, "/");
		if (has_event(line) == is_lost)
			break;
	}
	return n;
}

/*
 * The root and three of six directories are watched. A directory that is removed makes room for one
 * that is not watched.
 */
static int watch_few(struct shown *s)
{
	char name[16], line[16];
	unsigned lost, watched;

	if (!allow_few_watches())
		return 0;
	for (unsigned n = 0; n < 6; n++) {
		snprintf(name, sizeof name, "tree/d%u", n);
		scratch_mkdir(&s->scratch, name, 0755);
	}
	start_watch(&s->root);
	if (count_lost() != 3)
		return 2;
	lost = find_dir(true);
	watched = find_dir(false);
	snprintf(name, sizeof name, "tree/d%u", watched);
	if (unlinkat(s->scratch.fd, name, AT_REMOVEDIR))
		return 3;
	name_line(line, '*', lost, "/");
	if (!hears(line, DEADLINE_S))
		return 4;
	snprintf(name, sizeof name, "tree/d%u/f", lost);
	scratch_write_text(&s->scratch, name, "");
	name_line(line, '+', lost, "/f");
	if (!hears(line, DEADLINE_S))
		return 5;
	scratch_mkdir(&s->scratch, "tree/late", 0755);
	if (!hears("+late/", DEADLINE_S) || !hears("?late/", DEADLINE_S))
		return 6;
	if (unlinkat(s->scratch.fd, "tree/late", AT_REMOVEDIR) || !hears("*late/", DEADLINE_S) ||
		!hears("-late/", DEADLINE_S))
		return 7;
	stop_watch();
	return 0;
}

Test(helper_watch, what_could_not_be_watched_is_when_there_are_watches_again)
{
	shown_as_nobody(&shown, watch_few);
}

/* ---- One watcher, several watches ---- */

static void end_watch(struct watching *w)
{
	cancel_throw(&w->cancel);
	pthread_join(w->thread, NULL);
	cancel_release(&w->cancel);
	buf_release(&w->log);
}

static void begin_watch(struct watching *w, const struct watch_request *request)
{
	*w = (struct watching){ .root = &shown.root,
		.request = request,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.received = PTHREAD_COND_INITIALIZER,
		.log = BUF_INIT(64 << 20) };
	cr_assert(eq(int, cancel_init(&w->cancel, NULL), ERR_OK));
	cr_assert(pthread_create(&w->thread, NULL, watch, w) == 0);
	cr_assert(hears_in(w, "!/", DEADLINE_S));
}

static bool is_over_soon(struct watching *w)
{
	struct timespec end;
	bool in_time = true;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += DEADLINE_S;
	pthread_mutex_lock(&w->mutex);
	while (!w->is_over && in_time)
		in_time = pthread_cond_timedwait(&w->received, &w->mutex, &end) == 0;
	bool is_over = w->is_over;

	pthread_mutex_unlock(&w->mutex);
	return is_over;
}

static const struct watch_request by_one = { .watcher = "one" }, by_other = { .watcher = "other" };

/* The file's name has the id in hex. */
#define FILE_OF_ONE "staging/watch-6f6e6500000000000000000000000000"

Test(helper_watch, the_next_watch_of_a_watcher_ends_the_one_before)
{
	static struct watching other, first, second;

	begin_watch(&other, &by_other);
	begin_watch(&first, &by_one);
	begin_watch(&second, &by_one);
	cr_assert(is_over_soon(&first));
	cr_expect(eq(int, first.result, ERR_CONFLICT));
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_expect(hears_in(&second, "+f", DEADLINE_S));
	cr_expect(hears_in(&other, "+f", DEADLINE_S));
	end_watch(&first);
	end_watch(&second);
	end_watch(&other);
	cr_expect(eq(int, second.result, ERR_INTERRUPTED));
	cr_expect(eq(int, other.result, ERR_INTERRUPTED));
}

Test(helper_watch, nobody_ends_no_watch)
{
	static const struct watch_request by_nobody = { 0 };
	static struct watching first, second;

	begin_watch(&first, &by_nobody);
	begin_watch(&second, &by_nobody);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_expect(hears_in(&first, "+f", DEADLINE_S));
	cr_expect(hears_in(&second, "+f", DEADLINE_S));
	end_watch(&first);
	end_watch(&second);
}

Test(helper_watch, the_file_of_a_watcher_goes_with_its_watch)
{
	static struct watching w;

	begin_watch(&w, &by_one);
	cr_expect(shown_exists(&shown, FILE_OF_ONE));
	end_watch(&w);
	cr_expect(not(shown_exists(&shown, FILE_OF_ONE)));
}

Test(helper_watch, what_a_killed_watch_left_is_taken_over)
{
	static struct watching w;

	scratch_write_text(&shown.scratch, FILE_OF_ONE, "");
	begin_watch(&w, &by_one);
	end_watch(&w);
	cr_expect(eq(int, w.result, ERR_INTERRUPTED));
}

Test(helper_watch, a_watch_that_does_not_end_is_not_waited_for)
{
	static struct watching w;

	scratch_write_text(&shown.scratch, FILE_OF_ONE, "");
	AUTO_CLOSE int held = openat(shown.scratch.fd, FILE_OF_ONE, O_RDWR | O_CLOEXEC);

	cr_assert(flock(held, LOCK_EX) == 0);
	begin_watch(&w, &by_one);
	cr_expect(shown_exists(&shown, FILE_OF_ONE));
	end_watch(&w);
	cr_expect(eq(int, w.result, ERR_INTERRUPTED));
}

Test(helper_watch, a_watcher_that_can_have_no_file_watches)
{
	static struct watching w;

	scratch_mkdir(&shown.scratch, FILE_OF_ONE, 0700);
	begin_watch(&w, &by_one);
	scratch_write_text(&shown.scratch, "tree/f", "");
	cr_expect(hears_in(&w, "+f", DEADLINE_S));
	end_watch(&w);
}

/* A hostile process swaps a directory for a link to `outside`: no watch ever stands there. */
Test(helper_watch, a_swapped_directory_does_not_lead_out)
{
	struct swapper *hostile;

	scratch_mkdir(&shown.scratch, "tree/d", 0755);
	cr_assert(symlinkat("../outside", shown.scratch.fd, "tree/l") == 0);
	start_watch(&shown.root);
	hostile = shown_swap_start(&shown, "tree/d", "tree/l");
	for (int i = 0; i < 2000; i++) {
		scratch_write_text(&shown.scratch, "outside/canary", "");
		cr_assert(unlinkat(shown.scratch.fd, "outside/canary", 0) == 0);
	}
	shown_swap_stop(hostile);
	expect_all_events();
	cr_expect(not(has_event("+d/canary")));
	cr_expect(not(has_event("+l/canary")));
	cr_expect(not(has_event("+d/secret")));
	stop_watch();
}

/* ---- The table ---- */

TestSuite(helper_watch_table, .timeout = 300);

static void count_forgotten(void *context, int wd)
{
	(void)wd;
	++*(int *)context;
}

Test(helper_watch_table, finds_what_was_put_and_not_removed)
{
	struct watch_table t = { 0 };
	char path[16];

	for (int wd = 1; wd <= 1000; wd++) {
		snprintf(path, sizeof path, "d%d", wd);
		cr_assert(watch_table_put(&t, wd, strdup(path)));
	}
	for (int wd = 1; wd <= 1000; wd += 2)
		watch_table_remove(&t, wd);
	watch_table_remove(&t, 2);
	for (int wd = 1; wd <= 1000; wd++) {
		const char *found = watch_table_path(&t, wd);

		snprintf(path, sizeof path, "d%d", wd);
		if (wd % 2 || wd == 2)
			cr_expect(found == NULL, "watch %d", wd);
		else
			cr_expect(found && !strcmp(found, path), "watch %d", wd);
	}
	cr_assert(watch_table_put(&t, 500, strdup("moved")));
	cr_assert(watch_table_put(&t, 3, strdup("wrapped")));
	cr_expect(eq(str, (char *)watch_table_path(&t, 500), "moved"));
	cr_expect(eq(str, (char *)watch_table_path(&t, 3), "wrapped"));
	cr_expect(eq(str, (char *)watch_table_path(&t, 4), "d4"));
	watch_table_release(&t);
}

Test(helper_watch_table, removes_a_tree_and_not_its_neighbours)
{
	static const char *const paths[] = { "", "a", "a/b", "a/b/c", "ab", "b/a" };
	struct watch_table t = { 0 };
	int forgotten = 0;

	for (int wd = 0; wd < 6; wd++)
		cr_assert(watch_table_put(&t, wd + 1, strdup(paths[wd])));
	watch_table_remove_below(&t, "a", count_forgotten, &forgotten);
	cr_expect(eq(int, forgotten, 3));
	cr_expect(watch_table_path(&t, 1) && watch_table_path(&t, 5) && watch_table_path(&t, 6));
	for (int wd = 2; wd <= 4; wd++)
		cr_expect(watch_table_path(&t, wd) == NULL, "watch %d", wd);
	watch_table_release(&t);
}
