/*
 * transfer.h - what push and pull share: their words, and what they tell of a copy while it goes on and at its end.
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
	char **words; /* SOURCE... DESTINATION */
	size_t count; /* of the sources; words[count] is the destination */
	uint32_t mode_mask;
	mode_t base_mask;    /* as in struct copy */
	const char *example; /* of its words */
	struct progress_bar progress;
	struct copy_counts counts; /* of all copies */
	struct buf errors;         /* a list of JSON */
	struct json_writer errors_writer;
	const char *
		dir; /* what is copied just now is from this directory; NULL: from the one that stands for none */
};

/* The parser of the words of both; its input is a struct transfer. */
extern const struct argp transfer_argp;

/* Parses the words; then `copy` copies all there is; tells of it. The `run` of both. */
enum err transfer_run(
	struct transfer *t, enum err (*copy)(struct transfer *t, struct error *e), struct error *e);

/* Copies `names` ("": all) from `from`, which is the directory `dir`. */
enum err transfer_copy(struct transfer *t, const struct call *call, struct provider *from,
	const char *dir, char *const *names, size_t count, const struct destination *to,
	struct error *e);
