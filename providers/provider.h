/*
 * provider.h - the contract between sandboxfs and a sandbox vendor.
 *
 * The specification of agent backends has `execute`, `download_files` and `upload_files`; this
 * contract has execute, fetch and apply: fetch brings contents or parts of many files, apply makes
 * many changes, whole files among them.
 *
 * A vendor is a folder that exports a `const struct provider_ops`. The table must have connect,
 * release, info, execute and, for vendors that can make sandboxes, the lifecycle. A vendor gives
 * those batch verbs that it can do better than the helper. Callers never test a slot: the
 * provider_* functions below know what an absent slot means. The helper program that the provider
 * has started does the verbs that the table lacks (`struct provider.helper`).
 *
 * Threads: every function may be called from any thread, several at once on one provider, except
 * connect/create (one call makes one object) and release (the last call, alone). No function may
 * call back into its caller's layer except through the sinks it was given. Errors are made where
 * they are known (base/error.h) and returned; the error of one item stands in the item. Times are
 * milliseconds where the name says `_ms`, seconds where `_s`.
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

/* ---- The user's options ---- */

enum resume_mode {
	RESUME_ON_ACCESS, /* any use of the mount wakes a paused sandbox */
	RESUME_NEVER,     /* a use of the mount fails with ERR_GONE while the sandbox is paused */
};

/* The network of a sandbox's programs. NETWORK_DEFAULT: the vendor's default. */
enum network { NETWORK_DEFAULT, NETWORK_HOST, NETWORK_NONE, NETWORK_NAT };

enum helper_mode {
	/* the best available: in process for `local:`, the helper program for vendors */
	HELPER_AUTO,
	/* the helper program as a process, even where its functions could be called directly */
	HELPER_PROCESS,
};

struct provider_config {
	const char *id;   /* NULL: none given */
	const char *path; /* the remote directory to show; NULL: the provider's working directory */
	/* the sandbox's user for commands and files; NULL: the provider's default */
	const char *user;
	const char *key_file; /* a file of mode 0600 that holds the key; NULL: the environment */
	enum helper_mode helper;
	/* Whether a sandbox where the helper program cannot run is acceptable: for `execute`. */
	bool may_lack_helper;
	enum resume_mode resume;
	/*
	 * For calls that only manage the sandbox. Nothing in the sandbox is used or looked at, and
	 * a paused one is not woken. Only info (whose root, shell and identity may be empty),
	 * pause, resume and extend may be called on the result. Connect may succeed for a sandbox
	 * that does not exist; then these calls fail.
	 */
	bool account_only;
	/* No program of the user's own may ask on the terminal: nobody asked for this provider. */
	bool asks_nobody;
	/* life to give a sandbox that would end by itself; 0: the vendor's default */
	int64_t lifetime_s;
	int64_t progress_ms; /* base/call.h; 0: the default */
	/*
	 * The request of the first `watch`, so that the watch may begin with the attach and cost no
	 * request of its own; NULL: there will be no watch.
	 */
	const struct watch_request *opening;

	/*
	 * the vendor's group of sandboxes: new ones join it, and names are unique in it; NULL: ours
	 */
	const char *app;

	/* For a new sandbox; NULL or 0: the vendor's default. */
	/* the origin of the sandbox in the vendor's words: a snapshot, ... */
	const char *template;
	const char *image;      /* a container image of a registry, instead of a template */
	const char *const *env; /* "NAME=value", ended by NULL: environment of all its programs */
	const char *const *labels; /* "key=value", ended by NULL: for finding the sandbox */
	const char *name;          /* for people */
	double cpus;
	int64_t memory_mb, disk_mb; /* in units of 1024 * 1024 bytes */
	const char *gpu, *region;   /* in the vendor's words */
	int64_t idle_s;             /* the sandbox ends or is paused after this time without use */
	/* the sandbox moves to cheaper storage after this time stopped */
	int64_t archive_after_s;
	int64_t delete_after_s; /* the sandbox is deleted after this time stopped */
	/* the language of the code it will run, in the vendor's words */
	const char *language;
	int64_t pids; /* processes and threads at one time */
	enum network network;
	/* the sandbox's programs reach no address outside, except `allowed` */
	bool block_network;
	const char *const *allowed; /* ended by NULL: reach.h; NULL: all, unless block_network */
	/* ended by 0: ports to have URLs, where a vendor must know them before */
	const uint16_t *ports;
	struct build_log *build_log; /* receives the lines of the image's build; NULL: not wanted */

