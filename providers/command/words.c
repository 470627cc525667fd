#include "providers/command/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void words_release(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->argv[i]);
	*w = (struct words){ 0 };
}

void words_add(struct words *w, const char *format, ...)
{
	va_list args;

	if (w->count == WORDS_MAX) {
		w->failed = true;
		return;
	}
	va_start(args, format);
	if (vasprintf(&w->argv[w->count], format, args) < 0) {
		w->argv[w->count] = NULL;
		w->failed = true;
	} else {
		w->count++;
	}
	va_end(args);
}

void words_add_all(struct words *w, const char *const *words)
{
	for (; *words; words++)
		words_add(w, "%s", *words);
}

enum err words_check(const struct words *w, struct error *e)
{
	return w->failed ? error_set(e, ERR_NO_MEMORY, "the words of a program") : ERR_OK;
}
