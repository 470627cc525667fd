/*
 * account.h - what every request to Daytona needs: where it is, the key, the HTTP client.
 *
 * Source: @daytonaio/sdk 0.218, Daytona.js. The environment is read when an account is opened and
 * not again; dotenv files, which the SDK reads besides, are not.
 */
#pragma once

#include "providers/rest/account.h"

/*
 * A token, in place of a key, wants DAYTONA_ORGANIZATION_ID. Requests to sandboxes have the same
 * headers. ERR_AUTH, ERR_INVALID. On failure there is nothing to close.
 */
enum err daytona_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);

/* What a refusal of the control plane means: its rest_judge. */
enum err daytona_judge_control(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

/* login.c: the key of who logged in with the vendor's own program. */
extern const struct login_format daytona_login;
