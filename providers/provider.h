/*
 * provider.h - the contract between sandboxfs and a sandbox vendor.
 *
 * Where the specification of agent backends has `execute`, `download_files` and `upload_files`, this has execute, fetch and
 * apply: fetch brings contents or parts of many files, apply makes many changes, whole files among them.
 *
 * A vendor is one file (or one clear group) that exports a `const struct provider_ops`. It must give connect, release,
 * info, execute and, for vendors that can make sandboxes, the lifecycle; of the batch verbs it gives those for which it
 * has something better than the helper's. Callers never test a slot: the provider_* functions below
 * hold what an absent one means. Verbs absent from the table are done by the helper program that
 * the provider has started (`struct provider.helper`).
 *
 * Threads: every function may be called from any thread, several at once on one provider, except connect/create (one
 * call makes one object) and release (the last call, alone). No function may call back into its caller's layer except
 * through the sinks it was given. Errors are made where they are known (base/error.h) and returned; per-item errors
 * stand in the item. Times are milliseconds where the name says `_ms`, seconds where `_s`.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/base/foreign.h"
#include "providers/base/call.h"
#include "providers/build_log.h"
#include "providers/verbs.h"

#include <stdatomic.h>

struct helper_client;
struct login_format;
struct provider;

/* ---- What the user asked for ---- */

enum resume_mode {
	RESUME_ON_ACCESS, /* a paused sandbox is woken by whatever a user does on the mount */
	RESUME_NEVER,     /* and fails with ERR_GONE */
};

/* What the programs of a sandbox reach; the vendor's default: what its sandboxes have. */
enum network { NETWORK_DEFAULT, NETWORK_HOST, NETWORK_NONE, NETWORK_NAT };

enum helper_mode {
	HELPER_AUTO, /* the best there is: in process for `local:`, the helper program for vendors */
	HELPER_PROCESS, /* the helper program as a process, also where it could be called directly */
};

struct provider_config {
	const char *id;   /* NULL: none given */
	const char *path; /* the remote directory to show; NULL: the provider's working directory */
	const char
		*user; /* the sandbox's user for commands and files; NULL: the provider's default */
	const char *key_file; /* a file of mode 0600 that holds the key; NULL: the environment */
	enum helper_mode helper;
	/* Whether a sandbox where the helper program cannot run will do: for `execute`. */
	bool may_lack_helper;
	enum resume_mode resume;
	/*
	 * Nothing in the sandbox is used or looked at, and a paused one is not woken: of what is connected so, only info (whose
	 * root, shell and identity may be empty), pause, resume and extend may be asked. Also that the sandbox exists may only
	 * be known by what is asked then.
	 */
	bool account_only;
	int64_t lifetime_s; /* to give a sandbox that would end by itself; 0: the vendor's default */
	int64_t progress_ms; /* base/call.h; 0: the default */
	/*
	 * What the first `watch` is going to ask for, so that it may begin with the attach and cost no request of its own;
	 * NULL: nobody will.
	 */
	const struct watch_request *opening;

	/* The vendor's group of sandboxes: new ones join it, names are unique in it. NULL: ours. */
	const char *app;

	/* Of a sandbox that is made; NULL or 0: the vendor's default. */
	const char *template;   /* what it is made from, in the vendor's words: a snapshot, ... */
	const char *image;      /* a container image of a registry, instead of a template */
	const char *const *env; /* "NAME=value", ended by NULL: what all its programs have */
	const char *const *labels; /* "key=value", ended by NULL: what it can be found by */
	const char *name;          /* for people */
	double cpus;
	int64_t memory_mb, disk_mb; /* of 1024 * 1024 bytes */
	const char *gpu, *region;   /* in the vendor's words */
	int64_t idle_s;             /* to end, or be paused, after so long without use */
	int64_t archive_after_s;    /* to be moved to cheaper storage when stopped for so long */
	int64_t delete_after_s;     /* to be deleted when it was stopped for so long */
	const char *language;       /* what code it is to run, in the vendor's words */
	int64_t pids;               /* processes and threads at one time */
	enum network network;
	bool block_network;         /* its programs reach nothing outside, but for `allowed` */
	const char *const *allowed; /* ended by NULL: reach.h; NULL: all, unless blocked */
	const uint16_t *ports; /* ended by 0: to have URLs, where a vendor must know that before */
	struct build_log *build_log; /* is told how the image is built; NULL: nobody asks */

	/* "NAME" or "NAME=VALUE", ended by NULL: those of provider_ops.client_options that were given; NULL: none. */
	const char *const *client_options;

	/* How whoever asks calls the option of that bit, for messages; NULL: as mounts do, "cpus=". */
	const char *(*option_name)(unsigned option);
};

