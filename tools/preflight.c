#include "tools/preflight.h"

#include "cache/session/disk.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "tools/apart.h"
#include "tools/host.h"
#include "tools/mounted.h"
#include "tools/real_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* The time that an existing mount may take to show whether it is alive. */
#define ALIVE_MS 2000

#define FUSE_CONF "/etc/fuse.conf"

/* ---- The mount point ---- */

static int touch(const void *dir)
{
	struct stat ignored;

	return stat(dir, &ignored) ? errno : 0;
}

/*
 * A directory of systemd or autofs, which mounts there at the first access: it may be mounted over.
 */
static bool is_automount(const char *dir)
{
	struct statfs facts;

	return !statfs(dir, &facts) && facts.f_type == AUTOFS_SUPER_MAGIC;
}

/* Mounting over a mount is seldom meant; over one whose daemon died, never. */
static enum err check_not_mounted(const char *dir, bool may_cover, struct error *e)
{
	struct statx facts;

	/* DONT_SYNC: a mount that may be there is not asked. */
	if (statx(AT_FDCWD, dir, AT_STATX_DONT_SYNC, STATX_TYPE, &facts) ||
		!(facts.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return ERR_OK;

	int state = apart_run(touch, dir, ALIVE_MS);

	if (mounted_is_dead(state) || state == ETIMEDOUT)
		return error_set(e, ERR_BUSY,
			"%s: a dead mount is still on it; take it off with: %s %s", dir,
			geteuid() ? "fusermount3 -uz" : "umount -l", dir);
	if (may_cover || is_automount(dir))
		return ERR_OK;
	return error_set(e, ERR_BUSY,
		"%s: already a mount point; unmount it (%s %s), or mount over it with -o nonempty",
		dir, geteuid() ? "fusermount3 -u" : "umount", dir);
}

static enum err check_directory(const char *dir, struct error *e)
{
	struct stat facts;

	if (stat(dir, &facts))
		return error_errno(e, errno, "%s: cannot be looked at", dir);
	if (!S_ISDIR(facts.st_mode))
		return error_set(
			e, ERR_NOT_DIR, "%s: not a directory; mount on one, made with mkdir", dir);
	return ERR_OK;
}

static enum err check_empty(const char *dir, struct error *e)
{
	DIR *entries = opendir(dir);
	const struct dirent *entry;
	bool is_empty = true;

	if (!entries)
		return error_errno(e, errno, "%s: cannot be read", dir);
	while (is_empty && (entry = readdir(entries)))
		is_empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(entries);
	if (!is_empty)
		return error_set(e, ERR_NOT_EMPTY,
			"%s: not empty; choose an empty directory, or hide what is in it with -o "
			"nonempty",
			dir);
	return ERR_OK;
}

/* fusermount3's own rule: a user who may mount on a directory could as well have changed it. */
static enum err check_own(const char *dir, struct error *e)
{
	struct stat facts;

	if (geteuid() == 0)
		return ERR_OK;
	if (stat(dir, &facts))
		return error_errno(e, errno, "%s: cannot be looked at", dir);
	if (access(dir, W_OK) || ((facts.st_mode & S_ISVTX) && facts.st_uid != geteuid()))
		return error_set(e, ERR_DENIED,
			"%s: you may not mount on it, since you may not change it; choose a "
			"directory of "
			"your own",
			dir);
	return ERR_OK;
}

static enum err find_mountpoint(char **out, const char *given, struct error *e)
{
	*out = real_path(given);
	if (*out)
		return ERR_OK;
	if (errno == ENOENT)
		return error_set(e, ERR_NOT_FOUND,
			"%s: no such directory; make it with: mkdir -p %s", given, given);
	if (errno == ENOTDIR)
		return error_set(e, ERR_NOT_DIR,
			"%s: not a directory; mount on one, made with mkdir", given);
	return error_errno(e, errno, "%s: cannot be mounted on", given);
}

static enum err check_mountpoint(char **out, const struct config *config, struct error *e)
{
	AUTO_FREE char *dir = NULL;
	enum err kind = find_mountpoint(&dir, config->mountpoint, e);

	if (!kind)
		kind = check_not_mounted(dir, config->nonempty, e);
	if (!kind)
		kind = check_directory(dir, e);
	if (!kind)
		kind = check_own(dir, e);
	if (!kind && !config->nonempty)
		kind = check_empty(dir, e);
	if (!kind)
		*out = take(dir);
	return kind;
}

/* ---- FUSE ---- */

/* The option stands on a line of its own, with only blanks around it. */
static bool is_other_allowed(void)
{
	FILE *conf = fopen(FUSE_CONF, "re");
	char line[256];
	bool allowed = false;

	while (conf && !allowed && fgets(line, sizeof line, conf)) {
		char word[32] = "", more[2] = "";

		allowed = sscanf(line, "%31s %1s", word, more) == 1 &&
			!strcmp(word, "user_allow_other");
	}
	if (conf)
		fclose(conf);
	return allowed;
}

static enum err check_allow_other(const struct config *config, struct error *e)
{
	if (geteuid() == 0 || !(config->allow_other || config->allow_root) || is_other_allowed())
		return ERR_OK;
	return error_set(e, ERR_DENIED,
		"option '%s': not for ordinary users here; root can allow it with a line "
		"user_allow_other in " FUSE_CONF,
		config->allow_other ? "allow_other" : "allow_root");
}

/* ---- Directories for cache and journal ---- */

/*
 * Another user could change contents and pending changes in that user's directory, or behind a link
 * of that user's.
 */
static enum err check_kept(const char *option, const char *dir, struct error *e)
{
	struct error why = { 0 };

	if (!dir || !strcmp(dir, "off") || !disk_check_way(dir, &why))
		return ERR_OK;
	return error_set(e, why.kind, "option '%s=%s': %s", option, dir, why.text);
}

static enum err check_places(const struct config *config, struct error *e)
{
	enum err kind = check_kept("journal", config->journal, e);

	return kind ? kind : check_kept("cache", config->cache, e);
}

/* ---- The sandbox ---- */

/* Made absolute, because the daemon changes to "/". */
static enum err check_key_file(struct config *config, struct error *e)
{
	AUTO_FREE char *path = NULL;
	struct stat facts;

	if (!config->key_file)
		return ERR_OK;
	path = realpath(config->key_file, NULL);
	if (!path || stat(path, &facts))
		return error_set(e, ERR_INVALID,
			"key_file %s: %s; put the key into a file of mode 0600", config->key_file,
			strerror(errno));
	if (!S_ISREG(facts.st_mode))
		return error_set(e, ERR_INVALID, "key_file %s: not a regular file", path);
	if (facts.st_mode & 077)
		return error_set(e, ERR_DENIED,
			"key_file %s: mode %04o lets others at the key; chmod 600 %s", path,
			facts.st_mode & 07777, path);
	if (access(path, R_OK))
		return error_set(e, ERR_DENIED, "key_file %s: not yours to read; chown it", path);
	free(config->key_file);
	config->key_file = take(path);
	return ERR_OK;
}

static void look_for_bubblewrap(const struct source *source)
{
	if (source->ops->caps & PROVIDER_EMBEDDED && !host_has_program("bwrap"))
		log_warn(LOG_TOOLS,
			"no bubblewrap (bwrap): files work, commands (.sandbox/exec) do not; as "
			"root: apt "
			"install bubblewrap");
}

enum err preflight(
	struct config *config, const struct source *source, char **mountpoint, struct error *e)
{
	AUTO_FREE char *dir = NULL;
	enum err kind = check_mountpoint(&dir, config, e);

	if (!kind)
		kind = host_check_device(e);
	if (!kind && geteuid() != 0)
		kind = host_check_fusermount(e);
	if (!kind)
		kind = check_allow_other(config, e);
	if (!kind)
		kind = check_key_file(config, e);
	if (!kind)
		kind = check_places(config, e);
	if (kind)
		return kind;
	look_for_bubblewrap(source);
	*mountpoint = take(dir);
	return ERR_OK;
}
