#include "tools/option_values.h"

#include "providers/base/cleanup.h"
#include "providers/reach.h"
#include "providers/user_shell.h"
#include "tools/source.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Far beyond any use, and in milliseconds still no overflow. */
#define SECONDS_MAX 1e9
#define THREADS_MAX 1000
/* Enough for a shell, its children, and the sandbox's own processes; Linux counts to 4 million. */
#define PIDS_MIN 8
#define PIDS_MAX 4194304

/* More than any machine has. */
#define CPUS_MAX    10000
#define SIZE_MAX_MB ((double)INT32_MAX)

enum err option_set_flag(const struct opt *o, const char *value, void *field, struct error *e)
{
	(void)value;
	(void)e;
	*(int *)field = o->number;
	return ERR_OK;
}

enum err option_set_text(const struct opt *o, const char *value, void *field, struct error *e)
{
	char **text = field;

	if (!*value)
		return error_set(
			e, ERR_INVALID, "option '%s': %s is missing", o->name, o->argument);
	free(*text);
	*text = strdup(value);
	return *text ? ERR_OK : error_set(e, ERR_NO_MEMORY, "options");
}

/*
 * Commas separate mount options, so that log=info,fs=debug can stand in an fstab line as
 * log=info:fs=debug.
 */
enum err option_set_log(const struct opt *o, const char *value, void *field, struct error *e)
{
	enum err kind = option_set_text(o, value, field, e);

	if (kind)
		return kind;
	for (char *c = *(char **)field; *c; c++)
		if (*c == ':')
			*c = ',';
	return ERR_OK;
}

enum err option_set_seconds(const struct opt *o, const char *value, void *field, struct error *e)
{
	char *end;
	double seconds = strtod(value, &end);

	if (end == value || *end || !(seconds >= 0 && seconds <= SECONDS_MAX))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': %s is a number of seconds, as in %s1.5", o->name, value,
			o->argument, o->name);
	*(int64_t *)field = (int64_t)(seconds * 1000 + 0.5);
	return ERR_OK;
}

/* base/call.h: 0 would be the default there, negative is none. */
enum err option_set_progress(const struct opt *o, const char *value, void *field, struct error *e)
{
	enum err kind = option_set_seconds(o, value, field, e);

	if (!kind && !*(int64_t *)field)
		*(int64_t *)field = -1;
	return kind;
}

static bool parse_count(const char *value, int64_t max, int64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoll(value, &end, 10);
	return value[0] >= '0' && value[0] <= '9' && !*end && !errno && *out <= max;
}

enum err option_set_threads(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (!parse_count(value, THREADS_MAX, field) || !*(int64_t *)field)
		return error_set(e, ERR_INVALID, "option '%s%.60s': %s is 1 to %d", o->name, value,
			o->argument, THREADS_MAX);
	return ERR_OK;
}

enum err option_set_pids(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (!parse_count(value, PIDS_MAX, field) || *(int64_t *)field < PIDS_MIN)
		return error_set(e, ERR_INVALID, "option '%s%.60s': %s is %d to %d", o->name, value,
			o->argument, PIDS_MIN, PIDS_MAX);
	return ERR_OK;
}

enum err option_set_uid(const struct opt *o, const char *value, void *field, struct error *e)
{
	const struct passwd *user = getpwnam(value);

	if (user)
		*(int64_t *)field = user->pw_uid;
	else if (!parse_count(value, UINT32_MAX - 1, field))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': no such user here; give a name or a number", o->name,
			value);
	return ERR_OK;
}

enum err option_set_gid(const struct opt *o, const char *value, void *field, struct error *e)
{
	const struct group *group = getgrnam(value);

	if (group)
		*(int64_t *)field = group->gr_gid;
	else if (!parse_count(value, UINT32_MAX - 1, field))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': no such group here; give a name or a number", o->name,
			value);
	return ERR_OK;
}

/* Stores the index of the word in o->argument. */
enum err option_set_choice(const struct opt *o, const char *value, void *field, struct error *e)
{
	size_t len = strlen(value);
	int number = 0;

	for (const char *word = o->argument;; number++) {
		size_t word_len = strcspn(word, "|");

		if (word_len == len && !memcmp(word, value, len)) {
			*(int *)field = number;
			return ERR_OK;
		}
		if (!word[word_len])
			return error_set(e, ERR_INVALID, "option '%s%.60s': use one of %s", o->name,
				value, o->argument);
		word += word_len + 1;
	}
}

/* `argument` has the reason. */
enum err option_refuse(const struct opt *o, const char *value, void *field, struct error *e)
{
	(void)value;
	(void)field;
	return error_set(e, ERR_INVALID, "option '%s': %s", o->name, o->help);
}

/* ---- For a new sandbox ---- */

enum err option_set_word(const struct opt *o, const char *value, void *field, struct error *e)
{
	char ***list = field, **grown;
	size_t count = 0;

