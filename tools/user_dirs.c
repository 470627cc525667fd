#include "tools/user_dirs.h"

#include "cache/blocks/block.h"
#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/home.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/*
 * The longest name of a file. A longer one is cut and made unique by a hash. A suffix is appended
 * to the name of a journal that is set aside.
 */
#define NAME_LEN_MAX 200

/* Separates a user's name. It does not stand in the rest of a name, where it is escaped. */
#define USER_SIGN '@'

static const char *absolute(const char *variable)
{
	const char *path = getenv(variable);

	return path && *path == '/' ? path : NULL;
}

static char *below(const char *dir, const char *rest)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);

	buf_printf(&path, "%s/%s", dir, rest);
	return path.failed ? NULL : strdup(buf_text(&path));
}

/* `variable` names a directory for all programs; `in_home` is used where it is not set. */
static char *user_dir(const char *asked, const char *variable, const char *in_home)
{
	const char *all = absolute(variable);
	AUTO_FREE char *home = home_dir();

	if (asked)
		return strcmp(asked, "off") ? strdup(asked) : NULL;
	if (all)
		return below(all, "sandboxfs");
	return home ? below(home, in_home) : NULL;
}

char *user_cache_dir(const char *asked)
{
	return user_dir(asked, "XDG_CACHE_HOME", ".cache/sandboxfs");
}

char *user_journals_dir(const char *asked)
{
	return user_dir(asked, "XDG_STATE_HOME", ".local/state/sandboxfs");
}

/* Writes each byte that cannot stand in a name, or has another meaning here, as %XX. */
static void add_escaped(struct buf *name, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("._-", *text))
			buf_add_byte(name, (unsigned char)*text);
		else
			buf_printf(name, "%%%02X", (unsigned char)*text);
}

static void shorten(struct buf *name)
{
	struct block_name hash = block_name(name->bytes, name->len);

	name->len = NAME_LEN_MAX - 2 * sizeof hash.bytes;
	for (size_t n = 0; n < sizeof hash.bytes; n++)
		buf_printf(name, "%02x", hash.bytes[n]);
}

char *user_journal_dir(const char *asked, const char *provider, const struct sandbox_info *sandbox)
{
	AUTO_FREE char *dir = user_journals_dir(asked);
	AUTO_BUF struct buf name = BUF_INIT(3 * sizeof *sandbox);

	add_escaped(&name, provider);
	buf_add_byte(&name, '-');
	add_escaped(&name, sandbox->id);
	add_escaped(&name, sandbox->root);
	if (*sandbox->user) {
		buf_add_byte(&name, USER_SIGN);
		add_escaped(&name, sandbox->user);
	}
	if (name.len > NAME_LEN_MAX)
		shorten(&name);
	return dir && !name.failed ? below(dir, buf_text(&name)) : NULL;
}

static void add_unescaped(struct buf *out, const char *text, size_t len)
{
	for (size_t n = 0; n < len; n++) {
		unsigned byte;

		if (text[n] == '%' && n + 2 < len && sscanf(text + n, "%%%2X", &byte) == 1) {
			buf_add_byte(out, (unsigned char)byte);
			n += 2;
		} else {
			buf_add_byte(out, (unsigned char)text[n]);
		}
	}
}

char *user_journal_source(const char *name)
{
	const char *aside = strstr(name, ".unreadable-"), *dash = strchr(name, '-');
	const char *root = strstr(name, "%2F");
	size_t len = aside ? (size_t)(aside - name) : strlen(name);
	const char *user = memchr(name, USER_SIGN, len), *end = user ? user : name + len;
	AUTO_BUF struct buf source = BUF_INIT(PATH_MAX);

	if (!dash || !root || root < dash || root > end || len >= NAME_LEN_MAX)
		return NULL;
	buf_printf(
		&source, "%.*s:%.*s:", (int)(dash - name), name, (int)(root - dash - 1), dash + 1);
	add_unescaped(&source, root, (size_t)(end - root));
	if (user) {
		buf_add_string(&source, " as ");
		add_unescaped(&source, user + 1, (size_t)(name + len - user - 1));
	}
	return source.failed ? NULL : strdup(buf_text(&source));
}
