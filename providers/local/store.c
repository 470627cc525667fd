#include "providers/local/store.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/home.h"
#include "providers/local/devices.h"
#include "providers/local/disk.h"
#include "providers/local/jail_root.h"
#include "providers/verbs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}
#define AUTO_DIR __attribute__((cleanup(cleanup_dir)))

/* ---- Names and places ---- */

static bool is_alphanumeric(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	if (len < 1 || len > LOCAL_NAME_MAX || !is_alphanumeric(name[0]))
		return false;
	for (const char *c = name; *c; c++)
		if (!is_alphanumeric(*c) && !strchr("._-", *c))
			return false;
	return true;
}

enum err local_store_check_name(const char *name, struct error *e)
{
	if (name_ok(name))
		return ERR_OK;
	return error_set(e, ERR_INVALID,
		"local: '%.100s' is no name for a sandbox: 1 to %d letters, digits, '.', '_' and "
		"'-', "
		"the first a letter or digit",
		name, LOCAL_NAME_MAX);
}

/*
 * Gives the directory of all sandboxes. As the XDG specification says, a path that is not absolute
 * counts as unset.
 */
static enum err store_path(char **out, struct error *e)
{
	const char *data = secure_getenv("XDG_DATA_HOME");
	AUTO_FREE char *home = home_dir();
	int len;

	if (data && *data == '/')
		len = asprintf(out, "%s/sandboxfs", data);
	else if (home)
		len = asprintf(out, "%s/.local/share/sandboxfs", home);
	else
		return error_set(e, ERR_INVALID,
			"local: neither XDG_DATA_HOME nor a home directory says where sandboxes "
			"are kept");
	return len < 0 ? error_set(e, ERR_NO_MEMORY, "local") : ERR_OK;
}

/* Refuses a store that others can write: a link put there would be shown by a jail. */
static enum err check_own(int fd, const char *path, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st))
		return error_errno(e, errno, "%s", path);
	if (st.st_uid != geteuid())
		return error_set(e, ERR_DENIED,
			"%s: belongs to another user; XDG_DATA_HOME says where sandboxes are kept",
			path);
	if (st.st_mode & 022)
		return error_set(
			e, ERR_DENIED, "%s: others may write to it; chmod go-w %s", path, path);
	return ERR_OK;
}

/* Opens the directory of all sandboxes, made with its parents when `make` is set. */
static enum err open_store(bool make, char **path, int *out, struct error *e)
{
	enum err kind = store_path(path, e);

	if (kind)
		return kind;
	for (char *slash = *path; make && (slash = strchr(slash + 1, '/'));) {
		*slash = 0;
		if (mkdir(*path, 0700) && errno != EEXIST)
			kind = error_errno(e, errno, "%s", *path);
		*slash = '/';
		if (kind)
			return kind;
	}
	if (make && mkdir(*path, 0700) && errno != EEXIST)
		return error_errno(e, errno, "%s", *path);
	*out = open(*path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *out < 0 ? error_errno(e, errno, "%s", *path) : check_own(*out, *path, e);
}

/* ---- Opening ---- */

/*
 * Restores `mode` of a directory of ours, if a command has removed rights of `needed` from its
 * owner.
 */
static void repair_mode(
	struct local_store *s, int parent, const char *name, mode_t mode, mode_t needed)
{
	AUTO_CLOSE int handle = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char path[40];

