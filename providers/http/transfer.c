#include "providers/http/transfer.h"

#include "providers/base/cleanup.h"
#include "providers/http/failure.h"
#include "providers/http/request.h"
#include "providers/http/retry.h"

#include <string.h>
#include <sys/eventfd.h>

/* One byte less, since a buffer holds a NUL more and its memory doubles. */
#define WINDOW_MAX (HTTP_WINDOW - 1)

enum err transfer_init(struct transfer *t, struct error *e)
{
	t->window = (struct buf)BUF_INIT(WINDOW_MAX);
	t->upload = (struct buf)BUF_INIT(WINDOW_MAX);
	t->fields = (struct buf)BUF_INIT(FIELDS_MAX);
	t->outcome.retry_after_s = -1;
	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->stopped, NULL);
	t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return t->fd < 0 ? error_errno(e, errno, "eventfd") : ERR_OK;
}

void transfer_release(struct transfer *t)
{
	buf_release(&t->window);
	buf_release(&t->upload);
	buf_release(&t->fields);
	free(t->outcome.redirect);
	free(t->url);
	free(t->shown);
	cleanup_close(&t->fd);
	pthread_cond_destroy(&t->stopped);
	pthread_mutex_destroy(&t->lock);
}

void transfer_reset(struct transfer *t)
{
	pthread_mutex_lock(&t->lock);
	buf_reset(&t->window);
	buf_reset(&t->upload);
	buf_reset(&t->fields);
	free(t->outcome.redirect);
	t->outcome = (struct outcome){ .retry_after_s = -1 };
	t->upload_taken = 0;
	t->upload_given = 0;
	t->is_over = t->is_held = t->has_fields = false;
	t->is_receiving_paused = t->is_sending_paused = false;
	transfer_tell_locked(t);
	pthread_mutex_unlock(&t->lock);
}

/* ---- Telling the reader ---- */

static bool wants_upload_locked(const struct transfer *t)
{
	return t->has_source && t->upload_taken == t->upload.len && t->upload_given < t->body_len;
}

static bool has_news_locked(const struct transfer *t)
{
	if (t->is_over || wants_upload_locked(t))
		return true;
	/* An answer that is only to be judged but does not fit is read after all. */
	return t->window.len && (!t->is_held || t->is_receiving_paused);
}

void transfer_tell_locked(struct transfer *t)
{
	bool has_news = has_news_locked(t);
	eventfd_t ignored;

	if (has_news == t->is_signalled)
		return;
	t->is_signalled = has_news;
	if (has_news)
		eventfd_write(t->fd, 1);
	else
		eventfd_read(t->fd, &ignored);
}

static void note_progress(struct transfer *t)
{
	t->progress_ms = monotonic_ms();
}

/* ---- What libcurl calls, in the I/O thread ---- */

