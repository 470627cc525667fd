/*
 * labels.h - the labels of a sandbox as a list of them has them: "key=value", ended by NULL.
 */
#pragma once

#include "providers/provider.h"

struct json_object;

struct labels {
	char **texts; /* NULL: nothing was added */
	size_t count;
};

#define AUTO_LABELS __attribute__((cleanup(labels_release)))

/* Copied. Without memory it is left out. */
void labels_add(struct labels *l, const char *key, const char *value);
/* All texts of an object. */
void labels_add_object(struct labels *l, struct json_object *object);
void labels_release(struct labels *l);

/* For struct sandbox_entry; lives as long as `l`. Where it is empty that is a list as well, not NULL. */
const char *const *labels_list(const struct labels *l);
