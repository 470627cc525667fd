#include "providers/runloop/runloop.h"

#include <stdio.h>
#include <string.h>

/* The beginning of the service's ids. A name that begins so as well is not looked for. */
#define ID_BEGIN "dbx_"

/* The API finds devboxes by their ids only, so all are asked for. Several may have one name. */
struct search {
	const char *wanted;
	char id[128]; /* the first devbox of this name; "": none yet */
	char other[128];
	bool is_id; /* `wanted` is an id after all */
};

static enum err compare(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e)
{
	struct search *s = context;
	bool is_id = !strcmp(one->id, s->wanted);

	(void)e;
	if (entry->unread || s->is_id || (!is_id && strcmp(one->name, s->wanted)))
		return ERR_OK;
	s->is_id = is_id;
	snprintf(is_id || !*s->id ? s->id : s->other, sizeof s->id, "%s", one->id);
	return ERR_OK;
}

static enum err choose_id(const struct search *s, char id[128], struct error *e)
{
	if (!*s->id)
		return error_set(e, ERR_NOT_FOUND,
			"runloop: no devbox has '%.100s' for its ID or name", s->wanted);
	if (*s->other && !s->is_id)
		return error_set(e, ERR_INVALID,
			"runloop: several devboxes are called '%.100s': %.60s, %.60s; give an ID",
			s->wanted, s->id, s->other);
	snprintf(id, sizeof s->id, "%s", s->id);
	return ERR_OK;
}

static bool is_surely_id(const char *text)
{
	return !strncmp(text, ID_BEGIN, strlen(ID_BEGIN)) && devbox_is_id(text);
}

enum err runloop_resolve(struct runloop *b, const struct call *call, struct error *e)
{
	char wanted[sizeof b->at.id];
	struct search s = { .wanted = wanted };
	enum err kind;

	if (!*b->at.id)
		return error_set(e, ERR_INVALID, "runloop: no devbox ID or name given");
	if (is_surely_id(b->at.id))
		return ERR_OK;
	memcpy(wanted, b->at.id, sizeof wanted);
	kind = devbox_list(&b->api.rest, call, compare, &s, e);
	return kind ? kind : choose_id(&s, b->at.id, e);
}
