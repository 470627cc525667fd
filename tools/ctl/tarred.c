#include "tools/ctl/tarred.h"

#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/shell_quote.h"
#include "tools/ctl/archive.h"
#include "tools/ctl/directory.h"
#include "tools/command_call.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

/*
 * Bytes of the archive in one command; as text they are a third more, which any vendor's answer can
 * hold.
 */
#define PIECE_MAX  ((size_t)4 * 1024 * 1024)
#define BLOCK_SIZE 65536
#define OUTPUT_MAX (2 * PIECE_MAX)
#define SCRIPT_MAX ((size_t)16 * 1024)

/* ---- The directory here ---- */

static int open_up(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (S_ISDIR(st->st_mode) && type != FTW_SL)
		chmod(path, 0700);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	remove(path);
	return 0;
}

static const char *place_for_files(void)
{
	const char *tmp = secure_getenv("TMPDIR");

	return tmp && *tmp ? tmp : P_tmpdir;
}

static enum err no_place(struct error *e)
{
	return error_errno(e, errno, "%s: a copy on its way", place_for_files());
}

enum err tarred_open(struct tarred *t, struct error *e)
{
	enum err kind;

	*t = (struct tarred){ 0 };
	if (asprintf(&t->dir, "%s/sandboxctl-XXXXXX", place_for_files()) < 0) {
		t->dir = NULL;
		return error_set(e, ERR_NO_MEMORY, "a copy");
	}
	if (!mkdtemp(t->dir)) {
		free(take(t->dir));
		return no_place(e);
	}
	/* libarchive refuses a path that leads through a symbolic link, also TMPDIR's. */
	char *real = realpath(t->dir, NULL);

	if (real) {
		free(t->dir);
		t->dir = real;
	}
	kind = directory_open(t->dir, &t->at, e);
	if (kind)
		tarred_close(t);
	return kind;
}

