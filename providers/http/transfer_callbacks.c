/* The callbacks that libcurl calls while a transfer runs, in the I/O thread. */
#include "providers/http/client.h"
#include "providers/http/frame.h"

#include <string.h>

/* Bytes sent in the first so many ms fill buffers on the way: they say nothing about the peer. */
#define BUFFERED_MS 250

static void note_progress(struct transfer *t)
{
	t->progress_ms = monotonic_ms();
}

/* The text of a refusal is no progress. */
static void note_received_locked(struct transfer *t)
{
	if (!t->is_held && t->outcome.status < 400)
		note_progress(t);
}

/* For the callbacks: gives the transfer up. */
static void refuse(struct transfer *t, enum err kind, const char *words)
{
	t->refusal = kind;
	t->refusal_words = words;
}

/* Where the window is full the same bytes come again after a resume. */
static size_t receive_locked(struct transfer *t, const char *bytes, size_t len)
{
	if (t->window.len && len > t->window.max - t->window.len) {
		t->is_receiving_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (!buf_add(&t->window, bytes, len)) {
		refuse(t, ERR_NO_MEMORY, "no memory for the answer");
		return 0;
	}
	t->outcome.received += (int64_t)len;
	note_received_locked(t);
	return len;
}

static size_t on_receive(char *bytes, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t taken;

	t->client->moves++;
	t->received_ms = monotonic_ms();
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
	return (t->flags & HTTP_FOLLOW && status >= 300 && status < 400) ||
		retry_wants_redirect(t->flags, status);
}

static bool is_version_2(const struct transfer *t)
{
	long version = 0;

	curl_easy_getinfo(t->easy, CURLINFO_HTTP_VERSION, &version);
	return version == CURL_HTTP_VERSION_2_0;
}

/* Called when the headers are whole. Interim answers (1xx) are skipped. */
static bool end_fields_locked(struct transfer *t)
{
	long status = 0;

	if (t->flags & HTTP_REQUIRE_2 && !is_version_2(t)) {
		refuse(t, ERR_PROTOCOL, "the server does not speak HTTP/2, which this needs");
		return false;
	}
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->has_fields = status >= 200;
	t->outcome.status = (int)status;
	t->outcome.wish = retry_wish_of(t->flags, fields_find(&t->fields, "x-should-retry"));
	t->is_held = is_followed(t, (int)status) ||
		retry_wants_status(t->flags, (int)status, t->outcome.wish) ||
		frame_holds(t->frame, (int)status, fields_find(&t->fields, "Content-Type"));
	note_received_locked(t);
	return true;
}

static bool keep_line_locked(struct transfer *t, const char *line, size_t len)
{
	/* Readers of the fields take no lock, so fields behind the body are kept apart. */
	if (fields_add(t->has_fields ? &t->trailers : &t->fields, line, len))
		return true;
	refuse(t, ERR_PROTOCOL, "more headers than any answer needs");
	return false;
}

static bool add_line_locked(struct transfer *t, const char *line, size_t len)
{
	bool is_end = len <= 2 && line[len - 1] == '\n';

	if (!t->has_fields && len >= 5 && !memcmp(line, "HTTP/", 5))
		buf_reset(&t->fields);
	else if (!is_end)
		return keep_line_locked(t, line, len);
	else if (!t->has_fields)
		return end_fields_locked(t);
	return true;
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
	struct transfer *t = context;
	size_t len = size * count;
	bool is_kept;

	if (!len)
		return 0;
	t->client->moves++;
	silence_received(t);
	pthread_mutex_lock(&t->lock);
	is_kept = add_line_locked(t, line, len);
	pthread_mutex_unlock(&t->lock);
	return is_kept ? len : 0;
}

/*
 * libcurl sends a request again by itself, also a POST, when a kept connection turns out to be dead
 * before a byte of the answer came (Curl_retry_request). The server may already have acted on the
 * request. So only the first sending is let through; exchange_conclude.c decides on another.
 * libcurl does the same for a stream that the server does not process or refuses: goaway.h says how
 * that is recognized.
 */
static int on_sending(void *context, char *to, char *from, int to_port, int from_port)
{
	struct transfer *t = context;

	(void)to, (void)from;
	t->client->moves++;
	t->sending_ms = monotonic_ms();
	t->socket = socket_find(t->client, from_port, to_port);
	silence_sending(t);
	t->is_sent = true;
	t->sendings++;
	return t->sendings == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

static int on_progress(void *context, curl_off_t to_receive, curl_off_t received,
	curl_off_t to_send, curl_off_t sent)
{
	struct transfer *t = context;

	(void)to_receive, (void)received, (void)to_send;
	if (sent != t->sent && monotonic_ms() - t->sending_ms > BUFFERED_MS)
		note_progress(t);
	if (sent != t->sent) {
		t->client->moves++;
		t->silent_since_ms = monotonic_ms();
	}
	t->sent = sent;
	return 0;
}

void transfer_set_callbacks(struct transfer *t)
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
