/*
 * remote.h - what every vendor shares who can run a program in a sandbox and take a file for it: which directory is shown,
 * where staging is, who one is there, and the helper program.
 *
 * A vendor's connect() gives a struct remote_ops and calls remote_attach(); it then has a helper client (client.h)
 * that starts the helper program anew for every request. Where that cannot run, commands are all
 * there is.
 * The first attach ever stores the helper in the sandbox: two requests more. Every later one is a single run.
 *
 * Staging is the directory `.sandboxfs` of the sandbox user's home when that is on the file system
 * of the shown directory, else of the shown directory itself, where the verbs hide it; where nothing
 * can be written to that, of the home wherever it is, and where nothing can be written to either,
 * `.sandboxfs-UID` of /tmp, /dev/shm or /var/tmp. The helper is stored in it, or, where files may not
 * be executed there, in the first of these where they may; where they may nowhere, a script runs it
 * from memory (loader.h). Its name contains its hash; it is whole (its size is checked at every
 * attach, and it is renamed into place), executable, for its owner alone. `request-*` in staging are
 * requests on their way, `answer-*` large
 * answers, `upload-*` are helpers, `command-*` and `input-*` belong to commands that run (command.h). An answer that was read and
 * the record of a command whose end was received are removed by the next request, at the latest by the release, with one
 * request of its own where any are left. An attach removes requests, answers and commands that nobody touched for an hour,
 * and helpers for a day.
 *
 * A helper that somebody removed since is put back by the request that misses it. That changes nothing here: after the
 * attach a struct remote is only read, by any number of threads; what its lists hold has their own locks.
 */
#pragma once

#include "providers/client/client.h"
#include "providers/provider.h"

/* A file to be stored: an absolute path in the sandbox, whose directory exists. */
struct remote_upload {
	const char *path;
	const void *bytes;
	size_t len;
};

/* A program that runs costs money, and may keep a sandbox from being let go. */
#define REMOTE_KEPT_MS 60000

/*
 * Runs `argv` as remote_ops.run does, and hands its output on as it comes until it ends, the call is cancelled or the sink
 * refuses; then it ends the program, as far as the sandbox can still be reached.
 */
typedef enum err (*remote_listen)(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);

/* Whoever listens may be killed and end nothing: by then the helper ends itself. In seconds. */
#define REMOTE_WATCH_S "3600"

struct remote_ops {
	/*
	 * Runs `argv` as the sandbox user, with /dev/null as its input, and hands its output on as it comes. `upload`, or NULL,
	 * is stored meanwhile: the program waits for it; when storing fails that is the error, and the program is let go.
	 * ERR_OK: it ended, *exit_code (128 + the signal's number) says how; 127 or 126, as of a shell, that it is not there
	 * or may not be executed. ERR_NOT_FOUND: that, or the upload's directory is not there, and nothing ran. An error of
	 * the sink's comes out unchanged. `flags`: enum run_flags.
	 */
	enum err (*run)(void *context, const struct call *call, const char *const *argv,
		unsigned flags, const struct remote_upload *upload, execute_sink sink,
		void *sink_context, int *exit_code, struct error *e);
	/* Stores one file, new or replaced, whatever its mode. Readers may see it grow. */
	enum err (*upload)(void *context, const struct call *call,
		const struct remote_upload *upload, struct error *e);
	/*
	 * Hands on a file of staging that is whole, in pieces, as STREAM_OUT. NULL: answers come as a program's output alone. For
	 * vendors whose output is text and comes at the end: an answer of more than `download_min` bytes (1 to
	 * FRAME_PAYLOAD_MAX) to a request that may be repeated is left in staging and fetched so, as the bytes it is.
	 */
	enum err (*download)(void *context, const struct call *call, const char *path,
		execute_sink sink, void *sink_context, struct error *e);
	size_t download_min;
	/*
	 * Starts `argv` and leaves it running: *fd, the caller's, is its input and its output, and to close it ends it. NULL: the
	 * helper is started anew for each request. For vendors where that costs several requests: it is kept then as long as it
	 * is asked, and for REMOTE_KEPT_MS more.
	 */
	enum err (*keep)(void *context, const struct call *call, const char *const *argv, int *fd,
		struct error *e);
	/*
	 * For a stream of changes (watch.h). NULL: a program's output comes only at its end. Where it is_live as well
	 * the stream can begin with the attach (provider_config.opening).
	 */
	remote_listen listen;
	size_t argument_max; /* bytes of one argument, at least 4: Linux's own limit is 131071 */
	size_t inline_max; /* a request up to so many bytes travels as arguments, a larger one as an upload */
	size_t inline_packed_max; /* the same of one that is compressed on the way (RUN_COMPRESSES); 0: no other */
	bool is_text; /* output is text, so answers are armoured */
	bool is_live; /* output comes while a program runs; false: at its end */
	void *context;
};

/* For `download`: hands a file's bytes on as STREAM_OUT. */
struct remote_bytes {
	execute_sink sink;
	void *sink_context;
};
/* A rest_sink; `context` is a struct remote_bytes. */
enum err remote_bytes_take(void *context, const void *bytes, size_t len, struct error *e);

struct remote_commands;
struct remote_names;
struct remote_opening;
struct remote_packer;

/* Stays where it is from the attach to the release: its helper's client points to it. */
struct remote {
	char *root, *staging, *home; /* absolute, without symbolic links; owned */
	char *helper_path;           /* NULL: no helper runs there */
	const char *const *loader;   /* the words that run it, but for its path; ended by NULL */
	struct identity identity;
	struct helper_client *helper; /* NULL: no helper runs there */
	char *no_helper;              /* then why, a sentence; owned */
	struct remote_ops ops;
	struct remote_commands *commands; /* what remote_command() keeps */
	struct remote_names *leftovers;   /* files of staging that nobody needs any more */
	struct remote_packer *packer;     /* what is known of uploads */
	struct remote_opening
		*opening; /* a stream of changes that began with the attach; NULL: none did */
};

/*
 * cfg->path relative or NULL: from `working_dir`, which is absolute, "." for where the vendor begins programs, NULL for
 * the home directory, or "?" and an absolute one for the home where that takes files, else that one. ERR_NOT_FOUND, ERR_NOT_DIR, ERR_DENIED: the directory to show. ERR_UNSUPPORTED:
 * the helper cannot run, unless cfg->may_lack_helper; then only remote_command() may be asked. On
 * failure there is nothing to release.
 */
enum err remote_attach(struct remote *out, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e);
/* What the batch verbs need of an attached one, which stays the vendor's and must outlive `p`. */
void remote_lend(const struct remote *r, struct provider *p);
/* What attaching learned, for provider_ops.info: nothing where it never came to that. */
void remote_describe(const struct remote *r, struct sandbox_info *out);
/* Removes what is left in staging, where the sandbox can still be reached. */
void remote_release(struct remote *r);
