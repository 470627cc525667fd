/*
 * key.h - the secret for a vendor, from the environment, a credential of systemd or a file.
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
 * `file`, or NULL: a regular file of mode 0600 (no other user may read it, owned by this user or by
 * root) whose first line is the key. Without a file: the first of the vendor's variables of that
 * role that is set. Without one: the first of their names that is a file in $CREDENTIALS_DIRECTORY,
 * where systemd puts the files of LoadCredential=. Allocated; to be freed with key_free().
 * ERR_AUTH: no key is there, or it cannot be used, with a remedy. The key's own text is in no
 * message.
 */
enum err key_read(
	char **out, const char *file, const char *vendor, enum variable_role role, struct error *e);
/*
 * As key_read(), and after that the login of the vendor's own program; `format` NULL: there is
 * none. ERR_INVALID: the file of the login. On failure there is nothing to release.
 */
enum err key_find(struct login *out, const char *file, const char *vendor, enum variable_role role,
	const struct login_format *format, struct error *e);
/*
 * The source that is used where no file is given, for people: "E2B_API_KEY", "the login in FILE".
 * ERR_NOT_FOUND: none has a key. Otherwise as key_find().
 */
enum err key_source(
	struct buf *out, const char *vendor, const struct login_format *format, struct error *e);
/* Wipes the key first. */
void key_free(char *key);
void cleanup_key(char **key);
#define AUTO_KEY __attribute__((cleanup(cleanup_key)))
