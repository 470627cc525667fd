#!/bin/sh
# README.md says of the vendors and of the control directory what the code says.
# shellcheck source=tests/support/tap.sh disable=SC2012,SC2016
. "${0%/*}/../support/tap.sh"
needs_mount

TABLES="$TOP/tests/support/readme-tables"
is "README.md's tables are those of the code (make table writes them)" "$("$TABLES" check "$PROGRAMS" 2>&1)" ""

"$PROGRAMS/differences" >table
is "every provider has a row" "$(grep -c '^| `' table)" "$("$SANDBOXFS" --help | sed -n 's/^Providers: //p' | wc -w)"
is "which says what a vendor cannot do" "$(grep -c '^| `local:` .*| EOPNOTSUPP |' table)" 1

# ---- The control directory -------------------------------------------------------------------------

mount_sandbox read
# undescribed BEFORE FILE: what a mount has that the file does not have behind these words.
undescribed() {
	ls "$MNT/.sandbox" | while read -r name; do
		grep -qF -- "$1$name" "$2" || echo "$name"
	done
}
is "README.md describes all of it" "$(undescribed '| `' "$TOP/README.md")" ""
is "so does sandboxfs(1)" "$(undescribed '.It Pa ' "$TOP/build/man/sandboxfs.1")" ""
unmount
done_testing
