/*
 * account.h - where Modal is, and whose account is used there: the values of the environment and of
 * ~/.modal.toml, read as Modal's own SDK reads them.
 *
 * Source: modal SDK 0.11.1, src/config.ts. For each value the environment counts before the
 * profile. Both are read once, when a provider is made. Nothing else looks at either.
 */
#pragma once

#include "providers/login.h"

#include <stdbool.h>
#include <stdint.h>

/* Owned strings. */
struct modal_settings {
	char *server_url; /* MODAL_SERVER_URL: https://api.modal.com; no slash at the end */
	char *token_id, *token_secret; /* MODAL_TOKEN_ID, MODAL_TOKEN_SECRET */
	/*
	 * MODAL_OAUTH_REFRESH_TOKEN, _CLIENT_ID, _CLIENT_SECRET: used in the token's place, if
	 * `is_oauth`
	 */
	char *refresh_token, *client_id, *client_secret;
	bool is_oauth;
	char *environment;     /* MODAL_ENVIRONMENT; "": the workspace's default */
	char *builder_version; /* MODAL_IMAGE_BUILDER_VERSION; "": asked for */
	char *signing_key;     /* MODAL_OAUTH_JWT_KEY; "": none */
	/* the texts of the variables; the fields that follow are made of them */
	char *v2, *throttle_s;
	bool is_v1; /* MODAL_SANDBOX_V2=0: the first version of the calls that create */
	/* MODAL_MAX_THROTTLE_WAIT, which has seconds; negative: no limit; 0: never */
	int64_t throttle_max_ms;
};

/*
 * `key_file`: a file of mode 0600 whose line is "TOKEN_ID:TOKEN_SECRET", or the secret alone.
 * Values that the file does not have come from the environment, then from the profile; all of them
 * where `key_file` is NULL. On failure there is nothing to release.
 *
 * ERR_AUTH: no token, or half of one, or part of what OAuth needs, or the profile's secret with
 * another server than the profile's. ERR_INVALID: the configuration file is wrong, or there are
 * both a token and OAuth. ERR_UNSUPPORTED: OAuth with a key to sign with.
 */
enum err modal_settings_read(struct modal_settings *out, const char *key_file, struct error *e);
/* The login in the configuration file. */
extern const struct login_format modal_login;
/* Wipes secrets before they are freed. */
void modal_settings_release(struct modal_settings *s);
