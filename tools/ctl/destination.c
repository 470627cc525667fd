#include "tools/ctl/destination.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <stdio.h>
#include <string.h>

static enum err no_memory(struct error *e)
{
	return error_set(e, ERR_NO_MEMORY, "copying: out of memory");
}

/* ---- Taking paths apart ---- */

/* The length of the first `len` bytes without slashes at their end; "/" stays. */
static size_t trimmed_len(const char *path, size_t len)
{
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len;
}

/* The offset of the last name. */
static size_t name_start(const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	return len;
}

/* The path before the last name: "/" of "/a", NULL of "a". Allocated; false without memory. */
static bool parent_of(const char *path, size_t start, char **out)
{
	*out = start ? strndup(path, trimmed_len(path, start)) : NULL;
	return *out || !start;
}

static bool is_name(const char *name, size_t len)
{
	return len && *name != '/' && strncmp(name, ".", len) && strncmp(name, "..", len);
}

enum err whereabouts_of(const char *path, struct whereabouts *out, struct error *e)
{
	size_t len = path ? trimmed_len(path, strlen(path)) : 0,
	       start = path ? name_start(path, len) : 0;

	*out = (struct whereabouts){ 0 };
	if (path && !is_name(path + start, len - start))
		start = len + 1;
	if (path && !parent_of(path, start, &out->dir))
		return no_memory(e);
	out->name = start < len ? strndup(path + start, len - start) : strdup("");
	if (out->name)
		return ERR_OK;
	whereabouts_release(out);
	return no_memory(e);
}

void whereabouts_release(struct whereabouts *w)
{
	free(take(w->dir));
	free(take(w->name));
}

/* ---- Finding the destination ---- */

/* Moves the last name of `*dir` to the front of `*rest`. */
static bool step_up(char **dir, char **rest)
{
	size_t len = trimmed_len(*dir, strlen(*dir)), start = name_start(*dir, len);
	char *longer, *parent;

	if (asprintf(&longer, "%.*s%s%s", (int)(len - start), *dir + start, **rest ? "/" : "",
		    *rest) < 0)
		return false;
	free(*rest);
	*rest = longer;
	if (!parent_of(*dir, start, &parent))
		return false;
	free(*dir);
	*dir = parent;
	return true;
}

static bool is_missing(enum err kind, const char *dir)
{
	return (kind == ERR_NOT_FOUND || kind == ERR_NOT_DIR) && dir && strcmp(dir, "/") != 0;
}

/* `rest` is the missing part: with one source, its last name is the new name of that source. */
static enum err take_rest(struct destination *d, const char *rest, bool is_named, struct error *e)
{
	size_t start = is_named ? name_start(rest, strlen(rest)) : 0;
	enum err kind = path_check(rest, e);

	if (kind)
		return kind;
	d->name = is_named ? strdup(rest + start) : NULL;
	d->base = is_named ? strndup(rest, start ? start - 1 : 0) : strdup(rest);
	return d->base && (d->name || !is_named) ? ERR_OK : no_memory(e);
}

static bool ends_in_slash(const char *path)
{
	return path && *path && path[strlen(path) - 1] == '/';
}

/* Opens the nearest existing directory; the missing part below it moves from `*dir` to `*rest`. */
static enum err open_nearest(struct destination *d, char **dir, char **rest,
	destination_opener open, void *context, struct error *e)
{
	for (;;) {
		struct error why = { 0 };
		enum err kind = open(context, *dir, &d->at, &why);

		if (!is_missing(kind, *dir))
			return kind ? error_set(e, kind, "%s", why.text) : ERR_OK;
		if (!step_up(dir, rest))
			return no_memory(e);
	}
}

enum err destination_find(struct destination *d, const char *path, bool is_single,
	destination_opener open, void *context, struct error *e)
{
	AUTO_FREE char *dir = path ? strdup(path) : NULL;
	AUTO_FREE char *rest = strdup("");
	enum err kind;

	*d = (struct destination){ 0 };
	if (!rest || (path && !dir))
		return no_memory(e);
	kind = open_nearest(d, &dir, &rest, open, context, e);
	if (!kind)
		kind = take_rest(d, rest, *rest && is_single && !ends_in_slash(path), e);
	if (kind)
		destination_release(d);
	return kind;
}

void destination_release(struct destination *d)
{
	provider_release(d->at);
	free(d->base);
	free(d->name);
	*d = (struct destination){ 0 };
}

char *destination_target(const struct destination *d, const char *name)
{
	const char *own = d->name ? d->name : name;

	return *own ? path_join(d->base, own) : strdup(d->base);
}
