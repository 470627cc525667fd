#include "fs/mount.h"
#include "fs/errmap.h"
#include "fs/fs.h"
#include "fs/guard.h"
#include "fs/notices.h"
#include "fs/unused.h"

#include "providers/base/buf.h"
#include "providers/base/cleanup.h"
#include "providers/base/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Each serving thread keeps a buffer for the largest request it has had, and one as large for an
 * answer: 32 MiB for all threads. FUSE allows four times as much, which makes no network faster.
 */
#define REQUEST_MAX (256 * 1024)
/* Enough that some threads can wait for the sandbox while others answer from memory. */
#define THREADS_DEFAULT 64
/* The signal that ends the serving thread's wait; used for nothing else. */
#define STOP_SIGNAL SIGUSR2
/*
 * The longest time that an end waits for a notice that is under way. While requests are answered,
 * the holder of the kernel's lock may have to wait for a sandbox that is out of reach. Once no
 * request is answered the holder has got an error, and the notice ends at once.
 */
#define ANSWERED_MS   60000
#define UNANSWERED_MS 1000

/* The number of outdated names and inodes that the notifier gets at a time. */
#define OUTDATED_AT_ONCE 256

struct mount {
	struct fs fs;
	struct mount_options options;
	struct fuse_session *session;
	bool mounted;
	pthread_t serving;      /* set before `is_serving` */
	atomic_bool is_serving; /* set once a signal may stop the thread */
	struct guard guard;
	struct unused unused; /* until mount_attach() */
};

/* ---- Notices of the cache, passed on to the kernel ---- */

/* A notice about an inode, sent for each number that the kernel has for the inode. */
struct forgetting {
	struct notifier *notifier;
	bool pages;
};

static void forget_number(void *context, fuse_ino_t ino)
{
	const struct forgetting *f = context;

	notifier_inode(f->notifier, ino, f->pages);
}

static void tell_inode(void *context, struct inode *inode, bool pages)
{
	struct fs *fs = context;
	struct forgetting f = { .notifier = fs->notifier, .pages = pages };

	if (!link_nodes_each(fs->links, inode, forget_number, &f))
		forget_number(&f, fs_number(fs, inode));
}

/*
 * Queued at once and not waited for: locks of the cache are held. The request that is answered
 * waits (fs_revoke()).
 */
static void tell_taken_back(void *context, struct inode *inode)
{
	struct fs *fs = context;
	struct forgetting f = { .notifier = fs->revoker };

	if (!link_nodes_each(fs->links, inode, forget_number, &f))
		forget_number(&f, fs_number(fs, inode));
}

static void tell_name(void *context, struct inode *dir, const char *name, bool is_gone)
{
	struct fs *fs = context;

	notifier_name(fs->notifier, fs_number(fs, dir), name, is_gone);
}

static void tell_all(void *context)
{
	struct fs *fs = context;

	notifier_all(fs->notifier);
}

struct adding {
	struct notices *some;
	struct tree_outdated *one;
};

static void add_number(void *context, fuse_ino_t ino)
{
	const struct adding *a = context;
	const struct notice notice = { .kind = a->one->name ? NOTICE_NAME : NOTICE_INODE,
		.ino = ino,
		.pages = a->one->pages,
		.name = a->one->name };
	bool is_new;

	notices_add(a->some, &notice, &is_new);
}

static void add_outdated(struct fs *fs, struct notices *some, struct tree_outdated *one)
{
	struct adding a = { .some = some, .one = one };

	if (one->name || !link_nodes_each(fs->links, one->inode, add_number, &a))
		add_number(&a, fs_number(fs, one->inode));
}

static bool take_outdated(void *context, struct notices *some)
{
	struct tree_outdated taken[OUTDATED_AT_ONCE];
	struct fs *fs = context;
	size_t count;
	bool has_more = cache_take_outdated(fs->cache, taken, OUTDATED_AT_ONCE, &count);

	for (size_t n = 0; n < count; n++)
		add_outdated(fs, some, &taken[n]);
	return has_more;
}

static bool is_gone(void *context, fuse_ino_t dir, const char *name)
{
	struct fs *fs = context;
	const struct inode *inode =
		dir == FUSE_ROOT_ID ? cache_root(fs->cache) : (const struct inode *)(uintptr_t)dir;

	return cache_is_nameless(fs->cache, inode, name);
}

static void tell_changed(void *context, enum watch_kind kind, const char *path, bool is_dir)
{
	struct fs *fs = context;

	control_changed(fs->control, kind, path, is_dir);
}

/* ---- FUSE_INIT ---- */

