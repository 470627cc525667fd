#include "providers/remote/script.h"

/*
 * $1 is the directory to show, $2 the directory that $1 is relative to, $3 the images, $4 an
 * upload, $5 the requests to the helper, $6 and $7 its options -a and -t or nothing, $8 and $9
 * scripts that run the helper from memory (loader.h). Names come from `cd -P` and $PWD: a command
 * substitution would drop their trailing newlines.
 */
const char remote_script_text[] =
	"LC_ALL=C\n"
	"export LC_ALL\n"
	"unset CDPATH\n"
	"newline='\n'\n"
	"path=$1 from=$2 images=$3 stored=$4 hello=$5 options=\"$6 $7\" python=$8 perl=$9\n"

	"tell() {\n"
	"	printf '" REMOTE_REPORT_MARK "'\n"
	"	printf '%s\\0' \"$@\" | od -An -v -tx1 | tr -d ' \\n'\n"
	"	echo\n"
	"}\n"

	/* The directory to show */
	"home=${HOME:-/}\n"
	"cd -P -- \"$home\" 2>/dev/null && home=$PWD\n"
	/* "?DIRECTORY": the home, or that directory where the home cannot be written. */
	"case $from in\n"
	"'?'*) if [ -w \"$home\" ]; then from=; else from=${from#?}; fi ;;\n"
	"esac\n"
	"case $path in\n"
	"/*) dir=$path ;;\n"
	"'') dir=${from:-$home} ;;\n"
	"*) dir=${from:-$home}/$path ;;\n"
	"esac\n"
	"if ! cd -P -- \"$dir\" 2>/dev/null; then\n"
	"	why=$(ls -d -- \"$dir/.\" 2>&1 >/dev/null)\n"
	"	tell nowhere \"${why:-$dir: Permission denied}\" \"$home\" \"$dir\" '' '' '' ''\n"
	"	exit 0\n"
	"fi\n"
	"root=$PWD\n"

	/* A directory of our own. */
	"is_fit() {\n"
	"	[ -d \"$1\" ] || mkdir -m 700 \"$1\" 2>/dev/null\n"
	"	[ -d \"$1\" ] && [ ! -h \"$1\" ] && [ -O \"$1\" ] &&\n"
	"		[ -w \"$1\" ] && chmod 700 \"$1\" 2>/dev/null\n"
	"}\n"
	/* In directories that all users share, the name differs from other users' names. */
	"uid=\n"
	"name_shared() {\n"
	"	[ -n \"$uid\" ] || uid=$(id -u)\n"
	"	shared=.sandboxfs-$uid\n"
	"}\n"
	"take() {\n"
	"	is_fit \"$1\" && staging=$1\n"
	"}\n"
	"take_shared() {\n"
	"	name_shared\n"
	"	take \"/tmp/$shared\" || take \"/dev/shm/$shared\" || take \"/var/tmp/$shared\" "
	"||\n"
	"		take \"${XDG_RUNTIME_DIR:-/run}/$shared\"\n"
	"}\n"

	/*
	 * Staging: in the home if that is on the tree's device, otherwise in the tree; where that
	 * cannot be written, in the first directory that can.
	 */
	"in_home=${home%/}/.sandboxfs in_root=${root%/}/.sandboxfs\n"
	"devices=$(stat -L -c %d \"$root/.\" \"$home/.\" 2>/dev/null)\n"
	"is_one_device() {\n"
	"	case $devices in\n"
	"	*\"$newline\"*) [ \"${devices%%\"$newline\"*}\" = \"${devices#*\"$newline\"}\" ] "
	";;\n"
	"	*) false ;;\n"
	"	esac\n"
	"}\n"
	"if ! { is_one_device && take \"$in_home\"; } && ! take \"$in_root\" && ! take "
	"\"$in_home\" "
	"&&\n"
	"	! take_shared; then\n"
	"	tell unstaged '' \"$home\" \"$root\" '' '' '' ''\n"
	"	exit 0\n"
	"fi\n"
	/* Keeps git from adding this directory to a work tree around it. */
	"keep_out() {\n"
	"	[ -e \"$1/.gitignore\" ] || echo '*' 2>/dev/null >\"$1/.gitignore\"\n"
	"	return 0\n"
	"}\n"
	"keep_out \"$staging\"\n"
	/*
	 * Removes leftovers of interrupted requests and uploads, and of mounts that ended without a
	 * release: their records (staging.h), and their jobs a day after the end. After a restart
	 * of the sandbox a job has no recorded end: its process is gone.
	 */
	"find \"$staging\" -maxdepth 1 \\( -name 'request-*' -mmin +60 -o \\\n"
	"	-name 'answer-*' -mmin +60 -o -name 'command-*' -mmin +60 -o \\\n"
	"	-name 'input-*' -mmin +60 -o -name 'upload-*' -mmin +1440 -o \\\n"
	"	-name '" STAGED_SEQUENCE "-*' -mmin +43200 -o -name '" STAGED_FENCE
	"-*' -mmin +43200 -o "
	"\\\n"
	"	-name '" STAGED_ONCE "-*' -mmin +43200 -o -name '" STAGED_FED
	"*' -mtime +6 \\) \\\n"
	"	-exec rm -f {} + -o \\\n"
	"	-name '" STAGED_JOB "*.code' -mtime +0 -exec sh -c '\n"
	"		rm -f \"${1%.code}\".*' sh {} \\; -o \\\n"
	"	-name '" STAGED_JOB "*.pid' -mtime +0 -exec sh -c '\n"
	"		[ -e \"${1%.pid}.code\" ] && exit\n"
	"		read -r pid at <\"$1\"\n"
	"		kill -0 \"$pid\" || rm -f \"${1%.pid}\".*' sh {} \\; >/dev/null 2>&1\n"

	/* The helper */
	"machine=$(uname -m)\n"
	"set -- $images\n"
	"name= size=\n"
	"while [ $# -gt 2 ]; do\n"
	"	[ \"$1\" = \"$machine\" ] && name=$2 size=$3\n"
	"	shift 3\n"
	"done\n"
	"state=none why= place=$staging loader=\n"
	"is_whole() {\n"
	"	[ -f \"$1\" ] && [ \"$(stat -c %s \"$1\")\" = \"$size\" ]\n"
	"}\n"
	/*
	 * A mount can forbid to execute files. BusyBox's `[ -x` does not check that: only a run
	 * shows it.
	 */
	"runs() {\n"
	"	[ -x \"$1\" ] || return 1\n"
	"	\"$1\" --version </dev/null >/dev/null 2>&1\n"
	"	[ $? -ne 126 ]\n"
	"}\n"
	"is_there() {\n"
	"	is_whole \"$1/$name\" || return 1\n"
	"	[ -x \"$1/$name\" ] || chmod 700 \"$1/$name\" 2>/dev/null\n"
	"	runs \"$1/$name\"\n"
	"}\n"
	/*
	 * An empty file is a script that does nothing. `:` would end the shell where the file
	 * cannot be made.
	 */
	"may_execute() {\n"
	"	probe=$1/upload-probe-$$\n"
	"	true >\"$probe\" && chmod 700 \"$probe\" && runs \"$probe\"\n"
	"	set -- $?\n"
	"	rm -f \"$probe\"\n"
	"	return $1\n"
	"}\n"
	/* An unused empty directory is removed. */
	"find_place() {\n"
	"	name_shared\n"
	"	tried=\n"
	"	for place in \"$staging\" \"$in_home\" \"/tmp/$shared\" \"/dev/shm/$shared\" "
	"\"/var/tmp/$shared\" \"$in_root\" \\\n"
	"		\"${XDG_RUNTIME_DIR:-/run}/$shared\"; do\n"
	"		is_fit \"$place\" || continue\n"
	"		{ is_there \"$place\" || may_execute \"$place\"; } 2>/dev/null && return\n"
	"		case \", $tried, \" in *\", $place, \"*) ;; *) tried=\"${tried:+$tried, "
	"}$place\" "
	";; esac\n"
	"		[ \"$place\" = \"$staging\" ] || rmdir \"$place\" 2>/dev/null\n"
	"	done\n"
	"	place=$staging\n"
	"	for loader in python3 perl ''; do\n"
	"		[ -z \"$loader\" ] || ! command -v \"$loader\" >/dev/null 2>&1 || return "
	"0\n"
	"	done\n"
	"	place=$tried\n"
	"	return 1\n"
	"}\n"
	"if [ -n \"$name\" ]; then\n"
	"	state=absent\n"
	"	is_there \"$staging\" || { find_place && keep_out \"$place\"; } || state=noexec\n"
	"fi\n"
	"helper=$place/$name\n"
	"if [ $state = absent ] && [ -n \"$stored\" ]; then\n"
	"	is_whole \"$place/$stored\" &&\n"
	"		why=$({ chmod 700 \"$place/$stored\" && mv -f \"$place/$stored\" "
	"\"$helper\"; } 2>&1)\n"
	"	rm -f \"$place/$stored\"\n"
	"fi\n"
	"if [ $state = absent ] && is_whole \"$helper\"; then\n"
	"	[ -x \"$helper\" ] || chmod 700 \"$helper\" 2>/dev/null\n"
	"	state=ready\n"
	"fi\n"
	"tell $state \"$why\" \"$home\" \"$root\" \"$staging\" \"$machine\" \"$place\" "
	"\"$loader\"\n"
	"[ $state = ready ] || exit 0\n"
	"case $loader in\n"
	"python3) set -- python3 -IS -c \"$python\" ;;\n"
	"perl) set -- perl -e \"$perl\" ;;\n"
	"*) set -- ;;\n"
	"esac\n"
	"exec \"$@\" \"$helper\" once $options -r \"$hello\" \"$root\" \"$staging\"\n";
