#include "providers/aio/sessions.h"

#include "providers/base/cleanup.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

/* A short time: the call that waits for this was given up, or its program is about to end. */
#define CLOSE_MS 1000

enum err sessions_init(
	struct sessions *s, const struct rest *rest, const char *sandbox, struct error *e)
{
	*s = (struct sessions){ .rest = rest, .sandbox = sandbox };
	s->places_fd = eventfd(SESSIONS_MAX, EFD_SEMAPHORE | EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->places_fd < 0)
		return error_errno(e, errno, "eventfd");
	pthread_mutex_init(&s->lock, NULL);
	return ERR_OK;
}

static void end(struct sessions *s, const char *id)
{
	const struct call call = { .progress_ms = CLOSE_MS, .is_background = true };
	const struct rest_ask ask = { .method = s->is_shell ? HTTP_DELETE : HTTP_POST,
		.path = s->is_shell ? "/v1/shell/sessions/" : "/v1/bash/sessions/",
		.about = id,
		.below = s->is_shell ? NULL : "/close",
		.what = "closing a session",
		.id = s->sandbox };

	rest_perform(s->rest, &call, &ask, NULL, NULL);
}

void sessions_release(struct sessions *s)
{
	while (s->idle)
		end(s, s->ids[--s->idle]);
	pthread_mutex_destroy(&s->lock);
	cleanup_close(&s->places_fd);
}

/* ---- Taking a session ---- */

static enum err take_place(struct sessions *s, const struct call *call, struct error *e)
{
	enum err kind = ERR_OK;
	eventfd_t one;

	while (!kind && eventfd_read(s->places_fd, &one))
		kind = call_wait_fd(call, s->places_fd, POLLIN, e);
	return kind;
}

static void give_place(struct sessions *s)
{
	eventfd_write(s->places_fd, 1);
}

enum err sessions_take(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e)
{
	enum err kind = take_place(s, call, e);

	if (kind)
		return kind;
	*id = 0;
	pthread_mutex_lock(&s->lock);
	if (s->idle)
		memcpy(id, s->ids[--s->idle], SESSION_ID_SIZE);
	pthread_mutex_unlock(&s->lock);
	return ERR_OK;
}

enum err sessions_make(
	struct sessions *s, const struct call *call, char id[SESSION_ID_SIZE], struct error *e)
{
	const struct rest_ask ask = { .method = HTTP_POST,
		.path = s->is_shell ? "/v1/shell/sessions/create" : "/v1/bash/sessions/create",
		.body = "{}",
		.what = "making a session",
		.id = s->sandbox };
	AUTO_JSON struct json_object *answer = NULL;
	enum err kind = rest_perform(s->rest, call, &ask, &answer, e);

	if (kind)
		return kind;
	snprintf(id, SESSION_ID_SIZE, "%s",
		rest_text(rest_member(answer, "data"), "session_id", ""));
	return *id ? ERR_OK
		   : error_set(e, ERR_PROTOCOL, "aio:%s: a session was made, and has no id",
			     s->sandbox);
}

/* ---- Giving a session back ---- */

void sessions_put(struct sessions *s, const char *id)
{
	pthread_mutex_lock(&s->lock);
	if (*id)
		snprintf(s->ids[s->idle++], SESSION_ID_SIZE, "%s", id);
	pthread_mutex_unlock(&s->lock);
	give_place(s);
}

void sessions_drop(struct sessions *s, const char *id)
{
	if (*id)
		end(s, id);
	give_place(s);
}
