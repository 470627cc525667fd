#include "providers/remote/remote.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/client/image.h"
#include "providers/remote/command.h"
#include "providers/remote/find.h"
#include "providers/remote/names.h"
#include "providers/remote/opening.h"
#include "providers/remote/pack.h"
#include "providers/remote/runner.h"

#include <stdio.h>
#include <string.h>

/* Takes the directories and the user out of the report. */
static enum err take_place(struct remote *r, const struct remote_report *report, struct error *e)
{
	r->home = strdup(report->home);
	r->root = strdup(report->root);
	r->staging = strdup(report->staging);
	if (!r->home || !r->root || !r->staging)
		return error_set(e, ERR_NO_MEMORY, "an attached sandbox");
	return ERR_OK;
}

/* ---- A helper that is kept ---- */

static enum err start_helper(void *context, const struct call *call, int *fd, struct error *e)
{
	const struct remote *r = context;
	const char *argv[REMOTE_LAUNCH_ARGC + 4];
	size_t count = remote_launch(r, argv);

	argv[count++] = "serve";
	argv[count++] = r->root;
	argv[count++] = r->staging;
	argv[count] = NULL;

	return r->ops.keep(r->ops.context, call, argv, fd, e);
}

static enum err mend_helper(void *context, const struct call *call, struct error *e)
{
	return remote_put_back(context, call, e);
}

static enum err keep_helper(struct remote *r, const struct hello *hello, struct error *e)
{
	const struct helper_keeper keeper = { .start = start_helper,
		.mend = mend_helper,
		.idle_ms = REMOTE_KEPT_MS,
		.costs_requests = r->ops.costs_requests,
		.context = r };

	return helper_client_new_kept(&r->helper, &keeper, hello, e);
}

/* ---- Attaching ---- */

static enum err take_helper(struct remote *r, const struct remote_report *report, struct error *e)
{
	const struct helper_runner runner = { .run = remote_runner_run,
		.is_armoured = r->ops.is_text,
		.is_late = !r->ops.is_live,
		.context = r };
	struct helper_image image;
	char name[HELPER_IMAGE_NAME_SIZE];

	r->identity = report->hello.identity;
	if (!helper_image_find(report->machine, &image))
		return error_set(e, ERR_PROTOCOL, "a helper for '%.40s'", report->machine);
	helper_image_name(&image, name);
	r->loader = remote_loader_find(report->loader);
	if (!r->loader)
		return error_set(e, ERR_PROTOCOL, "a helper by '%.40s'", report->loader);
	if (asprintf(&r->helper_path, "%s/%s", report->place, name) < 0) {
		r->helper_path = NULL;
		return error_set(e, ERR_NO_MEMORY, "an attached sandbox");
	}
	return r->ops.keep ? keep_helper(r, &report->hello, e)
			   : helper_client_new_runs(&r->helper, &runner, &report->hello, e);
}

static enum err lack_helper(
	struct remote *r, const struct remote_report *report, bool may_lack, struct error *e)
{
	char why[REMOTE_WHY_MAX];

	remote_explain(report, why, sizeof why);
	if (!may_lack)
		return error_set(e, ERR_UNSUPPORTED, "%s", why);
	r->no_helper = strdup(why);
	return r->no_helper ? ERR_OK : error_set(e, ERR_NO_MEMORY, "an attached sandbox");
}

static enum err attach(struct remote *r, const struct provider_config *cfg, const char *working_dir,
	const struct call *call, struct error *e)
{
	struct remote_question question = {
		.path = cfg->path, .working_dir = working_dir, .opening = r->opening
	};
	AUTO_REMOTE_REPORT struct remote_report report = { 0 };
	enum err kind;

	kind = remote_find(&report, &r->ops, question, call, e);
	if (kind == ERR_OK)
		kind = take_place(r, &report, e);
	if (kind != ERR_OK)
		return kind;
	if (report.state == REMOTE_READY)
		return take_helper(r, &report, e);
	remote_opening_free(take(r->opening));
	return lack_helper(r, &report, cfg->may_lack_helper, e);
}

