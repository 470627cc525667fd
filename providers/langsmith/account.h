/*
 * account.h - where LangSmith is, and with which key, as the vendor's SDK reads the environment
 * (npm langsmith 0.10.5, dist/utils/env.js).
 */
#pragma once

#include "providers/rest/account.h"

/* ERR_AUTH: no key. ERR_INVALID: the endpoint. On failure there is nothing to close. */
enum err langsmith_account_open(
	struct rest_account *out, const struct provider_config *cfg, struct error *e);