/* Where it is full the same bytes come again after a resume. */
static size_t receive_locked(struct transfer *t, const char *bytes, size_t len)
{
	if (t->window.len && len > t->window.max - t->window.len) {
		t->is_receiving_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (!buf_add(&t->window, bytes, len)) {
		t->refusal = ERR_NO_MEMORY;
		return 0;
	}
	t->outcome.received += (int64_t)len;
	return len;
}

static size_t on_receive(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t taken;

	pthread_mutex_lock(&t->lock);
	taken = receive_locked(t, bytes, size * count);
	transfer_tell_locked(t);
	pthread_mutex_unlock(&t->lock);
	return taken;
}

static size_t send_locked(struct transfer *t, char *dst, size_t room)
{
	size_t left = t->upload.len - t->upload_taken;
	size_t len = left < room ? left : room;

	if (!len && t->upload_given < t->body_len) {
		t->is_sending_paused = true;
		return CURL_READFUNC_PAUSE;
	}
	if (len)
		memcpy(dst, t->upload.bytes + t->upload_taken, len);
	t->upload_taken += len;
	return len;
}

static size_t on_send(char *dst, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len;

	pthread_mutex_lock(&t->lock);
	len = send_locked(t, dst, size * count);
	transfer_tell_locked(t);
	pthread_mutex_unlock(&t->lock);
	return len;
}

static bool is_followed(const struct transfer *t, int status)
{
	return t->flags & HTTP_FOLLOW && status >= 300 && status < 400;
}

/* The headers are whole. Interim answers (1xx) are passed over. */
static void end_fields_locked(struct transfer *t)
{
	long status = 0;

	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->has_fields = status >= 200;
	t->outcome.status = (int)status;
	t->is_held = is_followed(t, (int)status) || retry_wants_status(t->flags, (int)status);
}

/* Trailers come here too, after the answer's own headers: nobody asked for them. */
static bool add_line_locked(struct transfer *t, const char *line, size_t len)
{
	if (t->has_fields)
		return true;
	if (len >= 5 && !memcmp(line, "HTTP/", 5))
		buf_reset(&t->fields);
	else if (len <= 2 && line[len - 1] == '\n')
		end_fields_locked(t);
	else
		return fields_add(&t->fields, line, len);
	return true;
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count;
	bool is_kept;

	if (!len)
		return 0;
	note_progress(t);
	pthread_mutex_lock(&t->lock);
	is_kept = add_line_locked(t, line, len);
	pthread_mutex_unlock(&t->lock);
	if (!is_kept)
		t->refusal = ERR_PROTOCOL;
	return is_kept ? len : 0;
}

/*
 * libcurl sends a request again by itself, also a POST, when a kept connection turns out to be dead before a byte of the
 * answer came (Curl_retry_request). By then the server may have acted on it. So only the first sending is let through;
 * whether there is another one is decided in exchange_settle.c.
 */
static int on_sending(void *context, char *to, char *from, int to_port, int from_port)
{
	struct transfer *t = context;

	(void)to, (void)from, (void)to_port, (void)from_port;
	note_progress(t);
	t->is_sent = true;
	t->sendings++;
	return t->sendings == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static int on_progress(void *context, curl_off_t to_receive, curl_off_t received,
	curl_off_t to_send, curl_off_t sent)
{
	struct transfer *t = context;

	(void)to_receive, (void)to_send;
	if (received + sent != t->moved)
		note_progress(t);
	t->moved = received + sent;
	return 0;
}

/* ---- Its life in the I/O thread ---- */

static void set_callbacks(struct transfer *t)
{
	curl_easy_setopt(t->easy, CURLOPT_PRIVATE, t);
	curl_easy_setopt(t->easy, CURLOPT_ERRORBUFFER, t->error_text);
	curl_easy_setopt(t->easy, CURLOPT_WRITEFUNCTION, on_receive);
	curl_easy_setopt(t->easy, CURLOPT_WRITEDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, on_send);
	curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(t->easy, CURLOPT_HEADERDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_PREREQFUNCTION, on_sending);
	curl_easy_setopt(t->easy, CURLOPT_PREREQDATA, t);
	curl_easy_setopt(t->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(t->easy, CURLOPT_XFERINFODATA, t);
	curl_easy_setopt(t->easy, CURLOPT_NOPROGRESS, 0L);
}

void transfer_start(struct transfer *t, CURLM *multi, const struct http *h, CURLSH *connections)
{
	t->sendings = 0;
	t->moved = 0;
	t->refusal = ERR_OK;
	t->is_sent = false;
	*t->error_text = 0;
	t->easy = request_handle(h, t);
	if (!t->easy) {
		transfer_finish(t, multi, CURLE_OUT_OF_MEMORY);
		return;
	}
	set_callbacks(t);
	/* A connection of its own is not even seen by the others. */
	if (!(t->flags & HTTP_OWN_CONNECTION))
		curl_easy_setopt(t->easy, CURLOPT_SHARE, connections);
	if (curl_multi_add_handle(multi, t->easy))
		transfer_finish(t, multi, CURLE_OUT_OF_MEMORY);
}

void transfer_resume(struct transfer *t)
{
	bool was_paused;

	pthread_mutex_lock(&t->lock);
	was_paused = t->is_receiving_paused || t->is_sending_paused;
	t->is_receiving_paused = t->is_sending_paused = false;
	pthread_mutex_unlock(&t->lock);
	/* May call back at once, so not under the lock. */
	if (was_paused && t->easy)
		curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

static void close_handle(struct transfer *t, CURLM *multi)
{
	if (!t->easy)
		return;
	curl_multi_remove_handle(multi, t->easy);
	curl_easy_cleanup(take(t->easy));
}

/* Reads what only the handle knows. */
static void note_outcome(const struct transfer *t, struct outcome *o)
{
	long request_bytes = 0;
	curl_off_t took_us = 0, retry_after_s = 0;
	char *redirect = NULL;

	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
	curl_easy_getinfo(t->easy, CURLINFO_TOTAL_TIME_T, &took_us);
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &redirect);
	o->was_sent = t->is_sent && request_bytes > 0;
	o->was_stale = t->sendings > 1;
	o->took_ms = took_us / 1000;
	o->retry_after_s = retry_after_s > 0 ? retry_after_s : -1;
	o->redirect = redirect ? strdup(redirect) : NULL;
}

void transfer_finish(struct transfer *t, CURLM *multi, CURLcode code)
{
	pthread_mutex_lock(&t->lock);
	failure_of(t, code, &t->outcome.failure);
	if (t->easy)
		note_outcome(t, &t->outcome);
	pthread_mutex_unlock(&t->lock);
	close_handle(t, multi);
	pthread_mutex_lock(&t->lock);
	t->is_sent = t->outcome.was_sent;
	t->is_over = true;
	transfer_tell_locked(t);
	pthread_mutex_unlock(&t->lock);
}

void transfer_stop(struct transfer *t, CURLM *multi)
{
	close_handle(t, multi);
	pthread_mutex_lock(&t->lock);
	t->is_stopped = true;
	pthread_cond_signal(&t->stopped);
	pthread_mutex_unlock(&t->lock);
}
