#include "tests/fs/hasty_kernel.h"

#include "fs/handle_memory.h"
#include "providers/base/cleanup.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_S 60
/* Attributes and names are valid until a test changes something through the mount. */
#define BELIEVED_MS 3600000

void (*kernel_on_notice)(fuse_ino_t ino, off_t off);

struct fuse_req {
	struct kernel *kernel;
	struct fuse_ctx asker;
	struct follower next;
	struct answer *answer;
	fuse_interrupt_func_t on_interrupt;
};

/* ---- The functions of libfuse ---- */

void *fuse_req_userdata(fuse_req_t req)
{
	return &req->kernel->fs;
}

const struct fuse_ctx *fuse_req_ctx(fuse_req_t req)
{
	return &req->asker;
}

int fuse_req_getgroups(fuse_req_t req, int size, gid_t list[])
{
	(void)req, (void)size, (void)list;
	return 0;
}

int fuse_req_interrupted(fuse_req_t req)
{
	req->kernel->looks++;
	return req->kernel->is_interrupted;
}

void fuse_req_interrupt_func(fuse_req_t req, fuse_interrupt_func_t func, void *data)
{
	(void)data;
	req->on_interrupt = func;
}

int fuse_session_fd(struct fuse_session *session)
{
	(void)session;
	return 0;
}

int fuse_lowlevel_notify_inval_inode(
	struct fuse_session *session, fuse_ino_t ino, off_t off, off_t len)
{
	(void)session, (void)len;
	if (kernel_on_notice)
		kernel_on_notice(ino, off);
	return 0;
}

int fuse_lowlevel_notify_inval_entry(
	struct fuse_session *session, fuse_ino_t parent, const char *name, size_t len)
{
	(void)session, (void)parent, (void)name, (void)len;
	return 0;
}

int fuse_lowlevel_notify_poll(struct fuse_pollhandle *waiting)
{
	(void)waiting;
	return 0;
}

static void *follow(void *context)
{
	const struct follower *next = context;

	next->run(next->context);
	return NULL;
}

/* A worker that holds a lock meanwhile may wait here for ever: for itself. */
static void let_follow(const struct follower *next)
{
	pthread_t worker;

	if (next->run && !pthread_create(&worker, NULL, follow, (void *)next))
		pthread_join(worker, NULL);
}

/* `filled`: the answer without the fields that every answer has. */
static int give(fuse_req_t req, const struct answer *filled)
{
	const struct follower next = req->next;
	struct answer *answer = req->answer;

	answer->error = filled->error;
	answer->ino = filled->ino;
	answer->fh = filled->fh;
	answer->off = filled->off;
	answer->size = filled->size;
	answer->valid_s = filled->valid_s;
	answer->space = filled->space;
	answer->was_interruptible = req->on_interrupt;
	handle_memory_free(req);
	let_follow(&next);
	sem_post(&answer->given);
	return 0;
}

int fuse_reply_err(fuse_req_t req, int error)
{
	return give(req, &(struct answer){ .error = error });
}

void fuse_reply_none(fuse_req_t req)
{
	give(req, &(struct answer){ 0 });
}

int fuse_reply_entry(fuse_req_t req, const struct fuse_entry_param *entry)
{
	return give(req, &(struct answer){ .ino = entry->ino });
}

int fuse_reply_create(
	fuse_req_t req, const struct fuse_entry_param *entry, const struct fuse_file_info *fi)
{
	return give(req, &(struct answer){ .ino = entry->ino, .fh = fi->fh });
}

int fuse_reply_attr(fuse_req_t req, const struct stat *attr, double valid_s)
{
	return give(req, &(struct answer){ .size = attr->st_size, .valid_s = valid_s });
}

int fuse_reply_readlink(fuse_req_t req, const char *text)
{
	struct answer *answer = req->answer;

	snprintf(answer->bytes, sizeof answer->bytes, "%s", text);
	return give(req, &(struct answer){ 0 });
}

int fuse_reply_open(fuse_req_t req, const struct fuse_file_info *fi)
{
	return give(req, &(struct answer){ .fh = fi->fh });
}

int fuse_reply_write(fuse_req_t req, size_t count)
{
	(void)count;
	return give(req, &(struct answer){ 0 });
}

int fuse_reply_buf(fuse_req_t req, const char *bytes, size_t len)
{
	struct answer *answer = req->answer;
	size_t kept = len < sizeof answer->bytes ? len : sizeof answer->bytes - 1;

	if (kept)
		memcpy(answer->bytes, bytes, kept);
	answer->bytes[kept] = '\0';
	answer->len = len;
	return give(req, &(struct answer){ 0 });
}

int fuse_reply_statfs(fuse_req_t req, const struct statvfs *space)
{
	return give(req, &(struct answer){ .space = *space });
}

