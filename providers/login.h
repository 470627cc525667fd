/*
 * login.h - the key that a vendor's own command-line program keeps in a file after a login, so that
 * who is logged in there needs no key here.
 *
 * The folder of a vendor has a struct login_format, which says where its file is and what stands in
 * it. A file is read only where it belongs to the user and nobody else can write it: its URL says
 * where the key goes. Others may read it, as one vendor's program writes its file with mode 0644.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>
#include <stddef.h>

/* A key and what is known of it. Owned strings. */
struct login {
	char *path;    /* the file; NULL: the key is of another source */
	char *key;     /* NULL: nobody is logged in */
	char *url;     /* the base URL of the server that gave the key; NULL: the vendor's own */
	char *tenant;  /* the organization or workspace that the key does not say; NULL: none */
	bool is_token; /* of a person's login: in the header Authorization, as a bearer */
};

struct login_format {
	/* Allocated; NULL: there is no home directory, or no memory. */
	char *(*path)(void);
	/*
	 * ERR_OK: `out` is filled in as far as the file says it. ERR_INVALID, ERR_AUTH: what is wrong,
	 * without a text of the file.
	 */
	enum err (*read)(struct login *out, const char *text, size_t len, struct error *e);
	const char *command;       /* which logs in: "daytona login" */
	const char *tenant_header; /* NULL: the vendor has none */
	bool is_in_halves;         /* the key's variables together are the key, not each of them */
};

/*
 * ERR_NOT_FOUND: there is no file, or nobody is logged in. ERR_INVALID, ERR_AUTH name the file.
 * On failure there is nothing to release.
 */
enum err login_read(struct login *out, const struct login_format *format, struct error *e);
/* Wipes the key first. */
void login_release(struct login *l);
#define AUTO_LOGIN __attribute__((cleanup(login_release)))

/*
 * ERR_AUTH unless the key may be sent to `url`: any key that the user gave may, and that of a login
 * only to the server that gave it. `own`: the vendor's own base URL.
 */
enum err login_check_url(const struct login *l, const char *own, const char *url, struct error *e);

/* ---- For the formats ---- */

#define LOGIN_FILE_MAX ((size_t)256 * 1024)

/*
 * The text of a file at `path`, LOGIN_FILE_MAX bytes of room. ERR_NOT_FOUND: there is none.
 * ERR_INVALID: others may write it, it is not the user's, it cannot be read, or it is too long;
 * the reason names it.
 */
enum err login_text(const char *path, char *text, size_t *len, struct error *e);

/* "HOME/below"; allocated. NULL: there is no home directory, or no memory. */
char *login_home_path(const char *below);
