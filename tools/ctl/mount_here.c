#include "tools/ctl/mount_here.h"

#include "providers/base/cleanup.h"
#include "tools/ctl/child.h"
#include "tools/ctl/mounts.h"
#include "tools/real_path.h"
#include "tools/say.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Room for the given options, those of the target, and five words. */
#define WORDS_MAX 256
/* The time between two looks at the mount table until the mount is in it. */
#define LOOK_MS 10

/* ---- The directory ---- */

static enum err make_dir(struct mount_here *m, struct error *e)
{
	const char *place = getenv("XDG_RUNTIME_DIR");

	if (!place || *place != '/' || access(place, W_OK))
		place = "/tmp";
	if (asprintf(&m->dir, "%s/sandboxctl-XXXXXX", place) < 0) {
		m->dir = NULL;
		return error_set(e, ERR_NO_MEMORY, "a directory to mount on");
	}
	m->is_made = mkdtemp(m->dir);
	return m->is_made ? ERR_OK : error_errno(e, errno, "%s", m->dir);
}

static bool is_mounted(const char *dir)
{
	AUTO_MOUNTS struct mounts mounts = { 0 };

	if (!mounts_find(&mounts, NULL))
		for (size_t i = 0; i < mounts.count; i++)
			if (!strcmp(mounts.list[i].dir, dir))
				return true;
	return false;
}

/* *out is the same directory as an absolute path: to be freed. */
static enum err find_free_dir(char **out, const char *dir, struct error *e)
{
	struct stat st;

	*out = real_path(dir);
	if (!*out)
		return error_errno(e, errno, "%s", dir);
	if (is_mounted(*out)) /* first: a mount that does not answer must not be looked at */
		return error_set(e, ERR_BUSY, "%s: a sandbox is mounted there already", *out);
	if (stat(*out, &st))
		return error_errno(e, errno, "%s", dir);
	return S_ISDIR(st.st_mode) ? ERR_OK : error_errno(e, ENOTDIR, "%s", dir);
}

enum err mount_here_check(const char *dir, struct error *e)
{
	AUTO_FREE char *absolute = NULL;

	return dir ? find_free_dir(&absolute, dir, e) : ERR_OK;
}

static enum err choose_dir(struct mount_here *m, const char *dir, struct error *e)
{
	return dir ? find_free_dir(&m->dir, dir, e) : make_dir(m, e);
}

static void let_go(struct mount_here *m)
{
	if (m->is_made && rmdir(m->dir))
		say(stderr, "sandboxctl: %s: %s", m->dir, strerror(errno));
	free(m->dir);
	*m = (struct mount_here){ 0 };
}

/* ---- The program ---- */

/* The program that was installed with us; otherwise the one that a shell would find. */
static void find_sandboxfs(char out[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - sizeof "sandboxfs");
	char *slash;

	out[len > 0 ? len : 0] = 0;
	slash = strrchr(out, '/');
	strcpy(slash ? slash + 1 : out, "sandboxfs");
	if (access(out, X_OK))
		strcpy(out, "sandboxfs");
}

/* Adds "name=value" in the form of an -o list. */
static void add_option(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out, "%s%s=", out->len ? "," : "", name);
	for (; *value; value++) {
		if (*value == ',' || *value == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, (unsigned char)*value);
	}
}

static void add_words(char *words[WORDS_MAX], size_t count, char *const *options)
{
	for (; options && *options && count < WORDS_MAX - 2; options++) {
		words[count++] = "-o";
		words[count++] = *options;
	}
	words[count] = NULL;
}

static enum err start(struct mount_here *m, const struct target *t, const struct guard *guard,
	char *const *options, struct error *e)
{
	AUTO_BUF struct buf own = BUF_INIT(PATH_MAX * 3);
	AUTO_FREE char *source = source_text(&t->source, t->source.id);
	char program[PATH_MAX], *words[WORDS_MAX] = { program, "-f", source, m->dir };
	const struct child_request request = {
		.argv = words, .is_apart = true, .held = guard->held
	};
	size_t count = 4;
	enum err kind;

	find_sandboxfs(program);
	add_option(&own, "user", t->config.user);
	add_option(&own, "key_file", t->config.key_file);
	kind = buf_check(&own, "options of the mount", e);
	if (kind || !source)
		return kind ? kind : error_set(e, ERR_NO_MEMORY, "options of the mount");
	if (own.len) {
		words[count++] = "-o";
		words[count++] = (char *)own.bytes;
	}
	add_words(words, count, options);
	return child_start(&request, &m->sandboxfs, e);
}

static enum err end_sandboxfs(struct mount_here *m, struct error *e)
{
	int status = 0;

	kill(m->sandboxfs, SIGTERM);
	while (waitpid(m->sandboxfs, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return error_set(
			e, ERR_IO, "%s: sandboxfs ended with %d", m->dir, child_exit_code(status));
	return ERR_OK;
}

static enum err wait_until_mounted(struct mount_here *m, const struct call *call, struct error *e)
{
	int status;

	while (!is_mounted(m->dir)) {
		enum err kind = call_sleep(call, LOOK_MS, e);

		if (waitpid(m->sandboxfs, &status, WNOHANG))
			return error_set(e, ERR_IO,
				"%s: sandboxfs could not mount; it has said why", m->dir);
		if (kind) {
			end_sandboxfs(m, NULL);
			return kind;
		}
	}
	return ERR_OK;
}

enum err mount_here_start(struct mount_here *m, const struct target *t, const struct guard *guard,
	const char *dir, char *const *options, struct error *e)
{
	enum err kind;

	*m = (struct mount_here){ 0 };
	kind = choose_dir(m, dir, e);
	if (!kind && m->is_made)
		guard_add_dir(guard, m->dir);
	if (!kind)
		kind = start(m, t, guard, options, e);
	if (!kind)
		kind = wait_until_mounted(m, &t->call, e);
	if (kind)
		let_go(m);
	return kind;
}

enum err mount_here_end(struct mount_here *m, struct error *e)
{
	enum err kind = end_sandboxfs(m, e);

	let_go(m);
	return kind;
}
