#include "providers/langsmith/files.h"

#include "providers/langsmith/langsmith.h"

/* The service does not say "not yet": what it could not do now it cannot do a moment later. */
#define FLAGS (HTTP_REPEATABLE | HTTP_INTERNAL_ERROR_IS_FINAL)

enum err file_path_make(struct buf *out, const char *endpoint, const char *path, struct error *e)
{
	buf_printf(out, "%s?path=", endpoint);
	http_escape(out, path, "/");
	return buf_check(out, "a path in the sandbox", e);
}

/* ---- Up ---- */

enum err file_upload_make(
	struct file_upload *u, const char *id, const struct remote_upload *upload, struct error *e)
{
	enum err kind;

	*u = (struct file_upload){ .path = BUF_INIT(FILE_PATH_ROOM) };
	kind = file_path_make(&u->path, "/upload", upload->path, e);
	if (!kind)
		kind = multipart_init(&u->form, e);
	if (kind)
		return kind;
	multipart_add_file(&u->form, "file", "file", upload->bytes, upload->len);
	multipart_content_type(&u->form, u->content_type);
	kind = multipart_finish(&u->form, e);
	u->ask = (struct rest_ask){ .method = HTTP_POST,
		.flags = FLAGS,
		.path = buf_text(&u->path),
		.source = multipart_read,
		.source_context = &u->form,
		.body_len = u->form.len,
		.content_type = u->content_type,
		.what = "storing a file",
		.id = id };
	return kind;
}

void file_upload_release(struct file_upload *u)
{
	multipart_release(&u->form);
	buf_release(&u->path);
}

static enum err upload_step(
	struct langsmith *l, const struct call *call, void *context, struct error *e)
{
	struct file_upload u;
	enum err kind = file_upload_make(&u, l->id, context, e);

	if (!kind)
		kind = rest_perform(&l->data, call, &u.ask, NULL, e);
	file_upload_release(&u);
	return kind;
}

/* What is stored belongs to the sandbox's own user, who may give it away; the other may not make it executable. */
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
			l->id, user);
	return kind;
}

enum err langsmith_upload(
	void *context, const struct call *call, const struct remote_upload *upload, struct error *e)
{
	struct langsmith *l = context;
	enum err kind = langsmith_reach(l, call, upload_step, (void *)upload, e);

	return kind || !l->user ? kind : give_to(l, call, l->user, upload->path, e);
}
