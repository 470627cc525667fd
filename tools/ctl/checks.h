/*
 * checks.h - the checks of `sandboxctl doctor`: a finding for each, with a remedy for each fault.
 *
 * No check hangs: a check that asks the network or another program has a limit and a process of its
 * own. To be used before threads start.
 */
#pragma once

#include "providers/provider.h"

enum finding_level { FINDING_OK, FINDING_UNUSED, FINDING_WARN, FINDING_FAIL };

struct finding {
	enum finding_level level;
	char text[sizeof((struct error *)0)->text];
};

/* "ok", "unused", "warn", "fail". */
const char *finding_word(enum finding_level level);

__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *f, enum finding_level level, const char *format, ...);

/* ---- This machine (checks_host.c) ---- */

void check_kernel(struct finding *out);
void check_device(struct finding *out);
void check_fusermount(struct finding *out);
void check_libfuse(struct finding *out);
void check_bubblewrap(struct finding *out);
void check_namespaces(struct finding *out);
void check_translation(struct finding *out);
void check_containers(struct finding *out);
/* The processors for whose sandboxes there is a helper program. */
void check_helper(struct finding *out);
/* Room for contents, and for pending changes. */
void check_cache(struct finding *out);
void check_journal(struct finding *out);

/* ---- A provider (checks_provider.c) ---- */

/*
 * Whether there is a key, and whether the provider accepts it: asked for its sandboxes, within
 * CHECK_PROVIDER_MS.
 */
#define CHECK_PROVIDER_MS 15000
void check_provider(const struct provider_ops *ops, struct finding *out);
