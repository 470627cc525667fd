/*
 * files.h - requests for files of a sandbox, as the bytes they are.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* A request that stores a file. */
struct rest_ask file_upload_ask(const char *id, const struct remote_upload *upload);

#define FILE_TAG_SIZE 256

/* A file on its way down, as STREAM_OUT. */
struct file_fetch {
	const char *path; /* in the sandbox */
	const char *id;   /* of the sandbox */
	execute_sink sink;
	void *sink_context;
	uint64_t done;           /* bytes passed on, of the version that the tag names */
	char tag[FILE_TAG_SIZE]; /* "": the server names none */
	uint64_t skip;           /* bytes of this answer that were passed on before */
	bool has_refused;        /* the sink */
};
/*
 * The rest of it, behind `done`. Where it breaks off it goes on from there: by a range of the version that the entity tag
 * names, or, with servers that know neither (before npm langsmith 0.10.5), by passing over what came before. ERR_STALE: it
 * was changed meanwhile.
 */
enum err file_fetch(
	struct file_fetch *f, const struct rest *r, const struct call *call, struct error *e);
