#include "cache/blocks/async_writer.h"

#include "providers/base/thread.h"

#include <pthread.h>
#include <stdlib.h>

/* The blocks that may wait: a second of 100 Mbit/s, in files of 4 KiB. */
#define BYTES_MAX  ((size_t)8 * 1024 * 1024)
#define BLOCKS_MAX ((uint64_t)2048)

struct async_writer {
	void (*write)(void *context, const struct async_writer_block *block);
	void *context;
	pthread_t thread;
	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed; /* a block was added or written, or the writer is to end */
	bool is_ending;
	size_t bytes;            /* bytes of the blocks that wait */
	uint64_t added, written; /* how many blocks ever were */
	struct async_writer_block blocks[BLOCKS_MAX];
};

static void write_next_locked(struct async_writer *l)
{
	const struct async_writer_block next = l->blocks[l->written % BLOCKS_MAX];

	pthread_mutex_unlock(&l->lock);
	l->write(l->context, &next);
	pthread_mutex_lock(&l->lock);
	l->written++;
	l->bytes -= next.len;
	pthread_cond_broadcast(&l->changed);
}

static void *run(void *context)
{
	struct async_writer *l = context;

	pthread_mutex_lock(&l->lock);
	while (l->written < l->added || !l->is_ending) {
		if (l->written < l->added)
			write_next_locked(l);
		else
			pthread_cond_wait(&l->changed, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

enum err async_writer_new(struct async_writer **out,
	void (*write)(void *context, const struct async_writer_block *block), void *context,
	struct error *e)
{
	struct async_writer *l = calloc(1, sizeof *l);

	if (!l)
		return error_set(e, ERR_NO_MEMORY, "cache");
	l->write = write;
	l->context = context;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->changed, NULL);
	if (thread_start(&l->thread, run, l)) {
		free(l);
		return error_set(e, ERR_NO_MEMORY, "no more threads");
	}
	*out = l;
	return ERR_OK;
}

void async_writer_free(struct async_writer *l)
{
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->is_ending = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

bool async_writer_add(struct async_writer *l, const struct async_writer_block *block)
{
	pthread_mutex_lock(&l->lock);
	bool has_room = l->added - l->written < BLOCKS_MAX && l->bytes + block->len <= BYTES_MAX;

	if (has_room) {
		l->blocks[l->added++ % BLOCKS_MAX] = *block;
		l->bytes += block->len;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	return has_room;
}
