#include "providers/aio/aio.h"

#include "providers/aio/verdict.h"
#include "providers/base/cleanup.h"

#include <stdio.h>
#include <string.h>

/*
 * All arguments together become one argument to Linux, of 131071 bytes at most, in which a quote
 * may take 16 bytes after all escaping.
 */
#define ARGUMENT_MAX ((size_t)7 * 1024)
#define INLINE_MAX   ((size_t)64 * 1024)
/* Text in JSON costs a third more than the bytes; below this less than another request. */
#define DOWNLOAD_MIN ((size_t)128 * 1024)

static struct aio *aio_of(struct provider *p)
{
	return (struct aio *)p;
}

/* ---- Asking the service ---- */

/*
 * The bearer token is a key or, where the container was started for JWTs, a JWT. An image that was
 * started with neither needs none.
 */
static enum err open_account(struct aio *a, const struct provider_config *cfg, struct error *e)
{
	const struct rest_account_facts facts = { .vendor = "aio",
		.url = a->address.url,
		.header = "Authorization",
		.scheme = "Bearer ",
		.may_lack_key = true,
		.is_plain_asked = a->address.is_plain_asked,
		.verdict = aio_verdict,
		.frame = &aio_frame };

	return rest_account_open(&a->account, &facts, cfg, e);
}

/* GET /v1/sandbox. *about belongs to the caller. */
static enum err ask_about(
	const struct aio *a, const struct call *call, struct json_object **about, struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/v1/sandbox",
		.what = "asking what it is",
		.id = a->address.id };
	struct error why = { 0 };
	enum err kind = rest_perform(&a->account.rest, call, &ask, about, &why);

	if (kind == ERR_UNREACHABLE)
		return error_set(e, kind,
			"aio:%s: is its container running, and is this its port? %s", a->address.id,
			why.text);
	if (kind == ERR_NOT_FOUND || kind == ERR_PROTOCOL ||
		(!kind && !*rest_text(*about, "home_dir", "")))
		return error_set(e, ERR_UNSUPPORTED,
			"aio:%s: what answers at %s is no Agent Infra Sandbox", a->address.id,
			a->address.url);
	return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
}

/* ---- Attaching ---- */

static void aio_release(struct provider *p)
{
	struct aio *a = aio_of(p);

	attachment_detach(&a->at);
	if (a->has_sessions)
		sessions_release(&a->sessions);
	rest_account_close(&a->account);
	attachment_free(&a->at);
}

static enum err aio_new(struct aio **out, const struct provider_config *cfg, struct error *e)
{
	AUTO_ATTACHMENT struct aio *a = attachment_new(sizeof *a, &aio_provider, cfg, e);
	enum err kind = a ? aio_address_read(&a->address, cfg->id, e) : ERR_NO_MEMORY;

	if (!kind)
		kind = open_account(a, cfg, e);
	if (!kind)
		kind = sessions_init(&a->sessions, &a->account.rest, a->address.id, e);
	if (kind)
		return kind;
	a->has_sessions = true;
	a->at.base.foreign = http_foreign(a->account.http);
	strcpy(a->at.id, a->address.id);
	*out = take(a);
	return ERR_OK;
}

/* The service acts as one user, which was set when the container was started. */
static enum err check_user(
	const struct aio *a, const char *wanted, struct json_object *about, struct error *e)
{
	struct json_object *system = rest_member(rest_member(about, "detail"), "system");
	const char *user = rest_text(system, "user", "");

	if (!wanted || !strcmp(wanted, user))
		return ERR_OK;
	return error_set(e, ERR_UNSUPPORTED,
		"aio:%s: commands and files are those of '%s' in this sandbox; leave the user "
		"'%s' out",
		a->address.id, user, wanted);
}

/* $WORKSPACE of the image; older images have the home directory instead. */
static const char *working_dir(struct json_object *about)
{
	const char *workspace = rest_text(about, "workspace", "");

	return *workspace == '/' ? workspace : rest_text(about, "home_dir", NULL);
}

static enum err aio_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	static const struct remote_ops remote = { .run = aio_run,
		.upload = aio_upload,
		.listen = aio_stream,
		.download = aio_download,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true };
	AUTO_JSON struct json_object *about = NULL;
	AUTO_ATTACHMENT struct aio *a = NULL;
	enum err kind = aio_new(&a, cfg, e);

	if (!kind)
		kind = ask_about(a, call, &about, e);
	if (!kind)
		kind = check_user(a, cfg->user, about, e);
	/* The sandbox's own user, asked for or not. */
	if (!kind)
		free(take(a->at.user));
	if (!kind)
		attachment_remember(&a->at,
			&(struct sandbox_info){ .state = SANDBOX_RUNNING, .expires_s = -1 });
	if (!kind && !cfg->account_only)
		kind = attachment_attach(&a->at, &remote, cfg, working_dir(about), call, e);
	/* A terminal gives no output before the end, so changes are in a command's record there. */
	if (!kind && a->sessions.is_shell)
		a->at.remote.ops.listen = NULL;
	if (!kind)
		*out = &take(a)->at.base;
	return kind;
}

