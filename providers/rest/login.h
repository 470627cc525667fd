/*
 * login.h - helpers for formats of logins that are JSON.
 */
#pragma once

#include "providers/login.h"
#include "providers/rest/rest.h"

/* The caller calls json_object_put(). ERR_INVALID: the text is no JSON object. */
enum err login_json(struct json_object **out, const char *text, size_t len, struct error *e);
/* Copies that member into *out. Absent, empty or of another type: *out stays. */
enum err login_take(char **out, struct json_object *o, const char *name, struct error *e);
/* ERR_AUTH: `time`, of RFC 3339, is past by this machine's clock, by which the file was written. */
enum err login_check_time(const char *time, struct error *e);
