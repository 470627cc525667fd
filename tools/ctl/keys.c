#include "tools/ctl/keys.h"

#include "providers/base/cleanup.h"
#include "providers/provider.h"

#include <stdlib.h>
#include <string.h>

/* `key_names` is a list with ", " between. */
bool provider_key_is_set(const struct provider_ops *ops)
{
	AUTO_FREE char *copy = strdup(ops->key_names);
	char *rest = copy;

	for (const char *name; copy && (name = strsep(&rest, ", "));) {
		const char *value = *name ? getenv(name) : NULL;

		if (value && *value)
			return true;
	}
	return false;
}
