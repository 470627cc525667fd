/*
 * rest.h - requests to a vendor's API that speaks JSON over HTTP: the code that all such vendors
 * share.
 *
 * There is one struct rest for each base URL (control plane, data plane). The meaning of a refusal
 * differs by vendor, so the vendor gives a function that also takes the words from the answer.
 * After rest_init() a struct rest is only read, by any number of threads.
 */
#pragma once

#include "providers/vendor_frame.h"
#include "providers/http/http.h"
#include "providers/json.h"
#include "providers/server_clock.h"

#include <json-c/json.h>

struct rest;

/*
 * A file that is uploaded as a form (multipart/form-data). The names of fields have no quotes nor
 * ends of lines; the path is sent before the file, as some services need.
 */
struct rest_form {
	const char *path_field; /* NULL: the form has no path */
	const char *path;
	const char *file_field; /* NULL: no form */
	const void *bytes;
	size_t len;
};

/* One request. `path` is added to the base URL. All that it points to must outlive the call. */
struct rest_ask {
	enum http_method method;
	unsigned flags; /* enum http_flags */
	const char *path;
	const char *about; /* an ID behind `path`, every byte escaped; or NULL */
	const char *below; /* text behind `about`, or NULL */
	/* a path in the sandbox at the end of the URL, escaped; or NULL */
	const char *file;
	const char *body;                  /* NULL: none */
	size_t body_len;                   /* 0: the length of the text */
	const char *content_type;          /* NULL: application/json */
	struct rest_form form;             /* instead of `body`; not for rest_begin() */
	const struct vendor_frame *frame;  /* NULL: the frame of the struct rest */
	const struct http_header *headers; /* additional headers, or NULL */
	size_t headers_count;
	const char *what; /* for a person: "creating a sandbox" */
	const char *id;   /* the sandbox's ID, for a person; NULL: none */
};

/*
 * The meaning of an answer. Called for every answer that was read whole, because some vendors
 * report a failure in the JSON of a 200. ERR_OK: a good answer. `json` is NULL where the body has
 * none. A vendor's words in it contain no secret of the request.
 */
typedef enum err (*rest_verdict)(const struct rest *r, const struct rest_ask *ask, int status,
	struct json_object *json, const struct http_answer *answer, struct error *e);

struct rest {
	struct http *http;
	const char *vendor;          /* for messages: "daytona" */
	char *base_url;              /* owned, without a slash at its end */
	struct http_header *headers; /* owned, sent with every request, secrets marked */
	size_t headers_count;
	rest_verdict verdict;
	const struct vendor_frame *frame; /* the vendor's own answers; NULL: all are */
	struct server_clock *clock;       /* owned */
};

/* `headers` and their texts are copied. ERR_INVALID: the URL. */
enum err rest_init(struct rest *out, struct http *http, const char *vendor, const char *base_url,
	const struct http_header *headers, size_t headers_count, rest_verdict verdict,
	struct error *e);
/* Allocated; NULL: no memory. */
char *rest_without_slashes(const char *url);
/* Wipes the secrets first. */
void rest_release(struct rest *r);

/*
 * Sends a request and calls the judge. *json: the answer, which the caller gives to
 * json_object_put(); NULL: no body. `json` may be NULL. ERR_UNREACHABLE: a good answer that is not
 * JSON though `json` is given. Other errors are those of http.h and of the judge.
 */
enum err rest_perform(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct json_object **json, struct error *e);

/* Text behind an error, with the vendor. */
#define REST_MAY_EXIST "; the sandbox may have been made all the same: sandboxctl list %s:"

/*
 * rest_perform() of a request that makes a sandbox. On failure *id, of `room` bytes, is the ID of a
 * sandbox that was made all the same: the member `id_name` of an answer that cannot be read. "":
 * the ID is not known, and where a sandbox may have been made the error says how to find it.
 */
enum err rest_make(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	const char *id_name, struct json_object **json, char *id, size_t room, struct error *e);

/*
 * Passes a body on as it arrives, once the status is 2xx, without the judge; an error of the sink
 * ends the request with that error. Other answers are read up to HTTP_BODY_MAX and go to the judge.
 */
typedef enum err (*rest_sink)(void *context, const void *bytes, size_t len, struct error *e);
enum err rest_stream(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	rest_sink sink, void *context, struct error *e);
/*
 * Parses JSON as it arrives, so more than HTTP_BODY_MAX as long as the memory stays within
 * json_bound.h: for programs with much output. The judge is not called for a 2xx.
 */
