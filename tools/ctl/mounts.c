#include "tools/ctl/mounts.h"

#include "providers/base/call.h"
#include "providers/base/cleanup.h"
#include "tools/apart.h"
#include "tools/drain.h"
#include "tools/real_path.h"
#include "tools/user_map.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Far more than a mount writes. */
#define STATUS_MAX ((size_t)256 * 1024)

/* ---- The mount table ---- */

static void release_one(struct mounted *m)
{
	free(m->dir);
	free(m->source);
}

/* A later mount on a directory covers earlier ones. */
static void uncover(struct mounts *m, const char *dir)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].dir, dir)) {
			release_one(&m->list[i]);
			m->count--;
			memmove(m->list + i, m->list + i + 1, (m->count - i) * sizeof *m->list);
			return;
		}
}

static bool is_ours(const struct mounted *m)
{
	return geteuid() == 0 || m->uid == geteuid();
}

static enum err add(struct mounts *m, const struct mntent *line, struct error *e)
{
	struct mounted one = { 0 };

	mounted_take_owner(&one, line);
	if (strcmp(line->mnt_type, MOUNTED_TYPE) != 0 || !is_ours(&one))
		return ERR_OK;

	struct mounted *list = reallocarray(m->list, m->count + 1, sizeof *list);

	if (!list)
		return error_set(e, ERR_NO_MEMORY, "the mount table");
	m->list = list;
	one.dir = strdup(line->mnt_dir);
	one.source = strdup(line->mnt_fsname);
	list[m->count++] = one;
	return one.dir && one.source ? ERR_OK : error_set(e, ERR_NO_MEMORY, "the mount table");
}

static enum err read_table(struct mounts *out, bool is_all, struct error *e)
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	const struct mntent *line;
	enum err kind = ERR_OK;

	*out = (struct mounts){ 0 };
	if (!table)
		return error_errno(e, errno, "/proc/self/mounts");
	while (!kind && (line = getmntent(table))) {
		if (!is_all)
			uncover(out, line->mnt_dir);
		kind = add(out, line, e);
	}
	endmntent(table);
	return kind;
}

enum err mounts_find(struct mounts *out, struct error *e)
{
	return read_table(out, false, e);
}

enum err mounts_find_all(struct mounts *out, struct error *e)
{
	return read_table(out, true, e);
}

void mounts_release(struct mounts *m)
{
	for (size_t i = 0; i < m->count; i++)
		release_one(&m->list[i]);
	free(m->list);
	*m = (struct mounts){ 0 };
}

/* ---- A single mount ---- */

static bool is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/' || len == 1);
}

/* The innermost mount. */
static const struct mounted *find_within(const struct mounts *m, const char *path)
{
	const struct mounted *found = NULL;

	for (size_t i = 0; i < m->count; i++)
		if (is_within(path, m->list[i].dir) &&
			(!found || strlen(m->list[i].dir) > strlen(found->dir)))
			found = &m->list[i];
	return found;
}

/* The path is compared as text first: a lookup of the directory would hang with its mount. */
enum err mounts_at(
	const struct mounts *m, const char *dir, const struct mounted **out, struct error *e)
{
	AUTO_FREE char *here = *dir == '/' ? NULL : getcwd(NULL, 0);
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *real = NULL;

	if (asprintf(&path, "%s%s%s", here ? here : "", here ? "/" : "", dir) < 0) {
		path = NULL;
		return error_set(e, ERR_NO_MEMORY, "%s", dir);
	}
	*out = strstr(path, "/.") ? NULL : find_within(m, path);
	if (!*out && (real = real_path(dir)))
		*out = find_within(m, real);
	if (*out)
		return ERR_OK;
	return error_set(e, ERR_NOT_FOUND,
		"%s: no mount of yours; sandboxctl status tells where they are", dir);
}

/* ---- Asking a mount ---- */

/* Shared with the child that asks. */
struct question {
	const struct mounted *mounted;
	struct answer {
		size_t len;
		char text[STATUS_MAX];
	} * answer;
};

/* Returns an errno. */
static int read_status(const void *context)
{
	const struct question *q = context;
	struct answer *a = q->answer;
	char path[PATH_MAX];
	ssize_t got;

	if (!mounted_become_owner(q->mounted))
		return errno;
	if (snprintf(path, sizeof path, "%s/.sandbox/status", q->mounted->dir) >= (int)sizeof path)
		return ENAMETOOLONG;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno;
	while ((got = read(fd, a->text + a->len, sizeof a->text - a->len)) > 0)
		a->len += (size_t)got;
	return got < 0 ? errno : 0;
}

static enum mount_state state_of(int failure)
{
	if (mounted_is_dead(failure))
		return MOUNT_DEAD;
	switch (failure) {
	case 0: return MOUNT_ALIVE;
	case ETIMEDOUT: return MOUNT_SILENT;
	case ENOENT: return MOUNT_UNUSED;
	default: return MOUNT_CLOSED;
	}
}

/* A mount that is being asked. */
struct asking {
	struct question question;
	pid_t child;
	int64_t end_ms;
};

