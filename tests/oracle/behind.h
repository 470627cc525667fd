/*
 * behind.h - a second writer: now and then a call is made behind the mount, on the directory that
 * it shows, and on the plain directory as ever.
 *
 * Only calls on paths, with no descriptor of the trace open on either side: of a file that somebody
 * else in a sandbox removes or moves, no mount can keep what a disk keeps. Afterwards the mount is
 * told to check what it knows.
 */
#pragma once

#include "tests/oracle/trace.h"

struct behind {
	unsigned every; /* how many calls apart; 0: never */
	const char *
		/*
		 * a file of the mount: what is written to it makes it send and check; NULL: no need
		 */
		sync_path;
	struct side a, b; /* `a` is where A's files are */
};

/* Of sides that have begun. false: cannot be used, said on stderr. */
bool behind_begin(struct behind *w, const char *directory, const struct side *b);
void behind_end(struct behind *w);

/* Whether this call is the second writer's. */
bool behind_takes(const struct behind *w, const struct call *c);

/*
 * The directory has what was done on the mount, which checks what it knows. false: it cannot be
 * told, said on stderr.
 */
bool behind_sync(const struct behind *w);
/* After the call: descriptors that it opened are closed, and the mount knows. */
bool behind_drain(struct behind *w);
