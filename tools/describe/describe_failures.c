/*
 * The table "when something fails" of sandboxfs(7): each kind of error with the words and the errno
 * that programs get, what sandboxctl shows meanwhile, and the way out.
 */
#include "tools/describe/describe.h"

#include "fs/errmap.h"
#include "providers/base/error.h"

#include <stdio.h>
#include <string.h>

/* Text between ` is printed by the programs: tests/mount/documents.py finds it in the sources. */
struct failure {
	enum err kinds[4]; /* ends with ERR_OK */
	const char *shows, *way_out;
};

static const struct failure failures[] = {
	{ { ERR_AUTH },
		"`doctor`: `no key; to use it set ...`, or the refusal and "
		"`...; the key is of ...`. `status`: the refusal.",
		"Set the variable, or give `-o key_file=FILE`: `sudo` and mount(8) have another "
		"environment. A mount keeps the key that it began with: unmount, and mount "
		"again." },
	{ { ERR_UNREACHABLE, ERR_TIMEOUT },
		"`doctor`: `no answer within ...; look at the network, ...`, or the failure of "
		"the connection. `status`: the last answer under the table, what waits under "
		"`PENDING`.",
		"Nothing is lost: what is pending is sent when the sandbox is back. "
		"`-o timeout=` says how long a call waits, `-o journal_size=` how much may "
		"wait." },
	{ { ERR_GONE }, "`doctor`: all well. `status`: `...: the sandbox is gone`.",
		"It was deleted, or its time was over. `sandboxctl journal list` shows what it "
		"never got and `sandboxctl journal export` saves it; then unmount. `-o lifetime=`, "
		"`-o idle=` and `sandboxctl extend` give the next one more time." },
	{ { ERR_CONFLICT, ERR_STALE },
		"`doctor`: all well. `status`: a number under `REFUSED`, and below the table "
		"`...: refused: ...` with the file.",
		"Somebody else changed or replaced the same file in the sandbox. What was written "
		"here may be beside it as `NAME.sandboxfs-conflict`: compare the two, keep one. "
		"A file that is open is opened anew." },
	{ { ERR_SKIPPED },
		"`doctor`: all well. `status`: the change before it, under the table: `...: "
		"refused: ...`.",
		"Mend what the first refused change names, and write again." },
	{ { ERR_NO_SPACE, ERR_QUOTA },
		"`doctor`: `...MiB are free, up to ...` where it is this machine's disk. "
		"`status`: the file.",
		"Make room in the sandbox, or raise the account's limit, and write again. Where a "
		"write fails while the sandbox cannot be reached, the journal here is full "
		"(`-o journal_full=fail`): give `-o journal_size=`." },
	{ { ERR_READ_ONLY }, "`doctor`, `status`: all well.",
		"The directory is read-only in the sandbox, or `-o ro` was given." },
	{ { ERR_UNSUPPORTED }, "`doctor`, `status`: all well.",
		"The vendor has no such call: sandboxfs-providers(7) says what each can do." },
	{ { ERR_PROTOCOL },
		"`doctor`: the answer. `status`: the answer; `foreign_answers` of "
		"`.sandbox/status` counts those of a proxy or a login page.",
		"Something between answers in the vendor's place, or the vendor's API has changed. "
		"`-o log=debug` shows each request; `sandboxctl doctor --live PROVIDER` tries them "
		"all." },
	{ { ERR_IO }, "`doctor`: all well. `status`: the sandbox's own error, below the table.",
		"The sandbox's disk, or the program in it, failed; the log says at what." },
	{ { ERR_NO_MEMORY, ERR_FILES_LIMIT },
		"`doctor`: all well. `status`: the error, if it was the sandbox's.",
		"Give the sandbox `--memory`, or end what takes it; here, raise `ulimit -n`." },
};

/* Errors of the caller's request, as of a local disk. */
static const enum err of_any_disk[] = { ERR_NOT_FOUND, ERR_EXISTS, ERR_DENIED, ERR_NOT_OWNER,
	ERR_NOT_DIR, ERR_IS_DIR, ERR_NOT_EMPTY, ERR_INVALID, ERR_NAME_TOO_LONG, ERR_LOOP,
	ERR_CROSS_DEVICE, ERR_TOO_MANY_LINKS, ERR_TOO_LARGE, ERR_TEXT_BUSY, ERR_BUSY, ERR_NO_XATTR,
	ERR_RANGE, ERR_NO_DATA, ERR_INTERRUPTED, ERR_TOO_BIG_XATTR, ERR_OVERFLOW };

static void print_kind(enum err kind, const char *before)
{
	printf("%s%s (%s)", before, error_words(kind), strerrorname_np(errmap_errno(kind)));
}

static void print_failure(const struct failure *f)
{
	printf("failure\t");
	for (const enum err *kind = f->kinds; *kind; kind++)
		print_kind(*kind, kind == f->kinds ? "" : ", ");
	printf("\t%s\t%s\n", f->shows, f->way_out);
}

static bool has_kind(const enum err *kinds, size_t count, enum err kind)
{
	for (size_t i = 0; i < count; i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

static bool has_row(enum err kind)
{
	bool is = has_kind(of_any_disk, sizeof of_any_disk / sizeof *of_any_disk, kind);

	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
		is |= has_kind(failures[i].kinds, 4, kind);
	return is;
}

bool describe_failures(void)
{
	for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
		print_failure(&failures[i]);
	for (unsigned number = 1; error_is_kind(number); number++)
		if (!has_row((enum err)number)) {
			fprintf(stderr, "describe: nothing is said of %s\n",
				error_name((enum err)number));
			return false;
		}
	return true;
}
