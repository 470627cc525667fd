/*
 * envd_client.h - what the files of envd.h share: the daemon's address and the headers of every
 * request to the daemon.
 */
#pragma once

#include "providers/e2b/connect.h"
#include "providers/e2b/envd.h"

#include <protobuf-c/protobuf-c.h>

/* The headers: the sandbox, its port, the token, the user. */
#define ENVD_HEADERS_MAX 4

struct envd {
	struct http *http;
	char *base_url, *sandbox_id, *user;
	char *token; /* secret, wiped before it is freed; NULL: the sandbox is not secured */
	char *authorization; /* "Basic ..."; NULL: no user */
	struct http_header headers[ENVD_HEADERS_MAX];
	size_t file_headers;    /* the number of `headers`, from the first, for /files */
	size_t command_headers; /* the number of `headers`, from the first, for the RPC services */
	unsigned features;      /* enum envd_feature */
};

/*
 * http.h's flags for every request to the daemon. The proxy answers 502 for a sandbox that is not
 * there, and 409 for a sandbox that is being paused or woken. The daemon answers 500 where no
 * better code exists ("path is a file", "process already finished"). A command's stream begins when
 * its process does.
 */
#define ENVD_HTTP                                                                                  \
	(HTTP_BAD_GATEWAY_IS_FINAL | HTTP_INTERNAL_ERROR_IS_FINAL | HTTP_CONFLICT_PASSES |         \
		HTTP_ANSWERS_AT_ONCE)

/* BASE/package.Service/Method. Allocated. */
char *envd_procedure(const struct envd *d, const char *procedure);

/* ---- A file on its way to the sandbox ---- */

struct envd_post {
	char *url;
	struct buf form; /* the body for a daemon that takes forms alone */
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
