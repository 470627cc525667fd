/*
 * The script that runs one command without the helper program: it lasts as long as the command, and tells its output once
 * a second.
 *
 * What it tells are lines that begin with the marker, and base64 between them, so that both streams and every byte get
 * through a transport of text that has one stream. A stream goes through a pipe to a process that keeps its beginning in a
 * file of staging, and of what is too long its end in memory: nobody may hear of it before its end, and the disk is small.
 * What a command left behind may go on writing: that is swallowed.
 */
#include "providers/remote_command_told.h"

#include "providers/reaper.h"

/*
 * $1 the directory to run in, $2 the marker, $3 the command, $4 its time limit in seconds or nothing, $5 a file with its
 * input or nothing, $6 the script that sends signals (reaper.h), $7 staging, $8 how much of a stream's beginning is kept, in the
 * 512 bytes of ulimit(1), $9 how many bytes of its end, the rest its environment. What sends the signals has no marker in its environment; it ends with 3 when it had
 * to.
 */
const char remote_command_script_text[] =
	"dir=$1 marker=$2 text=$3 limit=$4 input=$5 signals=$6 base=$7/command-$2 kept=$8 "
	"ending=$9\n"
	"last=\"$marker" REMOTE_TOLD_LAST "\"\n"
	"shift 9\n"
	"exec 2>/dev/null\n"
	"tell() {\n"
	"	printf '%s' \"$marker\"\n"
	"	printf ' %s' \"$@\"\n"
	"	echo\n"
	"}\n"
	"leave() {\n"
	"	rm -f \"$base-\"*\n"
	"	tell \"$@\"\n"
	"	exit 0\n"
	"}\n"
	"umask 077\n"
	"command -v base64 >/dev/null || leave lacks base64\n"
	"cd -- \"$dir\" || leave nowhere\n"
	"unset OLDPWD\n"
	"exec 4<\"${input:-/dev/null}\"\n"

	/*
	 * $1 the pipe, $2 the file, which has its name as long as the command runs. Here and below `exec`: around a function a
	 * shell may keep what is redirected, and somebody waits for the end of that.
	 */
	"hold() {\n"
	"	exec <\"$1\" >\"$2\" 4<&-\n"
	"	(ulimit -f \"$kept\"; trap '' XFSZ; exec cat) || [ ! -e \"$2\" ] ||\n"
	"		exec tail -c \"$ending\" >\"$2-end\"\n"
	"	exec cat >/dev/null\n"
	"}\n"
	": >\"$base-out\" >\"$base-err\"\n"
	"mkfifo \"$base-to-out\" \"$base-to-err\" || leave lacks 'named pipes'\n"
	"hold \"$base-to-out\" \"$base-out\" &\n"
	"hold \"$base-to-err\" \"$base-err\" &\n"
	"exec 5>\"$base-to-out\" 6>\"$base-to-err\"\n"
	"exec 7<\"$base-out\" 8<\"$base-err\"\n"
	"rm -f \"$base-to-out\" \"$base-to-err\" \"$base-in\"\n"
	"umask 022\n"

	"all() {\n"
	"	/bin/sh -c \"$signals\" sh \"$1\" \"$marker\" \"$2\"\n"
	"}\n"
	/* False: it was not that long. */
	"doze() {\n"
	"	sleep \"$1\" &\n"
	"	nap=$!\n"
	"	wait \"$nap\"\n"
	"}\n"
	/* The command's shell may end before the time is up; what else it started then has the rest of it. */
	"guard() {\n"
	"	exec >/dev/null 4<&- 5>&- 6>&- 7<&- 8<&-\n"
	"	trap 'kill \"$nap\"; exit 0' TERM\n"
	/* The first may take no fractions, or be killed by the command. */
	"	doze \"$limit\" || doze \"${limit%.*}\"\n"
	"	early=\n"
	"	trap 'kill \"$nap\"; early=yes' TERM\n"
	/* Before the command can end: the one who waits for it is then to find this sleep, not none. */
	"	sleep 5 &\n"
	"	nap=$!\n"
	"	all TERM 1\n"
	"	[ \"$early\" ] || wait \"$nap\"\n"
	/* What got TERM together with a shell that has ended may take a moment longer. */
	"	for rest in ${early:+0.1 0.4 0.5 1 2} 0; do\n"
	"		[ \"$(all 0 1)\" ] || exit 3\n"
	"		sleep \"$rest\"\n"
	"	done\n"
	"	all KILL 10\n"
	"	exit 3\n"
	"}\n"
	"guard=\n"
	"[ -z \"$limit\" ] || { guard & guard=$!; }\n"
	/* What is new; a base64 that has begun is never interrupted. */
	"dump() {\n"
	"	tell out\n"
	"	base64 <&7\n"
	"	tell err\n"
	"	base64 <&8\n"
	"}\n"
	"pump() {\n"
	"	exec 4<&- 5>&- 6>&-\n"
	"	over=\n"
	"	trap over=yes TERM\n"
	"	trap '' PIPE\n"
	"	while [ -z \"$over\" ]; do\n"
	"		kill -0 $$ || { rm -f \"$base-\"*; exit; }\n"
	"		sleep 1 >/dev/null &\n"
	"		wait $!\n"
	"		dump\n"
	"	done\n"
	"}\n"
	"pump &\n"
	"pump=$!\n"
	/* In a shell of its own: a shell says on its standard error that a signal ended its command. */
	"(\n"
	"	exec <&4 >&5 2>&6 4<&- 5>&- 6>&- 7<&- 8<&-\n"
	"	exec env " MARKER_NAME "=\"$marker\" \"$@\" /bin/sh -c \"$text\"\n"
	")\n"
	"code=$?\n"
	"late=0\n"
	"[ -z \"$guard\" ] || { kill \"$guard\"; wait \"$guard\"; late=$?; }\n"
	"kill \"$pump\"\n"
	"wait \"$pump\"\n"

	/* What comes behind this in a stream was written by what the command left behind. */
	"trap '' PIPE\n"
	"printf '%s' \"$last\" >&5\n"
	"printf '%s' \"$last\" >&6\n"
	"has_last() {\n"
	"	tail -c 65536 \"$1\" | grep -qF \"$last\"\n"
	"}\n"
	/* $1 a file, $2 how often to look. Where it is full by now the last may be lost. */
	"await_last() {\n"
	"	tries=$2\n"
	"	while [ -e \"$1\" ] && [ $((tries -= 1)) -gt 0 ]; do\n"
	"		has_last \"$1\" && break\n"
	"		[ ! -e \"$1-end\" ] || break\n"
	"		sleep 0.02\n"
	"	done\n"
	"}\n"
	"await_last \"$base-out\" 500\n"
	"await_last \"$base-err\" 500\n"
	"[ ! -e \"$base-out-end\" ] || printf '%s' \"$last\" >&5\n"
	"[ ! -e \"$base-err-end\" ] || printf '%s' \"$last\" >&6\n"
	"exec 5>&- 6>&-\n"
	/* Written when its stream has ended, which it has not where something that was left behind still prints. */
	"await_last \"$base-out-end\" 100\n"
	"await_last \"$base-err-end\" 100\n"
	"dump_end() {\n"
	"	[ -e \"$base-$1-end\" ] || return 0\n"
	"	tell cut \"$1\"\n"
	"	base64 <\"$base-$1-end\"\n"
	"}\n"
	"rm -f \"$base-out\" \"$base-err\"\n"
	"dump\n"
	"dump_end out\n"
	"dump_end err\n"
	"rm -f \"$base-\"*\n"
	"tell end \"$code\" \"$late\"\n";

/*
 * $1 the marker, $2 staging, $3 and $4 from which byte on each stream is wanted, the first being 1. Files that are full
 * are not all that there is.
 */
const char remote_command_look_text[] =
	"marker=$1 base=$2/command-$1\n"
	"exec 2>/dev/null\n"
	"for stream in out err; do\n"
	"	printf '%s %s\\n' \"$marker\" \"$stream\"\n"
	"	tail -c \"+$3\" \"$base-$stream\" | base64\n"
	"	[ ! -e \"$base-$stream-end\" ] || printf '%s cut %s\\n' \"$marker\" \"$stream\"\n"
	"	shift\n"
	"done\n";
