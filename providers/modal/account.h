/*
 * account.h - where Modal is and who one is there: what the environment and ~/.modal.toml say, as Modal's own SDK reads
 * them.
 *
 * Source: modal SDK 0.11.1, src/config.ts. For each value the environment counts before the profile. Read once, when a
 * provider is made; nothing else looks at either.
 */
#pragma once

#include "providers/login.h"

#include <stdbool.h>
#include <stdint.h>

/* Owned strings. */
struct modal_settings {
	char *server_url; /* MODAL_SERVER_URL: https://api.modal.com; no slash at the end */
	char *token_id, *token_secret; /* MODAL_TOKEN_ID, MODAL_TOKEN_SECRET */
	/* MODAL_OAUTH_REFRESH_TOKEN, _CLIENT_ID, _CLIENT_SECRET: in the token's place, if `is_oauth` */
	char *refresh_token, *client_id, *client_secret;
	bool is_oauth;
	char *environment;     /* MODAL_ENVIRONMENT; "": the workspace's default */
	char *builder_version; /* MODAL_IMAGE_BUILDER_VERSION; "": asked for */
	char *signing_key;     /* MODAL_OAUTH_JWT_KEY; "": none */
	char *v2, *throttle_s; /* as they stand there; what follows is made of them */
	bool is_v1;            /* MODAL_SANDBOX_V2=0: the first version of the calls that create */
	int64_t throttle_max_ms; /* MODAL_MAX_THROTTLE_WAIT, seconds there; negative: no limit; 0: never */
};

/*
 * `key_file`: a file of mode 0600 whose line is "TOKEN_ID:TOKEN_SECRET", or the secret alone; what it does not say, and all
 * where it is NULL, comes from the environment, then the profile. ERR_AUTH:
 * no token, or half of one, or part of what OAuth needs, or the
 * profile's secret and another server than the profile's; ERR_INVALID: the configuration file, or a token and OAuth;
 * ERR_UNSUPPORTED: OAuth with a key to sign with. On failure there is nothing to release.
 */
enum err modal_settings_read(struct modal_settings *out, const char *key_file, struct error *e);
/* Of the same file. */
extern const struct login_format modal_login;
/* Wipes what is secret first. */
void modal_settings_release(struct modal_settings *s);
