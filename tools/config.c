#include "tools/config.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <fuse_opt.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

/* Far beyond any use, and still milliseconds without overflow. */
#define SECONDS_MAX 1e9
#define THREADS_MAX 1000
/* Each worker waits for a round trip to the sandbox; libfuse's ten starve. */
#define THREADS_DEFAULT         64
#define ATTR_MS_DEFAULT         1000
#define EXEC_TIMEOUT_MS_DEFAULT (1800 * 1000)

struct option;

typedef enum err (*option_set)(
	const struct option *o, const char *value, void *field, struct error *e);

/* A row: an option, what its value is, what becomes of it, and its line in --help. */
struct option {
	const char *name;     /* with '=' at the end: takes a value */
	const char *argument; /* the value's name for people; a choice: its words, '|' between */
	const char *help;     /* NULL: accepted, and listed as without effect */
	option_set set;       /* NULL: nothing happens */
	size_t offset;        /* of the field in struct config */
	int number;           /* what a flag stores */
};

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

/* A row whose `help` is "" works and is not listed. A name that ends in a blank takes the next word. */
static const struct option options[] = {
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

	FLAG("noatime", noatime, 1, ""),
	FLAG("nodiratime", nodiratime, 1, ""),
	REFUSED("remount", "unmount and mount again instead"),
	REFUSED("fsname=", "the mount table shows the source; leave it out"),
	REFUSED("subtype=", "it is always sandboxfs; leave it out"),
	REFUSED("loop", "a sandbox is no disk image; leave it out"),

	/* Always so, whatever is asked. mount.fuse3 adds suid and dev of its own accord. */
	IGNORED("sync"),
	IGNORED("dirsync"),
	IGNORED("async"),
	IGNORED("nosuid"),
	IGNORED("nodev"),
	IGNORED("suid"),
	IGNORED("dev"),
	IGNORED("default_permissions"),
	IGNORED("atime"),
	IGNORED("diratime"),
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

#define OPTIONS_COUNT (sizeof options / sizeof *options)

/* ---- An option nobody knows ---- */

static size_t least(size_t a, size_t b, size_t c)
{
	size_t least_of_two = a < b ? a : b;

	return least_of_two < c ? least_of_two : c;
}

/* Longer than any option's name: what comes after says nothing more about what was meant. */
#define WORD_MAX 31

/* How many letters must be added, dropped or changed to make `b` of `a`. At most WORD_MAX letters each. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t changed = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = least(changed, row[j] + 1, row[j - 1] + 1);
		}
	}
	return row[b_len];
}

/* Without the '=' or the blank that says that a value follows. */
static size_t name_len(const char *name)
{
	size_t len = strcspn(name, "= ");

	return len < WORD_MAX ? len : WORD_MAX;
}

/* NULL: nothing shares more than half of its letters with `word`. */
static const struct option *nearest(const char *word)
{
	const struct option *best = NULL;
	size_t word_len = name_len(word), best_distance = (word_len + 1) / 2;

	for (const struct option *o = options; o < options + OPTIONS_COUNT; o++) {
		size_t d = distance(word, word_len, o->name, name_len(o->name));

		if (d < best_distance) {
			best = o;
			best_distance = d;
		}
	}
	return best;
}

static enum err unknown(const char *word, struct error *e)
{
	const struct option *known = nearest(word);

	if (!known)
		return error_set(e, ERR_INVALID,
			"unknown option '%.60s'; --help lists those there are", word);
	return error_set(e, ERR_INVALID,
		"unknown option '%.60s'; did you mean '%.*s'? --help lists those there are", word,
		(int)name_len(known->name), known->name);
}

/* ---- Parsing ---- */

struct parsing {
	struct config *config;
	enum err kind; /* of the first word that is wrong */
	struct error *error;
	bool is_helper; /* called by mount(8) */
};

static bool is_for_fstab(const char *word)
{
	return !strncmp(word, "x-", 2) || !strncmp(word, "X-", 2);
}

static enum err take_other(struct parsing *p, const char *word)
{
	if (!*word || is_for_fstab(word) || p->config->sloppy)
		return ERR_OK;
	return unknown(word, p->error);
}

static enum err take_operand(struct parsing *p, const char *word)
{
	char **field = !p->config->source ? &p->config->source : &p->config->mountpoint;

	if (*field)
		return error_set(p->error, ERR_INVALID,
			"'%.60s': one word too many after SOURCE and DIRECTORY; see --help", word);
	*field = strdup(word);
	return *field ? ERR_OK : error_set(p->error, ERR_NO_MEMORY, "options");
}

static enum err take_option(struct parsing *p, const struct option *o, const char *word)
{
	if (p->is_helper && !strcmp(o->name, "-f")) {
		p->config->fake = 1;
		return ERR_OK;
	}
	return o->set ? o->set(o, word + strlen(o->name) - (o->name[strlen(o->name) - 1] == ' '),
				(char *)p->config + o->offset, p->error)
		      : ERR_OK;
}

/* fuse_opt's callback: `key` is a row's index or says that there is none. Every word ends here: nothing is passed on. */
static int take_word(void *context, const char *word, int key, struct fuse_args *rest)
{
	struct parsing *p = context;

	(void)rest;
	if (key == FUSE_OPT_KEY_NONOPT)
		p->kind = take_operand(p, word);
	else if (key == FUSE_OPT_KEY_OPT)
		p->kind = take_other(p, word);
	else
		p->kind = take_option(p, &options[key], word);
	return p->kind ? -1 : 0;
}

/* fuse_opt would say this in its own words. */
static enum err check_last_word(int argc, char **argv, struct error *e)
{
	const char *last = argc > 1 ? argv[argc - 1] : "";

	if (!strcmp(last, "-o") || !strcmp(last, "-t") || !strcmp(last, "-N"))
		return error_set(e, ERR_INVALID, "option '%s': its value is missing", last);
	return ERR_OK;
}

/* fuse_opt splits the words (-o a,b  -oa  \,  --), the table says what they mean. */
static enum err parse_words(struct parsing *p, int argc, char **argv)
{
	struct fuse_opt templates[OPTIONS_COUNT + 1] = { 0 };
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);

	for (size_t i = 0; i < OPTIONS_COUNT; i++)
		templates[i] = (struct fuse_opt)FUSE_OPT_KEY(options[i].name, (int)i);

	int failure = fuse_opt_parse(&args, p, templates, take_word);

	fuse_opt_free_args(&args);
	if (failure && !p->kind)
		return error_set(p->error, ERR_NO_MEMORY, "options");
	return p->kind;
}

