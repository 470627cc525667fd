/*
 * attachment.h - a sandbox of a vendor: the beginning of every vendor's struct, and the one state
 * machine that finds the sandbox, wakes it, addresses it and reaches it again.
 *
 *      attachment_reach    does one step, a request to the sandbox. After an error that the
 *                          sandbox's state may explain:
 *      attachment_find     looks at the state, wakes a sandbox that rests where a wake is allowed,
 *                          waits while the state changes, and adopts the address. Then the step
 *                          is done again.
 *
 *      life        a user's call     a background call     attachment_resume
 *      RUNS        adopts            adopts                nothing to do
 *      RESTS       wakes             ERR_GONE              wakes
 *      CHANGES     waits             waits                 waits
 *      FAILED      ERR_UNREACHABLE   ERR_UNREACHABLE       wakes
 *      BROKEN      ERR_UNREACHABLE   ERR_UNREACHABLE       ERR_UNREACHABLE
 *      ENDED       ERR_GONE, and no request is made for the sandbox again
 *
 * With resume=never a user's call is as one in the background.
 *
 * A sandbox that was attached and that the vendor does not find any more is gone, too. The facts
 * that connecting learned answer the first question for the state, because a mount asks right after
 * connecting. Any thread may call any function.
 */
#pragma once

#include "providers/remote/remote.h"

#include <pthread.h>

struct attachment;

enum attachment_life {
	ATTACHMENT_RUNS,
	ATTACHMENT_RESTS,   /* paused, stopped or suspended: a wake makes it run */
	ATTACHMENT_CHANGES, /* on its way to another state, by itself */
	ATTACHMENT_FAILED,  /* does not run, and a wake repairs it that its user asks for */
	ATTACHMENT_BROKEN,  /* never runs again by itself */
	ATTACHMENT_ENDED,   /* for good */
};

/* A sandbox as the vendor shows it. The vendor's struct keeps all other facts. */
struct attachment_view {
	enum attachment_life life;
	/* RESTS, FAILED and, without `await`, CHANGES: the vendor's word ("paused") */
	char state[32];
	char why[400]; /* FAILED, BROKEN, ENDED: the predicate of a sentence ("has ended: idle") */
	struct sandbox_info info; /* state, expires_s and warning */
};

/* The answers that a vendor must give. `a` is the beginning of the vendor's struct. */
struct attachment_ops {
	/*
	 * Asks the control plane about a->id, and keeps what the other slots need. `view` is all
	 * zero before. ERR_NOT_FOUND: there is no such sandbox.
	 */
	enum err (*look)(struct attachment *a, const struct call *call,
		struct attachment_view *view, struct error *e);
	/*
	 * Makes a sandbox run that RESTS or FAILED, as `look` has just shown. view->life is
	 * CHANGES, and becomes RUNS where the sandbox runs when this returns. ERR_BUSY: the state
	 * is changing, or somebody else was faster. NULL: a sandbox of this vendor never rests.
	 */
	enum err (*wake)(struct attachment *a, const struct call *call,
		struct attachment_view *view, struct error *e);
	/*
	 * Waits until a sandbox that CHANGES has another state, and fills in `view` as `look` does.
	 * NULL: the machine looks again and again.
	 */
	enum err (*await)(struct attachment *a, const struct call *call,
		struct attachment_view *view, struct error *e);
	/*
	 * Addresses the sandbox by what the last answer said, and adds one to a->addresses where
	 * that is another address or key than before. NULL: there is one address for all.
	 */
	enum err (*adopt)(struct attachment *a, const struct call *call, struct error *e);
	/*
	 * For messages: a mount may `wake_word` the sandbox, which is paused and `wakes_word` when
	 * somebody uses it; it was paused and `woken_word`.
	 */
	const char *wake_word, *wakes_word, *woken_word;
	/* The kinds of a step's error that the sandbox's state may explain, ended by ERR_OK. */
	enum err explained[4];
	/* How long a sandbox that runs may still answer ERR_GONE; 0: it is asked once. */
	int64_t route_ms;
	/* The predicate for a sandbox that runs and still answers ERR_GONE. */
	const char *away;
};

