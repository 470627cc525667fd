/*
 * remote_command_told.h - what the script tells of a command that runs without the helper program; internal to
 * remote_command*.c.
 */
#pragma once

#include "providers/remote_command_inside.h"

/* The script, whose arguments its source names. */
extern const char remote_command_script_text[];
/*
 * It keeps so much of each stream: a sandbox's disk may be small. Where output comes at the end alone it comes as one
 * answer, of which HTTP_BODY_MAX is taken: that is this in base64.
 */
#define REMOTE_TOLD_MAX_MIB      64
#define REMOTE_TOLD_LATE_MAX_MIB 11
/* Stands in each stream, behind the marker, where the command's own output ends. */
#define REMOTE_TOLD_LAST " over"

struct remote_told {
	struct remote_run *run;
	struct buf line;    /* not yet whole */
	struct buf output;  /* of the stream, not yet passed on */
	enum stream stream; /* 0: what comes is not the command's */
	bool is_whole[STREAM_ERR + 1];
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
/*
 * What became of the command, into run->result. ERR_TOO_LARGE: it printed more than is kept, and got SIGPIPE.
 * ERR_NOT_FOUND, ERR_UNSUPPORTED: it did not run. ERR_UNREACHABLE: the script did not end.
 */
enum err remote_told_judge(const struct remote_told *t, struct error *e);