static void begin_asking(struct asking *a, const struct mounted *m, int64_t limit_ms)
{
	int64_t own_ms = m->uid == geteuid() ? MOUNTS_STATUS_MS : MOUNTS_FOREIGN_MS;

	*a = (struct asking){ .question = { .mounted = m }, .child = -1 };
	a->end_ms = monotonic_ms() + (limit_ms >= 0 && limit_ms < own_ms ? limit_ms : own_ms);
	a->question.answer = mmap(NULL, sizeof *a->question.answer, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (a->question.answer != MAP_FAILED)
		a->child = apart_begin(read_status, &a->question);
}

static enum mount_state end_asking(struct asking *a, struct buf *out)
{
	int64_t left_ms = a->end_ms - monotonic_ms();
	enum mount_state state = MOUNT_CLOSED;

	if (a->question.answer == MAP_FAILED)
		return state;
	if (a->child > 0)
		state = state_of(apart_await(a->child, left_ms < 0 ? 0 : left_ms));
	if (state == MOUNT_ALIVE)
		buf_add(out, a->question.answer->text, a->question.answer->len);
	munmap(a->question.answer, sizeof *a->question.answer);
	return state;
}

static enum mount_state ask_one(const struct mounted *m, int64_t limit_ms, struct buf *out)
{
	struct asking asking;

	begin_asking(&asking, m, limit_ms);
	return end_asking(&asking, out);
}

static void drop(struct mounts *m, size_t index)
{
	release_one(&m->list[index]);
	m->count--;
	memmove(m->list + index, m->list + index + 1, (m->count - index) * sizeof *m->list);
}

void mounts_keep_own(struct mounts *m)
{
	for (size_t i = m->count; i--;)
		if (m->list[i].uid != geteuid())
			drop(m, i);
}

static void drop_foreign(struct mounts *m, struct mount_answer *answers)
{
	for (size_t i = m->count; i--;)
		if (answers[i].state == MOUNT_CLOSED) {
			buf_release(&answers[i].text);
			memmove(answers + i, answers + i + 1, (m->count - i - 1) * sizeof *answers);
			drop(m, i);
		}
}

enum err mounts_ask(struct mounts *m, int64_t limit_ms, struct mount_answer **out, struct error *e)
{
	AUTO_FREE struct asking *asking = calloc(m->count + 1, sizeof *asking);
	struct mount_answer *answers = calloc(m->count + 1, sizeof *answers);

	*out = answers;
	if (!asking || !answers) {
		free(take(*out));
		return error_set(e, ERR_NO_MEMORY, "the mounts");
	}
	for (size_t i = 0; i < m->count; i++)
		begin_asking(&asking[i], &m->list[i], limit_ms);
	for (size_t i = 0; i < m->count; i++) {
		answers[i].text = (struct buf)BUF_INIT(STATUS_MAX);
		answers[i].state = end_asking(&asking[i], &answers[i].text);
	}
	if (!user_map_is_whole())
		drop_foreign(m, answers);
	return ERR_OK;
}

void mounts_answers_free(struct mount_answer *answers, const struct mounts *m)
{
	for (size_t i = 0; answers && i < m->count; i++)
		buf_release(&answers[i].text);
	free(answers);
}

const char *mount_state_word(enum mount_state state)
{
	switch (state) {
	case MOUNT_ALIVE: return "mounted";
	case MOUNT_DEAD: return "dead";
	case MOUNT_SILENT: return "silent";
	case MOUNT_CLOSED: return "closed";
	case MOUNT_UNUSED: return "unused";
	}
	return "unknown";
}

enum err mounts_explain(const struct mounted *m, enum mount_state state, struct error *e)
{
	switch (state) {
	case MOUNT_ALIVE:
	case MOUNT_UNUSED: return ERR_OK;
	case MOUNT_DEAD:
		return error_set(e, ERR_GONE,
			"%s: its process is dead; take it off with %s %s, and mount again: what it "
			"owed is sent then",
			m->dir, geteuid() ? "fusermount3 -uz" : "umount -l", m->dir);
	case MOUNT_SILENT:
		return error_set(e, ERR_TIMEOUT,
			"%s: its process does not answer; wait, or take it off with %s %s", m->dir,
			geteuid() ? "fusermount3 -uz" : "umount -l", m->dir);
	case MOUNT_CLOSED: return error_set(e, ERR_DENIED, "%s: it does not let you in", m->dir);
	}
	return ERR_OK;
}

enum err mounts_send(const struct mounted *m, int64_t limit_ms, struct error *e)
{
	struct error why = { 0 };
	bool has_nobody;

	if (!drain_send(m, limit_ms, &has_nobody, &why) || has_nobody)
		return ERR_OK;
	return error_set(e, why.kind, "%s: %s", m->dir, why.text);
}

enum err mounts_sync(const struct mounted *m, int64_t limit_ms, struct error *e)
{
	AUTO_BUF struct buf status = BUF_INIT(STATUS_MAX);
	int64_t end_ms = monotonic_ms() + limit_ms;
	enum mount_state state = ask_one(m, limit_ms, &status);
	int64_t left_ms = end_ms - monotonic_ms();

	if (state != MOUNT_ALIVE)
		return mounts_explain(m, state, e);
	return mounts_send(m, limit_ms < 0 ? limit_ms : left_ms < 0 ? 0 : left_ms, e);
}
