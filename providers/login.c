#include "providers/login.h"

#include "providers/base/cleanup.h"
#include "providers/home.h"
#include "providers/http/http.h"
#include "providers/key.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The file ---- */

static enum err check_file(int fd, const char *path, struct error *e)
{
	struct stat facts;

	if (fstat(fd, &facts))
		return error_set(e, ERR_INVALID, "%s: %s", path, strerror(errno));
	if (!S_ISREG(facts.st_mode))
		return error_set(e, ERR_INVALID, "%s: not a regular file", path);
	if (facts.st_uid != geteuid())
		return error_set(e, ERR_INVALID,
			"%s: belongs to user %u, and only a file of user %u is read; set the key "
			"in the environment instead",
			path, (unsigned)facts.st_uid, (unsigned)geteuid());
	if (facts.st_mode & 022)
		return error_set(e, ERR_INVALID,
			"%s: mode %04o lets others change where the key goes; chmod go-w %s", path,
			(unsigned)facts.st_mode & 07777, path);
	return ERR_OK;
}

static enum err read_all(int fd, const char *path, char *text, size_t *len, struct error *e)
{
	ssize_t got = 1;

	*len = 0;
	while (got && *len < LOGIN_FILE_MAX) {
		got = read(fd, text + *len, LOGIN_FILE_MAX - *len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(e, ERR_INVALID, "%s: %s", path, strerror(errno));
		*len += (size_t)got;
	}
	return got ? error_set(e, ERR_INVALID, "%s: longer than %zu KiB, as no login is", path,
			     LOGIN_FILE_MAX / 1024)
		   : ERR_OK;
}

enum err login_text(const char *path, char *text, size_t *len, struct error *e)
{
	/* An open of a fifo must not wait for a writer. */
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	enum err kind;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return ERR_NOT_FOUND;
	if (fd < 0)
		return error_set(e, ERR_INVALID, "%s: %s", path, strerror(errno));
	kind = check_file(fd, path, e);
	return kind ? kind : read_all(fd, path, text, len, e);
}

char *login_home_path(const char *below)
{
	AUTO_FREE char *home = home_dir();
	char *path;

	return home && asprintf(&path, "%s/%s", home, below) >= 0 ? path : NULL;
}

/* ---- The file's content ---- */

/* Each value is sent in a header, so it is visible ASCII. */
static bool is_visible(const char *text)
{
	while (*text > ' ' && *text <= '~')
		text++;
	return !*text;
}

static enum err check_texts(const struct login *l, struct error *e)
{
	const char *const texts[] = { l->key, l->tenant, l->url };
	static const char *const names[] = { "key", "organization or workspace", "URL" };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i] && !is_visible(texts[i]))
			return error_set(
				e, ERR_INVALID, "its %s holds characters that none has", names[i]);
	return ERR_OK;
}

static enum err read_into(
	struct login *out, const struct login_format *format, char *text, struct error *e)
{
	struct error why = { 0 };
	size_t len;
	enum err kind = login_text(out->path, text, &len, e);

	if (kind)
		return kind;
	kind = format->read(out, text, len, &why);
	if (!kind && !out->key)
		return ERR_NOT_FOUND;
	if (!kind)
		kind = check_texts(out, &why);
	if (kind == ERR_AUTH)
		return error_set(
			e, kind, "%s: %s; log in again: %s", out->path, why.text, format->command);
	return kind ? error_set(e, kind, "%s: %s", out->path, why.text) : ERR_OK;
}

enum err login_read(struct login *out, const struct login_format *format, struct error *e)
{
	AUTO_FREE char *text = malloc(LOGIN_FILE_MAX);
	enum err kind;

	*out = (struct login){ .path = format->path() };
	if (!text)
		kind = error_set(e, ERR_NO_MEMORY, "a login");
	else
		kind = out->path ? read_into(out, format, text, e) : ERR_NOT_FOUND;
	if (text)
		explicit_bzero(text, LOGIN_FILE_MAX);
	if (kind)
		login_release(out);
	return kind;
}

void login_release(struct login *l)
{
	key_free(l->key);
	free(l->path);
	free(l->url);
	free(l->tenant);
	*l = (struct login){ 0 };
}

/* ---- Where the key goes ---- */

enum err login_check_url(const struct login *l, const char *own, const char *url, struct error *e)
{
	const char *given_by = l->url ? l->url : own;

	if (!l->path || http_same_origin(given_by, url))
		return ERR_OK;
	return error_set(e, ERR_AUTH,
		"the login in %s is for %s and its key goes nowhere else; for %s set a key in the "
		"environment, or give -o key_file=FILE",
		l->path, given_by, url);
}
