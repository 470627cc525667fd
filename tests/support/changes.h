/*
 * changes.h - changes in a line each: CHANGE(WRITE, "f", .offset = 2, TEXT("XY")).
 */
#pragma once

#include "providers/verbs.h"

/* The initializer of a change; no owner is asked for. */
#define CHANGE_ROW(kind, name, ...)                                                                \
	{                                                                                          \
		.op = CHANGE_##kind, .path = (name), .uid = CHANGE_NO_OWNER,                       \
		.gid = CHANGE_NO_OWNER, __VA_ARGS__                                                \
	}
#define CHANGE(...) ((struct change)CHANGE_ROW(__VA_ARGS__))

#define TEXT(text) .data = (text), .data_len = sizeof(text) - 1
