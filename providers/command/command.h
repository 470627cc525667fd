/*
 * command.h - sandboxes that a program with binary standard input and output reaches: a table of
 * such programs, and for docker and podman their daemon, where it is reached at a socket here.
 *
 *      session.c    a session: its start, input and output, end
 *      run.c        programs run, files stored, the helper kept
 *      complaint.c  the meaning of the program's errors
 *      command.c    connecting and releasing
 *      life.c       what making and removing sandboxes shares
 *      one file for each program: facts and an entry of the table of providers
 *          ssh.c         ssh:[USER@]HOST[:PORT][:PATH]
 *          container.c   docker:CONTAINER[:PATH], podman:CONTAINER[:PATH]; container_life.c
 *                        makes, lists and removes them, and engine.c asks their daemon
 *          kubernetes.c  kubernetes:[CONTEXT/]NAMESPACE/POD[/CONTAINER][:PATH];
 *                        kubernetes_life.c makes, lists and removes pods
 *          any.c         command:'PROGRAM ARGUMENTS'[:/PATH]
 *
 * The user's own program is started in the user's own environment, so that configuration, logins
 * and agents apply. An attach runs one script and then the helper, which serves all later requests:
 * files, commands, changes and their stream are frames of that one session. Another session is
 * started only after that one broke. Until the sandbox is attached the program may ask on the
 * terminal; after that it has none.
 */
#pragma once

#include "providers/remote/attachment.h"
#include "providers/command/session.h"

struct command;
struct engine;

/* A text on the program's standard error, or its exit, when no shell can be reached. */
struct complaint {
	const char *words; /* a part of the text */
	enum err kind;
	const char *advice; /* advice for the user; NULL: the text itself says enough */
};

struct transport {
	const char *program;
	/* The directory in which programs start, as remote_attach() takes it. */
	const char *working_dir;
	/* The exit code for a lost sandbox, where no other program would use that code; 0: none. */
	int lost_code;
	const struct complaint *complaints; /* the first match counts; ended by NULL */
	/*
	 * The daemon's socket, for which the program is not needed; allocated. NULL: the program is
	 * to be run, as also where no daemon can be reached there.
	 */
	char *(*socket)(void);
	/*
	 * Prepares the connection. NULL: nothing to prepare. `close` is also called after an `open`
	 * that failed.
	 */
	enum err (*open)(struct command *c, const struct provider_config *cfg,
		const struct call *call, struct error *e);
	void (*close)(struct command *c);
	/*
	 * Checks before each session that the name still means the attached sandbox. NULL: the
	 * program's errors show that.
	 */
	enum err (*check)(struct command *c, const struct call *call, struct error *e);
	/* The words that run /bin/sh in the sandbox. `asks`: the program may ask the user. */
	void (*put_words)(const struct command *c, bool asks, struct words *out);
	/*
	 * A program of this machine that prints what may stand in a source, a line each; ended by
	 * NULL. NULL: nothing is known beforehand.
	 */
	const char *const *names;
	/* Sets `state`, and `expires_s` where there is an end. NULL: what answers is running. */
	enum err (*state)(struct command *c, const struct call *call, struct sandbox_info *out,
		struct error *e);
};

/* The most started helpers that are not yet waited for. */
#define KEPT_MAX 8

struct command {
	struct attachment at;
	const struct transport *transport;
	bool asks_nobody;      /* struct provider_config has it */
	char given[128];       /* ID of the source */
	struct words options;  /* options from the mount for the program */
	struct engine *engine; /* the daemon that is asked; NULL: the program is run */
	char *denied;          /* the daemon's socket where this user may not use it; or NULL */
	char dir[40];          /* a directory of this mount for sockets; "": none */
	/* the number of the connection in use: a silent one is not used again */
	_Atomic unsigned way;
	pthread_mutex_t kept_lock;
	pid_t kept[KEPT_MAX]; /* kept_lock */
};

/* ---- Slots that all programs share ---- */

enum err command_connect(const struct provider_ops *ops, const struct transport *transport,
	const struct provider_config *cfg, const struct call *call, struct provider **out,
	struct error *e);
void command_release(struct provider *p);
enum err command_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);

/* The slot offer_ids, with the entries of both tables before. */
enum err command_offer_ids(const struct provider_ops *ops, const struct transport *transport,
	const struct call *call, id_sink sink, void *context, struct error *e);

/* ---- For the programs' own files ---- */

/* Reaches nothing yet. cfg->id "": for calls that name no sandbox. Released as a provider. */
enum err command_new(struct command **out, const struct provider_ops *ops,
	const struct transport *transport, const struct provider_config *cfg, struct error *e);
/*
 * Runs a program of this machine to its end. ERR_OK: `out` has its output, and its exit code was 0.
 * On an error `out` has the output before it. `out` without a maximum gets one of 1 MiB.
 */
enum err command_ask(struct command *c, const struct call *call, const struct words *words,
	struct buf *out, struct error *e);
/* `file` is the program's descriptor 3, with a number of spawn_fd(); -1: none. */
enum err command_ask_with(struct command *c, const struct call *call, const struct words *words,
	int file, struct buf *out, struct error *e);
/* `input` is what the program reads. */
enum err command_ask_fed(struct command *c, const struct call *call, const struct words *words,
	const struct buf *input, struct buf *out, struct error *e);
/* The error of a program that is not installed. */
enum err command_lacks(const struct command *c, const char *program, struct error *e);
/* Gives the error that a complaint means; `kind` of `why` stays where no complaint matches. */
enum err command_verdict(
	struct command *c, struct session *s, const struct error *why, struct error *e);
/* command_verdict() for a text of a daemon; "": there is none. */
enum err command_verdict_of(
	struct command *c, const char *text, const struct error *why, struct error *e);

/* ---- Slots of struct remote_ops; `context` is a struct command ---- */

enum err command_run(void *context, const struct call *call, const char *const *argv,
	unsigned flags, const struct remote_upload *upload, execute_sink sink, void *sink_context,
	int *exit_code, struct error *e);
enum err command_upload(void *context, const struct call *call, const struct remote_upload *upload,
	struct error *e);
enum err command_keep(
	void *context, const struct call *call, const char *const *argv, int *fd, struct error *e);
/* Waits for helpers that were released. */
void command_reap_kept(struct command *c);

extern const struct provider_ops ssh_provider, docker_provider, podman_provider,
	kubernetes_provider, command_provider;