static void want(struct fuse_conn_info *conn, unsigned capability, bool wanted)
{
	if (wanted && conn->capable & capability)
		conn->want |= capability;
	else
		conn->want &= ~capability;
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	const struct fs *fs = userdata;

	want(conn, FUSE_CAP_PARALLEL_DIROPS, true);
	/*
	 * The shown text of a link depends on where the link stands, and the sandbox may move it
	 * without the kernel's knowledge.
	 */
	want(conn, FUSE_CAP_CACHE_SYMLINKS, fs->options->symlinks == SYMLINKS_RAW);
	want(conn, FUSE_CAP_READDIRPLUS, true);
	want(conn, FUSE_CAP_READDIRPLUS_AUTO, true);
	/*
	 * An open that truncates comes as two requests (fs/openings.h), so that the kernel clears
	 * set-user-ID bits.
	 */
	want(conn, FUSE_CAP_ATOMIC_O_TRUNC, false);
	want(conn, FUSE_CAP_AUTO_INVAL_DATA, true);
	/* Locks are the kernel's own, among the processes of this machine. */
	want(conn, FUSE_CAP_POSIX_LOCKS, false);
	want(conn, FUSE_CAP_FLOCK_LOCKS, false);
	/* The sandbox must see every write, so no write may stay in the kernel. */
	want(conn, FUSE_CAP_WRITEBACK_CACHE, false);
	/* The kernel here clears set-user-ID bits, since it knows which process writes. */
	want(conn, FUSE_CAP_HANDLE_KILLPRIV, false);
	conn->max_write = REQUEST_MAX;
	conn->max_read = 0;
	conn->max_readahead = REQUEST_MAX;
	conn->max_background = 64;
	conn->congestion_threshold = 48;
	conn->time_gran = 1;
}

/* libfuse may log names, too: its lines are logged like ours. */
__attribute__((format(printf, 2, 0))) static void log_of_libfuse(
	enum fuse_log_level level, const char *format, va_list args)
{
	char line[1024];

	vsnprintf(line, sizeof line, format, args);
	line[strcspn(line, "\n")] = '\0';
	log_line(LOG_FS,
		level <= FUSE_LOG_ERR               ? LOG_LEVEL_ERROR
			: level <= FUSE_LOG_WARNING ? LOG_LEVEL_WARN
			: level < FUSE_LOG_DEBUG    ? LOG_LEVEL_INFO
						    : LOG_LEVEL_DEBUG,
		"%s", line);
}

/* A comma in the source would end the option: libfuse takes a backslash before it. */
static bool add_escaped(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == ',' || *text == '\\')
			buf_add_byte(out, '\\');
		buf_add_byte(out, (unsigned char)*text);
	}
	return !out->failed;
}

static bool add_options(struct buf *out, const struct mount_options *o)
{
	buf_add_string(out, "subtype=sandboxfs,default_permissions,nosuid,nodev,fsname=");
	add_escaped(out, o->source);
	if (o->allow_other)
		buf_add_string(out, ",allow_other");
	if (o->allow_root)
		buf_add_string(out, ",allow_root");
	if (o->read_only)
		buf_add_string(out, ",ro");
	if (o->kernel_options && *o->kernel_options)
		buf_printf(out, ",%s", o->kernel_options);
	return !out->failed;
}

static enum err new_session(struct mount *m, struct error *e)
{
	static struct fuse_lowlevel_ops ops;
	AUTO_BUF struct buf options = BUF_INIT(65536);
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	bool built = add_options(&options, &m->options);

	fuse_set_log_func(log_of_libfuse);
	ops = fs_ops;
	ops.init = op_init;
	built = built && !fuse_opt_add_arg(&args, "sandboxfs") && !fuse_opt_add_arg(&args, "-o") &&
		!fuse_opt_add_arg(&args, buf_text(&options)) &&
		(!m->options.debug || !fuse_opt_add_arg(&args, "-d"));
	if (built)
		m->session = fuse_session_new(&args, &ops, sizeof ops, &m->fs);
	fuse_opt_free_args(&args);
	if (!m->session)
		return error_set(
			e, ERR_INVALID, "the mount options were refused: %s", buf_text(&options));
	return ERR_OK;
}

enum err mount_attach(
	struct mount *m, struct cache *cache, const struct mount_options *options, struct error *e)
{
	struct attr root;
	enum err kind;

	m->options = *options;
	m->options.exec.audit = options->audit;
	m->fs.cache = cache;
	cache_known_attr(cache, cache_root(cache), &root);
	m->fs.root_dev = root.dev;
	kind = switches_new(&m->fs.switches, e);
	if (!kind)
		kind = link_nodes_new(&m->fs.links, cache, e);
	if (!kind)
		kind = openings_new(&m->fs.openings, e);
	return kind;
}