	if (handle < 0 || fstat(handle, &st) || (st.st_mode & needed) == needed)
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	if (!chmod(path, mode))
		snprintf(s->note, sizeof s->note,
			"the mode of the sandbox's directory %s was %04o: it is %04o now", name,
			(unsigned)st.st_mode & 07777, (unsigned)mode);
}

/*
 * Opens the directory `name`, which is made when absent; a new one gets exactly `mode`, whatever
 * the umask.
 */
static enum err make_dir(int parent, const char *name, mode_t mode, int *out, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	bool made = !mkdirat(parent, name, 0700);

	if (!made && errno != EEXIST)
		return error_errno(e, errno, "local: %s", name);
	fd = openat(parent, name, DIRECTORY);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return error_set(e, ERR_NOT_DIR,
			"local: %s is no directory: move it away, and a new one is made", name);
	if (fd < 0 || (made && fchmod(fd, mode)))
		return error_errno(e, errno, "local: %s", name);
	if (out)
		*out = take_fd(&fd);
	return ERR_OK;
}

/* make_dir() for a directory whose mode commands may have changed. */
static enum err make_jailed(struct local_store *s, int parent, const char *name, mode_t mode,
	mode_t needed, int *out, struct error *e)
{
	repair_mode(s, parent, name, mode, needed);
	return make_dir(parent, name, mode, out, e);
}

/* Opens NAME, which is made when absent, and makes sure that only we have access. */
static enum err make_sandbox(int store, const char *name, int *out, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	enum err kind = make_dir(store, name, 0700, &fd, e);

	if (!kind)
		kind = check_own(fd, name, e);
	if (!kind && fchmod(fd, 0700))
		kind = error_errno(e, errno, "local: %s", name);
	if (!kind)
		*out = take_fd(&fd);
	return kind;
}

/* ERR_STALE: the sandbox was deleted during the wait for the lock. */
static enum err hold(int fd, const char *name, int how, struct error *e)
{
	struct stat st;

	if (flock(fd, how | LOCK_NB))
		return errno != EWOULDBLOCK ? error_errno(e, errno, "local:%s", name)
			: how == LOCK_SH
			? error_set(e, ERR_BUSY, "local:%s is being deleted", name)
			: error_set(e, ERR_BUSY, "local:%s is in use; unmount it first", name);
	if (fstat(fd, &st))
		return error_errno(e, errno, "local:%s", name);
	return st.st_nlink ? ERR_OK : error_set(e, ERR_STALE, "local:%s was deleted", name);
}

/* Waits a moment for an exclusive holder, which may only be cleaning up. */
static enum err hold_shared(int fd, const char *name, struct error *e)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	struct error why = { 0 };
	enum err kind = hold(fd, name, LOCK_SH, &why);

