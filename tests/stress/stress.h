/*
 * stress.h - shared by the workers of the stress program.
 *
 * Two processes with many threads work on one directory. Each worker keeps in memory what the files
 * must hold and compares; state that all workers share lies in memory that both processes map. The
 * parent only watches for a worker that does not finish a call in time, and the size and the
 * descriptors of the file system's own process. At the end the parent reads the files that the
 * workers left.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PROCESSES   2
#define WORKERS_MAX 64 /* in one process */
#define RECORDS     64
#define BALLS       4
#define PRIZES      16
#define FIXED_NAMES 100

/*
 * The workers' directory, which lies in the root of the mount, and from there the control
 * directory.
 */
#define FOLDER  "stress-work"
#define CONTROL "../.sandbox/"

struct worker {
	unsigned number; /* 0..: both processes counted */
	unsigned process;
	uint64_t chance;
	const struct role *role;
	_Atomic int64_t busy_since_ms; /* when its present call began; 0: between two */
	_Atomic(const char *) doing;
	_Atomic uint64_t rounds;
	uint64_t lines;            /* lines that the worker wrote to the common log */
	uint64_t commands;         /* commands that the worker had run */
	uint64_t records[RECORDS]; /* the records that the worker's own file must hold */
};

struct shared {
	atomic_bool stop;
	atomic_uint failures;
	atomic_uint prize_owner[PRIZES]; /* 1 + the worker that holds the name; 0: free */
	_Atomic uint64_t locked_count;   /* increments of the file that locks protect */
	_Atomic uint64_t throws[BALLS];
	unsigned workers_count;
	struct worker workers[PROCESSES * WORKERS_MAX];
};

struct role {
	const char *name;
	bool uses_control; /* the role is left out where there is no control directory */
	/* Before the workers start: the files the role needs. NULL: none. */
	void (*prepare)(struct shared *s);
	/* One round of work, a few calls. */
	void (*round)(struct shared *s, struct worker *w);
	/* Checks the files after the last worker has ended. NULL: the role leaves no files. */
	void (*check)(struct shared *s);
};

/* Ends with a NULL name. */
extern const struct role roles[];

/* Reports a failure and counts it. */
__attribute__((format(printf, 2, 3))) void stress_fail(struct shared *s, const char *format, ...);
/* Unless `holds`: reports `what` was to be done to the file `name`, and errno. */
void stress_must(struct shared *s, bool holds, const char *what, const char *name);
uint64_t stress_chance(struct worker *w);
int64_t stress_now_ms(void);

/* The call is watched: `CALL(w, write(fd, ...))`. */
#define CALL(w, call)                                                                              \
	__extension__({                                                                            \
		atomic_store(&(w)->doing, #call);                                                  \
		atomic_store(&(w)->busy_since_ms, stress_now_ms());                                \
		__auto_type result_ = (call);                                                      \
		atomic_store(&(w)->busy_since_ms, 0);                                              \
		result_;                                                                           \
	})