static bool can_open(const struct remote *r, const struct provider_config *cfg)
{
	return cfg->opening && r->ops.listen && r->ops.is_live;
}

static enum err new_packer(struct remote *r, struct error *e)
{
	r->packer = calloc(1, sizeof *r->packer);
	return r->packer ? ERR_OK : error_set(e, ERR_NO_MEMORY, "a connection");
}

enum err remote_attach(struct remote *out, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e)
{
	enum err kind;

	*out = (struct remote){ .ops = *ops };
	kind = remote_commands_new(&out->commands, out, e);
	if (kind == ERR_OK)
		kind = remote_names_new(&out->leftovers, e);
	if (kind == ERR_OK)
		kind = new_packer(out, e);
	if (kind == ERR_OK && can_open(out, cfg))
		kind = remote_opening_new(&out->opening, cfg->opening, e);
	if (kind == ERR_OK)
		kind = attach(out, cfg, working_dir, call, e);
	if (kind != ERR_OK)
		remote_release(out);
	return kind;
}

void remote_fill_slots(const struct remote *r, struct provider *p)
{
	p->root = r->root;
	p->staging = r->staging;
	p->helper = r->helper;
	p->no_helper = r->no_helper;
	p->is_opened = r->opening;
}

void remote_describe(const struct remote *r, struct sandbox_info *out)
{
	if (!r->root)
		return;
	snprintf(out->root, sizeof out->root, "%s", r->root);
	out->identity = r->identity;
}

/* ---- The end ---- */

/* The removals are changes, which every transport to a helper carries. */
static enum err remove_names(const struct remote *r, const struct call *call,
	char names[][REMOTE_NAME_SIZE], size_t count, struct error *e)
{
	AUTO_FREE struct change_result *results = calloc(count, sizeof *results);
	struct change changes[REMOTE_NAMES_MAX];
	char paths[REMOTE_NAMES_MAX][1 + REMOTE_NAME_SIZE] = { 0 };
	const struct apply_request request = {
		.is_plain = true, .changes = changes, .changes_count = count
	};

	for (size_t i = 0; i < count; i++) {
		paths[i][0] = '/';
		memcpy(paths[i] + 1, names[i], REMOTE_NAME_SIZE);
		changes[i] = (struct change){ .op = CHANGE_UNLINK, .path = paths[i] };
	}
	return results ? helper_client_apply(r->helper, call, &request, results, e)
		       : error_set(e, ERR_NO_MEMORY, "names in staging");
}

size_t remote_remove_leftovers(const struct remote *r, const struct call *call)
{
	char names[REMOTE_NAMES_MAX][REMOTE_NAME_SIZE];
	size_t count = r->helper ? remote_names_take(r->leftovers, names, REMOTE_NAMES_MAX) : 0;
	struct error e = { 0 };

	if (!count || remove_names(r, call, names, count, &e) == ERR_OK)
		return count;
	log_info(
		LOG_PROVIDER, "%zu files stay in %s of the sandbox: %s", count, r->staging, e.text);
	for (size_t i = 0; i < count; i++)
		remote_names_add(r->leftovers, names[i]);
	return 0;
}

void remote_release(struct remote *r)
{
	remote_opening_free(r->opening);
	remote_commands_free(r->commands);
	if (r->leftovers)
		remote_remove_leftovers(
			r, &(struct call){ .progress_ms = CALL_LAST_MS, .is_background = true });
	helper_client_free(r->helper);
	remote_names_free(r->leftovers);
	free(r->packer);
	free(r->home);
	free(r->root);
	free(r->staging);
	free(r->helper_path);
	free(r->no_helper);
	*r = (struct remote){ 0 };
}

enum err remote_bytes_take(void *context, const void *bytes, size_t len, struct error *e)
{
	const struct remote_bytes *to = context;

	return to->sink(to->sink_context, STREAM_OUT, bytes, len, e);
}
