/*
 * account.h - where LangSmith is, and with which key and workspace, as the vendor's SDK reads the
 * environment (npm langsmith 0.12.0, lib/utils/env.js, lib/utils/api_url.js and client.js).
 */
#pragma once

#include "providers/rest/account.h"

/* ERR_AUTH: no key. ERR_INVALID: the endpoint. On failure nothing has to be closed. */
enum err langsmith_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);

/* login.c: the key that a login with the vendor's own program left. */
extern const struct login_format langsmith_login;
