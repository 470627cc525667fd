#include "providers/build_log.h"

#include "providers/base/cleanup.h"

#include <string.h>

void build_log_tell(struct build_log *log, const char *text)
{
	AUTO_FREE char *copy = log ? strdup(text) : NULL;
	char *rest = copy, *line;

	while (copy && (line = strsep(&rest, "\r\n")))
		if (*line)
			log->line(log, line);
}

void build_log_tell_state(struct build_log *log, const char *text)
{
	if (log)
		log->state(log, text);
}
