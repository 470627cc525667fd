/* sandboxfs-helper: list, fetch, apply and watch on a real directory, for sandboxfs at the other end of a stream. */
#include "providers/base/base64.h"
#include "providers/helper/serve.h"
#include "providers/helper/wire.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE  2

static const char usage[] = "usage: sandboxfs-helper serve [-a] ROOT [STAGING], "
			    "or once [-a] [-r BASE64]... ROOT [STAGING], or --version\n";

struct arguments {
	bool is_once, is_armoured, has_requests;
	struct buf requests; /* those of -r */
	const char *root, *staging;
};

static int complain(const struct error *e)
{
	fprintf(stderr, "sandboxfs-helper: %s\n", e->text);
	return EXIT_FAILED;
}

static bool parse_options(struct arguments *a, int argc, char **argv, struct error *e)
{
	int option;

	while ((option = getopt(argc, argv, "+ar:")) >= 0) {
		if (option == 'a')
			a->is_armoured = true;
		else if (option != 'r' || !a->is_once)
			return false;
		else if (base64_decode(&a->requests, optarg, strlen(optarg), e) != ERR_OK)
			return false;
		a->has_requests = a->has_requests || option == 'r';
	}
	return true;
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

static int run(const struct arguments *a)
{
	struct serve_options options = { .in_fd = a->has_requests ? -1 : STDIN_FILENO,
		.bytes = a->requests.bytes,
		.len = a->requests.len,
		.out_fd = STDOUT_FILENO,
		.is_once = a->is_once,
		.is_armoured = a->is_armoured };
	struct error e = { 0 };
	struct root root;
	enum err kind;

	if (root_open(&root, a->root, a->staging, &e) != ERR_OK)
		return complain(&e);
	options.root = &root;
	kind = serve(&options, &e);
	root_close(&root);
	return kind == ERR_OK ? 0 : complain(&e);
}

int main(int argc, char **argv)
{
	struct arguments a = { .requests = BUF_INIT(WIRE_REQUEST_MAX) };
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
