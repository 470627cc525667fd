# Completion for bash of sandboxctl, sandboxfs and their kin: sandboxctl itself knows what there is.

_sandboxctl() {
	local line=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=]/} words=() typed kept='' candidate
	read -ra words <<<"$line"
	[[ $line == *[[:blank:]] ]] && words+=('')
	typed=${words[-1]}
	# Readline replaces what follows the last of these alone.
	[[ $breaks && $typed == *[$breaks]* ]] && kept=${typed%"${typed##*[$breaks]}"}

	COMPREPLY=()
	while IFS=$'\t' read -r candidate _; do
		case $candidate in
		:files) compopt -o default ;;
		:directories) compopt -o dirnames ;;
		*)
			printf -v candidate %q "${candidate#"$kept"}"
			COMPREPLY+=("$candidate")
			;;
		esac
	done < <(sandboxctl --complete "${words[@]}" 2>/dev/null)
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=] ]] && compopt -o nospace
}

complete -F _sandboxctl sandboxctl sandboxfs mount.fuse.sandboxfs umount.fuse.sandboxfs
