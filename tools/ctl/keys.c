#include "tools/ctl/keys.h"

#include "providers/base/cleanup.h"
#include "providers/key.h"
#include "providers/provider.h"

enum err provider_key_source(const struct provider_ops *ops, struct buf *out, struct error *e)
{
	return *ops->key_names ? key_source(out, ops->name, ops->login, e) : ERR_NOT_FOUND;
}

bool provider_key_is_set(const struct provider_ops *ops)
{
	AUTO_BUF struct buf source = BUF_INIT(KEY_SOURCE_MAX);

	return provider_key_source(ops, &source, NULL) != ERR_NOT_FOUND;
}

bool provider_is_program(const struct provider_ops *ops)
{
	return !*ops->key_names && !(ops->caps & PROVIDER_EMBEDDED);
}
