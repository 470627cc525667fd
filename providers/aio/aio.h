/*
 * aio.h - the Agent Infra Sandbox (agent-infra/sandbox): a container on this machine or another
 * that serves HTTP.
 *
 * Commands run by /v1/bash, which takes shell text and gives each stream as text. Files travel by
 * /v1/file/upload and /v1/file/download as the bytes they are. Facts of the wire, where no other
 * source is named, are those of the OpenAPI document of its repository, version 1.9.4.
 *
 *      the address                     account.c
 *      the meaning of answers          verdict.c
 *      sessions, one for each command  sessions.c
 *      running a program               run.c; in images without /v1/bash shell.c
 *      files                           files.c
 *
 * The service can neither make, list, stop nor delete a sandbox: that is the container's owner's
 * business (docker). The service's listing has neither owners, nor links, nor numbers of inodes, so
 * the verbs are the helper's.
 *
 * The stream of changes is the helper's, too. The service's own (/v1/file/watch) gathers changes
 * for 50 ms at least. The service's document does not say when the stream has begun or how it
 * treats directories that are new, and a name that is not UTF-8 has no place in its JSON.
 */
#pragma once

#include "providers/aio/account.h"
#include "providers/aio/sessions.h"
#include "providers/remote/attachment.h"
#include "providers/rest/account.h"

struct aio {
	struct attachment at;
	struct rest_account account;
	struct aio_address address;
	struct sessions sessions;
	bool has_sessions;
};

/* The slots of a struct remote_ops; `context` is a struct aio. */
enum err aio_run(void *context, const struct call *call, const char *const *argv, unsigned flags,
	const struct remote_upload *upload, execute_sink sink, void *sink_context, int *exit_code,
	struct error *e);
enum err aio_upload(void *context, const struct call *call, const struct remote_upload *upload,
	struct error *e);
enum err aio_download(void *context, const struct call *call, const char *path, execute_sink sink,
	void *sink_context, struct error *e);

/*
 * A remote_listen, whose context is the struct aio. Runs `argv`, which changes nothing, and hands
 * its output on as it comes. ERR_OK: the program ended by itself. In any case the program has ended
 * when this returns.
 */
enum err aio_stream(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);

struct rest_ask aio_upload_ask(const struct aio *a, const struct remote_upload *upload);

extern const struct provider_ops aio_provider;
