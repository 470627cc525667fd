#include "tools/ctl/journals.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "tools/user_dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- Finding journals ---- */

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static enum err fill(struct journal_found *j, const char *dir, const char *name, struct error *e)
{
	j->name = strdup(name);
	j->source = user_journal_source(name);
	if (asprintf(&j->dir, "%s/%s", dir, name) < 0)
		j->dir = NULL;
	return j->name && j->dir ? ERR_OK : error_set(e, ERR_NO_MEMORY, "%s", dir);
}

/*
 * A journal has a file that names its sandbox. A directory without one is not ours, and is left
 * alone.
 */
static bool is_journal(const char *dir, const char *name)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);

	buf_printf(&path, "%s/%s/owner", dir, name);
	return !path.failed && !access(buf_text(&path), F_OK);
}

static enum err take_all(struct journals *out, const char *dir, struct dirent **entries,
	size_t count, struct error *e)
{
	enum err kind = ERR_OK;

	out->list = calloc(count + 1, sizeof *out->list);
	if (!out->list)
		return error_set(e, ERR_NO_MEMORY, "%s", dir);
	for (size_t n = 0; n < count && !kind; n++)
		if (is_journal(dir, entries[n]->d_name))
			kind = fill(&out->list[out->count++], dir, entries[n]->d_name, e);
	return kind;
}

enum err journals_find(struct journals *out, const char *dir, struct error *e)
{
	AUTO_FREE char *place = dir ? strdup(dir) : user_journals_dir(NULL);
	struct dirent **entries = NULL;
	int found;

	*out = (struct journals){ 0 };
	if (!place)
		return error_set(e, ERR_NOT_FOUND,
			"no home, and so no journals; set HOME, or name their directory with "
			"--dir=");
	found = scandir(place, &entries, is_visible, alphasort);
	if (found < 0)
		return !dir && errno == ENOENT ? ERR_OK : error_errno(e, errno, "%s", place);

	enum err kind = take_all(out, place, entries, (size_t)found, e);

	for (int n = 0; n < found; n++)
		free(entries[n]);
	free(entries);
	return kind;
}

void journals_release(struct journals *j)
{
	for (size_t n = 0; n < j->count; n++) {
		free(j->list[n].name);
		free(j->list[n].dir);
		free(j->list[n].source);
	}
	free(j->list);
	*j = (struct journals){ 0 };
}

/* ---- A single journal ---- */

enum err journals_named(const struct journals *j, const char *name,
	const struct journal_found **out, struct error *e)
{
	for (size_t n = 0; n < j->count; n++) {
		const char *source = j->list[n].source;

		*out = &j->list[n];
		if (!strcmp(j->list[n].name, name) || (source && !strcmp(source, name)))
			return ERR_OK;
	}
	return error_set(e, ERR_NOT_FOUND,
		"'%.200s': no such journal; sandboxctl journal list shows those there are", name);
}

char *journal_source(const struct journal_found *j)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX);
	char text[JOURNAL_SOURCE_MAX];

	buf_printf(&path, "%s/sandbox", j->dir);

	AUTO_CLOSE int fd = path.failed ? -1 : open(buf_text(&path), O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text);

	return len > 0 && text[len - 1] == '\n' ? strndup(text, (size_t)len - 1) : NULL;
}

enum err journal_check_left(const struct journal_found *j, struct error *e)
{
	char who[JOURNAL_OWNER_MAX];

	if (!journal_has_owner(j->dir, who))
		return ERR_OK;
	return error_set(e, ERR_BUSY, "%s: in use by %s; unmount that one first", j->name, who);
}
