/*
 * exec.c - `exec`: a command is written to it and has been run when the writer's close returns.
 *
 * When a command is complete follows from what a shell does around a redirection (seen with bash
 * and dash): the descriptor is duplicated and closed before any write, and every child that
 * inherited it closes it at its end. So:
 * - A close by the process that opened the handle runs the text written since the last run, if any.
 * - Closes by other processes run nothing. The last descriptor's close runs the text that is left.
 * - A read runs the text that is left first, so that `exec 3<>exec; cat script >&3; cat <&3` works.
 * - A signal that ends the process that opened the handle leaves half a command, which is not run.
 *
 * A command belongs to its handle: the texts of two writers never mix. The runs of one handle come
 * one after the other, in the order in which they were asked for; those of different handles go on
 * at the same time.
 *
 * A handle that wrote reads the response of its own last command, others that of the command that
 * finished last. The response starts at the offset of the first read: a handle for both shares one
 * offset between writes and reads.
 *
 * `sessions/NAME/exec` is the same for the commands of a session. Handles that wrote nothing read
 * the last response of that session.
 */
#include "fs/control/file.h"

#include "fs/errmap.h"
#include "fs/control/exec_command.h"
#include "fs/handle_memory.h"
#include "fs/notifier.h"
#include "fs/control/sessions.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <sys/queue.h>

struct exec_run;

struct exec_handle {
	struct control_handle base;
	const struct session *session;  /* the session of this `exec`; NULL: none */
	pthread_mutex_t lock;           /* guards the fields below */
	pthread_cond_t turn;            /* another run is the first of `runs` */
	unsigned references;            /* one for the open file and one for each run */
	struct buf text;                /* written and not yet run */
	bool wrote;                     /* at any time since the open */
	struct exec_response *response; /* for reads, once known */
	/* offset of the response's beginning; -1: the offset of the next read */
	off_t start;
	TAILQ_HEAD(exec_runs, exec_run) runs; /* in order; the first is running, the others wait */
};

/* A part of a response, for the answer to a read. */
struct view {
	struct exec_response *response; /* NULL: nothing to read */
	off_t off;
};

/* A request that waits for its own command, or for those before it. */
struct exec_run {
	struct exec_handle *handle;
	struct exec_command *command; /* NULL: the request only waits */
	bool reads;
	size_t size; /* the read's, as `off` and `view` */
	off_t off;
	struct view view;   /* set when the run's turn has come */
	struct error error; /* set with `view`: why the command did not run */
	TAILQ_ENTRY(exec_run) link;
};

/* ---- The last finished command of the mount ---- */

struct exec_last {
	pthread_mutex_t lock;
	struct exec_response *response; /* under the lock */
};

enum err exec_last_new(struct exec_last **out, struct error *e)
{
	struct exec_last *last = calloc(1, sizeof *last);

	if (!last)
		return error_set(e, ERR_NO_MEMORY, "control directory: out of memory");
	pthread_mutex_init(&last->lock, NULL);
	*out = last;
	return ERR_OK;
}

void exec_last_free(struct exec_last *last)
{
	if (!last)
		return;
	exec_response_put(last->response);
	pthread_mutex_destroy(&last->lock);
	free(last);
}

static struct exec_response *last_response(struct exec_last *last)
{
	struct exec_response *response;

	pthread_mutex_lock(&last->lock);
	response = exec_response_get(last->response);
	pthread_mutex_unlock(&last->lock);
	return response;
}

static void set_last_response(struct exec_last *last, struct exec_response *response)
{
	struct exec_response *former;

	pthread_mutex_lock(&last->lock);
	former = last->response;
	last->response = exec_response_get(response);
	pthread_mutex_unlock(&last->lock);
	exec_response_put(former);
}

/* ---- Handles ---- */

static struct control_handle *exec_open(struct control *c, uint64_t number)
{
	struct exec_handle *h = handle_memory_new(sizeof *h);

	if (!h)
		return NULL;
	*h = (struct exec_handle){ .session = number ? sessions_at(c->sessions, number) : NULL,
		.references = 1,
		.text = BUF_INIT(EXEC_TEXT_MAX),
		.start = -1 };
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->turn, NULL);
	TAILQ_INIT(&h->runs);
	return &h->base;
}