/* Whether a sandbox, or at least something, answers there. */
static enum err try_id(
	const struct provider_config *cfg, const struct call *call, const char *id, struct error *e)
{
	struct provider_config there = *cfg;
	struct provider *p = NULL;
	enum err kind;

	there.id = id;
	there.account_only = true;
	there.opening = NULL;
	kind = aio_connect(&there, call, &p, e);
	provider_release(p);
	return kind;
}

/* Where the port is guessed both are asked, the usual one first. */
static enum err find_port(const struct provider_config *cfg, const struct call *call,
	struct aio_address *address, struct error *e)
{
	struct aio_address other = { .url = "" };
	char id[sizeof other.id];
	struct error why = { 0 };

	if (try_id(cfg, call, address->id, &why) != ERR_UNREACHABLE)
		return ERR_OK;
	snprintf(id, sizeof id, "%.*s_%d", (int)strcspn(address->id, "_"), address->id,
		AIO_OTHER_PORT);
	if (try_id(cfg, call, id, NULL) == ERR_UNREACHABLE)
		return error_set(e, ERR_UNREACHABLE,
			"%s; nor is there one at port %d; SANDBOX_PORT names another", why.text,
			AIO_OTHER_PORT);
	return aio_address_read(address, id, e);
}

/* The sandbox is the one that exists, since the interface cannot make another. */
static enum err aio_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct aio_address address = { .url = "" };
	enum err kind = aio_address_read(&address, cfg->id, e);

	if (!kind && address.is_guessed)
		kind = find_port(cfg, call, &address, e);
	if (!kind)
		snprintf(id, 128, "%s", address.id);
	return kind;
}

static enum err aio_list(const struct provider_config *cfg, const struct call *call,
	sandbox_sink sink, void *context, struct error *e)
{
	struct sandbox_entry entry = { .state = SANDBOX_RUNNING, .expires_s = -1, .age_s = -1 };
	char id[128];
	enum err kind = aio_create(cfg, call, id, e);

	entry.id = id;
	if (!kind)
		kind = try_id(cfg, call, id, e);
	return kind ? kind : sink(context, &entry, e);
}

/* ---- The state of the sandbox ---- */

static enum err aio_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct aio *a = aio_of(p);
	AUTO_JSON struct json_object *about = NULL;
	enum err kind = attachment_take_found(&a->at, out) ? ERR_OK : ask_about(a, call, &about, e);

	attachment_describe(&a->at, out);
	return kind;
}

/*
 * Source: the vendor's guide, basic/proxy.md. A container with a key asks for the key at this URL,
 * too.
 */
static enum err aio_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	(void)call, (void)e;
	buf_printf(out, "%s/proxy/%u/", aio_of(p)->address.url, port);
	return ERR_OK;
}

/* Source: the vendor's README. */
static const struct {
	const char *name, *path;
} pages[] = {
	{ "documentation", "/v1/docs" },
	{ "desktop", "/vnc/index.html?autoconnect=true" },
	{ "editor", "/code-server/" },
	{ "notebook", "/jupyter" },
	{ "mcp", "/mcp" },
};

static void aio_pages(struct provider *p, struct buf *out)
{
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		buf_printf(out, "%s %s%s\n", pages[i].name, aio_of(p)->address.url, pages[i].path);
}

/* The browser needs system calls that Docker forbids otherwise, as that README says. */
static const char *const container_options[] = { "--security-opt", "seccomp=unconfined", NULL };
static const struct provider_container container = {
	.image = "ghcr.io/agent-infra/sandbox:latest", .port = 8080, .options = container_options
};

const struct provider_ops aio_provider = {
	.name = "aio",
	.title = "Agent Infra Sandbox",
	.key_names = "SANDBOX_API_KEY",
	.caps = PROVIDER_TAKES_HEADERS | PROVIDER_SINGLE | PROVIDER_COMMANDS_PULSE,
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER,
	.container = &container,
	.create = aio_create,
	.connect = aio_connect,
	.list_sandboxes = aio_list,
	.release = aio_release,
	.info = aio_info,
	.url = aio_url,
	.pages = aio_pages,
	.execute = attachment_execute,
	.watch = attachment_watch,
};
