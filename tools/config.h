/*
 * config.h - the command line, its `-o` options and the environment as one plain struct.
 *
 *      sandboxfs SOURCE DIRECTORY [options]
 *      mount.fuse.sandboxfs SOURCE DIRECTORY [-sfnv] [-N namespace] [-o options] [-t type]
 *                      (as mount(8) calls it)
 *
 * Every option is one row of a table (options.h), which also prints --help. Only the words are
 * checked here; preflight.h checks whether the directory exists and the key file is readable.
 */
#pragma once

#include "fs/mount.h"
#include "providers/provider.h"
#include "tools/setup_script.h"

#include <stdio.h>

enum config_idmap {
	/*
	 * As IDMAP_USER for an ordinary user, where uid= or gid= is given, and where the sandbox's
	 * user has no number here (user_map.h); otherwise as IDMAP_NONE.
	 */
	IDMAP_AUTO,
	IDMAP_NONE, /* owners are shown as the sandbox has them */
	IDMAP_USER, /* the sandbox's user is shown as `uid` and `gid`, and back */
};

/*
 * The properties of a new sandbox. NULL or 0: the vendor's default. The fields are those of struct
 * provider_config, but owned.
 */
struct creation {
	char *template, *image, *name, *gpu, *region, *language;
	char **env, **labels, **allowed; /* ended by NULL */
	double cpus;
	int64_t memory_mb, disk_mb, lifetime_ms, idle_ms, archive_after_ms, delete_after_ms;
	int64_t pids;
	int network; /* enum network */
	int block_network;
	uint16_t *ports; /* ended by 0 */
};

/* `out` then points into `c`. */
void creation_ask(const struct creation *c, struct provider_config *out);
void creation_release(struct creation *c);

struct config {
	char *source;
	char *mountpoint;

	/* Actions. */
	int help, version;
	int fake; /* `mount -f`: connect, mount nothing */
	int foreground, debug, verbose;
	int sloppy;      /* `mount -s`: unknown options are no error */
	char *namespace; /* `mount -N`: a file of /proc; NULL: this one */
	char *log;       /* base/log.h; NULL: the default */

	/* The sandbox. */
	char *user, *key_file, *url, *app;
	int insecure_http;
	char **headers;      /* "NAME: VALUE", ended by NULL; owned, NULL: none */
	char **client;       /* provider_config.client_options */
	int helper;          /* enum helper_mode */
	int resume;          /* enum resume_mode */
	int keep;            /* a sandbox made here outlives the mount */
	int64_t progress_ms; /* 0: the default; negative: none */
	int64_t ready_ms;    /* base/call.h; 0: the default */
	struct creation creation;
	struct setup_request setup;
	int reuse;
	int lazy;      /* the sandbox is made at the first use */
	char *workdir; /* NULL: the source's path, or the sandbox's own */

	/* The mount. */
	int idmap;        /* enum config_idmap */
	int64_t uid, gid; /* -1: not given */
	int allow_other, allow_root, read_only, noexec, noatime, nonempty;
	int symlinks; /* enum mount_symlinks */
	int list_control;
	/* As in struct cache_options. */
	int close_waits, write_through, excl_remote, full_fails;
	char *journal,
		*cache; /* "off", or a directory's absolute path; NULL: the default (user_dirs.h) */
	int64_t journal_mb; /* as cache_mb; 0: the default (cache/journal/journal.h) */
	int64_t cache_mb;   /* units of 1024 * 1024 bytes; 0: depends on the free space */
	int64_t attr_ms, entry_ms, exec_timeout_ms;
	char *exec_shell; /* providers/user_shell.h; NULL: auto */
	char *audit;      /* an absolute path; NULL: no record */
	int64_t threads_max;
};

#define AUTO_CONFIG __attribute__((cleanup(config_release)))

/*
 * ERR_INVALID: the sentence names the wrong word and a remedy. With `help` or `version` set no
 * other word is required. argv[0] matters: under a name that starts with "mount." the program is
 * mount(8)'s helper and -f means fake. On failure there is nothing to release.
 */
enum err config_parse(struct config *out, int argc, char **argv, struct error *e);
void config_release(struct config *c);

void config_print_help(FILE *to);

/* Whether the sandbox's user is shown as a local user, and as which one. */
/* `user`: of the sandbox */
bool config_maps_owners(const struct config *c, const struct identity *user);
uid_t config_owner_uid(const struct config *c);
gid_t config_owner_gid(const struct config *c);

/*
 * The level and components to log: the option's, otherwise those of -d and -v; NULL: the default.
 */
const char *config_log_spec(const struct config *c);

/* The kernel's own mount options, "nosuid,nodev,...". Allocated; NULL without memory. */
char *config_kernel_options(const struct config *c);
