#!/bin/sh
# A sandbox of a processor for which there is no helper: no mount, which one line says; commands work, and copies.
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
export TMPDIR="$SCRATCH/tmp"
mkdir "$SCRATCH/tmp.real"
ln -s tmp.real "$TMPDIR"
exec </dev/null

MNT=$SCRATCH/mnt.none
mkdir "$MNT"
WHY="the sandbox cannot be mounted, only sandboxctl exec, push and pull work: the helper program is not there for its processor, i686, only for"
like "a mount is refused, and one line says why" "$("$SANDBOXFS" -f "$SOURCE" "$MNT" 2>&1)" "^sandboxfs: $WHY x86_64"
like "one in the background says it, too" "$("$SANDBOXFS" "$SOURCE" "$MNT" 2>&1; echo "exit status $?")" "^sandboxfs: $WHY x86_64"
is "and does not succeed" "$("$SANDBOXFS" "$SOURCE" "$MNT" 2>&1 | wc -l; "$SANDBOXFS" "$SOURCE" "$MNT" 2>/dev/null; echo $?)" "1
32"
ok "nothing is mounted" sh -c '! grep -qF " $1 " /proc/self/mounts' sh "$MNT"
like "info says it" "$(ctl info --inside "$SOURCE")" "^helper +$WHY"
like "also to programs" "$(ctl info --inside --json "$SOURCE" | field_of no_helper)" "^$WHY"

is "a command runs" "$(ctl exec "$SOURCE" 'uname -m; echo $((6 * 7)); cat')" "i686
42"
is "with its exit code" "$(ctl exec "$SOURCE" 'exit 7'; echo $?)" 7
is "its input" "$(printf 'in\nput\n' | ctl exec "$SOURCE" 'sort -r')" "put
in"
is "its environment" "$(ctl exec --env "A=b c" "$SOURCE" 'echo "$A"')" "b c"
# A command that is silent for longer than the limit. A machine that stands still gets a longer one.
silent() {
	for limit in 3 9 27; do
		long="sleep $((limit * 8 / 3)); echo done"
		said=$(ctl exec --progress-timeout $limit "$SOURCE" "$long" 2>&1) && break
	done
	echo "$said"
}
is "it may be silent" "$(silent)" "done"
like "and its end in time" "$(limited exec "$SOURCE" 'echo up; exec sleep 1000'; echo "exit status $?")" '^exit status 124$'

# ---- Copies --------------------------------------------------------------------------------------

# What is in a directory: types, permissions, times, links, sizes.
facts() {
	(cd "$1" && find . -printf '%P|%y|%m|%T@|%l|' \( -type f -printf '%s\n' -o -printf '\n' \)) | LC_ALL=C sort
}

python3 - <<'END'
import os, random
os.makedirs("tree/deep/er")
os.makedirs("tree/empty")
os.makedirs("tree/closed")
with open("tree/deep/er/big", "wb") as file:
    file.write(random.Random(1).randbytes(5_000_001))
for name in (b"file", b" ", b"-n", b"new\nline", b"quote'\"", b"\xff\xfe", b"x" * 200):
    with open(b"tree/" + name, "wb") as file:
        file.write(b"of " + name)
os.chmod("tree/file", 0o640)
with open("tree/closed/file", "w") as file:
    file.write("read only")
os.chmod("tree/closed/file", 0o444)
os.chmod("tree/closed", 0o555)
os.symlink("../nowhere", "tree/link")
for at, dirs, files in os.walk(b"tree", topdown=False):
    for n, name in enumerate(sorted(dirs + files)):
        os.utime(at + b"/" + name, ns=(10**18, 1_500_000_000_000_000_000 + n * 10**9), follow_symlinks=False)
os.utime("tree", ns=(10**18, 1_500_000_000_000_000_000))
END
facts tree >wanted
says "a tree goes into the sandbox" 0 "" ctl push tree "$SOURCE"
facts "$STORE/tree" >got
is "as it was" "$(diff wanted got)" ""
ok "with its contents" cmp -s tree/deep/er/big "$STORE/tree/deep/er/big"
says "and out again" 0 "" ctl pull "$SOURCE:tree" back
facts back >got
is "as it was there" "$(diff wanted got)" ""
is "with its contents, too" "$(diff -r --no-dereference tree back)" ""
says "a file gets another name, in directories that are made" 0 "" ctl push tree/file "$SOURCE:a/b/renamed"
is "which is all of it" "$(cat "$STORE/a/b/renamed")" "of file"
mkdir whole
says "all of a sandbox" 0 "" ctl pull "$SOURCE" whole
is "is what is in it" "$(ls -A whole | tr '\n' ' ')" "a tree "
mkfifo fifo
says "what cannot be copied is named, the others go" 1 "sandboxctl: fifo: neither a file nor a directory nor a symbolic link
sandboxctl: push: 1 could not be copied" ctl push fifo tree/file "$SOURCE:a"
is "the others went" "$(cat "$STORE/a/file")" "of file"
like "what is not there is named" "$(ctl pull "$SOURCE:missing" . 2>&1)" "^sandboxctl: .*missing.*[Nn]o such file or directory"
is "nothing is left in staging" "$(ls -A "$STORE/.sandboxfs")" .gitignore
is "nor here" "$(ls -A "$TMPDIR")" ""
done_testing