	(void)o;
	while (*list && (*list)[count])
		count++;
	grown = reallocarray(*list, count + 2, sizeof *grown);
	if (!grown)
		return error_set(e, ERR_NO_MEMORY, "options");
	*list = grown;
	grown[count] = strdup(value);
	grown[count + 1] = NULL;
	return grown[count] ? ERR_OK : error_set(e, ERR_NO_MEMORY, "options");
}

void option_list_free(char **list)
{
	for (char **one = list; list && *one; one++)
		free(*one);
	free(list);
}

/* "NAME=VALUE" with a name. */
static enum err add_pair(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (*value == '=' || !strchr(value, '='))
		return error_set(e, ERR_INVALID, "option '%s%.60s': use %s%s", o->name, value,
			o->name, o->argument);
	return option_set_word(o, value, field, e);
}

enum err option_set_label(const struct opt *o, const char *value, void *field, struct error *e)
{
	return add_pair(o, value, field, e);
}

enum err option_set_allowed(const struct opt *o, const char *value, void *field, struct error *e)
{
	char place[REACH_MAX];

	if (!reach_read(place, value))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': use a host or addresses, as in %spypi.org, "
			"%s*.npmjs.org or %s10.0.0.0/8",
			o->name, value, o->name, o->name, o->name);
	return option_set_word(o, place, field, e);
}

/* A name that a shell can have. */
enum err option_set_variable(const struct opt *o, const char *value, void *field, struct error *e)
{
	size_t len =
		strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	if (value[len] != '=' || (*value >= '0' && *value <= '9'))
		return error_set(e, ERR_INVALID,
			"option '%s%.*s': a variable's name is of letters, digits and _, as in "
			"%sNAME=VALUE",
			o->name, (int)strcspn(value, "="), value, o->name);
	return add_pair(o, value, field, e);
}

enum err option_set_port(const struct opt *o, const char *value, void *field, struct error *e)
{
	uint16_t **list = field, *grown;
	size_t count = 0;
	int64_t port;

	if (!parse_count(value, UINT16_MAX, &port) || !port)
		return error_set(e, ERR_INVALID, "option '%s%.60s': %s is 1 to %d", o->name, value,
			o->argument, UINT16_MAX);
	for (; *list && (*list)[count]; count++)
		if ((*list)[count] == port)
			return ERR_OK;
	grown = reallocarray(*list, count + 2, sizeof *grown);
	if (!grown)
		return error_set(e, ERR_NO_MEMORY, "options");
	*list = grown;
	grown[count] = (uint16_t)port;
	grown[count + 1] = 0;
	return ERR_OK;
}

enum err option_set_cpus(const struct opt *o, const char *value, void *field, struct error *e)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number > 0 && number <= CPUS_MAX))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': %s is a number of processors, as in %s0.5", o->name,
			value, o->argument, o->name);
	*(double *)field = number;
	return ERR_OK;
}

/* In MiB; 0: no unit. */
static double unit_mb(const char *unit)
{
	switch (unit[0] && !unit[1] ? unit[0] : 0) {
	case 'K': return 1.0 / 1024;
	case 'M': return 1;
	case 'G': return 1024;
	}
	return 0;
}

/* The daemon has another working directory, and a line of fstab has none. */
enum err option_set_path(const struct opt *o, const char *value, void *field, struct error *e)
{
	enum err kind = source_check_path(value, e);

	return kind ? kind : option_set_text(o, value, field, e);
}

enum err option_set_shell(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (!user_shell_is_known(value))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': auto, sh, bash, login, or the absolute path of a shell "
			"in the sandbox",
			o->name, value);
	return option_set_text(o, value, field, e);
}

enum err option_set_dir(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (*value != '/' && strcmp(value, "off"))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': %s is a directory's absolute path, or off", o->name,
			value, o->argument);
	return option_set_text(o, value, field, e);
}

enum err option_set_file(const struct opt *o, const char *value, void *field, struct error *e)
{
	if (*value != '/')
		return error_set(e, ERR_INVALID, "option '%s%.60s': %s is an absolute path",
			o->name, value, o->argument);
	return option_set_text(o, value, field, e);
}

/*
 * Rounded up to whole MiB. A number without a unit would be bytes for one and megabytes for
 * another.
 */
enum err option_set_size(const struct opt *o, const char *value, void *field, struct error *e)
{
	char *end;
	double size_mb = strtod(value, &end);

	size_mb = end == value ? 0 : size_mb * unit_mb(end);
	if (!(size_mb > 0 && size_mb <= SIZE_MAX_MB))
		return error_set(e, ERR_INVALID,
			"option '%s%.60s': %s is a number with K, M or G behind it, as in %s512M",
			o->name, value, o->argument, o->name);
	*(int64_t *)field = (int64_t)size_mb + (size_mb > (double)(int64_t)size_mb);
	return ERR_OK;
}