struct attachment {
	struct provider base;
	const struct attachment_ops *ops; /* NULL: the sandbox never rests, nor moves */
	char id[128];                     /* as given, possibly a name; the ID once found */
	char *user; /* the user of commands and files; NULL: the sandbox's own */
	enum resume_mode resume;
	struct remote remote; /* valid once attached */
	bool has_remote;
	pthread_mutex_t lock;
	bool has_found; /* lock; `found` was learned while connecting, and was not asked for yet */
	struct sandbox_info found;  /* lock; state, expires_s and warning */
	_Atomic unsigned addresses; /* how many `adopt` has taken, one after the other */
};

/*
 * A vendor's struct of `size` bytes, which begins with a struct attachment; all behind that is
 * zero. NULL: no memory, as `e` says. Released by ops->release, which begins with
 * attachment_detach() and ends with attachment_free().
 */
void *attachment_new(size_t size, const struct provider_ops *ops, const struct provider_config *cfg,
	struct error *e);
void attachment_detach(struct attachment *a);
void attachment_free(struct attachment *a);

/* For a local that points to a vendor's struct, or is NULL: releases it. */
#define AUTO_ATTACHMENT __attribute__((cleanup(attachment_cleanup)))
void attachment_cleanup(void *place);

/* `ops` has no context: the vendor's struct is the context. Otherwise as remote_attach(). */
enum err attachment_attach(struct attachment *a, const struct remote_ops *ops,
	const struct provider_config *cfg, const char *working_dir, const struct call *call,
	struct error *e);

/* ---- Whether the sandbox exists ---- */

/* ERR_GONE: the sandbox is known to be gone. Makes no request. */
enum err attachment_check(struct attachment *a, struct error *e);
/* Records that the sandbox is gone; the caller makes the error. */
void attachment_note_gone(struct attachment *a);
/*
 * `kind` is the vendor's error. ERR_NOT_FOUND of an attached sandbox is recorded and becomes
 * ERR_GONE.
 */
enum err attachment_note(struct attachment *a, enum err kind, struct error *e);

/* ---- The state machine, for a vendor with ops ---- */

/* The state of the sandbox. ERR_GONE: the sandbox has ended, or is not known any more. */
enum err attachment_look(struct attachment *a, const struct call *call,
	struct attachment_view *view, struct error *e);
/*
 * On success the sandbox runs and is addressed. ERR_GONE: it has ended, or rests and must not be
 * woken for this call. ERR_UNREACHABLE: it does not run, as the text says.
 */
enum err attachment_find(struct attachment *a, const struct call *call, struct error *e);

/* One request to the sandbox. *is_done: it may have been done, so it must not be done again. */
typedef enum err (*attachment_step)(struct attachment *a, const struct call *call, void *context,
	bool *is_done, struct error *e);
/*
 * Does one step. After an error that the sandbox's state may explain the sandbox is looked for, and
 * the step is done again. A refused key (ERR_AUTH) is final unless another was adopted.
 */
enum err attachment_reach(struct attachment *a, const struct call *call, attachment_step step,
	void *context, struct error *e);

/* ---- The state at connecting ---- */

/* Keeps state, expires_s and warning of `found`. */
void attachment_remember(struct attachment *a, const struct sandbox_info *found);
/*
 * The facts that attachment_remember() kept; false: there are none, or they were returned before.
 */
bool attachment_take_found(struct attachment *a, struct sandbox_info *out);
/* Fills in the other fields. */
void attachment_describe(const struct attachment *a, struct sandbox_info *out);

/* ---- A new sandbox that cannot be used ---- */

/*
 * Deletes the sandbox, with a deadline of its own: the caller may have given up. `id` may be "":
 * there is none.
 */
void attachment_discard(
	const struct provider_ops *ops, const struct provider_config *cfg, const char *id);

/* ---- Slots of the table ---- */

enum err attachment_info(
	struct provider *p, const struct call *call, struct sandbox_info *out, struct error *e);
/* Wakes the sandbox, also where resume=never holds and where it has FAILED; waits until it runs. */
enum err attachment_resume(struct provider *p, const struct call *call, struct error *e);
enum err attachment_execute(struct provider *p, const struct call *call,
	const struct execute_request *request, execute_sink sink, void *context,
	struct execute_result *result, struct error *e);
enum err attachment_watch(struct provider *p, const struct call *call,
	const struct watch_request *request, watch_sink sink, void *context, struct error *e);