	/*
	 * "NAME" or "NAME=VALUE", ended by NULL: the options of provider_ops.client_options that
	 * were given; NULL: none.
	 */
	const char *const *client_options;

	/*
	 * The name of the option of that bit, for messages to the user who gave it; NULL: as in
	 * mount options, "cpus=".
	 */
	const char *(*option_name)(unsigned option);
};

/* The options of provider_config that a vendor can have. */
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
	OPTION_USER = 1048576, /* where connect accepts only some, the error says which */
	OPTION_RESUME_NEVER = 2097152,
	OPTION_APP = 4194304,
	/* The options that only make sense where a sandbox is made: all before OPTION_LIFETIME. */
	OPTIONS_OF_MAKING = OPTION_LIFETIME - 1,
};

/* ---- Facts of a sandbox ---- */

enum sandbox_state {
	SANDBOX_RUNNING,
	SANDBOX_PAUSED,
	SANDBOX_STOPPED,
	/* Broken, by the vendor's report. The warning says why, and whether resume repairs it. */
	SANDBOX_ERROR,
	SANDBOX_FAILED,
};
/* For people and scripts: "running". */
const char *sandbox_state_word(enum sandbox_state state);

#define SANDBOX_WARNING_SIZE 300
#define SANDBOX_VOLUMES_SIZE 1024

struct sandbox_info {
	char id[128];
	enum sandbox_state state;
	int64_t expires_s; /* seconds of life left; -1: no limit */
	char root[1024];   /* the absolute path, in the sandbox, of the directory that is shown */
	struct identity identity;
	/* the user of commands and files, where one of several was chosen; "": none was */
	char user[256];
	char note[200]; /* repaired faults of the sandbox, for people; "": none */
	/* Why the sandbox, or changes in it, may be lost, for people; "": no known reason. */
	char warning[SANDBOX_WARNING_SIZE];
	/* a line for each volume in it: a name, a blank and the absolute path; "": none is known */
	char volumes[SANDBOX_VOLUMES_SIZE];
	/*
	 * the limits of its programs and their origin, for people; "": only the vendor knows them
	 */
	char limits[200];
	/* set by provider_info() alone: connect learned `facts` of the shown directory */
	bool has_facts;
	struct root_facts facts;
};

/* ---- execute ---- */

enum stream { STREAM_OUT = 1, STREAM_ERR = 2 };

struct execute_request {
	const char *command; /* shell text, passed on whole; no NUL inside */
	const char *cwd;     /* relative to the shown root (base/path.h); NULL: the root */
	/*
	 * on the total; 0: none. At its end the command's processes get TERM and, 5 s later, KILL
	 */
	int64_t timeout_ms;
	const void *input; /* standard input; NULL: /dev/null */
	size_t input_len;
	const char *const *env; /* "NAME=value", ended by NULL; NULL: none added */
};

/* Pieces of output as they come, in order within a stream. Any error kills the command. */
typedef enum err (*execute_sink)(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e);

struct execute_result {
	bool has_exit_code; /* false: the exit code is not known */
	int exit_code;      /* 128 + the signal's number when one ended it; 124 after a timeout */
	bool timed_out;
	bool may_have_run; /* on an error: whether the command may have started */
	struct attr root;  /* the shown root, read after the end; mode 0: not reported */
};

