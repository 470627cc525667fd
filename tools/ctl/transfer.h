/*
 * transfer.h - shared by push and pull: their words, and their messages about a copy while it goes
 * on and at its end.
 */
#pragma once

#include "providers/json.h"
#include "tools/ctl/command.h"
#include "tools/ctl/copy.h"
#include "tools/ctl/destination.h"
#include "tools/progress.h"

struct transfer {
	struct ctl_run *run;
	struct ctl_common common;
	char **words;     /* SOURCE... DESTINATION */
	size_t count;     /* number of sources; words[count] is the destination */
	const char *word; /* the one that an error is of: the sandbox's */
	uint32_t mode_mask;
	mode_t base_mask;    /* as in struct copy */
	const char *example; /* an example of the command's words */
	struct progress_bar progress;
	struct copy_counts counts; /* sum of all copies */
	struct buf errors;         /* a list in JSON */
	struct json_writer errors_writer;
	/* directory of the files that are copied now; NULL: the default directory */
	const char *dir;
};

/* The parser of the words of both commands; its input is a struct transfer. */
extern const struct argp transfer_argp;

/*
 * Parses the words, calls `copy`, which copies all sources, and prints the result. The `run` of
 * both commands.
 */
enum err transfer_run(
	struct transfer *t, enum err (*copy)(struct transfer *t, struct error *e), struct error *e);

/* Copies `names` ("": all) from `from`, the provider for the directory `dir`. */
enum err transfer_copy(struct transfer *t, const struct call *call, struct provider *from,
	const char *dir, char *const *names, size_t count, const struct destination *to,
	struct error *e);
