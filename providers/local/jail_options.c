#include "providers/local/jail_options.h"

#include "providers/base/cleanup.h"
#include "providers/local/devices.h"
#include "providers/local/jail_filter.h"
#include "providers/local/jail_root.h"
#include "providers/local/nat.h"
#include "providers/spawn.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Options of bwrap, mostly the environment of the request. */
#define ARGS_MAX (4 * 1024 * 1024)

/* An allow-list: programs need these to work, and none of them holds a secret. */
static const char *const etc_patterns[] = { "alternatives", "ca-certificates",
	"ca-certificates.conf", "crypto-policies", "debian_version", "default/locale", "emacs",
	"fonts", "gai.conf", "group", "host.conf", "hosts", "inputrc", "issue", "java-*",
	"ld-musl-*", "ld.so.*", "locale.alias", "locale.conf", "localtime", "login.defs",
	"lsb-release", "magic", "magic.mime", "mailcap", "mime.types", "networks", "nsswitch.conf",
	"os-release", "papersize", "passwd", "perl", "pki/ca-trust", "pki/tls/certs", "profile",
	"profile.d", "protocols", "python3*", "R", "resolv.conf", "rpc", "services", "sgml",
	"shells", "skel", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "vim",
	"xattr.conf", "xml" };

/*
 * The capabilities of root that builds and installations need; none of them reaches past the jail.
 */