/* What of it a vendor can do. */
enum provider_option {
	OPTION_TEMPLATE = 1,
	OPTION_ENV = 2,
	OPTION_LABELS = 4,
	OPTION_NAME = 8,
	OPTION_CPUS = 16,
	OPTION_MEMORY = 32,
	OPTION_DISK = 64,
	OPTION_GPU = 128,
	OPTION_REGION = 256,
	OPTION_IDLE = 512,
	OPTION_DELETE_AFTER = 1024,
	OPTION_BLOCK_NETWORK = 2048,
	OPTION_PORTS = 4096,
	OPTION_IMAGE = 8192,
	OPTION_ALLOW = 16384,
	OPTION_ARCHIVE_AFTER = 32768,
	OPTION_LANGUAGE = 65536,
	OPTION_PIDS = 131072,
	OPTION_NETWORK = 262144,
	OPTION_LIFETIME = 524288,
	OPTION_USER = 1048576, /* where connect accepts some only, it says which */
	OPTION_RESUME_NEVER = 2097152,
	OPTION_APP = 4194304,
	/* What only makes sense where a sandbox is made. */
	OPTIONS_OF_MAKING = OPTION_LIFETIME - 1,
};

/* ---- Facts of a sandbox ---- */

enum sandbox_state {
	SANDBOX_RUNNING,
	SANDBOX_PAUSED,
	SANDBOX_STOPPED,
	/* Broken, in the vendor's word. The warning says why, and whether resume repairs it. */
	SANDBOX_ERROR,
	SANDBOX_FAILED,
};
/* For people and scripts: "running". */
const char *sandbox_state_word(enum sandbox_state state);

struct sandbox_info {
	char id[128];
	enum sandbox_state state;
	int64_t expires_s; /* seconds of life left; -1: no limit */
	char root[1024];   /* the absolute path, in the sandbox, of the directory that is shown */
	struct identity identity;
	char note[200]; /* what was wrong with it and is repaired, for people; "": nothing */
	/* Why the sandbox, or what is written in it, may be lost, for people; "": no reason is known. */
	char warning[300];
	char limits[200]; /* what bounds its programs, and how, for people; "": the vendor knows */
	bool has_facts; /* filled in by provider_info() alone: connecting learned them of the shown directory */
	struct root_facts facts;
};

/* ---- execute ---- */

enum stream { STREAM_OUT = 1, STREAM_ERR = 2 };

struct execute_request {
	const char *command; /* shell text, handed over whole; no NUL inside */
	const char *cwd;     /* relative to the shown root (base/path.h); NULL: the root */
	int64_t timeout_ms; /* on the total; 0: none. Then TERM to the command's processes and, 5 s later, KILL */
	const void *input; /* standard input; NULL: /dev/null */
	size_t input_len;
	const char *const *env; /* "NAME=value", ended by NULL; NULL: none added */
};

/* Pieces of output as they come, in order within a stream. Anything but ERR_OK kills the command. */
typedef enum err (*execute_sink)(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e);

struct execute_result {
	bool has_exit_code; /* false: could not be determined */
	int exit_code;      /* 128 + the signal's number when one ended it; 124 after a timeout */
	bool timed_out;
	bool may_have_run; /* on an error: whether the command may have started */
	struct attr root;  /* of the shown root, read after the end; mode 0: nobody told */
};

/* ---- lifecycle of many sandboxes ---- */

struct sandbox_entry {
	const char *id;
	enum sandbox_state state;
	int64_t expires_s;
	const char *const *labels; /* "key=value", ended by NULL; NULL: the vendor does not say */
	/*
	 * Why the sandbox could not be read; NULL: it could. Other fields say nothing then, and the
	 * entry ends in provider_list_sandboxes().
	 */
	const char *unread;
};

typedef enum err (*sandbox_sink)(void *context, const struct sandbox_entry *entry, struct error *e);

/* ---- Options that one provider alone takes ---- */

struct client_option {
	const char *name;    /* with '=' at the end: a value follows */
	const char *refused; /* why it is not taken, and the way out; NULL: it is */
};

/* ---- A sandbox that is a container of this machine ---- */

struct provider_container {
	const char *image;
	unsigned port;              /* at which the sandbox answers, of the container */
	const char *const *options; /* for `docker run`, ended by NULL */
};

/* ---- The table ---- */

enum provider_caps {
	PROVIDER_EMBEDDED = 1,     /* runs on this machine; no key, no network */
	PROVIDER_NAMES_IDS = 2,    /* an ID that does not exist is created by connecting to it */
	PROVIDER_SINGLE = 4,       /* no ID: the one that is there; `create` finds it, it stays */
	PROVIDER_KEEPS_HELPER = 8, /* its helper serves many requests, so it can watch as well */
	PROVIDER_COMMANDS_PULSE =
		16, /* a silent command makes progress, too: one that makes none is out of reach */
	PROVIDER_FINDS_NAMES = 32, /* a sandbox is also found by the name that it was made with */
	PROVIDER_TAKES_HEADERS = 128, /* requests to its API can have headers of the user's own */
	PROVIDER_LOGIN_SHELL = 64,    /* the vendor's own SDK runs commands by a login shell */
};

