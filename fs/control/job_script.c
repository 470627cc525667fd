#include "fs/control/job_script.h"

#include "providers/input_pipe.h"
#include "providers/verbs.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * $1 is the base, $2 the umask. The command's shell is the leader of a session, so that a signal
 * reaches all processes that it has started. Both pipes are held open for reading and writing: no
 * process that opens one waits, and the input ends when their holder gets INPUT_PIPE_EOF. Where the
 * output was removed meanwhile (job_script_forget()) no file stays at the end. The text stands in
 * single quotes and must not contain any.
 */
#define KEEPER                                                                                     \
	"base=$1\n"                                                                                \
	"exec 3<>\"$base.ctl\" 4<>\"$base.in\" </dev/null\n"                                       \
	"(umask \"$2\"; exec setsid /bin/sh \"$base.sh\" <\"$base.in\" >>\"$base.out\" 2>&1 3<&- " \
	"4<&-) &\n"                                                                                \
	"pid=$!\n"                                                                                 \
	"now=$(date +%s)\n"                                                                        \
	"echo \"$pid $now\" >\"$base.pid\"\n"                                                      \
	"echo \"" JOB_STARTED " $pid $now\"\n"                                                     \
	"exec >/dev/null 2>&1\n"                                                                   \
	"(while read -r word <&3; do\n"                                                            \
	"	case $word in\n"                                                                         \
	"	" INPUT_PIPE_EOF ") exec 4<&- ;;\n"                                                \
	"	*) kill -s \"$word\" -- \"-$pid\" || kill -s \"$word\" \"$pid\" ;;\n"                    \
	"	esac\n"                                                                                  \
	"done) &\n"                                                                                \
	"teller=$!\n"                                                                              \
	"exec 3<&- 4<&-\n"                                                                         \
	"wait \"$pid\"\n"                                                                          \
	"code=$?\n"                                                                                \
	"kill -s KILL \"$teller\"\n"                                                               \
	"echo \"$code $(date +%s)\" >\"$base.new\"\n"                                              \
	"mv -f \"$base.new\" \"$base.code\"\n"                                                     \
	"rm -f \"$base.in\" \"$base.ctl\" \"$base.sh\"\n"                                          \
	"[ -e \"$base.out\" ] || rm -f \"$base\".*\n"

/* The reader of the line ends the pipe, which is all that the request waits for. */
static const char start_text[] =
	"dir=${base%/*} mask=$(umask)\n"
	"for tool in mkfifo setsid; do\n"
	"	command -v $tool >/dev/null || { echo \"a job needs $tool in the sandbox\" >&2; "
	"exit 1; }\n"
	"done\n"
	"umask 077\n"
	"mkdir -p \"$dir\" || exit\n"
	"find \"$dir\" -maxdepth 1 -name '" STAGED_JOB "*.code' -mtime +0 -exec sh -c '\n"
	"	rm -f \"${1%.code}\".*' sh {} \\; 2>/dev/null\n"
	"printf '%s\\n' \"$3\" >\"$base.sh\" && : >\"$base.out\" && " INPUT_PIPE_MAKE " || exit\n"
	"keeper='" KEEPER "'\n"
	"[ \"$2\" = leaves ] || exec /bin/sh -c \"$keeper\" sh \"$base\" \"$mask\"\n"
	"{ setsid /bin/sh -c \"$keeper\" sh \"$base\" \"$mask\" </dev/null 2>/dev/null & } |\n"
	"	{ read -r line && echo \"$line\"; }\n";

/*
 * The end is looked for before the size, so that the size is the last one. The end is looked for
 * again where the process is gone.
 */
static const char look_text[] =
	"[ -s \"$base.pid\" ] || exit 3\n"
	"code=- at=0 pid=\n"
	"{ read -r code at <\"$base.code\"; } 2>/dev/null || code=-\n"
	"if [ \"$code\" = - ] && [ \"$2\" = sees ]; then\n"
	"	read -r pid at <\"$base.pid\"\n"
	"	kill -0 \"$pid\" 2>/dev/null || { sleep 1; code=; }\n"
	"	[ \"$code\" ] || { read -r code at <\"$base.code\"; } 2>/dev/null || { code='?'; "
	"at=0; }\n"
	"fi\n"
	"size=$(stat -c %s \"$base.out\") || size=$(($(wc -c <\"$base.out\")))\n"
	"echo \"$code $at $size\"\n"
	"[ \"$count\" = 0 ] || tail -c \"+$from\" \"$base.out\" | head -c \"$count\"\n";
_Static_assert(JOB_SCRIPT_GONE == 3, "the script names it");

#define begin(out, base, ...)                                                                      \
	input_pipe_begin(out, base, (const char *const[]){ __VA_ARGS__, NULL })

void job_script_start(struct buf *out, const char *base, bool stays, const char *command)
{
	begin(out, base, stays ? "stays" : "leaves", command);
	buf_add_string(out, start_text);
}

void job_script_look(
	struct buf *out, const char *base, bool has_processes, uint64_t offset, size_t count)
{
	begin(out, base, has_processes ? "sees" : "blind");
	buf_printf(out, "from=%llu count=%zu\n", (unsigned long long)offset + 1, count);
	buf_add_string(out, look_text);
}

void job_script_look_at(struct buf *out, const char *prefix, const uint64_t *numbers, size_t count)
{
	begin(out, prefix, "sees");
	buf_add_string(out, "from=1 count=0\nfor number in");
	for (size_t n = 0; n < count; n++)
		buf_printf(out, " %llu", (unsigned long long)numbers[n]);
	buf_printf(out,
		"; do\nbase=$1$number\nline=$(\n%s) && echo \"$number $line\"\ndone\ntrue\n",
		look_text);
}

/* The output is removed first: a job that ends meanwhile then leaves no file. */
static const char forget_text[] =
	"dir=${base%/*} name=${base##*/}\n"
	"exec 2>/dev/null\n"
	"find \"$dir\" -maxdepth 1 -name \"$name*.out\" -exec rm -f {} +\n"
	"find \"$dir\" -maxdepth 1 -name \"$name*\" -exec rm -f {} +\n";

void job_script_forget(struct buf *out, const char *base)
{
	begin(out, base, "");
	buf_add_string(out, forget_text);
}

bool job_script_read(struct job_look *out, const char *line)
{
	char code[16];
	long long at;
	unsigned long long size;

	if (sscanf(line, "%15s %lld %llu", code, &at, &size) != 3)
		return false;
	*out = (struct job_look){ .has_ended = strcmp(code, "-") != 0,
		.has_exit_code = isdigit((unsigned char)*code),
		.exit_code = atoi(code),
		.ended_s = at,
		.size = size };
	return out->has_exit_code || !strcmp(code, "-") || !strcmp(code, "?");
}

const char *job_signal_name(const char *text, size_t len)
{
	char word[16];

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	for (; len && isspace((unsigned char)*text); len--)
		text++;
	if (!len || len >= sizeof word)
		return NULL;
	snprintf(word, sizeof word, "%.*s", (int)len, text);
	for (int number = 1; number < NSIG; number++) {
		const char *name = sigabbrev_np(number);
		char digits[12];

		snprintf(digits, sizeof digits, "%d", number);
		if (name &&
			(!strcasecmp(word, name) || !strcmp(word, digits) ||
				(!strncasecmp(word, "SIG", 3) && !strcasecmp(word + 3, name))))
			return name;
	}
	return NULL;
}
