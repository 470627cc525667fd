/*
 * log.h - one line per event, by component and level, to stderr or syslog.
 *
 * The one piece of state that belongs to the process and not to a struct: where lines go and which
 * are wanted. log_setup() sets it once before threads start; afterwards it is only read. Every line
 * is made harmless (harmless.h). No caller passes a key.
 */
#pragma once

#include "providers/base/error.h"

#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

enum log_component {
	LOG_TOOLS,
	LOG_FS,
	LOG_CONTROL,
	LOG_CACHE,
	LOG_LEASE,
	LOG_WRITE,
	LOG_PROVIDER,
	LOG_HELPER,
	LOG_HTTP,
	LOG_COMPONENTS, /* the number of components */
};

/*
 * `spec`: "warn", or "info,fs=debug,helper=error"; NULL: warn for all. ERR_INVALID names the wrong
 * word. `to_syslog`: lines go to syslog(3) under the name `program`; otherwise to stderr.
 */
enum err log_setup(const char *program, const char *spec, bool to_syslog, struct error *e);

bool log_wants(enum log_component component, enum log_level level);

__attribute__((format(printf, 3, 4))) void log_line(
	enum log_component component, enum log_level level, const char *format, ...);

#define log_error(component, ...) log_line(component, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(component, ...)  log_line(component, LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(component, ...)  log_line(component, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(component, ...)                                                                  \
	(log_wants(component, LOG_LEVEL_DEBUG) ? log_line(component, LOG_LEVEL_DEBUG, __VA_ARGS__) \
					       : (void)0)
