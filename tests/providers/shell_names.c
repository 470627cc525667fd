#include "tests/providers/shell_pair.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

TestSuite(shell_names, .timeout = 300);

/* ---- Names ---- */

#define FIFTY "01234567890123456789012345678901234567890123456789"

static const char *const names[] = { "-rf", "--help", "-", "'", "''", "\"", "*", "?", "[a]", "~",
	"$HOME", "$(touch oops)", "`touch oops`", "';touch oops;'", "\\", "a\\nb", "a\nb", "\n",
	"\n\n", "t\n", " ", " a ", "\t", "%n%s", "!", "=", "a=b", "#", "&", "|", "<x", ">x", ";",
	"(", "{}", "\x01", "\x7f", "\x80\x81\x82\x83\x84\x85\x86\x87\x88", "\xff\xfe", "\xc3\x28",
	"\xe2\x80\xae", "Permission denied", "x: File exists", "1+0 records in\n1+0 records out",
	"@STALE", " to a subdirectory of itself, '", "is a directory", "\033[2J", "if", "...",
	"copied, 1 s, 1 kB", FIFTY FIFTY FIFTY FIFTY FIFTY "01234" };
#define NAMES (sizeof names / sizeof *names)

/* Of a listing: the paths it names, with links' texts, one a line in a buffer. */
struct heard {
	struct buf text;
	char dir[70000];
	size_t dirs, ends, incomplete;
	bool ended;
};

static enum err hear_item(void *context, const struct list_item *item, struct error *e)
{
	struct heard *h = context;

	(void)e;
	if (item->kind == LIST_DIR)
		snprintf(h->dir, sizeof h->dir, "%s", item->path);
	h->dirs += item->kind == LIST_DIR;
	h->ends += item->kind == LIST_DIR_END;
	h->incomplete += item->kind == LIST_DIR_END && !item->complete;
	h->ended = h->ended || item->kind == LIST_END;
	if (item->kind == LIST_ENTRY)
		buf_printf(
			&h->text, "<%s/%s|%s>", h->dir, item->name, item->link ? item->link : "");
	return ERR_OK;
}

static enum err keep_bytes(void *context, const struct fetch_piece *piece, struct error *e)
{
	struct buf *out = context;

	(void)e;
	if (piece->kind == FETCH_DATA)
		buf_add(out, piece->bytes, piece->len);
	else if (piece->err != ERR_OK)
		buf_printf(out, "<%s>", error_words(piece->err));
	return ERR_OK;
}

static void expect_name_works(struct pair *w, const char *name)
{
	AUTO_FREE char *in_d = path_join("d", name), *in_name = path_join(name, name);
	const struct change batch[] = {
		{ .op = CHANGE_MKDIR, .path = name, .mode = 0755, OWNERLESS },
		{ .op = CHANGE_CREATE,
			.path = in_name,
			.mode = 0644,
			.flags = CHANGE_EXCL,
			OWNERLESS },
		{ .op = CHANGE_WRITE, .path = in_name, .data = name, .data_len = strlen(name) },
		{ .op = CHANGE_LINK, .path = in_name, .path2 = in_d },
		{ .op = CHANGE_UNLINK, .path = in_name },
		{ .op = CHANGE_SYMLINK,
			.path = in_name,
			.data = name,
			.data_len = strlen(name),
			OWNERLESS },
	};
	const struct fetch_item item = { .kind = FETCH_BYTES, .path = in_d, .length = UINT64_MAX };
	const struct list_request list = { .starts = &name, .starts_count = 1, .depth = 1 };
	const struct change again[] = {
		{ .op = CHANGE_CREATE, .path = in_d, .flags = CHANGE_EXCL, OWNERLESS },
		{ .op = CHANGE_RMDIR, .path = name },
		{ .op = CHANGE_WRITE, .path = name, .data = "x", .data_len = 1 },
		{ .op = CHANGE_RENAME, .path = in_d, .path2 = in_name },
		{ .op = CHANGE_UNLINK, .path = in_name },
		{ .op = CHANGE_RMDIR, .path = name },
	};
	static const enum err want[] = { ERR_EXISTS, ERR_NOT_EMPTY, ERR_IS_DIR, ERR_OK, ERR_OK,
		ERR_OK };
	AUTO_FREE struct heard *heard = calloc(1, sizeof *heard);
	AUTO_BUF struct buf bytes = BUF_INIT(4096), listed = BUF_INIT(4096);
	struct change_result r[6];

	pair_apply(w, batch, 6, r);
	for (size_t i = 0; i < 6; i++)
		cr_expect(r[i].err == ERR_OK, "%s: '%s': %zu: %s", w->shell, name, i, r[i].why);
	shell_fetch(&w->host.base, NULL, &item, 1, keep_bytes, &bytes, NULL);
	cr_expect(bytes.len == strlen(name) && !memcmp(bytes.bytes, name, bytes.len), "%s: '%s'",
		w->shell, name);
	heard->text.max = 4096;
	cr_expect(shell_list(&w->host.base, NULL, &list, hear_item, heard, NULL) == ERR_OK);
	buf_printf(&listed, "<%s/%s|%s>", name, name, name);
	cr_expect(strcmp(buf_text(&heard->text), buf_text(&listed)) == 0, "%s: %s", w->shell,
		buf_text(&heard->text));
	buf_release(&heard->text);
	pair_apply(w, again, 6, r);
	for (size_t i = 0; i < 6; i++)
		cr_expect(r[i].err == want[i], "%s: '%s': %zu: %s", w->shell, name, i, r[i].why);
}

