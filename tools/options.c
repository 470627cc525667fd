#include "tools/options.h"

#include "providers/base/cleanup.h"
#include "tools/config.h"

#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

/* Far beyond any use, and still milliseconds without overflow. */
#define SECONDS_MAX 1e9
#define THREADS_MAX 1000

/* ---- What a value may be ---- */

static enum err set_flag(const struct option *o, const char *value, void *field, struct error *e)
{
	(void)value;
	(void)e;
	*(int *)field = o->number;
	return ERR_OK;
}

static enum err set_text(const struct option *o, const char *value, void *field, struct error *e)
{
	char **text = field;

	if (!*value)
		return error_set(
			e, ERR_INVALID, "option '%s': %s is missing", o->name, o->argument);
	free(*text);
	*text = strdup(value);
	return *text ? ERR_OK : error_set(e, ERR_NO_MEMORY, "options");
}

/* Commas separate mount options, so that log=info,fs=debug can stand in an fstab line as log=info:fs=debug. */
static enum err set_log(const struct option *o, const char *value, void *field, struct error *e)
{
	enum err kind = set_text(o, value, field, e);

	if (kind)
		return kind;
	for (char *c = *(char **)field; *c; c++)
		if (*c == ':')
			*c = ',';
	return ERR_OK;
}

static enum err set_seconds(const struct option *o, const char *value, void *field, struct error *e)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= 0 && seconds <= SECONDS_MAX))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': %s is a number of seconds, as in %s1.5", o->name, value,
			o->argument, o->name);
	*(int64_t *)field = (int64_t)(seconds * 1000 + 0.5);
	return ERR_OK;
}

/* base/call.h: 0 would be the default there, negative is none. */
static enum err set_progress(
	const struct option *o, const char *value, void *field, struct error *e)
{
	enum err kind = set_seconds(o, value, field, e);

	if (!kind && !*(int64_t *)field)
		*(int64_t *)field = -1;
	return kind;
}

static bool parse_count(const char *value, int64_t max, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	return value[0] >= '0' && value[0] <= '9' && !*end && !errno && *out <= max;
}

static enum err set_threads(const struct option *o, const char *value, void *field, struct error *e)
{
	if (!parse_count(value, THREADS_MAX, field) || !*(int64_t *)field)
		return error_set(e, ERR_INVALID, "option '%s%.60s': %s is 1 to %d", o->name, value,
			o->argument, THREADS_MAX);
	return ERR_OK;
}

static enum err set_uid(const struct option *o, const char *value, void *field, struct error *e)
{
	const struct passwd *user = getpwnam(value);

	if (user)
		*(int64_t *)field = user->pw_uid;
	else if (!parse_count(value, UINT32_MAX - 1, field))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': no such user here; give a name or a number", o->name,
			value);
	return ERR_OK;
}

static enum err set_gid(const struct option *o, const char *value, void *field, struct error *e)
{
	const struct group *group = getgrnam(value);

	if (group)
		*(int64_t *)field = group->gr_gid;
	else if (!parse_count(value, UINT32_MAX - 1, field))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': no such group here; give a name or a number", o->name,
			value);
	return ERR_OK;
}

/* Stores which of the words in o->argument it is. */
static enum err set_choice(const struct option *o, const char *value, void *field, struct error *e)
{
	size_t len = strlen(value);
	int number = 0;

	for (const char *word = o->argument;; number++) {
		size_t word_len = strcspn(word, "|");

		if (word_len == len && !memcmp(word, value, len)) {
			*(int *)field = number;
			return ERR_OK;
		}
		if (!word[word_len])
			return error_set(e, ERR_INVALID, "option '%s%.60s': use one of %s", o->name,
				value, o->argument);
		word += word_len + 1;
	}
}

/* `close=wait` is what happens anyhow; another value would be a promise not kept. */
static enum err set_close(const struct option *o, const char *value, void *field, struct error *e)
{
	(void)field;
	if (strcmp(value, "wait"))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': use close=wait, or leave it out", o->name, value);
	return ERR_OK;
}

/* `argument` says why not. */
static enum err refuse(const struct option *o, const char *value, void *field, struct error *e)
{
	(void)value;
	(void)field;
	return error_set(e, ERR_INVALID, "option '%s': %s", o->name, o->argument);
}

/* ---- The table ---- */

#define AT(field) offsetof(struct config, field)
#define FLAG(option, field, value, text)                                                           \
	{                                                                                          \
		.name = (option), .help = (text), .set = set_flag, .offset = AT(field),            \
		.number = (value)                                                                  \
	}
#define VALUE(option, setter, field, of, text)                                                     \
	{                                                                                          \
		.name = (option), .argument = (of), .help = (text), .set = (setter),               \
		.offset = AT(field)                                                                \
	}
