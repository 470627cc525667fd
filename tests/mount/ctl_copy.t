#!/bin/sh
# sandboxctl push and pull: trees into a sandbox and out of it.
# shellcheck disable=SC2010,SC2012,SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs python3

a_sandbox copy

# What is in a directory: types, permissions, times, links, sizes.
facts() {
	(cd "$1" && find . ! -type p -printf '%P|%y|%m|%T@|%l|' \( -type f -printf '%s\n' -o -printf '\n' \)) | LC_ALL=C sort
}

# ---- How it is called ----------------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	says "no destination" 2 \
		"sandboxctl: push: a source and a destination are needed, as in sandboxctl push project local:demo" ctl push file
	says "no source" 2 \
		"sandboxctl: pull: a source and a destination are needed, as in sandboxctl pull local:demo:result ." ctl pull
	says "a destination without an ID" 1 \
		"sandboxctl: 'local:': the id is missing; sandboxctl list local shows those there are" ctl push file local:
	says "a source without an ID" 1 \
		"sandboxctl: 'file': a source is PROVIDER:[ID][:PATH], as in local:demo" ctl pull file .
fi

# ---- A tree --------------------------------------------------------------------------------------

python3 - <<'END'
import os, random
os.makedirs("tree/deep/er/est")
os.makedirs("tree/empty")
os.makedirs("tree/closed")
def write(path, data, mode=0o644):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)
write("tree/file", b"contents\n", 0o640)
write("tree/nothing", b"")
write("tree/program", b"#!/bin/sh\necho ran\n", 0o755)
write("tree/deep/er/est/big", random.Random(1).randbytes(3_000_001), 0o600)
write("tree/closed/file", b"read only", 0o444)
for name in (b" ", b"-n", b"new\nline", b"quote'\"", b"\xff\xfe", b"\xc3\xbc", b"$HOME`", b"x" * 255):
    write(b"tree/" + name, b"odd " + name)
os.symlink("file", "tree/link")
os.symlink("/etc/hostname", "tree/absolute")
os.symlink("../../..", "tree/deep/up")
os.symlink("nowhere", "tree/dangling")
os.chmod("tree/closed", 0o555)
for at, dirs, files in os.walk(b"tree", topdown=False):
    for n, name in enumerate(sorted(dirs + files)):
        os.utime(at + b"/" + name, ns=(10**18, 1_500_000_000_123_456_789 + n * 10**9), follow_symlinks=False)
END
facts tree >wanted
says "a tree goes into the working directory" 0 "" ctl push tree "$SOURCE"
facts "$STORE/tree" >got
is "it is there as it was" "$(diff wanted got)" ""
is "with its contents" "$(cksum <"$STORE/tree/deep/er/est/big")" "$(cksum <tree/deep/er/est/big)"
says "and out again" 0 "" ctl pull "$SOURCE:tree" back
facts back >got
is "as it was" "$(diff wanted got)" ""
is "with its contents, too" "$(diff -r --no-dereference tree back)" ""
is "nothing else is left in the sandbox" "$(cd "$STORE" && find . -name '.sandboxctl-*')" ""
says "again over what is there" 0 "" ctl push tree "$SOURCE"
is "changes nothing" "$(facts "$STORE/tree" | diff wanted -)" ""

# ---- Where it goes -------------------------------------------------------------------------------

says "a file becomes a name that is free" 0 "" ctl push tree/file "$SOURCE:renamed"
says "or one that is taken by a file" 0 "" ctl push tree/program "$SOURCE:renamed"
is "which it replaces" "$(ctl exec "$SOURCE" ./renamed </dev/null)" ran
says "several go into a directory, which is made" 0 "" ctl push tree/file tree/link tree/deep "$SOURCE:a/b"
is "under their names" "$(cd "$STORE/a/b" && ls | tr '\n' ' ')" "deep file link "
says "what is in a directory goes into another" 0 "" ctl push tree/closed/. "$SOURCE:a/b"
is "and not itself" "$(cat "$STORE/a/b/file")" "read only"
says "a directory becomes a name that is free" 0 "" ctl push tree/deep "$SOURCE:a/shallow/"
is "in one that is made" "$(ls "$STORE/a/shallow")" "deep"
says "several out at once" 0 "" ctl pull "$SOURCE:a/b" "$SOURCE:renamed" .
is "under their names, too" "$(ls -d b renamed | tr '\n' ' ')" "b renamed "
mkdir whole
says "all of a sandbox" 0 "" ctl pull "$SOURCE" whole
is "goes into a directory that is there" "$(ls whole | tr '\n' ' ')" "a renamed tree "
is "what it did, as JSON" "$(ctl pull --json "$SOURCE:tree/." counted | python3 -c '
import json, sys
r = json.load(sys.stdin)
print(r["files"], r["links"], r["directories"], r["errors"], sys.argv[1] == str(r["bytes"]))' \
	"$(find tree -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')")" "13 4 6 [] True"

# ---- What fails ----------------------------------------------------------------------------------

