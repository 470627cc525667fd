#!/bin/sh
# The manual pages: no reader of them complains, and they have every option that --help has.
# shellcheck source=tests/support/tap.sh disable=SC2016,SC2069
. "${0%/*}/../support/tap.sh"

needs mandoc man
PAGES=$TOP/build/man

# What Debian's lintian asks groff for.
groff_says() { # PAGE
	MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" 2>&1 >/dev/null
}

as_text() { # PAGE
	mandoc -T ascii "$1" | col -bx
}

# How options are spelled at the beginnings of the lines of --help: "-o keep", "-f", "--json".
options_of() {
	sed -nE 's/^ +(-[a-zA-Z], )?(-o [a-z_]+=?|--[a-z-]+|-[a-zA-Z])([ =[].*|[A-Z].*|[a-z|]+)?$/\2/p'
}

lacks() { # PAGE, the options on standard input: prints those that it does not have
	as_text "$1" >page.txt
	while read -r option; do
		grep -qF -- "$option" page.txt || echo "$option"
	done
}

has_all() { # PAGE NAME COMMAND...
	page=$1 name=$2
	shift 2
	"$@" --help | options_of >options
	ok "$name: there are options" test -s options
	is "$name: all of them are in ${page##*/}" "$(lacks "$page" <options)" ""
}

refers_to_nothing() { # PAGE
	sed -nE 's/^\.Xr ([^ ]*sandbox[^ ]*) ([178]).*/\1.\2/p' "$1" | while read -r other; do
		test -f "$PAGES/$other" || echo "$other"
	done
}

for page in "$PAGES"/*.[178]; do
	is "mandoc accepts ${page##*/}" "$(mandoc -T lint -W warning "$page" 2>&1)" ""
	is "so does groff" "$(groff_says "$page")" ""
	is "what it refers to of ours is there" "$(refers_to_nothing "$page")" ""
	ok "and man shows it" sh -c 'man -l "$1" | grep -q "^NAME"' - "$page"
done

BIN=${SANDBOXFS%/*}
has_all "$PAGES/sandboxfs.1" sandboxfs "$SANDBOXFS"
has_all "$PAGES/umount.fuse.sandboxfs.8" umount.fuse.sandboxfs "$BIN/umount.fuse.sandboxfs"
for command in $("$BIN/sandboxctl" --help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
	ok "sandboxctl(1) has $command" grep -q "^\.Ss $command" "$PAGES/sandboxctl.1"
	has_all "$PAGES/sandboxctl.1" "sandboxctl $command" "$BIN/sandboxctl" "$command"
done

done_testing
