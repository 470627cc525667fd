/*
 * account.h - what every request to a vendor over REST needs: where it is, the key and the
 * HTTP client.
 */
#pragma once

#include "providers/login.h"
#include "providers/provider.h"
#include "providers/rest/rest.h"
#include "providers/variables.h"

/*
 * What differs by vendor; the variables are those of variables.h. It is looked at until
 * rest_account_open() returns.
 */
struct rest_account_facts {
	const char *vendor;
	const char *url; /* NULL: that of VARIABLE_URL */
	char *(*root)(
		const char *url); /* the part that counts, to be freed; NULL: all but slashes */
	const char *below;        /* what stands behind the URL: "/v2/sandboxes"; NULL: nothing */
	const char *header;       /* that carries the key: "Authorization" */
	const char *scheme;       /* what stands before the key there: "Bearer ", or "" */
	bool is_token;            /* VARIABLE_TOKEN has the key */
	bool may_lack_key;        /* where there is none the header is not sent */
	const char *headers_variable;     /* of more_headers.h; NULL: the vendor has none */
	bool is_plain_asked;              /* the user asks for http to that URL (plain_http.h) */
	const struct login_format *login; /* NULL: the vendor's own program keeps none */
	const struct http_header *more;   /* headers that are sent as well */
	size_t more_count;
	rest_judge judge;
	const struct vendor_frame *frame; /* of the vendor's own answers */
};

struct rest_account {
	struct http *http;
	struct rest rest;
};

/*
 * The key: cfg->key_file, else the vendor's variables, else the login, which says where it is as
 * well. ERR_AUTH: there is none, or it is a login's and the URL another server's. ERR_INVALID: the
 * URL, or the login's file. On failure there is nothing to close.
 */
enum err rest_account_open(struct rest_account *out, const struct rest_account_facts *facts,
	const struct provider_config *cfg, struct error *e);
/* An account that is all zero may be closed as well. */
void rest_account_close(struct rest_account *a);
#define AUTO_REST_ACCOUNT __attribute__((cleanup(rest_account_close)))

/*
 * Another base URL for the same client and headers: of a sandbox's data plane, as an answer named
 * it. ERR_PROTOCOL: http_check_told_url().
 */
enum err rest_account_reach(const struct rest_account *a, const char *url, rest_judge judge,
	const struct vendor_frame *frame, struct rest *out, struct error *e);