/* ---- Lifecycle of many sandboxes ---- */

struct sandbox_entry {
	const char *id;
	enum sandbox_state state;
	int64_t expires_s;
	int64_t age_s; /* seconds since it was made, by the vendor's clock; -1: not reported */
	/* "key=value", ended by NULL; NULL: the vendor does not report labels */
	const char *const *labels;
	/*
	 * Why the sandbox could not be read; NULL: it could. With an error the other fields have no
	 * meaning, and provider_list_sandboxes() does not pass the entry on.
	 */
	const char *unread;
};

typedef enum err (*sandbox_sink)(void *context, const struct sandbox_entry *entry, struct error *e);

typedef void (*id_sink)(void *context, const char *id);

/* ---- Snapshots ---- */

/* Room for a vendor's ID with a team, a name and a tag, and the NUL. */
#define SNAPSHOT_ID_SIZE 256

/* `name`: for people; "": none, or the ID is the name. */
typedef enum err (*snapshot_sink)(void *context, const char *id, const char *name, struct error *e);

/* ---- Logs ---- */

/* The most lines that are asked for: the newest. */
#define LOG_LINES_MAX 1000

struct log_line {
	const char *time; /* the time in RFC 3339, or in the vendor's form; "": not reported */
	const char *kind; /* a level or an origin, in the vendor's word; "": not reported */
	const char *text; /* may have ends of lines */
};

typedef enum err (*log_sink)(void *context, const struct log_line *line, struct error *e);

/* ---- Options of a single provider ---- */

struct client_option {
	const char *name; /* with '=' at the end: a value follows */
	/* why the option is not taken, and an alternative; NULL: it is taken */
	const char *refused;
};

/* ---- A sandbox in a container of this machine ---- */

struct provider_container {
	const char *image;
	unsigned port;              /* port of the container where the sandbox answers */
	const char *const *options; /* for `docker run`, ended by NULL */
};

/* ---- The table ---- */

enum provider_caps {
	PROVIDER_EMBEDDED = 1, /* runs on this machine; no key, no network */
	/* connecting to an ID that does not exist creates that sandbox */
	PROVIDER_NAMES_IDS = 2,
	/* no ID: the provider has one sandbox; `create` finds it, and it stays */
	PROVIDER_SINGLE = 4,
	/* the provider's helper serves many requests, so watch is possible, too */
	PROVIDER_KEEPS_HELPER = 8,
	/* a silent command makes progress, too: a command without progress is out of reach */
	PROVIDER_COMMANDS_PULSE = 16,
	PROVIDER_FINDS_NAMES = 32, /* a sandbox is also found by the name it was given when made */
	PROVIDER_TAKES_HEADERS = 128, /* requests to its API can have headers of the user's own */
	PROVIDER_LOGIN_SHELL = 64,    /* the vendor's own SDK runs commands by a login shell */
};

struct provider_ops {
	/* Facts first. `name` stands before the colon of a source. */
	const char *name;
	const char *title;     /* for people: "E2B" */
	const char *key_names; /* environment variables that hold the key, for messages; "" none */
	/* login of the vendor's own program; NULL: that program keeps none */
	const struct login_format *login;
	unsigned caps; /* enum provider_caps */
	/*
	 * enum provider_option: the options that `create` uses, and those that `connect` and the
	 * calls after it use. An option in neither is refused before these are called.
	 */
	unsigned create_options, connect_options;

	/*
	 * Options for the program that reaches its sandboxes, by the names that other file systems'
	 * mounts give them; ended by a name of NULL.
	 */
	const struct client_option *client_options;

	/*
	 * The container of its one sandbox, where the sandbox is no service of a vendor; NULL: it
	 * is.
	 */
	const struct provider_container *container;

