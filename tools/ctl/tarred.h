/*
 * tarred.h - copies of push and pull where the helper program cannot run in the sandbox.
 *
 * The copy goes to or from a directory of this machine. Between that and the sandbox it travels as
 * an archive of tar(1), in pieces, by commands in the sandbox.
 */
#pragma once

#include "providers/provider.h"

struct tarred {
	char *dir;           /* new directory of this machine; owned; NULL: none */
	struct provider *at; /* provider for that directory */
};

#define AUTO_TARRED __attribute__((cleanup(tarred_close)))

enum err tarred_open(struct tarred *t, struct error *e);
/* Removes the directory. */
void tarred_close(struct tarred *t);

/* Sends the entries of the directory into the root of `to`. */
enum err tarred_send(
	const struct tarred *t, const struct call *call, struct provider *to, struct error *e);
/* Fetches `name` from the root of `from` into the directory; "": all entries of the root. */
enum err tarred_fetch(const struct tarred *t, const struct call *call, struct provider *from,
	const char *name, struct error *e);
