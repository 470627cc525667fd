#include "providers/local/jail_root.h"

#include "providers/verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const jail_system_dirs[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32", NULL };

bool jail_is_link(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

static bool leads_to(int dir, const char *name, const char *target)
{
	char there[VERB_LINK_MAX];
	ssize_t len = readlinkat(dir, name, there, sizeof there - 1);

	return len >= 0 && (size_t)len == strlen(target) && !memcmp(there, target, (size_t)len);
}

/* An entry that this machine once had otherwise is a link, or an empty point for a mount. */
static void clear(int dir, const char *name)
{
	if (unlinkat(dir, name, 0))
		unlinkat(dir, name, AT_REMOVEDIR);
}

static enum err make_link(int dir, const char *name, const char *target, struct error *e)
{
	if (leads_to(dir, name, target))
		return ERR_OK;
	clear(dir, name);
	/* Another mount may make it at the same time. */
	if (symlinkat(target, dir, name) && !leads_to(dir, name, target))
		return error_errno(e, errno, "local: /%s", name);
	return ERR_OK;
}

static enum err make_system_dir(int root, const char *name, struct error *e)
{
	char path[32], target[VERB_LINK_MAX];
	ssize_t len;

	snprintf(path, sizeof path, "/%s", name);
	len = readlink(path, target, sizeof target - 1);
	if (len < 0) {
		unlinkat(root, name, 0);
		return ERR_OK;
	}
	target[len] = 0;
	return make_link(root, name, target, e);
}

static enum err make_var(int root, struct error *e)
{
	if ((mkdirat(root, "var", 0755) && errno != EEXIST) || fchmodat(root, "var", 0755, 0))
		return error_errno(e, errno, "local: /var");
	return make_link(root, "var/tmp", "../tmp", e);
}

enum err jail_root_make(int fd, struct error *e)
{
	enum err kind = make_var(fd, e);

	for (const char *const *name = jail_system_dirs; !kind && *name; name++)
		kind = make_system_dir(fd, *name, e);
	return kind;
}
