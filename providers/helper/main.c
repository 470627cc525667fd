/*
 * sandboxfs-helper: list, fetch, apply and watch on a real directory, for sandboxfs at the other
 * end of a stream.
 */
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/base/inherited.h"
#include "providers/helper/await.h"
#include "providers/helper/serve.h"
#include "providers/helper/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define REMOVED_MAX 64
#define SECONDS_MAX 86400

static const char usage[] = "usage: sandboxfs-helper serve [-a] [-b BASE] ROOT [STAGING], "
			    "or once [-a] [-q] [-t SECONDS] [-o NAME -m SIZE] [-d NAME]... "
			    "[-r BASE64]... ROOT [STAGING], or the same with -w FILE -n SIZE "
			    "[-c HASH] [-z SIZE] for -r, or --version\n";

struct arguments {
	bool is_once, is_armoured, is_quiet, has_requests;
	/* -t: the process ends after so many seconds, and one request may be a watch; 0: neither */
	size_t seconds;
	struct buf requests; /* the requests of -r or -w */
	struct awaited file; /* -w, -n, -c and -z */
	int held;            /* the file of -w, while its requests are carried out; or -1 */
	/*
	 * Names in staging: the file for a large answer (-o), larger than so many bytes (-m), and
	 * files that are removed first (-d).
	 */
	const char *answer, *removed[REMOVED_MAX];
	size_t answer_min, removed_count;
	/* -b: `root` is below this directory, and no symbolic link leads to it; or NULL */
	const char *base;
	const char *root, *staging;
};

static int complain(const struct error *e)
{
	fprintf(stderr, "sandboxfs-helper: %s\n", e->text);
	return EXIT_FAILED;
}

static bool parse_size(const char *text, size_t max, size_t *out)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	*out = (size_t)value;
	return end != text && !*end && value && value <= max;
}

static bool parse_hash(const char *text, struct awaited *file)
{
	char *end;

	file->hash = strtoull(text, &end, 16);
	file->has_hash = true;
	return end != text && !*end;
}

