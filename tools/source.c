#include "tools/source.h"

#include "providers/base/cleanup.h"
#include "providers/provider.h"
#include "providers/variables.h"

#include <stdio.h>
#include <string.h>

/*
 * The characters of vendors' ids: none has a meaning in a path, a URL, a shell or the mount table.
 */
#define ID_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

#define FORM "PROVIDER:[ID][:PATH], as in local:demo"

static enum err find_provider(
	const struct provider_ops **out, const char *text, size_t name_len, struct error *e)
{
	AUTO_BUF struct buf names = BUF_INIT(1024);

	*out = provider_find(text, name_len);
	if (*out)
		return ERR_OK;
	provider_names(&names);
	return error_set(e, ERR_INVALID, "'%.60s': unknown provider '%.*s'; known: %s", text,
		(int)(name_len > 60 ? 60 : name_len), text, buf_text(&names));
}

static enum err check_id_length(const char *text, size_t len, struct error *e)
{
	if (len < sizeof((struct sandbox_info *)0)->id)
		return ERR_OK;
	return error_set(e, ERR_INVALID, "'%.60s...': the id is too long: %zu bytes, at most %zu",
		text, len, sizeof((struct sandbox_info *)0)->id - 1);
}

static enum err check_id(const char *text, const char *id, size_t len, struct error *e)
{
	enum err kind = check_id_length(text, len, e);

	if (kind)
		return kind;
	if (strspn(id, ID_BYTES) < len || id[0] == '.' || id[0] == '-')
		return error_set(e, ERR_INVALID,
			"'%.150s': an id is letters, digits, '.', '_' and '-', starting with none "
			"of "
			"'.' "
			"and '-'",
			text);
	return ERR_OK;
}

/* For any provider: the ID is `len` bytes of `id`. */
static enum err take_id(
	const struct source *s, const char *text, const char *id, size_t *len, struct error *e)
{
	enum err kind;

	if (!s->ops->take_id) {
		*len = strcspn(id, ":");
		return *len ? check_id(text, id, *len, e) : ERR_OK;
	}
	kind = s->ops->take_id(id, len, e);
	return kind ? kind : check_id_length(text, *len, e);
}

static bool has_dot_dot(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return true;
	}
	return false;
}

static enum err check_path(const char *text, const char *path, struct error *e)
{
	if (!*path)
		return error_set(e, ERR_INVALID,
			"'%.150s': no path after the second colon; leave the colon out for the "
			"working "
			"directory",
			text);
	if (has_dot_dot(path))
		return error_set(e, ERR_INVALID,
			"'%.150s': '..' in the path; name the directory itself", text);
	if (strlen(path) >= sizeof((struct sandbox_info *)0)->root)
		return error_set(e, ERR_INVALID,
			"'%.60s...': the path is too long: %zu bytes, at most %zu", text,
			strlen(path), sizeof((struct sandbox_info *)0)->root - 1);
	return ERR_OK;
}

enum err source_check_path(const char *path, struct error *e)
{
	return check_path(path, path, e);
}

/* `rest` is the text behind the first colon. */
static enum err parse_rest(struct source *s, const char *text, const char *rest, struct error *e)
{
	size_t id_len;
	enum err kind = take_id(s, text, rest, &id_len, e);
	const char *path = !kind && rest[id_len] ? rest + id_len + 1 : NULL;

	if (path)
		kind = check_path(text, path, e);
	if (kind)
		return kind;
	if (id_len && !(s->id = strndup(rest, id_len)))
		return error_set(e, ERR_NO_MEMORY, "source");
	if (path && !(s->path = strdup(path)))
		return error_set(e, ERR_NO_MEMORY, "source");
	return ERR_OK;
}

enum err source_parse(struct source *out, const char *text, struct error *e)
{
	const char *colon = strchr(text, ':');
	const char *provider = colon == text ? variable("SANDBOX_PROVIDER") : text;
	enum err kind;

	*out = (struct source){ 0 };
	if (!colon || !provider)
		return error_set(e, ERR_INVALID, "'%.60s': a source is " FORM "%s", text,
			colon ? "; SANDBOX_PROVIDER is not set" : "");
	kind = find_provider(&out->ops, provider,
		provider == text ? (size_t)(colon - text) : strlen(provider), e);

	if (!kind)
		kind = parse_rest(out, text, colon + 1, e);
	if (kind)
		source_release(out);
	return kind;
}

void source_release(struct source *s)
{
	free(s->id);
	free(s->path);
	*s = (struct source){ 0 };
}

char *source_text(const struct source *s, const char *id)
{
	char *text = NULL;

	if (asprintf(&text, "%s:%s%s%s", s->ops->name, id, s->path ? ":" : "",
		    s->path ? s->path : "") < 0)
		return NULL;
	return text;
}
