/*
 * plans.h - every three steps on two files in two directories, or on the two names of one file, and
 * what becomes of them: a kill behind them, a rewrite of one of the files by another writer.
 *
 * Each plan has a number below PLANS. A case is a plan of which every step can be done, and that no
 * other plan equals:
 *
 *	1. The first step is by the first name: two files are alike, and so are two names of one.
 *	2. While the sandbox answers, each change leaves before others could write the file.
 *	3. Others rewrite a file that a step concerns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A plan that has a number has three. */
#define STEPS 4
#define FILES 2
#define NAMES 3

/* The first file, the second, and the other name of the first where it has two. */
enum { A, B, A2 };

/* The deeds: each is done by one of the names, perhaps with another one. */
enum deed {
	NOTHING,
	APPENDS,
	OVERWRITES,
	CUTS,
	SETS_MODE,
	SETS_TIMES,
	SAVES, /* as editors do: a new file replaces the old one */
	REMOVES,
	MAKES, /* the file was removed before */
	MOVES, /* to the other directory */
	MOVES_OVER,
	EXCHANGES,
	LINKS, /* the later steps use the new name */
	COPIES,
	COPIES_OVER, /* the other one, as cp does */
	MOVES_DIR,
	/* a new second name, which the sandbox has by then, is given to the other file */
	LOSES_LINK,
	IS_REPLACED, /* the other file takes the name, also of a file that had two names before */
	DEEDS_END,
};

enum ending {
	KEEPS_UP,      /* the sandbox answers all the time */
	FAILS_TO_SEND, /* one attempt is in vain, then the sandbox answers again */
	KILLED,        /* before anything has left */
	KILLED_LATE,   /* behind an attempt in vain */
	KILLED_TWICE,  /* the second time before the answer to what left first; has no number */
	ENDINGS,
};

struct plan {
	unsigned deeds[STEPS], names[STEPS];
	enum ending ending;
	unsigned rewritten; /* the file that others write meanwhile; FILES: none */
	bool has_two_names; /* the first file, from the beginning */
};

/* What becomes of three steps: each numbered ending but KEEPS_UP with each `rewritten`. */
#define FATES     (1 + (KILLED_TWICE - 1) * (FILES + 1))
#define DEEDS     (DEEDS_END - 1)
#define SEQUENCES (2 * DEEDS * (DEEDS * 2) * (DEEDS * 2))
#define PLANS     (SEQUENCES * FATES)
#define CASES     163396

/* The plan's number is `sequence` * FATES + `fate`. */
struct plan plan_of(unsigned number);
/* The plan in words, without its number. */
void plan_text(const struct plan *plan, char *out, size_t room);

/*
 * Whether a directory takes every step, and so does a mount. In an outage it copies no file that
 * has changed since, sets no size that was set before, and waits for no link to be in the sandbox.
 */
bool plan_can_be_done(const struct plan *plan);
/* Whether a step is done to the file or with it, or moves directories. */
bool plan_concerns(const struct plan *plan, unsigned file);
bool plan_is_case(const struct plan *plan);
/*
 * One of `stride` plans: of ten, each three steps once, and each fate as often as another. 1: all.
 */
bool plan_is_chosen(unsigned number, unsigned stride);
