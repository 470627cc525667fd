#include "fs/links.h"

#include <stdbool.h>
#include <string.h>

static bool is_dotdot(const char *component, size_t len)
{
	return len == 2 && component[0] == '.' && component[1] == '.';
}

/* The next component of *text, past it; 0: none left. */
static size_t next_component(const char **text, const char **component)
{
	*text += strspn(*text, "/");
	*component = *text;
	size_t len = strcspn(*text, "/");

	*text += len;
	return len;
}

int links_is_contained(const char *text, unsigned depth)
{
	const char *component;
	bool went_down = false;
	unsigned ups = 0;

	if (text[0] == '/')
		return false;
	for (size_t len; (len = next_component(&text, &component));) {
		if (!is_dotdot(component, len)) {
			went_down |= !(len == 1 && component[0] == '.');
			continue;
		}
		if (went_down || ++ups > depth)
			return false;
	}
	return true;
}

/* An absolute target, seen from the root of the mount. */
static const char *below_root(const char *text, const char *root)
{
	size_t len = strlen(root);

	while (len && root[len - 1] == '/')
		len--;
	if (!strncmp(text, root, len) && (text[len] == '/' || !text[len]))
		return text + len;
	return text;
}

struct writer {
	char *out;
	size_t len, room;
	unsigned ups; /* number of leading ".." written */
	bool failed;
};

static void write_component(struct writer *w, const char *component, size_t len)
{
	if (w->len + len + 2 > w->room) {
		w->failed = true;
		return;
	}
	if (w->len)
		w->out[w->len++] = '/';
	memcpy(w->out + w->len, component, len);
	w->len += len;
	w->out[w->len] = 0;
}

/* ".." removes the last component written, or adds one more "../" while that is allowed. */
static void go_up(struct writer *w, unsigned ups_max)
{
	size_t leading = w->ups ? 3 * (size_t)w->ups - 1 : 0;

	if (w->len > leading) {
		while (w->len > leading && w->out[w->len - 1] != '/')
			w->len--;
		if (w->len && w->out[w->len - 1] == '/')
			w->len--;
		w->out[w->len] = 0;
	} else if (w->ups < ups_max) {
		write_component(w, "..", 2);
		w->ups++;
	}
}

enum err links_rewrite(
	const char *text, unsigned depth, const char *root, char *out, size_t room, struct error *e)
{
	struct writer w = { .out = out, .room = room };
	bool is_absolute = text[0] == '/';
	const char *rest = is_absolute ? below_root(text, root) : text;
	const char *component;

	out[0] = 0;
	for (unsigned up = 0; is_absolute && up < depth; up++)
		go_up(&w, depth);
	for (size_t len; (len = next_component(&rest, &component));) {
		if (is_dotdot(component, len))
			go_up(&w, depth);
		else if (!(len == 1 && component[0] == '.'))
			write_component(&w, component, len);
	}
	if (w.failed)
		return error_set(
			e, ERR_NAME_TOO_LONG, "a link's text of more than %zu bytes", room);
	if (!w.len)
		write_component(&w, ".", 1);
	return ERR_OK;
}
