#include "providers/plain_http.h"

#include "providers/base/log.h"
#include "providers/variables.h"

#include <stdatomic.h>
#include <string.h>
#include <strings.h>

/* A process opens several clients for one address, and warns once. */
static void warn(const char *url)
{
	static atomic_flag has_warned = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&has_warned))
		log_warn(LOG_PROVIDER,
			"%.*s is not encrypted: whoever is on that network can read files, "
			"commands and the key",
			(int)strcspn(url, "?#"), url);
}

enum err plain_http_allow(struct http *h, const char *url, bool is_asked, struct error *e)
{
	if (strncasecmp(url, "http://", strlen("http://")) || !http_check_url(url, NULL))
		return ERR_OK;
	if (!is_asked && !http_is_private(url) && !variable("SANDBOXFS_INSECURE_HTTP"))
		return ERR_OK;
	enum err kind = http_allow_plain(h, url, e);

	if (!kind)
		warn(url);
	return kind;
}
