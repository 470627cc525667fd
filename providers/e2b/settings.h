/*
 * settings.h - where E2B is: what the environment says, as the vendor's own SDK reads it, and the addresses that follow.
 *
 * Source: e2b SDK 2.51, connectionConfig.ts. Read once, when a provider is made; nothing else looks at the environment.
 */
#pragma once

#include "providers/base/buf.h"

/* envd's port in every sandbox. */
#define E2B_PORT "49983"
/* The sandbox of E2B_DEBUG, which has no control plane. */
#define E2B_DEBUG_ID "debug_sandbox_id"

/* Owned strings. */
struct e2b_settings {
	char *domain;      /* E2B_DOMAIN: "e2b.app" */
	char *api_url;     /* E2B_API_URL or https://api.<domain>; no slash at the end */
	char *sandbox_url; /* E2B_SANDBOX_URL: envd of every sandbox is there; NULL: by its domain */
	bool is_debug; /* E2B_DEBUG=true: no control plane, envd at http://localhost:49983, no token */
};

/* ERR_INVALID: E2B_DOMAIN is not one. On failure there is nothing to release. */
enum err e2b_settings_read(struct e2b_settings *out, struct error *e);
void e2b_settings_release(struct e2b_settings *s);

/*
 * Where envd of sandbox `id` is reached. `domain`: what the control plane says it is, "": the configured one. The vendor's
 * own domains have one host for all sandboxes, which goes by the headers E2b-Sandbox-Id and E2b-Sandbox-Port; others have a
 * host for each. Allocated. ERR_PROTOCOL: the domain may not be used, see http_check_told_url().
 */
enum err e2b_envd_url(char **out, const struct e2b_settings *s, const char *id, const char *domain,
	struct error *e);

/* The vendor's own control plane: that of the settings if it is one, else the usual one. */
const char *e2b_own_url(const struct e2b_settings *s);

/* Where a port of it is reached. `domain` and errors as above. */
enum err e2b_port_url(struct buf *out, const struct e2b_settings *s, const char *id,
	const char *domain, unsigned port, struct error *e);

/* `text` without the "-<client id>" that older ids end with, in `out`. ERR_INVALID names what is no id. */
enum err e2b_sandbox_id(
	char *out, size_t room, const struct e2b_settings *s, const char *text, struct error *e);

/* Whether it can stand in a URL as a host, with or without a port. */
bool e2b_is_domain(const char *text);