	for (int tries = 0; kind == ERR_BUSY && tries < 100; tries++) {
		nanosleep(&moment, NULL);
		kind = hold(fd, name, LOCK_SH, &why);
	}
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* *is_alone: no other mount is connected, nor can connect until the lock is shared. */
static enum err open_lock(
	struct local_store *s, int sandbox, const char *name, bool *is_alone, struct error *e)
{
	s->lock_fd = openat(sandbox, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->lock_fd < 0)
		return error_errno(e, errno, "local:%s: lock", name);
	*is_alone = hold(s->lock_fd, name, LOCK_EX, NULL) == ERR_OK;
	return *is_alone ? ERR_OK : hold_shared(s->lock_fd, name, e);
}

static bool is_of_killed(const char *name)
{
	return !strncmp(name, STAGED_UNLINKED, strlen(STAGED_UNLINKED)) ||
		!strncmp(name, STAGED_JOB, strlen(STAGED_JOB)) ||
		!strncmp(name, STAGED_FED, strlen(STAGED_FED));
}

/*
 * Removes files of a mount or a command that was killed: removed files that were open, and jobs,
 * which ended with it.
 */
static void clean_staging(int staging_fd)
{
	AUTO_CLOSE int fd = openat(staging_fd, ".", DIRECTORY);
	AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return;
	take_fd(&fd);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (is_of_killed(entry->d_name))
			unlinkat(staging_fd, entry->d_name, 0);
}

/* ---- Entries that commands have put in the place of ours ---- */

static bool is_dir(int parent, const char *name)
{
	struct stat st;

	return !fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISDIR(st.st_mode);
}

/* Moves the entry to a free name in `home`, unless it is a directory of ours. */
static void move_away(struct local_store *s, int parent, const char *name, int home)
{
	char moved[40];

	if (is_dir(parent, name) || faccessat(parent, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return;
	for (int n = 1; n < 1000; n++) {
		snprintf(moved, sizeof moved, "%s.replaced-%d", name, n);
		if (!renameat2(parent, name, home, moved, RENAME_NOREPLACE)) {
			snprintf(s->note, sizeof s->note,
				"a command had replaced /home/%s: that is /home/%s now, and a new "
				"directory is made",
				name, moved);
			return;
		}
		if (errno != EEXIST)
			return;
	}
}

static bool is_ours(const char *name)
{
	return !strcmp(name, "user") || !strcmp(name, ".staging");
}

/* Moves the other entries of a sandbox whose /home was `tree`. */
static void move_others(int tree, int home)
{
	AUTO_CLOSE int fd = openat(tree, ".", DIRECTORY);
	AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return;
	take_fd(&fd);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
			!is_ours(entry->d_name))
			renameat2(tree, entry->d_name, home, entry->d_name, RENAME_NOREPLACE);
}

/* `home` needs directories of these names, on which the jail mounts ours. */
static void clear_home(struct local_store *s, int home, bool is_alone)
{
	if (is_alone)
		move_others(s->tree_fd, home);
	move_away(s, s->tree_fd, "user", home);
	move_away(s, s->tree_fd, ".staging", home);
	move_away(s, home, "user", home);
	move_away(s, home, ".staging", home);
}

static enum err make_root(int sandbox, struct error *e)
{
	AUTO_CLOSE int root = -1;
	enum err kind = make_dir(sandbox, "root", 0755, &root, e);

	return kind ? kind : jail_root_make(root, e);
}

/* Opens the parts inside NAME; on failure the caller closes the opened ones. */
static enum err open_parts(struct local_store *s, int sandbox, const char *name, struct error *e)
{
	/* Modes do not restrict root. */
	mode_t to_read = geteuid() ? 0500 : 0;
	AUTO_CLOSE int home = -1;
	bool is_alone;
	enum err kind = open_lock(s, sandbox, name, &is_alone, e);

	if (!kind)
		kind = make_jailed(s, sandbox, "tmp", 01777, 0700, NULL, e);
	if (!kind)
		kind = make_jailed(s, sandbox, "tree", 0755, 0700, &s->tree_fd, e);
	if (!kind)
		kind = make_jailed(s, sandbox, "home", 0755, 0700, &home, e);
	if (!kind)
		clear_home(s, home, is_alone);
	if (!kind)
		kind = make_jailed(s, s->tree_fd, "user", 0755, to_read, NULL, e);
	if (!kind)
		kind = make_jailed(s, s->tree_fd, ".staging", 0700, 0700, &s->staging_fd, e);
	if (!kind)
		kind = make_root(sandbox, e);
	if (*s->note)
		log_warn(LOG_PROVIDER, "local:%s: %s", name, s->note);
	if (kind || !is_alone)
		return kind;
	clean_staging(s->staging_fd);
	return hold_shared(s->lock_fd, name, e);
}

static enum err name_part(
	char **out, const char *store, const char *name, const char *part, struct error *e)
{
	if (asprintf(out, "%s/%s/%s", store, name, part) >= 0)
		return ERR_OK;
	*out = NULL;
	return error_set(e, ERR_NO_MEMORY, "local:%s", name);
}

static enum err name_parts(
	struct local_store *s, const char *store, const char *name, struct error *e)
{
	const struct {
		char **out;
		const char *part;
	} parts[] = { { &s->tree, "tree" }, { &s->home, "home" }, { &s->user, "tree/user" },
		{ &s->staging, "tree/.staging" }, { &s->tmp, "tmp" }, { &s->root, "root" } };
	enum err kind = ERR_OK;

	for (size_t i = 0; !kind && i < sizeof parts / sizeof *parts; i++)
		kind = name_part(parts[i].out, store, name, parts[i].part, e);
	return kind;
}

static enum err open_devices(
	struct local_store *s, int sandbox, const char *store, const char *name, struct error *e)
{
	AUTO_CLOSE int dir = -1;
	enum err kind = geteuid() ? ERR_OK : make_dir(sandbox, "dev", 0700, &dir, e);

	if (kind || geteuid())
		return kind;
	if (local_devices_make(dir))
		return name_part(&s->devices, store, name, "dev", e);
	log_warn(LOG_PROVIDER,
		"local:%s: no device files can be made in %s, so its commands could change the "
		"modes of this machine's",
		name, store);
	return ERR_OK;
}

static enum err open_limits(
	struct local_store *s, int sandbox, const struct local_limits *asked, struct error *e)
{
	const struct cgroup_limits *taken = &asked->taken;
	bool is_asked = taken->cpus > 0 || taken->memory_mb || taken->pids || asked->network;
	enum err kind;

	s->limits = *asked;
	kind = local_limits_read(sandbox, &s->limits, e);
	return kind || !is_asked ? kind : local_limits_write(sandbox, &s->limits, e);
}

enum err local_store_open(
	struct local_store *s, const char *name, const struct local_limits *asked, struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int store = -1, sandbox = -1;
	int64_t disk_mb = 0;
	enum err kind;

	*s = LOCAL_STORE_NONE;
	kind = local_store_check_name(name, e);
	if (!kind)
		kind = open_store(true, &path, &store, e);
	if (!kind)
		kind = local_disk_open(store, path, name, asked->disk_mb, &disk_mb, e);
	if (!kind)
		kind = make_sandbox(store, name, &sandbox, e);
	if (!kind)
		kind = open_parts(s, sandbox, name, e);
	if (!kind)
		kind = name_parts(s, path, name, e);
	if (!kind)
		kind = open_devices(s, sandbox, path, name, e);
	if (!kind)
		kind = open_limits(s, sandbox, asked, e);
	s->limits.disk_mb = disk_mb;
	if (kind)
		local_store_close(s);
	return kind;
}

void local_store_close(struct local_store *s)
{
	cleanup_close(&s->staging_fd);
	cleanup_close(&s->tree_fd);
	cleanup_close(&s->lock_fd);
	free(s->tree);
	free(s->home);
	free(s->user);
	free(s->staging);
	free(s->tmp);
	free(s->root);
	free(s->devices);
	*s = LOCAL_STORE_NONE;
}

enum err local_store_find(const char *name, struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int store = -1;
	struct error why = { 0 };
	enum err kind = local_store_check_name(name, e);

	if (kind)
		return kind;
	kind = open_store(false, &path, &store, &why);
	if (!kind && !faccessat(store, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return ERR_OK;
	if (kind && kind != ERR_NOT_FOUND)
		return error_set(e, kind, "%s", why.text);
	return error_set(e, ERR_NOT_FOUND, "local:%s: there is no such sandbox", name);
}

enum err local_store_create(char name[128], struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int store = -1;
	enum err kind = open_store(true, &path, &store, e);

	if (kind)
		return kind;
	do {
		uint32_t random;

		if (getrandom(&random, sizeof random, 0) != sizeof random)
			return error_errno(e, errno, "getrandom");
		snprintf(name, 128, "sbx-%08x", random);
		if (!mkdirat(store, name, 0700))
			return ERR_OK;
	} while (errno == EEXIST);
	return error_errno(e, errno, "%s/%s", path, name);
}

/* ---- Listing ---- */

static int64_t age_s(int64_t made_s)
{
	int64_t now_s = time(NULL);

	return now_s > made_s ? now_s - made_s : 0;
}

enum err local_store_list(sandbox_sink sink, void *context, struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int store = -1;
	AUTO_DIR DIR *dir = NULL;
	struct error why = { 0 };
	enum err kind = open_store(false, &path, &store, &why);

	if (kind == ERR_NOT_FOUND)
		return ERR_OK;
	if (kind)
		return error_set(e, kind, "%s", why.text);
	dir = fdopendir(store);
	if (!dir)
		return error_errno(e, errno, "%s", path);
	take_fd(&store);
	for (struct dirent *entry; !kind && (entry = readdir(dir));) {
		struct sandbox_entry sandbox = {
			.id = entry->d_name, .state = SANDBOX_RUNNING, .expires_s = -1, .age_s = -1
		};
		struct statx st;

		if (name_ok(entry->d_name) &&
			!statx(dirfd(dir), entry->d_name, AT_SYMLINK_NOFOLLOW,
				STATX_TYPE | STATX_BTIME, &st) &&
			S_ISDIR(st.stx_mode)) {
			if (st.stx_mask & STATX_BTIME)
				sandbox.age_s = age_s(st.stx_btime.tv_sec);
			kind = sink(context, &sandbox, e);
		}
	}
	return kind;
}

/* ---- Deleting ---- */

/* Opens a directory for emptying, whatever its mode says. */
static int open_to_empty(int parent, const char *name)
{
	AUTO_CLOSE int handle = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char path[40];

	if (handle < 0)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	if (chmod(path, 0700))
		return -1;
	return openat(handle, ".", DIRECTORY);
}

/* Moves a directory that is not empty up to `top`, so that no depth costs descriptors or stack. */
static int move_up(int parent, const char *name, int top, unsigned *moved)
{
	AUTO_CLOSE int writable = open_to_empty(parent, name);
	char new_name[32];
	int failed = -1;

	if (writable < 0)
		return -1;
	do {
		snprintf(new_name, sizeof new_name, "removed-%u", (*moved)++);
		failed = renameat2(parent, name, top, new_name, RENAME_NOREPLACE);
	} while (failed && errno == EEXIST);
	return failed;
}

static int remove_entry(int parent, const char *name, int top, unsigned *moved)
{
	if (!unlinkat(parent, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (!unlinkat(parent, name, AT_REMOVEDIR))
		return 0;
	return errno == ENOTEMPTY || errno == EEXIST ? move_up(parent, name, top, moved) : -1;
}

static int empty_dir(int parent, const char *name, int top, unsigned *moved)
{
	AUTO_CLOSE int fd = open_to_empty(parent, name);
	AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return -1;
	take_fd(&fd);
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (remove_entry(dirfd(dir), entry->d_name, top, moved))
			return -1;
	}
	return 0;
}

/*
 * Makes one pass over the sandbox's own directory, except the lock. `*left`: whether there were
 * entries.
 */
static int empty_pass(int sandbox, unsigned *moved, bool *left)
{
	AUTO_CLOSE int fd = openat(sandbox, ".", DIRECTORY);
	AUTO_DIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	*left = false;
	if (!dir)
		return -1;
	take_fd(&fd);
	for (struct dirent *entry; (entry = readdir(dir));) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, "..") || !strcmp(name, "lock"))
			continue;
		*left = true;
		if (unlinkat(sandbox, name, 0) &&
			(empty_dir(sandbox, name, sandbox, moved) ||
				unlinkat(sandbox, name, AT_REMOVEDIR)))
			return -1;
	}
	return 0;
}

static enum err remove_sandbox(int store, int sandbox, const char *name, struct error *e)
{
	unsigned moved = 0;
	bool left = true;

	while (left)
		if (empty_pass(sandbox, &moved, &left))
			return error_errno(e, errno, "local:%s could not be removed whole", name);
	if (unlinkat(sandbox, "lock", 0) || unlinkat(store, name, AT_REMOVEDIR))
		return error_errno(e, errno, "local:%s", name);
	return ERR_OK;
}

enum err local_store_delete(const char *name, struct error *e)
{
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int store = -1, sandbox = -1, lock = -1;
	struct error why = { 0 };
	enum err kind = local_store_check_name(name, e);

	if (kind)
		return kind;
	kind = open_store(false, &path, &store, &why);
	if (kind)
		return kind == ERR_NOT_FOUND ? ERR_OK : error_set(e, kind, "%s", why.text);
	sandbox = openat(store, name, DIRECTORY);
	if (sandbox < 0)
		return errno == ENOENT ? ERR_OK : error_errno(e, errno, "%s/%s", path, name);
	lock = openat(sandbox, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		return error_errno(e, errno, "local:%s: lock", name);
	kind = hold(lock, name, LOCK_EX, &why);
	if (kind)
		return kind == ERR_STALE ? ERR_OK : error_set(e, kind, "%s", why.text);
	/* A disk that was not mounted: the lock is in the directory below it. */
	if (local_disk_remove(store, path, name)) {
		unlinkat(sandbox, "lock", 0);
		return unlinkat(store, name, AT_REMOVEDIR) ? error_errno(e, errno, "local:%s", name)
							   : ERR_OK;
	}
	return remove_sandbox(store, sandbox, name, e);
}
