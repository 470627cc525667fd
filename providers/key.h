/*
 * key.h - the secret that a vendor wants, from the environment, a credential of systemd or a file.
 *
 * Where none of these has it, the vendor's own login may (login.h).
 *
 * A key never stands in argv, the mount table, a log, an error's text or the sandbox.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/login.h"
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
/*
 * As key_read(), and at last the login of the vendor's own program; `format`: NULL, there is none.
 * ERR_INVALID: the file of the login. On failure there is nothing to release.
 */
enum err key_find(struct login *out, const char *file, const char *vendor, enum variable_role role,
	const struct login_format *format, struct error *e);
/*
 * Which of the sources counts where no file is given, for people: "E2B_API_KEY", "the login in
 * FILE". ERR_NOT_FOUND: none has a key. Otherwise as key_find().
 */
enum err key_source(
	struct buf *out, const char *vendor, const struct login_format *format, struct error *e);
/* Wipes it first. */
void key_free(char *key);
void cleanup_key(char **key);
#define AUTO_KEY __attribute__((cleanup(cleanup_key)))
