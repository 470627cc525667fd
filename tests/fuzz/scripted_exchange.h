/*
 * scripted_exchange.h - the exchanges of providers/http/http.h, with answers from the fuzzer's
 * input and no network: for a program that is linked without providers/http/exchange.c.
 *
 * A target defines script_answer(), which makes the body of each answer. The status, the fields,
 * the pieces in which the body comes and whether the connection breaks are the input's. Pauses take
 * no time, and a target that pauses for ever is interrupted.
 */
#pragma once

#include "providers/base/call.h"
#include "providers/http/exchange.h"
#include "providers/http/http.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_PAUSES_MAX 40

/* The rest of the input; zeros follow its end. */
static struct script {
	const uint8_t *bytes;
	size_t left;
	unsigned pauses;
} script;

static uint8_t script_byte(void)
{
	if (!script.left)
		return 0;
	script.left--;
	return *script.bytes++;
}

/* Takes at most `max` bytes; *len is set to their number. */
static const uint8_t *script_bytes(size_t max, size_t *len)
{
	const uint8_t *bytes = script.bytes;

	*len = max < script.left ? max : script.left;
	script.bytes += *len;
	script.left -= *len;
	return bytes;
}

static char *script_text(size_t max)
{
	size_t len;
	const uint8_t *bytes = script_bytes(max, &len);

	return strndup((const char *)bytes, len);
}

/* Adds the body of the answer to a request of this URL. */
static void script_answer(const char *url, struct buf *body);

struct scripted_exchange {
	struct http_exchange x; /* first, since an http_exchange is cast to this */
	struct buf body, piece;
	size_t at, step;
	int status;
	bool breaks;
	const char *type;
	char *words, *details, grpc_status[8];
};

static struct scripted_exchange *maybe_foreign(const struct http_exchange *x)
{
	return (struct scripted_exchange *)(uintptr_t)x;
}

enum err http_begin(struct http *h, const struct http_request *request, struct http_exchange **out,
	struct error *e)
{
	static const int statuses[] = { 200, 200, 200, 200, 200, 404, 422, 503 };
	struct scripted_exchange *t = calloc(1, sizeof *t);
	uint8_t how = script.left ? script_byte() : 0xff;

	if (!t)
		return error_set(e, ERR_NO_MEMORY, "an exchange");
	t->x.client = h;
	t->body = (struct buf)BUF_INIT((size_t)1 << 20);
	t->piece = (struct buf)BUF_INIT((size_t)1 << 20);
	t->breaks = how > 240;
	t->status = statuses[how & 7];
	t->step = 1 + (how >> 3 & 7) * 37;
	t->type = request->flags & HTTP_REQUIRE_2 ? "application/grpc" : "application/json";
	if (!t->breaks || how & 1)
		script_answer(request->url, &t->body);
	if (request->flags & HTTP_REQUIRE_2) {
		how = script_byte();
		t->grpc_status[0] = how < 200 ? '0' : (char)('0' + how % 10);
		t->grpc_status[1] = how > 250 ? '7' : '\0';
		t->words = how < 200 ? NULL : script_text(8);
		t->details = how < 220 ? NULL : script_text(24);
	}
	*out = &t->x;
	return ERR_OK;
}

enum err http_read(struct http_exchange *x, const struct call *call, const void **bytes,
	size_t *len, struct error *e)
{
	struct scripted_exchange *t = maybe_foreign(x);
	size_t left = t->body.len - t->at;

	(void)call;
	*len = left < t->step ? left : t->step;
	if (!*len && t->breaks)
		return error_set(e, ERR_UNREACHABLE, "the connection broke");
	buf_reset(&t->piece);
	if (*len)
		buf_add(&t->piece, t->body.bytes + t->at, *len);
	t->at += *len;
	*bytes = t->piece.bytes;
	return ERR_OK;
}

/* The script ends each answer, so no answer has to be waited for. */
bool http_is_ending(const struct http_exchange *x, const struct call *call)
{
	(void)x, (void)call;
	return true;
}

int http_fd(const struct http_exchange *x)
{
	(void)x;
	return -1;
}

int64_t http_moved_ms(const struct http_exchange *x)
{
	(void)x;
	return 0;
}

void http_note_progress(struct http_exchange *x, const struct call *call)
{
	(void)x, (void)call;
}

int http_status(const struct http_exchange *x)
{
	return maybe_foreign(x)->status;
}

const char *http_header(const struct http_exchange *x, const char *name)
{
	const struct scripted_exchange *t = maybe_foreign(x);

	if (!strcasecmp(name, "content-type"))
		return t->type;
	if (!strcasecmp(name, "grpc-status"))
		return *t->grpc_status && t->at == t->body.len ? t->grpc_status : NULL;
	if (!strcasecmp(name, "grpc-message"))
		return t->words;
	return strcasecmp(name, "grpc-status-details-bin") ? NULL : t->details;
}

void http_blot_secrets(const struct http_exchange *x, void *bytes, size_t len)
{
	(void)x, (void)bytes, (void)len;
}

struct foreign_answers *http_foreign_of(const struct http_exchange *x)
{
	return http_foreign(x->client);
}

bool http_may_have_arrived(struct http_exchange *x)
{
	return !maybe_foreign(x)->breaks;
}

void http_end(struct http_exchange *x)
{
	struct scripted_exchange *t = maybe_foreign(x);

	buf_release(&t->body);
	buf_release(&t->piece);
	free(t->words);
	free(t->details);
	free(t);
}

/* Nothing is sent: for the linker alone. */
enum err exchange_set_url(struct http_exchange *x, char *url, struct error *e)
{
	(void)x;
	free(url);
	return error_set(e, ERR_IO, "not here");
}

void exchange_start(struct http_exchange *x)
{
	(void)x;
}

static bool script_is_over(void)
{
	return script.pauses++ >= SCRIPT_PAUSES_MAX;
}

/* In place of call_sleep() and poll() (the linker's --wrap). */
enum err __wrap_call_sleep(const struct call *call, int64_t ms, struct error *e);
enum err __wrap_call_sleep(const struct call *call, int64_t ms, struct error *e)
{
	(void)call, (void)ms;
	return script_is_over() ? error_set(e, ERR_INTERRUPTED, "enough") : ERR_OK;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	(void)timeout_ms;
	for (nfds_t n = 0; n < count; n++)
		fds[n].revents = fds[n].fd >= 0 ? POLLIN : 0;
	return count > 1 || (count && fds[0].fd >= 0) || script_is_over();
}