static const struct {
	unsigned number;
	const char *name;
} root_capabilities[] = { { CAP_CHOWN, "CAP_CHOWN" }, { CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE" },
	{ CAP_FOWNER, "CAP_FOWNER" }, { CAP_FSETID, "CAP_FSETID" }, { CAP_KILL, "CAP_KILL" },
	{ CAP_NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE" }, { CAP_SETGID, "CAP_SETGID" },
	{ CAP_SETPCAP, "CAP_SETPCAP" }, { CAP_SETUID, "CAP_SETUID" },
	{ CAP_SYS_CHROOT, "CAP_SYS_CHROOT" } };

/*
 * Directories of /proc through which root could change the machine without a capability, by owning
 * the files. bwrap covers some others.
 */
static const char *const proc_dirs[] = { "/proc/sys", "/proc/fs", "/proc/acpi", "/proc/scsi" };

/* ---- bwrap's options ---- */

static void put_words(struct buf *args, const char *const *words)
{
	for (; *words; words++)
		buf_add(args, *words, strlen(*words) + 1);
}
#define put(args, ...) put_words(args, (const char *const[]){ __VA_ARGS__, NULL })

/* On a merged /usr these are links, which jail_root.c makes. */
static void put_system_dirs(struct buf *args)
{
	for (const char *const *name = jail_system_dirs; *name; name++) {
		char path[32];

		snprintf(path, sizeof path, "/%s", *name);
		if (!jail_is_link(path))
			put(args, "--ro-bind-try", path, path);
	}
}

/* bwrap would make missing parents for their owner alone; root's jail may have other users. */
static void put_etc(struct buf *args)
{
	put(args, "--tmpfs", "/etc", "--perms", "0755", "--dir", "/etc/default");
	put(args, "--perms", "0755", "--dir", "/etc/ssl");
	for (size_t i = 0; i < sizeof etc_patterns / sizeof *etc_patterns; i++) {
		char pattern[64];
		glob_t found;

		snprintf(pattern, sizeof pattern, "/etc/%s", etc_patterns[i]);
		if (glob(pattern, GLOB_NOSORT, NULL, &found))
			continue;
		for (size_t k = 0; k < found.gl_pathc; k++)
			put(args, "--ro-bind-try", found.gl_pathv[k], found.gl_pathv[k]);
		globfree(&found);
	}
}

/*
 * The mode of a file in /proc is the same in all mounts of /proc, and root owns it: so root gets
 * /proc read-only.
 */
static void put_proc(struct buf *args)
{
	put(args, "--proc", "/proc");
	if (geteuid())
		return;
	for (size_t i = 0; i < sizeof proc_dirs / sizeof *proc_dirs; i++)
		put(args, "--ro-bind-try", proc_dirs[i], proc_dirs[i]);
	put(args, "--remount-ro", "/proc");
}

/*
 * bwrap shows the machine's own devices, whose modes and owners root could change: the sandbox's
 * devices cover them.
 */
static void put_devices(struct buf *args, const struct jail *jail)
{
	put(args, "--dev", "/dev");
	for (const struct local_device *d = local_devices; jail->devices && d->name; d++) {
		char ours[PATH_MAX], shown[32];

		snprintf(ours, sizeof ours, "%s/%s", jail->devices, d->name);
		snprintf(shown, sizeof shown, "/dev/%s", d->name);
		put(args, "--dev-bind", ours, shown);
	}
}

static void put_directories(struct buf *args, const struct jail *jail)
{
	put(args, "--bind", jail->root, "/", "--ro-bind", "/usr", "/usr");
	put_system_dirs(args);
	put_etc(args);
	put_proc(args);
	put_devices(args, jail);
	put(args, "--tmpfs", "/run");
	put(args, "--bind", jail->home, "/home", "--bind", jail->user_home, JAIL_HOME);
	if (jail->staging)
		put(args, "--bind", jail->staging, JAIL_STAGING);
	put(args, "--bind", jail->tmp, "/tmp");
	if (jail->network == NETWORK_NAT)
		put(args, "--ro-bind-data", "8", "/etc/resolv.conf");
}

static void put_environment(struct buf *args, const struct jail *jail, const char *const *env)
{
	put(args, "--clearenv", "--setenv", "PATH",
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	put(args, "--setenv", "HOME", JAIL_HOME, "--setenv", "SHELL", "/bin/sh");
	put(args, "--setenv", "USER", jail->user, "--setenv", "LOGNAME", jail->user);
	put(args, "--setenv", "LANG", "C.UTF-8");
	for (; env && *env; env++) {
		const char *equals = strchr(*env, '=');

		if (!equals)
			continue;
		put(args, "--setenv");
		buf_add(args, *env, (size_t)(equals - *env));
		buf_add_byte(args, 0);
		put(args, equals + 1);
	}
}

/* bwrap 0.8 silently keeps every capability when asked to keep one that we do not have. */
static uint64_t own_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return 0;
	return data[0].permitted | (uint64_t)data[1].permitted << 32;
}

static void put_capabilities(struct buf *args)
{
	uint64_t own = own_capabilities();

	put(args, "--cap-drop", "ALL");
	if (geteuid())
		return;
	for (size_t i = 0; i < sizeof root_capabilities / sizeof *root_capabilities; i++)
		if (own >> root_capabilities[i].number & 1)
			put(args, "--cap-add", root_capabilities[i].name);
}

static bool has_own_network(const struct jail *jail)
{
	return jail->network == NETWORK_NONE || jail->network == NETWORK_NAT;
}

static void put_all(
	struct buf *args, const struct jail *jail, const char *const *own, const char *const *env)
{
	put(args, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", jail->name);
	put(args, "--new-session", "--seccomp", "6");
	if (has_own_network(jail))
		put(args, "--unshare-net");
	put_capabilities(args);
	put_directories(args, jail);
	put_words(args, own);
	put(args, "--remount-ro", "/etc", "--remount-ro", "/", "--chdir", "/");
	put_environment(args, jail, env);
}
_Static_assert(JAIL_FILTER == 6 && JAIL_RESOLV == 8, "put_all() names them");

enum err jail_options_open(const struct jail *jail, const char *const *own, const char *const *env,
	int fds[JAIL_FDS], struct error *e)
{
	AUTO_BUF struct buf args = BUF_INIT(ARGS_MAX);
	enum err kind;

	put_all(&args, jail, own, env);
	kind = buf_check(&args, "environment of a command", e);
	if (!kind)
		kind = spawn_memory(args.bytes, args.len, "a command", &fds[JAIL_ARGS], e);
	if (!kind && jail->network == NETWORK_NAT)
		kind = spawn_memory(NAT_RESOLV_CONF, strlen(NAT_RESOLV_CONF), "a command",
			&fds[JAIL_RESOLV], e);
	return kind ? kind : jail_filter_open(&fds[JAIL_FILTER], e);
}

/* ---- The program ---- */

static char *find_bwrap(void)
{
	const char *path = getenv("PATH");

	for (const char *dir = path ? path : "/usr/local/bin:/usr/bin:/bin"; *dir;) {
		size_t len = strcspn(dir, ":");
		AUTO_FREE char *candidate = NULL;

		if (asprintf(&candidate, "%.*s/bwrap", (int)len, dir) < 0)
			return NULL;
		if (*dir == '/' && !access(candidate, X_OK))
			return take(candidate);
		dir += len;
		dir += *dir == ':';
	}
	return NULL;
}

enum err jail_start(
	pid_t *pid, const char *const *argv, const int *fds, size_t count, struct error *e)
{
	AUTO_FREE char *bwrap = find_bwrap();

	if (!bwrap)
		return error_set(e, ERR_UNSUPPORTED,
			"bubblewrap (bwrap) is not installed; apt install bubblewrap");
	return spawn_program(pid, bwrap, (char *const *)argv, fds, count, e);
}
