#include "providers/key.h"

#include "providers/base/cleanup.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The longest line that is taken for a key. No vendor's key is nearly so long, and a header of HTTP
 * has to hold it.
 */
#define KEY_MAX 1024

/* A key travels in a header, so it is visible ASCII. */
static bool is_key(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	return len > 0 && len <= KEY_MAX;
}

static enum err copy_key(char **out, const char *text, size_t len, struct error *e)
{
	char *key = strndup(text, len);

	if (!key)
		return error_set(e, ERR_NO_MEMORY, "the key");
	*out = key;
	return ERR_OK;
}

/* ---- From a file ---- */

static const char *credentials_dir(void)
{
	return variable("CREDENTIALS_DIRECTORY");
}

static bool is_credential(const char *file)
{
	const char *dir = credentials_dir();
	size_t len = dir ? strlen(dir) : 0;

	return len && !strncmp(file, dir, len) && file[len] == '/';
}

/*
 * systemd gives a credential to the unit's user by an access list, whose mask takes the place of
 * the group's bits.
 */
static mode_t forbidden_bits(const char *file)
{
	return is_credential(file) ? 037 : 077;
}

static enum err check_file(int fd, const char *file, struct error *e)
{
	struct stat facts;

	if (fstat(fd, &facts))
		return error_set(e, ERR_AUTH, "key_file %s: %s", file, strerror(errno));
	if (!S_ISREG(facts.st_mode))
		return error_set(e, ERR_AUTH, "key_file %s: not a regular file", file);
	if (facts.st_uid != geteuid() && facts.st_uid != 0)
		return error_set(e, ERR_AUTH,
			"key_file %s: belongs to user %u, who could change it; chown it", file,
			(unsigned)facts.st_uid);
	if (facts.st_mode & forbidden_bits(file))
		return error_set(e, ERR_AUTH,
			"key_file %s: mode %04o lets others at the key; chmod 600 %s", file,
			(unsigned)facts.st_mode & 07777, file);
	return ERR_OK;
}

/* Fills `line`; a line that does not fit is no key. */
static enum err read_line(int fd, const char *file, char *line, size_t room, struct error *e)
{
	size_t len = 0;
	ssize_t got = 1;

	while (got && len < room - 1) {
		got = read(fd, line + len, room - 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(e, ERR_AUTH, "key_file %s: %s", file, strerror(errno));
		len += (size_t)got;
	}
	line[len] = 0;
	return ERR_OK;
}

static enum err take_line(char **out, const char *line, const char *file, struct error *e)
{
	size_t len = strcspn(line, "\n");

	while (len && (line[len - 1] == '\r' || line[len - 1] == ' '))
		len--;
	if (!is_key(line, len))
		return error_set(e, ERR_AUTH, "key_file %s: its first line is not a key: %s", file,
			len ? "it holds characters that no key has, or is too long"
			    : "it is empty");
	return copy_key(out, line, len, e);
}

static enum err read_file(char **out, const char *file, struct error *e)
{
	/* An open of a fifo must not wait for a writer. */
	AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char line[KEY_MAX + 3];
	enum err kind;

	if (fd < 0)
		return error_set(e, ERR_AUTH,
			"key_file %s: %s; put the key into a file of mode 0600", file,
			strerror(errno));
	kind = check_file(fd, file, e);
	if (!kind)
		kind = read_line(fd, file, line, sizeof line, e);
	if (!kind)
		kind = take_line(out, line, file, e);
	explicit_bzero(line, sizeof line);
	return kind;
}

/* ERR_NOT_FOUND: no such file is there. */
static enum err read_credential(
	char **out, const char *vendor, enum variable_role role, struct error *e)
{
	const char *dir = credentials_dir();
	const struct variable *v;

	for (size_t i = 0; dir && (v = variable_of(vendor, role, i)); i++) {
		AUTO_FREE char *file = NULL;

		if (asprintf(&file, "%s/%s", dir, v->name) < 0) {
			file = NULL;
			return error_set(e, ERR_NO_MEMORY, "the key");
		}
		if (!access(file, F_OK))
			return read_file(out, file, e);
	}
	return ERR_NOT_FOUND;
}

/* ---- From the environment ---- */

static enum err no_key(const char *vendor, enum variable_role role,
	const struct login_format *format, struct error *e)
{
	const struct variable *v;
	char names[200] = "";
	size_t len = 0;

	for (size_t i = 0; (v = variable_of(vendor, role, i)) && len < sizeof names; i++)
		len += (size_t)snprintf(
			names + len, sizeof names - len, "%s%s", len ? " or " : "", v->name);
	return error_set(e, ERR_AUTH,
		"%s: no key: set %s%s%s, or give -o key_file=FILE (mode 0600), with sandboxctl "
		"--key-file FILE; sudo and mount(8) do not pass the environment on",
		vendor, names, format ? ", log in with " : "", format ? format->command : "");
}

static enum err take_value(char **out, const struct variable *v, struct error *e)
{
	const char *value = variable_value(v);
	size_t len = strlen(value);

