#include "providers/e2b/envd_client.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/base/utf8.h"
#include "providers/key.h"

#include <stdio.h>
#include <string.h>

/* The daemon's port in every sandbox. */
#define ENVD_PORT "49983"
/* The longest name of a user. */
#define USER_MAX 256
/* The user of the vendor's templates: the SDK names it to daemons without a default user. */
#define USUAL_USER "user"

static bool is_set(const char *text)
{
	return text && *text;
}

/* ---- The client ---- */

/* HTTP's Basic scheme, with an empty password. */
static enum err make_authorization(struct envd *d, struct error *e)
{
	AUTO_BUF struct buf pair = BUF_INIT(USER_MAX + 1);
	AUTO_BUF struct buf value = BUF_INIT(2 * USER_MAX);

	if (strchr(d->user, ':'))
		return error_set(e, ERR_INVALID, "no user's name has a colon: %s", d->user);
	buf_printf(&pair, "%s:", d->user);
	buf_add_string(&value, "Basic ");
	if (!pair.failed)
		base64_encode(&value, pair.bytes, pair.len);
	if (pair.failed || value.failed)
		return error_set(e, ERR_NAME_TOO_LONG, "the user's name");
	d->authorization = (char *)take(value.bytes);
	return ERR_OK;
}

static void make_headers(struct envd *d)
{
	struct http_header *h = d->headers;

	*h++ = (struct http_header){ .name = "E2b-Sandbox-Id", .value = d->sandbox_id };
	*h++ = (struct http_header){ .name = "E2b-Sandbox-Port", .value = ENVD_PORT };
	if (d->token)
		*h++ = (struct http_header){
			.name = "X-Access-Token", .value = d->token, .is_secret = true
		};
	d->file_headers = (size_t)(h - d->headers);
	if (d->authorization)
		*h++ = (struct http_header){ .name = "Authorization", .value = d->authorization };
	d->command_headers = (size_t)(h - d->headers);
}

static bool copy_if_set(char **out, const char *text)
{
	*out = is_set(text) ? strdup(text) : NULL;
	return *out || !is_set(text);
}

enum err envd_new(
	struct envd **out, struct http *http, const struct envd_address *address, struct error *e)
{
	struct envd *d = calloc(1, sizeof *d);
	const char *user = address->user;
	enum err kind = ERR_OK;

	if (!d)
		return error_set(e, ERR_NO_MEMORY, "a client of E2B's daemon");
	if (!is_set(user) && !(address->features & ENVD_HAS_DEFAULT_USER))
		user = USUAL_USER;
	d->http = http;
	d->features = address->features;
	if (!copy_if_set(&d->base_url, address->base_url) ||
		!copy_if_set(&d->sandbox_id, address->sandbox_id) ||
		!copy_if_set(&d->token, address->token) || !copy_if_set(&d->user, user))
		kind = error_set(e, ERR_NO_MEMORY, "a client of E2B's daemon");
	else if (!d->base_url || !d->sandbox_id)
		kind = error_set(e, ERR_INVALID, "E2B: no address, or no sandbox");
	else if (d->user)
		kind = make_authorization(d, e);
	if (kind != ERR_OK) {
		envd_free(d);
		return kind;
	}
	make_headers(d);
	*out = d;
	return ERR_OK;
}

void envd_free(struct envd *d)
{
	if (!d)
		return;
	free(d->base_url);
	free(d->sandbox_id);
	key_free(d->token);
	free(d->user);
	free(d->authorization);
	free(d);
}

/* ---- Requests ---- */

char *envd_procedure(const struct envd *d, const char *procedure)
{
	char *url;

	return asprintf(&url, "%s/%s", d->base_url, procedure) < 0 ? NULL : url;
}

enum err envd_check_text(const char *text, const char *what, struct error *e)
{
	if (utf8_valid(text, strlen(text)))
		return ERR_OK;
	return error_set(e, ERR_INVALID, "E2B takes only UTF-8 as %s: %s", what, text);
}

enum err envd_pack(
	struct buf *out, const ProtobufCMessage *message, const char *what, struct error *e)
{
	size_t len = protobuf_c_message_get_packed_size(message);
	unsigned char *place = buf_reserve(out, len);

	if (!place)
		return buf_check(out, what, e);
	buf_filled(out, protobuf_c_message_pack(message, place));
	return ERR_OK;
}
