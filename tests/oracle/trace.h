/*
 * trace.h - the random calls: their kinds, and the n-th call of a seed.
 *
 * A call depends on the seed and its own number alone, neither on the calls before it nor on
 * their results: any part of a trace can be left out and the rest stays what it was. Names come
 * from a small pool, so that calls meet.
 */
#pragma once

#include "tests/oracle/side.h"

#include <fcntl.h>
#include <time.h>

/* The start of a relative path. */
enum base {
	BASE_ROOT, /* the folder the trace works in */
	BASE_SLOT, /* an open descriptor of any kind: a directory, a removed one, a file */
	BASE_CWD,  /* the working directory, changed to the folder before */
};

struct where {
	enum base base;
	int slot;
	char path[5000]; /* longer than PATH_MAX on purpose */
};

struct call {
	unsigned long step;
	const struct op *op;
	int user;
	struct where at[2];
	int slot[2];
	int choice, flags;
	mode_t mode;
	off_t offset[2];
	size_t length;
	uint64_t salt; /* the seed of the bytes that are written */
	struct timespec times[2];
	uid_t uid;
	gid_t gid;
	char text[5000]; /* a link's text, an attribute's name */
};

enum uses {
	USES_PATH = 1,
	USES_PATH2 = 2,
	USES_SLOT = 4,
	USES_SLOT2 = 8,
	USES_MODE = 16,
	USES_OFFSET = 32,
	USES_OFFSET2 = 64,
	USES_LENGTH = 128,
	USES_TIMES = 256,
	USES_OWNER = 512,
	USES_LINK_TEXT = 1024,
	USES_XATTR = 2048,
	SETS_ATIME = 4096,   /* the access time afterwards is what the call says */
	WANTS_FOLDER = 8192, /* mostly one of the names that folders have */
};

struct flag {
	const char *name;
	int value;
	unsigned odds; /* a choice's share among the others; a flag's per cent */
};

struct op {
	const char *name;
	unsigned weight;
	unsigned uses; /* enum uses */
	/* Exactly one of `choices` (NULL: none) and any number of `flags`; NULL names end both. */
	const struct flag *choices;
	const struct flag *flags;
	void (*run)(struct side *s, const struct call *c, struct outcome *o);
};

/* Tables end with a NULL name. */
extern const struct op ops_names[], ops_contents[], ops_attributes[], ops_directories[];

#define OPS_MAX 128

struct trace {
	uint64_t seed;
	bool as_users;    /* some calls are an ordinary user's */
	bool plain_modes; /* the owner may do everything, and nothing is set-id */
	unsigned weight;
	size_t ops_count;
	const struct op *ops[OPS_MAX];
};

void trace_init(struct trace *t, uint64_t seed, bool as_users);
const struct op *trace_find_op(const struct trace *t, const char *name);
void trace_call(const struct trace *t, unsigned long step, struct call *c);
/* The call as a person would write it. */
void call_describe(const struct call *c, struct text *out);

/* Bytes to write: any part of a pattern can be made alone. */
void pattern_fill(void *dst, size_t len, uint64_t salt);
