#include "fs/control/job_text.h"

#include "providers/json.h"

#include <string.h>
#include <time.h>

/* The beginning of a longer command is enough to recognize it. */
#define COMMAND_MAX 4096

static const char *const state_words[] = {
	[JOB_STARTING] = "starting",
	[JOB_RUNNING] = "running",
	[JOB_EXITED] = "exited",
	[JOB_FAILED] = "failed",
};

/* RFC 3339, in UTC. */
static void put_time(struct json_writer *w, const char *key, int64_t seconds)
{
	char text[40];
	time_t time = (time_t)seconds;
	struct tm utc;

	if (seconds && gmtime_r(&time, &utc) && strftime(text, sizeof text, "%FT%TZ", &utc))
		json_put_text(w, key, text);
	else
		json_put_null(w, key);
}

static void put_number(struct json_writer *w, const char *key, bool is_known, int64_t number)
{
	if (is_known)
		json_put_integer(w, key, number);
	else
		json_put_null(w, key);
}

void job_text(const struct job_facts *facts, struct buf *out)
{
	struct json_writer w = { .out = out };

	json_put_open(&w, NULL);
	json_put_integer(&w, "id", (int64_t)facts->id);
	json_put_bytes(&w, "command", facts->command, strnlen(facts->command, COMMAND_MAX));
	json_put_text(&w, "state", state_words[facts->state]);
	put_number(&w, "pid", facts->pid != 0, facts->pid);
	put_number(&w, "exit_code", facts->has_exit_code, facts->exit_code);
	put_time(&w, "started", facts->started_s);
	put_time(&w, "ended", facts->ended_s);
	json_put_integer(&w, "output_bytes", (int64_t)facts->size);
	if (*facts->error)
		json_put_text(&w, "error", facts->error);
	else
		json_put_null(&w, "error");
	json_put_close(&w);
	buf_add_byte(out, '\n');
}
