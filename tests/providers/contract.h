/*
 * contract.h - one list of behaviours, run over every provider and every way its verbs can be done.
 *
 * A behaviour is written once, with BEHAVIOUR(), and becomes one test for each subject. It acts
 * through provider_* and looks at the outcome through outside.h. Where a subject may differ, the
 * difference is a documented fact in its row (enum lack), and the behaviour states what must hold
 * instead.
 */
#pragma once

#include "providers/base/buf.h"
#include "providers/provider.h"
#include "tests/providers/outside.h"
#include "tests/providers/processor.h"
#include "tests/support/scratch.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

/* Facts in which a subject differs from the others. */
enum lack {
	/* The subject has no stream of changes. */
	LACKS_WATCH = 1,
	/*
	 * An ordinary user's sandboxes here have one uid alone, the user's: giving files away is
	 * EINVAL.
	 */
	LACKS_OTHER_OWNERS = 2,
	/* Only one sandbox may live at a time, so no test makes a second one. */
	IS_ALONE = 4,
	/* Ports are opened when a sandbox is made, or never. */
	LACKS_PORTS = 8,
	/* Files lie in a container's layers: no time of birth lasts there, and 0 stands for it. */
	LACKS_BIRTH = 16,
};

/*
 * The vendors, a row for each: the name, what the vendor's sandboxes lack in addition to what every
 * sandbox lacks on this machine, and how many sandboxes can be made.
 */
#define EACH_VENDOR(ROW, ...)                                                                      \
	ROW(aio, IS_ALONE, 1, __VA_ARGS__)                                                         \
	ROW(daytona, 0, SANDBOXES_MAX, __VA_ARGS__)                                                \
	ROW(e2b, 0, SANDBOXES_MAX, __VA_ARGS__)                                                    \
	ROW(langsmith, 0, SANDBOXES_MAX, __VA_ARGS__)                                              \
	ROW(modal, LACKS_PORTS, SANDBOXES_MAX, __VA_ARGS__)                                        \
	ROW(runloop, 0, SANDBOXES_MAX, __VA_ARGS__)

/*
 * Sandboxes that a server reaches which is no imitation, OpenSSH's sshd or Docker's daemon: a row
 * for each, as above. Who starts this program made them (tests/support/contract-of).
 */
#define EACH_REACHED(ROW, ...)                                                                     \
	ROW(docker, IS_ALONE | LACKS_PORTS | LACKS_BIRTH, REACHED_MAX, __VA_ARGS__)                \
	ROW(ssh, IS_ALONE | LACKS_PORTS, REACHED_MAX, __VA_ARGS__)
#define REACHED_MAX 4

/* More tests than this never run at a time. */
#define SANDBOXES_MAX 16

struct subject {
	const char *name;
	unsigned lacks; /* enum lack */
	enum helper_mode helper;
	/* the subject's sandboxes are machines of their own, on which any directory may be shown */
	bool is_remote;

	/* The fields below are those of the test that runs. */
	const struct provider_ops *ops;
	struct provider *p;
	char id[128];
	struct identity user;   /* the user that commands run as in the sandbox */
	char root[1024];        /* the shown directory's path in the sandbox */
	struct scratch scratch; /* where the provider keeps its sandboxes; path "": not here */
	struct scratch tree;    /* the shown directory; fd -1: it is not on this machine */
};

struct subject *contract_subject(void);

/*
 * Begins and ends each test of a subject, for the set-up of suites. `id`: a sandbox that exists, or
 * the name of one to make.
 */
void contract_begin(const struct subject *row, const struct provider_ops *ops);
void contract_connect(struct subject *s, const char *id);
void contract_end(void);

/* A configuration for one more connection to the same place. */
struct provider_config contract_config(const struct subject *s, const char *id);

/* ---- A vendor's server in trouble ---- */

/*
 * Gives the subject a sandbox of a server that no other test uses. Skips the test where there is no
 * such server.
 */
void contract_use_own_server(struct subject *s);
/*
 * The server does `action` to the next `times` requests whose kind matches: see
 * tests/servers/lib/faults.mjs.
 */
void contract_fault(const char *kind, const char *action, int times);
/*
 * Text that only the client and the server may know: the key for number 0, then the sandbox's
 * secrets. NULL: there are no more.
 */
const char *contract_secret(size_t number);
/* Ends the faults. Returns how many requests met one. */
int contract_mend(void);

