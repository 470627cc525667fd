/*
 * The questions for docker and podman, each in both ways: to the daemon by the Engine API, and by
 * the program. The program's answers get the API's shape, so that one reader serves both.
 */
#include "providers/base/cleanup.h"
#include "providers/command/container.h"
#include "providers/command/engine.h"

#include <stdio.h>
#include <string.h>

/* An ID of 128 bytes, escaped, and words. */
#define PATH_SIZE_MAX ((size_t)1024)

static const char *const names[] = { [OF_CONTAINERS] = "container", [OF_IMAGES] = "image" };

/* ---- Facts ---- */

/*
 * The members that are read; the program prints a line of them for each ID. podman(1) knows the ID
 * only in these words.
 */
#define LABELS "\"Config\":{{with .Config}}{\"Labels\":{{json .Labels}}}{{else}}null{{end}}"
static const char *const shapes[] = {
	[OF_CONTAINERS] =
		"{\"Id\":\"{{.Id}}\",\"Name\":{{json .Name}},\"Created\":{{json .Created}},"
		"\"Image\":{{json .Image}},"
		"\"State\":{\"Status\":{{json .State.Status}}},"
		"\"NetworkSettings\":{\"Ports\":{{json .NetworkSettings.Ports}}}," LABELS "}",
	[OF_IMAGES] = "{" LABELS "}",
};

static enum err add_lines(struct json_object *list, const struct buf *answer, struct error *e)
{
	const char *line = buf_text(answer);

	for (size_t len; *line; line += len + (line[len] == '\n')) {
		AUTO_BUF struct buf text = BUF_INIT(answer->len);
		struct json_object *json;

		len = strcspn(line, "\n");
		buf_add(&text, line, len);
		if (len && !rest_parse(&text, &json))
			return error_set(e, ERR_PROTOCOL, "an answer cannot be read: %.60s",
				buf_text(&text));
		if (len)
			json_object_array_add(list, json);
	}
	return ERR_OK;
}

static enum err look_by_program(struct command *c, const struct call *call, enum container_of of,
	const char *const *ids, struct json_object *list, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	enum err kind;

	words_add_all(&words,
		(const char *const[]){ c->transport->program, names[of], "inspect", "--format",
			shapes[of], "--", NULL });
	words_add_all(&words, ids);
	kind = command_ask(c, call, &words, &answer, e);
	if (!kind)
		return add_lines(list, &answer, e);
	/* The others of several IDs were found. */
	if (kind == ERR_NOT_FOUND)
		add_lines(list, &answer, NULL);
	return kind;
}

/* "/containers/ID" and `below`. */
static enum err ask_of(struct command *c, const struct call *call, enum http_method method,
	enum container_of of, const char *id, const char *below, struct json_object **out,
	struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_SIZE_MAX);
	enum err kind;

	buf_printf(&path, "/%ss/", names[of]);
	http_escape(&path, id, NULL);
	buf_add_string(&path, below);
	kind = buf_check(&path, "a name", e);
	return kind ? kind : engine_ask(c, call, method, buf_text(&path), NULL, out, e);
}

static enum err look_by_engine(struct command *c, const struct call *call, enum container_of of,
	const char *const *ids, struct json_object *list, struct error *e)
{
	enum err kind = ERR_OK, missing = ERR_OK;

	for (; *ids && (!kind || kind == ERR_NOT_FOUND); ids++) {
		struct json_object *json = NULL;

		kind = ask_of(c, call, HTTP_GET, of, *ids, "/json", &json, e);
		if (!kind)
			json_object_array_add(list, json);
		else
			missing = kind;
	}
	return missing;
}

enum err container_look(struct command *c, const struct call *call, enum container_of of,
	const char *const *ids, struct json_object **out, struct error *e)
{
	*out = json_object_new_array();
	if (!*out)
		return error_set(e, ERR_NO_MEMORY, "facts about containers");
	return c->engine ? look_by_engine(c, call, of, ids, *out, e)
			 : look_by_program(c, call, of, ids, *out, e);
}

/* ---- Lists ---- */

/* `member`: of each object, a text or a list of them, of which the first counts. */
static const char *first_text(struct json_object *o, const char *member)
{
	struct json_object *texts = rest_member(o, member);
	const char *text = json_object_is_type(texts, json_type_array)
		? json_object_get_string(json_object_array_get_idx(texts, 0))
		: NULL;

	return text ? text : rest_text(o, member, "");
}

static void add_members(struct buf *out, struct json_object *list, const char *member)
{
	struct json_object *item;

	for (size_t i = 0; (item = rest_item(list, i)); i++)
		buf_printf(out, "%s\n", first_text(item, member));
}

static enum err list_by_engine(struct command *c, const struct call *call, enum container_of of,
	bool is_marked, const char *member, struct buf *out, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_SIZE_MAX);
	AUTO_JSON struct json_object *list = NULL;
	enum err kind;

	buf_printf(&path, "/%ss/json?all=1", names[of]);
	if (is_marked) {
		buf_add_string(&path, "&filters=");
		http_escape(&path, "{\"label\":[\"" PROVIDER_MARK "\"]}", NULL);
	}
	kind = engine_ask(c, call, HTTP_GET, buf_text(&path), NULL, &list, e);
	if (!kind)
		add_members(out, list, member);
	return kind ? kind : buf_check(out, "a list of containers", e);
}

enum err container_ids(struct command *c, const struct call *call, enum container_of of,
	struct buf *out, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };

	out->max = CONTAINER_LIST_MAX;
	if (c->engine)
		return list_by_engine(c, call, of, true, "Id", out, e);
	words_add_all(&words,
		(const char *const[]){ c->transport->program, names[of], "ls", "--all", "--quiet",
			"--no-trunc", "--filter=label=" PROVIDER_MARK, NULL });
	return command_ask(c, call, &words, out, e);
}

enum err container_names(
	struct command *c, const struct call *call, struct buf *out, struct error *e)
{
	AUTO_WORDS struct words words = { 0 };

	out->max = CONTAINER_LIST_MAX;
	if (c->engine)
		return list_by_engine(c, call, OF_CONTAINERS, false, "Names", out, e);
	words_add_all(&words,
		(const char *const[]){ c->transport->program, "container", "ls", "--all",
			"--format", "{{.Names}}", NULL });
	return command_ask(c, call, &words, out, e);
}

/* ---- Verbs ---- */

enum err container_act(struct command *c, const struct call *call, const char *verb, const char *id,
	struct error *e)
{
	bool is_removal = !strcmp(verb, "rm");
	AUTO_WORDS struct words words = { 0 };
	AUTO_BUF struct buf answer = { 0 };
	char below[32];

	snprintf(below, sizeof below, "/%s", verb);
	if (c->engine)
		return ask_of(c, call, is_removal ? HTTP_DELETE : HTTP_POST, OF_CONTAINERS, id,
			is_removal ? "?force=1&v=1" : below, NULL, e);
	words_add_all(&words, (const char *const[]){ c->transport->program, verb, NULL });
	if (is_removal)
		words_add_all(&words, (const char *const[]){ "--force", "--volumes", NULL });
	words_add(&words, "%s", id);
	return command_ask(c, call, &words, &answer, e);
}
