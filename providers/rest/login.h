/*
 * login.h - what formats of logins that are JSON share.
 */
#pragma once

#include "providers/login.h"
#include "providers/rest/rest.h"

/* json_object_put() is the caller's. ERR_INVALID: it is no JSON object. */
enum err login_json(struct json_object **out, const char *text, size_t len, struct error *e);
/* A copy of that member, in *out. Absent, empty or another type: *out stays. */
enum err login_take(char **out, struct json_object *o, const char *name, struct error *e);
/* ERR_AUTH: `time`, of RFC 3339, is over by this machine's clock, by which the file was written. */
enum err login_check_time(const char *time, struct error *e);
