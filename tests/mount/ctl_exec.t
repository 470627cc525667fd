#!/bin/sh
# sandboxctl exec: a command in a sandbox as if it ran here.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs python3

a_sandbox exec
exec </dev/null

# ---- How it is called ----------------------------------------------------------------------------

if [ "$PROVIDER" = local ]; then
	says "no sandbox" 2 "sandboxctl: exec: the sandbox is missing, as in exec local:demo -- ls" ctl exec
	says "no command" 2 "sandboxctl: exec: the command is missing, as in exec local:a -- ls" ctl exec local:a
	says "nothing behind --" 2 "sandboxctl: exec: the command is missing, as in exec local:a -- ls" ctl exec local:a --
	says "no variable" 2 \
		"sandboxctl: exec: option '--env=LANG': a variable's name is of letters, digits and _, as in --env=NAME=VALUE" ctl exec -e LANG local:a true
	says "no number" 2 "sandboxctl: exec: option '--timeout=soon': SECONDS is a number of seconds, as in --timeout=1.5" \
		ctl exec --timeout soon local:a true
	says "an unknown provider is sandboxctl's own failure" 125 \
		"sandboxctl: 'nowhere:a': unknown provider 'nowhere'; known: $("$SANDBOXCTL" --help | sed -n 's/.*Providers: //p')" \
		ctl exec nowhere:a true
	says "no id" 125 "sandboxctl: 'local:': the id is missing; sandboxctl list local shows those there are" \
		ctl exec local: true
else
	ctl exec "$PROVIDER:nothing-of-this-name-0" true >said 2>&1
	is "a sandbox that is not there is sandboxctl's own failure" $? 125
	is "which takes one line" "$(grep -c '^sandboxctl: ' said) $(wc -l <said)" "1 1"
fi

# ---- What it hands on ----------------------------------------------------------------------------

is "one word is shell text" "$(ctl exec "$SOURCE" -- 'x=1; echo $x | tr 1 2')" 2
is "several are a program and its arguments" \
	"$(ctl exec "$SOURCE" -- printf '%s|' 'a b' "c'd" '$e' '' '*' '-n')" "a b|c'd|\$e||*|-n|"
is "its options are its own" "$(ctl exec "$SOURCE" printf %s --json)" --json
is "standard output and standard error are apart" \
	"$(ctl exec "$SOURCE" 'echo out; echo err >&2' 2>err; cat err)" "out
err"
is "or together" "$(ctl exec --merge "$SOURCE" 'echo out; echo err >&2' 2>/dev/null)" "out
err"
for code in 0 1 7 124 126 127; do
	ctl exec "$SOURCE" "exit $code"
	is "exit code $code" $? $code
done
ctl exec "$SOURCE" 'kill -KILL $$'
is "killed by a signal" $? 137
ctl exec "$SOURCE" /nothing/here 2>/dev/null
is "no such program" $? 127
is "a variable" "$(ctl exec -e 'A=1 2' --env B= "$SOURCE" 'echo "$A,$B"')" "1 2,"
ok "directories" ctl exec "$SOURCE" 'mkdir -p sub/deep'
is "a directory of the working directory" "$(ctl exec -w sub "$SOURCE" 'cd deep && basename "$(cd .. && pwd)"')" sub
is "an absolute one" "$(ctl exec -w /tmp "$SOURCE" pwd)" /tmp
is "one of the source" "$(ctl exec "$SOURCE:sub" ls)" deep
says "one that is not there" 125 "sandboxctl: it's not: no such directory in the sandbox" ctl exec -w "it's not" "$SOURCE" pwd

# ---- Input ---------------------------------------------------------------------------------------

is "standard input" "$(printf 'a\0b' | ctl exec "$SOURCE" cat | od -An -c | tr -d ' ')" 'a\0b'
head -c 3000000 /dev/urandom >bytes
is "3 MB there and back" "$(ctl exec "$SOURCE" cat <bytes | cksum)" "$(cksum <bytes)"
is "none" "$(ctl exec "$SOURCE" cat </dev/null)" ""
is "closed" "$(ctl exec "$SOURCE" 'cat; echo ran' <&-)" ran

# ---- Time ----------------------------------------------------------------------------------------

# Whoever runs the tests may ignore some signals. told_by SIGNAL: how it ended, within how many seconds, and what of the
# command is left in the sandbox.
ended_by() {
	python3 - "$SANDBOXCTL" "$SOURCE" "$1" <<'END'
import os, signal, subprocess, sys, time
program, source, name = sys.argv[1:]
def defaults():
    for other in ("HUP", "INT", "TERM"):
        signal.signal(getattr(signal, "SIG" + other), signal.SIG_DFL)
command = "echo $$; trap '' HUP INT; sleep 4711 & sleep 4711; wait"
p = subprocess.Popen([program, "exec", source, command], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, preexec_fn=defaults)
p.stdout.readline()
p.send_signal(getattr(signal, "SIG" + name))
begin = time.monotonic()
p.wait(120)
print(-p.returncode == getattr(signal, "SIG" + name))
left = subprocess.run(["pgrep", "-fx", "sleep 4711"], stdout=subprocess.PIPE).stdout
while left and time.monotonic() - begin < 60:
    time.sleep(0.05)
    left = subprocess.run(["pgrep", "-fx", "sleep 4711"], stdout=subprocess.PIPE).stdout
print("nothing is left" if not left else "left: %r" % left)
END
}
for name in INT TERM HUP; do
	is "$name ends it, and what it started" "$(ended_by $name)" "True
nothing is left"
done
says "its time is over" 124 "so far" ctl exec --timeout 1 "$SOURCE" 'echo so far; sleep 100'
ok "output comes as it is printed" python3 -c '
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
assert p.stdout.readline() == b"first\n"
p.terminate()
sys.exit(0 if p.wait(60) else 1)' "$SANDBOXCTL" exec "$SOURCE" 'echo first; sleep 1000'
is "whoever reads a part of it ends it" "$(ctl exec "$SOURCE" yes | head -n 1)" y
done_testing
