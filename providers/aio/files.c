/* Files of staging, as the bytes they are. */
#include "providers/aio/aio.h"
#include "providers/aio/verdict.h"

struct rest_ask aio_upload_ask(const struct aio *a, const struct remote_upload *upload)
{
	return (struct rest_ask){ .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/v1/file/upload",
		.form = { .path_field = "path",
			.path = upload->path,
			.file_field = "file",
			.bytes = upload->bytes,
			.len = upload->len },
		.what = "uploading",
		.id = a->address.id };
}

enum err aio_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	const struct aio *a = context;
	const struct rest_ask ask = aio_upload_ask(a, upload);

	return rest_perform(&a->account.rest, call, &ask, NULL, e);
}

enum err aio_download(void *context, const struct call *call, const char *path, execute_sink sink,
	void *sink_context, struct error *e)
{
	const struct aio *a = context;
	struct remote_bytes to = { sink, sink_context };
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE | HTTP_BULK,
		.path = "/v1/file/download?path=",
		.file = path,
		.what = "downloading",
		.id = a->address.id,
		.frame = &aio_file_frame };

	return rest_stream(&a->account.rest, call, &ask, remote_bytes_take, &to, e);
}