static void handle_put(struct exec_handle *h)
{
	bool last;

	pthread_mutex_lock(&h->lock);
	last = --h->references == 0;
	pthread_mutex_unlock(&h->lock);
	if (!last)
		return;
	buf_release(&h->text);
	exec_response_put(h->response);
	pthread_cond_destroy(&h->turn);
	pthread_mutex_destroy(&h->lock);
	handle_memory_free(h);
}

static struct exec_last *last_of(const struct exec_handle *h)
{
	return h->session ? h->session->last : h->base.control->exec_last;
}

static bool has_text_locked(const struct exec_handle *h)
{
	return h->text.len || h->text.failed;
}

/*
 * The response that a read at `off` gets. The response stays the same until the handle's next run,
 * also when other handles run commands.
 */
static struct view view_locked(struct exec_handle *h, off_t off)
{
	if (!h->wrote && !h->response)
		h->response = last_response(last_of(h));
	if (h->start < 0)
		h->start = h->wrote ? off : 0;
	/* The reader went back: to the beginning. */
	if (off < h->start)
		h->start = off;
	return (struct view){ exec_response_get(h->response), off - h->start };
}

static void view_reply(fuse_req_t req, const struct view *view, size_t size)
{
	static const struct buf nothing;

	control_reply_text(req, view->response ? exec_response_text(view->response) : &nothing,
		size, view->off);
}

/* Takes `response`; NULL where another thread has published it. */
static void publish(struct exec_handle *h, struct exec_response *response)
{
	struct exec_response *former;

	if (!response)
		return;
	set_last_response(last_of(h), response);
	pthread_mutex_lock(&h->lock);
	former = h->response;
	h->response = response;
	h->start = -1;
	pthread_mutex_unlock(&h->lock);
	exec_response_put(former);
}

/* ---- Runs ---- */

static void wait_for_turn(struct exec_run *run)
{
	struct exec_handle *h = run->handle;

	pthread_mutex_lock(&h->lock);
	while (TAILQ_FIRST(&h->runs) != run)
		pthread_cond_wait(&h->turn, &h->lock);
	pthread_mutex_unlock(&h->lock);
}

static void run_work(void *context, const struct cancel *cancel)
{
	struct exec_run *run = context;
	struct exec_handle *h = run->handle;
	struct control *c = h->base.control;
	struct exec_terms terms = c->options.exec;
	struct exec_response *response = NULL;

	terms.session = h->session ? h->session->name : NULL;
	wait_for_turn(run);
	if (run->command)
		exec_command_run(run->command, c->cache, &terms, cancel, &response, &run->error);
	publish(h, response);
	pthread_mutex_lock(&h->lock);
	if (run->reads)
		run->view = view_locked(h, run->off);
	TAILQ_REMOVE(&h->runs, run, link);
	pthread_cond_broadcast(&h->turn);
	pthread_mutex_unlock(&h->lock);
}

/* The response says why a command did not run. So a read fails only when its reader gives up. */
static void run_answer(void *context, fuse_req_t req, bool ended)
{
	struct exec_run *run = context;

	if (!ended) {
		if (run->command)
			publish(run->handle, exec_command_give_up(run->command, "interrupted"));
		fuse_reply_err(req, EINTR);
		return;
	}
	if (run->command)
		notifier_drain(run->handle->base.control->notifier, CONTROL_FORGET_MS);
	if (run->reads && run->error.kind != ERR_INTERRUPTED)
		view_reply(req, &run->view, run->size);
	else
		fuse_reply_err(req, errmap_errno(run->error.kind));
}

static void run_free(struct exec_run *run)
{
	exec_command_free(run->command);
	exec_response_put(run->view.response);
	handle_put(run->handle);
	free(run);
}

static void run_release(void *context)
{
	run_free(context);
}

static const struct deferred_work run_deferred = {
	.run = run_work,
	.answer = run_answer,
	.release = run_release,
};

static struct exec_command *take_text_locked(struct exec_handle *h)
{
	return exec_command_new(
		&h->text, &(struct audit_who){ h->base.opener, h->base.opener_uid });
}

/* Takes the text written so far; NULL: no memory, and nothing taken. */
static struct exec_run *run_new_locked(struct exec_handle *h)
{
	AUTO_FREE struct exec_run *run = calloc(1, sizeof *run);
	bool has_text = has_text_locked(h);

