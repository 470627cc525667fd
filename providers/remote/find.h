/*
 * find.h - finds the helper in the sandbox, and stores it there first where it is missing; internal
 * to providers/remote.
 */
#pragma once

#include "providers/remote/script.h"

/*
 * Asks as in script.h (`question->images` and `stored` are filled in here). An absent helper is
 * stored, and the question asked again. Several calls may do so at once, also for one sandbox: each
 * stores under a name of its own and renames.
 */
enum err remote_find(struct remote_report *out, const struct remote_ops *ops,
	struct remote_question question, const struct call *call, struct error *e);

/*
 * The operations that the helper of this report does not do, what was tried, and what works all the
 * same.
 */
#define REMOTE_WHY_MAX 800
void remote_explain(const struct remote_report *report, char *out, size_t size);
