#!/bin/sh
# Commands in the background, through .sandbox/spawn and .sandbox/jobs.
# shellcheck disable=SC2012,SC2016
. "${0%/*}/../support/tap.sh"
needs_mount
needs python3 bash

mount_sandbox jobs
SPAWN=$MNT/.sandbox/spawn
JOBS=$MNT/.sandbox/jobs
export SPAWN JOBS

spawn() { # COMMAND: prints the job's number
	printf '%s' "$1" >"$SPAWN" && cat "$SPAWN"
}

field() { # JOB NAME
	field_of "$2" <"$JOBS/$1/status"
}

has_state() { # JOB STATE
	[ "$(field "$1" state)" = "$2" ]
}

job_ended() { # JOB
	wait_until "$PATIENCE" has_state "$1" exited
}

prints() { # JOB TEXT
	[ "$(cat "$JOBS/$1/output")" = "$2" ]
}

# ---- A job ------------------------------------------------------------------------------------------

is "before any there is none" "$(ls "$JOBS"; cat "$SPAWN")" ""
is "the first is number 1" "$(spawn 'echo out; echo err >&2; exit 3')" 1
ok "it ends" job_ended 1
is "its output is both streams" "$(cat "$JOBS/1/output")" "out
err"
is "which has its true size" "$(stat -c %s "$JOBS/1/output")" 8
is "its exit code is kept" "$(field 1 exit_code)" 3
is "its command, too" "$(field 1 command)" 'echo out; echo err >&2; exit 3'
is "and how much it printed" "$(field 1 output_bytes)" 8
ok "it has a process and times" sh -c 'python3 -c "
import json, os
s = json.load(open(os.environ[\"JOBS\"] + \"/1/status\"))
assert s[\"pid\"] > 0 and s[\"error\"] is None and s[\"started\"] <= s[\"ended\"], s"'
is "it is listed" "$(ls "$JOBS"; ls "$JOBS/1" | tr '\n' ' ')" "1
kill output status stdin "
is "only the owner sees its output" "$(stat -c %a "$JOBS/1/output" "$JOBS/1/stdin" "$JOBS/1/kill" | tr '\n' ' ')" "400 200 200 "
fails "another one is not there" stat "$JOBS/2"
is "none can be made" "$(mkdir "$JOBS/2" 2>&1 | grep -c 'Operation not permitted')" 1
fails "nor removed" rm -rf "$JOBS/1"
is "it runs in the root of the mount" "$(spawn 'pwd >here; cat given'; job_ended 2; cat "$MNT/here")" \
	"2
$(printf pwd >"$MNT/.sandbox/exec"; python3 -c 'import json, sys; print(json.load(sys.stdin)["output"], end="")' <"$MNT/.sandbox/exec")"

# ---- Before and after -------------------------------------------------------------------------------

echo sent >"$MNT/given"
is "it sees what was written before" "$(job=$(spawn 'cat given'); job_ended "$job"; cat "$JOBS/$job/output")" sent
is "what it wrote is seen after its end" "$(cat "$MNT/given"; job=$(spawn 'echo changed >given'); job_ended "$job"; cat "$MNT/given")" \
	"sent
changed"

# ---- Output that grows, input, signals --------------------------------------------------------------

job=$(spawn 'while read -r line; do echo "<$line>"; done; echo end')
is "one runs" "$(field "$job" state) $(field "$job" exit_code) $(field "$job" ended)" "running null null"
tail -c +1 -f "$JOBS/$job/output" >"$SCRATCH/tail" &
tail=$!
shows() {
	[ "$(cat "$SCRATCH/tail")" = "$1" ]
}
echo one >>"$JOBS/$job/stdin"
ok "appended, input goes on" wait_until "$PATIENCE" prints "$job" "<one>"
ok "tail -f shows it" wait_until "$PATIENCE" shows "<one>"
printf 'two\nthree' >"$JOBS/$job/stdin"
ok "written whole, it ends" job_ended "$job"
is "all of it arrived" "$(cat "$JOBS/$job/output")" "<one>
<two>
end"
ok "tail -f ends up with everything" wait_until "$PATIENCE" shows "<one>
<two>
end"
kill "$tail"

# A program that reads to the end before it shows anything would never come to it.
job=$(spawn 'while :; do echo line; sleep 0.001; done')
ok "a job prints without an end" wait_until "$PATIENCE" test -s "$JOBS/$job/output"
cat >reader.py <<-'END'
	import os, sys, time

	end = time.monotonic() + int(sys.argv[2])
	file = os.open(sys.argv[1], os.O_RDONLY)
	said = os.read(file, 1 << 20)
	assert said, "there is something"
	got = len(said)
	for _ in range(100):
	    assert os.fstat(file).st_size >= got, "all that was read counts"
	    more = os.read(file, 1 << 20)
	    got += len(more)
	    if not more:
	        break
	assert not more, "and an end"
	while not more and time.monotonic() < end:
	    more = os.read(file, 1 << 20)
	assert more, "and more behind it"
	os.write(1, b"both")
END
# As tail(1) looks where to read to.
cat >follower.py <<-'END'
	import os, sys

	file = os.open(sys.argv[1], os.O_RDONLY)
	got = 0
	for _ in range(100):
	    left = os.fstat(file).st_size - got
	    if got and not left:
	        os.write(1, b"all of it")
	        break
	    got += len(os.read(file, left))
END
is "who asks for the size comes to an end" "$(python3 follower.py "$JOBS/$job/output")" "all of it"
is "who reads comes to an end, and goes on there" "$(python3 reader.py "$JOBS/$job/output" "$PATIENCE")" both
echo KILL >"$JOBS/$job/kill"
is "input after the end breaks" "$(bash -c 'echo more >>"$JOBS/'"$job"'/stdin"' 2>&1 | grep -c 'Broken pipe')" 1

job=$(spawn 'cat; : >read; while [ -e read ]; do sleep 0.1; done')
echo all >"$JOBS/$job/stdin"
ok "one that has read all of its input runs on" wait_until "$PATIENCE" test -e "$STORE/read"
is "and takes no more" "$(bash -c 'echo more >>"$JOBS/'"$job"'/stdin"' 2>&1 | grep -c 'Broken pipe')" 1
rm "$STORE/read"
ok "it ends" job_ended "$job"
is "what it read is what came before the end" "$(cat "$JOBS/$job/output")" all

job=$(spawn 'trap "echo caught; exit 7" USR1; echo ready; while :; do sleep 0.1; done')
ok "another one is ready" wait_until "$PATIENCE" prints "$job" ready
echo SIGUSR1 >"$JOBS/$job/kill"
ok "a signal ends it" job_ended "$job"
is "as it wants" "$(field "$job" exit_code; tail -n 1 "$JOBS/$job/output")" "7
caught"
job=$(spawn 'sh -c "sleep 1000; :"; echo not reached')
echo 15 >"$JOBS/$job/kill"
ok "a number is a signal, too" job_ended "$job"
is "and gets to all that it started" "$(field "$job" exit_code; cat "$JOBS/$job/output")" 143
fails "one that is no signal is refused" sh -c 'echo NONSENSE >"$JOBS/'"$job"'/kill"'
is "after the end there is nobody to kill" "$(bash -c 'echo TERM >"$JOBS/'"$job"'/kill"' 2>&1 | grep -c 'No such process')" 1
job=$(spawn 'wc -c')
head -c 300000 /dev/zero >"$JOBS/$job/stdin"
ok "more input than a pipe holds gets through" job_ended "$job"
is "all of it" "$(cat "$JOBS/$job/output")" 300000
job=$(spawn 'head -c 3000000 /dev/zero | tr "\0" x')
ok "a long output" job_ended "$job"
is "has all its bytes" "$(wc -c <"$JOBS/$job/output") $(tr -d x <"$JOBS/$job/output" | wc -c)" "3000000 0"

# ---- Spawning ---------------------------------------------------------------------------------------

fails "what is blank is no command" python3 -c 'import os; f = open(os.environ["SPAWN"], "w"); f.write("\n"); f.close()'
is "a handle reads its own job" "$(bash -c 'exec 3<>"$SPAWN"; echo "echo mine" >&3; echo true >"$SPAWN"; cat <&3')" "$((job + 1))"
is "two run at once" "$(a=$(spawn 'sleep 1000'); b=$(spawn 'echo quick'); job_ended "$b"; field "$a" state; echo KILL >"$JOBS/$a/kill"; job_ended "$a"; field "$a" exit_code)" "running
137"
is "a long command runs" "$(job=$(spawn "$(printf 'echo %s | wc -c' "$(head -c 200000 /dev/zero | tr '\0' x)")"); job_ended "$job"; cat "$JOBS/$job/output")" 200001

# ---- What is known meanwhile -------------------------------------------------------------------------

# What is known holds for an hour here: only the end of the job says that names have moved.
unmount
mount_sandbox jobs attr_timeout=3600,entry_timeout=3600
mkdir "$MNT/one" "$MNT/two"
echo text | tee "$MNT/one/file" "$MNT/file" >/dev/null
echo other >"$MNT/kept"

names() {
	for name in file one/file two/file moved kept; do
		echo "$name: $(cat "$MNT/$name" 2>/dev/null)"
	done
	ls "$MNT/one" "$MNT/two" | grep file
}

job=$(spawn 'read -r line && mv file moved && mv one/file two/file && echo more >>kept')
before=$(names)
is "before its end all is where it was" "$before" "file: text
one/file: text
two/file: 
moved: 
kept: other
file"
(cd "$MNT/two" && echo >>"$JOBS/$job/stdin" && job_ended "$job" && cat file) >"$SCRATCH/there" 2>&1
is "when its status says exited, names that it moved are right" "$(names)" "file: 
one/file: 
two/file: text
moved: text
kept: other
more
file"
is "also in a directory that one works in" "$(cat "$SCRATCH/there")" text
settle
stat "$MNT/kept" >/dev/null
echo theirs >>"$STORE/kept"
settle
is "after .sandbox/sync what others wrote is seen" "$(stat -c %s "$MNT/kept"; tail -n 1 "$MNT/kept")" "18
theirs"
rm -r "$MNT/one" "$MNT/two" "$MNT/moved" "$MNT/kept"
unmount
mount_sandbox jobs

# ---- Its end ------------------------------------------------------------------------------------------

job=$(spawn 'echo ready; while [ ! -e go ]; do sleep 0.1; done; echo gone on >result')
ok "one runs to the end" wait_until "$PATIENCE" prints "$job" ready
unmount
if [ "$PROVIDER" != local ]; then
	mount_sandbox jobs
	is "another mount has jobs of its own" "$(ls "$JOBS")" ""
	: >"$MNT/go"
	ok "what an earlier one began goes on" wait_until "$PATIENCE" grep -q 'gone on' "$MNT/result"
	unmount
fi
done_testing
