#include "providers/daytona/wish.h"

#include "providers/json.h"
#include "providers/reach.h"
#include "providers/rest/image.h"

#include <string.h>

/* The vendor's unit is GiB. */
#define GIB_OF_MIB 1024
#define MINUTE_S   60

#define PLACES_MAX 65536

static int64_t round_up(int64_t number, int64_t unit)
{
	return number / unit + (number % unit > 0);
}

int64_t daytona_minutes(int64_t seconds)
{
	return round_up(seconds, MINUTE_S);
}

/* The vendor refuses more CPUs than any machine has. */
static int64_t whole_cpus(double cpus)
{
	int64_t whole = cpus < INT32_MAX ? (int64_t)cpus : INT32_MAX;

	return whole + ((double)whole < cpus);
}

/* The vendor takes an image as a build whose Dockerfile has a FROM line alone. */
static enum err put_image(struct json_writer *w, const char *image, struct error *e)
{
	AUTO_BUF struct buf lines = BUF_INIT(4096);
	enum err kind = image_check("daytona", image, e);

	if (kind)
		return kind;
	buf_printf(&lines, "FROM %s\n", image);
	json_put_open(w, "buildInfo");
	json_put_text(w, "dockerfileContent", buf_text(&lines));
	json_put_close(w);
	return buf_check(&lines, "an image's name", e);
}

static enum err put_resources(
	struct json_writer *w, const struct provider_config *cfg, struct error *e)
{
	if (!cfg->image && (cfg->cpus > 0 || cfg->memory_mb || cfg->disk_mb))
		return error_set(e, ERR_INVALID,
			"daytona: a snapshot says itself what it needs; %s, %s and %s go with "
			"%sNAME",
			provider_option_name(cfg, OPTION_CPUS),
			provider_option_name(cfg, OPTION_MEMORY),
			provider_option_name(cfg, OPTION_DISK),
			provider_option_name(cfg, OPTION_IMAGE));
	if (cfg->cpus > 0)
		json_put_integer(w, "cpu", whole_cpus(cfg->cpus));
	if (cfg->memory_mb)
		json_put_integer(w, "memory", round_up(cfg->memory_mb, GIB_OF_MIB));
	if (cfg->disk_mb)
		json_put_integer(w, "disk", round_up(cfg->disk_mb, GIB_OF_MIB));
	return ERR_OK;
}

static void put_optional(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_put_text(w, key, text);
}

/* The allowed places of one kind, addresses or names, with commas between. */
static enum err put_allowed(struct json_writer *w, const char *key, const char *const *allowed,
	bool of_addresses, struct error *e)
{
	AUTO_BUF struct buf list = BUF_INIT(PLACES_MAX);

	for (; *allowed; allowed++)
		if (reach_is_addresses(*allowed) == of_addresses)
			buf_printf(&list, "%s%s", list.len ? "," : "", *allowed);
	if (list.len)
		json_put_text(w, key, buf_text(&list));
	return buf_check(&list, "the hosts that it may reach", e);
}

/* A list already blocks all places that it does not name. */
static enum err put_network(
	struct json_writer *w, const struct provider_config *cfg, struct error *e)
{
	enum err kind;

	if (!cfg->allowed && cfg->block_network)
		json_put_boolean(w, "networkBlockAll", true);
	if (!cfg->allowed)
		return ERR_OK;
	kind = put_allowed(w, "networkAllowList", cfg->allowed, true, e);
	return kind ? kind : put_allowed(w, "domainAllowList", cfg->allowed, false, e);
}

/* The vendor's SDKs read the language of their interpreter in a label. */
static enum err put_labels(
	struct json_writer *w, const struct provider_config *cfg, struct error *e)
{
	static const char *const languages[] = { "python", "typescript", "javascript" };
	size_t i = 0;

	json_put_open(w, "labels");
	if (cfg->labels)
		json_put_members(w, cfg->labels);
	if (cfg->language) {
		while (i < 3 && strcmp(languages[i], cfg->language) != 0)
			i++;
		if (i == 3)
			return error_set(e, ERR_INVALID,
				"daytona: '%s%.60s': use python, typescript or javascript",
				provider_option_name(cfg, OPTION_LANGUAGE), cfg->language);
		json_put_text(w, "code-toolbox-language", cfg->language);
	}
	json_put_close(w);
	return ERR_OK;
}

enum err daytona_wish(
	struct buf *out, const struct provider_config *cfg, const char *target, struct error *e)
{
	struct json_writer w = { .out = out };
	int64_t idle_s = cfg->idle_s ? cfg->idle_s : cfg->lifetime_s;
	enum err kind = ERR_OK;

	json_put_open(&w, NULL);
	put_optional(&w, "name", cfg->name);
	put_optional(&w, "user", cfg->user);
	put_optional(&w, "target", cfg->region ? cfg->region : target);
	if (cfg->image)
		kind = put_image(&w, cfg->image, e);
	else
		put_optional(&w, "snapshot", cfg->template);
	if (!kind)
		kind = put_resources(&w, cfg, e);
	if (cfg->env)
		json_put_pairs(&w, "env", cfg->env);
	if (!kind && (cfg->labels || cfg->language))
		kind = put_labels(&w, cfg, e);
	if (!kind)
		kind = put_network(&w, cfg, e);
	if (idle_s)
		json_put_integer(&w, "autoStopInterval", daytona_minutes(idle_s));
	if (cfg->archive_after_s)
		json_put_integer(&w, "autoArchiveInterval", daytona_minutes(cfg->archive_after_s));
	if (cfg->delete_after_s)
		json_put_integer(&w, "autoDeleteInterval", daytona_minutes(cfg->delete_after_s));
	json_put_close(&w);
	return kind ? kind : buf_check(out, "a new sandbox", e);
}

enum err daytona_network(struct buf *out, bool blocked, const char *const *allowed, struct error *e)
{
	struct json_writer w = { .out = out };
	const struct provider_config cfg = { .block_network = blocked, .allowed = allowed };
	enum err kind;

	json_put_open(&w, NULL);
	/* The lists of before go with it, too. */
	if (!blocked || allowed)
		json_put_boolean(&w, "networkBlockAll", false);
	kind = put_network(&w, &cfg, e);
	json_put_close(&w);
	return kind ? kind : buf_check(out, "what it may reach", e);
}
