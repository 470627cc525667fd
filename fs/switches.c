#include "fs/switches.h"

#include <pthread.h>
#include <stdlib.h>

/* As many as the requests that are under way at one time when none waits for the sandbox. */
#define UNUSED_MAX 8

struct switches {
	pthread_mutex_t lock; /* guards the fields below */
	struct cancel unused[UNUSED_MAX];
	unsigned count;
};

enum err switches_new(struct switches **out, struct error *e)
{
	struct switches *s = calloc(1, sizeof *s);

	if (!s)
		return error_set(e, ERR_NO_MEMORY, "mount");
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return ERR_OK;
}

void switches_free(struct switches *s)
{
	if (!s)
		return;
	while (s->count)
		cancel_release(&s->unused[--s->count]);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

enum err switches_take(struct switches *s, struct cancel *out, struct error *e)
{
	pthread_mutex_lock(&s->lock);
	bool has_one = s->count;

	if (has_one)
		*out = s->unused[--s->count];
	pthread_mutex_unlock(&s->lock);
	return has_one ? ERR_OK : cancel_init(out, e);
}

void switches_give(struct switches *s, struct cancel *c)
{
	pthread_mutex_lock(&s->lock);
	if (s->count < UNUSED_MAX) {
		s->unused[s->count++] = *c;
		c->fd = -1;
	}
	pthread_mutex_unlock(&s->lock);
	cancel_release(c);
}
