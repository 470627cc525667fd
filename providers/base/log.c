#include "providers/base/log.h"

#include "providers/base/harmless.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static const char *const component_names[LOG_COMPONENTS] = {
	[LOG_TOOLS] = "tools",
	[LOG_FS] = "fs",
	[LOG_CONTROL] = "control",
	[LOG_CACHE] = "cache",
	[LOG_LEASE] = "lease",
	[LOG_WRITE] = "write",
	[LOG_PROVIDER] = "provider",
	[LOG_HELPER] = "helper",
	[LOG_HTTP] = "http",
};

static const char *const level_names[] = { "error", "warn", "info", "debug" };
static const int level_priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

static struct {
	enum log_level levels[LOG_COMPONENTS];
	const char *program;
	bool to_syslog;
} log_state = { .levels = { LOG_LEVEL_WARN, LOG_LEVEL_WARN, LOG_LEVEL_WARN, LOG_LEVEL_WARN,
			LOG_LEVEL_WARN, LOG_LEVEL_WARN, LOG_LEVEL_WARN, LOG_LEVEL_WARN,
			LOG_LEVEL_WARN },
	.program = "sandboxfs" };

static int find(const char *const *names, int count, const char *word, size_t len)
{
	for (int i = 0; i < count; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], word, len))
			return i;
	return -1;
}

/* One word of the list: LEVEL or COMPONENT=LEVEL. */
static bool take_word(const char *word, size_t len)
{
	const char *equals = memchr(word, '=', len);
	const char *level_word = equals ? equals + 1 : word;
	int level = find(level_names, 4, level_word, len - (size_t)(level_word - word));

	if (level < 0)
		return false;
	if (!equals) {
		for (int i = 0; i < LOG_COMPONENTS; i++)
			log_state.levels[i] = (enum log_level)level;
		return true;
	}
	int component = find(component_names, LOG_COMPONENTS, word, (size_t)(equals - word));

	if (component < 0)
		return false;
	log_state.levels[component] = (enum log_level)level;
	return true;
}

static enum err refuse_word(const char *word, size_t len, struct error *e)
{
	char names[120] = "";

	for (size_t i = 0; i < LOG_COMPONENTS; i++) {
		strcat(names, i ? ", " : "");
		strcat(names, component_names[i]);
	}
	return error_set(e, ERR_INVALID,
		"log '%.*s': use error, warn, info or debug, alone or as COMPONENT=LEVEL (%s)",
		(int)len, word, names);
}

enum err log_setup(const char *program, const char *spec, bool to_syslog, struct error *e)
{
	log_state.program = program;
	log_state.to_syslog = to_syslog;
	if (to_syslog)
		openlog(program, LOG_PID, LOG_DAEMON);
	for (const char *word = spec ? spec : ""; *word;) {
		size_t len = strcspn(word, ",");

		if (!take_word(word, len))
			return refuse_word(word, len, e);
		word += len;
		word += *word == ',';
	}
	return ERR_OK;
}

bool log_wants(enum log_component component, enum log_level level)
{
	return level <= log_state.levels[component];
}

void log_line(enum log_component component, enum log_level level, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!log_wants(component, level))
		return;
	va_start(args, format);
	vsnprintf(line, sizeof line, format, args);
	va_end(args);
	harmless_make_string(line);
	if (log_state.to_syslog)
		syslog(level_priorities[level], "%s: %s: %s", component_names[component],
			level_names[level], line);
	else
		fprintf(stderr, "%s: %s: %s: %s\n", log_state.program, component_names[component],
			level_names[level], line);
}
