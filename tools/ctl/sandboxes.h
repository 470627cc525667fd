/*
 * sandboxes.h - prints sandboxes: a line of a table each, or a list of JSON objects.
 */
#pragma once

#include "providers/json.h"
#include "providers/provider.h"
#include "tools/ctl/output.h"

struct sandboxes {
	bool is_json;
	size_t count;
	struct table table;
	struct buf json;
	struct json_writer writer; /* into `json` */
};

#define AUTO_SANDBOXES __attribute__((cleanup(sandboxes_release)))

/* `has_labels`: the table has a column for them. */
void sandboxes_init(struct sandboxes *s, bool is_json, bool has_labels);
void sandboxes_release(struct sandboxes *s);

/* `provider`: its name. */
void sandboxes_add(struct sandboxes *s, const char *provider, const struct sandbox_entry *entry);

/* Adds the fields of one sandbox to the open object. */
void sandboxes_put(struct json_writer *w, const char *provider, const struct sandbox_entry *entry);

/* To standard output; to be called once. */
enum err sandboxes_print(struct sandboxes *s, struct error *e);
