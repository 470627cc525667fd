/*
 * account.h - what every request to Daytona needs: where it is, the key, the HTTP client.
 *
 * Source: @daytonaio/sdk 0.218, Daytona.js. The environment is read once, when an account is
 * opened. dotenv files, which the SDK reads too, are not read.
 */
#pragma once

#include "providers/rest/account.h"

/*
 * A token, in place of a key, needs DAYTONA_ORGANIZATION_ID. Requests to sandboxes have the same
 * headers. ERR_AUTH, ERR_INVALID. On failure nothing has to be closed.
 */
enum err daytona_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);

/* The control plane's rest_verdict: the error that a refusal means. */
enum err daytona_control_verdict(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

/* login.c: the key that a login with the vendor's own program left. */
extern const struct login_format daytona_login;
