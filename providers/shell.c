#include "providers/shell.h"

#include "providers/base/cleanup.h"
#include "providers/shell_script.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Who commands run as ---- */

static size_t identity_follow(void *context, const char *record)
{
	(void)context;
	return record[0] == 'I' ? 1 : SIZE_MAX;
}

static bool read_id(char **at, uint32_t *out)
{
	char *end;
	unsigned long long value = strtoull(*at, &end, 10);

	if (end == *at || value > UINT32_MAX)
		return false;
	*out = (uint32_t)value;
	*at = end;
	return true;
}

/* "1000\n1000\n1000 27 100\n" */
enum err shell_parse_identity(const char *text, struct identity *out, struct error *e)
{
	char *at = (char *)text;

	*out = (struct identity){ 0 };
	if (!read_id(&at, &out->uid) || !read_id(&at, &out->gid))
		return error_set(e, ERR_PROTOCOL, "id: '%.40s'", text);
	while (out->groups_count < IDENTITY_GROUPS_MAX &&
		read_id(&at, &out->groups[out->groups_count]))
		out->groups_count++;
	return ERR_OK;
}

static enum err identity_message(
	void *context, char **records, size_t count, uint64_t *raw, struct error *e)
{
	(void)count, (void)raw;
	return shell_parse_identity(records[1], context, e);
}

enum err shell_identity(
	struct provider *p, const struct call *call, struct identity *out, struct error *e)
{
	static const char ask[] = "printf 'I\\0' >&6\n{ id -u && id -g && id -G; } >&6\n"
				  "printf '\\0' >&6\n";
	const struct script_reader reader = {
		.follow = identity_follow, .message = identity_message, .context = out
	};
	AUTO_SCRIPT struct script s;

	*out = (struct identity){ 0 };
	script_init(&s, p, "");
	buf_add_string(&s.text, ask);
	return script_run(&s, p, call, &reader, e);
}
