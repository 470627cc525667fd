/*
 * labels.h - the labels of a sandbox in a list: "key=value", ended by NULL.
 */
#pragma once

#include "providers/provider.h"

struct json_object;

struct labels {
	char **texts; /* NULL: nothing was added */
	size_t count;
};

#define AUTO_LABELS __attribute__((cleanup(labels_release)))

/* Copies both. Without memory the label is left out. */
void labels_add(struct labels *l, const char *key, const char *value);
/* Adds all texts of an object. */
void labels_add_object(struct labels *l, struct json_object *object);
void labels_release(struct labels *l);

/* For struct sandbox_entry; valid as long as `l`. Without labels it is an empty list, not NULL. */
const char *const *labels_list(const struct labels *l);
