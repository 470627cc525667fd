/*
 * ssh:[USER@]HOST[:PORT][:PATH] by ssh(1): ~/.ssh/config, agents, jump hosts and known_hosts are
 * the user's own.
 *
 * The sessions of a mount share one connection, whose socket is in a directory of the mount's own;
 * the user's own connections are not used. The connection ends with the mount, or a minute after a
 * mount that was killed.
 */
#include "providers/base/cleanup.h"
#include "providers/command/command.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LETTERS_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define DIGITS         "0123456789"
#define USER_BYTES     LETTERS_DIGITS "._-+"
#define HOST_BYTES     LETTERS_DIGITS "._-"
#define ADDRESS_BYTES  "0123456789abcdefABCDEF:.%" LETTERS_DIGITS

/* The end of a mount does not wait longer for an unreachable host. */
#define CLOSE_MS 5000

#define RULE_WANTED "run_as= needs a rule with NOPASSWD in the sudoers of that host"

static const struct complaint complaints[] = {
	{ "HOST IDENTIFICATION HAS CHANGED", ERR_AUTH,
		"known_hosts has another key for this host" },
	{ "Host key verification failed", ERR_AUTH,
		"the host's key is not known here: connect once with ssh and accept it, or put it "
		"into known_hosts" },
	{ "sudo: a password is required", ERR_DENIED, RULE_WANTED },
	{ "interactive authentication is required", ERR_DENIED, RULE_WANTED }, /* sudo-rs */
	{ "you must have a tty", ERR_DENIED,
		"run_as= needs requiretty off in the sudoers of that host" },
	{ "sudoers file", ERR_DENIED, RULE_WANTED },
	{ "is not allowed to", ERR_DENIED, RULE_WANTED },
	{ "sudo: unknown user", ERR_INVALID, NULL },
	{ "sudo: not found", ERR_UNSUPPORTED, "run_as= needs sudo there" },
	{ "Unknown command: sudo", ERR_UNSUPPORTED, "run_as= needs sudo there" },
	{ "Permission denied", ERR_AUTH,
		"try the same with ssh: a key, an agent or ~/.ssh/config" },
	{ "Could not resolve hostname", ERR_UNREACHABLE, "is that the host's name?" },
	{ "Connection refused", ERR_UNREACHABLE, "does sshd run there, and is that its port?" },
	{ 0 },
};

/* ---- The address ---- */

struct address {
	const char *user, *host, *port; /* length 0: not given */
	size_t user_len, host_len, port_len, len;
};

static bool read_user(struct address *a, const char *text)
{
	size_t len = strspn(text, USER_BYTES);

	if (text[len] != '@')
		return true;
	a->user = text;
	a->user_len = len;
	a->len = len + 1;
	return len && *text != '-';
}

static bool read_host(struct address *a, const char *text)
{
	bool is_address = *text == '[';

	a->host = text + is_address;
	a->host_len = strspn(a->host, is_address ? ADDRESS_BYTES : HOST_BYTES);
	a->len += a->host_len + (is_address ? 2 : 0);
	return a->host_len && *a->host != '-' && (!is_address || a->host[a->host_len] == ']');
}

/* Digits alone are a port; a directory of such a name is ./DIGITS. */
static void read_port(struct address *a, const char *text)
{
	size_t len = *text == ':' ? strspn(text + 1, DIGITS) : 0;

	if (!len || (text[len + 1] && text[len + 1] != ':'))
		return;
	a->port = text + 1;
	a->port_len = len;
	a->len += len + 1;
}

static bool read_address(struct address *a, const char *text)
{
	*a = (struct address){ 0 };
	if (!read_user(a, text) || !read_host(a, text + a->len))
		return false;
	read_port(a, text + a->len);
	return !text[a->len] || text[a->len] == ':';
}

static enum err take_id(const char *text, size_t *len, struct error *e)
{
	struct address a;

	*len = 0;
	if (!*text)
		return ERR_OK;
	if (!read_address(&a, text))
		return error_set(e, ERR_INVALID,
			"'ssh:%.120s': a source is ssh:[USER@]HOST[:PORT][:PATH], as in "
			"ssh:me@example.org:/srv",
			text);
	*len = a.len;
	return ERR_OK;
}

