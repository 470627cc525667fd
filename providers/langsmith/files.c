#include "providers/langsmith/files.h"

#include "providers/langsmith/langsmith.h"

/* An internal error of the service is final: it never means "not yet". */
#define FLAGS (HTTP_REPEATABLE | HTTP_INTERNAL_ERROR_IS_FINAL)

struct rest_ask file_upload_ask(const char *id, const struct remote_upload *upload)
{
	return (struct rest_ask){ .method = HTTP_POST,
		.flags = FLAGS,
		.path = "/upload?path=",
		.file = upload->path,
		.form = { .file_field = "file", .bytes = upload->bytes, .len = upload->len },
		.what = "storing a file",
		.id = id };
}

static enum err upload_step(
	struct langsmith *l, const struct call *call, void *context, struct error *e)
{
	const struct rest_ask ask = file_upload_ask(l->at.id, context);

	return rest_perform(&l->data, call, &ask, NULL, e);
}

/*
 * A stored file belongs to the sandbox's own user, who may give it away. Another user could not
 * make it executable without owning it.
 */
static enum err give_to(struct langsmith *l, const struct call *call, const char *user,
	const char *path, struct error *e)
{
	const char *const argv[] = { "chown", user, path, NULL };
	int exit_code;
	enum err kind = langsmith_do(l, call, argv, &exit_code, e);

	if (!kind && exit_code)
		return error_set(e, ERR_DENIED,
			"langsmith:%s: the user '%s' cannot have files of its own here: is it one "
			"of "
			"the sandbox's users, and the sandbox's own user root?",
			l->at.id, user);
	return kind;
}

enum err langsmith_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	struct langsmith *l = context;
	enum err kind = langsmith_reach(l, call, upload_step, (void *)upload, e);

	return kind || !l->at.user ? kind : give_to(l, call, l->at.user, upload->path, e);
}
