#include "tests/oracle/outcome.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#define DAY_S 86400

void text_release(struct text *t)
{
	free(t->bytes);
	*t = (struct text){ 0 };
}

void text_clear(struct text *t)
{
	t->len = 0;
	if (t->bytes)
		t->bytes[0] = '\0';
}

static void text_reserve(struct text *t, size_t more)
{
	size_t wanted = t->len + more + 1;

	if (wanted <= t->size)
		return;
	t->size = wanted * 2;
	t->bytes = realloc(t->bytes, t->size);
	if (!t->bytes)
		abort();
}

void text_add(struct text *t, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, format, args);
	text_reserve(t, (size_t)len);
	vsnprintf(t->bytes + t->len, (size_t)len + 1, format, again);
	t->len += (size_t)len;
	va_end(again);
	va_end(args);
}

void text_add_escaped(struct text *t, const void *bytes, size_t len)
{
	const unsigned char *c = bytes;

	for (size_t i = 0; i < len; i++) {
		bool plain = c[i] >= 0x20 && c[i] < 0x7f && c[i] != '\\' && c[i] != '"';

		text_add(t, plain ? "%c" : "\\x%02x", c[i]);
	}
}

/*
 * FNV-1a, eight bytes at a time where there are as many: the hash only has to distinguish two
 * contents.
 */
uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *c = bytes;
	uint64_t hash = 0xcbf29ce484222325u, word;

	for (; len >= sizeof word; len -= sizeof word, c += sizeof word) {
		memcpy(&word, c, sizeof word);
		hash = (hash ^ word) * 0x100000001b3u;
		hash ^= hash >> 29;
	}
	for (; len; len--, c++)
		hash = (hash ^ *c) * 0x100000001b3u;
	return hash;
}

void text_add_data(struct text *t, const void *bytes, size_t len)
{
	text_add(t, "%zu bytes, hash %016jx: \"", len, (uintmax_t)hash_bytes(bytes, len));
	text_add_escaped(t, bytes, len < 24 ? len : 24);
	text_add(t, "\"\n");
}

long outcome_take(struct outcome *o, long ret)
{
	o->ret = ret;
	o->err = ret < 0 ? errno : 0;
	return ret;
}

void outcome_take_fd(struct outcome *o, int fd)
{
	outcome_take(o, fd < 0 ? -1 : 0);
}

bool outcome_equal(const struct outcome *a, const struct outcome *b)
{
	return a->ret == b->ret && a->err == b->err && a->facts.len == b->facts.len &&
		!memcmp(a->facts.bytes ? a->facts.bytes : "", b->facts.bytes ? b->facts.bytes : "",
			a->facts.len);
}

static void text_add_time(
	struct text *t, const char *name, const struct timespec *ts, const struct stat_rules *rules)
{
	time_t away = time(NULL) - ts->tv_sec;

	if (away > -DAY_S && away < DAY_S)
		text_add(t, " %s=now", name);
	else if (rules->nanos)
		text_add(t, " %s=%jd.%09ld", name, (intmax_t)ts->tv_sec, ts->tv_nsec);
	else
		text_add(t, " %s=%jd", name, (intmax_t)ts->tv_sec);
}

void text_add_stat(struct text *t, const struct stat *st, const struct stat_rules *rules)
{
	text_add(t, "mode=%06o", (unsigned)st->st_mode);
	if (rules->nlink)
		text_add(t, " nlink=%ju", (uintmax_t)st->st_nlink);
	text_add(t, " uid=%u gid=%u", (unsigned)st->st_uid, (unsigned)st->st_gid);
	/* A directory's size is its file system's affair. */
	if (!S_ISDIR(st->st_mode))
		text_add(t, " size=%jd", (intmax_t)st->st_size);
	if (rules->rdev && (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)))
		text_add(t, " rdev=%u:%u", major(st->st_rdev), minor(st->st_rdev));
	if (S_ISFIFO(
		    /* bytes through a FIFO never reach the file system, nor does their time */
		    st->st_mode)) {
		text_add(t, "\n");
		return;
	}
	text_add_time(t, "mtime", &st->st_mtim, rules);
	text_add_time(t, "ctime", &st->st_ctim, rules);
	if (rules->atime)
		text_add_time(t, "atime", &st->st_atim, rules);
	text_add(t, "\n");
}
