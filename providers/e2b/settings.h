/*
 * settings.h - where E2B is: the environment, as the vendor's own SDK reads it, and the addresses
 * that follow from it.
 *
 * Source: e2b SDK 2.51, connectionConfig.ts. The environment is read once, when a provider is made;
 * nothing else reads it.
 */
#pragma once

#include "providers/base/buf.h"

/* envd's port in every sandbox. */
#define E2B_PORT "49983"
/* The sandbox of E2B_DEBUG, which has no control plane. */
#define E2B_DEBUG_ID "debug_sandbox_id"

/* The strings are owned. */
struct e2b_settings {
	char *domain;      /* E2B_DOMAIN: "e2b.app" */
	char *api_url;     /* E2B_API_URL or https://api.<domain>; no slash at the end */
	char *sandbox_url; /* E2B_SANDBOX_URL: envd's URL for all sandboxes; NULL: by the domain */
	/* E2B_DEBUG=true: no control plane, envd at http://localhost:49983, no token. */
	bool is_debug;
};

/* ERR_INVALID: E2B_DOMAIN is no domain. On failure nothing has to be released. */
enum err e2b_settings_read(struct e2b_settings *out, struct error *e);
void e2b_settings_release(struct e2b_settings *s);

/*
 * The URL of envd in sandbox `id`. `domain`: the domain in the control plane's answer; "": the
 * configured one. The vendor's own domains have one host for all sandboxes, which goes by the
 * headers E2b-Sandbox-Id and E2b-Sandbox-Port. Other domains have a host for each sandbox. *out is
 * allocated. ERR_PROTOCOL: the domain may not be used, see http_check_named_url().
 */
enum err e2b_envd_url(char **out, const struct e2b_settings *s, const char *id, const char *domain,
	struct error *e);

/* The vendor's own control plane: the one in the settings if it is the vendor's, else the usual. */
const char *e2b_own_url(const struct e2b_settings *s);

/* The URL of a port of sandbox `id`. `domain` and errors: see e2b_envd_url(). */
enum err e2b_port_url(struct buf *out, const struct e2b_settings *s, const char *id,
	const char *domain, unsigned port, struct error *e);

/*
 * Writes `text` into `out`, without the "-<client id>" that older ids end with. ERR_INVALID: `text`
 * is no id; the error names it.
 */
enum err e2b_sandbox_id(
	char *out, size_t room, const struct e2b_settings *s, const char *text, struct error *e);

/* Whether `text` can stand in a URL as a host, with or without a port. */
bool e2b_is_domain(const char *text);
