/*
 * vendor_frame.h - which answers are a vendor's own.
 *
 * Proxies, gateways and login pages stand between a mount and its sandbox, and each of them answers
 * in HTTP as well. Only the vendor's own words, in the vendor's own form, refuse or end anything.
 * The form is data of each vendor; only vendor_frame_is_own() compares an answer with it.
 */
#pragma once

#include "providers/http/http.h"

/* A member of a JSON object. */
struct frame_member {
	const char *name; /* NULL: none */
	enum { MEMBER_ANY, MEMBER_TEXT, MEMBER_INTEGER, MEMBER_LIST, MEMBER_BOOLEAN } type;
};

/* One form of a refusal. */
struct frame_form {
	int status;                                    /* 0: any status of a failure */
	struct frame_member members[2];                /* required members of the JSON object */
	enum { BODY_JSON, BODY_EMPTY, BODY_ANY } body; /* BODY_EMPTY: no body; BODY_ANY: any body */
};

struct vendor_frame {
	struct http_frame http;
	const struct frame_form *forms;
	size_t forms_count;
};

/* `types`, `hint`: for struct http_frame. `forms`: an array. */
#define VENDOR_FRAME(types_, hint_, forms_)                                                        \
	{                                                                                          \
		.http = { .types = (types_), .is_own = vendor_frame_is_own, .hint = (hint_) },     \
		.forms = (forms_), .forms_count = sizeof(forms_) / sizeof *(forms_)                \
	}

/* For struct http_frame. A successful answer of type application/json has to be JSON, too. */
bool vendor_frame_is_own(const struct http_frame *f, const struct http_said *said);