enum err mount_wait(struct mount *m, const struct cancel *cancel, struct error *e)
{
	return unused_wait(&m->unused, cancel, e);
}

void mount_refuse(struct mount *m, enum err why)
{
	unused_refuse(&m->unused, errmap_errno(why));
}

enum err mount_new(struct mount **out, struct cache *cache, const struct mount_options *options,
	struct error *e)
{
	struct mount *m = calloc(1, sizeof *m);
	enum err kind = ERR_OK;

	if (!m)
		return error_set(e, ERR_NO_MEMORY, "mount");
	m->options = *options;
	m->guard = GUARD_NONE;
	m->fs = (struct fs){ .options = &m->options };
	if (cache)
		kind = mount_attach(m, cache, options, e);
	if (!kind)
		kind = new_session(m, e);
	if (!kind && fuse_session_mount(m->session, options->mountpoint))
		kind = error_set(e, access("/dev/fuse", R_OK | W_OK) ? ERR_UNSUPPORTED : ERR_DENIED,
			"%s: the mount was refused", options->mountpoint);
	if (kind) {
		mount_free(m);
		return kind;
	}
	m->mounted = true;
	m->unused =
		(struct unused){ .session = m->session, .uid = options->uid, .gid = options->gid };
	*out = m;
	return ERR_OK;
}

enum err mount_start(struct mount *m, struct error *e)
{
	const struct control_options control = { .source = m->options.source,
		.exec = m->options.exec,
		.uid = m->options.uid,
		.gid = m->options.gid };
	struct cache_observer observer = {
		.inode_changed = tell_inode,
		.inode_revoked = tell_taken_back,
		.name_changed = tell_name,
		.all_outdated = tell_all,
		.changed = tell_changed,
		.context = &m->fs,
	};
	const struct notifier_source outdated = {
		.outdated = take_outdated, .is_gone = is_gone, .context = &m->fs
	};
	enum err kind;

	m->guard = guard_start(fuse_session_fd(m->session));
	kind = notifier_new(&m->fs.notifier, m->session, &outdated, e);
	if (!kind)
		kind = notifier_new(&m->fs.revoker, m->session, NULL, e);
	if (!kind)
		kind = control_new(&m->fs.control, m->fs.cache, m->fs.notifier, &control, e);
	if (!kind)
		cache_observe(m->fs.cache, &observer);
	return kind;
}

static void ignore_signal(int number)
{
	(void)number;
}

enum err mount_serve(struct mount *m, struct error *e)
{
	struct sigaction wake = { .sa_handler = ignore_signal };
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int failed;

	if (!config)
		return error_set(e, ERR_NO_MEMORY, "mount");
	sigaction(STOP_SIGNAL, &wake, NULL);
	m->serving = pthread_self();
	atomic_store(&m->is_serving, true);
	fuse_loop_cfg_set_clone_fd(config, 1);
	fuse_loop_cfg_set_max_threads(
		config, m->options.threads_max ? m->options.threads_max : THREADS_DEFAULT);
	unused_pass_on(&m->unused);
	failed = fuse_session_loop_mt(m->session, config);
	fuse_loop_cfg_destroy(config);
	/* A negative result is an errno; a positive one is the signal that ended the loop. */
	if (failed < 0)
		return error_errno(e, -failed, "%s: serving", m->options.mountpoint);
	return ERR_OK;
}

void mount_stop(struct mount *m)
{
	/*
	 * While requests are still answered: otherwise a process without an answer would keep the
	 * lock that a notice waits for.
	 */
	notifier_stop(m->fs.notifier, ANSWERED_MS);
	fuse_session_exit(m->session);
	if (atomic_load(&m->is_serving))
		pthread_kill(m->serving, STOP_SIGNAL);
}

void mount_free(struct mount *m)
{
	if (!m)
		return;
	if (m->fs.cache)
		cache_observe(m->fs.cache, NULL);
	notifier_stop(m->fs.notifier, UNANSWERED_MS);
	notifier_stop(m->fs.revoker, UNANSWERED_MS);
	guard_end(&m->guard);
	if (m->mounted)
		fuse_session_unmount(m->session);
	control_free(m->fs.control);
	notifier_free(m->fs.notifier);
	notifier_free(m->fs.revoker);
	if (m->session)
		fuse_session_destroy(m->session);
	switches_free(m->fs.switches);
	link_nodes_free(m->fs.links);
	openings_free(m->fs.openings);
	unused_release(&m->unused);
	free(m);
}
