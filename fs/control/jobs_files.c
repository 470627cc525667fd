/*
 * jobs_files.c - `jobs/N/`: a job's state (`status`) and `output`, its input and signals to it
 * (jobs.h).
 *
 * `output` has its true size, so that `tail -f` sees it grow. A reader gets one end of file where
 * the last look at the output ended, and stat(2) says the size of a look that is no older than it
 * took. Otherwise a program that reads to the end before it shows anything, as `tail -f` into a
 * pipe, would never get there while the job prints faster than a look is answered.
 *
 * `stdin` takes bytes as they are written. Its last close ends the input, as for a file whose whole
 * contents are written (`>`), unless the handle was opened for appending (`>>`).
 */
#include "fs/control/text.h"

#include "fs/errmap.h"
#include "fs/handle_memory.h"
#include "fs/control/job_script.h"
#include "fs/control/job_text.h"
#include "fs/notifier.h"
#include "fs/request.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/*
 * The bytes of output that one request asks for. The kernel reads 128 KiB at a time, and each such
 * read would cost a request.
 */
#define PIECE_MAX ((size_t)1024 * 1024)

struct job_handle {
	struct control_handle base;
	struct job *job;
	pthread_mutex_t lock; /* guards the fields below */
	struct buf piece;     /* output as last read */
	uint64_t piece_at;
	/* the piece was the whole rest then, and the reader has not got the end yet */
	bool end_is_due;
};

static struct control_handle *job_open(struct control *c, uint64_t number)
{
	struct job *job = jobs_get(c->jobs, number);
	struct job_handle *h = job ? handle_memory_new(sizeof *h) : NULL;

	if (!h) {
		if (job)
			job_put(job);
		return NULL;
	}
	*h = (struct job_handle){ .job = job, .piece = BUF_INIT(PIECE_MAX) };
	pthread_mutex_init(&h->lock, NULL);
	return &h->base;
}

static void job_close(struct control_handle *base)
{
	struct job_handle *h = (struct job_handle *)base;

	job_put(h->job);
	buf_release(&h->piece);
	pthread_mutex_destroy(&h->lock);
	handle_memory_free(h);
}

static void reply_failure(fuse_req_t req, const struct error *e, int over)
{
	log_info(LOG_CONTROL, "%s", e->text);
	fuse_reply_err(req, e->kind == ERR_NOT_FOUND ? over : errmap_errno(e->kind));
}

/* ---- status ---- */

/*
 * The state of the job now, as a text in `out`; NULL: as job_size() says. A reader that sees the
 * end also sees the job's changes: the kernel has forgotten what it knew.
 */
static enum err look(struct control *c, uint64_t number, const struct call *call,
	struct job_facts *facts, struct buf *out, struct error *e)
{
	struct job *job = jobs_get(c->jobs, number);
	enum err kind;

	if (!job)
		return error_set(e, ERR_NOT_FOUND, "there is no such job any more");
	kind = out ? job_look(job, call, facts, e) : job_size(job, call, facts, e);
	if (facts->state == JOB_EXITED)
		notifier_drain(c->notifier, CONTROL_FORGET_MS);
	if (!kind && out)
		job_text(facts, out);
	job_put(job);
	return kind;
}

static enum err tell_job(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e)
{
	struct job_facts facts;

	return look(c, number, call, &facts, out, e);
}

static void status_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	text_read(h, req, size, off, tell_job);
}

static const struct control_file status = {
	.name = "status",
	.ino = CONTROL_INO_JOB_STATUS,
	.mode = 0400,
	.open = text_open,
	.read = status_read,
	.close = text_close,
};

/* ---- output ---- */

static enum err output_size(struct control *c, uint64_t number, const struct call *call,
	uint64_t *size, struct error *e)
{
	struct job_facts facts = { 0 };
	enum err kind = look(c, number, call, &facts, NULL, e);

	*size = facts.size;
	return kind;
}

/* false: the piece has no byte at `off`. */
static bool copy_of_piece(struct job_handle *h, size_t size, uint64_t off, struct buf *out)
{
	bool has;

	pthread_mutex_lock(&h->lock);
	has = off >= h->piece_at && off - h->piece_at < h->piece.len;
	if (has)
		control_copy_part(&h->piece, size, (off_t)(off - h->piece_at), out);
	pthread_mutex_unlock(&h->lock);
	return has;
}

static bool tells_end(struct job_handle *h, uint64_t off)
{
	pthread_mutex_lock(&h->lock);
	bool is_end = h->end_is_due && off == h->piece_at + h->piece.len;

	h->end_is_due &= !is_end;
	pthread_mutex_unlock(&h->lock);
	return is_end;
}

/* Takes the piece. */
static void set_piece(struct job_handle *h, struct buf *piece, uint64_t at)
{
	struct buf former;

	pthread_mutex_lock(&h->lock);
	former = h->piece;
	h->piece = *piece;
	h->piece_at = at;
	h->end_is_due = piece->len && piece->len < PIECE_MAX;
	pthread_mutex_unlock(&h->lock);
	*piece = former;
}