static enum err check_whole(const struct config *c, struct error *e)
{
	if (c->help || c->version)
		return ERR_OK;
	if (!c->mountpoint)
		return error_set(e, ERR_INVALID,
			"%s is missing: sandboxfs SOURCE DIRECTORY [-o OPTIONS], as in sandboxfs "
			"local:demo /mnt; see --help",
			c->source ? "the directory to mount on" : "the source");
	if (c->allow_other && c->allow_root)
		return error_set(e, ERR_INVALID,
			"options 'allow_other' and 'allow_root': one of them; allow_other includes "
			"root");
	if (c->idmap == IDMAP_NONE && (c->uid >= 0 || c->gid >= 0))
		return error_set(e, ERR_INVALID,
			"option 'idmap=none': leave it out, or leave out uid= and gid=");
	return ERR_OK;
}

/* Before the words, which may say otherwise. */
static enum err take_environment(struct config *c, struct error *e)
{
	const char *log = getenv("SANDBOXFS_LOG");

	if (log && *log && !(c->log = strdup(log)))
		return error_set(e, ERR_NO_MEMORY, "environment");
	return ERR_OK;
}

static bool is_mount_helper(const char *program)
{
	return !strncmp(path_name(program), "mount.", 6);
}

enum err config_parse(struct config *out, int argc, char **argv, struct error *e)
{
	struct parsing p = {
		.config = out, .error = e, .is_helper = argc && is_mount_helper(argv[0])
	};
	enum err kind = check_last_word(argc, argv, e);

	*out = (struct config){
		.uid = -1,
		.gid = -1,
		.attr_ms = ATTR_MS_DEFAULT,
		.entry_ms = ATTR_MS_DEFAULT,
		.exec_timeout_ms = EXEC_TIMEOUT_MS_DEFAULT,
		.threads_max = THREADS_DEFAULT,
	};
	if (!kind)
		kind = take_environment(out, e);
	if (!kind)
		kind = parse_words(&p, argc, argv);
	if (!kind)
		kind = check_whole(out, e);
	if (kind)
		config_release(out);
	return kind;
}

