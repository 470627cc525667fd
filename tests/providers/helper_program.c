/*
 * The helper programs that sandboxfs carries, run as a sandbox runs them; those for another
 * processor under qemu-user.
 */
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/client/client.h"
#include "providers/client/image.h"
#include "tests/providers/processor.h"
#include "tests/support/changes.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#define ARGUMENTS_MAX 18

static struct program {
	struct scratch scratch;
	char runner[64]; /* "": it runs as it is */
	char path[128], root[128], staging[128];
} program;

/* Puts the program into a directory of its own, or skips the test. */
static void program_open(const char *machine)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct helper_image image;

	program = (struct program){ 0 };
	if (!helper_image_find(machine, &image))
		cr_skip_test("no helper for %s was built: no compiler for it", machine);
	if (!processor_find_runner(machine, program.runner, sizeof program.runner))
		cr_skip_test("no qemu-%s here to run the helper with", machine);
	scratch_make(&program.scratch);
	cr_assert(eq(int, helper_image_unpack(&image, &bytes, NULL), ERR_OK));
	cr_assert(eq(sz, bytes.len, image.len));
	scratch_write(&program.scratch, "helper", bytes.bytes, bytes.len);
	cr_assert(fchmodat(program.scratch.fd, "helper", 0755, 0) == 0);
	scratch_mkdir(&program.scratch, "root", 0755);
	snprintf(program.path, sizeof program.path, "%s/helper", program.scratch.path);
	snprintf(program.root, sizeof program.root, "%s/root", program.scratch.path);
	snprintf(program.staging, sizeof program.staging, "%s/staging", program.scratch.path);
}

static void program_open_here(void)
{
	struct utsname here;

	cr_assert(uname(&here) == 0);
	program_open(here.machine);
}

static void program_close(void)
{
	if (*program.scratch.path)
		scratch_remove(&program.scratch);
}

TestSuite(helper_program, .fini = program_close, .timeout = 300);

