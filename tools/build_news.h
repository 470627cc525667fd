/*
 * build_news.h - news of the build of a new sandbox's image: a line on a terminal meanwhile, and
 * the end of the vendor's log where the build fails.
 */
#pragma once

#include "providers/build_log.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILD_NEWS_KEPT 20

struct build_news {
	struct build_log log;        /* first: providers write to it */
	char *kept[BUILD_NEWS_KEPT]; /* owned; the last lines: line n is at n % KEPT */
	size_t count;
	int64_t began_ms;
	bool is_terminal, is_shown;
};

void build_news_begin(struct build_news *n);
/* Clears the line. `failed`: the kept lines are printed on standard error. */
void build_news_end(struct build_news *n, bool failed);
