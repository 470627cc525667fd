#include "tests/oracle/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- Chance: splitmix64, begun anew for each step ---- */

struct chance {
	uint64_t state;
};

static uint64_t next(struct chance *c)
{
	uint64_t z = c->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static unsigned below(struct chance *c, uint64_t limit)
{
	return (unsigned)(next(c) % limit);
}

static bool per_cent(struct chance *c, unsigned odds)
{
	return below(c, 100) < odds;
}

void pattern_fill(void *dst, size_t len, uint64_t salt)
{
	struct chance chance = { salt };
	unsigned char *out = dst;
	uint64_t word;

	for (size_t n; len; len -= n, out += n) {
		n = len < sizeof word ? len : sizeof word;
		word = next(&chance) | 0x0101010101010101u; /* no zeros: those are holes */
		memcpy(out, &word, n);
	}
}

/* ---- Names ---- */

static const char *const plain_names[] = { "a", "b", "c", "d", "e", "f" };
static const char *const folder_names[] = { "p", "q", "r" };
static const char *const odd_names[] = { "new\nline", "\xff\xfe\x80", "sp ace '\"$`\\*", "-rf",
	".hid", "\x01\x7f\x1b[2J", "e\xcc\x81", "\xc3\xa9", "...", "%n%s", "C:", "a,b=c" };

/* 255 bytes: the longest name; 256: one too many. */
static void add_long_name(char *path, size_t len)
{
	size_t at = strlen(path);

	memset(path + at, 'L', len);
	path[at + len] = '\0';
}

static void add_name(struct chance *c, char *path, unsigned plain_odds)
{
	unsigned dice = below(c, 1000);

	if (dice < 25)
		strcat(path, odd_names[below(c, COUNT(odd_names))]);
	else if (dice < 32)
		add_long_name(path, 255);
	else if (dice < 36)
		add_long_name(path, 256);
	else if (per_cent(c, plain_odds))
		strcat(path, plain_names[below(c, COUNT(plain_names))]);
	else
		strcat(path, folder_names[below(c, COUNT(folder_names))]);
}

static void repeat(char *path, const char *piece, size_t total)
{
	while (strlen(path) + strlen(piece) <= total)
		strcat(path, piece);
}

/* About one path in a hundred is no name in a folder but one of these. */
static void fill_strange_path(struct chance *c, char *path)
{
	switch (below(c, 6)) {
	case 0: strcpy(path, "."); break;
	case 1: /* no path at all */ break;
	case 2: /* the longest path: 4095 bytes */
		repeat(path, "./", 4094);
		strcat(path, "a");
		break;
	case 3: /* a byte too long */ repeat(path, "p/", 4096); break;
	case 4: strcpy(path, "p/.."); break;
	default: strcpy(path, "a/."); break;
	}
}

static void fill_path(struct chance *c, bool folder, char *path)
{
	unsigned dice = below(c, 100), names = dice < 55 ? 1 : dice < 88 ? 2 : dice < 97 ? 3 : 4;

	path[0] = '\0';
	if (below(c, 1000) < 12) {
		fill_strange_path(c, path);
		return;
	}
	for (unsigned i = 0; i < names; i++) {
		if (i)
			strcat(path, per_cent(c, 1) ? "//" : "/");
		if (i + 1 < names && i > 0 && per_cent(c, 2))
			strcat(path, "../");
		add_name(c, path, i + 1 < names ? 4 : folder ? 25 : 80);
	}
	if (per_cent(c, 2))
		strcat(path, "/");
}

static void fill_where(struct chance *c, bool folder, struct where *w)
{
	unsigned dice = below(c, 100);

	w->base = dice < 82 ? BASE_ROOT : dice < 92 ? BASE_SLOT : BASE_CWD;
	w->slot = (int)below(c, SLOTS);
	fill_path(c, folder, w->path);
}

static void fill_link_text(struct chance *c, char *text)
{
	unsigned dice = below(c, 100);

	text[0] = '\0';
	if (dice < 3)
		strcpy(text,
			/* no file can be made there, where both sides would share it */
			"/proc/nonexistent");
	else if (dice < 5)
		repeat(text, "./", per_cent(c, 50) ? 4094 : 4096);
	else if (dice < 6)
		return; /* ENOENT */
	else if (dice < 26)
		strcpy(text, "../");
	else if (dice < 30)
		strcpy(text, "./");
	add_name(c, text, 50);
	if (per_cent(c, 20))
		add_name(c, strcat(text, "/"), 75);
	if (per_cent(c, 3))
		strcat(text, "/");
}

static void fill_xattr_name(struct chance *c, char *text)
{
	static const char *const names[] = { "user.a", "user.b", "user.c", "user.some.thing",
		"user.\xff", "user.sp ace" };
	unsigned dice = below(c, 100);

	strcpy(text, names[below(c, COUNT(names))]);
	if (dice < 3)
		add_long_name(strcpy(text, "user."), 250);
	else if (dice < 5)
		add_long_name(strcpy(text, "user."), 251);
	else if (dice < 7)
		strcpy(text, "user.");
}

/* ---- Numbers ---- */

static off_t some_offset(struct chance *c)
{
	static const off_t edges[] = { 0, 1, 511, 4095, 4096, 4097, 8192, 65535, 65536, 131072,
		131073, -1, INT64_MAX, INT64_MIN };
	unsigned dice = below(c, 100);

	if (dice < 30)
		return below(c, 100);
	if (dice < 60)
		return below(c, 20000);
	if (dice < 85)
		return edges[below(c, 11)];
	if (dice < 87)
		return edges[11 + below(c, 3)];
	return below(c, dice < 98 ? 300000 : 3000000);
}

static size_t some_length(struct chance *c)
{
	static const size_t edges[] = { 0, 1, 4095, 4096, 4097, 65536, 131072, 131073 };
	unsigned dice = below(c, 100);

	if (dice < 45)
		return below(c, 200);
	if (dice < 75)
		return below(c, 10000);
	if (dice < 93)
		return edges[below(c, COUNT(edges))];
	return below(c, 400000);
}

static mode_t some_mode(struct chance *c)
{
	static const mode_t usual[] = { 0644, 0755, 0600, 0700, 0666, 0777, 01777, 02775, 04755,
		06755, 02644, 0444, 0555 };

	return per_cent(c, 75) ? usual[below(c, COUNT(usual))] : (mode_t)below(c, 010000);
}

static struct timespec some_time(struct chance *c)
{
	static const time_t edges[] = { 0, -1, -86400, 2147483647, 2147483648, 4294967296,
		8589934592 };
	unsigned dice = below(c, 100);
	struct timespec ts = { .tv_sec = 1000000000 + (time_t)below(c, 300000000),
		.tv_nsec = (long)below(c, 1000000000) };

	if (dice < 15)
		ts.tv_nsec = UTIME_NOW;
	else if (dice < 30)
		ts.tv_nsec = UTIME_OMIT;
	else if (dice < 31)
		ts.tv_nsec = 1000000000; /* EINVAL */
	else if (dice < 40)
		ts.tv_sec = edges[below(c, COUNT(edges))];
	return ts;
}

static int some_choice(struct chance *c, const struct flag *choices)
{
	unsigned sum = 0, dice;

	if (!choices)
		return 0;
	for (const struct flag *f = choices; f->name; f++)
		sum += f->odds;
	dice = below(c, sum);
	while (dice >= choices->odds)
		dice -= (choices++)->odds;
	return choices->value;
}

static int some_flags(struct chance *c, const struct flag *flags)
{
	int sum = 0;

	for (const struct flag *f = flags; f && f->name; f++)
		if (per_cent(c, f->odds))
			sum |= f->value;
	return sum;
}

static unsigned some_owner(struct chance *c)
{
	static const unsigned owners[] = { 0, 20001, 20002, 20001, 20002, 4242, (unsigned)-1,
		(unsigned)-1 };

	return owners[below(c, COUNT(owners))];
}

/* ---- Calls ---- */

static void take_ops(struct trace *t, const struct op *table)
{
	for (; table->name; table++) {
		if (t->ops_count == OPS_MAX)
			abort();
		t->ops[t->ops_count++] = table;
		t->weight += table->weight;
	}
}

void trace_init(struct trace *t, uint64_t seed, bool as_users)
{
	*t = (struct trace){ .seed = seed, .as_users = as_users };
	take_ops(t, ops_names);
	take_ops(t, ops_contents);
	take_ops(t, ops_attributes);
	take_ops(t, ops_directories);
}

const struct op *trace_find_op(const struct trace *t, const char *name)
{
	for (size_t i = 0; i < t->ops_count; i++)
		if (!strcmp(t->ops[i]->name, name))
			return t->ops[i];
	return NULL;
}

static const struct op *some_op(const struct trace *t, struct chance *c)
{
	unsigned dice = below(c, t->weight);
	const struct op *const *op = t->ops;

	while (dice >= (*op)->weight)
		dice -= (*op++)->weight;
	return *op;
}

void trace_call(const struct trace *t, unsigned long step, struct call *c)
{
	struct chance chance = { t->seed * 0xd1342543de82ef95u + step * 0x2545f4914f6cdd1du };

	next(&chance);
	c->step = step;
	c->op = some_op(t, &chance);
	c->user = t->as_users && per_cent(&chance, 45) ? 1 + (int)below(&chance, USERS - 1) : 0;
	fill_where(&chance, c->op->uses & WANTS_FOLDER, &c->at[0]);
	fill_where(&chance, c->op->uses & WANTS_FOLDER, &c->at[1]);
	for (int i = 0; i < 2; i++) {
		c->slot[i] = (int)below(&chance, SLOTS);
		c->offset[i] = some_offset(&chance);
		c->times[i] = some_time(&chance);
	}
	c->choice = some_choice(&chance, c->op->choices);
	c->flags = some_flags(&chance, c->op->flags);
	c->mode = some_mode(&chance);
	if (t->plain_modes)
		c->mode = (c->mode & 01777) | 0700;
	c->length = some_length(&chance);
	c->salt = next(&chance);
	c->uid = some_owner(&chance);
	c->gid = some_owner(&chance);
	if (c->uid == (unsigned)-1 && c->gid == (unsigned)-1)
		c->gid = 4242; /* changing nothing is a call of its own */
	if (c->op->uses & USES_XATTR)
		fill_xattr_name(&chance, c->text);
	else
		fill_link_text(&chance, c->text);
}

/* ---- Description ---- */

static void describe_text(struct text *out, const char *text)
{
	size_t len = strlen(text);

	text_add(out, "\"");
	text_add_escaped(out, text, len < 120 ? len : 60);
	text_add(out, len < 120 ? "\"" : "\"... (%zu bytes)", len);
}

static void describe_where(struct text *out, const struct where *w)
{
	if (w->base == BASE_SLOT)
		text_add(out, "fd%d:", w->slot);
	else if (w->base == BASE_CWD)
		text_add(out, "cwd:");
	describe_text(out, w->path);
}

static void describe_time(struct text *out, const struct timespec *ts)
{
	if (ts->tv_nsec == UTIME_NOW)
		text_add(out, "now");
	else if (ts->tv_nsec == UTIME_OMIT)
		text_add(out, "omit");
	else
		text_add(out, "%jd.%09ld", (intmax_t)ts->tv_sec, ts->tv_nsec);
}

static void describe_flags(struct text *out, const struct call *c)
{
	const char *between = " ";

	for (const struct flag *f = c->op->choices; f && f->name; f++)
		if (f->value == c->choice) {
			text_add(out, "%s%s", between, f->name);
			between = "|";
			break;
		}
	for (const struct flag *f = c->op->flags; f && f->name; f++)
		if (c->flags & f->value) {
			text_add(out, "%s%s", between, f->name);
			between = "|";
		}
}

static void describe_numbers(struct text *out, const struct call *c)
{
	unsigned uses = c->op->uses;

	if (uses & USES_MODE)
		text_add(out, " mode=%04o", (unsigned)c->mode);
	if (uses & USES_OFFSET)
		text_add(out, " offset=%jd", (intmax_t)c->offset[0]);
	if (uses & USES_OFFSET2)
		text_add(out, " offset2=%jd", (intmax_t)c->offset[1]);
	if (uses & USES_LENGTH)
		text_add(out, " length=%zu", c->length);
	if (uses & USES_OWNER)
		text_add(out, " uid=%d gid=%d", (int)c->uid, (int)c->gid);
	if (uses & USES_TIMES) {
		describe_time(out, (text_add(out, " atime="), &c->times[0]));
		describe_time(out, (text_add(out, " mtime="), &c->times[1]));
	}
}

void call_describe(const struct call *c, struct text *out)
{
	unsigned uses = c->op->uses;

	text_add(out, "%lu: ", c->step);
	if (c->user)
		text_add(out, "user %d: ", c->user);
	text_add(out, "%s", c->op->name);
	if (uses & USES_SLOT)
		text_add(out, " fd%d", c->slot[0]);
	if (uses & USES_SLOT2)
		text_add(out, " fd%d", c->slot[1]);
	if (uses & (USES_LINK_TEXT | USES_XATTR))
		describe_text(out, (text_add(out, " "), c->text));
	if (uses & USES_PATH)
		describe_where(out, (text_add(out, " "), &c->at[0]));
	if (uses & USES_PATH2)
		describe_where(out, (text_add(out, " "), &c->at[1]));
	describe_flags(out, c);
	describe_numbers(out, c);
}
