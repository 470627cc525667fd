#include "providers/shell.h"

#include "providers/base/cleanup.h"
#include "providers/shell_script.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- Who commands run as ---- */

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
