/* sandboxfs-helper: list, fetch, apply and watch on a real directory, for sandboxfs at the other end of a stream. */
#include "providers/base/base64.h"
#include "providers/helper/await.h"
#include "providers/helper/serve.h"
#include "providers/helper/wire.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE  2

static const char usage[] = "usage: sandboxfs-helper serve [-a] ROOT [STAGING], "
			    "or once [-a] [-r BASE64]... ROOT [STAGING], "
			    "or once [-a] -w FILE -n SIZE ROOT [STAGING], or --version\n";

struct arguments {
	bool is_once, is_armoured, has_requests;
	struct buf requests; /* those of -r, or of -w */
	struct awaited file; /* -w and -n */
	const char *root, *staging;
};

static int complain(const struct error *e)
{
	fprintf(stderr, "sandboxfs-helper: %s\n", e->text);
	return EXIT_FAILED;
}

static bool parse_size(const char *text, size_t *out)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	*out = (size_t)value;
	return end != text && !*end && value && value <= WIRE_STREAM_MAX;
}

static bool parse_option(struct arguments *a, int option, struct error *e)
{
	switch (option) {
	case 'a': a->is_armoured = true; return true;
	case 'r':
		a->has_requests = true;
		return base64_decode(&a->requests, optarg, strlen(optarg), e) == ERR_OK;
	case 'w': a->file.path = optarg; return true;
	case 'n': return parse_size(optarg, &a->file.size);
	default: return false;
	}
}

static bool parse_options(struct arguments *a, int argc, char **argv, struct error *e)
{
	const char *known = a->is_once ? "+ar:w:n:" : "+a";
	int option;

	while ((option = getopt(argc, argv, known)) >= 0)
		if (!parse_option(a, option, e))
			return false;
	/* A file and its size belong together, and nothing else brings requests then. */
	return !a->file.path == !a->file.size && !(a->file.path && a->has_requests);
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
	return argc == 1 || argc == 2;
}

/* Those of -w, which are then as those of -r. */
static enum err take_file(struct arguments *a, struct error *e)
{
	struct outlet signs;
	enum err kind;

	signal(SIGPIPE, SIG_IGN);
	outlet_init(&signs, STDOUT_FILENO, a->is_armoured);
	kind = await_requests(&a->file, &signs, &a->requests, e);
	outlet_release(&signs);
	a->has_requests = true;
	return kind;
}

static enum err answer(const struct arguments *a, const struct root *root, struct error *e)
{
	struct serve_options options = { .root = root,
		.in_fd = a->has_requests ? -1 : STDIN_FILENO,
		.bytes = a->requests.bytes,
		.len = a->requests.len,
		.out_fd = STDOUT_FILENO,
		.is_once = a->is_once,
		.is_armoured = a->is_armoured };

	return serve(&options, e);
}

static int run(struct arguments *a)
{
	struct error e = { 0 };
	struct root root;
	enum err kind;

	if (root_open(&root, a->root, a->staging, &e) != ERR_OK)
		return complain(&e);
	kind = a->file.path ? take_file(a, &e) : ERR_OK;
	if (kind == ERR_OK)
		kind = answer(a, &root, &e);
	root_close(&root);
	return kind == ERR_OK ? 0 : complain(&e);
}

int main(int argc, char **argv)
{
	struct arguments a = { .requests = BUF_INIT(WIRE_STREAM_MAX) };
	struct error e = { 0 };
	int status;

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
	/* Modes are asked for whole. */
	umask(0);
	status = run(&a);
	buf_release(&a.requests);
	return status;
}
