#include "providers/e2b/settings.h"

#include "providers/base/cleanup.h"
#include "providers/http/http.h"
#include "providers/rest/rest.h"
#include "providers/variables.h"

#include <stdio.h>
#include <string.h>

#define LOWER  "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define UPPER  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* The domains whose edge answers on one host for all sandboxes. */
static const char *const shared_domains[] = { "e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev" };

/* ---- The environment ---- */

static char *format(const char *before, const char *text)
{
	char *out;

	return asprintf(&out, "%s%s", before, text) < 0 ? NULL : out;
}

bool e2b_is_domain(const char *text)
{
	return *text && strlen(text) < 256 && !text[strspn(text, LOWER UPPER DIGITS ".-:")];
}

enum err e2b_settings_read(struct e2b_settings *out, struct error *e)
{
	const char *domain = variable("E2B_DOMAIN"), *api = variable("E2B_API_URL"),
		   *envd = variable("E2B_SANDBOX_URL"), *debug = variable("E2B_DEBUG");
	struct e2b_settings s = { .is_debug = debug && !strcasecmp(debug, "true") };

	if (!e2b_is_domain(domain))
		return error_set(e, ERR_INVALID, "E2B_DOMAIN '%.100s' is no domain", domain);
	if (!envd && s.is_debug)
		envd = "http://localhost:" E2B_PORT;
	s.domain = strdup(domain);
	s.sandbox_url = envd ? rest_without_slashes(envd) : NULL;
	s.api_url = api ? rest_without_slashes(api) : format("https://api.", domain);
	if (!s.domain || !s.api_url || (envd && !s.sandbox_url)) {
		e2b_settings_release(&s);
		return error_set(e, ERR_NO_MEMORY, "e2b");
	}
	*out = s;
	return ERR_OK;
}

void e2b_settings_release(struct e2b_settings *s)
{
	free(s->domain);
	free(s->api_url);
	free(s->sandbox_url);
	*s = (struct e2b_settings){ 0 };
}

/* ---- Addresses ---- */

static bool is_shared(const char *domain)
{
	for (size_t i = 0; i < sizeof shared_domains / sizeof *shared_domains; i++)
		if (!strcmp(shared_domains[i], domain))
			return true;
	return false;
}

const char *e2b_own_url(const struct e2b_settings *s)
{
	static const char prefix[] = "https://api.";

	return !strncmp(s->api_url, prefix, strlen(prefix)) &&
			is_shared(s->api_url + strlen(prefix))
		? s->api_url
		: "https://api.e2b.app";
}

/* The configured domain needs no check: it is the user's. Another domain is from an answer. */
static enum err check_named(
	const struct e2b_settings *s, const char *domain, const char *url, struct error *e)
{
	struct error why = { 0 };
	enum err kind = *domain && strcmp(domain, s->domain)
		? http_check_named_url(url, s->api_url, &why)
		: ERR_OK;

	return kind ? error_set(e, kind, "e2b: %s", why.text) : ERR_OK;
}

enum err e2b_envd_url(char **out, const struct e2b_settings *s, const char *id, const char *domain,
	struct error *e)
{
	const char *base = *domain ? domain : s->domain;
	AUTO_FREE char *url = NULL;
	int len = s->sandbox_url  ? asprintf(&url, "%s", s->sandbox_url)
		: is_shared(base) ? asprintf(&url, "https://sandbox.%s", base)
				  : asprintf(&url, "https://" E2B_PORT "-%s.%s", id, base);
	enum err kind;

	if (len < 0)
		return error_set(e, ERR_NO_MEMORY, "e2b");
	kind = s->sandbox_url ? ERR_OK : check_named(s, domain, url, e);
	if (!kind)
		*out = take(url);
	return kind;
}

enum err e2b_port_url(struct buf *out, const struct e2b_settings *s, const char *id,
	const char *domain, unsigned port, struct error *e)
{
	AUTO_FREE char *url = NULL;
	int len = s->is_debug
		? asprintf(&url, "http://localhost:%u", port)
		: asprintf(&url, "https://%u-%s.%s", port, id, *domain ? domain : s->domain);
	enum err kind;

	if (len < 0)
		return error_set(e, ERR_NO_MEMORY, "e2b");
	kind = s->is_debug ? ERR_OK : check_named(s, domain, url, e);
	if (!kind)
		buf_add_string(out, url);
	return kind;
}

enum err e2b_sandbox_id(
	char *out, size_t room, const struct e2b_settings *s, const char *text, struct error *e)
{
	size_t len = strspn(text, LOWER DIGITS);
	const char *client = text + len + (text[len] == '-');
	bool is_debugged = s->is_debug && !strcmp(text, E2B_DEBUG_ID);

	if (is_debugged)
		len = strlen(text);
	else if (!len || (text[len] && (text[len] != '-' || !*client)) ||
		client[strspn(client, LOWER DIGITS)])
		return error_set(e, ERR_INVALID,
			"e2b: '%.100s' is no sandbox ID: they are letters a to z and digits", text);
	if (len >= room)
		return error_set(
			e, ERR_INVALID, "e2b: '%.100s' is too long for a sandbox ID", text);
	memcpy(out, text, len);
	out[len] = 0;
	return ERR_OK;
}
