/*
 * command.h - sandboxes that a program with binary standard input and output reaches: a table of such programs.
 *
 *      what is said to it              session.c
 *      programs run, files stored, the helper kept        run.c
 *      what its complaints mean        complaint.c
 *      connecting and letting go       command.c
 *      one file for each program: facts and an entry of the table of providers
 *          ssh.c         ssh:[USER@]HOST[:PORT][:PATH]
 *          container.c   docker:CONTAINER[:PATH], podman:CONTAINER[:PATH]
 *          kubernetes.c  kubernetes:[CONTEXT/]NAMESPACE/POD[/CONTAINER][:PATH]
 *          any.c         command:'PROGRAM ARGUMENTS'[:/PATH]
 *
 * The user's own program is started, in the user's own environment, so that configuration, logins and agents hold. An attach
 * runs one script and then the helper, which serves all that follows: files, commands, changes and their stream are frames
 * of that one session, and only when it broke is another one started. Until the sandbox is attached the program may ask on
 * the terminal; after that it has none.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/command/session.h"

struct command;

/* What the program says on its standard error, or exits with, where it cannot reach a shell. */
struct complaint {
	const char *words; /* that its text contains */
	enum err kind;
	const char *advice; /* the way out; NULL: what it says is enough */
};

struct transport {
	const char *program;
	/* What programs begin in, as remote_attach() takes it. */
	const char *working_dir;
	/* The exit code by which it says that it lost the sandbox, where no other program would use it; 0: none. */
	int lost_code;
	const struct complaint *complaints; /* the first that fits counts; ended by NULL */
	/* What stands before all else. NULL: nothing does. `close` also follows an `open` that failed. */
	enum err (*open)(struct command *c, const struct provider_config *cfg,
		const struct call *call, struct error *e);
	void (*close)(struct command *c);
	/* Whether a name still means the sandbox that was attached, before each session. NULL: its words tell. */
	enum err (*check)(struct command *c, const struct call *call, struct error *e);
	/* The words that run /bin/sh there. `asks`: a user is there who may be asked. */
	void (*put_words)(const struct command *c, bool asks, struct words *out);
	/* NULL: it runs as long as it answers. */
	enum err (*state)(struct command *c, const struct call *call, enum sandbox_state *out,
		struct error *e);
};

/* Helpers that were started and may not have been waited for. */
#define KEPT_MAX 8

struct command {
	struct attachment at;
	const struct transport *transport;
	char given[128];      /* the ID of the source */
	struct words options; /* that the mount gives the program */
	char dir[40];         /* of this mount alone, for sockets; "": none was made */
	_Atomic unsigned way; /* which connection is used: one that fell silent is not used again */
	pthread_mutex_t kept_lock;
	pid_t kept[KEPT_MAX]; /* kept_lock */
};

/* ---- Slots that all share ---- */

enum err command_connect(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct provider **out,
	struct error *e);
void command_release(struct provider *p);
enum err command_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);

/* ---- For the programs' own files ---- */

/* Runs a program of this machine to its end; ERR_OK: it printed `out` and ended well. */
enum err command_ask(struct command *c, const struct call *call, const struct words *words,
	struct buf *out, struct error *e);
/* What its complaint means; `kind` is what became of the session, and stays where nothing fits. */
enum err command_judge(
	struct command *c, struct session *s, const struct error *why, struct error *e);

/* ---- Slots of struct remote_ops; `context` is a struct command ---- */

enum err command_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e);
enum err command_upload(void *context, const struct call *call, const struct remote_upload *upload,
	struct error *e);
enum err command_keep(
	void *context, const struct call *call, const char *const *argv, int *fd, struct error *e);
/* Waits for helpers that were let go. */
void command_reap_kept(struct command *c);

extern const struct provider_ops ssh_provider, docker_provider, podman_provider,
	kubernetes_provider, command_provider;
