#include "fs/handle_memory.h"

#include <stdlib.h>

#ifdef FAULT_POINTS

#include <assert.h>
#include <stdalign.h>
#include <sys/mman.h>

/* In front of a handle. */
struct poisonable {
	size_t len; /* bytes that are mapped */
	alignas(max_align_t) char handle[];
};

void *handle_memory_new(size_t size)
{
	size_t len = sizeof(struct poisonable) + size;
	struct poisonable *p =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p->len = len;
	return p->handle;
}

void handle_memory_free(void *handle)
{
	struct poisonable *p =
		(struct poisonable *)((char *)handle - offsetof(struct poisonable, handle));
	void *poisoned;

	if (!handle)
		return;
	/* Replaces the pages, which go back to the system. */
	poisoned = mmap(p, p->len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert(poisoned == p);
}

#else

void *handle_memory_new(size_t size)
{
	return calloc(1, size);
}

void handle_memory_free(void *handle)
{
	free(handle);
}

#endif
