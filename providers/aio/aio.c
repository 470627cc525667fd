#include "providers/aio/aio.h"

#include "providers/aio/verdict.h"
#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/remote_command.h"

#include <stdio.h>
#include <string.h>

/* All arguments together are one to Linux, of 131071 bytes, in which a quote takes 16 where others are escaped. */
#define ARGUMENT_MAX ((size_t)7 * 1024)
#define INLINE_MAX   ((size_t)64 * 1024)
/* Text in JSON costs a third more than the bytes; below this less than another request. */
#define DOWNLOAD_MIN ((size_t)128 * 1024)

static struct aio *aio_of(struct provider *p)
{
	return (struct aio *)p;
}

/* ---- Asking the service ---- */

/* NULL where none is set: an image wants one only if it was started with one. */
static enum err read_key(char **key, const struct provider_config *cfg, struct error *e)
{
	*key = NULL;
	return cfg->key_file || variable_first("aio", VARIABLE_KEY)
		? key_read(key, cfg->key_file, "aio", VARIABLE_KEY, e)
		: ERR_OK;
}

/* A bearer is both a key and, where the container was started for those, a JWT. */
static enum err open_rest(
	struct aio *a, const struct provider_config *cfg, const char *key, struct error *e)
{
	AUTO_FREE char *bearer = NULL;
	struct http_header header = { .name = "Authorization", .is_secret = true };
	enum err kind;

	if (key && asprintf(&bearer, "Bearer %s", key) < 0) {
		bearer = NULL;
		return error_set(e, ERR_NO_MEMORY, "aio");
	}
	header.value = bearer;
	kind = aio_address_read(&a->address, cfg->id, e);
	if (!kind)
		kind = rest_init(&a->rest, a->http, "aio", a->address.url, &header, key ? 1 : 0,
			aio_judge, e);
	if (bearer)
		explicit_bzero(bearer, strlen(bearer));
	return kind;
}

/* Of GET /v1/sandbox; *about is the caller's. */
static enum err ask_about(
	const struct aio *a, const struct call *call, struct json_object **about, struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE,
		.path = "/v1/sandbox",
		.what = "asking what it is",
		.id = a->address.id };
	struct error why = { 0 };
	enum err kind = rest_perform(&a->rest, call, &ask, about, &why);

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

	if (a->has_remote)
		remote_release(&a->remote);
	if (a->has_sessions)
		sessions_release(&a->sessions);
	rest_release(&a->rest);
	if (a->http)
		http_free(a->http);
	free(a);
}

static enum err fill(struct aio *a, const struct provider_config *cfg, struct error *e)
{
	char *key;
	enum err kind = read_key(&key, cfg, e);

	if (!kind)
		kind = http_new(&a->http, "sandboxfs", e);
	if (!kind)
		kind = open_rest(a, cfg, key, e);
	key_free(key);
	if (!kind)
		kind = sessions_init(&a->sessions, &a->rest, a->address.id, e);
	a->has_sessions = !kind;
	return kind;
}

static enum err make(struct aio **out, const struct provider_config *cfg, struct error *e)
{
	struct aio *a = calloc(1, sizeof *a);
	enum err kind;

	if (!a)
		return error_set(e, ERR_NO_MEMORY, "aio");
	a->base.ops = &aio_provider;
	kind = fill(a, cfg, e);
	if (kind)
		aio_release(&a->base);
	else
		*out = a;
	return kind;
}

/* Its service acts as one user, whom the container was started with. */
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

/* $WORKSPACE of the image; that of older ones is the home directory. */
static const char *working_dir(struct json_object *about)
{
	const char *workspace = rest_text(about, "workspace", "");

	return *workspace == '/' ? workspace : rest_text(about, "home_dir", NULL);
}

static enum err attach(struct aio *a, const struct provider_config *cfg, const char *directory,
	const struct call *call, struct error *e)
{
	const struct remote_ops ops = { .run = aio_run,
		.upload = aio_upload,
		.listen = aio_stream,
		.download = aio_download,
		.download_min = DOWNLOAD_MIN,
		.argument_max = ARGUMENT_MAX,
		.inline_max = INLINE_MAX,
		.is_text = true,
		.context = a };
	enum err kind = remote_attach(&a->remote, &ops, cfg, directory, call, e);

	if (kind)
		return kind;
	a->has_remote = true;
	remote_lend(&a->remote, &a->base);
	return ERR_OK;
}

static enum err aio_connect(const struct provider_config *cfg, const struct call *call,
	struct provider **out, struct error *e)
{
	AUTO_JSON struct json_object *about = NULL;
	struct aio *a = NULL;
	enum err kind = make(&a, cfg, e);

	if (kind)
		return kind;
	kind = ask_about(a, call, &about, e);
	if (!kind)
		kind = check_user(a, cfg->user, about, e);
	if (!kind && !cfg->account_only)
		kind = attach(a, cfg, working_dir(about), call, e);
	if (kind)
		aio_release(&a->base);
	else
		*out = &a->base;
	return kind;
}

/* The one that is there, since nothing in the interface makes another. Whether it answers is seen by connecting to it. */
static enum err aio_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	struct aio_address address = { .url = "" };
	enum err kind = aio_address_read(&address, cfg->id, e);

	(void)call;
	if (!kind)
		snprintf(id, 128, "%s", address.id);
	return kind;
}

/* ---- What is known of it ---- */

static enum err aio_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e)
{
	struct aio *a = aio_of(p);
	AUTO_JSON struct json_object *about = NULL;
	enum err kind = a->was_asked ? ask_about(a, call, &about, e) : ERR_OK;

	a->was_asked = true;
	if (kind)
		return kind;
	*out = (struct sandbox_info){ .state = SANDBOX_RUNNING, .expires_s = -1 };
	snprintf(out->id, sizeof out->id, "%s", a->address.id);
	remote_describe(&a->remote, out);
	return ERR_OK;
}

/* Source: the vendor's guide, basic/proxy.md. Where there is a key, it is asked for there, too. */
static enum err aio_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e)
{
	(void)call, (void)e;
	buf_printf(out, "%s/proxy/%u/", aio_of(p)->address.url, port);
	return ERR_OK;
}

static enum err aio_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e)
{
	return remote_command(&aio_of(p)->remote, call, request, sink, context, result, e);
}

const struct provider_ops aio_provider = {
	.name = "aio",
	.title = "Agent Infra Sandbox",
	.key_names = "SANDBOX_API_KEY",
	.caps = PROVIDER_SINGLE | PROVIDER_COMMANDS_PULSE,
	.connect_options = OPTION_USER | OPTION_RESUME_NEVER,
	.create = aio_create,
	.connect = aio_connect,
	.release = aio_release,
	.info = aio_info,
	.url = aio_url,
	.execute = aio_execute,
	.watch = aio_watch,
};
