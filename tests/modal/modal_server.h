/*
 * modal_server.h - Modal's test server, for one test: started, announced in the environment, and
 * controlled through its admin port.
 */
#pragma once

#include "providers/provider.h"
#include "tests/support/vendor_server.h"

struct modal_server {
	struct vendor_server server;
	char id[128];       /* the ID of the sandbox that modal_server_attach() made */
	struct provider *p; /* attached to it; NULL: not yet */
};

/* Skips the test where no server can run. */
void modal_server_start(struct modal_server *s);
void modal_server_stop(struct modal_server *s);

/* Makes a sandbox and attaches to it. */
void modal_server_attach(struct modal_server *s);

/*
 * `action`: JSON as tests/servers/lib/faults.mjs has it, for the next `times` calls of this method.
 */
void modal_server_fault(struct modal_server *s, const char *method, const char *action, int times);
void modal_server_mend(struct modal_server *s);
/* How many calls of this method came since the last reset; NULL: of all methods. */
long modal_server_count(struct modal_server *s, const char *method);
void modal_server_reset(struct modal_server *s);
/* POST without a body. */
void modal_server_post(struct modal_server *s, const char *path);
/* Whether the sandboxes received this text, or have it in a file. */
bool modal_server_received(struct modal_server *s, const char *text);
/*
 * Runs the command and returns its output; fails the test unless it ends well. The caller frees it.
 */
char *modal_server_run(struct modal_server *s, const char *command);