struct provider_ops {
	/* Facts first. `name` is what stands before the colon of a source. */
	const char *name;
	const char *title;     /* for people: "E2B" */
	const char *key_names; /* environment variables that hold the key, for messages; "" none */
	const struct login_format *login; /* of the vendor's own program; NULL: it keeps none */
	unsigned caps;                    /* enum provider_caps */
	/*
	 * enum provider_option: what `create` looks at, and what `connect` and what follows it do. What is asked for and is
	 * in neither is refused before they are called.
	 */
	unsigned create_options, connect_options;

	/* Of the program that reaches its sandboxes, under the names that mounts by others give them; ended by a name of NULL. */
	const struct client_option *client_options;

	/* What its one sandbox is, where that is no service of a vendor's; NULL: it is. */
	const struct provider_container *container;

	/*
	 * How much of `text`, what follows the provider's colon in a source, is the ID: nothing, or a colon and a path,
	 * follows it. ERR_INVALID: it can be none. NULL: up to the first colon, of letters, digits, '.', '_' and '-'.
	 */
	enum err (*take_id)(const char *text, size_t *len, struct error *e);

	/*
	 * Makes a new sandbox from `cfg` (cfg->id is NULL), waits until it is ready and writes its id.
	 * On failure nothing is left behind. Only what is in create_options is asked for. With
	 * OPTION_LABELS there, cfg has a label of provider_create.c, by which a sandbox is found and
	 * deleted whose answer is lost. NULL: ERR_UNSUPPORTED, the vendor cannot.
	 */
	enum err (*create)(const struct provider_config *cfg, const struct call *call, char id[128],
		struct error *e);

	/*
	 * Attaches to the sandbox cfg->id and checks that the directory to show exists. ERR_NOT_FOUND: no such sandbox;
	 * ERR_AUTH: the key; ERR_UNREACHABLE; ERR_UNSUPPORTED: the helper program cannot run there.
	 * The result is released with `release`. Required.
	 */
	enum err (*connect)(const struct provider_config *cfg, const struct call *call,
		struct provider **out, struct error *e);

	/* Lets go: connections, threads, processes, staging. The sandbox lives on. Required. */
	void (*release)(struct provider *p);

	/* What is known of the sandbox, asked anew; the first time it may be what `connect` learned. Required. */
	enum err (*info)(struct provider *p, const struct call *call, struct sandbox_info *out,
		struct error *e);

	/*
	 * Every sandbox of this account, all pages. A sandbox that cannot be read is an entry with
	 * `unread`, and the list goes on. NULL: ERR_UNSUPPORTED.
	 */
	enum err (*list_sandboxes)(const struct provider_config *cfg, const struct call *call,
		sandbox_sink sink, void *context, struct error *e);

	/* Ends the sandbox cfg->id for good. One that does not exist is success. NULL: ERR_UNSUPPORTED. */
	enum err (*delete)(
		const struct provider_config *cfg, const struct call *call, struct error *e);

	/* Stops it so that `resume` finds it again. NULL: ERR_UNSUPPORTED. */
	enum err (*pause)(struct provider *p, const struct call *call, struct error *e);

	/* Wakes a paused one. NULL: ERR_UNSUPPORTED. */
	enum err (*resume)(struct provider *p, const struct call *call, struct error *e);

	/*
	 * Gives it at least `seconds` more to live, from now; never takes any away. A vendor that has a limit gives what it
	 * can. NULL: ERR_OK, it has no end.
	 */
	enum err (*extend)(
		struct provider *p, const struct call *call, int64_t seconds, struct error *e);

	/*
	 * Where programs elsewhere reach what listens on `port` (1 to 65535) of the sandbox by HTTP: adds the URL to `out`. Who
	 * knows it may use it, as long as the vendor has it hold. Nothing needs to listen yet. ERR_UNSUPPORTED: that port is
	 * not shown to anybody. NULL: none is.
	 */
	enum err (*url)(struct provider *p, const struct call *call, unsigned port, struct buf *out,
		struct error *e);

	/*
	 * Runs a command as the sandbox user in the shown root. ERR_OK: it ran, `result` says how it ended, also after a
	 * timeout. ERR_INTERRUPTED: `call` was cancelled; the command's processes are killed. Never sent twice once it may
	 * have started. Required.
	 */
	enum err (*execute)(struct provider *p, const struct call *call,
		const struct execute_request *request, execute_sink sink, void *context,
		struct execute_result *result, struct error *e);

