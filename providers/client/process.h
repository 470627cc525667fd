/*
 * process.h - the helper program as a child process of ours, on two pipes.
 *
 * The program runs from memory, so it need not be installed. It ends when its standard input does,
 * which is when we stop it or die. (A death signal would follow the thread that started it, not the
 * process.)
 */
#pragma once

#include "providers/client/client.h"

#include <sys/types.h>

struct helper_process {
	struct helper_client *client; /* NULL: not running */
	pid_t pid;                    /* 0: none */
};

/*
 * Serves `dir` below the directory `base_fd`, to which no symbolic link leads, with the staging
 * directory `staging_fd`. The caller keeps both descriptors.
 */
enum err helper_process_start(struct helper_process *h, int base_fd, const char *dir,
	int staging_fd, const struct call *call, struct error *e);

/* The program's standard input, standard output and text, as spawn_program() takes them. */
struct helper_ends {
	int to_helper, from_helper, program;
};
/* Starts the program, with `serve` as its mode. */
typedef enum err (*helper_starter)(
	void *context, const struct helper_ends *ends, pid_t *pid, struct error *e);
enum err helper_process_start_by(struct helper_process *h, helper_starter start, void *context,
	const struct call *call, struct error *e);

/* Ends the process and waits for it. Allowed for one that was never started. */
void helper_process_stop(struct helper_process *h);
