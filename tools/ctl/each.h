/*
 * each.h - commands that do one thing to each sandbox that is named: delete, pause, resume, extend.
 *
 *      sandboxctl NAME [options] PROVIDER:ID...
 */
#pragma once

#include "tools/ctl/target.h"

/* To one of them, which is parsed and not connected. `context` is whatever each_do() was given. */
typedef enum err (*each_act)(struct target *t, void *context, struct error *e);

/* The words that name sandboxes; its input is a char **, which becomes those words, ended by NULL. */
extern const struct argp each_argp;

/*
 * To all of `words` in their order. One that fails keeps no other from it: of several failures the last is returned, and
 * those before it are printed.
 */
enum err each_do(char **words, const struct ctl_common *common, each_act act, void *context,
	struct error *e);

/* A whole command without options of its own, whose argp is each_argp. */
enum err each_run(struct ctl_run *run, each_act act, struct error *e);
