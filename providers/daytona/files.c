#include "providers/daytona/toolbox_inside.h"

#include <string.h>

/* Whether the daemon would trim the path: it removes these blanks at both ends. */
static bool is_trimmed(const char *path)
{
	static const char blanks[] = " \t\n\v\f\r";
	size_t len = strlen(path);

	return !len || strchr(blanks, path[0]) || strchr(blanks, path[len - 1]);
}

enum err toolbox_upload_ask(struct rest_ask *out, const struct remote_upload *upload,
	const struct call *call, struct error *e)
{
	if (is_trimmed(upload->path))
		return error_set(e, ERR_INVALID,
			"daytona: '%s' cannot be uploaded: blanks at its ends", upload->path);
	*out = (struct rest_ask){ .method = HTTP_POST,
		.flags = HTTP_REPEATABLE,
		.path = "/files/bulk-upload",
		.form = { .path_field = "files[0].path",
			.path = upload->path,
			.file_field = "files[0].file",
			.bytes = upload->bytes,
			.len = upload->len },
		.what = "uploading a file" };
	*out = toolbox_as_asked(*out, call);
	return ERR_OK;
}

enum err toolbox_upload(const struct rest *r, const struct call *call,
	const struct remote_upload *upload, struct error *e)
{
	struct rest_ask ask;
	enum err kind = toolbox_upload_ask(&ask, upload, call, e);

	return kind ? kind : rest_perform(r, call, &ask, NULL, e);
}

/* The answer's length shows whether the file is whole; a bulk download would need a form for it. */
enum err toolbox_download(const struct rest *r, const struct call *call, const char *path,
	execute_sink sink, void *sink_context, struct error *e)
{
	struct remote_bytes to = { sink, sink_context };
	const struct rest_ask ask = { .method = HTTP_GET,
		.flags = HTTP_REPEATABLE | HTTP_BULK,
		.path = "/files/download?path=",
		.file = path,
		.frame = &toolbox_file_frame,
		.what = "downloading a file" };
	const struct rest_ask as_asked = toolbox_as_asked(ask, call);

	return rest_stream(r, call, &as_asked, remote_bytes_take, &to, e);
}
