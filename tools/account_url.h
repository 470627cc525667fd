/*
 * account_url.h - the base URL of a vendor's API as an option, before its variable.
 */
#pragma once

#include "providers/provider.h"

/*
 * From now on requests of `ops` go to `url`; NULL: nothing changes. The vendor's variable gets it, so
 * that programs started from here have it, too (variable_choose()): before threads start. ERR_INVALID:
 * that is no URL, or the vendor has none.
 */
enum err account_url_use(const struct provider_ops *ops, const char *url, struct error *e);
/* From now on, and for such programs, a URL of http may lead to any machine; false: nothing changes. */
enum err account_insecure_use(bool is_insecure, struct error *e);
/*
 * From now on, and for such programs, every request to the API has these headers, "NAME: VALUE",
 * ended by NULL; NULL: none. ERR_INVALID: the provider's requests can have none.
 */
enum err account_headers_use(
	const struct provider_ops *ops, const char *const *headers, struct error *e);
