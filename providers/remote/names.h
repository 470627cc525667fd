/*
 * names.h - names of files to be removed from staging, kept until a request can remove them;
 * internal to providers/remote. Any number of threads may use one list.
 */
#pragma once

#include "providers/base/error.h"

#include <pthread.h>

/* Including the NUL. */
#define REMOTE_NAME_SIZE 48
#define REMOTE_NAMES_MAX 64

struct remote_names {
	pthread_mutex_t lock;
	char names[REMOTE_NAMES_MAX][REMOTE_NAME_SIZE]; /* lock */
	size_t count;                                   /* lock */
};

/* PREFIX and sixteen random digits: a new name in staging. */
enum err remote_new_name(const char *prefix, char out[REMOTE_NAME_SIZE], struct error *e);

enum err remote_names_new(struct remote_names **out, struct error *e);
void remote_names_free(struct remote_names *n);

/* A name that finds no room is removed by an attach, when the file is old. */
void remote_names_add(struct remote_names *n, const char *name);
/*
 * Up to `max` names, which are the caller's then: to be removed, or added again. Returns their
 * number.
 */
size_t remote_names_take(struct remote_names *n, char out[][REMOTE_NAME_SIZE], size_t max);
