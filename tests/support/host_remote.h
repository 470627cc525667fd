/*
 * host_remote.h - the services of a vendor that can run a program and take a file
 * (providers/remote/remote.h), on this very machine.
 *
 * Programs are run with nothing but HOME and PATH in their environment. An upload that comes with a
 * run is written after the program was started, a piece at a time, each when the program has opened
 * the file to see how far it is: so the program really waits. Any number of threads may run at
 * once.
 */
#pragma once

#include "providers/remote/remote.h"

#include <stdatomic.h>

struct host_remote {
	char home[128];
	const char *shell; /* the program that stands for /bin/sh; NULL: /bin/sh itself */
	const char *path;  /* the PATH of programs; NULL: the usual */
	/* The faults of the transport. */
	const char *greeting;    /* text before the output of every run */
	size_t piece;            /* the size of a piece of output; 0: as it comes */
	atomic_size_t cut_after; /* 0: never; else output ends there and the run with an error */
	atomic_size_t lost;      /* bytes that are missing from the next upload */
	bool has_holes; /* a file that a run waits for has its size before it has its bytes */
	bool is_text;
	bool is_merged; /* standard error comes as output */
	bool is_late;   /* output comes at the end of the program */
	size_t inline_max, inline_packed_max;
	size_t download_min;         /* 0: there are no downloads */
	atomic_size_t download_lost; /* bytes that are missing at the end of the next download */
	bool loses_downloads;        /* there is nothing to download */
	atomic_size_t runs, uploads, downloads; /* the number of each so far */
	atomic_size_t output, downloaded;       /* bytes of each so far */
	atomic_size_t flags;                    /* the flags of the last run */
	atomic_size_t uploads_in_runs;          /* the number of runs that came with an upload */
	atomic_size_t uploaded;                 /* the bytes of those uploads */
};

/* `home`: absolute. */
void host_remote_init(struct host_remote *h, const char *home);
struct remote_ops host_remote_ops(struct host_remote *h);