	return is_key(value, len) ? copy_key(out, value, len, e)
				  : error_set(e, ERR_AUTH,
					    "%s: %s is not a key: it holds characters that no key "
					    "has, or is too long",
					    v->provider, v->name);
}

/* ERR_NOT_FOUND: no place has a key. */
static enum err read_given(
	char **out, const char *file, const char *vendor, enum variable_role role, struct error *e)
{
	const struct variable *v = variable_chosen(vendor, role);

	if (file)
		return read_file(out, file, e);
	return v ? take_value(out, v, e) : read_credential(out, vendor, role, e);
}

enum err key_read(
	char **out, const char *file, const char *vendor, enum variable_role role, struct error *e)
{
	enum err kind = read_given(out, file, vendor, role, e);

	return kind == ERR_NOT_FOUND ? no_key(vendor, role, NULL, e) : kind;
}

/* ---- From a login ---- */

static enum err read_login(
	struct login *out, const char *vendor, const struct login_format *format, struct error *e)
{
	struct error why = { 0 };
	enum err kind = format ? login_read(out, format, &why) : ERR_NOT_FOUND;

	return kind && kind != ERR_NOT_FOUND ? error_set(e, kind, "%s: %s", vendor, why.text)
					     : kind;
}

enum err key_find(struct login *out, const char *file, const char *vendor, enum variable_role role,
	const struct login_format *format, struct error *e)
{
	enum err kind;

	*out = (struct login){ 0 };
	kind = read_given(&out->key, file, vendor, role, e);
	if (kind == ERR_NOT_FOUND)
		kind = read_login(out, vendor, format, e);
	return kind == ERR_NOT_FOUND ? no_key(vendor, role, format, e) : kind;
}

/* ---- Which of them counts ---- */

static enum err login_source(
	struct buf *out, const char *vendor, const struct login_format *format, struct error *e)
{
	AUTO_LOGIN struct login login = { 0 };
	enum err kind = read_login(&login, vendor, format, e);

	if (!kind)
		buf_printf(out, "the login in %s", login.path);
	return kind;
}

static enum err credential_source(struct buf *out, const char *vendor, struct error *e)
{
	AUTO_KEY char *key = NULL;
	enum err kind = read_credential(&key, vendor, VARIABLE_KEY, e);

	if (!kind)
		buf_printf(out, "a credential in %s", credentials_dir());
	return kind;
}

static bool has_all(const char *vendor)
{
	const struct variable *v;
	size_t i = 0;

	while ((v = variable_of(vendor, VARIABLE_KEY, i)) && variable_value(v))
		i++;
	return !v;
}

enum err key_source(
	struct buf *out, const char *vendor, const struct login_format *format, struct error *e)
{
	const struct variable *v = variable_chosen(vendor, VARIABLE_KEY);
	enum err kind;

	if (!v)
		v = variable_chosen(vendor, VARIABLE_TOKEN);
	if (!v) {
		kind = credential_source(out, vendor, e);
		return kind == ERR_NOT_FOUND ? login_source(out, vendor, format, e) : kind;
	}
	buf_add_string(out, v->name);
	if (v->role == VARIABLE_TOKEN || !format || !format->is_in_halves || has_all(vendor))
		return ERR_OK;
	buf_add_string(out, " and ");
	return login_source(out, vendor, format, e);
}

void key_free(char *key)
{
	if (key)
		explicit_bzero(key, strlen(key));
	free(key);
}

void cleanup_key(char **key)
{
	key_free(*key);
}
