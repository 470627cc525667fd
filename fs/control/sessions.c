#include "fs/control/sessions.h"

#include "fs/control/file.h"
#include "providers/base/cleanup.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Further names are not found. */
#define SESSIONS_MAX 65536

struct sessions {
	pthread_mutex_t lock;
	size_t count;
	struct session *all[SESSIONS_MAX]; /* number 1 first */
};

enum err sessions_new(struct sessions **out, struct error *e)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return error_set(e, ERR_NO_MEMORY, "control directory: out of memory");
	pthread_mutex_init(&(*out)->lock, NULL);
	return ERR_OK;
}

void sessions_free(struct sessions *all)
{
	for (size_t i = 0; all && i < all->count; i++) {
		exec_last_free(all->all[i]->last);
		free(all->all[i]);
	}
	if (all)
		pthread_mutex_destroy(&all->lock);
	free(all);
}

static bool add_locked(struct sessions *all, const char *name)
{
	AUTO_FREE struct session *s = all->count < SESSIONS_MAX ? calloc(1, sizeof *s) : NULL;

	if (!s || exec_last_new(&s->last, NULL))
		return false;
	snprintf(s->name, sizeof s->name, "%s", name);
	all->all[all->count++] = take(s);
	return true;
}

/* The index of the session; `count`: the name was not seen. */
static size_t place_locked(const struct sessions *all, const char *name)
{
	size_t i = 0;

	while (i < all->count && (all->all[i]->has_ended || strcmp(all->all[i]->name, name) != 0))
		i++;
	return i;
}

static uint64_t find_locked(struct sessions *all, const char *name)
{
	size_t place = place_locked(all, name);

	return place < all->count || add_locked(all, name) ? place + 1 : 0;
}

uint64_t sessions_find(struct sessions *all, const char *name)
{
	uint64_t number;

	if (!user_session_name_is_valid(name))
		return 0;
	pthread_mutex_lock(&all->lock);
	number = find_locked(all, name);
	pthread_mutex_unlock(&all->lock);
	return number;
}

const struct session *sessions_at(struct sessions *all, uint64_t number)
{
	const struct session *s;

	pthread_mutex_lock(&all->lock);
	s = number <= all->count ? all->all[number - 1] : NULL;
	pthread_mutex_unlock(&all->lock);
	return s;
}

void sessions_set_listed(struct sessions *all, const char *names)
{
	char name[USER_SESSION_NAME_MAX + 1];

	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->count; i++)
		all->all[i]->is_listed = false;
	for (size_t len; *names; names += len + (names[len] == '\n')) {
		uint64_t number = 0;

		len = strcspn(names, "\n");
		snprintf(name, sizeof name, "%.*s", (int)len, names);
		if (len < sizeof name && user_session_name_is_valid(name))
			number = find_locked(all, name);
		if (number)
			all->all[number - 1]->is_listed = true;
	}
	pthread_mutex_unlock(&all->lock);
}

uint64_t sessions_next(struct sessions *all, uint64_t number)
{
	pthread_mutex_lock(&all->lock);
	while (number < all->count && !all->all[number]->is_listed)
		number++;
	number = number < all->count ? number + 1 : 0;
	pthread_mutex_unlock(&all->lock);
	return number;
}

void sessions_end(struct sessions *all, uint64_t number)
{
	pthread_mutex_lock(&all->lock);
	all->all[number - 1]->is_listed = false;
	all->all[number - 1]->has_ended = true;
	pthread_mutex_unlock(&all->lock);
}
