/*
 * files.h - requests that move whole files to and from a sandbox, as plain bytes.
 */
#pragma once

#include "providers/remote/remote.h"
#include "providers/rest/rest.h"

/* A request that stores a file. */
struct rest_ask file_upload_ask(const char *id, const struct remote_upload *upload);

#define FILE_TAG_SIZE 256

/* The download of one file; the sink receives it as STREAM_OUT. */
struct file_fetch {
	const char *path; /* in the sandbox */
	const char *id;   /* the sandbox's ID */
	execute_sink sink;
	void *sink_context;
	uint64_t done;           /* the number of bytes passed on, of the version with this tag */
	char tag[FILE_TAG_SIZE]; /* the entity tag; "": the server names none */
	uint64_t skip;           /* the number of bytes of this answer that were passed on before */
	bool has_refused;        /* the sink returned an error */
};
/*
 * Fetches the rest of the file, behind `done`. A transfer that breaks off is resumed there, with a
 * range of the version that the entity tag names. Servers that know neither ranges nor tags (before
 * npm langsmith 0.10.5) send the file again, and the bytes that came before are skipped. ERR_STALE:
 * the file was changed meanwhile.
 */
enum err file_fetch(
	struct file_fetch *f, const struct rest *r, const struct call *call, struct error *e);