	/*
	 * How much of `text`, the part of a source behind the provider's colon, is the ID. The end
	 * of the text, or a colon and a path, follows the ID. ERR_INVALID: no ID can be like that.
	 * NULL: up to the first colon, of letters, digits, '.', '_' and '-'.
	 */
	enum err (*take_id)(const char *text, size_t *len, struct error *e);

	/*
	 * Makes a new sandbox from `cfg` (cfg->id is NULL), waits until it is ready and writes its
	 * id. On failure no sandbox is left behind. `cfg` has only options of create_options. With
	 * OPTION_LABELS among them, cfg has a label of provider_create.c, by which a sandbox is
	 * found and deleted when the answer is lost. NULL: ERR_UNSUPPORTED, the vendor cannot.
	 */
	enum err (*create)(const struct provider_config *cfg, const struct call *call, char id[128],
		struct error *e);

	/*
	 * Attaches to the sandbox cfg->id and checks that the directory to show exists.
	 * ERR_NOT_FOUND: no such sandbox; ERR_AUTH: the key; ERR_UNREACHABLE; ERR_UNSUPPORTED: the
	 * helper program cannot run there. The result is released with `release`. Required.
	 */
	enum err (*connect)(const struct provider_config *cfg, const struct call *call,
		struct provider **out, struct error *e);

	/* Ends connections, threads, processes and staging. The sandbox lives on. Required. */
	void (*release)(struct provider *p);

	/*
	 * The facts of the sandbox, asked anew; the first answer may be what `connect` learned.
	 * Required.
	 */
	enum err (*info)(struct provider *p, const struct call *call, struct sandbox_info *out,
		struct error *e);

	/*
	 * Writes sandbox_info.warning where the vendor reported one since the sandbox was attached;
	 * else leaves `out` as it is. Makes no request. NULL: the vendor reports none.
	 */
	void (*warning)(struct provider *p, char out[SANDBOX_WARNING_SIZE]);

	/*
	 * Every sandbox of this account, all pages. A sandbox that cannot be read is an entry with
	 * `unread`, and the list goes on. NULL: ERR_UNSUPPORTED.
	 */
	enum err (*list_sandboxes)(const struct provider_config *cfg, const struct call *call,
		sandbox_sink sink, void *context, struct error *e);

	/*
	 * Tells what may stand behind the colon of a source, for a user who is typing one: never
	 * asks that user. NULL: the IDs of list_sandboxes.
	 */
	enum err (*offer_ids)(
		const struct call *call, id_sink sink, void *context, struct error *e);

	/*
	 * Ends the sandbox cfg->id for good. Success where the sandbox does not exist. NULL:
	 * ERR_UNSUPPORTED.
	 */
	enum err (*delete)(
		const struct provider_config *cfg, const struct call *call, struct error *e);

	/* Stops the sandbox so that `resume` finds it again. NULL: ERR_UNSUPPORTED. */
	enum err (*pause)(struct provider *p, const struct call *call, struct error *e);

	/* Wakes a paused sandbox. NULL: ERR_UNSUPPORTED. */
	enum err (*resume)(struct provider *p, const struct call *call, struct error *e);

	/*
	 * Gives the sandbox at least `seconds` more to live, from now; never takes any away. A
	 * vendor that has a limit gives as much as possible. NULL: ERR_OK, the sandbox has no end.
	 */
	enum err (*extend)(
		struct provider *p, const struct call *call, int64_t seconds, struct error *e);

	/*
	 * Makes a snapshot of the sandbox and waits until `create` can take it: as the template,
	 * or, without OPTION_TEMPLATE, as the image. `name`: NULL: the vendor's choice, or a new
	 * one. `id` is the text for `create`. NULL: ERR_UNSUPPORTED.
	 */
	enum err (*snapshot)(struct provider *p, const struct call *call, const char *name,
		char id[SNAPSHOT_ID_SIZE], struct error *e);

