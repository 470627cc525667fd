/*
 * remote_command_told.h - what the script tells of a command that runs without the helper program; internal to
 * remote_command*.c.
 */
#pragma once

#include "providers/remote_command_inside.h"

/* The script, and one that tells what there is while it runs; the source names their arguments. */
extern const char remote_command_script_text[];
extern const char remote_command_look_text[];
/*
 * It keeps so much of the beginning of each stream, and of its end: 16 MiB in all, as much as anybody wants of a stream
 * (`.sandbox/exec`), for a sandbox's disk may be small. Where output comes at the end alone it comes as one answer, as
 * base64: 44 MiB of JSON for both streams, so a vendor must take 64 MiB of a program's output (rest_perform_large()).
 */
#define REMOTE_TOLD_BEGIN_MAX ((size_t)15 * 1024 * 1024)
#define REMOTE_TOLD_END_MAX   ((size_t)1024 * 1024)
/* Stands in each stream, behind the marker, where the command's own output ends. */
#define REMOTE_TOLD_LAST " over"

struct remote_told {
	struct remote_run *run;
	struct buf line;                   /* not yet whole */
	struct buf output[STREAM_ERR + 1]; /* of each stream, not yet passed on */
	enum stream stream;                /* 0: what comes is not the command's */
	uint64_t passed[STREAM_ERR + 1];   /* bytes of each stream that were passed on */
	bool is_whole[STREAM_ERR + 1];
	bool is_cut; /* what comes of a stream is its end, and something is missing before it */
	bool is_after_cut; /* nothing of that end was passed on yet */
	bool has_end, is_nowhere;
	char lacks[32]; /* a tool that the sandbox has not */
	int code, late;
};

void remote_told_init(struct remote_told *t, struct remote_run *run);
void remote_told_release(struct remote_told *t);
#define AUTO_REMOTE_TOLD __attribute__((cleanup(remote_told_release)))

/* A sink for what the script prints (provider.h); `context` is a struct remote_told. */
enum err remote_told_take(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e);
/* Another script tells the rest from here on, of each stream what is behind `passed`. */
void remote_told_restart(struct remote_told *t);
/* Nothing more is told: passes on what was kept back. */
enum err remote_told_end(struct remote_told *t, struct error *e);
/*
 * What became of the command, into run->result. ERR_NOT_FOUND, ERR_UNSUPPORTED: it did not run. ERR_UNREACHABLE: the script
 * did not end.
 */
enum err remote_told_judge(const struct remote_told *t, struct error *e);
