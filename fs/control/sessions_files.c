/*
 * sessions_files.c - `sessions/NAME/exec`: commands that go on where the last one of that session
 * ended (providers/user_session.h).
 *
 * Every name that a session can have exists. A listing has those of the sandbox, which is asked
 * when the directory is opened. rmdir(2) ends a session.
 */
#include "fs/control/file.h"

#include "cache/cache.h"
#include "fs/control/sessions.h"

#include <string.h>

#define TEXT_MAX ((size_t)1024 * 1024)

static enum err keep(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	(void)e;
	if (stream == STREAM_OUT)
		buf_add(context, bytes, len);
	return ERR_OK;
}

static enum err list_sessions(struct control *c, const struct call *call, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(TEXT_MAX), said = BUF_INIT(TEXT_MAX);
	struct execute_result result = { 0 };
	enum err kind;

	user_session_list(&command);
	kind = cache_execute_own(c->cache, call,
		&(struct execute_request){ .command = buf_text(&command) }, keep, &said, &result,
		e);
	if (!kind)
		kind = buf_check(&said, "the sessions", e);
	if (!kind)
		sessions_set_listed(c->sessions, buf_text(&said));
	return kind;
}

static enum err end_session(
	struct control *c, uint64_t number, const struct call *call, struct error *e)
{
	AUTO_BUF struct buf command = BUF_INIT(TEXT_MAX), said = BUF_INIT(TEXT_MAX);
	const char *name = sessions_at(c->sessions, number)->name;
	struct execute_result result = { 0 };
	enum err kind;

	user_session_end(&command, name);
	kind = cache_execute(c->cache, call,
		&(struct execute_request){ .command = buf_text(&command) }, keep, &said, &result,
		e);
	if (!kind && result.exit_code)
		kind = error_set(e, ERR_NOT_FOUND, "no session '%s'", name);
	if (!kind)
		sessions_end(c->sessions, number);
	return kind;
}

/* ---- The directories ---- */

static const struct control_file *const session_files[] = { &control_session_exec, NULL };
static const struct control_dir session_dir = { .files = session_files };

static const struct control_file session = {
	.ino = CONTROL_INO_SESSION,
	.mode = 0555,
	.dir = &session_dir,
};

static bool is_session(struct control *c, uint64_t number)
{
	(void)c, (void)number;
	return true;
}

static uint64_t next_session(struct control *c, uint64_t number)
{
	return sessions_next(c->sessions, number);
}

static uint64_t find_session(struct control *c, const char *name)
{
	return sessions_find(c->sessions, name);
}

static const char *session_name(struct control *c, uint64_t number)
{
	return sessions_at(c->sessions, number)->name;
}

static const struct control_file *const no_files[] = { NULL };
static const struct control_dir sessions_dir = {
	.files = no_files,
	.numbered = &session,
	.has = is_session,
	.next = next_session,
	.find = find_session,
	.name_of = session_name,
	.refresh = list_sessions,
	.remove = end_session,
};

/* The mode lets the owner end a session. */
const struct control_file control_sessions = {
	.name = "sessions",
	.ino = CONTROL_INO_SESSIONS,
	.mode = 0755,
	.dir = &sessions_dir,
};
