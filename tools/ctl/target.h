/*
 * target.h - the sandbox that a command is about: PROVIDER:ID[:PATH], and the way to it.
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
	struct provider_config config; /* its texts are those of `source` and of the options */
	struct call call;              /* for every call to the provider */
	struct provider *provider;     /* NULL: not connected */
};

#define AUTO_TARGET __attribute__((cleanup(target_release)))

/*
 * PROVIDER:ID[:PATH], without asking anybody. ERR_INVALID: malformed, no such
 * provider, or without an ID where there are several (PROVIDER_SINGLE: the one that is there).
 */
enum err target_parse(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

/* The same of PROVIDER alone, or PROVIDER: with a colon. */
enum err target_parse_provider(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

/* Attaches to the sandbox that was parsed. */
enum err target_connect(struct target *t, struct error *e);

/* The same without touching what is inside, as provider_config.account_only says: for its lifecycle. */
enum err target_reach_account(struct target *t, struct error *e);

/* What came of an attempt to reach it: where there is no such sandbox the sentence also says how to find those there are. */
enum err target_explain(const struct target *t, enum err kind, struct error *e);

/* Parses and attaches. */
enum err target_open(
	struct target *t, const char *word, const struct ctl_common *common, struct error *e);

void target_release(struct target *t);