/* ---- Options ---- */

#define RUN_AS "run_as="

/*
 * Options that sshfs users have in fstab, besides those of all mounts. A name with a capital is
 * ssh's own.
 */
static const struct client_option options[] = {
	{ RUN_AS, NULL },        /* the user that sudo changes to there */
	{ "ssh_option=", NULL }, /* NAME=VALUE of ssh_config(5) */
	{ "compression=", NULL },
	{ "AddressFamily=", NULL },
	{ "BindAddress=", NULL },
	{ "CertificateFile=", NULL },
	{ "Ciphers=", NULL },
	{ "Compression=", NULL },
	{ "ConnectTimeout=", NULL },
	{ "HostKeyAlgorithms=", NULL },
	{ "HostKeyAlias=", NULL },
	{ "IdentitiesOnly=", NULL },
	{ "IdentityAgent=", NULL },
	{ "IdentityFile=", NULL },
	{ "KexAlgorithms=", NULL },
	{ "MACs=", NULL },
	{ "Port=", NULL },
	{ "PreferredAuthentications=", NULL },
	{ "ProxyCommand=", NULL },
	{ "ProxyJump=", NULL },
	{ "ServerAliveCountMax=", NULL },
	{ "ServerAliveInterval=", NULL },
	{ "StrictHostKeyChecking=", NULL },
	{ "TCPKeepAlive=", NULL },
	{ "User=", NULL },
	{ "UserKnownHostsFile=", NULL },
	/* Options that always hold, or mean nothing here. */
	{ "reconnect", NULL },
	{ "delay_connect", NULL },
	{ "auto_cache", NULL },
	{ "kernel_cache", NULL },
	{ "no_readahead", NULL },
	{ "dcache_timeout=", NULL },
	{ "cache_timeout=", NULL },
	{ "max_conns=", NULL },
	{ "workaround=", NULL },
	{ "follow_symlinks",
		"links are shown as the links they are; leave it out, or see symlinks=" },
	{ "transform_symlinks", "symlinks=rewrite does that, and is so by itself; leave it out" },
	{ "password_stdin", "use a key, an agent, or type the password where ssh asks for it" },
	{ "ssh_command=", "the ssh in $PATH is used, with ~/.ssh/config; or mount command:'...'" },
	{ "ssh_protocol=", "there is only 2; leave it out" },
	{ "sftp_server=", "sftp is not used; leave it out" },
	{ "directport=", "use command: with a program that reaches the port" },
	{ "passive", "use command: with a program that reaches the sandbox" },
	{ "slave", "use command: with a program that reaches the sandbox" },
	{ 0 },
};

static void take_option(struct words *to, const char *option)
{
	static const char own[] = "ssh_option=";

	if (!strncmp(option, own, strlen(own)))
		words_add(to, "-o%s", option + strlen(own));
	else if (!strncmp(option, "compression=", 12) || (*option >= 'A' && *option <= 'Z'))
		words_add(to, "-o%s", option);
}

/* The name is a word for a login shell there. */
static enum err take_run_as(struct command *c, const char *option, struct error *e)
{
	const char *name = option + strlen(RUN_AS);

	if (strncmp(option, RUN_AS, strlen(RUN_AS)) != 0)
		return ERR_OK;
	if (!*name || *name == '-' || name[strspn(name, USER_BYTES)])
		return error_set(e, ERR_INVALID, "option 'run_as': '%.60s' is no user", name);
	free(c->at.user);
	c->at.user = strdup(name);
	return c->at.user ? ERR_OK : error_set(e, ERR_NO_MEMORY, "run_as");
}

/* ---- Arguments of ssh ---- */