enum err rest_perform_large(const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct json_object **json, struct error *e);

/*
 * Two requests at once, for a program that waits for a file which is uploaded meanwhile: `first` is
 * under way before `second` is sent, which is done whole before the first is read. So the first
 * must not have a form. An error of the second ends the first and is the error; *first_arrived says
 * whether the first may have been done.
 */
enum err rest_perform_both(const struct rest *r, const struct call *call,
	const struct rest_ask *first, struct json_object **json, bool *first_arrived,
	const struct rest_ask *second, struct error *e);

/*
 * The usual meaning of a status that is not 2xx, for the end of a vendor's judge: 400, 422
 * ERR_INVALID; 401, 403 ERR_AUTH; 404 ERR_NOT_FOUND; 409 ERR_BUSY; 413 ERR_TOO_LARGE; 429
 * ERR_QUOTA; from 500 ERR_UNREACHABLE; else ERR_PROTOCOL. `words` are the vendor's own; "": none.
 */
enum err rest_refuse(const struct rest *r, const struct rest_ask *ask, int status,
	const char *words, struct error *e);

/*
 * For a good answer that is no JSON, or breaks off: ERR_UNREACHABLE, and recorded as a foreign
 * answer.
 */
enum err rest_no_json(const struct rest *r, const struct rest_ask *ask, struct error *e);

/*
 * For a caller that needs the headers of an answer whose body comes in pieces: rest_begin(), then
 * http_read(), and http_end() on ERR_OK. rest_read_verdict() gives the verdict's error; `bytes`
 * were read last, and the function reads the rest.
 */
enum err rest_begin(const struct rest *r, const struct rest_ask *ask, struct http_exchange **out,
	struct error *e);
enum err rest_read_verdict(const struct rest *r, const struct call *call,
	const struct rest_ask *ask, struct http_exchange *x, const void *bytes, size_t len,
	struct error *e);

/*
 * Sends a request without a verdict: for a caller that needs the answer's headers, or whether a
 * failed request arrived.
 */
enum err rest_send(const struct rest *r, const struct call *call, const struct rest_ask *ask,
	struct http_answer *out, struct error *e);

/* ---- Reading JSON: a member that is absent or of another type gives the default ---- */

/*
 * Whether `body` is one JSON value, in UTF-8 and at most 16 levels deep: a server must not decide
 * our stack use. The caller calls rest_put() on *out; NULL: the value `null`, or no JSON.
 */
bool rest_parse(const struct buf *body, struct json_object **out);

void rest_put(struct json_object **value);
#define AUTO_JSON __attribute__((cleanup(rest_put)))

/* A text with a NUL inside gives the default, too. The text lives as long as `o`. */
const char *rest_text(struct json_object *o, const char *name, const char *otherwise);
int64_t rest_integer(struct json_object *o, const char *name, int64_t otherwise);
bool rest_flag(struct json_object *o, const char *name, bool otherwise);
/* NULL: absent, or neither an object nor an array. */
struct json_object *rest_member(struct json_object *o, const char *name);
/* Writes the whole value again: valid JSON in any case, without harmful characters (json.h). */
void rest_put_again(struct json_writer *w, const char *key, struct json_object *value);
/*
 * An object of an array, from 0 on; NULL: past the last, or no array. The object lives as long as
 * `list`.
 */
struct json_object *rest_item(struct json_object *list, size_t index);

/*
 * Writes the lines of sandbox_info.volumes for a list of objects, whose members `name` and `path`
 * are. A volume whose name has blanks, or that does not fit, is left out.
 */
void rest_volumes(
	struct json_object *list, const char *name, const char *path, char *out, size_t room);
/*
 * The text of a member in bytes that should be JSON and are not, where the text must not be lost:
 * letters, digits, '-' and '_'. "": no such member, or more than fits.
 */
void rest_find_text(const struct buf *body, const char *name, char *out, size_t room);

/* Seconds since 1970 by the service's clock, from the last answer of rest_send(). */
int64_t rest_now_s(const struct rest *r);
/* Seconds from `now_s` (since 1970) to a time of RFC 3339, at least 0; -1: not a valid time. */
int64_t rest_seconds_until(const char *time, int64_t now_s);
/* As of struct sandbox_entry's age_s: a time that is still to come is now. */
int64_t rest_seconds_since(const char *time, int64_t now_s);
