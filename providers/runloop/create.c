#include "providers/base/cleanup.h"
#include "providers/json.h"
#include "providers/runloop/blueprint.h"
#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <string.h>

/* The largest request for a new devbox, whose environment may be large. */
#define BODY_MAX ((size_t)1024 * 1024)
/* The service's own default lifetime. */
#define LIFETIME_S 3600
/*
 * The meanings of a template: the beginnings of the service's ids, or words for them; any other
 * text is the name of a blueprint.
 */
static const struct {
	const char *begin;
	const char *field;
	bool is_word; /* not part of the id */
} sources[] = {
	{ "blueprint:", "blueprint_id", true },
	{ "snapshot:", "snapshot_id", true },
	{ "bpt_", "blueprint_id", false },
	{ "snp_", "snapshot_id", false },
};

static void put_source(struct json_writer *w, const char *template)
{
	for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
		size_t len = strlen(sources[i].begin);

		if (strncmp(template, sources[i].begin, len))
			continue;
		json_put_text(w, sources[i].field, template + (sources[i].is_word ? len : 0));
		return;
	}
	json_put_text(w, "blueprint_name", template);
}

/*
 * An idle time counts from the last use, which can be renewed, and at its end the devbox is
 * suspended: a user who reads for an hour shall not lose it. The service's lifetime cannot be
 * renewed, and at its end the devbox is lost.
 */
static void put_lifetime(struct json_writer *w, const struct provider_config *cfg)
{
	int64_t asked_s = cfg->idle_s ? cfg->idle_s : cfg->lifetime_s;

	json_put_open(w, "lifecycle");
	json_put_open(w, "after_idle");
	json_put_integer(w, "idle_time_seconds", asked_s ? asked_s : LIFETIME_S);
	json_put_text(w, "on_idle", "suspend");
	json_put_close(w);
	json_put_close(w);
}

static int64_t whole_gb(int64_t mb)
{
	return (mb + 1023) / 1024;
}

/* Which sizes there are is the service's to say. */
static void put_size(struct json_writer *w, const struct provider_config *cfg)
{
	char cpus[32];

	if (!cfg->cpus)
		return;
	snprintf(cpus, sizeof cpus, "%g", cfg->cpus);
	json_put_text(w, "resource_size_request", "CUSTOM_SIZE");
	json_put_raw(w, "custom_cpu_cores", cpus);
	json_put_integer(w, "custom_gb_memory", whole_gb(cfg->memory_mb));
	if (cfg->disk_mb)
		json_put_integer(w, "custom_disk_size", whole_gb(cfg->disk_mb));
}

/* `blueprint`: of the image; "": there is none. */
static void put_wanted(struct buf *out, const struct provider_config *cfg, const char *blueprint)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	if (cfg->name)
		json_put_text(&w, "name", cfg->name);
	if (cfg->template)
		put_source(&w, cfg->template);
	if (*blueprint)
		json_put_text(&w, "blueprint_id", blueprint);
	if (cfg->env)
		json_put_pairs(&w, "environment_variables", cfg->env);
	if (cfg->labels)
		json_put_pairs(&w, "metadata", cfg->labels);
	json_put_open(&w, "launch_parameters");
	put_lifetime(&w, cfg);
	put_size(&w, cfg);
	json_put_close(&w);
	json_put_close(&w);
}

static enum err check_wanted(const struct provider_config *cfg, struct error *e)
{
	bool has_cpus = cfg->cpus > 0, has_memory = cfg->memory_mb > 0;

	if (has_cpus != has_memory || (cfg->disk_mb && !has_cpus))
		return error_set(e, ERR_INVALID,
			"runloop: a devbox of another size needs %s and %s together",
			provider_option_name(cfg, OPTION_CPUS),
			provider_option_name(cfg, OPTION_MEMORY));
	if (cfg->idle_s && cfg->lifetime_s)
		return error_set(e, ERR_INVALID,
			"runloop: %s and %s are the same here, how long after its last use a "
			"devbox is suspended: give one of them",
			provider_option_name(cfg, OPTION_IDLE),
			provider_option_name(cfg, OPTION_LIFETIME));
	return ERR_OK;
}

static enum err create_with(struct runloop *b, const struct provider_config *cfg,
	const struct call *call, struct error *e)
{
	AUTO_BUF struct buf body = BUF_INIT(BODY_MAX);
	struct devbox d = { 0 };
	char blueprint[IMAGE_ID_SIZE] = "";
	enum err kind = check_wanted(cfg, e);

	if (!kind && cfg->image)
		kind = image_base_of(&b->api.rest, call, cfg, &runloop_blueprint, blueprint, e);
	if (kind)
		return kind;
	put_wanted(&body, cfg, blueprint);
	kind = buf_check(&body, "a new devbox", e);
	if (!kind)
		kind = devbox_create(&b->api.rest, call, buf_text(&body), &d, e);
	memcpy(b->at.id, d.id, sizeof b->at.id);
	if (!kind)
		kind = devbox_wait(&b->api.rest, call, b->at.id, DEVBOX_RUNNING, &d, e);
	if (!kind && d.phase != DEVBOX_RUNNING)
		kind = error_set(e, ERR_UNREACHABLE, "runloop:%s did not start: %s%s%s", b->at.id,
			d.status, *d.reason ? ", " : "", d.reason);
	return kind;
}

enum err runloop_create(
	const struct provider_config *cfg, const struct call *call, char id[128], struct error *e)
{
	AUTO_ATTACHMENT struct runloop *b = NULL;
	enum err kind = runloop_new(&b, cfg, e);

	if (kind)
		return kind;
	kind = create_with(b, cfg, call, e);
	if (kind)
		attachment_discard(&runloop_provider, cfg, b->at.id);
	else
		memcpy(id, b->at.id, sizeof b->at.id);
	return kind;
}
