/*
 * account.h - what every request to Daytona needs: where it is, the key, the HTTP client.
 *
 * Source: @daytonaio/sdk 0.218, Daytona.js. The environment is read when an account is opened and not again; dotenv files,
 * which the SDK reads besides, are not.
 */
#pragma once

#include "providers/provider.h"
#include "providers/rest.h"

struct daytona_account {
	struct http *http;
	struct rest
		control; /* the control plane; its headers go with requests to sandboxes as well */
	char *target; /* DAYTONA_TARGET: the region of new sandboxes; NULL: the vendor's choice */
};

/*
 * DAYTONA_API_URL, else DAYTONA_SERVER_URL, else the vendor's cloud. The key: cfg->key_file, else DAYTONA_API_KEY, else
 * DAYTONA_JWT_TOKEN, which wants DAYTONA_ORGANIZATION_ID. ERR_AUTH, ERR_INVALID. On failure there is nothing to close.
 */
enum err daytona_account_open(
	struct daytona_account *out, const struct provider_config *cfg, struct error *e);
void daytona_account_close(struct daytona_account *a);
#define AUTO_DAYTONA_ACCOUNT __attribute__((cleanup(daytona_account_close)))

/* What a refusal of the control plane means: its rest_judge. */
enum err daytona_judge_control(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);