void config_release(struct config *c)
{
	free(c->source);
	free(c->mountpoint);
	free(c->namespace);
	free(c->log);
	free(c->user);
	free(c->key_file);
	free(c->shell);
	*c = (struct config){ 0 };
}

/* ---- Help ---- */

#define HELP_COLUMN 28
#define HELP_WIDTH  80

/* Words from `column` on, in lines of HELP_WIDTH that start at HELP_COLUMN. */
static void print_wrapped(FILE *to, const char *text, size_t column)
{
	while (*text) {
		size_t len = strcspn(text, " ");

		if (column > HELP_COLUMN && column + 1 + len > HELP_WIDTH) {
			fprintf(to, "\n");
			column = 0;
		}
		if (column < HELP_COLUMN)
			fprintf(to, "%*s", (int)(HELP_COLUMN - column), "");
		else if (column > HELP_COLUMN)
			fprintf(to, " ");
		fprintf(to, "%.*s", (int)len, text);
		column = (column < HELP_COLUMN ? HELP_COLUMN : column + (column > HELP_COLUMN)) +
			len;
		text += len + (text[len] == ' ');
	}
	fprintf(to, "\n");
}

static void print_option(FILE *to, const struct option *o)
{
	const char *argument = o->argument ? o->argument : "";
	int column = fprintf(to, "  %s%s%s", o->name[0] == '-' ? "" : "-o ", o->name, argument);

	if (column + 2 > HELP_COLUMN) {
		fprintf(to, "\n");
		column = 0;
	}
	print_wrapped(to, o->help, (size_t)column);
}

static void print_ignored(FILE *to)
{
	AUTO_BUF struct buf names = BUF_INIT(4096);

	for (const struct option *o = options; o < options + OPTIONS_COUNT; o++)
		if (!o->help)
			buf_printf(&names, " %s", o->name);
	fprintf(to, "\nAccepted and without effect:\n");
	print_wrapped(to, buf_text(&names) + 1, 0);
}

void config_print_help(FILE *to)
{
	AUTO_BUF struct buf providers = BUF_INIT(1024);

	provider_names(&providers);
	fprintf(to,
		"Usage: sandboxfs SOURCE DIRECTORY [options]\n"
		"Shows a sandbox as a directory. Unmount with: umount DIRECTORY, or fusermount3 -u "
		"DIRECTORY\n\n"
		"SOURCE is PROVIDER:[ID][:PATH]; without an ID a sandbox is made, and deleted at "
		"unmount.\n"
		"Providers: %s\n\n",
		buf_text(&providers));
	for (const struct option *o = options; o < options + OPTIONS_COUNT; o++)
		if (o->help && *o->help)
			print_option(to, o);
	print_ignored(to);
	fprintf(to,
		"\nEnvironment: SANDBOXFS_LOG, as -o log=.\n"
		"Exit status: 0; 1 wrong usage or not permitted; 32 the mount failed.\n");
}

/* ---- What follows from it ---- */

bool config_maps_owners(const struct config *c)
{
	if (c->idmap == IDMAP_AUTO)
		return geteuid() != 0 || c->uid >= 0 || c->gid >= 0;
	return c->idmap == IDMAP_USER;
}

uid_t config_owner_uid(const struct config *c)
{
	return c->uid >= 0 ? (uid_t)c->uid : getuid();
}

/* uid= alone brings that user's own group. */
gid_t config_owner_gid(const struct config *c)
{
	const struct passwd *user = c->uid >= 0 ? getpwuid((uid_t)c->uid) : NULL;

	if (c->gid >= 0)
		return (gid_t)c->gid;
	return user ? user->pw_gid : getgid();
}

const char *config_log_spec(const struct config *c)
{
	if (c->log)
		return c->log;
	if (c->debug)
		return "debug";
	return c->verbose ? "info" : NULL;
}

char *config_kernel_options(const struct config *c)
{
	AUTO_BUF struct buf text = BUF_INIT(256);

	buf_add_string(&text, "nosuid,nodev");
	buf_add_string(&text, c->read_only ? ",ro" : "");
	buf_add_string(&text, c->noexec ? ",noexec" : "");
	buf_add_string(&text, c->noatime ? ",noatime" : "");
	buf_add_string(&text, c->nodiratime ? ",nodiratime" : "");
	return text.failed ? NULL : strdup(buf_text(&text));
}
