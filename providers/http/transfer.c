#include "providers/http/transfer.h"

#include "providers/base/cleanup.h"
#include "providers/http/client.h"
#include "providers/http/failure.h"
#include "providers/http/fields.h"
#include "providers/http/goaway.h"
#include "providers/http/request.h"

#include <string.h>
#include <sys/eventfd.h>

/* One byte less, since a buffer has an additional NUL and its memory doubles. */
#define WINDOW_MAX (HTTP_WINDOW - 1)

enum err transfer_init(struct transfer *t, struct error *e)
{
	t->window = (struct buf)BUF_INIT(WINDOW_MAX);
	t->upload = (struct buf)BUF_INIT(WINDOW_MAX);
	t->fields = (struct buf)BUF_INIT(FIELDS_MAX);
	t->trailers = (struct buf)BUF_INIT(FIELDS_MAX);
	t->outcome.retry_after_ms = -1;
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
	buf_release(&t->trailers);
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
	buf_reset(&t->trailers);
	free(t->outcome.redirect);
	t->outcome = (struct outcome){ .retry_after_ms = -1 };
	t->upload_taken = 0;
	t->upload_given = 0;
	t->is_over = t->is_held = t->has_fields = false;
	t->is_receiving_paused = t->is_sending_paused = false;
	transfer_tell_locked(t);
	pthread_mutex_unlock(&t->lock);
}

/* ---- Waking the reader ---- */

static bool wants_upload_locked(const struct transfer *t)
{
	return t->has_source && t->upload_taken == t->upload.len && t->upload_given < t->body_len;
}

static bool has_news_locked(const struct transfer *t)
{
	if (t->is_over || wants_upload_locked(t))
		return true;
	/* A held answer that does not fit the window is passed to the reader after all. */
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

/* ---- Life of a transfer in the I/O thread ---- */

void transfer_start(struct transfer *t, CURLM *multi, struct http *h, CURLSH *connections)
{
	t->client = h;
	t->sendings = 0;
	t->sent = 0;
	t->refusal = ERR_OK;
	t->is_sent = t->is_kept = t->has_received = t->is_dead = t->is_condemned = false;
	t->socket = NULL;
	t->trial = (struct trial){ 0 };
	*t->error_text = 0;
	t->easy = request_handle(h, t);
	if (!t->easy) {
		transfer_finish(t, multi, CURLE_OUT_OF_MEMORY);
		return;
	}
	transfer_set_callbacks(t);
	goaway_watch(t);
	preconnect_offer(t->easy, h);
	/* A connection of its own is not visible to the others. */
	if (!(t->flags & HTTP_OWN_CONNECTION))
		curl_easy_setopt(t->easy, CURLOPT_SHARE, connections);
	LIST_INSERT_HEAD(&h->silence.running, t, running);
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
	/* The call may run callbacks at once, so not under the lock. */
	if (was_paused && t->easy)
		curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

static void close_handle(struct transfer *t, CURLM *multi)
{
	if (!t->easy)
		return;
	LIST_REMOVE(t, running);
	silence_ended(t);
	curl_multi_remove_handle(multi, t->easy);
	curl_easy_cleanup(take(t->easy));
}

static time_t date_of(const struct transfer *t, const char *name)
{
	const char *value = fields_find(&t->fields, name);

	/* A number is no date in RFC 9110, but curl_getdate() takes one. */
	return value && *value >= 'A' ? curl_getdate(value, NULL) : -1;
}

/* Seconds; 0: no pause asked for. A date is by the server's clock, and curl's answer is not. */
static curl_off_t retry_after_s_of(const struct transfer *t)
{
	time_t at = date_of(t, "retry-after"), now = date_of(t, "date");
	curl_off_t seconds = 0;

	if (at >= 0 && now >= 0)
		return at > now ? at - now : 0;
	curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &seconds);
	return seconds;
}

/* Reads the facts that only the handle has. */
static void note_outcome(const struct transfer *t, struct outcome *o)
{
	long request_bytes = 0;
	curl_off_t took_us = 0, retry_after_s = retry_after_s_of(t);
	char *redirect = NULL;

	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &request_bytes);
	curl_easy_getinfo(t->easy, CURLINFO_TOTAL_TIME_T, &took_us);
	curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &redirect);
	o->was_sent = t->is_sent && request_bytes > 0 && !t->is_unprocessed;
	o->was_stale = t->sendings > 1 || t->is_dead || t->is_unprocessed;
	o->took_ms = took_us / 1000;
	o->retry_after_ms = retry_after_ms_of(fields_find(&t->fields, "retry-after-ms"));
	if (o->retry_after_ms < 0 && retry_after_s > 0)
		o->retry_after_ms =
			retry_after_s < INT64_MAX / 1000 ? retry_after_s * 1000 : INT64_MAX;
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

void transfer_give_up(struct transfer *t, CURLM *multi, const char *why)
{
	t->refusal = ERR_UNREACHABLE;
	t->refusal_words = why;
	t->is_dead = true;
	transfer_finish(t, multi, CURLE_RECV_ERROR);
}

void transfer_stop(struct transfer *t, CURLM *multi)
{
	close_handle(t, multi);
	pthread_mutex_lock(&t->lock);
	t->is_stopped = true;
	pthread_cond_signal(&t->stopped);
	pthread_mutex_unlock(&t->lock);
}
