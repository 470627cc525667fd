/*
 * engine.h - the daemon of docker or podman, asked over its unix socket by the Engine API, in place
 * of the program: its answers are what the program prints as JSON, its errors the same sentences.
 *
 * Paths have no version: a daemon then speaks its newest, and newer daemons refuse old ones.
 */
#pragma once

#include "providers/command/command.h"
#include "providers/http/http.h"
#include "providers/rest/rest.h"

/*
 * Takes the path of a socket, which may be NULL. c->engine stays NULL where no daemon accepts
 * connections there, and c->denied is set where this user may not connect.
 */
enum err engine_open(struct command *c, char *path, struct error *e);
/* NULL is allowed. */
void engine_close(struct engine *engine);

/* ---- For c->engine ---- */

/*
 * One request. `body`: JSON, or NULL. *out: the answer, which the caller gives to
 * json_object_put(); `out` may be NULL. Errors are as of command_ask().
 */
enum err engine_ask(struct command *c, const struct call *call, enum http_method method,
	const char *path, const char *body, struct json_object **out, struct error *e);
/*
 * Adds the output in an answer to `out`: the bytes in its frames (engine_stream.h), or the plain
 * text of a terminal.
 */
enum err engine_read(struct command *c, const struct call *call, const char *path, struct buf *out,
	struct error *e);
/* Begins a session of /bin/sh in the container. */
enum err engine_exec(struct command *c, struct session *s, unsigned flags, const struct call *call,
	struct error *e);

/* ---- engine_socket.c ---- */

/*
 * The socket of the daemon that the program would ask, by its variables and, for docker, its
 * current context. Allocated; NULL: the program asks one that is elsewhere, or that is not known.
 */
char *engine_socket_docker(void);
char *engine_socket_podman(void);
