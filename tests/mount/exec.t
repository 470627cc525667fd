#!/bin/sh
# Commands through .sandbox/exec, as shells and programs write them.
#
# With MNT (and STORE, the sandbox's working directory as seen from here) in the environment, that mount is used;
# else a new one is made.
. "${0%/*}/../support/tap.sh"
needs_mount
needs python3 bash dash zsh

if [ -n "${MNT:-}" ]; then
	STORE=${STORE:-$MNT}
	OWN_MOUNT=
else
	mount_sandbox exec
	OWN_MOUNT=1
fi
CONTROL=$MNT/.sandbox
EXEC=$CONTROL/exec
export MNT STORE CONTROL EXEC

# One field of the response to the last command.
field() {
	field_of "$1" <"$EXEC"
}

# ---- The files ------------------------------------------------------------------------------------

[ -z "$OWN_MOUNT" ] || is "before any command there is no response" "$(cat "$EXEC")" ""
is "the directory names its files" "$(ls "$CONTROL" | tr '\n' ' ')" "events exec id jobs ports sessions spawn stats status sync "
is "they have no size" "$(find "$CONTROL" -type f -exec stat -c %s {} + | sort -u)" 0
is "only the owner runs commands" "$(stat -c %a "$EXEC")" 600
ok "id is one line" sh -c '[ "$(wc -l <"$CONTROL/id")" = 1 ] && [ -n "$(cat "$CONTROL/id")" ]'
ok "status is JSON" python3 -c 'import json, os; json.load(open(os.environ["CONTROL"] + "/status"))["provider"]'
ok "sync takes anything" sh -c 'echo >"$CONTROL/sync"'
fails "an unknown name is not there" stat "$CONTROL/nothing"
fails "nothing can be created" touch "$CONTROL/new"
fails "nothing can be removed" rm -f "$CONTROL/id"
fails "nothing can be renamed" mv "$CONTROL/id" "$CONTROL/other"
fails "modes cannot be changed" chmod 666 "$EXEC"
fails "a file to read cannot be written" sh -c 'echo x >"$CONTROL/id"'
fails "a file to write cannot be read" cat "$CONTROL/sync"

# ---- When a command runs, by shell ------------------------------------------------------------------

for shell in bash dash zsh; do
	tap_prefix="$shell: "
	try() { # NAME SCRIPT WANTED: the script's output is a response
		is "$1" "$("$shell" -c "$2" | field_of output)" "$3"
	}

	try "echo, then cat" 'echo "echo one" >"$EXEC"; cat "$EXEC"' one
	try "appended" 'echo "echo more" >>"$EXEC"; cat "$EXEC"' more
	try "a heredoc" 'cat >"$EXEC" <<END
echo two
echo three
END
cat "$EXEC"' "two
three"
	try "a group that runs other programs" \
		'{ echo "echo a"; /bin/true; echo "echo b"; } >"$EXEC"; cat "$EXEC"' "a
b"
	try "a subshell" '(echo "echo sub"; /bin/true) >"$EXEC"; cat "$EXEC"' sub
	try "a subshell that inherits the descriptor" \
		'exec 3>"$EXEC"; (echo "echo child" >&3); exec 3>&-; cat "$EXEC"' child
	try "a background job" 'echo "sleep 0.2; echo bg" >"$EXEC" & wait; cat "$EXEC"' bg
	try "a pipe" 'printf "echo %s\n" piped | cat >"$EXEC"; cat "$EXEC"' piped
	try "for reading and writing" 'exec 3<>"$EXEC"; echo "echo four" >&3; cat <&3' four
	try "for reading and writing, twice" \
		'exec 3<>"$EXEC"; echo "echo 5" >&3; cat <&3 >/dev/null; echo "echo 6" >&3; cat <&3' 6
	try "for reading and writing, by children" \
		'exec 3<>"$EXEC"; printf "echo %s" kids >"$SCRATCH/s"; cat "$SCRATCH/s" >&3; cat <&3' kids
	try "nothing written, nothing run" 'echo "echo kept" >"$EXEC"; : >"$EXEC"; cat "$EXEC"' kept
	try "the writer's exit ends a command" \
		"$shell -c 'exec >\"\$EXEC\"; echo echo exited'; cat \"\$EXEC\"" exited
done
tap_prefix=

# ---- Other programs ---------------------------------------------------------------------------------

printf 'echo from a file\n' >"$SCRATCH/script"
cp "$SCRATCH/script" "$EXEC"
is "cp" "$(field output)" "from a file"
tee "$EXEC" <"$SCRATCH/script" >/dev/null
is "tee" "$(field output)" "from a file"
dd if="$SCRATCH/script" of="$EXEC" bs=3 conv=notrunc 2>/dev/null
is "dd in pieces" "$(field output)" "from a file"
cp "$EXEC" "$SCRATCH/response"
is "cp of the response" "$(field_of output <"$SCRATCH/response")" "from a file"

