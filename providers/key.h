/*
 * key.h - the secret that a vendor wants, from the environment, a credential of systemd or a file.
 *
 * A key never stands in argv, the mount table, a log, an error's text or the sandbox.
 */
#pragma once

#include "providers/base/error.h"
#include "providers/variables.h"

/*
 * `file`, or NULL: a regular file of mode 0600 (nobody else may read it, owned by whoever runs
 * this or by root) whose first line is the key. Else the first of the vendor's variables of that
 * role that is set; else the first of their names that is a file in $CREDENTIALS_DIRECTORY, where
 * systemd puts what LoadCredential= asks for. Allocated; to be freed with key_free(). ERR_AUTH:
 * none is there, or it cannot be used, with the way out; the key's own text is in no message.
 */
enum err key_read(
	char **out, const char *file, const char *vendor, enum variable_role role, struct error *e);
/* Wipes it first. */
void key_free(char *key);
