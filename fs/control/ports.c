/*
 * ports.c - `ports/N`: the URL by which programs elsewhere reach port N of the sandbox
 * (providers/provider.h).
 *
 * Every port has a file, and none is listed: the mount does not know which ports are meant. The
 * sandbox is asked for the URL when the file is read.
 */
#include "fs/control/text.h"

#include "cache/cache.h"

#include <string.h>

static enum err tell_url(struct control *c, uint64_t number, const struct call *call,
	struct buf *out, struct error *e)
{
	AUTO_BUF struct buf url = BUF_INIT(out->max);
	enum err kind = cache_port_url(c->cache, call, (unsigned)number, &url, e);
	char *lines = (char *)buf_text(&url), *line;

	while (!kind && (line = strsep(&lines, "\n")))
		text_add_line(out, line);
	return kind;
}

static void port_read(struct control_handle *h, fuse_req_t req, size_t size, off_t off)
{
	text_read(h, req, size, off, tell_url);
}

/* Only the mount's owner may read the file: the URL may be enough to get in. */
static const struct control_file port = {
	.ino = CONTROL_INO_PORT,
	.mode = 0400,
	.open = text_open,
	.read = port_read,
	.close = text_close,
};

/* ---- The directory ---- */

static const struct control_file *const no_files[] = { NULL };

static bool is_port(struct control *c, uint64_t number)
{
	(void)c;
	return number <= UINT16_MAX;
}

static uint64_t none_is_listed(struct control *c, uint64_t number)
{
	(void)c, (void)number;
	return 0;
}

static const struct control_dir ports_dir = {
	.files = no_files,
	.numbered = &port,
	.has = is_port,
	.next = none_is_listed,
};

const struct control_file control_ports = {
	.name = "ports",
	.ino = CONTROL_INO_PORTS,
	.mode = 0555,
	.dir = &ports_dir,
};