	/* The account's own snapshots, all pages. NULL: ERR_UNSUPPORTED. */
	enum err (*list_snapshots)(const struct provider_config *cfg, const struct call *call,
		snapshot_sink sink, void *context, struct error *e);

	/* Success where there is no such snapshot. NULL: ERR_UNSUPPORTED. */
	enum err (*delete_snapshot)(const struct provider_config *cfg, const struct call *call,
		const char *id, struct error *e);

	/*
	 * Makes a new sandbox with all that is in this one, which goes on, and waits until the new
	 * one is ready. On failure none is left behind. NULL: ERR_UNSUPPORTED.
	 */
	enum err (*fork)(
		struct provider *p, const struct call *call, char id[128], struct error *e);

	/*
	 * Replaces the rules for what the sandbox's programs reach, as of a new sandbox:
	 * provider_config.block_network and .allowed; with neither of them everything. NULL:
	 * ERR_UNSUPPORTED.
	 */
	enum err (*set_network)(struct provider *p, const struct call *call, bool blocked,
		const char *const *allowed, struct error *e);

	/*
	 * The newest lines that the vendor keeps of the sandbox, LOG_LINES_MAX at most, the oldest
	 * first. A paused sandbox is not woken. NULL: ERR_UNSUPPORTED.
	 */
	enum err (*logs)(struct provider *p, const struct call *call, log_sink sink, void *context,
		struct error *e);

	/*
	 * Adds to `out` the URL where programs elsewhere reach, by HTTP, the program that listens
	 * on `port` (1 to 65535) of the sandbox. Every program that has the URL may use it, as long
	 * as the vendor keeps it valid. Of a private port a second line has the header that each
	 * request needs. No program needs to listen yet. ERR_UNSUPPORTED: the sandbox does not show
	 * that port. NULL: no port has a URL.
	 */
	enum err (*url)(struct provider *p, const struct call *call, unsigned port, struct buf *out,
		struct error *e);

	/*
	 * Runs a command as the sandbox user in the shown root. ERR_OK: it ran, `result` says how
	 * it ended, also after a timeout. ERR_INTERRUPTED: `call` was cancelled; the command's
	 * processes are killed. Never sent twice once it may have started. Required.
	 */
	enum err (*execute)(struct provider *p, const struct call *call,
		const struct execute_request *request, execute_sink sink, void *context,
		struct execute_result *result, struct error *e);

	/*
	 * Adds lines of a name, a blank and a URL to `out`: the sandbox's own web pages. NULL:
	 * none.
	 */
	void (*pages)(struct provider *p, struct buf *out);

	/* The batch verbs, as in verbs.h. Each may be NULL: the helper does it. */
	enum err (*list)(struct provider *p, const struct call *call,
		const struct list_request *request, list_sink sink, void *context, struct error *e);
	enum err (*fetch)(struct provider *p, const struct call *call,
		const struct fetch_item *items, size_t items_count, fetch_sink sink, void *context,
		struct error *e);
	enum err (*apply)(struct provider *p, const struct call *call,
		const struct apply_request *request, struct change_result *results,
		struct error *e);

	/*
	 * Reports changes below the shown root until cancelled (ERR_INTERRUPTED), the sink ends the
	 * watch, or the stream breaks. Before them come the items of the list in `request`, where
	 * the provider can list. NULL: the helper's inotify where there is a helper that serves
	 * many requests; otherwise ERR_UNSUPPORTED.
	 */
	enum err (*watch)(struct provider *p, const struct call *call,
		const struct watch_request *request, watch_sink sink, void *context,
		struct error *e);
};

/* First member of every vendor's own struct. */
struct provider {
	const struct provider_ops *ops;
	/* a running helper program, or NULL; owned by the vendor's struct */
	struct helper_client *helper;
	const char *staging; /* absolute path, in the sandbox, of the staging directory */
	const char *root;    /* absolute path, in the sandbox, of the shown root */
	/* why the helper program cannot run there, a sentence; NULL: it can */
	const char *no_helper;
	/* answers that were not the vendor's; NULL: not counted */
	struct foreign_answers *foreign;
	atomic_bool is_gone; /* the vendor reported that the sandbox does not exist any more */
	bool is_opened;      /* a watch began with the attach, as in provider_config.opening */
};

