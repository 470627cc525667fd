/*
 * envd_changes.h - the messages of filesystem.Filesystem/WatchDir in the terms of verbs.h.
 */
#pragma once

#include "providers/verbs.h"

struct envd_changes {
	const char *staging; /* below the watched directory; NULL: nothing is hidden */
	watch_sink sink;
	void *context;
	bool is_ready;   /* the start was heard of */
	bool is_stopped; /* by the sink, whose error is passed on as it is */
};

/*
 * Hands a WatchDirResponse on; `context` is a struct envd_changes. ERR_UNREACHABLE: the watched directory went, and nothing
 * more will come; ERR_PROTOCOL: it makes no sense; else what the sink returned.
 */
enum err envd_changes_decode(void *context, const void *message, size_t len, struct error *e);
