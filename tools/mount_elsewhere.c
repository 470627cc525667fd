#include "tools/mount_elsewhere.h"

#include "providers/base/cleanup.h"
#include "tools/mounted.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The needed fields of a line of /proc/PID/mountinfo (proc(5)). */
struct line {
	const char *device, *dir, *type;
};

/* Mount tables write space, tab, newline and backslash in octal. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		unsigned byte;

		if (*from == '\\' && sscanf(from + 1, "%3o", &byte) == 1) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool cut(char *text, struct line *out)
{
	char *fields[5], *rest = text, *type = strstr(text, " - ");

	for (size_t i = 0; i < 5; i++)
		fields[i] = strsep(&rest, " ");
	if (!rest || !type)
		return false;
	type += strlen(" - ");
	type[strcspn(type, " \n")] = '\0';
	unescape(fields[4]);
	*out = (struct line){ fields[2], fields[4], type };
	return true;
}

typedef void (*line_sink)(void *context, const struct line *line);

static void read_table(const char *path, line_sink sink, void *context)
{
	FILE *table = fopen(path, "re");
	AUTO_FREE char *text = NULL;
	size_t room = 0;
	struct line line;

	while (table && getline(&text, &room, table) > 0)
		if (cut(text, &line))
			sink(context, &line);
	if (table)
		fclose(table);
}

/* ---- In this namespace ---- */

struct here {
	const char *dir;
	struct mount_device *device;
};

/* The last line on a directory is the topmost mount. */
static void take_device(void *context, const struct line *line)
{
	const struct here *h = context;

	if (!strcmp(line->dir, h->dir))
		snprintf(h->device->text, sizeof h->device->text, "%s", line->device);
}

void mount_device_of(const char *dir, struct mount_device *out)
{
	struct here h = { dir, out };

	out->text[0] = '\0';
	read_table("/proc/self/mountinfo", take_device, &h);
}

/* ---- In other namespaces ---- */

struct there {
	const char *device;
	char *dir;
	size_t room;
	bool is_found;
};

static void take_dir(void *context, const struct line *line)
{
	struct there *t = context;

	if (strcmp(line->device, t->device) || strcmp(line->type, MOUNTED_TYPE))
		return;
	snprintf(t->dir, t->room, "%s", line->dir);
	t->is_found = true;
}

pid_t mount_elsewhere(const struct mount_device *device, char *dir, size_t room)
{
	struct there t = { device->text, dir, room, false };
	DIR *processes = *device->text ? opendir("/proc") : NULL;
	const struct dirent *entry;
	pid_t pid = 0;

	while (processes && !t.is_found && (entry = readdir(processes))) {
		char path[300];

		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		snprintf(path, sizeof path, "/proc/%s/mountinfo", entry->d_name);
		if (pid > 0)
			read_table(path, take_dir, &t);
	}
	if (processes)
		closedir(processes);
	return t.is_found ? pid : 0;
}
