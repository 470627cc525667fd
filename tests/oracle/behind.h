/*
 * behind.h - a second writer: now and then a call is made behind the mount, on the directory that
 * it shows, and on the plain directory as ever.
 *
 * The second writer makes calls on paths alone, and no descriptor of the trace is open on either
 * side meanwhile: no mount can keep what a disk keeps of a file that another process in the sandbox
 * removes or moves. Afterwards the mount is made to check what it knows.
 */
#pragma once

#include "tests/oracle/trace.h"

struct behind {
	unsigned every; /* how many calls apart; 0: never */
	/* a file of the mount; a write to it makes the mount send and check; NULL: no need */
	const char *sync_path;
	struct side a, b; /* `a` is where A's files are */
};

/* Call it when the sides have begun. false: `directory` cannot be used; reported on stderr. */
bool behind_begin(struct behind *w, const char *directory, const struct side *b);
void behind_end(struct behind *w);

/* Whether this call is the second writer's. */
bool behind_takes(const struct behind *w, const struct call *c);

/*
 * Returns when the directory has all changes made on the mount, and the mount has checked what it
 * knows. false: the mount cannot be reached; reported on stderr.
 */
bool behind_sync(const struct behind *w);
/* After the call: closes descriptors that the call opened, and makes the mount check. */
bool behind_drain(struct behind *w);
