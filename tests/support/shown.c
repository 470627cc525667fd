#include "tests/support/shown.h"

#include "providers/base/cleanup.h"
#include "providers/helper/sys.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY 65534

static void open_root(struct shown *s, bool walk)
{
	char tree[128], staging[128];
	struct error e = { 0 };

	snprintf(tree, sizeof tree, "%s/tree", s->scratch.path);
	snprintf(staging, sizeof staging, "%s/staging", s->scratch.path);
	cr_assert(eq(int, root_open(&s->root, tree, staging, &e), ERR_OK), "%s", e.text);
	s->root.walk = s->root.walk || walk;
}

void shown_make(struct shown *s, bool walk)
{
	umask(0);
	scratch_make(&s->scratch);
	scratch_mkdir(&s->scratch, "tree", 0755);
	scratch_mkdir(&s->scratch, "outside", 0755);
	scratch_write_text(&s->scratch, "outside/secret", "secret");
	open_root(s, walk);
}

void shown_remove(struct shown *s)
{
	root_close(&s->root);
	scratch_remove(&s->scratch);
}

struct change_result shown_apply(const struct shown *s, const struct change *c)
{
	const struct apply_request request = { .changes = c, .changes_count = 1 };
	struct change_result result;
	struct error e = { 0 };

	cr_assert(
		eq(int, helper_apply(&s->root, NULL, &request, &result, &e), ERR_OK), "%s", e.text);
	return result;
}

struct attr shown_attr(const struct shown *s, const char *path)
{
	struct attr attr = { 0 };

	cr_assert(sys_stat(s->scratch.fd, path, &attr) == 0, "%s: %s", path, strerror(errno));
	return attr;
}

bool shown_exists(const struct shown *s, const char *path)
{
	struct attr attr;

	return sys_stat(s->scratch.fd, path, &attr) == 0;
}

static void give_to_nobody(const struct shown *s)
{
	static const char *const names[] = { ".", "tree", "staging" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert(fchownat(s->scratch.fd, names[i], NOBODY, NOBODY, 0) == 0);
}

/* An assertion that fails in the child would go on with the tests there. */
#define CLOSED 98

static int become_nobody(struct shown *s, int (*act)(struct shown *s))
{
	if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY)))
		return 99;
	if (access(s->scratch.path, R_OK | X_OK))
		return CLOSED;
	open_root(s, s->root.walk);
	return act(s);
}

void shown_as_nobody(struct shown *s, int (*act)(struct shown *s))
{
	int status = 0;
	pid_t child;

	if (geteuid() == 0)
		give_to_nobody(s);
	child = fork();
	if (child == 0)
		_exit(become_nobody(s, act));
	cr_assert(child > 0);
	cr_assert(waitpid(child, &status, 0) == child);
	status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	cr_assert(status != CLOSED, "%s: a directory above is closed to ordinary users; set TMPDIR",
		s->scratch.path);
	cr_assert(eq(int, status, 0), "step %d failed as nobody", status);
}

struct swapper {
	pthread_t thread;
	int dir_fd;
	const char *one, *other;
	atomic_bool has_begun, is_over;
};

static void *swap(void *context)
{
	struct swapper *w = context;

	while (!atomic_load(&w->is_over)) {
		if (sys_renameat2(w->dir_fd, w->one, w->dir_fd, w->other, RENAME_EXCHANGE))
			atomic_store(&w->is_over, true);
		else
			atomic_store(&w->has_begun, true);
	}
	return NULL;
}

struct swapper *shown_swap_start(const struct shown *s, const char *one, const char *other)
{
	struct swapper *w = calloc(1, sizeof *w);

	cr_assert(w != NULL);
	w->dir_fd = s->scratch.fd;
	w->one = one;
	w->other = other;
	cr_assert(pthread_create(&w->thread, NULL, swap, w) == 0);
	while (!atomic_load(&w->has_begun) && !atomic_load(&w->is_over))
		sched_yield();
	cr_assert(not(atomic_load(&w->is_over)), "nothing can be swapped here");
	return w;
}

void shown_swap_stop(struct swapper *w)
{
	atomic_store(&w->is_over, true);
	pthread_join(w->thread, NULL);
	free(w);
}