/* The vendor of that name; NULL: unknown. */
const struct provider_ops *provider_find(const char *name, size_t name_len);
/* All vendors, from 0 on; NULL: past the last. */
const struct provider_ops *provider_at(size_t index);
/* "local, e2b, ...": for messages. */
void provider_names(struct buf *out);

/* The options that `cfg` asks for: bits of enum provider_option. */
unsigned provider_options_asked(const struct provider_config *cfg);
/* The name of the option of that one bit, for messages to `cfg`'s user. */
const char *provider_option_name(const struct provider_config *cfg, unsigned option);
/* The row of `word`, "NAME" or "NAME=VALUE"; NULL: none, or there is no table. */
const struct client_option *client_option_find(const struct client_option *table, const char *word);
/* "template=, env=, ...": the names in mount options. */
void provider_option_names(unsigned options, struct buf *out);
/*
 * ERR_UNSUPPORTED: `cfg` has an option that this vendor cannot give a new sandbox; the error names
 * it.
 */
enum err provider_check_create(
	const struct provider_ops *ops, const struct provider_config *cfg, struct error *e);

/*
 * ERR_UNSUPPORTED: a new sandbox of this vendor cannot have one of these options; the error has the
 * name that `cfg` gives the option.
 */
enum err provider_check_options(const struct provider_ops *ops, const struct provider_config *cfg,
	unsigned options, struct error *e);

/* ---- For callers: a function for each slot, which handles an absent one ---- */

enum err provider_create(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, char id[128], struct error *e);
enum err provider_connect(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct provider **out, struct error *e);
void provider_release(struct provider *p);
enum err provider_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
void provider_warning(struct provider *p, char out[SANDBOX_WARNING_SIZE]);
/* ERR_PROTOCOL: some sandboxes could not be read; the sink has had all others. */
enum err provider_list_sandboxes(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, sandbox_sink sink, void *context, struct error *e);
/* As the slot; IDs that cannot be learned are left out. */
void provider_offer_ids(
	const struct provider_ops *ops, const struct call *call, id_sink sink, void *context);
enum err provider_delete(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, struct error *e);
/* Whether the sandbox is known to be gone for good. Makes no request. */
bool provider_is_gone(const struct provider *p);
enum err provider_pause(struct provider *p, const struct call *call, struct error *e);
enum err provider_resume(struct provider *p, const struct call *call, struct error *e);
enum err provider_extend(
	struct provider *p, const struct call *call, int64_t seconds, struct error *e);
/* provider_copies.c. ERR_PROTOCOL: an ID that no terminal should get. */
enum err provider_snapshot(struct provider *p, const struct call *call, const char *name,
	char id[SNAPSHOT_ID_SIZE], struct error *e);
enum err provider_list_snapshots(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, snapshot_sink sink, void *context, struct error *e);
enum err provider_delete_snapshot(const struct provider_ops *ops, const struct provider_config *cfg,
	const struct call *call, const char *id, struct error *e);
enum err provider_fork(struct provider *p, const struct call *call, char id[128], struct error *e);
enum err provider_set_network(struct provider *p, const struct call *call, bool blocked,
	const char *const *allowed, struct error *e);
enum err provider_logs(
	struct provider *p, const struct call *call, log_sink sink, void *context, struct error *e);
/* ERR_INVALID: no valid port. ERR_PROTOCOL: the vendor's answer is no URL that can be shown. */
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
/* The most bytes that one fetch should ask for; UINT64_MAX: no limit. */
uint64_t provider_fetch_max(const struct provider *p);
enum err provider_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e);
enum err provider_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
