#include "tools/ctl/session.h"

#include <string.h>

#define SESSIONS "${XDG_STATE_HOME:-$HOME/.local/state}/sandboxfs/sessions"

/*
 * Names of this text begin with sandboxfs_ and are not kept. Of bash all is kept but what the shell
 * itself sets or nobody may set; of another shell what `set` prints.
 */
static const char text[] =
	"mkdir -p -m 700 -- \"${sandboxfs_session%/*}\" || exit 125\n"
	"[ ! -r \"$sandboxfs_session\" ] || . \"$sandboxfs_session\"\n"
	"sandboxfs_variables() {\n"
	"	for sandboxfs_name in $(compgen -v); do\n"
	"		case $sandboxfs_name in\n"
	"		BASH* | COMP_* | DIRSTACK | EPOCH* | EUID | FUNC* | GROUPS | HISTCMD | IFS "
	"| \\\n"
	"		LINENO | OLDPWD | OPT* | PIPESTATUS | PPID | PWD | RANDOM | SECONDS | \\\n"
	"		SHELLOPTS | SHLVL | SRANDOM | UID | _ | sandboxfs_*) continue ;;\n"
	"		esac\n"
	"		sandboxfs_text=$(declare -p \"$sandboxfs_name\" 2>/dev/null)\n"
	"		sandboxfs_flags=${sandboxfs_text#declare }\n"
	"		case ${sandboxfs_flags%% *} in\n"
	"		*r*) ;;\n"
	"		*) printf '%s\\n' \"$sandboxfs_text\" ;;\n"
	"		esac\n"
	"	done\n"
	"	declare -f\n"
	"	alias -p\n"
	"}\n"
	"sandboxfs_keep() {\n"
	"	sandboxfs_code=$?\n"
	"	trap - EXIT\n"
	"	set +eu\n"
	"	umask 077\n"
	"	{\n"
	"		if [ -n \"$BASH_VERSION\" ]; then\n"
	"			sandboxfs_variables\n"
	"		else\n"
	"			unset IFS\n"
	"			set | sed -e '/^OPTIND=/d' -e '/^PPID=/d' "
	"-e '/^OLDPWD=/d' -e '/^PWD=/d' -e '/^_=/d' -e '/^sandboxfs_/d'\n"
	"			export -p\n"
	"		fi\n"
	"		printf \"cd -- '%s'\\n\" \"$(pwd | sed \"s/'/'\\\\\\\\''/g\")\"\n"
	"	} >\"$sandboxfs_session.$$\" 2>/dev/null &&\n"
	"		mv -f -- \"$sandboxfs_session.$$\" \"$sandboxfs_session\"\n"
	"	exit \"$sandboxfs_code\"\n"
	"}\n"
	"trap sandboxfs_keep EXIT\n";

bool session_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len && len <= SESSION_NAME_MAX && *name != '.' && *name != '-' &&
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") ==
		len;
}

void session_begin(struct buf *out, const char *name)
{
	buf_printf(out, "sandboxfs_session=" SESSIONS "/%s\n", name);
	buf_add_string(out, text);
}

void session_list(struct buf *out)
{
	buf_add_string(out, "cd -- \"" SESSIONS "\" 2>/dev/null || exit 0\nls\n");
}

void session_end(struct buf *out, const char *name)
{
	buf_printf(out, "rm -- \"" SESSIONS "/%s\" 2>/dev/null\n", name);
}
