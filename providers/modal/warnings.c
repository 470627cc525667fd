#include "providers/modal/warnings.h"

#include "providers/base/log.h"
#include "providers/modal/grpc.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* After this many different warnings each is logged again. */
#define SEEN_MAX    64
#define WARNING_MAX 600

struct warnings {
	pthread_mutex_t lock;
	char *seen[SEEN_MAX]; /* lock; owned */
	size_t count;         /* lock */
};

enum err warnings_new(struct warnings **out, struct error *e)
{
	struct warnings *w = calloc(1, sizeof *w);

	if (!w)
		return error_set(e, ERR_NO_MEMORY, "modal");
	pthread_mutex_init(&w->lock, NULL);
	*out = w;
	return ERR_OK;
}

static void forget(struct warnings *w)
{
	while (w->count)
		free(w->seen[--w->count]);
}

void warnings_free(struct warnings *w)
{
	if (!w)
		return;
	forget(w);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static bool is_new_locked(struct warnings *w, const char *text)
{
	char *copy;

	for (size_t i = 0; i < w->count; i++)
		if (!strcmp(w->seen[i], text))
			return false;
	if (w->count == SEEN_MAX)
		forget(w);
	copy = strdup(text);
	if (copy)
		w->seen[w->count++] = copy;
	return true;
}

static void tell_once(struct warnings *w, const char *text)
{
	bool is_new;

	pthread_mutex_lock(&w->lock);
	is_new = is_new_locked(w, text);
	pthread_mutex_unlock(&w->lock);
	if (is_new)
		log_warn(LOG_PROVIDER, "Modal warns: %s", text);
}

void warnings_note(struct warnings *w, const struct http_exchange *x)
{
	const char *at = http_header(x, "x-modal-warning");
	char text[WARNING_MAX + 1];

	while (at && *at) {
		size_t len;

		at += strspn(at, ", ");
		len = strcspn(at, ",");
		http_blot_secrets(x, text, grpc_decode(text, WARNING_MAX, at, len));
		if (*text)
			tell_once(w, text);
		at += len;
	}
}
