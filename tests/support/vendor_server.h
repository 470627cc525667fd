/*
 * vendor_server.h - a vendor's test server (tests/servers), run for a test program.
 *
 * One server does for a whole program: runner_begins() starts the server before the first test, and
 * runner_ends() ends it after the last. A server ends by itself when the program dies, and takes
 * its sandboxes with it.
 */
#pragma once

#include "providers/base/error.h"

#include <sys/types.h>

struct json_object;

struct vendor_server {
	pid_t pid;
	char dir[64];       /* the server's own folder */
	char sandboxes[80]; /* the folder with one folder for each sandbox, by id */
	char api_url[64], sandbox_url[64], admin_url[64]; /* "": the vendor has no such URL */
	char key[128];
	struct json_object *env; /* the variables with which a client finds it */
};

/*
 * `vendor`: the name of its folder. Root's sandboxes work as root. To be called from the program's
 * own directory, the top of the repository. ERR_UNSUPPORTED: the server cannot run here (no
 * node, no namespaces), and the text says why.
 */
enum err vendor_server_start(struct vendor_server *out, const char *vendor, struct error *e);
/* Sets the server's variables, for this process and its children. */
void vendor_server_announce(const struct vendor_server *s);
/* Ends the server with all its sandboxes, and removes their files. */
void vendor_server_stop(struct vendor_server *s);
