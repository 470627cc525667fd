#include "fs/openings.h"

#include <pthread.h>
#include <stdlib.h>

/*
 * The slots of two threads may be one. The first thread is then forgotten: its file is emptied in
 * place.
 */
#define SLOTS 1024

struct opening {
	pid_t thread;
	fuse_ino_t ino; /* 0: none */
};

struct openings {
	pthread_mutex_t lock;
	struct opening slots[SLOTS];
};

enum err openings_new(struct openings **out, struct error *e)
{
	struct openings *o = calloc(1, sizeof *o);

	if (!o)
		return error_set(e, ERR_NO_MEMORY, "mount");
	pthread_mutex_init(&o->lock, NULL);
	*out = o;
	return ERR_OK;
}

void openings_free(struct openings *o)
{
	if (!o)
		return;
	pthread_mutex_destroy(&o->lock);
	free(o);
}

static struct opening *slot(struct openings *o, pid_t thread)
{
	return &o->slots[(unsigned)thread % SLOTS];
}

void openings_note(struct openings *o, pid_t thread, fuse_ino_t ino)
{
	pthread_mutex_lock(&o->lock);
	*slot(o, thread) = (struct opening){ .thread = thread, .ino = ino };
	pthread_mutex_unlock(&o->lock);
}

bool openings_take(struct openings *o, pid_t thread, fuse_ino_t ino)
{
	pthread_mutex_lock(&o->lock);
	struct opening *s = slot(o, thread);
	bool is = ino && s->ino == ino && s->thread == thread;

	if (is)
		s->ino = 0;
	pthread_mutex_unlock(&o->lock);
	return is;
}