void tarred_close(struct tarred *t)
{
	provider_release(t->at);
	if (t->dir) {
		nftw(t->dir, open_up, 16, FTW_PHYS);
		nftw(t->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	free(t->dir);
	*t = (struct tarred){ 0 };
}

/* An open file without a name. */
static enum err open_archive(int *out, struct error *e)
{
	*out = open(place_for_files(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	return *out < 0 ? no_place(e) : ERR_OK;
}

/* ---- A command in the sandbox ---- */

struct said {
	struct buf out, complaint;
};
#define SAID_INIT                                                                                  \
	{                                                                                          \
		.out = BUF_INIT(OUTPUT_MAX), .complaint = BUF_INIT(512)                            \
	}

static void said_release(struct said *s)
{
	buf_release(&s->out);
	buf_release(&s->complaint);
}
#define AUTO_SAID __attribute__((cleanup(said_release)))

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	struct said *s = context;
	size_t room = s->complaint.max - s->complaint.len;

	if (stream == STREAM_OUT) {
		buf_add(&s->out, bytes, len);
		return buf_check(&s->out, "an archive", e);
	}
	buf_add(&s->complaint, bytes, len < room ? len : room);
	return ERR_OK;
}

static enum err run_script(struct provider *p, const struct call *call, const struct buf *script,
	const void *input, size_t input_len, struct said *out, struct error *e)
{
	const struct call silent = command_call(p, call);
	const struct execute_request request = {
		.command = buf_text(script), .input = input, .input_len = input_len
	};
	struct execute_result result = { 0 };
	enum err kind = buf_check(script, "a script", e);

	if (!kind)
		kind = provider_execute(p, &silent, &request, take_output, out, &result, e);
	if (kind)
		return kind;
	if (!result.has_exit_code || result.exit_code)
		return error_set(e, ERR_IO, "in the sandbox: %.300s",
			out->complaint.len ? buf_text(&out->complaint) : "tar failed");
	return ERR_OK;
}

/* The archive's path in the sandbox, as the variable `f` of a script. */
static enum err begin_script(
	struct buf *out, char file[40], const struct provider *p, struct error *e)
{
	AUTO_BUF struct buf path = BUF_INIT(SCRIPT_MAX);
	uint64_t number;

	if (!*file) {
		if (getrandom(&number, sizeof number, 0) != sizeof number)
			return error_errno(e, errno, "getrandom");
		snprintf(file, 40, "request-%016" PRIx64, number);
	}
	buf_printf(&path, "%s/%s", p->staging, file);
	buf_add_string(out, "f=");
	shell_quote(out, buf_text(&path));
	buf_add_byte(out, '\n');
	return buf_check(&path, "a path in staging", e);
}

/* Best effort: an attach removes a leftover. */
static void remove_archive(struct provider *p, const struct call *call, char file[40])
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	AUTO_SAID struct said said = SAID_INIT;

	begin_script(&script, file, p, NULL);
	buf_add_string(&script, "rm -f -- \"$f\"\n");
	run_script(p, call, &script, NULL, 0, &said, NULL);
}

/* ---- To the sandbox ---- */

static enum err send_piece(struct provider *to, const struct call *call, char file[40],
	const void *bytes, size_t len, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	AUTO_SAID struct said said = SAID_INIT;
	enum err kind = begin_script(&script, file, to, e);

	buf_add_string(&script, "umask 077\ncat >>\"$f\"\n");
	return kind ? kind : run_script(to, call, &script, bytes, len, &said, e);
}

static enum err send_archive(struct provider *to, const struct call *call, char file[40], int fd,
	uint64_t size, struct error *e)
{
	AUTO_FREE char *bytes = malloc(PIECE_MAX);
	enum err kind = bytes ? ERR_OK : error_set(e, ERR_NO_MEMORY, "an archive");

	for (uint64_t at = 0; !kind && at < size;) {
		ssize_t got = pread(fd, bytes, PIECE_MAX, (off_t)at);

		if (got <= 0)
			return error_errno(e, got ? errno : EIO, "an archive");
		kind = send_piece(to, call, file, bytes, (size_t)got, e);
		at += (uint64_t)got;
	}
	return kind;
}

/* Owners of this machine mean nothing in the sandbox. */
static enum err unpack_there(
	struct provider *to, const struct call *call, char file[40], uint64_t size, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	AUTO_SAID struct said said = SAID_INIT;
	enum err kind = begin_script(&script, file, to, e);

	buf_printf(&script,
		"[ \"$(wc -c <\"$f\")\" -eq %" PRIu64 " ] || { echo 'the archive is not whole' "
		">&2; exit 1; }\ntar -xopf \"$f\"\n",
		size);
	return kind ? kind : run_script(to, call, &script, NULL, 0, &said, e);
}

enum err tarred_send(
	const struct tarred *t, const struct call *call, struct provider *to, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	char file[40] = "";
	struct stat st;
	enum err kind = open_archive(&fd, e);

	if (!kind)
		kind = archive_tree(t->dir, fd, true, e);
	if (!kind && fstat(fd, &st))
		kind = error_errno(e, errno, "an archive");
	if (kind)
		return kind;
	kind = send_archive(to, call, file, fd, (uint64_t)st.st_size, e);
	if (!kind)
		kind = unpack_there(to, call, file, (uint64_t)st.st_size, e);
	remove_archive(to, call, file);
	return kind;
}

/* ---- From the sandbox ---- */

/* Packs `name`; *size in bytes, 0: there is nothing. */
static enum err pack_there(struct provider *from, const struct call *call, char file[40],
	const char *name, uint64_t *size, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX);
	AUTO_SAID struct said said = SAID_INIT;
	enum err kind = begin_script(&script, file, from, e);

	buf_add_string(&script, "umask 077\nset --");
	if (*name) {
		shell_argument(&script, name);
		buf_add_string(&script, "\nset -- \"./$1\"\n");
	} else {
		buf_add_string(&script,
			"\nfor n in * .[!.]* ..?*; do\n"
			"	[ -e \"$n\" ] || [ -h \"$n\" ] || continue\n"
			"	[ \"$n\" = .sandboxfs ] || set -- \"$@\" \"./$n\"\n"
			"done\n"
			"[ $# -gt 0 ] || { echo 0; exit; }\n");
	}
	buf_add_string(&script, "tar -cf \"$f\" -- \"$@\" && wc -c <\"$f\"\n");
	if (!kind)
		kind = run_script(from, call, &script, NULL, 0, &said, e);
	if (!kind && sscanf(buf_text(&said.out), "%" SCNu64, size) != 1)
		kind = error_set(
			e, ERR_PROTOCOL, "in the sandbox: wc says '%.40s'", buf_text(&said.out));
	return kind;
}

static void drop_line_ends(struct buf *text)
{
	size_t len = 0;

	for (size_t n = 0; n < text->len; n++)
		if (text->bytes[n] != '\n' && text->bytes[n] != '\r')
			text->bytes[len++] = text->bytes[n];
	text->len = len;
}

static enum err write_all(int fd, const struct buf *bytes, struct error *e)
{
	for (size_t at = 0; at < bytes->len;) {
		ssize_t n = write(fd, bytes->bytes + at, bytes->len - at);

		if (n < 0 && errno != EINTR)
			return no_place(e);
		at += n > 0 ? (size_t)n : 0;
	}
	return ERR_OK;
}

static enum err fetch_piece(struct provider *from, const struct call *call, char file[40],
	uint64_t at, size_t len, int fd, struct error *e)
{
	AUTO_BUF struct buf script = BUF_INIT(SCRIPT_MAX), bytes = BUF_INIT(PIECE_MAX);
	AUTO_SAID struct said said = SAID_INIT;
	enum err kind = begin_script(&script, file, from, e);

	buf_printf(&script, "dd if=\"$f\" bs=%d skip=%" PRIu64 " count=%zu 2>/dev/null | base64\n",
		BLOCK_SIZE, at / BLOCK_SIZE, PIECE_MAX / BLOCK_SIZE);
	if (!kind)
		kind = run_script(from, call, &script, NULL, 0, &said, e);
	if (kind)
		return kind;
	drop_line_ends(&said.out);
	kind = base64_decode(&bytes, (char *)said.out.bytes, said.out.len, e);
	if (!kind && bytes.len != len)
		kind = error_set(e, ERR_PROTOCOL,
			"a piece of the archive has %zu bytes, not %zu: %.200s", bytes.len, len,
			buf_text(&said.complaint));
	return kind ? kind : write_all(fd, &bytes, e);
}

static enum err fetch_archive(struct provider *from, const struct call *call, char file[40],
	const char *name, int fd, uint64_t *size, struct error *e)
{
	enum err kind = pack_there(from, call, file, name, size, e);

	for (uint64_t at = 0; !kind && at < *size; at += PIECE_MAX) {
		uint64_t left = *size - at;

		kind = fetch_piece(
			from, call, file, at, left < PIECE_MAX ? (size_t)left : PIECE_MAX, fd, e);
	}
	remove_archive(from, call, file);
	return kind;
}

enum err tarred_fetch(const struct tarred *t, const struct call *call, struct provider *from,
	const char *name, struct error *e)
{
	AUTO_CLOSE int fd = -1;
	char file[40] = "";
	uint64_t size = 0;
	enum err kind = open_archive(&fd, e);

	if (!kind)
		kind = fetch_archive(from, call, file, name, fd, &size, e);
	if (!kind && lseek(fd, 0, SEEK_SET) < 0)
		kind = no_place(e);
	return kind || !size ? kind : archive_unpack(fd, t->dir, e);
}
