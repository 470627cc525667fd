/*
 * account.h - the common parts of every request to a vendor over REST: the URL, the key and the
 * HTTP client.
 */
#pragma once

#include "providers/login.h"
#include "providers/provider.h"
#include "providers/rest/rest.h"
#include "providers/variables.h"

/*
 * The facts that differ by vendor; variables are those of variables.h. Read only until
 * rest_account_open() returns.
 */
struct rest_account_facts {
	const char *vendor;
	const char *url; /* NULL: the URL of VARIABLE_URL */
	/* the vendor's own URL, for which a login without one is; NULL: that of VARIABLE_URL */
	const char *own_url;
	/* the root of the URL, to be freed; NULL: all of it but slashes at the end */
	char *(*root)(const char *url);
	const char *below;  /* text behind the URL: "/v2/sandboxes"; NULL: none */
	const char *header; /* the header with the key: "Authorization" */
	const char *scheme; /* the text before the key there: "Bearer ", or "" */
	bool is_token;      /* the key is in VARIABLE_TOKEN */
	bool may_lack_key;  /* without a key the header is not sent */
	/* a variable for more_headers.h; NULL: the vendor has none */
	const char *headers_variable;
	bool is_plain_asked;              /* the user asks for http to that URL (plain_http.h) */
	const struct login_format *login; /* NULL: the vendor's own program keeps no login */
	const struct http_header *more;   /* additional headers of every request */
	size_t more_count;
	rest_verdict verdict;
	const struct vendor_frame *frame; /* form of the vendor's own answers */
};

struct rest_account {
	struct http *http;
	struct rest rest;
};

/*
 * Opens an account. The key is that of cfg->key_file, else of the vendor's variables, else of the
 * login, which also has the URL. ERR_AUTH: there is no key, or a login's key with the URL of
 * another server. ERR_INVALID: the URL, or the login's file. On failure there is nothing to close.
 */
enum err rest_account_open(struct rest_account *out, const struct rest_account_facts *facts,
	const struct provider_config *cfg, struct error *e);
/* Closes an account, also one that is all zero. */
void rest_account_close(struct rest_account *a);
#define AUTO_REST_ACCOUNT __attribute__((cleanup(rest_account_close)))

/*
 * Makes a struct rest for another base URL with the same client and headers: a sandbox's data
 * plane, as an answer named it. ERR_PROTOCOL: http_check_named_url() refuses the URL.
 */
enum err rest_account_reach(const struct rest_account *a, const char *url, rest_verdict verdict,
	const struct vendor_frame *frame, struct rest *out, struct error *e);
