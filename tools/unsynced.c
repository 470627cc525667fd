#include "tools/unsynced.h"

#include "providers/base/cleanup.h"
#include "providers/rest/rest.h"
#include "tools/bytes_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Far more than a mount writes. */
#define STATUS_MAX ((size_t)1024 * 1024)
#define PIECE      ((size_t)64 * 1024)

bool unsynced_parse(struct unsynced *out, const struct buf *status)
{
	AUTO_JSON struct json_object *whole = NULL;
	const char *journal;

	if (!rest_parse(status, &whole) || rest_integer(whole, "pending_changes", -1) < 0)
		return false;
	out->changes = rest_integer(whole, "pending_changes", 0);
	out->bytes = rest_integer(whole, "pending_bytes", 0);
	out->leaving = rest_integer(whole, "leaving_bytes", 0);
	out->refused = rest_integer(whole, "parked_changes", 0);
	journal = rest_text(rest_member(whole, "journal"), "dir", "");
	snprintf(out->journal, sizeof out->journal, "%s", journal);
	return true;
}

/* Returns an errno. */
static int read_whole(int fd, struct buf *out)
{
	ssize_t got;

	do {
		unsigned char *room = buf_reserve(out, PIECE);

		if (!room)
			return EFBIG;
		got = read(fd, room, PIECE);
		if (got > 0)
			buf_filled(out, (size_t)got);
	} while (got > 0);
	return got < 0 ? errno : 0;
}

int unsynced_read(struct unsynced *out, const char *dir)
{
	AUTO_BUF struct buf path = BUF_INIT(PATH_MAX), text = BUF_INIT(STATUS_MAX);

	buf_printf(&path, "%s/.sandbox/status", dir);
	if (path.failed)
		return ENAMETOOLONG;

	AUTO_CLOSE int fd = open(buf_text(&path), O_RDONLY | O_CLOEXEC);
	int failure = fd < 0 ? errno : read_whole(fd, &text);

	if (failure)
		return failure;
	return unsynced_parse(out, &text) ? 0 : EPROTO;
}

const char *unsynced_words(const struct unsynced *o, char words[UNSYNCED_WORDS_MAX])
{
	char size[BYTES_TEXT_SIZE];

	snprintf(words, UNSYNCED_WORDS_MAX, "%lld change%s, %s", (long long)o->changes,
		o->changes == 1 ? "" : "s", bytes_text((uint64_t)o->bytes, size));
	return words;
}