OVER_SHELLS(shell_names, a_name_is_only_a_name)
{
	scratch_mkdir(&w->by_shell, "d", 0755);
	for (size_t i = 0; i < NAMES; i++)
		expect_name_works(w, names[i]);
	cr_expect(faccessat(w->by_shell.fd, "oops", F_OK, 0) < 0);
	cr_expect(faccessat(w->by_shell.fd, "d/oops", F_OK, 0) < 0);
}

OVER_SHELLS(shell_names, a_name_holds_every_byte)
{
	struct change batch[254 + 1];
	struct change_result r[254 + 1];
	char made[254][4];
	size_t count = 0;

	for (int byte = 1; byte < 256; byte++) {
		if (byte == '/')
			continue;
		memcpy(made[count], (char[]){ (char)byte, 'x', (char)byte, 0 }, 4);
		batch[count] = (struct change){ .op = CHANGE_SYMLINK,
			.path = made[count],
			.data = made[count],
			.data_len = 3,
			OWNERLESS };
		count++;
	}
	pair_apply(w, batch, count, r);
	for (size_t i = 0; i < count; i++) {
		char text[8] = "";

		cr_expect(r[i].err == ERR_OK && r[i].has_attr, "%s: %d", w->shell, made[i][0]);
		cr_expect(readlinkat(w->by_shell.fd, made[i], text, sizeof text) == 3 &&
				!memcmp(text, made[i], 3),
			"%s: %d", w->shell, made[i][0]);
	}
}

/* ---- Paths ---- */

OVER_SHELLS(shell_names, a_path_may_be_longer_than_one_call_takes)
{
	enum { LEVELS = 25, NAME = 250 };
	AUTO_FREE char *path = calloc(LEVELS + 1, NAME + 1), *other = NULL;
	struct change_result r;
	size_t len = 0;

	for (int i = 0; i < LEVELS; i++) {
		if (len)
			path[len++] = '/';
		memset(path + len, 'a' + i, NAME);
		len += NAME;
		r = pair_apply_one(w,
			(struct change){
				.op = CHANGE_MKDIR, .path = path, .mode = 0755, OWNERLESS });
		cr_assert(r.err == ERR_OK, "%s: %d: %s", w->shell, i, r.why);
	}
	other = path_join(path, "f'");
	path[len - NAME - 1] = 0;
	r = pair_apply_one(
		w, (struct change){ .op = CHANGE_CREATE, .path = other, .mode = 0600, OWNERLESS });
	cr_expect(r.err == ERR_OK && r.has_attr && r.has_parent, "%s: %s", w->shell, r.why);
	AUTO_FREE char *up = path_join(path, "g");

	r = pair_apply_one(w, (struct change){ .op = CHANGE_RENAME, .path = other, .path2 = up });
	cr_expect(r.err == ERR_OK && r.has_attr && r.has_parent2, "%s: %s", w->shell, r.why);
	r = pair_apply_one(w, (struct change){ .op = CHANGE_LINK, .path = up, .path2 = "h" });
	cr_expect(r.err == ERR_OK && r.attr.nlink == 2, "%s: %s", w->shell, r.why);
	r = pair_apply_one(w, (struct change){ .op = CHANGE_UNLINK, .path = up });
	cr_expect(r.err == ERR_OK, "%s: %s", w->shell, r.why);
}

OVER_SHELLS(shell_names, no_link_is_followed_on_the_way)
{
	static const char *const paths[] = { "ld/in", "ld/new", "d/up/f", "d/up/d/in" };

	pair_make_fixtures(w);
	cr_assert(symlinkat("..", w->by_shell.fd, "d/up") == 0);
	for (size_t i = 0; i < 4; i++) {
		const struct fetch_item item = {
			.kind = FETCH_BYTES, .path = paths[i], .length = 9
		};
		AUTO_BUF struct buf bytes = BUF_INIT(4096);
		struct change_result r = pair_apply_one(
			w, (struct change){ .op = CHANGE_CREATE, .path = paths[i], OWNERLESS });

		cr_expect(r.err == ERR_STALE, "%s: %s: %s", w->shell, paths[i], r.why);
		shell_fetch(&w->host.base, NULL, &item, 1, keep_bytes, &bytes, NULL);
		cr_expect(strcmp(buf_text(&bytes), "<is not the file it was>") == 0, "%s",
			buf_text(&bytes));
	}
}