	if (run && has_text)
		run->command = take_text_locked(h);
	if (!run || (has_text && !run->command))
		return NULL;
	run->handle = h;
	h->references++;
	TAILQ_INSERT_TAIL(&h->runs, run, link);
	return take(run);
}

static void run_cannot_start(struct exec_run *run, const char *why)
{
	struct exec_handle *h = run->handle;

	if (run->command)
		publish(h, exec_command_give_up(run->command, why));
	pthread_mutex_lock(&h->lock);
	TAILQ_REMOVE(&h->runs, run, link);
	pthread_cond_broadcast(&h->turn);
	pthread_mutex_unlock(&h->lock);
	run_free(run);
}

/* `req` may be NULL: no request waits. `run` NULL: there was no memory for it. */
static void run_start(struct control *c, struct exec_run *run, fuse_req_t req)
{
	struct error e = { 0 };

	if (!run)
		error_set(&e, ERR_NO_MEMORY, "out of memory");
	else if (deferred_start(c->deferrals, &run_deferred, run, req, &e) != ERR_OK)
		run_cannot_start(run, e.text);
	if (e.kind == ERR_OK)
		return;
	log_error(LOG_CONTROL, "exec: %s", e.text);
	if (req)
		fuse_reply_err(req, errmap_errno(e.kind));
}

/* Runs the text that was written; false: there was none. */
static bool run_text(struct exec_handle *h, fuse_req_t req)
{
	struct exec_run *run = NULL;
	bool has_text;

	pthread_mutex_lock(&h->lock);
	has_text = has_text_locked(h);
	if (has_text)
		run = run_new_locked(h);
	pthread_mutex_unlock(&h->lock);
	if (has_text)
		run_start(h->base.control, run, req);
	return has_text;
}

/* ---- The file's operations ---- */

static void exec_write(struct control_handle *base, fuse_req_t req, const char *bytes, size_t size)
{
	struct exec_handle *h = (struct exec_handle *)base;
	bool added;

	pthread_mutex_lock(&h->lock);
	added = buf_add(&h->text, bytes, size);
	h->wrote = true;
	pthread_mutex_unlock(&h->lock);
	if (added)
		fuse_reply_write(req, size);
	else
		fuse_reply_err(req, EFBIG);
}

static void exec_flush(struct control_handle *base, fuse_req_t req)
{
	if (!run_text((struct exec_handle *)base, req))
		fuse_reply_err(req, 0);
}

static void exec_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off)
{
	struct exec_handle *h = (struct exec_handle *)base;
	struct exec_run *run = NULL;
	struct view view = { 0 };
	bool waits;

	pthread_mutex_lock(&h->lock);
	waits = has_text_locked(h) || !TAILQ_EMPTY(&h->runs);
	if (!waits) {
		view = view_locked(h, off);
	} else if ((run = run_new_locked(h))) {
		run->reads = true;
		run->size = size;
		run->off = off;
	}
	pthread_mutex_unlock(&h->lock);
	if (waits) {
		run_start(base->control, run, req);
		return;
	}
	view_reply(req, &view, size);
	exec_response_put(view.response);
}

static void exec_abandon(struct control_handle *base)
{
	struct exec_handle *h = (struct exec_handle *)base;
	struct exec_command *command = NULL;

	pthread_mutex_lock(&h->lock);
	if (has_text_locked(h))
		command = take_text_locked(h);
	buf_reset(&h->text);
	pthread_mutex_unlock(&h->lock);
	if (command)
		publish(h, exec_command_give_up(command, "interrupted"));
	exec_command_free(command);
}

static void exec_close(struct control_handle *base)
{
	struct exec_handle *h = (struct exec_handle *)base;

	run_text(h, NULL);
	handle_put(h);
}

#define EXEC_FILE(number)                                                                          \
	{                                                                                          \
		.name = "exec", .ino = (number), .mode = 0600, .open = exec_open,                  \
		.read = exec_read, .write = exec_write, .flush = exec_flush,                       \
		.abandon = exec_abandon, .close = exec_close                                       \
	}

const struct control_file control_exec = EXEC_FILE(CONTROL_INO_EXEC);
const struct control_file control_session_exec = EXEC_FILE(CONTROL_INO_SESSION_EXEC);
