#include "fs/audit.h"

#include "providers/base/cleanup.h"
#include "providers/base/log.h"
#include "providers/base/thread.h"
#include "providers/base/time.h"
#include "providers/json.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

/* The bytes of records that wait for the disk. In JSON a letter takes six bytes at most. */
#define WAITING_MAX ((size_t)4 * 1024 * 1024)
#define RECORD_MAX  ((size_t)2 * 1024 * 1024)
#define COMMAND_MAX ((size_t)64 * 1024)
/* Files that are written at one time are few; each list is walked. */
#define LISTS 256

/* A file that was written and not yet closed. */
struct written {
	const void *file;
	struct audit_who who;
	uint64_t bytes;
	LIST_ENTRY(written) link;
};

struct audit {
	char *path;
	int fd;      /* the thread's, as `is_cut` */
	bool is_cut; /* the last line in the file has no end */
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t changed;
	struct buf waiting;
	uint64_t lost;
	bool is_to_reopen, is_ending;
	LIST_HEAD(written_list, written) written[LISTS];
};

/* ---- The file ---- */

static int open_file(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

static void reopen(struct audit *a)
{
	int fd = open_file(a->path);

	if (fd < 0) {
		log_warn(LOG_FS, "audit %s: %m; the file that was open is kept", a->path);
		return;
	}
	close(a->fd);
	a->fd = fd;
}

/* Returns how much of `lines` was written. A line that was cut before is ended first. */
static size_t write_lines(struct audit *a, const struct buf *lines)
{
	size_t done = 0;
	ssize_t n = 0;

	if (a->is_cut && write(a->fd, "\n", 1) != 1)
		return 0;
	a->is_cut = false;
	while (done < lines->len && n >= 0) {
		n = write(a->fd, lines->bytes + done, lines->len - done);
		if (n < 0 && errno == EINTR)
			n = 0;
		done += n > 0 ? (size_t)n : 0;
	}
	a->is_cut = done && lines->bytes[done - 1] != '\n';
	return done;
}

/* The lines, whole or cut, that end behind `from`. */
static uint64_t lines_in(const struct buf *lines, size_t from)
{
	uint64_t count = 0;

	for (size_t i = from; i < lines->len; i++)
		count += lines->bytes[i] == '\n';
	return count;
}

/* ---- Records ---- */

static void put_time(struct json_writer *w)
{
	struct timespec now = time_of_day();
	char text[64], seconds[32];
	struct tm utc;

	gmtime_r(&now.tv_sec, &utc);
	strftime(seconds, sizeof seconds, "%FT%T", &utc);
	snprintf(text, sizeof text, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
	json_put_text(w, "time", text);
}

static void begin(struct json_writer *w, const char *op)
{
	json_put_open(w, NULL);
	put_time(w);
	json_put_text(w, "op", op);
}

static void put_who(struct json_writer *w, const struct audit_who *who)
{
	if (!who->pid)
		return;
	json_put_integer(w, "pid", who->pid);
	json_put_integer(w, "uid", who->uid);
}

/* Takes `record` with its end. */
static void add(struct audit *a, struct json_writer *w)
{
	json_put_close(w);
	buf_add_byte(w->out, '\n');
	pthread_mutex_lock(&a->lock);
	if (w->out->failed || !buf_add(&a->waiting, w->out->bytes, w->out->len))
		a->lost++;
	a->waiting.failed = false;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static void add_lost(struct buf *lines, uint64_t lost)
{
	struct json_writer w = { .out = lines };

	begin(&w, "lost");
	json_put_integer(&w, "count", (int64_t)lost);
	json_put_close(&w);
	buf_add_byte(lines, '\n');
}

/* ---- The thread ---- */

/* Takes the lines that wait; false: the end has come, and no line waits. */
static bool await(struct audit *a, struct buf *lines, uint64_t *lost, bool *is_to_reopen)
{
	bool goes_on;

	pthread_mutex_lock(&a->lock);
	while (!a->waiting.len && !a->is_ending && !a->is_to_reopen)
		pthread_cond_wait(&a->changed, &a->lock);
	goes_on = a->waiting.len || !a->is_ending;
	*lines = a->waiting;
	a->waiting = (struct buf)BUF_INIT(WAITING_MAX);
	*lost = a->lost;
	a->lost = 0;
	*is_to_reopen = a->is_to_reopen;
	a->is_to_reopen = false;
	pthread_mutex_unlock(&a->lock);
	return goes_on;
}

static void note_lost(struct audit *a, uint64_t count)
{
	pthread_mutex_lock(&a->lock);
	a->lost += count;
	pthread_mutex_unlock(&a->lock);
}

static void write_out(struct audit *a, const struct buf *lines, uint64_t lost, bool *is_failing)
{
	AUTO_BUF struct buf first = BUF_INIT(1000);
	bool is_written = true;
	size_t done = 0;

	if (lost) {
		add_lost(&first, lost);
		is_written = write_lines(a, &first) == first.len;
	}
	if (!is_written)
		note_lost(a, lost);
	else
		done = write_lines(a, lines);
	is_written = is_written && done == lines->len;
	if (!is_written && !*is_failing)
		log_warn(LOG_FS, "audit %s: %m; records are lost until this ends", a->path);
	if (!is_written)
		note_lost(a, lines_in(lines, done));
	*is_failing = !is_written;
}

static void *write_records(void *context)
{
	struct audit *a = context;
	bool is_failing = false, is_to_reopen, goes_on = true;
	uint64_t lost;

	while (goes_on) {
		struct buf lines;

		goes_on = await(a, &lines, &lost, &is_to_reopen);
		if (is_to_reopen)
			reopen(a);
		if (lines.len || (lost && !goes_on))
			write_out(a, &lines, lost, &is_failing);
		else if (lost)
			note_lost(a, lost);
		buf_release(&lines);
	}
	return NULL;
}

/* ---- Beginning and end ---- */

static void release(struct audit *a)
{
	struct written *w;

	for (size_t i = 0; i < LISTS; i++)
		while ((w = LIST_FIRST(&a->written[i]))) {
			LIST_REMOVE(w, link);
			free(w);
		}
	if (a->fd >= 0)
		close(a->fd);
	buf_release(&a->waiting);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a);
}

enum err audit_new(struct audit **out, const char *path, struct error *e)
{
	struct audit *a = calloc(1, sizeof *a);
	int failed = 0;

	if (!a)
		return error_set(e, ERR_NO_MEMORY, "audit");
	a->waiting = (struct buf)BUF_INIT(WAITING_MAX);
	a->fd = -1;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
	a->path = strdup(path);
	if (a->path)
		a->fd = open_file(path);
	if (a->fd < 0)
		failed = a->path ? errno : ENOMEM;
	else
		failed = thread_start(&a->thread, write_records, a);
	if (failed) {
		release(a);
		return error_errno(e, failed, "audit %s", path);
	}
	*out = a;
	return ERR_OK;
}

void audit_free(struct audit *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->is_ending = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	release(a);
}

void audit_reopen(struct audit *a)
{
	pthread_mutex_lock(&a->lock);
	a->is_to_reopen = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

/* ---- Records by kind ---- */

void audit_change(struct audit *a, const struct audit_who *who, const char *op, const char *path,
	const char *to)
{
	AUTO_BUF struct buf record = BUF_INIT(RECORD_MAX);
	struct json_writer w = { .out = &record };

	if (!a)
		return;
	begin(&w, op);
	json_put_path(&w, path);
	if (to)
		json_put_text(&w, "to", to);
	put_who(&w, who);
	add(a, &w);
}

static struct written_list *list_of(struct audit *a, const void *file)
{
	return &a->written[((uintptr_t)file >> 6) % LISTS];
}

static struct written *find_locked(struct audit *a, const void *file)
{
	struct written *w;

	LIST_FOREACH(w, list_of(a, file), link)
	if (w->file == file)
		return w;
	return NULL;
}

void audit_wrote(struct audit *a, const struct audit_who *who, const void *file, uint64_t bytes)
{
	struct written *w;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	w = find_locked(a, file);
	if (!w && (w = calloc(1, sizeof *w))) {
		w->file = file;
		LIST_INSERT_HEAD(list_of(a, file), w, link);
	}
	if (w) {
		w->who = *who;
		w->bytes += bytes;
	} else
		a->lost++;
	pthread_mutex_unlock(&a->lock);
}

bool audit_has_written(struct audit *a, const void *file)
{
	bool has_written;

	if (!a)
		return false;
	pthread_mutex_lock(&a->lock);
	has_written = find_locked(a, file) != NULL;
	pthread_mutex_unlock(&a->lock);
	return has_written;
}

void audit_closed(struct audit *a, const void *file, const char *path)
{
	AUTO_BUF struct buf record = BUF_INIT(RECORD_MAX);
	struct json_writer w = { .out = &record };
	struct written *written;

	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	written = find_locked(a, file);
	if (written)
		LIST_REMOVE(written, link);
	pthread_mutex_unlock(&a->lock);
	if (!written)
		return;
	begin(&w, "write");
	if (path)
		json_put_path(&w, path);
	else
		json_put_null(&w, "path");
	json_put_integer(&w, "bytes", (int64_t)written->bytes);
	put_who(&w, &written->who);
	free(written);
	add(a, &w);
}

/* A long command is recorded by its beginning and its length. */
static void put_command(struct json_writer *w, const char *command)
{
	size_t len = strlen(command);

	json_put_bytes(w, "command", command, len < COMMAND_MAX ? len : COMMAND_MAX);
	if (len > COMMAND_MAX)
		json_put_integer(w, "command_bytes", (int64_t)len);
}

static void put_exit_code(struct json_writer *w, bool has_exit_code, int exit_code)
{
	if (has_exit_code)
		json_put_integer(w, "exit_code", exit_code);
	else
		json_put_null(w, "exit_code");
}

void audit_command(struct audit *a, const struct audit_who *who, const char *command,
	const struct audit_end *end)
{
	AUTO_BUF struct buf record = BUF_INIT(RECORD_MAX);
	struct json_writer w = { .out = &record };

	if (!a)
		return;
	begin(&w, "exec");
	put_command(&w, command);
	put_exit_code(&w, end->has_exit_code, end->exit_code);
	if (end->timed_out)
		json_put_boolean(&w, "timed_out", true);
	if (end->error)
		json_put_text(&w, "error", end->error);
	json_put_integer(&w, "duration_ms", end->duration_ms);
	put_who(&w, who);
	add(a, &w);
}

void audit_job(struct audit *a, const struct audit_who *who, uint64_t id, const char *command)
{
	AUTO_BUF struct buf record = BUF_INIT(RECORD_MAX);
	struct json_writer w = { .out = &record };

	if (!a)
		return;
	begin(&w, "spawn");
	json_put_integer(&w, "job", (int64_t)id);
	put_command(&w, command);
	put_who(&w, who);
	add(a, &w);
}

void audit_job_ended(struct audit *a, uint64_t id, bool has_exit_code, int exit_code)
{
	AUTO_BUF struct buf record = BUF_INIT(1000);
	struct json_writer w = { .out = &record };

	if (!a)
		return;
	begin(&w, "job");
	json_put_integer(&w, "job", (int64_t)id);
	put_exit_code(&w, has_exit_code, exit_code);
	add(a, &w);
}
