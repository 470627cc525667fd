#define FUSE_USE_VERSION 314 /* Debian 12 has 3.14 */

#include "cache/journal/journal.h"
#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "tools/apart.h"
#include "tools/ctl/checks.h"
#include "tools/host.h"
#include "tools/user_dirs.h"

#include <fuse_lowlevel.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>

#define MIB         ((uint64_t)1024 * 1024)
#define VERSION_MAX 100
#define PROBE_MS    5000

/*
 * openat2(2), without which paths are walked step by step, is in Linux from 5.6 on; 5.10 is the
 * next version with long support.
 */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 10

/* ---- FUSE ---- */

void check_kernel(struct finding *out)
{
	struct utsname system;
	int major = 0, minor = 0;

	uname(&system);
	sscanf(system.release, "%d.%d", &major, &minor);
	if (major > KERNEL_MAJOR || (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
		finding_set(out, FINDING_OK, "%s %s", system.sysname, system.release);
	else
		finding_set(out, FINDING_WARN, "%s %s is old; use %d.%d or newer", system.sysname,
			system.release, KERNEL_MAJOR, KERNEL_MINOR);
}

void check_device(struct finding *out)
{
	struct error e = { 0 };

	if (host_check_device(&e))
		finding_set(out, FINDING_FAIL, "%s", e.text);
	else
		finding_set(out, FINDING_OK, "/dev/fuse can be opened");
}

/* The first line of the command's output; "" where it cannot be run. `command` is a literal. */
static void first_line(const char *command, char line[VERSION_MAX])
{
	FILE *said = popen(command, "re");

	if (!said || !fgets(line, VERSION_MAX, said))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (said)
		pclose(said);
}

void check_fusermount(struct finding *out)
{
	char version[VERSION_MAX];
	struct error e = { 0 };

	enum err kind = host_check_fusermount(&e);

	first_line("fusermount3 --version 2>/dev/null", version);
	if (kind && geteuid() != 0)
		finding_set(out, FINDING_FAIL, "%s", e.text);
	else if (kind)
		finding_set(out, FINDING_WARN, "%s", e.text);
	else
		finding_set(out, FINDING_OK, "%s", *version ? version : "is there");
}

void check_libfuse(struct finding *out)
{
	finding_set(out, FINDING_OK, "libfuse %s", fuse_pkgversion());
}

/* ---- Requirements of commands of local: ---- */

void check_bubblewrap(struct finding *out)
{
	char version[VERSION_MAX];

	first_line("bwrap --version 2>/dev/null", version);
	if (*version)
		finding_set(out, FINDING_OK, "%s", version);
	else
		finding_set(out, FINDING_WARN,
			"no bwrap: commands in sandboxes of local: do not run; as root: apt "
			"install "
			"bubblewrap");
}

/* As bwrap does: root needs no user namespace, which cannot be made in a chroot. */
static int make_namespace(const void *context)
{
	(void)context;
	return unshare(CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0)) ? errno : 0;
}

void check_namespaces(struct finding *out)
{
	int failure = apart_run(make_namespace, NULL, PROBE_MS);

	if (!failure)
		finding_set(out, FINDING_OK, "can be made");
	else
		finding_set(out, FINDING_WARN,
			"cannot be made (%s): commands in sandboxes of local: do not run; %s",
			strerror(failure),
			geteuid() ? "as root: sysctl kernel.unprivileged_userns_clone=1, or on "
				    "Ubuntu kernel.apparmor_restrict_unprivileged_userns=0"
				  : "in a container, start that with CAP_SYS_ADMIN");
}

void check_translation(struct finding *out)
{
	char version[VERSION_MAX];

	first_line("slirp4netns --version 2>/dev/null", version);
	if (*version && access("/dev/net/tun", R_OK | W_OK))
		finding_set(out, FINDING_WARN,
			"%s, but /dev/net/tun cannot be opened: local: with network=nat does not "
			"work",
			version);
	else if (*version)
		finding_set(out, FINDING_OK, "%s", version);
	else
		finding_set(out, FINDING_UNUSED,
			"not here; local: with network=nat needs it; as root: apt install "
			"slirp4netns");
}

/* ---- The program for sandboxctl start ---- */

void check_containers(struct finding *out)
{
	char version[VERSION_MAX];

	first_line("docker --version 2>/dev/null || podman --version 2>/dev/null", version);
	if (*version)
		finding_set(out, FINDING_OK, "%s", version);
	else
		finding_set(out, FINDING_UNUSED,
			"neither docker nor podman; sandboxctl start needs one of them");
}

/* ---- The helper program ---- */

void check_helper(struct finding *out)
{
	char machines[100];

	helper_image_machines(machines, sizeof machines);
	finding_set(out, strcmp(machines, "none") ? FINDING_OK : FINDING_WARN,
		"sandboxes of these processors can be mounted: %s; others are for exec, push and "
		"pull",
		machines);
}

/* ---- Room ---- */

/* The room of the nearest existing directory on the way to `dir`. */
static bool find_room(const char *dir, uint64_t *mib, bool *may_write)
{
	AUTO_FREE char *path = strdup(dir);
	struct statvfs room;

	while (path && statvfs(path, &room)) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return false;
		*slash = '\0';
	}
	*mib = path ? (uint64_t)room.f_bavail * room.f_frsize / MIB : 0;
	*may_write = path && !access(path, W_OK | X_OK);
	return path;
}

static void check_room(const char *dir, uint64_t wanted_mib, const char *option,
	const char *without, struct finding *out)
{
	uint64_t mib = 0;
	bool may_write = false;

	if (!dir)
		finding_set(
			out, FINDING_WARN, "nowhere, for there is no home: %s; set HOME", without);
	else if (!find_room(dir, &mib, &may_write) || !may_write)
		finding_set(out, FINDING_FAIL,
			"%s: you cannot write there; make it your own, or mount with -o %s=DIR",
			dir, option);
	else if (mib < wanted_mib)
		finding_set(out, FINDING_WARN,
			"%s: %llu MiB are free, up to %llu MiB are used; make room, or mount with "
			"-o "
			"%s=DIR or %s_size=",
			dir, (unsigned long long)mib, (unsigned long long)wanted_mib, option,
			option);
	else
		finding_set(out, FINDING_OK, "%s: %llu MiB are free", dir, (unsigned long long)mib);
}

/* Enough to edit files; more is used where it is free. */
#define CACHE_WANTED_MIB 256

void check_cache(struct finding *out)
{
	AUTO_FREE char *dir = user_cache_dir(NULL);

	check_room(dir, CACHE_WANTED_MIB, "cache", "contents are kept in memory", out);
}

void check_journal(struct finding *out)
{
	AUTO_FREE char *dir = user_journals_dir(NULL);

	check_room(dir, JOURNAL_SIZE_DEFAULT / MIB, "journal",
		"changes end with the mount's process", out);
}
