/*
 * each.h - commands that do one thing to each sandbox in their words: delete, pause, resume,
 * extend.
 *
 *      sandboxctl NAME [options] PROVIDER:ID...
 */
#pragma once

#include "tools/ctl/target.h"

/* Acts on one sandbox; `t` is parsed and not connected. `context` is the argument of each_do(). */
typedef enum err (*each_act)(struct target *t, void *context, struct error *e);

/*
 * The words that name sandboxes; the parser's input is a char **, which becomes those words, ended
 * by NULL.
 */
extern const struct argp each_argp;

/*
 * Acts on all of `words` in their order. A failure does not stop the others. The last failure is
 * returned, and earlier ones are printed.
 */
enum err each_do(char **words, const struct ctl_common *common, each_act act, void *context,
	struct error *e);

/* A whole command without options of its own, whose argp is each_argp. */
enum err each_run(struct ctl_run *run, each_act act, struct error *e);
