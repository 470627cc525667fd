#include "providers/remote/find.h"

#include "providers/base/cleanup.h"
#include "providers/client/image.h"
#include "providers/remote/names.h"
#include "providers/remote/opening.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static void put_images(struct buf *out)
{
	struct helper_image image;
	const char *machine;

	for (size_t i = 0; helper_image_at(i, &machine, &image); i++) {
		char name[HELPER_IMAGE_NAME_SIZE];

		helper_image_name(&image, name);
		buf_printf(out, "%s %s %zu ", machine, name, image.len);
	}
}

static enum err run_script(struct remote_report *out, const struct remote_ops *ops,
	const struct remote_question *question, const struct call *call, struct error *e)
{
	return question->opening
		? remote_opening_run(question->opening, out, ops, question, call, e)
		: remote_script_run(out, ops, question, call, e);
}

/* Stored under the name *stored, which the next run of the script takes. */
static enum err upload_helper(const struct remote_report *report, const struct remote_ops *ops,
	char stored[REMOTE_NAME_SIZE], const struct call *call, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX + REMOTE_NAME_SIZE), program = { 0 };
	struct helper_image image;
	struct remote_upload upload;
	enum err kind = remote_new_name("upload-", stored, e);

	if (kind != ERR_OK)
		return kind;
	if (!helper_image_find(report->machine, &image))
		return error_set(e, ERR_PROTOCOL, "the sandbox's machine is '%.40s' by now",
			report->machine);
	if (!buf_printf(&path, "%s/%s", report->place, stored))
		return buf_check(&path, "a path in staging", e);
	kind = helper_image_unpack(&image, &program, e);
	upload = (struct remote_upload){ buf_text(&path), program.bytes, program.len };
	return kind ? kind : ops->upload(ops->context, call, &upload, e);
}

static enum err store(struct remote_report *report, const struct remote_ops *ops,
	struct remote_question question, const struct call *call, struct error *e)
{
	char stored[REMOTE_NAME_SIZE];
	enum err kind = upload_helper(report, ops, stored, call, e);

	if (kind != ERR_OK)
		return kind;
	remote_report_release(report);
	question.stored = stored;
	kind = run_script(report, ops, &question, call, e);
	if (kind == ERR_OK && report->state == REMOTE_ABSENT)
		return error_set(e, ERR_IO,
			"the helper program was uploaded to %s and is not there whole%s%s",
			report->place, *report->why ? ": " : "", report->why);
	return kind;
}

enum err remote_find(struct remote_report *out, const struct remote_ops *ops,
	struct remote_question question, const struct call *call, struct error *e)
{
	AUTO_BUF struct buf images = BUF_INIT(4096);
	enum err kind;

	put_images(&images);
	question.images = buf_text(&images);
	kind = run_script(out, ops, &question, call, e);
	if (kind == ERR_OK && out->state == REMOTE_ABSENT)
		kind = store(out, ops, question, call, e);
	return kind;
}

/* The operations that still work come first: an error's text may be cut. */
void remote_explain(const struct remote_report *report, char *out, size_t size)
{
	static const char works[] = "the sandbox cannot be mounted, only sandboxctl exec, push and "
				    "pull work: the helper program";
	char carried[100];

	switch (report->state) {
	case REMOTE_NO_IMAGE:
		helper_image_machines(carried, sizeof carried);
		snprintf(out, size, "%s is not there for its processor, %.40s, only for %s", works,
			report->machine, carried);
		break;
	case REMOTE_NOEXEC:
		snprintf(out, size,
			"%s (%.40s) may not be executed in any of %.300s, and there is neither "
			"python3 nor perl to run it from memory",
			works, report->machine, report->place);
		break;
	case REMOTE_BROKEN:
		snprintf(out, size, "%s (%.40s) does not run in %s%s", works, report->machine,
			report->place, report->why);
		break;
	case REMOTE_ABSENT: snprintf(out, size, "%s is not there", works); break;
	case REMOTE_READY: *out = 0; break;
	}
}