static bool is_name(const char *text)
{
	return *text && !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

static bool parse_removed(struct arguments *a, const char *name)
{
	if (!is_name(name) || a->removed_count == REMOVED_MAX)
		return false;
	a->removed[a->removed_count++] = name;
	return true;
}

static bool parse_option(struct arguments *a, int option, struct error *e)
{
	switch (option) {
	case 'a': a->is_armoured = true; return true;
	case 'b': a->base = optarg; return true;
	case 'q': a->is_quiet = true; return true;
	case 't': return parse_size(optarg, SECONDS_MAX, &a->seconds);
	case 'r':
		a->has_requests = true;
		return base64_decode(&a->requests, optarg, strlen(optarg), e) == ERR_OK;
	case 'w': a->file.path = optarg; return true;
	case 'n': return parse_size(optarg, WIRE_STREAM_MAX, &a->file.size);
	case 'c': return parse_hash(optarg, &a->file);
	case 'z': return parse_size(optarg, WIRE_STREAM_MAX, &a->file.unpacked);
	case 'o': a->answer = optarg; return is_name(optarg);
	case 'm': return parse_size(optarg, FRAME_PAYLOAD_MAX, &a->answer_min);
	case 'd': return parse_removed(a, optarg);
	default: return false;
	}
}

static bool parse_options(struct arguments *a, int argc, char **argv, struct error *e)
{
	const char *known = a->is_once ? "+aqt:r:w:n:c:z:o:m:d:" : "+ab:";
	int option;

	while ((option = getopt(argc, argv, known)) >= 0)
		if (!parse_option(a, option, e))
			return false;
	/* A file and its size belong together, and exclude any other source of requests. */
	return !a->file.path == !a->file.size &&
		!((a->file.unpacked || a->file.has_hash) && !a->file.path) &&
		!(a->file.path && a->has_requests) && !a->answer == !a->answer_min;
}

/* `argv[1]` is the mode; its options and operands follow. */
static bool parse(struct arguments *a, int argc, char **argv, struct error *e)
{
	if (argc < 2)
		return false;
	a->is_once = strcmp(argv[1], "once") == 0;
	if (!a->is_once && strcmp(argv[1], "serve") != 0)
		return false;
	opterr = 0;
	if (!parse_options(a, argc - 1, argv + 1, e))
		return false;
	argc -= 1 + optind;
	argv += 1 + optind;
	a->root = argv[0];
	a->staging = argc > 1 ? argv[1] : NULL;
	return argc == 2 || (argc == 1 && !a->answer && !a->removed_count);
}

/* Reads the requests of -w, which are then handled as those of -r. */
static enum err take_file(struct arguments *a, struct error *e)
{
	struct outlet signs;
	enum err kind;

	signal(SIGPIPE, SIG_IGN);
	outlet_init(&signs, STDOUT_FILENO, a->is_armoured, false);
	kind = await_requests(&a->file, &signs, &a->requests, &a->held, e);
	outlet_release(&signs);
	a->has_requests = true;
	return kind;
}

static void remove_names(const struct arguments *a, const struct root *root)
{
	for (size_t i = 0; i < a->removed_count; i++)
		unlinkat(root->staging_fd, a->removed[i], 0);
}

static enum err answer(const struct arguments *a, const struct root *root, struct answer_file *file,
	struct error *e)
{
	struct serve_options options = { .root = root,
		.in_fd = a->has_requests ? -1 : STDIN_FILENO,
		.bytes = a->requests.bytes,
		.len = a->requests.len,
		.out_fd = STDOUT_FILENO,
		.is_once = a->is_once,
		.may_watch = a->seconds,
		.is_quiet = a->is_quiet,
		.is_armoured = a->is_armoured,
		.file = a->answer ? file : NULL };

	return serve(&options, e);
}

static int answer_all(struct arguments *a, const struct root *root)
{
	struct error e = { 0 };
	struct answer_file file;
	enum err kind = ERR_OK;
	int code = EXIT_SUCCESS;
	bool lacks_gzip;

	answer_file_init(&file, root->staging_fd, a->answer, a->answer_min);
	if (a->file.path)
		kind = take_file(a, &e);
	lacks_gzip = kind == ERR_UNSUPPORTED;
	if (kind == ERR_OK)
		kind = answer(a, root, &file, &e);
	/*
	 * Prints nothing: a client that repeats the request without a file could take the text for
	 * an answer.
	 */
	if (file.why.kind != ERR_OK)
		code = WIRE_EXIT_NO_FILE;
	else if (lacks_gzip)
		code = WIRE_EXIT_NO_GZIP;
	else if (kind != ERR_OK)
		code = complain(&e);
	else if (file.fd >= 0)
		code = WIRE_EXIT_IN_FILE;
	answer_file_release(&file);
	return code;
}

static enum err open_root(
	struct root *root, const struct arguments *a, int *base_fd, struct error *e)
{
	if (!a->base)
		return root_open_any(root, a->root, a->staging, e);
	*base_fd = open(a->base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*base_fd < 0)
		return error_errno(e, errno, "%s", a->base);
	return root_open_below(root, *base_fd, a->root, a->staging, e);
}

static int run(struct arguments *a)
{
	AUTO_CLOSE int base_fd = -1;
	struct error e = { 0 };
	struct root root;
	int code;

	if (open_root(&root, a, &base_fd, &e) != ERR_OK)
		return complain(&e);
	remove_names(a, &root);
	/*
	 * The client may be killed without closing anything. The default action of SIGALRM ends the
	 * process in any state.
	 */
	alarm((unsigned)a->seconds);
	code = answer_all(a, &root);
	root_close(&root);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments a = { .requests = BUF_INIT(WIRE_STREAM_MAX), .held = -1 };
	struct error e = { 0 };
	int status;

	/* Also sets the umask: modes are applied as given. */
	inherited_reset();
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("sandboxfs-helper %s, protocol %d\n", SANDBOXFS_VERSION,
			       WIRE_VERSION) < 0;
	if (!parse(&a, argc, argv, &e)) {
		if (e.kind != ERR_OK)
			complain(&e);
		else
			fputs(usage, stderr);
		buf_release(&a.requests);
		return EXIT_USAGE;
	}
	status = run(&a);
	cleanup_close(&a.held);
	buf_release(&a.requests);
	return status;
}