python_output() {
	python3 -c "
import json, os
path = os.environ['EXEC']
$1" 2>&1
}

is "python: write, close, open, read" "$(python_output '
with open(path, "w") as f:
    f.write("echo py")
print(json.load(open(path))["output"], end="")')" py
is "python: one handle, read without a seek" "$(python_output '
f = open(path, "r+b", buffering=0)
f.write(b"echo py2")
print(json.loads(f.read())["output"], end="")')" py2
is "python: one handle, read again from the beginning" "$(python_output '
f = open(path, "r+b", buffering=0)
f.write(b"echo py3")
f.read()
f.seek(0)
print(json.loads(f.read())["output"], end="")')" py3
is "python: a thread of the process may close it" "$(python_output '
import threading
fd = os.open(path, os.O_WRONLY)
os.write(fd, b"echo thread")
t = threading.Thread(target=os.close, args=(fd,))
t.start()
t.join()
print(json.load(open(path))["output"], end="")')" thread
is "python: a reader keeps the response it began to read" "$(python_output '
def run(text):
    with open(path, "w") as f:
        f.write(text)
run("echo first")
f = open(path, "rb", buffering=0)
begin = f.read(20)
run("echo second")
print(json.loads(begin + f.read())["output"], end="")')" first
is "python: one byte at a time" "$(python_output '
with open(path, "w") as f:
    f.write("echo slow")
fd = os.open(path, os.O_RDONLY)
text = b""
while True:
    byte = os.read(fd, 1)
    if not byte:
        break
    text += byte
print(json.loads(text)["output"], end="")')" slow
is "python: pread counts from the beginning" "$(python_output '
fd = os.open(path, os.O_RDONLY)
print(os.pread(fd, 6, 2).decode())')" output

# ---- The response -----------------------------------------------------------------------------------

echo 'echo out; echo err >&2; exit 3' >"$EXEC"
is "standard output" "$(field stdout)" out
is "standard error" "$(field stderr)" err
is "both" "$(field output)" "out

err"
is "the exit code" "$(field exit_code)" 3
is "no error" "$(field error)" null
is "not truncated, not timed out" "$(field truncated) $(field timed_out)" "false false"
is "one line" "$(wc -l <"$EXEC")" 1
echo 'kill -KILL $$' >"$EXEC"
is "killed by a signal" "$(field exit_code)" 137
echo 'cat; pwd >/dev/null' >"$EXEC"
is "standard input is empty" "$(field exit_code) $(field output)" "0 "
echo '   ' >"$EXEC"
is "an empty command" "$(field exit_code) $(field error)" "1 empty command"
printf 'echo a\0b' >"$EXEC"
is "a NUL is refused" "$(field exit_code) $(field error)" "null the command contains a NUL byte"
ok "10 MiB of output is whole" python3 -c '
import json, os
path = os.environ["EXEC"]
with open(path, "w") as f:
    f.write("yes 0123456789abcdef | head -c 10485760")
r = json.load(open(path))
assert not r["truncated"] and r["exit_code"] == 0, (r["truncated"], r["exit_code"], r["error"])
assert r["stdout"] == ("0123456789abcdef\n" * 700000)[:10485760] == r["output"]'
ok "of 40 MiB the beginning and the end are kept" python3 -c '
import json, os
path = os.environ["EXEC"]
with open(path, "w") as f:
    f.write("echo begin; head -c 41943040 /dev/zero | tr \"\\\\0\" x; echo end")
r = json.load(open(path))
assert r["truncated"] and r["exit_code"] == 0
assert r["stdout"].startswith("begin\nxxx") and r["stdout"].endswith("xxxend\n")
assert 16777216 - 8 <= len(r["stdout"]) <= 16777216'
ok "bytes that are no text survive" python3 -c '
import base64, json, os
path = os.environ["EXEC"]
with open(path, "w") as f:
    f.write("printf \"a\\\\0b\\\\377\\\\001\\\\303\"; printf \"\\\\200\" >&2")
r = json.load(open(path))
assert r["stdout"] == "a\0b\ufffd\1\ufffd" and r["stderr"] == "\ufffd", r
assert base64.b64decode(r["stdout_b64"]) == b"a\0b\xff\1\xc3", r
assert base64.b64decode(r["output_b64"]) == b"a\0b\xff\1\xc3\n\x80", r'
ok "a NUL in text survives, without base64" python3 -c '
import json, os
path = os.environ["EXEC"]
with open(path, "w") as f:
    f.write("printf \"a\\\\0b\"")
