#include "providers/vendor_frame.h"

#include "providers/rest/rest.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool has_member(struct json_object *json, const struct frame_member *m)
{
	struct json_object *value;

	if (!json_object_object_get_ex(json, m->name, &value))
		return false;
	switch (m->type) {
	case MEMBER_TEXT: return json_object_is_type(value, json_type_string);
	case MEMBER_INTEGER: return json_object_is_type(value, json_type_int);
	case MEMBER_LIST: return json_object_is_type(value, json_type_array);
	case MEMBER_BOOLEAN: return json_object_is_type(value, json_type_boolean);
	case MEMBER_ANY: break;
	}
	return true;
}

static bool has_members(struct json_object *json, const struct frame_form *form)
{
	if (!json_object_is_type(json, json_type_object))
		return false;
	for (size_t i = 0; i < 2; i++)
		if (form->members[i].name && !has_member(json, &form->members[i]))
			return false;
	return true;
}

static bool fits(
	const struct frame_form *form, const struct http_said *said, struct json_object *json)
{
	if (form->status && form->status != said->status)
		return false;
	switch (form->body) {
	case BODY_EMPTY: return !said->len;
	case BODY_ANY: return true;
	case BODY_JSON: break;
	}
	return has_members(json, form);
}

static bool parse(const struct http_said *said, struct json_object **json)
{
	const struct buf body = {
		.bytes = (unsigned char *)said->body, .len = said->len, .max = said->len
	};

	*json = NULL;
	return said->len && rest_parse(&body, json);
}

/*
 * The content's type is one of the frame's already. A server that speaks JSON does not cut its end
 * off, and its answer to a GET has a body.
 */
static bool is_good_whole(const struct http_said *said)
{
	AUTO_JSON struct json_object *json = NULL;

	if (!said->len)
		return !said->is_query;
	if (!said->is_whole || strncasecmp(said->type, "application/json", 16) != 0)
		return true;
	return parse(said, &json);
}

bool vendor_frame_is_own(const struct http_frame *f, const struct http_said *said)
{
	const struct vendor_frame *frame = (const struct vendor_frame *)f;
	AUTO_JSON struct json_object *json = NULL;

	if (said->status >= 200 && said->status < 300)
		return is_good_whole(said);
	parse(said, &json);
	for (size_t i = 0; i < frame->forms_count; i++)
		if (fits(&frame->forms[i], said, json))
			return true;
	return false;
}