static void output_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off)
{
	struct job_handle *h = (struct job_handle *)base;
	AUTO_REQUEST struct request r = REQUEST_NONE;
	AUTO_BUF struct buf piece = BUF_INIT(PIECE_MAX), part = BUF_INIT(PIECE_MAX);
	struct error e = { 0 };

	if (off < 0) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (copy_of_piece(h, size, (uint64_t)off, &part) || tells_end(h, (uint64_t)off)) {
		control_reply_part(req, &part);
		return;
	}
	request_begin(&r, req);
	if (job_read(h->job, &r.call, (uint64_t)off, PIECE_MAX, &piece, &e)) {
		reply_failure(request_end(&r), &e, ENOENT);
		return;
	}
	control_copy_part(&piece, size, 0, &part);
	set_piece(h, &piece, (uint64_t)off);
	control_reply_part(request_end(&r), &part);
}

static const struct control_file output = {
	.name = "output",
	.ino = CONTROL_INO_JOB_OUTPUT,
	.mode = 0400,
	.size = output_size,
	.open = job_open,
	.read = output_read,
	.close = job_close,
};

/* ---- stdin ---- */

/* Bytes on their way, which may wait long for room; none: the end of the input. */
struct input {
	struct job *job;
	struct error error;
	size_t len;
	char bytes[];
};

static void send_input(void *context, const struct cancel *cancel)
{
	struct input *i = context;
	const struct call call = { .cancel = cancel };

	if (i->len)
		job_feed(i->job, &call, i->bytes, i->len, &i->error);
	else if (job_end_input(i->job, &call, &i->error) && i->error.kind != ERR_NOT_FOUND)
		log_warn(LOG_CONTROL, "stdin: %s", i->error.text);
}

static void answer_input(void *context, fuse_req_t req, bool ended)
{
	const struct input *i = context;

	if (!ended)
		fuse_reply_err(req, EINTR);
	else if (i->error.kind)
		reply_failure(req, &i->error, EPIPE);
	else
		fuse_reply_write(req, i->len);
}

static void release_input(void *context)
{
	struct input *i = context;

	job_put(i->job);
	free(i);
}

static const struct deferred_work input_work = {
	.run = send_input,
	.answer = answer_input,
	.release = release_input,
};

/* `req` may be NULL: no request waits. */
static enum err start_input(
	struct job_handle *h, fuse_req_t req, const char *bytes, size_t len, struct error *e)
{
	struct control *c = h->base.control;
	struct input *i = malloc(sizeof *i + len);
	enum err kind;

	if (!i)
		return error_set(e, ERR_NO_MEMORY, "stdin: out of memory");
	*i = (struct input){ .job = jobs_get(c->jobs, job_id(h->job)), .len = len };
	if (len)
		memcpy(i->bytes, bytes, len);
	kind = i->job ? deferred_start(c->deferrals, &input_work, i, req, e)
		      : error_set(e, ERR_NOT_FOUND, "there is no such job any more");
	if (kind && i->job)
		job_put(i->job);
	if (kind)
		free(i);
	return kind;
}

static void stdin_write(struct control_handle *base, fuse_req_t req, const char *bytes, size_t size)
{
	struct error e = { 0 };

	if (!size)
		fuse_reply_write(req, 0);
	else if (start_input((struct job_handle *)base, req, bytes, size, &e))
		reply_failure(req, &e, EPIPE);
}

static void stdin_close(struct control_handle *base)
{
	struct error e = { 0 };

	if (!(base->flags & O_APPEND))
		start_input((struct job_handle *)base, NULL, NULL, 0, &e);
	job_close(base);
}

static const struct control_file input = {
	.name = "stdin",
	.ino = CONTROL_INO_JOB_STDIN,
	.mode = 0200,
	.open = job_open,
	.write = stdin_write,
	.close = stdin_close,
};

/* ---- kill ---- */

static void kill_write(struct control_handle *base, fuse_req_t req, const char *bytes, size_t size)
{
	struct job_handle *h = (struct job_handle *)base;
	const char *name = job_signal_name(bytes, size);
	AUTO_REQUEST struct request r = REQUEST_NONE;
	struct error e = { 0 };

	if (!name) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	request_begin(&r, req);
	if (job_signal(h->job, &r.call, name, &e))
		reply_failure(request_end(&r), &e, ESRCH);
	else
		fuse_reply_write(request_end(&r), size);
}

static const struct control_file killing = {
	.name = "kill",
	.ino = CONTROL_INO_JOB_KILL,
	.mode = 0200,
	.open = job_open,
	.write = kill_write,
	.close = job_close,
};

/* ---- The directories ---- */

static const struct control_file *const job_files[] = { &killing, &output, &status, &input, NULL };
static const struct control_dir job_dir = { .files = job_files };

static const struct control_file job = {
	.ino = CONTROL_INO_JOB,
	.mode = 0555,
	.dir = &job_dir,
};

static bool is_job(struct control *c, uint64_t number)
{
	struct job *found = jobs_get(c->jobs, number);

	if (found)
		job_put(found);
	return found != NULL;
}

static uint64_t next_job(struct control *c, uint64_t number)
{
	return jobs_next(c->jobs, number);
}

static const struct control_file *const no_files[] = { NULL };
static const struct control_dir jobs_dir = {
	.files = no_files,
	.numbered = &job,
	.has = is_job,
	.next = next_job,
};

const struct control_file control_jobs = {
	.name = "jobs",
	.ino = CONTROL_INO_JOBS,
	.mode = 0555,
	.dir = &jobs_dir,
};
