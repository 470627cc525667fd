/*
 * The service's own stream of changes (/v1/file/watch) is not used: it gathers changes for 50 ms at least, its document does
 * not say when it has begun or what it does with directories that are new, and a name that is not UTF-8 has no place in its
 * JSON.
 */
#include "providers/aio/aio.h"
#include "providers/remote_watch.h"

enum err aio_watch(struct provider *p, const struct call *call, const struct watch_request *request,
	watch_sink sink, void *context, struct error *e)
{
	struct aio *a = (struct aio *)p;

	return remote_watch(&a->remote, "aio", call, request, sink, context, e);
}
