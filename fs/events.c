#include "fs/events.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/json.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/poll.h>
#include <sys/queue.h>
#include <time.h>
#include <unistd.h>

/* A path has up to 4096 bytes, each of up to 6 in JSON. */
#define LINE_MAX_BYTES ((size_t)32 * 1024)

struct events_reader {
	struct events *all;
	void (*wake)(void *);
	void *context;
	int fd; /* an eventfd: readable when a line was added since the last look */
	LIST_ENTRY(events_reader) link; /* under all->lock, as all fields below */
	uint64_t next;                  /* the beginning of a line, counted as in struct events */
	bool has_lost;                  /* lines were lost, for lack of memory */
	struct buf own;                 /* lines that the reader has taken and not all given out */
};

struct events {
	pthread_mutex_t lock; /* guards the fields below */
	LIST_HEAD(events_readers, events_reader) readers;
	struct buf lines;
	uint64_t start; /* the number of bytes of lines before those that are kept */
};

enum err events_new(struct events **out, struct error *e)
{
	struct events *all = calloc(1, sizeof *all);

	if (!all)
		return error_set(e, ERR_NO_MEMORY, "events: out of memory");
	all->lines = (struct buf)BUF_INIT(EVENTS_MAX);
	pthread_mutex_init(&all->lock, NULL);
	LIST_INIT(&all->readers);
	*out = all;
	return ERR_OK;
}

void events_free(struct events *all)
{
	if (!all)
		return;
	buf_release(&all->lines);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- Lines ---- */

static const char *kind_word(enum watch_kind kind)
{
	switch (kind) {
	case WATCH_CREATED: return "created";
	case WATCH_CHANGED: return "changed";
	case WATCH_ATTR: return "attr";
	case WATCH_REMOVED: return "removed";
	default: return "lost";
	}
}

static void put_line(struct buf *out, enum watch_kind kind, const char *path, bool is_dir)
{
	struct json_writer w = { .out = out };
	struct timespec now = time_of_day();
	char time[32];

	snprintf(time, sizeof time, "%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
	json_put_open(&w, NULL);
	json_put_raw(&w, "time", time);
	json_put_text(&w, "kind", kind_word(kind));
	json_put_path(&w, path);
	json_put_boolean(&w, "is_dir", is_dir);
	json_put_close(&w);
	buf_add_byte(out, '\n');
}

/* Makes room by dropping the older half, up to the end of a line. */
static void drop_half_locked(struct events *all)
{
	size_t half = all->lines.len / 2;
	const unsigned char *end = memchr(all->lines.bytes + half, '\n', all->lines.len - half);
	size_t dropped = (size_t)(end - all->lines.bytes) + 1;

	buf_consume(&all->lines, dropped);
	all->start += dropped;
}

static void keep_locked(struct events *all, const struct buf *line)
{
	if (all->lines.len + line->len > EVENTS_MAX)
		drop_half_locked(all);
	buf_add(&all->lines, line->bytes, line->len);
}

void events_add(struct events *all, enum watch_kind kind, const char *path, bool is_dir)
{
	AUTO_BUF struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct events_reader *r;

	put_line(&line, kind, path, is_dir);
	pthread_mutex_lock(&all->lock);
	if (!LIST_EMPTY(&all->readers) && !line.failed)
		keep_locked(all, &line);
	LIST_FOREACH(r, &all->readers, link)
	{
		eventfd_write(r->fd, 1);
		r->wake(r->context);
	}
	pthread_mutex_unlock(&all->lock);
}

/* ---- Readers ---- */

struct events_reader *events_reader_new(struct events *all, void (*wake)(void *), void *context)
{
	AUTO_FREE struct events_reader *r = calloc(1, sizeof *r);
	AUTO_CLOSE int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	if (!r || fd < 0)
		return NULL;
	*r = (struct events_reader){ .all = all,
		.wake = wake,
		.context = context,
		.fd = take_fd(&fd),
		.own = BUF_INIT(EVENTS_MAX + LINE_MAX_BYTES) };
	pthread_mutex_lock(&all->lock);
	r->next = all->start + all->lines.len;
	LIST_INSERT_HEAD(&all->readers, r, link);
	pthread_mutex_unlock(&all->lock);
	return take(r);
}

/* Lines that no reader will read are not kept. */
static void drop_all_locked(struct events *all)
{
	all->start += all->lines.len;
	buf_release(&all->lines);
	all->lines = (struct buf)BUF_INIT(EVENTS_MAX);
}

void events_reader_free(struct events_reader *r)
{
	struct events *all;

	if (!r)
		return;
	all = r->all;
	pthread_mutex_lock(&all->lock);
	LIST_REMOVE(r, link);
	if (LIST_EMPTY(&all->readers))
		drop_all_locked(all);
	pthread_mutex_unlock(&all->lock);
	close(r->fd);
	buf_release(&r->own);
	free(r);
}

static bool is_ready_locked(const struct events_reader *r)
{
	return r->own.len || r->next < r->all->start + r->all->lines.len;
}

bool events_reader_is_ready(struct events_reader *r)
{
	bool is_ready;

	pthread_mutex_lock(&r->all->lock);
	is_ready = is_ready_locked(r);
	pthread_mutex_unlock(&r->all->lock);
	return is_ready;
}

/*
 * Takes all lines that the reader has not had; before them a line that says whether some are gone.
 */
static void catch_up_locked(struct events_reader *r)
{
	const struct buf *lines = &r->all->lines;
	size_t had = r->next < r->all->start ? 0 : (size_t)(r->next - r->all->start);

	if (had == lines->len)
		return;
	if (r->has_lost || r->next < r->all->start)
		put_line(&r->own, WATCH_LOST, "", true);
	buf_add(&r->own, lines->bytes + had, lines->len - had);
	r->has_lost = r->own.failed;
	r->own.failed = false;
	r->next = r->all->start + lines->len;
}

size_t events_reader_take(struct events_reader *r, void *out, size_t size)
{
	eventfd_t unused;
	size_t taken;

	pthread_mutex_lock(&r->all->lock);
	eventfd_read(r->fd, &unused);
	if (!r->own.len)
		catch_up_locked(r);
	taken = r->own.len < size ? r->own.len : size;
	if (taken) {
		memcpy(out, r->own.bytes, taken);
		buf_consume(&r->own, taken);
	}
	pthread_mutex_unlock(&r->all->lock);
	return taken;
}

/*
 * The eventfd may have been readable for lines that another thread then took: the caller looks
 * again.
 */
enum err events_reader_wait(struct events_reader *r, const struct cancel *cancel, struct error *e)
{
	struct call call = { .progress_ms = -1, .cancel = cancel };

	return events_reader_is_ready(r) ? ERR_OK : call_wait_fd(&call, r->fd, POLLIN, e);
}