r = json.load(open(path))
assert r["stdout"] == "a\0b" and "stdout_b64" not in r, r'
ok "a command of more than 16 MiB is refused, not cut" python3 -c '
import errno, json, os
path = os.environ["EXEC"]
fd = os.open(path, os.O_WRONLY)
seen = []
try:
    for _ in range(17):
        os.write(fd, b"#" * (1024 * 1024 - 1) + b"\n")
except OSError as e:
    seen.append(e.errno)
try:
    os.close(fd)
except OSError as e:
    seen.append(e.errno)
assert seen == [errno.EFBIG, errno.EFBIG], seen
r = json.load(open(path))
assert r["exit_code"] is None and r["error"], r'
# More than arguments hold. A shell reads it byte by byte.
ok "a command of 2.5 MiB runs" python3 -c '
import json, os
path = os.environ["EXEC"]
with open(path, "w") as f:
    f.write(("#" * 1023 + "\n") * 2560 + "echo long")
r = json.load(open(path))
assert r["output"] == "long\n", r'

# ---- Several writers ---------------------------------------------------------------------------------

for i in 1 2 3 4 5 6 7 8 9 10; do
	i=$i sh -c 'exec 3<>"$EXEC"; { echo "sleep 0.1"; /bin/true; echo "echo $i"; } >&3; cat <&3 >"$SCRATCH/out.$i"' &
	tap_jobs="${tap_jobs:-} $!"
done
wait $tap_jobs
is "ten writers, each reads its own" \
	"$(for i in 1 2 3 4 5 6 7 8 9 10; do field_of output <"$SCRATCH/out.$i"; done | tr '\n' ' ' | tr -s ' ')" \
	"1 2 3 4 5 6 7 8 9 10 "
ok "commands of different handles run at the same time" python3 -c '
import os
path, store = os.environ["EXEC"], os.environ["STORE"]
def start(text):
    pid = os.fork()
    if pid == 0:
        with open(path, "w") as f:
            f.write(text)
        os._exit(0)
    return pid
wait_for = "i=0; until [ -e %s ]; do i=$((i+1)); [ $i -lt 1200 ] || exit 1; sleep 0.05; done"
a = start("touch meet.a; " + wait_for % "meet.b")
b = start("touch meet.b; " + wait_for % "meet.a")
assert os.waitpid(a, 0)[1] == 0 and os.waitpid(b, 0)[1] == 0
import json
r = json.load(open(path))
assert r["exit_code"] == 0, r
os.unlink(store + "/meet.a")
os.unlink(store + "/meet.b")'
ok "commands of one handle run one after the other" python3 -c '
import json, os, threading
path, store = os.environ["EXEC"], os.environ["STORE"]
fd = os.open(path, os.O_RDWR)
os.write(fd, b"touch began; sleep 0.3; touch ended")
first = threading.Thread(target=lambda: os.close(os.dup(fd)))
first.start()
while first.is_alive() and not os.path.exists(store + "/began"):
    first.join(0.01)
os.write(fd, b"rm began ended && echo second")
r = json.loads(os.read(fd, 65536))
first.join()
assert r["output"] == "second\n", r'

# ---- Signals ------------------------------------------------------------------------------------------

# signalled NAME WANTED SETUP SIGNALS COMMAND: a process writes the command, gets the signals while it waits, and says how
# its close ended; WANTED is a Python expression over that and the response. The command would last a thousand seconds.
signalled() {
	ok "$1" python3 "$TOP/tests/mount/exec-signal.py" "$2" "$3" "$4" "$5"
}
LONG='echo so far; touch started; sleep 1000; echo late'
SHORT='touch started; sleep 1; echo done'

signalled "Ctrl-C cancels" 'said == "EINTR" and error == "interrupted" and stdout == "so far\n"' \
	'signal.signal(signal.SIGINT, lambda *a: None)' INT "$LONG"
signalled "Ctrl-C ends the writer" 'status == -2 and error == "interrupted"' \
	'signal.signal(signal.SIGINT, signal.SIG_DFL)' INT "$LONG"
for name in TERM HUP QUIT KILL; do
	signalled "$name ends the writer" 'status < 0 and error == "interrupted"' pass $name "$LONG"
done
signalled "a resized window does not matter" 'said == "closed" and stdout == "done\n" and not error' \
	'signal.signal(signal.SIGWINCH, lambda *a: None)' WINCH "$SHORT"
signalled "nor does a stopped and continued job" 'said == "closed" and stdout == "done\n" and not error' \
	pass "TSTP CONT" "$SHORT"
signalled "nor a child's end, but then TERM does" 'status == -15 and error == "interrupted"' \
	'signal.signal(signal.SIGCHLD, lambda *a: None)' "CHLD TERM" "$LONG"
signalled "an ignored signal is none" 'said == "closed" and stdout == "done\n" and not error' \
	'signal.signal(signal.SIGINT, signal.SIG_IGN)' INT "$SHORT"

