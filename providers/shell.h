/*
 * shell.h - the batch verbs derived from `execute` with POSIX sh and GNU or BusyBox tools.
 *
 * For where the helper program cannot run. One script a batch. Names may hold any byte but NUL. What it cannot keep is
 * listed in README.md under "Without the helper". p->root, p->staging and p->shell must be set.
 */
#pragma once

#include "providers/provider.h"

enum err shell_list(struct provider *p, const struct call *call, const struct list_request *request,
	list_sink sink, void *context, struct error *e);
enum err shell_fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e);
enum err shell_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);

/* Who commands run as: id(1). */
enum err shell_identity(
	struct provider *p, const struct call *call, struct identity *out, struct error *e);