mkdir mixed
mkfifo mixed/fifo
echo good >mixed/good
mkdir "$STORE/taken"
echo kept >"$STORE/taken/file"
chown --reference="$STORE" "$STORE/taken" "$STORE/taken/file"
says "a file that cannot be copied is named, the others go" 1 "sandboxctl: mixed/fifo: neither a file nor a directory nor a symbolic link
sandboxctl: push: 1 could not be copied" ctl push mixed "$SOURCE"
is "the others went" "$(cat "$STORE/mixed/good")" good
mkdir clash
cp tree/file clash/good
echo no >taken
is "a file does not replace a directory" "$(ctl push taken clash/good "$SOURCE" 2>&1 | grep -c '^sandboxctl: taken: ') $(cat "$STORE/good")" \
	"1 contents"
is "which keeps what is in it" "$(cat "$STORE/taken/file")" kept
is "as JSON" "$(ctl push --json mixed "$SOURCE" 2>/dev/null | python3 -c '
import json, sys
print(json.load(sys.stdin)["errors"])')" "[{'path': 'mixed/fifo', 'error': 'neither a file nor a directory nor a symbolic link'}]"
codes() {
	python3 -c 'import json, sys; print(*(e.get("code") for e in json.load(sys.stdin)["errors"]))'
}
is "also where nothing could be copied" "$(ctl push --json mixed "$SOURCE:a/../b" 2>/dev/null | codes) \
$(ctl pull --json "$SOURCE:a/../b" . 2>/dev/null | codes)" "invalid_path invalid_path"
is "under the name of the one that failed" "$(ctl pull --json "$SOURCE:tree" "$SOURCE:a/../b" . 2>/dev/null | python3 -c '
import json, sys
print(*(e["path"] for e in json.load(sys.stdin)["errors"]))')" "$SOURCE:a/../b"
is "with the code of the agents' protocol" "$(ctl push --json taken clash/good nowhere "$SOURCE" 2>/dev/null | python3 -c '
import json, sys
print(*sorted((e["path"], e.get("code")) for e in json.load(sys.stdin)["errors"]))')" "('nowhere', 'file_not_found') ('taken', 'is_directory')"
mkdir named
mkfifo "named/$(printf 'a\033[31mb')"
is "a name cannot speak to the terminal" "$(ctl push named "$SOURCE" 2>&1 | head -n 1)" \
	"sandboxctl: named/a?[31mb: neither a file nor a directory nor a symbolic link"
says "a source that is not there" 1 "sandboxctl: missing: no such file or directory
sandboxctl: push: 1 could not be copied" ctl push missing "$SOURCE"
says "a source that is not in the sandbox" 1 "sandboxctl: missing: no such file or directory
sandboxctl: pull: 1 could not be copied" ctl pull "$SOURCE:missing" .

# ---- Links ---------------------------------------------------------------------------------------

mkdir outside target
ln -s ../outside target/taken
ctl pull "$SOURCE:taken" target >said 2>&1
is "a link where a directory goes is not followed" "$? $(ls outside)" "1 "
ln -s ../outside/file target/file
ctl pull "$SOURCE:taken/file" target >said 2>&1
is "one where a file goes is replaced" "$? $(ls outside) $(cat target/file) $(test -L target/file || echo file)" "0  kept file"

# ---- Interrupted ---------------------------------------------------------------------------------

# stopped SIGNAL DIRECTORY COMMAND...: gets it when a file in the directory has grown a little.
stopped() {
	python3 - "$@" <<'END'
import glob, os, signal, subprocess, sys, time
name, where, command = sys.argv[1], sys.argv[2], sys.argv[3:]
def defaults():
    for other in ("HUP", "INT", "TERM"):
        signal.signal(getattr(signal, "SIG" + other), signal.SIG_DFL)
p = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=defaults)
end = time.monotonic() + 120
while not any(os.path.getsize(f) for f in glob.glob(where + "/.sandboxctl-*")) and p.poll() is None and time.monotonic() < end:
    time.sleep(0.002)
p.send_signal(getattr(signal, "SIG" + name))
print(-p.wait(120) == getattr(signal, "SIG" + name))
END
}
mkdir large
truncate -s 3G large/file
chmod 600 large/file
for signal in INT TERM; do
	is "$signal ends a push" "$(stopped $signal "$STORE" "$SANDBOXCTL" push large/file "$SOURCE:half")" True
	is "which leaves nothing" "$(ls -A "$STORE" | grep -E 'half|sandboxctl')" ""
done
truncate -s 3G "$STORE/large"
chown --reference="$STORE" "$STORE/large"
mkdir half
for signal in INT TERM; do
	is "$signal ends a pull" "$(stopped $signal half "$SANDBOXCTL" pull "$SOURCE:large" half)" True
	is "which leaves nothing" "$(ls -A half)" ""
done
is "KILL ends a pull" "$(stopped KILL half "$SANDBOXCTL" pull "$SOURCE:large" half)" True
is "which leaves nothing under the file's name" "$(ls half)" ""
done_testing
