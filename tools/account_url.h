/*
 * account_url.h - the base URL of a vendor's API as an option, which overrides its variable.
 */
#pragma once

#include "providers/provider.h"

/*
 * Requests of `ops` go to `url` from now on; NULL: no change. The vendor's variable gets the value,
 * so that programs started from here have it, too (variable_choose()). To be called before threads
 * start. `id`: that of the source; NULL: none. ERR_INVALID: not a URL, or the vendor has none, or
 * the ID is the address of a sandbox itself.
 */
enum err account_url_use(
	const struct provider_ops *ops, const char *id, const char *url, struct error *e);
/*
 * From now on, here and in programs started from here, a URL of http may lead to any machine;
 * false: no change.
 */
enum err account_insecure_use(bool is_insecure, struct error *e);
/*
 * From now on, here and in programs started from here, every request to the API has these headers,
 * "NAME: VALUE", ended by NULL; NULL: none. ERR_INVALID: the provider's requests can have none.
 */
enum err account_headers_use(
	const struct provider_ops *ops, const char *const *headers, struct error *e);
