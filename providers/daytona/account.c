#include "providers/daytona/account.h"

#include <string.h>

/* { path, timestamp, statusCode, error, message } */
static const struct frame_form forms[] = {
	{ .members = { { "statusCode", MEMBER_INTEGER }, { "message", MEMBER_ANY } } },
};
static const struct vendor_frame frame =
	VENDOR_FRAME("application/json", "is DAYTONA_API_URL right?", forms);

/* The SDK's version with this wire. The daemon treats a client without a version as an old one. */
#define SDK_VERSION "0.218.0"

/* Whether the token of a person's login is used. Such a token belongs to no organization itself. */
static bool is_token_wanted(const struct provider_config *cfg)
{
	return !cfg->key_file && !variable("DAYTONA_API_KEY") && variable("DAYTONA_JWT_TOKEN");
}

static enum err find_organization(const char **out, bool is_token, struct error *e)
{
	*out = is_token ? variable("DAYTONA_ORGANIZATION_ID") : NULL;
	if (is_token && !*out)
		return error_set(e, ERR_AUTH,
			"daytona: DAYTONA_JWT_TOKEN wants DAYTONA_ORGANIZATION_ID as well");
	return ERR_OK;
}

enum err daytona_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e)
{
	bool is_token = is_token_wanted(cfg);
	struct http_header more[] = {
		{ .name = "X-Daytona-Source", .value = "sandboxfs" },
		{ .name = "X-Daytona-SDK-Version", .value = SDK_VERSION },
		{ .name = "X-Daytona-Organization-ID" },
	};
	const struct rest_account_facts facts = { .vendor = "daytona",
		.login = &daytona_login,
		.header = "Authorization",
		.scheme = "Bearer ",
		.is_token = is_token,
		.more = more,
		.more_count = is_token ? 3 : 2,
		.verdict = daytona_control_verdict,
		.frame = &frame };
	enum err kind = find_organization(&more[2].value, is_token, e);

	return kind ? kind : rest_account_open(out, &facts, cfg, e);
}

/* ---- Refusals ---- */

static bool has(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

/* 409 is about a passing state, except where another sandbox has the name. */
static enum err sharpen(int status, const char *message, enum err kind)
{
	if (status == 409 && has(message, "already exists"))
		return ERR_EXISTS;
	/* The sandbox's state changed between the look at it and the request. */
	if (status == 400 && (has(message, "valid state") || has(message, "stoppable state")))
		return ERR_BUSY;
	/* The route is unknown, not the sandbox: these are the words of the vendor's framework. */
	return status == 404 && !strncmp(message, "Cannot ", 7) ? ERR_UNSUPPORTED : kind;
}

static const char *advice(int status)
{
	switch (status) {
	case 401: return "; is DAYTONA_API_KEY right, and of the service at DAYTONA_API_URL?";
	case 403: return "; the key may lack a permission, or the organization is suspended";
	default: return "";
	}
}

enum err daytona_control_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e)
{
	const char *message = rest_text(json, "message", "");
	struct error said = { 0 };
	enum err kind;

	(void)answer;
	if (status >= 200 && status < 300)
		return ERR_OK;
	kind = rest_refuse(r, ask, status, message, &said);
	return error_set(e, sharpen(status, message, kind), "%.300s%s", said.text, advice(status));
}
