#include "cache/blocks/shown.h"

#include "cache/blocks/block.h"
#include "cache/blocks/records.h"
#include "cache/session/disk.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/base/sha256.h"
#include "providers/base/time.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Room for 340,000 files, in a file that has holes where nothing was noted yet. */
#define TABLE_BYTES ((uint64_t)16 * 1024 * 1024)

struct shown {
	struct records *records;
	char *name; /* the sandbox and the directory */
	size_t sandbox_len;
	/*
	 * Something was noted of the sandbox. Without it no file of a large tree need be looked
	 * for.
	 */
	atomic_bool has_any;
};

/* The value in the table. */
struct value {
	uint64_t number;
	int64_t real_ns, shown_ns; /* ctimes */
};

static void key_of(
	const struct shown *s, const struct attr *real, unsigned char key[RECORDS_KEY_SIZE])
{
	uint64_t facts[5] = { real->dev, real->ino, attr_lasting_birth(real) };
	struct block_name sandbox = block_name(s->name, s->sandbox_len);

	memcpy(&facts[3], &sandbox, sizeof sandbox);
	struct block_name hash = block_name(facts, sizeof facts);

	memcpy(key, hash.bytes, RECORDS_KEY_SIZE);
}

/* ---- Whether the sandbox has any record ---- */

/* Attributes that no file has. */
static const struct attr any;

static void look_for_any(struct shown *s)
{
	unsigned char key[RECORDS_KEY_SIZE];
	struct value value;

	key_of(s, &any, key);
	s->has_any = records_find(s->records, key, &value);
}

/*
 * Called when the first record is noted, and again at the end, so that this one is not forgotten
 * before the rest.
 */
static void note_any(struct shown *s)
{
	static const struct value nothing;
	unsigned char key[RECORDS_KEY_SIZE];

	key_of(s, &any, key);
	records_note(s->records, key, &nothing);
}

static void note(struct shown *s, const unsigned char key[RECORDS_KEY_SIZE], const struct value *v)
{
	if (!atomic_exchange(&s->has_any, true))
		note_any(s);
	records_note(s->records, key, v);
}

/* ---- Life ---- */

static enum err open_table(struct shown *s, const char *dir, struct error *e)
{
	AUTO_CLOSE int at = -1;
	enum err kind = disk_open_own(&at, dir, e);
	int fd = kind ? -1 : openat(at, "shown", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (kind)
		return kind;
	return fd < 0 ? disk_error(dir, e)
		      : records_open(&s->records, fd, TABLE_BYTES, sizeof(struct value), e);
}

enum err shown_new(struct shown **out, const struct shown_options *options, struct error *e)
{
	struct shown *s = calloc(1, sizeof *s);
	int len = s
		? asprintf(&s->name, "%s:%s:%s", options->provider, options->sandbox, options->root)
		: -1;
	enum err kind = len < 0 ? error_set(e, ERR_NO_MEMORY, "cache") : ERR_OK;

	if (s && len < 0)
		s->name = NULL;
	if (!kind) {
		s->sandbox_len = (size_t)len - strlen(options->root);
		kind = open_table(s, options->dir, e);
	}
	if (kind) {
		shown_free(s);
		return kind;
	}
	look_for_any(s);
	*out = s;
	return ERR_OK;
}

void shown_free(struct shown *s)
{
	if (!s)
		return;
	if (s->has_any)
		note_any(s);
	records_free(s->records);
	free(s->name);
	free(s);
}

/* ---- Inodes ---- */

static int64_t to_ns(struct timespec t)
{
	return (int64_t)((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

static struct timespec from_ns(int64_t ns)
{
	int64_t part = (ns % 1000000000 + 1000000000) % 1000000000;

	return (struct timespec){ .tv_sec = (ns - part) / 1000000000, .tv_nsec = part };
}

void shown_note(struct shown *s, const struct attr *real, const struct shown_inode *as)
{
	const struct value value = {
		.number = as->number, .real_ns = to_ns(real->ctime), .shown_ns = to_ns(as->ctime)
	};
	unsigned char key[RECORDS_KEY_SIZE];

	if (!s)
		return;
	key_of(s, real, key);
	note(s, key, &value);
}

bool shown_find(struct shown *s, const struct attr *real, struct shown_inode *out)
{
	unsigned char key[RECORDS_KEY_SIZE];
	struct value value;

	if (!s || !s->has_any)
		return false;
	key_of(s, real, key);
	if (!records_find(s->records, key, &value))
		return false;
	bool is_unchanged = value.real_ns == to_ns(real->ctime);

	out->number = value.number;
	out->ctime = is_unchanged ? from_ns(value.shown_ns) : real->ctime;
	return is_unchanged || attr_lasting_birth(real);
}

/* ---- Links ---- */

/* false: no memory; then nothing is noted, and nothing found. */
static bool key_of_link(const struct shown *s, const struct attr *link, const char *path,
	const char *text, unsigned char key[RECORDS_KEY_SIZE])
{
	AUTO_BUF struct buf all = BUF_INIT(4 * PATH_MAX + 4096);
	unsigned char hash[SHA256_SIZE];
	const char *const texts[] = { s->name, path, text };
	int64_t ctime_ns = to_ns(link->ctime);

	/* Each text has its end with it, so that no two combinations are the same bytes. */
	for (int n = 0; n < 3; n++)
		buf_add(&all, texts[n], strlen(texts[n]) + 1);
	buf_add(&all, &link->dev, sizeof link->dev);
	buf_add(&all, &link->ino, sizeof link->ino);
	buf_add(&all, &link->btime_ns, sizeof link->btime_ns);
	/* Where births are not known an inode number may have been used again. */
	if (!link->btime_ns)
		buf_add(&all, &ctime_ns, sizeof ctime_ns);
	sha256(all.bytes, all.len, hash);
	memcpy(key, hash, RECORDS_KEY_SIZE);
	return !all.failed;
}

void shown_note_link(struct shown *s, const struct attr *link, const char *path, const char *text)
{
	static const struct value nothing;
	unsigned char key[RECORDS_KEY_SIZE];

	if (s && key_of_link(s, link, path, text, key))
		note(s, key, &nothing);
}

bool shown_knows_link(struct shown *s, const struct attr *link, const char *path, const char *text)
{
	static const struct value nothing;
	unsigned char key[RECORDS_KEY_SIZE];
	struct value value;

	/*
	 * The key of an inode's record can be forged by a program that chooses the inode, but its
	 * value is never empty.
	 */
	return s && s->has_any && key_of_link(s, link, path, text, key) &&
		records_find(s->records, key, &value) && !memcmp(&value, &nothing, sizeof value);
}
