#include "providers/langsmith/box.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const statuses[] = {
	[BOX_PROVISIONING] = "provisioning",
	[BOX_READY] = "ready",
	[BOX_FAILED] = "failed",
	[BOX_STOPPED] = "stopped",
	[BOX_DELETING] = "deleting",
};

/* ---- Answers about a sandbox ---- */

void box_read_status(struct box *out, struct json_object *json)
{
	const char *word = rest_text(json, "status", "");

	out->status = BOX_READY;
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		if (!strcmp(statuses[i], word))
			out->status = (enum box_status)i;
	snprintf(out->message, sizeof out->message, "%s", rest_text(json, "status_message", ""));
}

/* A URL or path that does not fit counts as none. */
static void copy_text(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", strlen(text) < size ? text : "");
}

static int64_t seconds_to_deletion(struct json_object *json, int64_t now_s)
{
	int64_t kept_s = rest_integer(json, "delete_after_stop_seconds", 0);
	const char *stopped = rest_text(json, "stopped_at", "");

	if (kept_s <= 0 || !*stopped)
		return -1;
	/* The deletion comes kept_s after the stop, so the seconds count from an earlier "now". */
	return rest_seconds_until(stopped, now_s - kept_s);
}

enum err box_parse(struct box *out, struct json_object *json, int64_t now_s, struct error *e)
{
	const char *id = rest_text(json, "id", "");

	*out = (struct box){ .idle_s = rest_integer(json, "idle_ttl_seconds", 0) };
	copy_text(out->id, sizeof out->id, *id ? id : rest_text(json, "name", ""));
	if (box_check_id(out->id, NULL))
		return error_set(e, ERR_PROTOCOL, "langsmith: a sandbox without a usable id");
	box_read_status(out, json);
	copy_text(out->dataplane_url, sizeof out->dataplane_url,
		rest_text(json, "dataplane_url", ""));
	copy_text(out->work_dir, sizeof out->work_dir,
		rest_text(rest_member(json, "run_config"), "work_dir", ""));
	out->ends_s = seconds_to_deletion(json, now_s);
	out->is_disposable = !rest_flag(json, "persistent", true);
	return ERR_OK;
}

/* "." and ".." cannot be escaped, and would name another resource. */
enum err box_check_id(const char *id, struct error *e)
{
	size_t len = strlen(id);
	bool is_fit =
		len && len < sizeof((struct box *)0)->id && strcmp(id, ".") && strcmp(id, "..");

	for (size_t i = 0; i < len; i++)
		is_fit = is_fit && isgraph((unsigned char)id[i]);
	return is_fit
		? ERR_OK
		: error_set(e, ERR_INVALID, "langsmith: '%.100s' is no sandbox's id or name", id);
}

int64_t box_whole_minutes(int64_t seconds)
{
	return (seconds + 59) / 60 * 60;
}

enum sandbox_state box_state(const struct box *b)
{
	switch (b->status) {
	case BOX_PROVISIONING:
	case BOX_READY: return SANDBOX_RUNNING;
	case BOX_FAILED: return SANDBOX_FAILED;
	case BOX_STOPPED:
	case BOX_DELETING: break;
	}
	return SANDBOX_STOPPED;
}

void box_describe(const struct box *b, struct sandbox_info *out)
{
	*out = (struct sandbox_info){ .state = box_state(b) };
	if (b->status == BOX_FAILED)
		snprintf(out->warning, sizeof out->warning, "%s; sandboxctl resume starts it again",
			*b->message ? b->message : "it failed, and no reason is told");
	else if (b->is_disposable)
		snprintf(out->warning, sizeof out->warning,
			"it is not persistent: what is written is lost when it stops%s",
			b->idle_s ? ", as it does when it is idle" : "");
}

int64_t box_ends_s(const struct box *b)
{
	if (b->status == BOX_STOPPED)
		return b->ends_s;
	return b->idle_s > 0 ? b->idle_s : -1;
}
