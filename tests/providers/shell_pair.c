#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char *const shells[] = { "sh", "bash", "busybox sh" };

/* A shell takes a second for what the helper does in a millisecond. */
bool pair_is_at_length(void)
{
	const char *which = getenv("SHELLS");

	return which && !strcmp(which, "all");
}

bool pair_is_busybox(const struct pair *w)
{
	return !strncmp(w->shell, "busybox", 7);
}

static void scratch_open(struct scratch *s, const struct scratch *in, const char *name)
{
	cr_assert(snprintf(s->path, sizeof s->path, "%s/%s", in->path, name) < (int)sizeof s->path);
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(s->fd >= 0, "%s: %s", s->path, strerror(errno));
}

void pair_make(struct pair *w, const char *shell)
{
	struct error e = { 0 };
	char path[80];

	*w = (struct pair){ .shell = shell };
	umask(0);
	scratch_make(&w->scratch);
	scratch_mkdir(&w->scratch, "s", 0755);
	scratch_mkdir(&w->scratch, "h", 0755);
	scratch_mkdir(&w->scratch, "h/tree", 0755);
	snprintf(path, sizeof path, "%s/s", w->scratch.path);
	host_provider_init(&w->host, path, shell);
	scratch_open(&w->by_shell, &w->scratch, "s/tree");
	scratch_open(&w->by_helper, &w->scratch, "h/tree");
	snprintf(path, sizeof path, "%s/h/staging", w->scratch.path);
	cr_assert(root_open(&w->helper, w->by_helper.path, path, &e) == ERR_OK, "%s", e.text);
}

void pair_remove(struct pair *w)
{
	root_close(&w->helper);
	close(w->by_shell.fd);
	close(w->by_helper.fd);
	scratch_remove(&w->scratch);
}

void pair_over_every_shell(void (*body)(struct pair *))
{
	size_t count = pair_is_at_length() ? sizeof shells / sizeof *shells : 1;

	for (size_t i = 0; i < count; i++) {
		struct pair w;

		pair_make(&w, shells[i]);
		body(&w);
		pair_remove(&w);
	}
}

/* As somebody whom the kernel refuses things. Each test is a process of its own. */
void pair_become_nobody(void)
{
	if (geteuid() != 0)
		return;
	cr_assert(setgroups(0, NULL) == 0 && setresgid(65534, 65534, 65534) == 0 &&
		setresuid(65534, 65534, 65534) == 0);
}

/* ---- The fixture ---- */

void pair_make_fixture(const struct scratch *t)
{
	int fd = t->fd;

	scratch_write_text(t, "f", "0123456789");
	scratch_write_text(t, "g", "gg");
	scratch_mkdir(t, "d", 0755);
	scratch_write_text(t, "d/in", "in");
	scratch_mkdir(t, "d/sub", 0755);
	scratch_mkdir(t, "e", 0755);
	scratch_mkdir(t, "e2", 0700);
	scratch_mkdir(t, "sgid", 0755);
	cr_assert(fchmodat(fd, "sgid", 02775, 0) == 0);
	scratch_write_text(t, "sgid/empty", "");
	scratch_write_text(t, "empty", "");
	cr_assert(fchmodat(fd, "empty", 0604, 0) == 0);
	scratch_write_text(t, "empty two", "");
	cr_assert(linkat(fd, "empty two", fd, "empty three", 0) == 0);
	scratch_write_text(t, "ro", "read-only");
	cr_assert(fchmodat(fd, "ro", 0444, 0) == 0);
	scratch_write_text(t, "closed", "nobody reads this");
	cr_assert(fchmodat(fd, "closed", 0, 0) == 0);
	scratch_write_text(t, "suid", "s");
	cr_assert(fchmodat(fd, "suid", 04755, 0) == 0);
	scratch_write_text(t, "h1", "hard");
	cr_assert(linkat(fd, "h1", fd, "h2", 0) == 0);
	cr_assert(symlinkat("f", fd, "l") == 0);
	cr_assert(symlinkat("nowhere", fd, "dangling") == 0);
	cr_assert(symlinkat("d", fd, "ld") == 0);
	cr_assert(symlinkat("loop", fd, "loop") == 0);
	cr_assert(mkfifoat(fd, "p", 0644) == 0);
}

void pair_make_fixtures(struct pair *w)
{
	pair_make_fixture(&w->by_shell);
	pair_make_fixture(&w->by_helper);
	scratch_write_text(&w->scratch, "s/staging/t", "staged bytes");
	scratch_write_text(&w->scratch, "h/staging/t", "staged bytes");
}

/* ---- Doing ---- */

void pair_apply(
	struct pair *w, const struct change *changes, size_t count, struct change_result *out)
{
	const struct apply_request request = { .changes = changes, .changes_count = count };
	struct error e = { 0 };

	cr_assert(shell_apply(&w->host.base, NULL, &request, out, &e) == ERR_OK, "%s: %s", w->shell,
		e.text);
}

struct change_result pair_apply_one(struct pair *w, struct change change)
{
	struct change_result r;

	pair_apply(w, &change, 1, &r);
	return r;
}

unsigned char *pair_noise(size_t len, uint32_t seed)
{
	unsigned char *bytes = malloc(len);

	cr_assert(bytes != NULL);
	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
	return bytes;
}
