/*
 * files.h - requests for files of a sandbox, as the bytes they are.
 */
#pragma once

#include "providers/http/multipart.h"
#include "providers/remote.h"
#include "providers/rest.h"

#include <limits.h>

/* A request that stores a file. Not to be moved once it is made; released in any case. */
struct file_upload {
	struct rest_ask ask;
	struct buf path;
	struct multipart form;
	char content_type[96];
};
enum err file_upload_make(
	struct file_upload *u, const char *id, const struct remote_upload *upload, struct error *e);
void file_upload_release(struct file_upload *u);

/* A path of which every byte is escaped, and what stands before it. */
#define FILE_PATH_ROOM ((size_t)3 * PATH_MAX + 64)
/* "/download?path=..." */
enum err file_path_make(struct buf *out, const char *endpoint, const char *path, struct error *e);
