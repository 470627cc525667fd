/*
 * account.h - where LangSmith is, and with which key: LANGSMITH_ENDPOINT (or LANGCHAIN_ENDPOINT) and LANGSMITH_API_KEY (or
 * LANGCHAIN_API_KEY), as the vendor's SDK reads them (npm langsmith 0.10.5, dist/utils/env.js), or a file with the key.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest.h"

#define LANGSMITH_KEY_NAMES "LANGSMITH_API_KEY, LANGCHAIN_API_KEY"

struct langsmith_account {
	struct http *http;
	char *key; /* owned */
	struct rest control;
};

/* ERR_AUTH: no key. ERR_INVALID: the endpoint. On failure there is nothing to close. */
enum err langsmith_account_open(
	struct langsmith_account *out, const struct provider_config *cfg, struct error *e);
/* One that is all zero may be closed as well. */
void langsmith_account_close(struct langsmith_account *a);

/* The way to a sandbox, whose address the control plane gave; the key is in the same header there. */
enum err langsmith_account_reach(
	const struct langsmith_account *a, const char *url, struct rest *out, struct error *e);
