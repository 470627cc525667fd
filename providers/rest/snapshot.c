#include "providers/rest/snapshot.h"

#include <string.h>

enum err snapshot_body(struct buf *out, const char *name, struct error *e)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	if (name)
		json_put_text(&w, "name", name);
	json_put_close(&w);
	return buf_check(out, "a snapshot's name", e);
}

enum err snapshot_take_id(const struct rest *r, struct json_object *json, const char *member,
	char id[SNAPSHOT_ID_SIZE], struct error *e)
{
	const char *said = rest_text(json, member, "");

	if (!*said || strlen(said) >= SNAPSHOT_ID_SIZE)
		return error_set(e, ERR_PROTOCOL, "%s: a snapshot without an ID", r->vendor);
	strcpy(id, said);
	return ERR_OK;
}

enum err snapshot_read(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e)
{
	const char *id = rest_text(item, "id", ""), *name = rest_text(item, "name", "");

	(void)now_s;
	if (!*id || strlen(id) >= sizeof out->id || strlen(name) >= sizeof out->name)
		return error_set(e, ERR_PROTOCOL, "a snapshot '%.60s' that cannot be shown", id);
	strcpy(out->id, id);
	strcpy(out->name, name);
	return ERR_OK;
}

struct listing {
	snapshot_sink sink;
	void *context;
};

static enum err pass(void *context, const struct rest_listed *one,
	const struct sandbox_entry *entry, struct error *e)
{
	const struct listing *l = context;

	if (entry->unread)
		return error_set(e, ERR_PROTOCOL, "%s", entry->unread);
	return l->sink(l->context, one->id, one->name, e);
}

enum err snapshot_list(const struct rest *r, const struct call *call, const struct rest_list *list,
	rest_listed_read read, snapshot_sink sink, void *context, struct error *e)
{
	struct listing listing = { sink, context };

	return rest_list(r, call, list, read, pass, &listing, e);
}

enum err snapshot_delete(
	const struct rest *r, const struct call *call, const struct rest_ask *ask, struct error *e)
{
	struct error why = { 0 };
	enum err kind = rest_perform(r, call, ask, NULL, &why);

	return !kind || kind == ERR_NOT_FOUND ? ERR_OK : error_set(e, kind, "%s", why.text);
}
