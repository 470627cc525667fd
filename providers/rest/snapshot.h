/*
 * snapshot.h - requests about snapshots, as several vendors have them.
 */
#pragma once

#include "providers/rest/list.h"

/* Room for {"name": NAME}. */
#define SNAPSHOT_BODY_MAX ((size_t)4096)

/* {"name": NAME}, or {} where `name` is NULL. ERR_TOO_LARGE: the name. */
enum err snapshot_body(struct buf *out, const char *name, struct error *e);
/* Takes the text of the member `member`. ERR_PROTOCOL: it is absent or too long. */
enum err snapshot_take_id(const struct rest *r, struct json_object *json, const char *member,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
/* A rest_listed_read for an item with `id` and, perhaps, `name`. */
enum err snapshot_read(
	struct rest_listed *out, struct json_object *item, int64_t now_s, struct error *e);
/* rest_list() for provider_ops.list_snapshots; an item that `read` refuses ends the list. */
enum err snapshot_list(const struct rest *r, const struct call *call, const struct rest_list *list,
	rest_listed_read read, snapshot_sink sink, void *context, struct error *e);
/* `ask` deletes a snapshot; one that does not exist is success. */
enum err snapshot_delete(
	const struct rest *r, const struct call *call, const struct rest_ask *ask, struct error *e);
