/*
 * remote.h - for every vendor that can run a program in a sandbox and store a file there: finds the
 * directory to show, staging, the user there, and the helper program.
 *
 * A vendor's connect() gives a struct remote_ops and calls remote_attach(). The vendor then has a
 * helper client (client.h) that starts the helper program anew for every request. Where the helper
 * cannot run, only commands are possible. The first attach ever stores the helper in the sandbox:
 * two requests more. Every later one is a single run.
 *
 * Staging is the directory `.sandboxfs`. It is in the sandbox user's home when that is on the file
 * system of the shown directory, otherwise in the shown directory itself, where the verbs hide it.
 * Where the shown directory cannot be written, staging is in the home wherever that is, and where
 * neither can be written it is `.sandboxfs-UID` of /tmp, /dev/shm, /var/tmp or $XDG_RUNTIME_DIR
 * (/run).
 *
 * The helper is stored in staging, or, where files may not be executed there, in the first of these
 * where they may. Where they may nowhere, a script runs it from memory (loader.h). Its name
 * contains its hash. The file is whole (its size is checked at every attach, and it is renamed into
 * place), executable, and accessible to its owner alone.
 *
 * In staging, `request-*` are requests on their way, `answer-*` large answers, `upload-*` helpers
 * being stored; `command-*` and `input-*` belong to commands that run (command.h). An answer that
 * was read, and the record of a command whose end was received, are removed by the next request, at
 * the latest by the release, with one request of its own where any are left. An attach removes
 * requests, answers and commands that were not touched for an hour, and `upload-*` not touched for
 * a day.
 *
 * A request that misses the helper, because another program removed it, stores it again. Nothing
 * here changes by that: after the attach a struct remote is only read, by any number of threads.
 * Its lists have locks of their own.
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

/* A running program costs money, and may keep a sandbox from ending for lack of use. */
#define REMOTE_KEPT_MS 60000

/*
 * Runs `argv` as remote_ops.run does, and passes its output on as it comes until the program ends,
 * the call is cancelled or the sink refuses. In the last two cases the program is ended, as far as
 * the sandbox can still be reached.
 */
typedef enum err (*remote_listen)(void *context, const struct call *call, const char *const *argv,
	execute_sink sink, void *sink_context, int *exit_code, struct error *e);

/*
 * A listener may be killed without ending its helper: the helper ends itself by then. In seconds.
 */
#define REMOTE_WATCH_S "3600"

struct remote_ops {
	/*
	 * Runs `argv` as the sandbox user, with /dev/null as its input, and passes its output on as
	 * it comes. `upload`, or NULL, is stored meanwhile, and the program waits for it. When
	 * storing fails that is the error, and the program is not waited for.
	 *
	 * ERR_OK: the program ended with *exit_code (128 + the number of a signal). As in a shell,
	 * 127: it is not there; 126: it may not be executed. ERR_NOT_FOUND: the same as 127, or the
	 * upload's directory is missing, and nothing ran. An error of the sink is returned
	 * unchanged. `flags`: enum run_flags.
	 */
	enum err (*run)(void *context, const struct call *call, const char *const *argv,
		unsigned flags, const struct remote_upload *upload, execute_sink sink,
		void *sink_context, int *exit_code, struct error *e);
	/* Stores one file, new or replaced, with any mode. Readers may see it grow. */
	enum err (*upload)(void *context, const struct call *call,
		const struct remote_upload *upload, struct error *e);
	/*
	 * Passes on a file of staging that is whole, in pieces, as STREAM_OUT. NULL: answers come
	 * only as a program's output. For vendors whose output is text and comes at the end: an
	 * answer of more than `download_min` bytes (1 to FRAME_PAYLOAD_MAX) to a request that may
	 * be repeated is left in staging and fetched with this function, as plain bytes.
	 */
	enum err (*download)(void *context, const struct call *call, const char *path,
		execute_sink sink, void *sink_context, struct error *e);
	size_t download_min;
	/*
	 * Starts `argv` and leaves it running. *fd, the caller's, is its input and its output;
	 * closing it ends the program. NULL: the helper is started anew for each request. For
	 * vendors where a start costs several requests: the helper is then kept while there are
	 * requests, and for REMOTE_KEPT_MS more.
	 */
	enum err (*keep)(void *context, const struct call *call, const char *const *argv, int *fd,
		struct error *e);
	bool costs_requests; /* each write of that descriptor does: few and large ones */
	/*
	 * For a stream of changes (watch.h). NULL: a program's output comes only at its end. With
	 * is_live the stream can begin with the attach (provider_config.opening).
	 */
	remote_listen listen;
	size_t argument_max; /* bytes of one argument, at least 4: Linux's own limit is 131071 */
	/* a request up to this many bytes travels as arguments, a larger one as an upload */
	size_t inline_max;
	/* the limit for a request that is compressed on the way (RUN_COMPRESSES); 0: inline_max */
	size_t inline_packed_max;
	bool is_text; /* output is text, so answers are armoured */
	bool is_live; /* output comes while a program runs; false: only at its end */
	void *context;
};

/* For `download`: passes a file's bytes on as STREAM_OUT. */
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

/* Must not move between the attach and the release: its helper's client points to it. */
struct remote {
	char *root, *staging, *home; /* absolute, without symbolic links; owned */
	char *helper_path;           /* NULL: the helper cannot run there */
	const char *const *loader;   /* the words before its path that run it; ended by NULL */
	struct identity identity;
	struct helper_client *helper; /* NULL: the helper cannot run there */
	char *no_helper;              /* reason for that, a sentence; owned */
	struct remote_ops ops;
	struct remote_commands *commands; /* state of remote_command() */
	struct remote_names *leftovers;   /* files of staging that are not needed any more */
	struct remote_packer *packer;     /* facts about uploads */
	/* a stream of changes that began with the attach; NULL: none */
	struct remote_opening *opening;
};

/*
 * cfg->path may be relative or NULL, from `working_dir`. `working_dir` is an absolute path, "." for
 * the directory where the vendor starts programs, or NULL for the home directory. "?" and an
 * absolute path mean the home where that can be written, otherwise that path. ERR_NOT_FOUND,
 * ERR_NOT_DIR, ERR_DENIED: the directory to show. ERR_UNSUPPORTED: the helper cannot run, unless
 * cfg->may_lack_helper; then only remote_command() may be called. On failure there is nothing to
 * release.
 */
enum err remote_attach(struct remote *out, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e);
/*
 * Sets the fields of `p` that the batch verbs need. They stay the vendor's, and `r` must outlive
 * `p`.
 */
void remote_fill_slots(const struct remote *r, struct provider *p);
/* The facts that attaching learned, for provider_ops.info. Without an attach nothing is set. */
void remote_describe(const struct remote *r, struct sandbox_info *out);
/* Removes the leftovers in staging, where the sandbox can still be reached. */
void remote_release(struct remote *r);
