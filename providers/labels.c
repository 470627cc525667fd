#include "providers/labels.h"

#include "providers/base/cleanup.h"
#include "providers/rest/rest.h"

#include <stdio.h>

void labels_add(struct labels *l, const char *key, const char *value)
{
	char **texts = realloc(l->texts, (l->count + 2) * sizeof *texts);

	if (!texts)
		return;
	l->texts = texts;
	if (asprintf(&texts[l->count], "%s=%s", key, value) >= 0)
		l->count++;
	texts[l->count] = NULL;
}

void labels_add_object(struct labels *l, struct json_object *object)
{
	if (!json_object_is_type(object, json_type_object))
		return;
	json_object_object_foreach(object, key, value)
	{
		if (json_object_is_type(value, json_type_string))
			labels_add(l, key, json_object_get_string(value));
	}
}

void labels_release(struct labels *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->texts[i]);
	free(l->texts);
	*l = (struct labels){ 0 };
}

const char *const *labels_list(const struct labels *l)
{
	static const char *const none[] = { NULL };

	return l->texts ? (const char *const *)l->texts : none;
}
