/*
 * umount.fuse.sandboxfs - called by umount(8) for our mounts: sends the pending changes, then
 * unmounts.
 *
 *     umount.fuse.sandboxfs DIR [-nlfvr] [-N namespace] [-t type.subtype] [-o options]
 */
#include "providers/base/cleanup.h"
#include "providers/base/inherited.h"
#include "tools/detach.h"
#include "tools/drain.h"
#include "tools/exits.h"
#include "tools/mount_elsewhere.h"
#include "tools/namespace.h"
#include "tools/real_path.h"
#include "tools/say.h"
#include "tools/umount_help.h"

#include <getopt.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* A forced or lazy unmount does not wait for an answer that may never come. */
#define FORCED_MS   10000
#define SECONDS_MAX 1e9

struct umount_options {
	const char *dir;
	const char *namespace;
	int64_t limit_ms; /* for sending pending changes; -1: as long as there is progress */
	bool may_wait, is_forced, is_verbose;
	bool wants_help, wants_version;
};

/* ---- The mount table ---- */

/* The topmost mount on `dir`: the last in the table. */
static enum err find_mount(const char *dir, struct mounted *out, struct error *e)
{
	FILE *table = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	bool is_mounted = false, is_ours = false;

	if (!table)
		return error_errno(e, errno, "/proc/self/mounts");
	while ((entry = getmntent(table))) {
		if (strcmp(entry->mnt_dir, dir))
			continue;
		is_mounted = true;
		is_ours = !strcmp(entry->mnt_type, MOUNTED_TYPE);
		mounted_take_owner(out, entry);
	}
	endmntent(table);
	if (!is_mounted)
		return error_set(e, ERR_NOT_FOUND, "%s: not mounted", dir);
	if (!is_ours)
		return error_set(e, ERR_INVALID,
			"%s: not a mount of sandboxfs; use umount, without -t", dir);
	return ERR_OK;
}

/* ---- The program ---- */

static void complain(const struct error *e)
{
	say(stderr, "umount.fuse.sandboxfs: %s", e->text);
}

/* No failure: the unmount is done, and the remaining mounts may be wanted. */
static void tell_elsewhere(const char *dir, const struct mount_device *device)
{
	char there[PATH_MAX];
	pid_t pid = mount_elsewhere(device, there, sizeof there);

	if (pid)
		say(stderr,
			"umount.fuse.sandboxfs: %s: unmounted here; the mount lives on in the "
			"mount "
			"namespace of process %d: umount -N %d %s ends it there",
			dir, (int)pid, (int)pid, there);
}

static enum err unmount(const struct umount_options *r, struct error *e)
{
	AUTO_FREE char *dir = real_path(r->dir);
	struct mounted m = { .dir = dir };
	struct mount_device device;
	unsigned how = (r->may_wait ? DETACH_LAZY : 0) | (r->is_forced ? DETACH_FORCE : 0);

	if (!dir)
		return error_errno(e, errno, "%s", r->dir);

	enum err kind = find_mount(dir, &m, e);

	if (kind)
		return kind;
	kind = drain(&m, r->limit_ms < 0 && how ? FORCED_MS : r->limit_ms, how, e);
	if (kind && !how)
		return kind;
	if (kind)
		complain(e);
	mount_device_of(dir, &device);
	kind = detach(dir, how, e);
	if (!kind)
		tell_elsewhere(dir, &device);
	if (!kind && r->is_verbose)
		say(stdout, "%s: unmounted", dir);
	return kind;
}

/* Options of others are accepted: a line of fstab has one list of options for both programs. */
static enum err take_options(struct umount_options *r, char *list, struct error *e)
{
	static const char timeout[] = "timeout=";

	for (char *word; (word = strsep(&list, ","));) {
		const char *value = word + strlen(timeout);
		char *end;

		if (strncmp(word, timeout, strlen(timeout)) != 0)
			continue;
		double seconds = strtod(value, &end);

		if (end == value || *end || !(seconds >= 0 && seconds <= SECONDS_MAX))
			return error_set(e, ERR_INVALID,
				"option '%.60s': a number of seconds, as in timeout=60", word);
		r->limit_ms = (int64_t)(seconds * 1000);
	}
	return ERR_OK;
}

static enum err parse(struct umount_options *r, int argc, char **argv, struct error *e)
{
	static const struct option names[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};

	enum err kind = ERR_OK;

	opterr = 0; /* we print the one line ourselves */
	for (int c; !kind && (c = getopt_long(argc, argv, "nlfvrN:t:o:hV", names, NULL)) != -1;)
		switch (c) {
		case 'l': r->may_wait = true; break;
		case 'f': r->is_forced = true; break;
		case 'v': r->is_verbose = true; break;
		case 'N': r->namespace = optarg; break;
		case 'o': kind = take_options(r, optarg, e); break;
		case 'h': r->wants_help = true; break;
		case 'V': r->wants_version = true; break;
		case '?':
			return error_set(e, ERR_INVALID,
				"'%.60s': unknown, or its value is missing; see --help",
				argv[optind - 1]);
		default: break;
		}
	if (kind)
		return kind;
	r->dir = argv[optind];
	if (optind + 1 != argc && !r->wants_help && !r->wants_version)
		return error_set(e, ERR_INVALID, "%s; see --help",
			r->dir ? "one directory at a time" : "the directory is missing");
	return ERR_OK;
}

static enum err act(const struct umount_options *r, struct error *e)
{
	enum err kind = ERR_OK;

	if (r->wants_help)
		umount_print_help(stdout);
	else if (r->wants_version)
		say(stdout, "umount.fuse.sandboxfs " SANDBOXFS_VERSION);
	if (r->wants_help || r->wants_version)
		return ERR_OK;
	if (r->namespace)
		kind = namespace_enter(r->namespace, e);
	inherited_close();
	return kind ? kind : unmount(r, e);
}

int main(int argc, char **argv)
{
	struct umount_options request = { .limit_ms = -1 };
	struct error e = { 0 };
	enum err kind;

	inherited_reset();
	kind = parse(&request, argc, argv, &e);
	if (!kind)
		kind = act(&request, &e);
	if (kind)
		complain(&e);
	return exits_for(kind);
}
