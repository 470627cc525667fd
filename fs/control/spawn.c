/*
 * spawn.c - `spawn`: a command is written to it and runs in the background (jobs.h). A read gives
 * the job's number.
 *
 * A command is complete as for `exec` (exec.c): with a close by the process that opened the handle,
 * a read, or at the latest the last close. Each returns when the job was started, or with the
 * reason why it was not.
 */
#include "fs/control/file.h"

#include "fs/errmap.h"
#include "fs/handle_memory.h"
#include "fs/control/jobs.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <inttypes.h>
#include <stdlib.h>

struct spawn_handle {
	struct control_handle base;
	pthread_mutex_t lock; /* guards the fields below */
	struct buf text;      /* written and not yet started */
	uint64_t job;         /* the last job that was begun here; 0: none */
	off_t start;          /* offset of the number for reads; -1: the offset of the next read */
};

/* A request that waits until a job was started. */
struct spawn_run {
	struct job *job;
	bool reads;
	size_t size; /* the read's, as `off` */
	off_t off;
	struct error error;
};

static struct control_handle *spawn_open(struct control *c, uint64_t number)
{
	struct spawn_handle *h = handle_memory_new(sizeof *h);

	(void)c, (void)number;
	if (!h)
		return NULL;
	*h = (struct spawn_handle){ .text = BUF_INIT(JOB_TEXT_MAX) };
	pthread_mutex_init(&h->lock, NULL);
	return &h->base;
}

static void reply_id(fuse_req_t req, uint64_t id, size_t size, off_t off)
{
	AUTO_BUF struct buf text = BUF_INIT(32);

	if (id)
		buf_printf(&text, "%" PRIu64 "\n", id);
	control_reply_text(req, &text, size, off);
}

/* ---- Starting a job ---- */

static void wait_for_start(void *context, const struct cancel *cancel)
{
	struct spawn_run *run = context;

	job_await_start(run->job, cancel, &run->error);
}

static void answer_start(void *context, fuse_req_t req, bool ended)
{
	struct spawn_run *run = context;

	if (!ended || run->error.kind)
		fuse_reply_err(req, ended ? errmap_errno(run->error.kind) : EINTR);
	else if (run->reads)
		reply_id(req, job_id(run->job), run->size, run->off);
	else
		fuse_reply_err(req, 0);
}

static void release_start(void *context)
{
	struct spawn_run *run = context;

	job_put(run->job);
	free(run);
}

static const struct deferred_work start_work = {
	.run = wait_for_start,
	.answer = answer_start,
	.release = release_start,
};

/* Begins a job with the text that was written; *job is NULL where there was none. */
static enum err begin(struct spawn_handle *h, struct job **job, struct error *e)
{
	const struct audit_who who = { h->base.opener, h->base.opener_uid };
	enum err kind = ERR_OK;

	*job = NULL;
	pthread_mutex_lock(&h->lock);
	if (h->text.len || h->text.failed)
		kind = jobs_spawn(h->base.control->jobs, &h->text, &who, job, e);
	buf_reset(&h->text);
	if (*job) {
		h->job = job_id(*job);
		h->start = -1;
	}
	pthread_mutex_unlock(&h->lock);
	return kind;
}

/* Answers `req` when the job was started, as `wanted` says; takes the job. */
static enum err answer_deferred(struct control *c, struct job *job, const struct spawn_run *wanted,
	fuse_req_t req, struct error *e)
{
	struct spawn_run *run = malloc(sizeof *run);
	enum err kind;

	if (!run) {
		job_put(job);
		return error_set(e, ERR_NO_MEMORY, "spawn: out of memory");
	}
	*run = *wanted;
	run->job = job;
	kind = deferred_start(c->deferrals, &start_work, run, req, e);
	if (kind)
		release_start(run);
	return kind;
}

/* ---- The file's operations ---- */

static void spawn_write(struct control_handle *base, fuse_req_t req, const char *bytes, size_t size)
{
	struct spawn_handle *h = (struct spawn_handle *)base;
	bool added;

	pthread_mutex_lock(&h->lock);
	added = buf_add(&h->text, bytes, size);
	pthread_mutex_unlock(&h->lock);
	if (added)
		fuse_reply_write(req, size);
	else
		fuse_reply_err(req, EFBIG);
}

static void spawn_flush(struct control_handle *base, fuse_req_t req)
{
	struct error e = { 0 };
	struct job *job;
	enum err kind = begin((struct spawn_handle *)base, &job, &e);

	if (!kind && job)
		kind = answer_deferred(base->control, job, &(struct spawn_run){ 0 }, req, &e);
	if (kind)
		log_info(LOG_CONTROL, "spawn: %s", e.text);
	if (kind || !job)
		fuse_reply_err(req, errmap_errno(kind));
}

/*
 * The number that a read at `off` gets. A handle for both shares one offset between writes and
 * reads.
 */
static uint64_t look_up(struct spawn_handle *h, off_t *off)
{
	uint64_t id;

	pthread_mutex_lock(&h->lock);
	if (h->start < 0 || *off < h->start)
		h->start = *off;
	*off -= h->start;
	id = h->job;
	pthread_mutex_unlock(&h->lock);
	return id ? id : jobs_last(h->base.control->jobs);
}

static void spawn_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off)
{
	struct spawn_run wanted = { .reads = true, .size = size, .off = off };
	struct spawn_handle *h = (struct spawn_handle *)base;
	struct error e = { 0 };
	struct job *job;
	enum err kind = begin(h, &job, &e);
	uint64_t id = look_up(h, &wanted.off);

	if (!kind && job)
		kind = answer_deferred(base->control, job, &wanted, req, &e);
	else if (!kind)
		reply_id(req, id, size, wanted.off);
	if (kind)
		fuse_reply_err(req, errmap_errno(kind));
}

static void spawn_abandon(struct control_handle *base)
{
	struct spawn_handle *h = (struct spawn_handle *)base;

	pthread_mutex_lock(&h->lock);
	buf_reset(&h->text);
	pthread_mutex_unlock(&h->lock);
}

static void spawn_close(struct control_handle *base)
{
	struct spawn_handle *h = (struct spawn_handle *)base;
	struct error e = { 0 };
	struct job *job;

	if (begin(h, &job, &e))
		log_info(LOG_CONTROL, "spawn: %s", e.text);
	if (job)
		job_put(job);
	buf_release(&h->text);
	pthread_mutex_destroy(&h->lock);
	handle_memory_free(h);
}

const struct control_file control_spawn = {
	.name = "spawn",
	.ino = CONTROL_INO_SPAWN,
	.mode = 0600,
	.open = spawn_open,
	.read = spawn_read,
	.write = spawn_write,
	.flush = spawn_flush,
	.abandon = spawn_abandon,
	.close = spawn_close,
};
