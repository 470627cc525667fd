#!/bin/sh
# README.md says of the vendors, and of what is lost without the helper, what the code says.
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"

TABLES="$TOP/tests/support/readme-tables"
is "README.md's tables are those of the code (make table writes them)" "$("$TABLES" check "$PROGRAMS" 2>&1)" ""

"$PROGRAMS/differences" >table
is "every provider has a row" "$(grep -c '^| `' table)" "$("$SANDBOXFS" --help | sed -n 's/^Providers: //p' | wc -w)"
is "which says what a vendor cannot do" "$(grep -c '^| `local:` .*| EOPNOTSUPP |' table)" 1

done_testing
