#include "tools/options.h"

#include "tools/config.h"
#include "tools/creation_options.h"

#include <stddef.h>

#define AT(field) offsetof(struct config, field)
#define FLAG(option, field, value, text)                                                           \
	{                                                                                          \
		.name = (option), .help = (text), .set = option_set_flag, .offset = AT(field),     \
		.number = (value)                                                                  \
	}
#define VALUE(option, setter, field, of, text)                                                     \
	{                                                                                          \
		.name = (option), .argument = (of), .help = (text), .set = (setter),               \
		.offset = AT(field)                                                                \
	}
#define MADE_BY_VALUE(bit, letter, field, setter, name, word, of, text)                            \
	VALUE(name "=", setter, creation.field, of, "no ID: " text)
#define MADE_BY_FLAG(bit, letter, field, setter, name, word, of, text)                             \
	FLAG(name, creation.field, 1, "no ID: " text)
#define HIDDEN(option, field, value)                                                               \
	{                                                                                          \
		.name = (option), .help = "", .set = option_set_flag, .offset = AT(field),         \
		.number = (value)                                                                  \
	}
#define IGNORED(option)                                                                            \
	{                                                                                          \
		.name = (option)                                                                   \
	}
#define REFUSED(option, of, why)                                                                   \
	{                                                                                          \
		.name = (option), .argument = (of), .help = (why), .set = option_refuse            \
	}

