/*
 * target.h - the sandbox in a command's words, PROVIDER:ID[:PATH], and the connection to it.
 *
 *      AUTO_TARGET struct target t = { 0 };
 *      target_open(&t, "e2b:abc", &common, e)          then t.provider, &t.call
 */
#pragma once

#include "providers/provider.h"
#include "tools/ctl/command.h"
#include "tools/source.h"

struct target {
	struct source source;
	struct provider_config config; /* with the texts of `source` and of the options */
	struct call call;              /* for every call to the provider */
	struct provider *provider;     /* NULL: not connected */
};

#define AUTO_TARGET __attribute__((cleanup(target_release)))

/*
 * Parses PROVIDER:ID[:PATH], without a request. ERR_INVALID: malformed, no such provider, or no ID
 * where there are several sandboxes (PROVIDER_SINGLE has one).
 */
enum err target_parse(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

/* Parses PROVIDER alone, or PROVIDER: with a colon. */
enum err target_parse_provider(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

/* Attaches to the sandbox that was parsed. */
enum err target_connect(struct target *t, struct error *e);

/*
 * Attaches without touching the sandbox's inside, as provider_config.account_only says: for its
 * lifecycle.
 */
enum err target_reach_account(struct target *t, struct error *e);

/*
 * The error of a failed attempt to reach the sandbox. Where there is no such sandbox the sentence
 * also says how to list those that exist.
 */
enum err target_explain(const struct target *t, enum err kind, struct error *e);

/* Parses and attaches. */
enum err target_open(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

void target_release(struct target *t);