# A process that exits closes the file thereby, and waits where no signal gets at it any more: the kernel drops what is
# sent to it, and only root of the machine sees that, by a tracepoint.
sees_lost_signals() {
	[ "$(id -u)" -eq 0 ] && [ "$(stat -L -c %i /proc/self/ns/pid)" = 4026531836 ] && mkdir -p "$SCRATCH/tracefs" &&
		unshare -m sh -c 'mount -t tracefs none "$1" && cat "$1/events/signal/signal_generate/id"' - "$SCRATCH/tracefs"
}
EXITS='os.close = lambda fd: os._exit(3)'
for name in INT TERM HUP QUIT KILL; do
	if sees_lost_signals >/dev/null 2>&1; then
		signalled "$name at a writer that exits" 'status == 3 and error == "interrupted"' "$EXITS" $name "$LONG"
	else
		skip "$name at a writer that exits" "who is not root of the machine does not see it"
	fi
done
if sees_lost_signals >/dev/null 2>&1; then
	ok "TERM at a shell's job that writes and ends" deadline "$PATIENCE" bash -c '
		echo "touch started; sleep 1000" >"$EXEC" &
		until [ -e "$STORE/started" ]; do sleep 0.05; done
		rm "$STORE/started"
		kill -TERM $! && wait $!
		cat "$EXEC"; grep -q "\"error\": \"interrupted\"" "$EXEC"'
else
	skip "TERM at a shell's job that writes and ends" "who is not root of the machine does not see it"
fi
signalled "a writer that exits gives nothing up" 'status == 3 and stdout == "done\n" and not error' "$EXITS" "" "$SHORT"
signalled "nor with a signal that does not ask for it" 'status == 3 and stdout == "done\n" and not error' "$EXITS" "WINCH USR1" "$SHORT"
signalled "nor with one that it ignores" 'status == 3 and stdout == "done\n" and not error' \
	"signal.signal(signal.SIGINT, signal.SIG_IGN); $EXITS" INT "$SHORT"
signalled "nor with threads that its exit ends" 'status == 3 and stdout == "done\n" and not error' \
	"import threading, time; [threading.Thread(target=time.sleep, args=(99,)).start() for _ in range(8)]; $EXITS" "" "$SHORT"

# killed SIGNAL FILE: a process is killed after it wrote to the file and before it closed it.
killed() {
	python3 -c '
import os, signal, sys
number = getattr(signal, "SIG" + sys.argv[1])
if number != signal.SIGKILL:
    signal.signal(number, signal.SIG_DFL)
os.write(os.open(sys.argv[2], os.O_WRONLY), b"touch ran")
os.kill(os.getpid(), number)' "$1" "$2" 2>/dev/null
}
for name in INT TERM HUP QUIT KILL; do
	killed $name "$EXEC"
	is "of a writer that $name ended before it closed the file nothing runs" "$(field error)" interrupted
	fails "really nothing" test -e "$STORE/ran"
done
job=$(cat "$CONTROL/spawn")
killed QUIT "$CONTROL/spawn"
is "nor does a job begin" "$(cat "$CONTROL/spawn")" "$job"
echo 'echo alive' >"$EXEC"
is "the next command runs" "$(field output)" alive

# ---- With the mount's files ---------------------------------------------------------------------------

if [ -n "$OWN_MOUNT" ]; then
	echo content >"$MNT/written"
	echo 'cat written' >"$EXEC"
	is "a command sees what was written before" "$(field output)" content
	cat "$MNT/written" >/dev/null
	echo 'echo changed >written; mkdir made; mv written moved' >"$EXEC"
	is "what a command changed is seen at once" "$(cat "$MNT/moved")" changed
	ok "so is what it made" test -d "$MNT/made"
	fails "and what it moved is gone" test -e "$MNT/written"
	is "the directory is not listed" "$(ls -A "$MNT" | tr '\n' ' ')" "made moved "
	unmount
fi

# ---- A terminal that goes away --------------------------------------------------------------------------

# at_terminal NAME WANTED KIND: as signalled, of a writer that exits and loses its terminal.
at_terminal() {
	ok "$1" as_owner env EXEC="$MNT/.sandbox/exec" STORE="$STORE" python3 "$TOP/tests/mount/exec-terminal.py" "$2" "$3"
}

terminals() {
	mount_sandbox "terminals.$MOUNT_AS"
	at_terminal "a writer that exits gives up when its terminal goes" 'error == "interrupted"' foreground
	at_terminal "not in the background" 'stdout == "done\n" and not error' background
	at_terminal "nor where it ignores HUP" 'stdout == "done\n" and not error' ignores
	at_terminal "nor while the terminal's session goes on" 'stdout == "done\n" and not error' nohup
	unmount
}
[ -z "$OWN_MOUNT" ] || for_each_user terminals
done_testing