	/* Adds lines of a name, a blank and a URL to `out`: the sandbox's own web pages. NULL: none. */
	void (*pages)(struct provider *p, struct buf *out);

	/* The batch verbs, as verbs.h says. Each may be NULL: the helper's. */
	enum err (*list)(struct provider *p, const struct call *call,
		const struct list_request *request, list_sink sink, void *context, struct error *e);
	enum err (*fetch)(struct provider *p, const struct call *call,
		const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
		struct error *e);
	enum err (*apply)(struct provider *p, const struct call *call,
		const struct apply_request *request, struct change_result *results,
		struct error *e);

	/*
	 * Reports changes below the shown root until cancelled (ERR_INTERRUPTED), the sink stops it or the stream breaks;
	 * before them what `request` asks for, where it can.
	 * NULL: the helper's inotify where there is one that serves many requests, else ERR_UNSUPPORTED.
	 */
	enum err (*watch)(struct provider *p, const struct call *call,
		const struct watch_request *request, watch_sink sink, void *context,
		struct error *e);
};

/* First member of every vendor's own struct. */
struct provider {
	const struct provider_ops *ops;
	struct helper_client
		*helper;     /* a running helper program, or NULL; owned by the vendor's struct */
	const char *staging; /* absolute path, in the sandbox, of the staging directory */
	const char *root;    /* absolute path, in the sandbox, of the shown root */
	const char *
		no_helper; /* why the helper program does not run there, a sentence; NULL: nothing lacks */
	struct foreign_answers
		*foreign;    /* what came that was not the vendor's; NULL: is not noted */
	atomic_bool is_gone; /* the vendor was seen to know the sandbox no more */
	bool is_opened; /* a stream of changes began with the attach, as provider_config.opening asks */
};

/* The vendors, by name; NULL: unknown. */
const struct provider_ops *provider_find(const char *name, size_t name_len);
/* All of them, from 0 on; NULL: past the last. */
const struct provider_ops *provider_at(size_t index);
/* "local, e2b, ...": for messages. */
void provider_names(struct buf *out);

/* Bits of enum provider_option: what `cfg` asks for. */
unsigned provider_options_asked(const struct provider_config *cfg);
/* How `cfg`'s user calls the option of that one bit, for messages. */
const char *provider_option_name(const struct provider_config *cfg, unsigned option);
/* The row that `word`, "NAME" or "NAME=VALUE", is of; NULL: none, or there is no table. */
const struct client_option *client_option_find(const struct client_option *table, const char *word);
/* "template=, env=, ...": as mounts call them. */
void provider_option_names(unsigned options, struct buf *out);
/* ERR_UNSUPPORTED: `cfg` asks for what this vendor cannot give a new sandbox; the error names it. */
enum err provider_check_create(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/*
 * ERR_UNSUPPORTED: a new sandbox of theirs cannot be given one of these options; the sentence calls
 * it as `cfg` says.
 */
enum err provider_check_options(const struct provider_ops *ops, const struct provider_config *cfg,
	unsigned options, struct error *e);

/* ---- What callers use: one for each slot, absent ones handled ---- */

enum err provider_create(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e);
enum err provider_connect(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct provider **out, struct error *e);
void provider_release(struct provider *p);
enum err provider_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
/* ERR_PROTOCOL, also after the sink had all others: some could not be read. */
enum err provider_list_sandboxes(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, sandbox_sink sink, void *context, struct error *e);
enum err provider_delete(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct error *e);
/* Whether the sandbox is known to be gone for good; without a request. */
bool provider_is_gone(const struct provider *p);
enum err provider_pause(struct provider *p, const struct call *call, struct error *e);
enum err provider_resume(struct provider *p, const struct call *call, struct error *e);
enum err provider_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e);
/* ERR_INVALID: that is no port. ERR_PROTOCOL: what the vendor tells is no URL that could be shown to anybody. */
enum err provider_url(struct provider *p, const struct call *call, unsigned port, struct buf *out,
	struct error *e);
/* Lines of a name, a blank and a URL. ERR_UNSUPPORTED: the sandbox has no web pages of its own. */
enum err provider_pages(struct provider *p, struct buf *out, struct error *e);
enum err provider_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
enum err provider_list(struct provider *p, const struct call *call,
	const struct list_request *request, list_sink sink, void *context, struct error *e);
enum err provider_fetch(struct provider *p, const struct call *call, const struct fetch_item *items,
	size_t items_count, fetch_sink sink, void *context, struct error *e);
/* Bytes that one fetch should ask for at most, UINT64_MAX where that does not matter. */
uint64_t provider_fetch_max(const struct provider *p);
enum err provider_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);
enum err provider_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