/* Runs the program with these arguments and, as its stdin, stdout and stderr, these descriptors. */
static pid_t start(const char *const *arguments, int in, int out, int err)
{
	char *argv[ARGUMENTS_MAX] = { 0 };
	size_t count = 0;
	pid_t pid;

	if (*program.runner)
		argv[count++] = program.runner;
	argv[count++] = program.path;
	for (; *arguments && count < ARGUMENTS_MAX - 1; arguments++)
		argv[count++] = (char *)*arguments;
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(err, 2);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static int exit_code(pid_t pid)
{
	int status;

	cr_assert(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- serve ---- */

static enum err add_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	if (piece->kind == FETCH_DATA)
		buf_add(context, piece->bytes, piece->len);
	else if (piece->err != ERR_OK)
		return error_set(e, piece->err, "%s", piece->why);
	return ERR_OK;
}

static void make_and_fetch(struct helper_client *client)
{
	const struct change changes[] = {
		CHANGE_ROW(CREATE, "f", .mode = 0666),
		CHANGE_ROW(WRITE, "f", TEXT("hello")),
	};
	struct change_result results[2];
	struct apply_request request = { .changes = changes, .changes_count = 2 };
	struct fetch_item item = { .kind = FETCH_BYTES, .path = "f", .length = UINT64_MAX };
	AUTO_BUF struct buf got = BUF_INIT(100);
	struct error e = { 0 };

	cr_expect(eq(int, helper_client_apply(client, NULL, &request, results, &e), ERR_OK));
	cr_expect(results[0].err == ERR_OK && results[1].err == ERR_OK, "%s%s", results[0].why,
		results[1].why);
	cr_expect(eq(u32, results[0].attr.mode, S_IFREG | 0666));
	helper_client_fetch(client, NULL, &item, 1, add_piece, &got, &e);
	cr_expect(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(eq(str, (char *)buf_text(&got), "hello"));
}

static void serves_a_client(const char *machine)
{
	struct helper_client *client;
	struct error e = { 0 };
	int there[2], back[2];
	pid_t pid;

	program_open(machine);
	cr_assert(pipe2(there, O_CLOEXEC) == 0 && pipe2(back, O_CLOEXEC) == 0);
	pid = start((const char *[]){ "serve", program.root, program.staging, NULL }, there[0],
		back[1], 2);
	close(there[0]);
	close(back[1]);
	helper_client_new(&client, there[1], back[0], NULL, &e);
	cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
	cr_expect(helper_client_hello(client)->has_staging);
	make_and_fetch(client);
	helper_client_free(client);
	cr_expect(eq(int, exit_code(pid), 0));
}

#define SERVES_A_CLIENT(machine, ...)                                                              \
	Test(helper_program, serves_a_client_on_##machine)                                         \
	{                                                                                          \
		serves_a_client(#machine);                                                         \
	}

SERVES_A_CLIENT(x86_64)
EACH_MACHINE(SERVES_A_CLIENT, )

/* ---- once ---- */

/* A hello, as base64. */
static void put_hello(struct buf *text)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ FRAME_HELLO, 1, 0 });
	base64_encode(text, header, sizeof header);
}

/* The program's output goes to "out" and "err". */
static pid_t run_behind(const char *const *arguments)
{
	AUTO_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	AUTO_CLOSE int out = openat(program.scratch.fd, "out", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	AUTO_CLOSE int err = openat(program.scratch.fd, "err", O_CREAT | O_TRUNC | O_WRONLY, 0600);

	return start(arguments, nothing, out, err);
}

/* Runs the program to its end. Returns its exit code. */
static int run(const char *const *arguments)
{
	return exit_code(run_behind(arguments));
}

static void answers_in_one_shot(const char *machine)
{
	AUTO_BUF struct buf request = BUF_INIT(1000);
	AUTO_BUF struct buf answer = BUF_INIT(1000);
	struct frame f;

	program_open(machine);
	put_hello(&request);
	cr_expect(eq(int,
		run((const char *[]){ "once", "-a", "-r", buf_text(&request), program.root, NULL }),
		0));
	AUTO_FREE char *said = scratch_read(&program.scratch, "out", NULL);

	cr_expect(eq(int, base64_decode(&answer, said, strcspn(said, "\n"), NULL), ERR_OK));
	cr_expect(eq(int, frame_decode(answer.bytes, &f, NULL), ERR_OK));
	cr_expect(f.type == FRAME_ITEMS && f.id == 1);
}

#define ANSWERS_IN_ONE_SHOT(machine, ...)                                                          \
	Test(helper_program, answers_in_one_shot_on_##machine)                                     \
	{                                                                                          \
		answers_in_one_shot(#machine);                                                     \
	}

ANSWERS_IN_ONE_SHOT(x86_64)
EACH_MACHINE(ANSWERS_IN_ONE_SHOT, )

/* ---- once, for long ---- */

/* A watch, as base64. */
static void put_watch(struct buf *text)
{
	AUTO_BUF struct buf payload = BUF_INIT(1000), frame = BUF_INIT(1000);
	unsigned char header[FRAME_HEADER_SIZE];

	wire_put_watch(&payload, &(struct watch_request){ 0 });
	frame_encode(header, &(struct frame){ FRAME_WATCH, 1, (uint32_t)payload.len });
	buf_add(&frame, header, sizeof header);
	buf_add(&frame, payload.bytes, payload.len);
	base64_encode(text, frame.bytes, frame.len);
}

/* The kind of the event that comes next; signs of life are passed over. */
static enum watch_kind next_event(int fd)
{
	static struct list_decoded item;
	AUTO_BUF struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
	unsigned char header[FRAME_HEADER_SIZE];
	struct frame f = { 0 };
	struct watch_event event;
	size_t at = 0;

	while (!f.len) {
		cr_assert(read(fd, header, sizeof header) == sizeof header);
		cr_assert(eq(int, frame_decode(header, &f, NULL), ERR_OK));
	}
	cr_assert(read(fd, buf_reserve(&payload, f.len), f.len) == f.len);
	buf_filled(&payload, f.len);
	cr_assert(eq(int, wire_get_watch_event(&payload, &at, &event, &item, NULL), ERR_OK));
	return event.kind;
}

static pid_t start_watch(const char *seconds, int *from)
{
	AUTO_CLOSE int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	AUTO_BUF struct buf request = BUF_INIT(1000);
	int back[2];
	pid_t pid;

	program_open_here();
	put_watch(&request);
	cr_assert(pipe2(back, O_CLOEXEC) == 0);
	pid = start((const char *[]){ "once", "-t", seconds, "-r", buf_text(&request), program.root,
			    NULL },
		nothing, back[1], 2);
	close(back[1]);
	*from = back[0];
	return pid;
}

Test(helper_program, watches_in_one_shot_until_nobody_listens)
{
	int from;
	pid_t pid = start_watch("600", &from);

	cr_expect(eq(int, (int)next_event(from), WATCH_READY));
	scratch_mkdir(&program.scratch, "root/new", 0755);
	cr_expect(eq(int, (int)next_event(from), WATCH_CREATED));
	close(from);
	/* The program ends at the next sign of life. */
	cr_expect(eq(int, exit_code(pid), 1));
}

Test(helper_program, a_watch_in_one_shot_ends_at_its_time)
{
	int from;
	pid_t pid = start_watch("1", &from);

	cr_expect(eq(int, exit_code(pid), 128 + SIGALRM));
	close(from);
}

/* ---- A request that comes as a file ---- */

struct late {
	char path[160];
	struct buf bytes;
	int watch_fd; /* on the directory */
};

/* Whether a process opened the file since, within the time of the test. */
static bool wait_look(const struct late *l)
{
	struct pollfd looked = { .fd = l->watch_fd, .events = POLLIN };
	char events[4096];

	return poll(&looked, 1, 60000) > 0 && read(l->watch_fd, events, sizeof events) > 0;
}

/* Writes byte by byte, each when the helper has looked at the one before. */
static void *write_late(void *context)
{
	struct late *l = context;
	AUTO_CLOSE int fd = open(l->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	inotify_add_watch(l->watch_fd, l->path, IN_OPEN);
	for (size_t at = 0; at < l->bytes.len && wait_look(l); at++)
		if (write(fd, l->bytes.bytes + at, 1) != 1)
			break;
	return NULL;
}

static void late_hello(struct late *l)
{
	AUTO_BUF struct buf text = BUF_INIT(1000);

	*l = (struct late){ .bytes = BUF_INIT(1000), .watch_fd = inotify_init1(IN_CLOEXEC) };
	snprintf(l->path, sizeof l->path, "%s/request", program.scratch.path);
	put_hello(&text);
	base64_decode(&l->bytes, buf_text(&text), text.len, NULL);
}

Test(helper_program, waits_for_a_request_that_is_still_being_written)
{
	struct late late;
	pthread_t writer;
	struct frame f;
	char size[16];

	program_open_here();
	late_hello(&late);
	snprintf(size, sizeof size, "%zu", late.bytes.len);
	cr_assert(pthread_create(&writer, NULL, write_late, &late) == 0);
	cr_expect(eq(int,
		run((const char *[]){ "once", "-w", late.path, "-n", size, program.root, NULL }),
		0));
	pthread_join(writer, NULL);
	AUTO_FREE char *said = scratch_read(&program.scratch, "out", NULL);

	cr_expect(eq(int, frame_decode((unsigned char *)said, &f, NULL), ERR_OK));
	cr_expect(f.type == FRAME_ITEMS && f.id == 1);
	cr_expect(ne(int, access(late.path, F_OK), 0), "it is removed");
	close(late.watch_fd);
	buf_release(&late.bytes);
}

/* The command to take the file was delivered twice. */
Test(helper_program, a_file_that_another_run_has_is_not_taken)
{
	struct late late;
	char size[16], event[1000];

	program_open_here();
	late_hello(&late);
	snprintf(size, sizeof size, "%zu", late.bytes.len);
	scratch_write(&program.scratch, "request", late.bytes.bytes, late.bytes.len);
	AUTO_CLOSE int held = open(late.path, O_RDONLY | O_CLOEXEC);

	cr_assert(flock(held, LOCK_EX) == 0);
	cr_assert(ge(int, inotify_add_watch(late.watch_fd, late.path, IN_OPEN), 0));
	pid_t pid = run_behind(
		(const char *[]){ "once", "-w", late.path, "-n", size, program.root, NULL });

	cr_assert(lt(long, 0, (long)read(late.watch_fd, event, sizeof event)));
	cr_assert(unlink(late.path) == 0);
	flock(held, LOCK_UN);
	cr_expect(eq(int, exit_code(pid), 1));
	AUTO_FREE char *said = scratch_read(&program.scratch, "out", NULL);
	AUTO_FREE char *complaint = scratch_read(&program.scratch, "err", NULL);

	cr_expect(eq(str, said, ""));
	cr_expect(strstr(complaint, "another run took it") != NULL, "%s", complaint);
	close(late.watch_fd);
	buf_release(&late.bytes);
}

/* As where the disk had no room for the rest. */
Test(helper_program, a_file_that_goes_before_it_is_whole_is_not_waited_for)
{
	struct late late;
	char size[16], event[1000];

	program_open_here();
	late_hello(&late);
	snprintf(size, sizeof size, "%zu", late.bytes.len);
	scratch_write(&program.scratch, "request", late.bytes.bytes, late.bytes.len / 2);
	cr_assert(ge(int, inotify_add_watch(late.watch_fd, late.path, IN_CLOSE), 0));
	pid_t pid = run_behind(
		(const char *[]){ "once", "-w", late.path, "-n", size, program.root, NULL });

	cr_assert(lt(long, 0, (long)read(late.watch_fd, event, sizeof event)));
	cr_assert(unlink(late.path) == 0);
	cr_expect(eq(int, exit_code(pid), 1));
	AUTO_FREE char *complaint = scratch_read(&program.scratch, "err", NULL);

	cr_expect(strstr(complaint, "before it was whole") != NULL, "%s", complaint);
	close(late.watch_fd);
	buf_release(&late.bytes);
}

Test(helper_program, a_file_that_holds_more_than_the_request_is_refused_and_removed)
{
	char path[160];

	program_open_here();
	scratch_write_text(&program.scratch, "request", "four");
	snprintf(path, sizeof path, "%s/request", program.scratch.path);
	cr_expect(eq(int,
		run((const char *[]){ "once", "-w", path, "-n", "3", program.root, NULL }), 1));
	AUTO_FREE char *said = scratch_read(&program.scratch, "err", NULL);

	cr_expect(strstr(said, "not a file of 3 bytes") != NULL, "%s", said);
	cr_expect(ne(int, access(path, F_OK), 0));
}

Test(helper_program, a_packed_file_that_cannot_be_unpacked_is_refused_and_removed)
{
	static const char *const sizes[] = { "20", "5000" };
	char path[160];

	program_open_here();
	snprintf(path, sizeof path, "%s/request", program.scratch.path);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		scratch_write_text(&program.scratch, "request", "this is not gzip at all");
		cr_expect(eq(int,
			run((const char *[]){ "once", "-w", path, "-n", "23", "-z", sizes[n],
				program.root, NULL }),
			1));
		AUTO_FREE char *said = scratch_read(&program.scratch, "err", NULL);

		cr_expect(strstr(said, "not in gzip format") || strstr(said, "invalid magic"), "%s",
			said);
		cr_expect(ne(int, access(path, F_OK), 0));
	}
}

/* ---- An answer that goes to a file ---- */

#define ANSWER_MIN "60" /* a hello's answer is longer */

static char *answer_of_hello(const char *min, int code)
{
	AUTO_BUF struct buf request = BUF_INIT(1000);

	put_hello(&request);
	cr_expect(eq(int,
		run((const char *[]){ "once", "-a", "-o", "answer", "-m", min, "-d", "old", "-d",
			"absent", "-r", buf_text(&request), program.root, program.staging, NULL }),
		code));
	return scratch_read(&program.scratch, "out", NULL);
}

static void open_with_staging(void)
{
	program_open_here();
	scratch_mkdir(&program.scratch, "staging", 0700);
}

Test(helper_program, a_small_answer_is_not_left_in_a_file)
{
	AUTO_BUF struct buf answer = BUF_INIT(1000);
	struct frame f;

	open_with_staging();
	AUTO_FREE char *said = answer_of_hello("1000", 0);

	cr_expect(eq(int, base64_decode(&answer, said, strcspn(said, "\n"), NULL), ERR_OK));
	cr_expect(eq(int, frame_decode(answer.bytes, &f, NULL), ERR_OK));
	cr_expect(f.type == FRAME_ITEMS && f.id == 1);
	cr_expect(ne(int, faccessat(program.scratch.fd, "staging/answer", F_OK, 0), 0));
}

Test(helper_program, a_large_answer_is_left_in_a_file_of_its_owner_s)
{
	struct stat st;
	struct frame f;

	open_with_staging();
	/* A request that is made again finds the first answer there. */
	scratch_write_text(&program.scratch, "staging/answer", "that of a request that was lost");
	scratch_write_text(&program.scratch, "staging/old", "what was read");
	AUTO_FREE char *said = answer_of_hello(ANSWER_MIN, WIRE_EXIT_IN_FILE);
	AUTO_FREE char *answer = scratch_read(&program.scratch, "staging/answer", NULL);

	cr_expect(eq(str, said, ""));
	cr_expect(eq(int, frame_decode((unsigned char *)answer, &f, NULL), ERR_OK));
	cr_expect(f.type == FRAME_ITEMS && f.id == 1);
	cr_assert(fstatat(program.scratch.fd, "staging/answer", &st, 0) == 0);
	cr_expect(eq(u32, st.st_mode, S_IFREG | 0600));
	cr_expect(lt(sz, FRAME_HEADER_SIZE + f.len, (size_t)st.st_size), "the end follows");
	cr_expect(
		ne(int, faccessat(program.scratch.fd, "staging/old", F_OK, 0), 0), "it is removed");
}

Test(helper_program, that_there_can_be_no_file_is_an_exit_code_and_no_word)
{
	open_with_staging();
	scratch_mkdir(&program.scratch, "staging/answer", 0700);
	AUTO_FREE char *said = answer_of_hello(ANSWER_MIN, WIRE_EXIT_NO_FILE);
	AUTO_FREE char *words = scratch_read(&program.scratch, "err", NULL);

	cr_expect(eq(str, said, ""));
	cr_expect(eq(str, words, ""));
}

static const struct {
	const char *arguments[9];
	int code;
	const char *says;
} mistakes[] = {
	{ { NULL }, 2, "usage:" },
	{ { "watch", "/" }, 2, "usage:" },
	{ { "serve" }, 2, "usage:" },
	{ { "serve", "/", "/tmp", "/tmp" }, 2, "usage:" },
	{ { "serve", "-r", "AAAA", "/" }, 2, "usage:" },
	{ { "serve", "-t", "60", "/" }, 2, "usage:" },
	{ { "once", "-t", "0", "/" }, 2, "usage:" },
	{ { "once", "-t", "86401", "/" }, 2, "usage:" },
	{ { "once", "-x", "/" }, 2, "usage:" },
	{ { "once", "-r" }, 2, "usage:" },
	{ { "once", "-w", "/absent", "/" }, 2, "usage:" },
	{ { "once", "-n", "5", "/" }, 2, "usage:" },
	{ { "once", "-w", "/absent", "-n", "5x", "/" }, 2, "usage:" },
	{ { "once", "-w", "/absent", "-n", "99999999999", "/" }, 2, "usage:" },
	{ { "once", "-w", "/absent", "-n", "5", "-r", "AAAA", "/" }, 2, "usage:" },
	{ { "serve", "-w", "/absent", "-n", "5", "/" }, 2, "usage:" },
	{ { "once", "-z", "5", "/" }, 2, "usage:" },
	{ { "once", "-w", "/absent", "-n", "5", "-z", "0", "/" }, 2, "usage:" },
	{ { "once", "-o", "name", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-m", "5", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-o", "name", "-m", "5", "/" }, 2, "usage:" },
	{ { "once", "-o", "a/name", "-m", "5", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-o", "..", "-m", "5", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-o", "name", "-m", "2000000", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-d", "name", "/" }, 2, "usage:" },
	{ { "once", "-d", "a/name", "/", "/tmp" }, 2, "usage:" },
	{ { "serve", "-d", "name", "/", "/tmp" }, 2, "usage:" },
	{ { "once", "-w", "/proc", "-n", "5", "/" }, 1, "not a file of 5 bytes" },
	{ { "once", "-r", "not base64", "/" }, 2, "base64" },
	{ { "once", "-r", "AAAA", "/" }, 1, "inside a frame" },
	/* A root may be missing: each request reports that. */
	{ { "serve", "/", "/absent/staging" }, 1, "/absent/staging: no such file" },
	{ { "serve", "/absent", "/proc/version" }, 1, "not a directory" },
};

Test(helper_program, a_mistake_is_one_line_that_names_it)
{
	program_open_here();
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		AUTO_FREE char *said = NULL;

		cr_expect(eq(int, run(mistakes[i].arguments), mistakes[i].code), "row %zu", i);
		said = scratch_read(&program.scratch, "err", NULL);
		cr_expect(strstr(said, mistakes[i].says) != NULL, "row %zu: %s", i, said);
		cr_expect(strchr(said, '\n') == said + strlen(said) - 1, "row %zu: %s", i, said);
	}
}

/* ---- The image ---- */

Test(helper_program, another_build_has_another_name)
{
	const unsigned char a[] = "one build", b[] = "one built";
	char names[3][HELPER_IMAGE_NAME_SIZE];

	helper_image_name(&(struct helper_image){ .packed = a, .packed_len = sizeof a }, names[0]);
	helper_image_name(&(struct helper_image){ .packed = b, .packed_len = sizeof b }, names[1]);
	helper_image_name(&(struct helper_image){ .packed = a, .packed_len = sizeof a }, names[2]);
	cr_expect(ne(str, names[0], names[1]));
	cr_expect(eq(str, names[0], names[2]));
	cr_expect(eq(sz, strlen(names[0]), HELPER_IMAGE_NAME_SIZE - 1));
	cr_expect(eq(sz, strspn(names[0] + 17, "0123456789abcdef"), 16));
}

Test(helper_program, none_is_carried_for_a_processor_that_is_not_known)
{
	struct helper_image image;

	cr_expect(not(helper_image_find("pdp11", &image)));
	cr_expect(not(helper_image_find("", &image)));
}