#define BEHAVIOUR_FOR(suite, group, claim)                                                         \
	Test(suite, group##_##claim)                                                               \
	{                                                                                          \
		group##_##claim(contract_subject());                                               \
	}

#define BEHAVIOUR_FOR_MACHINE(machine, group, claim) BEHAVIOUR_FOR(contract_##machine, group, claim)

#define BEHAVIOUR_FOR_VENDOR(vendor, lacks, sandboxes_max, group, claim)                           \
	BEHAVIOUR_FOR(contract_##vendor, group, claim)

/* "group: claim" reads as a sentence: BEHAVIOUR(apply, mkdir_of_an_existing_name_is_refused). */
#define BEHAVIOUR(group, claim)                                                                    \
	static void group##_##claim(struct subject *s);                                            \
	EACH_VENDOR(BEHAVIOUR_FOR_VENDOR, group, claim)                                            \
	EACH_REACHED(BEHAVIOUR_FOR_VENDOR, group, claim)                                           \
	BEHAVIOUR_FOR(contract_text, group, claim)                                                 \
	BEHAVIOUR_FOR(contract_command, group, claim)                                              \
	BEHAVIOUR_HERE(group, claim)

/* A behaviour of the sandboxes that are reached through a vendor. */
#define BEHAVIOUR_OF_VENDORS(group, claim)                                                         \
	static void group##_##claim(struct subject *s);                                            \
	EACH_VENDOR(BEHAVIOUR_FOR_VENDOR, group, claim)                                            \
	static void group##_##claim(struct subject *s)

/* A behaviour of the sandboxes that we make ourselves, on this machine. */
#define BEHAVIOUR_HERE(group, claim)                                                               \
	static void group##_##claim(struct subject *s);                                            \
	BEHAVIOUR_FOR(contract_in_process, group, claim)                                           \
	BEHAVIOUR_FOR(contract_helper_process, group, claim)                                       \
	BEHAVIOUR_FOR(contract_helper_runs, group, claim)                                          \
	EACH_MACHINE(BEHAVIOUR_FOR_MACHINE, group, claim)                                          \
	static void group##_##claim(struct subject *s)

/* ---- execute ---- */

struct ran {
	enum err err;
	struct error why;
	struct execute_result result;
	struct buf out, err_out;
};

void ran_release(struct ran *r);
#define AUTO_RAN __attribute__((cleanup(ran_release)))

struct ran run_request(
	const struct subject *s, const struct call *call, const struct execute_request *request);
/* A command that must have run and ended. */
struct ran run(const struct subject *s, const char *command);

/* ---- list ---- */

struct listed_entry {
	enum list_kind kind; /* LIST_SELF, LIST_DIR, LIST_ENTRY or LIST_DIR_END */
	uint32_t start;
	enum err err;
	bool complete;
	char *path; /* LIST_SELF: the start; LIST_DIR and its entries: from the shown root */
	char *link;
	struct attr attr;
};

struct listed {
	enum err err;
	struct error why;
	struct listed_entry *entries;
	size_t count;
	bool has_end;
	struct timespec now;
	struct space space;
	char *xattrs; /* "name=value;" of the last LIST_SELF */
};

void listed_release(struct listed *l);
#define AUTO_LISTED __attribute__((cleanup(listed_release)))

/* Also checks what holds for every list: the order of items, and their bounds. */
struct listed list_request(struct subject *s, const struct list_request *request);
struct listed list_one(struct subject *s, const char *start, uint32_t depth);
/* The entry or start of that path; NULL: not listed. */
const struct listed_entry *listed_find(
	const struct listed *l, enum list_kind kind, const char *path);
size_t listed_count(const struct listed *l, enum list_kind kind);

/* ---- fetch ---- */

struct fetched {
	enum err err;
	bool done;
	uint64_t offset;
	struct buf bytes;
	struct attr attr;
};

/*
 * Fills one element of `out` for each item; the caller releases them by fetched_release(). Fails
 * the test where the batch itself failed.
 */
void fetch_items(
	struct subject *s, const struct fetch_item *items, size_t count, struct fetched *out);
void fetched_release(struct fetched *f, size_t count);

/* ---- apply ---- */

/* The changes of one batch; the batch itself must succeed. */
void apply_all(
	struct subject *s, const struct change *changes, size_t count, struct change_result *out);
struct change_result apply_one(struct subject *s, struct change change);

/* Fails the test where the attributes differ. */
void expect_same_attr(const struct attr *got, const struct attr *want, const char *what);
