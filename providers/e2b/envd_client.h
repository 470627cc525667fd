/*
 * envd_client.h - what the files of envd.h share: where the daemon is and what every request to it carries.
 */
#pragma once

#include "providers/e2b/connect.h"
#include "providers/e2b/envd.h"

#include <protobuf-c/protobuf-c.h>

/* At most: the sandbox, its port, the token, the user. */
#define ENVD_HEADERS_MAX 4

struct envd {
	struct http *http;
	char *base_url, *sandbox_id, *user;
	char *token; /* secret, wiped before it is freed; NULL: the sandbox is not secured */
	char *authorization; /* "Basic ..."; NULL: no user */
	struct http_header headers[ENVD_HEADERS_MAX];
	size_t file_headers;    /* of `headers`, so many for /files */
	size_t command_headers; /* and so many for the RPC services */
	unsigned features;      /* enum envd_feature */
};

/*
 * http.h's flags for all of the daemon: 502 is the proxy's word for a sandbox that is not there, 409
 * for one that is being paused or woken, 500 the daemon's own for what has no better code ("path is
 * a file", "process already finished"). A command's stream begins when its process does.
 */
#define ENVD_HTTP                                                                                  \
	(HTTP_BAD_GATEWAY_IS_FINAL | HTTP_INTERNAL_ERROR_IS_FINAL | HTTP_CONFLICT_PASSES |         \
		HTTP_ANSWERS_AT_ONCE)

/* BASE/package.Service/Method. Allocated. */
char *envd_procedure(const struct envd *d, const char *procedure);

/* ---- A file on its way to the sandbox ---- */

struct envd_post {
	char *url;
	struct buf form; /* the body, of a daemon that takes forms alone */
	struct http_exchange *exchange;
};

/* Begins a POST of /files; envd_post_end() must follow, also on failure. */
enum err envd_post_begin(
	struct envd *d, const struct remote_upload *upload, struct envd_post *out, struct error *e);
/* One http_read(); *is_over: the file is stored. */
enum err envd_post_read(struct envd_post *p, const struct call *call, const char *path,
	bool *is_over, struct error *e);
void envd_post_end(struct envd_post *p);

/* ---- Messages ---- */

/* Appends a message in its binary form. */
enum err envd_pack(
	struct buf *out, const ProtobufCMessage *message, const char *what, struct error *e);

/* ERR_INVALID: `text` is not UTF-8, so that it cannot travel as a string of protobuf. */
enum err envd_check_text(const char *text, const char *what, struct error *e);