const struct opt options[] = {
	FLAG("-f", foreground, 1, "stay in the foreground"),
	FLAG("-d", debug, 1, "debug: in the foreground, log everything"),
	FLAG("-v", verbose, 1, "log what happens, not only what goes wrong"),
	FLAG("-h", help, 1, "print this; also --help"),
	HIDDEN("--help", help, 1),
	FLAG("-V", version, 1, "print the version; also --version"),
	HIDDEN("--version", version, 1),
	HIDDEN("-s", sloppy, 1),
	{ .name = "-N ",
		.help = "",
		.set = option_set_text,
		.argument = "the namespace",
		.offset = AT(namespace) },
	{ .name = "-n", .help = "" },
	{ .name = "-t ", .help = "" },

	VALUE("user=", option_set_text, user, "NAME", "the sandbox's user, for commands and files"),
	VALUE("sandbox_user=", option_set_text, user, "NAME",
		"the same, for an fstab line that ordinary users mount, where mount(8) takes user= "
		"itself"),
	VALUE("key_file=", option_set_text, key_file, "FILE",
		"the provider's key, in a file of mode 0600; else it comes from the environment"),
	VALUE("url=", option_set_text, url, "URL",
		"the base URL of the provider's API, where it is not the vendor's own"),
	VALUE("header=", option_set_word, headers, "NAME: VALUE",
		"a header of every request to the provider's API, as a gateway before it may want; "
		"may "
		"be repeated; other users here see it in the list of processes"),
	FLAG("insecure_http", insecure_http, 1,
		"use a URL of http that leads to another machine, unencrypted (one of a private "
		"network is used without it)"),
	FLAG("keep", keep, 1, "no ID in the source: the sandbox made for the mount outlives it"),
	VALUE("env=", option_set_variable, creation.env, "NAME=VALUE",
		"no ID: a variable for all programs in the sandbox that is made; may be repeated; "
		"other users here see it in the list of processes"),
	CREATION_OPTIONS(MADE_BY_VALUE, MADE_BY_FLAG),
	VALUE("setup=", option_set_text, setup.path, "SCRIPT",
		"no ID: run this script in the sandbox that is made; when that fails the sandbox "
		"is deleted. $NAME in it becomes what NAME is here, in the environment or in a "
		"file .env beside the script"),
	VALUE("setup_timeout=", option_set_seconds, setup.timeout_ms, "SECONDS",
		"how long the script may take (300); 0: as long as it likes"),
	VALUE("setup_env=", option_set_text, setup.names, "NAME:...|none",
		"exactly these names become what they are here; none: the script goes as it is"),
	FLAG("reuse", reuse, 1,
		"no ID: mount the sandbox that has all of label=, and make one only where there is "
		"none, which then outlives the mount"),
	FLAG("lazy", lazy, 1,
		"no ID: make the sandbox when the mount is first used; where that fails the use "
		"does, the log says why, and the next one tries again"),
	VALUE("workdir=", option_set_path, workdir, "DIRECTORY",
		"no ID, no PATH: make this directory in the sandbox, where it is missing, and show "
		"it"),
	FLAG("keep_failed", setup.keep_failed, 1, "keep the sandbox when its script fails"),
	VALUE("lifetime=", option_set_seconds, creation.lifetime_ms, "SECONDS",
		"a sandbox that ends by itself is given so much time, again and again while the "
		"mount "
		"is in use (300)"),
	VALUE("resume=", option_set_choice, resume, "access|never",
		"whether a paused sandbox is woken when somebody uses the mount"),
	VALUE("helper=", option_set_choice, helper, "auto|process",
		"process: also for local: the helper is a program of its own"),
	VALUE("app=", option_set_text, app, "NAME",
		"the provider's group of sandboxes, where there are such (sandboxfs): new ones "
		"join it, and a name in the source is looked up there"),
	VALUE("ready_timeout=", option_set_seconds, ready_ms, "SECONDS",
		"how long a sandbox may take until it is ready when the mount makes or wakes it at "
		"its beginning (180)"),
	VALUE("timeout=", option_set_progress, progress_ms, "SECONDS",
		"give up a request that makes no progress for so long (30); 0: never"),
	VALUE("exec_timeout=", option_set_seconds, exec_timeout_ms, "SECONDS",
		"end a command of .sandbox/exec after so long (1800); 0: never"),
	VALUE("exec_shell=", option_set_shell, exec_shell, "auto|sh|bash|login|PATH",
		"what runs commands of .sandbox/exec and spawn: bash, which reads ~/.bashrc; "
		"login: also /etc/profile and ~/.profile; auto: login where the provider's own SDK "
		"does so, else bash; without "
		"bash, /bin/sh"),

	VALUE("audit=", option_set_file, audit, "FILE",
		"add a line of JSON to this file for each change and command: what, when, who "
		"asked; no contents. A HUP has it opened again, for logrotate"),

	VALUE("uid=", option_set_uid, uid, "USER",
		"show the sandbox user's files as this user's here"),
	VALUE("gid=", option_set_gid, gid, "GROUP", "and as this group's"),
	{ .name = "idmap=",
		.argument = "auto|none|user",
		.set = option_set_choice,
		.offset = AT(idmap),
		.help = "none: owners as the sandbox has them; user: its user is uid= and gid=, or "
			"the one "
			"who mounts; auto: user, but none for root without uid= and gid= where "
			"that user exists here" },
	FLAG("allow_other", allow_other, 1, "let other users in"),
	FLAG("allow_root", allow_root, 1, "let root in"),
	FLAG("ro", read_only, 1, "read-only"),
	FLAG("rw", read_only, 0, "read and write, as without ro"),
	FLAG("noexec", noexec, 1, "no program on it can be run from here"),
	FLAG("exec", noexec, 0, "as without noexec"),
	FLAG("nonempty", nonempty, 1, "mount over a directory that is not empty, or over a mount"),
	VALUE("symlinks=", option_set_choice, symlinks, "rewrite|refuse|raw",
		"what becomes of links that would lead out of the mount"),
	FLAG("list_control", list_control, 1, "name .sandbox when the root is listed"),
	VALUE("attr_timeout=", option_set_seconds, attr_ms, "SECONDS",
		"attributes are valid for so long without asking (1.0)"),
	VALUE("entry_timeout=", option_set_seconds, entry_ms, "SECONDS", "and names (1.0)"),
	VALUE("journal=", option_set_dir, journal, "DIR|off",
		"keep changes that a sandbox does not have yet in this directory, one below it for "
		"each sandbox "
		"($XDG_STATE_HOME/sandboxfs, or ~/.local/state/sandboxfs); off: in files that end "
		"with the mount"),
	VALUE("journal_size=", option_set_size, journal_mb, "SIZE", "so much of them at most (1G)"),
	VALUE("journal_full=", option_set_choice, full_fails, "wait|fail",
		"then changes wait until some of it was sent, for as long as something is, or fail "
		"with ENOSPC while the sandbox cannot be reached"),
	VALUE("cache=", option_set_dir, cache, "DIR|off",
		"keep contents of files in this directory, for all mounts of this user "
		"($XDG_CACHE_HOME/sandboxfs, or ~/.cache/sandboxfs); off: a few, in memory"),
	VALUE("cache_size=", option_set_size, cache_mb, "SIZE",
		"so much of them at most, as in cache_size=2G (a tenth of what is free, up to "
		"10G)"),
	VALUE("max_threads=", option_set_threads, threads_max, "NUMBER",
		"requests served at once (64)"),
	VALUE("log=", option_set_log, log, "SPEC",
		"error, warn, info or debug, alone or as COMPONENT=LEVEL, ':' between several "
		"(components: tools fs control cache lease write provider helper http)"),
	VALUE("close=", option_set_choice, close_waits, "async|wait",
		"wait: a close returns when the sandbox has what was written to the file, or with "
		"the error"),
	FLAG("sync", write_through, 1,
		"a change returns when the sandbox has it, or with the error"),
	FLAG("dirsync", write_through, 1, "the same"),
	FLAG("async", write_through, 0, "as without sync"),
	VALUE("excl=", option_set_choice, excl_remote, "auto|remote",
		"remote: the sandbox alone says whether a name is free for what must be new "
		"(O_EXCL, "
		"mkdir, link), so that lock files hold against its programs, too"),

	FLAG("noatime", noatime, 1, "reading moves no access times"),
	REFUSED("remount", "", "unmount and mount again instead"),
	REFUSED("fsname=", "NAME", "the mount table shows the source; leave it out"),
	REFUSED("subtype=", "NAME", "it is always sandboxfs; leave it out"),
	REFUSED("loop", "", "a sandbox is no disk image; leave it out"),

	/* In effect for every mount. mount.fuse3 adds suid and dev by itself. */
	IGNORED("nosuid"),
	IGNORED("nodev"),
	IGNORED("suid"),
	IGNORED("dev"),
	IGNORED("default_permissions"),
	IGNORED("atime"),
	IGNORED("diratime"),
	IGNORED("nodiratime"),
	IGNORED("relatime"),
	IGNORED("norelatime"),
	IGNORED("strictatime"),
	IGNORED("nostrictatime"),
	IGNORED("lazytime"),
	IGNORED("nolazytime"),
	IGNORED("iversion"),
	IGNORED("noiversion"),
	IGNORED("mand"),
	IGNORED("nomand"),
	IGNORED("silent"),
	IGNORED("loud"),
	/*
	 * Options that mount(8) and systemd read in fstab. Names that start with x- or X- are
	 * theirs, too.
	 */
	IGNORED("defaults"),
	IGNORED("auto"),
	IGNORED("noauto"),
	IGNORED("nofail"),
	IGNORED("_netdev"),
	IGNORED("user"),
	IGNORED("nouser"),
	IGNORED("users"),
	IGNORED("nousers"),
	IGNORED("owner"),
	IGNORED("noowner"),
	IGNORED("group"),
	IGNORED("nogroup"),
	IGNORED("comment="),
};

const size_t options_count = sizeof options / sizeof *options;
