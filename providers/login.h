/*
 * login.h - the key that a vendor's own command-line program keeps in a file after a login. A user
 * who is logged in there needs no key here.
 *
 * The folder of a vendor has a struct login_format, which gives the file's path and reads its
 * contents. A file is read only where it belongs to the user and no other user can write it: the
 * URL in it decides where the key is sent. Other users may read it, since one vendor's program
 * writes its file with mode 0644.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A key and its server. Owned strings. */
struct login {
	char *path;    /* the file; NULL: the key is from another source */
	char *key;     /* NULL: the user is not logged in */
	char *url;     /* the base URL of the server that gave the key; NULL: the vendor's own */
	char *tenant;  /* the organization or workspace that the key does not name; NULL: none */
	bool is_token; /* a token of a person's login: in the header Authorization, as a bearer */
};

struct login_format {
	/* Allocated; NULL: there is no home directory, or no memory. */
	char *(*path)(void);
	/*
	 * Fills in `out` as far as the file has it. ERR_INVALID, ERR_AUTH: the fault, without a
	 * text of the file.
	 */
	enum err (*read)(struct login *out, const char *text, size_t len, struct error *e);
	const char *command;       /* the command that logs in: "daytona login" */
	const char *tenant_header; /* NULL: the vendor has none */
	/* the key's variables together are the key, not each of them alone */
	bool is_in_halves;
};

/*
 * ERR_NOT_FOUND: there is no file, or no login in it. ERR_INVALID, ERR_AUTH name the file. On
 * failure there is nothing to release.
 */
enum err login_read(struct login *out, const struct login_format *format, struct error *e);
/* Wipes the key first. */
void login_release(struct login *l);
#define AUTO_LOGIN __attribute__((cleanup(login_release)))

/*
 * ERR_AUTH unless the key may be sent to `url`. A key that the user gave may be sent anywhere; the
 * key of a login only to the server that gave it. `own`: the vendor's own base URL.
 */
enum err login_check_url(const struct login *l, const char *own, const char *url, struct error *e);

/* ---- For the formats ---- */

#define LOGIN_FILE_MAX ((size_t)256 * 1024)

/*
 * The text of a file at `path`, LOGIN_FILE_MAX bytes of room. ERR_NOT_FOUND: there is none.
 * ERR_INVALID: other users may write it, it is not the user's, it cannot be read, or it is too
 * long; the reason names it.
 */
enum err login_text(const char *path, char *text, size_t *len, struct error *e);

/* "HOME/below"; allocated. NULL: there is no home directory, or no memory. */
char *login_home_path(const char *below);
