#!/bin/sh
# A sandbox of a processor for which there is no helper: no mount, which one line says; commands work.
# shellcheck disable=SC2016,SC2034
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs_vendor
needs linux32 node python3

# What a sandbox runs calls itself an i686 then.
VENDOR_UNDER=linux32
vendor_sandbox none
SOURCE=$PROVIDER:$SANDBOX
exec </dev/null

MNT=$SCRATCH/mnt.none
mkdir "$MNT"
WHY="the sandbox cannot be mounted, only sandboxctl exec works: the helper program is not there for its processor, i686, only for"
like "a mount is refused, and one line says why" "$("$SANDBOXFS" -f "$SOURCE" "$MNT" 2>&1)" "^sandboxfs: $WHY x86_64"
like "one in the background says it, too" "$("$SANDBOXFS" "$SOURCE" "$MNT" 2>&1; echo "exit status $?")" "^sandboxfs: $WHY x86_64"
is "and does not succeed" "$("$SANDBOXFS" "$SOURCE" "$MNT" 2>&1 | wc -l; "$SANDBOXFS" "$SOURCE" "$MNT" 2>/dev/null; echo $?)" "1
32"
ok "nothing is mounted" sh -c '! grep -qF " $1 " /proc/self/mounts' sh "$MNT"
like "info says it" "$(ctl info --inside "$SOURCE")" "^helper +$WHY"
like "also to programs" "$(ctl info --inside --json "$SOURCE" | field no_helper)" "^$WHY"

is "a command runs" "$(ctl exec "$SOURCE" 'uname -m; echo $((6 * 7)); cat')" "i686
42"
is "with its exit code" "$(ctl exec "$SOURCE" 'exit 7'; echo $?)" 7
is "its input" "$(printf 'in\nput\n' | ctl exec "$SOURCE" 'sort -r')" "put
in"
is "its environment" "$(ctl exec --env "A=b c" "$SOURCE" 'echo "$A"')" "b c"
is "it may be silent" "$(ctl exec --progress-timeout 3 "$SOURCE" 'sleep 8; echo done')" done
like "and its end in time" "$(limited exec "$SOURCE" 'echo up; exec sleep 1000'; echo "exit status $?")" '^exit status 124$'
done_testing