int fuse_reply_xattr(fuse_req_t req, size_t len)
{
	(void)len;
	return give(req, &(struct answer){ 0 });
}

int fuse_reply_lseek(fuse_req_t req, off_t off)
{
	return give(req, &(struct answer){ .off = off });
}

int fuse_reply_poll(fuse_req_t req, unsigned events)
{
	(void)events;
	return give(req, &(struct answer){ 0 });
}

/* ---- Life ---- */

void kernel_make(struct kernel *k)
{
	const struct sandbox_info info = {
		.id = "hasty", .expires_s = -1, .identity = { .uid = getuid(), .gid = getgid() }
	};
	const struct cache_options options = {
		.sandbox = &info, .attr_ms = BELIEVED_MS, .entry_ms = BELIEVED_MS
	};
	const struct control_options control = { .source = "host:", .uid = getuid() };
	struct error e = { 0 };

	*k = (struct kernel){ .options = { .source = "host:" }, .asker = getpid() };
	scratch_make(&k->scratch);
	host_provider_init(&k->sandbox, k->scratch.path);
	scratch_mkdir(&k->scratch, "tree/d", 0755);
	scratch_write_text(&k->scratch, "tree/d/f", "text");
	k->fs.options = &k->options;
	cr_assert(eq(int, cache_new(&k->fs.cache, &k->sandbox.base, &options, NULL, &e), ERR_OK),
		"%s", e.text);
	cr_assert(eq(int, switches_new(&k->fs.switches, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, link_nodes_new(&k->fs.links, k->fs.cache, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, openings_new(&k->fs.openings, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, notifier_new(&k->fs.notifier, NULL, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, notifier_new(&k->fs.revoker, NULL, NULL, &e), ERR_OK), "%s", e.text);
	cr_assert(eq(int, control_new(&k->fs.control, k->fs.cache, k->fs.notifier, &control, &e),
			  ERR_OK),
		"%s", e.text);
}

void kernel_remove(struct kernel *k)
{
	control_free(k->fs.control);
	notifier_free(k->fs.notifier);
	notifier_free(k->fs.revoker);
	link_nodes_free(k->fs.links);
	openings_free(k->fs.openings);
	cache_free(k->fs.cache);
	switches_free(k->fs.switches);
	host_provider_end(&k->sandbox);
	scratch_remove(&k->scratch);
}

fuse_req_t kernel_request(struct kernel *k, struct answer *answer, const struct follower *next)
{
	fuse_req_t req = handle_memory_new(sizeof *req);

	cr_assert(req != NULL);
	*answer = (struct answer){ .error = -1 };
	sem_init(&answer->given, 0, 0);
	*req = (struct fuse_req){ .kernel = k,
		.asker = { .uid = getuid(), .gid = getgid(), .pid = k->asker },
		.next = next ? *next : (struct follower){ 0 },
		.answer = answer };
	return req;
}

void kernel_await(struct answer *answer)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += PATIENCE_S;
	cr_assert(zero(int, sem_timedwait(&answer->given, &end)), "no reply");
}

/* ---- Whole requests ---- */

fuse_ino_t kernel_lookup(struct kernel *k, const char *path)
{
	AUTO_FREE char *copy = strdup(path);
	fuse_ino_t ino = FUSE_ROOT_ID;
	struct answer answer;
	char *rest = NULL;

	for (char *name = strtok_r(copy, "/", &rest); name; name = strtok_r(NULL, "/", &rest)) {
		fs_ops.lookup(kernel_request(k, &answer, NULL), ino, name);
		kernel_await(&answer);
		cr_assert(answer.ino != 0, "%s: errno %d", path, answer.error);
		ino = answer.ino;
	}
	return ino;
}

void kernel_open(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct answer answer;

	fs_ops.open(kernel_request(k, &answer, NULL), ino, fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
	fi->fh = answer.fh;
}

void kernel_write(struct kernel *k, fuse_ino_t ino, const char *text, struct fuse_file_info *fi)
{
	struct answer answer;

	fs_ops.write(kernel_request(k, &answer, NULL), ino, text, strlen(text), 0, fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
}

void kernel_read(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi, struct answer *answer)
{
	fs_ops.read(kernel_request(k, answer, NULL), ino, sizeof answer->bytes - 1, 0, fi);
	kernel_await(answer);
}

void kernel_flush(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct answer answer;

	fs_ops.flush(kernel_request(k, &answer, NULL), ino, fi);
	kernel_await(&answer);
	cr_assert(zero(int, answer.error));
}

void kernel_release(struct kernel *k, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct answer answer;

	fs_ops.release(kernel_request(k, &answer, NULL), ino, fi);
	kernel_await(&answer);
}