#define HIDDEN(option, field, value)                                                               \
	{                                                                                          \
		.name = (option), .help = "", .set = set_flag, .offset = AT(field),                \
		.number = (value)                                                                  \
	}
#define IGNORED(option)                                                                            \
	{                                                                                          \
		.name = (option)                                                                   \
	}
#define REFUSED(option, why)                                                                       \
	{                                                                                          \
		.name = (option), .argument = (why), .help = "", .set = refuse                     \
	}

const struct option options[] = {
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
		.set = set_text,
		.argument = "the namespace",
		.offset = AT(namespace) },
	{ .name = "-n", .help = "" },
	{ .name = "-t ", .help = "" },

	VALUE("user=", set_text, user, "NAME", "the sandbox's user, for commands and files"),
	VALUE("sandbox_user=", set_text, user, "NAME",
		"the same, for an fstab line that ordinary users mount, where mount(8) takes user= "
		"itself"),
	VALUE("key_file=", set_text, key_file, "FILE",
		"the provider's key, in a file of mode 0600; else it comes from the environment"),
	FLAG("keep", keep, 1, "no ID in the source: the sandbox made for the mount outlives it"),
	VALUE("template=", set_text, template, "NAME",
		"no ID in the source: what the sandbox is made from"),
	VALUE("lifetime=", set_seconds, lifetime_ms, "SECONDS",
		"a sandbox that ends by itself is given so much time, again and again while the "
		"mount "
		"is in use (300)"),
	VALUE("resume=", set_choice, resume, "access|never",
		"whether a paused sandbox is woken when somebody uses the mount"),
	VALUE("helper=", set_choice, helper, "auto|off|process",
		"who does the work in the sandbox; off: a shell and its tools, slower and with "
		"losses"),
	VALUE("shell=", set_text, shell, "PROGRAM", "with helper=off: that shell (sh)"),
	VALUE("timeout=", set_progress, progress_ms, "SECONDS",
		"give up a request that makes no progress for so long (30); 0: never"),
	VALUE("exec_timeout=", set_seconds, exec_timeout_ms, "SECONDS",
		"end a command of .sandbox/exec after so long (1800); 0: never"),

	VALUE("uid=", set_uid, uid, "USER", "show the sandbox user's files as this user's here"),
	VALUE("gid=", set_gid, gid, "GROUP", "and as this group's"),
	{ .name = "idmap=",
		.argument = "auto|none|user",
		.set = set_choice,
		.offset = AT(idmap),
		.help = "none: owners as the sandbox has them; user: its user is uid= and gid=, or "
			"the one "
			"who mounts; auto: user, but none for root without uid= and gid=" },
	FLAG("allow_other", allow_other, 1, "let other users in"),
	FLAG("allow_root", allow_root, 1, "let root in"),
	FLAG("ro", read_only, 1, "read-only"),
	HIDDEN("rw", read_only, 0),
	FLAG("noexec", noexec, 1, "no program on it can be run from here"),
	HIDDEN("exec", noexec, 0),
	FLAG("nonempty", nonempty, 1, "mount over a directory that is not empty, or over a mount"),
	VALUE("symlinks=", set_choice, symlinks, "rewrite|refuse|raw",
		"what becomes of links that would lead out of the mount"),
	FLAG("list_control", list_control, 1, "name .sandbox when the root is listed"),
	VALUE("attr_timeout=", set_seconds, attr_ms, "SECONDS",
		"believe attributes for so long without asking (1.0)"),
	VALUE("entry_timeout=", set_seconds, entry_ms, "SECONDS", "and names (1.0)"),
	VALUE("max_threads=", set_threads, threads_max, "NUMBER", "requests served at once (64)"),
	VALUE("log=", set_log, log, "SPEC",
		"error, warn, info or debug, alone or as COMPONENT=LEVEL, ':' between several "
		"(components: tools fs control cache provider helper)"),
	{ .name = "close=",
		.argument = "wait",
		.set = set_close,
		.help = "a close returns when the sandbox has the file; it always does" },

	FLAG("sync", write_through, 1, "a write returns when the sandbox has it, not only a close"),
	HIDDEN("async", write_through, 0),

	FLAG("noatime", noatime, 1, ""),
	REFUSED("remount", "unmount and mount again instead"),
	REFUSED("fsname=", "the mount table shows the source; leave it out"),
	REFUSED("subtype=", "it is always sandboxfs; leave it out"),
	REFUSED("loop", "a sandbox is no disk image; leave it out"),

	/* Always so, whatever is asked. mount.fuse3 adds suid and dev of its own accord. */
	IGNORED("dirsync"),
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
	/* Those that mount(8) and systemd read in fstab. Names that start with x- or X- are theirs too. */
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
