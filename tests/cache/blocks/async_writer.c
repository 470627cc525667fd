#include "cache/blocks/async_writer.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>

TestSuite(async_writer, .timeout = 300);

/* A disk that writes nothing while it is held. */
struct disk {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_held, is_out_of_order;
	unsigned written;
};

static void write_block(void *context, const struct async_writer_block *b)
{
	struct disk *d = context;

	pthread_mutex_lock(&d->lock);
	while (d->is_held)
		pthread_cond_wait(&d->changed, &d->lock);
	d->is_out_of_order |= b->place.bytes[0] != (unsigned char)d->written++;
	pthread_mutex_unlock(&d->lock);
}

static void let_go(struct disk *d)
{
	pthread_mutex_lock(&d->lock);
	d->is_held = false;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static unsigned add_all(struct async_writer *l, size_t len)
{
	struct async_writer_block b = { .len = len };
	unsigned added = 0;

	for (; added < 100000; added++) {
		b.place.bytes[0] = (unsigned char)added;
		if (!async_writer_add(l, &b))
			break;
	}
	return added;
}

static void fill_and_end(size_t len, unsigned most)
{
	struct disk disk = { .lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.is_held = true };
	struct async_writer *l;

	cr_assert(eq(int, async_writer_new(&l, write_block, &disk, NULL), ERR_OK));
	unsigned added = add_all(l, len);

	cr_expect(eq(uint, added, most), "no more may wait");
	let_go(&disk);
	async_writer_free(l);
	cr_expect(eq(uint, disk.written, added), "the end waits for the last");
	cr_expect(not(disk.is_out_of_order));
}

Test(async_writer, writes_in_order_all_that_may_wait)
{
	fill_and_end(128 * 1024, 64);
}

Test(async_writer, counts_small_blocks_too)
{
	fill_and_end(1, 2048);
}
