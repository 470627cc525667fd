/*
 * names.h - names of what is to be removed from staging, kept until a request can take them along; internal to
 * remote*.c. Any number of threads may use one list.
 */
#pragma once

#include "providers/base/error.h"

#include <pthread.h>

/* With the NUL. */
#define REMOTE_NAME_SIZE 48
#define REMOTE_NAMES_MAX 64

struct remote_names {
	pthread_mutex_t lock;
	char names[REMOTE_NAMES_MAX][REMOTE_NAME_SIZE]; /* lock */
	size_t count;                                   /* lock */
};

/* PREFIX and sixteen random digits: a name in staging that nobody else takes. */
enum err remote_new_name(const char *prefix, char out[REMOTE_NAME_SIZE], struct error *e);

enum err remote_names_new(struct remote_names **out, struct error *e);
void remote_names_free(struct remote_names *n);

/* What finds no room is removed by an attach, when it is old. */
void remote_names_add(struct remote_names *n, const char *name);
/* At most `max`, which are the caller's then: removed, or added again. The result is how many. */
size_t remote_names_take(struct remote_names *n, char out[][REMOTE_NAME_SIZE], size_t max);
