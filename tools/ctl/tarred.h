/*
 * tarred.h - how push and pull copy where the helper program cannot run in the sandbox.
 *
 * The copy goes to or from a directory of this machine, and between that and the sandbox as an
 * archive of tar(1), in pieces, by commands in the sandbox.
 */
#pragma once

#include "providers/provider.h"

struct tarred {
	char *dir;           /* of this machine, new; owned; NULL: there is none */
	struct provider *at; /* the same */
};

#define AUTO_TARRED __attribute__((cleanup(tarred_close)))

enum err tarred_open(struct tarred *t, struct error *e);
/* Removes the directory. */
void tarred_close(struct tarred *t);

/* What is in the directory goes into the root of `to`. */
enum err tarred_send(
	const struct tarred *t, const struct call *call, struct provider *to, struct error *e);
/* `name` of the root of `from` goes into the directory; "": all that is in the root. */
enum err tarred_fetch(const struct tarred *t, const struct call *call, struct provider *from,
	const char *name, struct error *e);
