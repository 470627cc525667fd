/*
 * account.h - what every request to E2B needs: the settings, the key, the HTTP client and the
 * control plane.
 */
#pragma once

#include "providers/e2b/control_plane.h"

struct account {
	struct e2b_settings settings;
	struct http *http;   /* the client of `plane`, where there is a control plane */
	struct plane *plane; /* NULL: E2B_DEBUG is set, so there is no control plane */
};

#define AUTO_ACCOUNT __attribute__((cleanup(account_close)))

/* On failure nothing has to be closed. account_close() also takes an account that is all zero. */
enum err account_open(struct account *a, const struct provider_config *cfg, struct error *e);
void account_close(struct account *a);