/* The user's options come first: ssh takes the first value. */
static void put_options(const struct command *c, bool asks, struct words *out)
{
	static const char *const always[] = { "-T", "-x", "-a", "-oRemoteCommand=none",
		"-oPermitLocalCommand=no", "-oClearAllForwardings=yes", "-oLogLevel=ERROR",
		"-oServerAliveInterval=15", "-oServerAliveCountMax=3", "-oControlMaster=auto",
		"-oControlPersist=60", NULL };

	words_add_all(out, (const char *const *)c->options.argv);
	words_add_all(out, always);
	words_add(out, "-oControlPath=%s/%u", c->dir, c->way);
	if (!asks)
		words_add(out, "-oBatchMode=yes");
}

static void put_destination(const struct command *c, struct words *out)
{
	struct address a;

	read_address(&a, c->given);
	if (a.port_len)
		words_add(out, "-p%.*s", (int)a.port_len, a.port);
	if (a.user_len)
		words_add(out, "-l%.*s", (int)a.user_len, a.user);
	words_add(out, "--");
	words_add(out, "%.*s", (int)a.host_len, a.host);
}

/* Every login shell has `exec`, which replaces it. */
static void put_words(const struct command *c, bool asks, struct words *out)
{
	words_add(out, "ssh");
	put_options(c, asks, out);
	put_destination(c, out);
	if (c->at.user)
		words_add(out, "exec sudo -n -H -u %s -- /bin/sh", c->at.user);
	else
		words_add(out, "exec /bin/sh");
}

/* ---- The connection ---- */

static enum err open_dir(struct command *c, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	static const char template[] = "/tmp/sandboxfs-ssh-XXXXXX";
	struct address a;
	enum err kind;

	(void)call;
	for (const char *const *o = cfg->client_options; o && *o; o++) {
		take_option(&c->options, *o);
		kind = take_run_as(c, *o, e);
		if (kind)
			return kind;
	}
	if (cfg->ports)
		words_add(&c->options, "-oPort=%u", cfg->ports[0]);
	if (words_check(&c->options, e))
		return ERR_NO_MEMORY;
	if (!read_address(&a, c->given))
		return error_set(e, ERR_INVALID, "ssh: '%s' is no host", c->given);
	memcpy(c->dir, template, sizeof template);
	if (mkdtemp(c->dir))
		return ERR_OK;
	*c->dir = 0;
	return error_errno(e, errno, "ssh: a directory in /tmp");
}

static void end_connection(struct command *c)
{
	const struct call call = { .progress_ms = CLOSE_MS, .is_background = true };
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf ignored = { 0 };

	words_add_all(&words, (const char *const[]){ "ssh", "-Oexit", NULL });
	put_options(c, false, &words);
	put_destination(c, &words);
	command_ask(c, &call, &words, &ignored, NULL);
}

/* Removes the directory with the socket that a silent connection left. */
static void remove_dir(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

static void close_dir(struct command *c)
{
	if (!*c->dir)
		return;
	end_connection(c);
	remove_dir(c->dir);
}

/* ---- The tables ---- */

/* Patterns are no hosts. */
static const char *const names[] = { "/bin/sh", "-c",
	"awk '{ gsub(/[=\"]/, \" \") } tolower($1) == \"host\" { for (i = 2; i <= NF; i++) "
	"if ($i !~ /[*?!]/) print $i }' ~/.ssh/config",
	NULL };

static const struct transport transport = {
	.program = "ssh",
	.lost_code = 255,
	.complaints = complaints,
	.open = open_dir,
	.close = close_dir,
	.put_words = put_words,
	.names = names,
};

static enum err connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	return command_connect(&ssh_provider, &transport, cfg, call, out, e);
}

static enum err offer_ids(const struct call *call, id_sink sink, void *context, struct error *e)
{
	return command_offer_ids(&ssh_provider, &transport, call, sink, context, e);
}

const struct provider_ops ssh_provider = {
	.name = "ssh",
	.title = "SSH",
	.key_names = "",
	.caps = PROVIDER_KEEPS_HELPER | PROVIDER_COMMANDS_PULSE,
	.connect_options = OPTION_PORTS | OPTION_RESUME_NEVER,
	.client_options = options,
	.take_id = take_id,
	.connect = connect,
	.release = command_release,
	.info = command_info,
	.offer_ids = offer_ids,
	.execute = attachment_execute,
};
