#include "providers/remote/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum err remote_new_name(const char *prefix, char out[REMOTE_NAME_SIZE], struct error *e)
{
	uint64_t random;

	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return error_errno(e, errno, "getrandom");
	snprintf(out, REMOTE_NAME_SIZE, "%s%016" PRIx64, prefix, random);
	return ERR_OK;
}

enum err remote_names_new(struct remote_names **out, struct error *e)
{
	struct remote_names *n = calloc(1, sizeof *n);

	if (!n)
		return error_set(e, ERR_NO_MEMORY, "names in staging");
	pthread_mutex_init(&n->lock, NULL);
	*out = n;
	return ERR_OK;
}

void remote_names_free(struct remote_names *n)
{
	if (!n)
		return;
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void remote_names_add(struct remote_names *n, const char *name)
{
	pthread_mutex_lock(&n->lock);
	if (n->count < REMOTE_NAMES_MAX)
		snprintf(n->names[n->count++], REMOTE_NAME_SIZE, "%s", name);
	pthread_mutex_unlock(&n->lock);
}

size_t remote_names_take(struct remote_names *n, char out[][REMOTE_NAME_SIZE], size_t max)
{
	size_t count;

	pthread_mutex_lock(&n->lock);
	count = n->count < max ? n->count : max;
	n->count -= count;
	memcpy(out, n->names[n->count], count * REMOTE_NAME_SIZE);
	pthread_mutex_unlock(&n->lock);
	return count;
}
