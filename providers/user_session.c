#include "providers/user_session.h"

#include <string.h>

#define SESSIONS "\"$HOME/.local/state/sandboxfs/sessions"

/* Names of this text begin with sandboxfs_, and are not kept. */
static const char load[] =
	"(umask 077 && mkdir -p -- \"$sandboxfs_session\") || exit 125\n"
	"if [ -n \"$BASH_VERSION\" ]; then\n"
	"	[ ! -r \"$sandboxfs_session/bash\" ] || . \"$sandboxfs_session/bash\"\n"
	"elif sh -n \"$sandboxfs_session/sh\" 2>/dev/null; then\n"
	"	. \"$sandboxfs_session/sh\"\n"
	"fi\n"
	"if [ -r \"$sandboxfs_session/dir\" ]; then\n"
	"	command cd -- \"$(cat \"$sandboxfs_session/dir\")\" 2>/dev/null ||\n"
	"		echo 'sandboxfs: the directory of the session is gone' >&2\n"
	"fi\n";

/*
 * Prints the variables to keep. In bash: all except those that the shell sets itself or that cannot
 * be set. In another shell: the output of `set`.
 */
static const char keep[] =
	"sandboxfs_bash() {\n"
	"	command shopt -p extglob\n"
	"	for sandboxfs_name in $(compgen -v); do\n"
	"		case $sandboxfs_name in\n"
	"		BASH | BASHOPTS | BASHPID | BASH_ALIASES | BASH_ARGC | BASH_ARGV | "
	"BASH_ARGV0 | \\\n"
	"		BASH_CMDS | BASH_COMMAND | BASH_EXECUTION_STRING | BASH_LINENO | \\\n"
	"		BASH_LOADABLES_PATH | BASH_MONOSECONDS | BASH_REMATCH | BASH_SOURCE | \\\n"
	"		BASH_SUBSHELL | BASH_TRAPSIG | BASH_VERSINFO | BASH_VERSION | COMP_CWORD | "
	"COMP_KEY | \\\n"
	"		COMP_LINE | COMP_POINT | COMP_TYPE | COMP_WORDBREAKS | COMP_WORDS | "
	"DIRSTACK | \\\n"
	"		EPOCHREALTIME | EPOCHSECONDS | EUID | FUNCNAME | FUNCNEST | GROUPS | "
	"HISTCMD | \\\n"
	"		IFS | LINENO | OLDPWD | OPTARG | OPTERR | OPTIND | PIPESTATUS | PPID | PWD "
	"| \\\n"
	"		RANDOM | SECONDS | SHELLOPTS | SHLVL | SRANDOM | UID | _ | sandboxfs_*) "
	"continue ;;\n"
	"		esac\n"
	"		sandboxfs_text=$(command declare -p \"$sandboxfs_name\" 2>/dev/null)\n"
	"		sandboxfs_flags=${sandboxfs_text#declare }\n"
	"		case ${sandboxfs_flags%% *} in\n"
	"		*r*) ;;\n"
	"		*) command printf '%s\\n' \"$sandboxfs_text\" ;;\n"
	"		esac\n"
	"	done\n"
	"	command unset -f sandboxfs_bash sandboxfs_sh sandboxfs_write sandboxfs_keep\n"
	"	command alias -p\n"
	"	command declare -f\n"
	"}\n"
	"sandboxfs_sh() (\n"
	"	for sandboxfs_name in OPTIND PPID OLDPWD PWD _; do\n"
	"		command unset \"$sandboxfs_name\" 2>/dev/null\n"
	"	done\n"
	"	unset sandboxfs_session sandboxfs_given sandboxfs_code sandboxfs_name\n"
	"	set\n"
	"	export -p\n"
	")\n"
	/* write FILE COMMAND... */
	"sandboxfs_write() {\n"
	"	sandboxfs_file=$1 && shift &&\n"
	"		sandboxfs_new=$(mktemp \"$sandboxfs_session/.new.XXXXXX\") || return\n"
	"	if (\"$@\") >\"$sandboxfs_new\"; then\n"
	"		mv -f -- \"$sandboxfs_new\" \"$sandboxfs_session/$sandboxfs_file\"\n"
	"	else\n"
	"		rm -f -- \"$sandboxfs_new\"\n"
	"	fi\n"
	"}\n"
	"sandboxfs_keep() {\n"
	"	sandboxfs_code=$?\n"
	"	command trap - EXIT\n"
	"	set +efu\n"
	"	unset IFS\n"
	"	for sandboxfs_name in $sandboxfs_given; do\n"
	"		eval \"if [ -n \\\"\\${sandboxfs_was_$sandboxfs_name+x}\\\" ]; then \"\\\n"
	"\"$sandboxfs_name=\\$sandboxfs_was_$sandboxfs_name; else unset $sandboxfs_name; fi\"\n"
	"	done\n"
	"	sandboxfs_write dir pwd\n"
	"	if [ -n \"$BASH_VERSION\" ]; then\n"
	"		command shopt -u nocasematch\n"
	"		sandboxfs_write bash sandboxfs_bash\n"
	"	else\n"
	"		sandboxfs_write sh sandboxfs_sh\n"
	"	fi\n"
	"	exit \"$sandboxfs_code\"\n"
	"}\n"
	"command trap 'sandboxfs_keep 2>/dev/null' EXIT\n"
	"command trap 'command trap - EXIT; exit 129' HUP\n"
	"command trap 'command trap - EXIT; exit 130' INT\n"
	"command trap 'command trap - EXIT; exit 143' TERM\n";

bool user_session_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= USER_SESSION_NAME_MAX && *name != '.' && *name != '-' &&
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		len;
}

/* A variable of the session with this name is put aside, and comes back at the end. */
static void add_given(struct buf *out, const char *one)
{
	int len = (int)strcspn(one, "=");

	buf_printf(out,
		"[ -z \"${%.*s+x}\" ] || sandboxfs_was_%.*s=$%.*s\n"
		"export %.*s=\"$sandboxfs_of_%.*s\"\n",
		len, one, len, one, len, one, len, one, len, one);
}

void user_session_begin(struct buf *out, const char *name, char *const *env)
{
	buf_printf(out, "sandboxfs_session=" SESSIONS "/%s\"\nsandboxfs_given=' ", name);
	for (char *const *one = env; one && *one; one++)
		buf_printf(out, "%.*s ", (int)strcspn(*one, "="), *one);
	buf_add_string(out, "'\n");
	for (char *const *one = env; one && *one; one++) {
		int len = (int)strcspn(*one, "=");

		buf_printf(out, "sandboxfs_of_%.*s=$%.*s\nunset %.*s\n", len, *one, len, *one, len,
			*one);
	}
	buf_add_string(out, load);
	for (char *const *one = env; one && *one; one++)
		add_given(out, *one);
	buf_add_string(out, keep);
}

void user_session_list(struct buf *out)
{
	buf_add_string(out, "cd -- " SESSIONS "\" 2>/dev/null || exit 0\nls\n");
}

void user_session_end(struct buf *out, const char *name)
{
	buf_printf(out, "rm -r -- " SESSIONS "/%s\" 2>/dev/null\n", name);
}
