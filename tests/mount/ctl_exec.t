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
	says "no sandbox" 2 "sandboxctl: exec: the sandbox is missing, as in sandboxctl exec local:demo -- ls" ctl exec
	says "no command" 2 "sandboxctl: exec: the command is missing, as in sandboxctl exec local:a -- ls" ctl exec local:a
	says "nothing behind --" 2 "sandboxctl: exec: the command is missing, as in sandboxctl exec local:a -- ls" ctl exec local:a --
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
	absent=nothing-of-this-name-0
	# An ID is an address there, and a name without dots one of a private network, which is warned of.
	[ "$PROVIDER" != aio ] || absent=localhost_1
	ctl exec "$PROVIDER:$absent" true >said 2>&1
	is "a sandbox that is not there is sandboxctl's own failure" $? 125
	is "which takes one line" "$(grep -c '^sandboxctl: ' said) $(wc -l <said)" "1 1"
fi

# ---- What it hands on ----------------------------------------------------------------------------

is "one word is shell text" "$(ctl exec "$SOURCE" -- 'x=1; echo $x | tr 1 2')" 2
is "several are a program and its arguments" \
	"$(ctl exec "$SOURCE" -- printf '%s|' 'a b' "c'd" '$e' '' '*' '-n')" "a b|c'd|\$e||*|-n|"
is "its options are its own" "$(ctl exec "$SOURCE" printf %s --json)" --json
is "standard output and standard error are apart" \
	"$(ctl exec "$SOURCE" 'echo out; echo err >&2' 2>err) $(cat err)" "out err"
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

# ---- Code ----------------------------------------------------------------------------------------

code='import sys, os
print(sys.argv[1:], os.path.basename(os.getcwd()))
sys.exit(3)'
is "code of Python" "$(ctl exec --lang python -w sub "$SOURCE" "$code" 'a b' "c'd"; echo $?)" "['a b', \"c'd\"] sub
3"
printf '%s\n' "$code" >code.py
is "code in a file" "$(ctl exec --lang=python --file code.py -w sub "$SOURCE" one; echo $?)" "['one'] sub
3"
is "code of standard input" "$(ctl exec --lang python "$SOURCE" <code.py >said; echo $?; sed 's/ .*//' said)" "3
[]"
if ctl exec "$SOURCE" 'command -v node' >/dev/null; then
	is "code of Node.js" "$(ctl exec --lang node "$SOURCE" 'console.log(process.argv.slice(1).join("-"))' a 'b c')" "a-b c"
fi
is "a shell's" "$(ctl exec --lang shell "$SOURCE" 'for x; do echo "<$x>"; done' 'a b' c)" "<a b>
<c>"
is "its result as JSON" \
	"$(ctl exec --json --lang python "$SOURCE" 'import sys; print("out"); print("err", file=sys.stderr); sys.exit(7)' |
		python3 -c 'import json, sys; r = json.load(sys.stdin); print(repr(r["output"]), r["exit_code"], r["truncated"])')" \
	"'out\n\nerr\n' 7 False"
ctl exec --json "$SOURCE" 'exit 4' >/dev/null
is "which ends as the command did" $? 4

# On a busy machine a command may not have begun when a short time is over.
took_too_long() {
	for limit in 0.5 10 100; do
		said=$(ctl exec --json -t $limit "$SOURCE" 'echo so far; sleep 1000' |
			python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["output"].strip(), r["timed_out"])')
		[ "$said" = " True" ] || break
	done
	echo "$said"
}

is "of a command that took too long" "$(took_too_long)" "so far True"
says "an interpreter that is not there" 127 \
	"sandboxctl: the sandbox has no Python: python3 python are not in its PATH" \
	ctl exec -e PATH=/nowhere --shell /bin/sh --lang python "$SOURCE" 'print(1)'
says "a language that nobody knows" 125 "sandboxctl: option '--lang=cobol': use one of python|node|shell" \
	ctl exec --lang cobol "$SOURCE" x
says "a file without a language" 125 "sandboxctl: --file goes with --lang=python|node|shell" \
	ctl exec --file code.py "$SOURCE" x
says "a file that is not there" 125 "sandboxctl: --file nowhere: no such file or directory" \
	ctl exec --lang python --file nowhere "$SOURCE"
python3 -c 'print("#" * 200000)' >long.py
says "code that is too long" 125 "sandboxctl: the code has more than 131071 bytes; push it as a file and run that" \
	ctl exec --lang python --file long.py "$SOURCE"

# ---- Sessions ------------------------------------------------------------------------------------

in_session() { # ARGUMENTS
	ctl exec --session work "$@"
}
for shell in bash sh; do
	modes="700 700 600 600 "
	is "no session yet" "$(ctl session list "$SOURCE")" ""
	in_session --shell $shell "$SOURCE" "mkdir -p \"it's a dir\" && cd \"it's a dir\"; A='one
two'; export B=\"quoted 'x'\"; readonly R=1; umask 022; exit 3"
	is "a session's command ends as it did ($shell)" $? 3
	is "the next begins where it ended ($shell)" \
		"$(in_session --shell $shell "$SOURCE" 'basename "$PWD"; echo "$A|$B"; env | grep ^B=')" "it's a dir
one
two|quoted 'x'
B=quoted 'x'"
	is "also after a cd ($shell)" "$(in_session --shell $shell "$SOURCE" 'cd ..; unset A' && in_session --shell $shell "$SOURCE" 'ls -d it*; echo "<$A>"')" "it's a dir
<>"
	is "other sessions have their own ($shell)" "$(ctl exec --session other --shell $shell "$SOURCE" 'echo "<$B>"')" "<>"
	is "they are listed ($shell)" "$(ctl session list "$SOURCE" | tr '\n' ' ')" "other work "
	is "also as JSON ($shell)" "$(ctl session list --json "$SOURCE" | python3 -c 'import json, sys; print(json.load(sys.stdin))')" \
		"['other', 'work']"
	is "for their user alone ($shell)" "$(ctl exec "$SOURCE" 'cd ~/.local/state/sandboxfs/sessions && stat -c %a . work work/*' | tr '\n' ' ')" "$modes"
	ok "one is ended ($shell)" ctl session end "$SOURCE" work
	is "and begins anew ($shell)" "$(in_session --shell $shell "$SOURCE" 'echo "<$B>"')" "<>"
	ctl session end "$SOURCE" work
	ctl session end "$SOURCE" other
done
in_session "$SOURCE" 'IFS=,; EPOCHS=10 OPTS=o FUNC=f A=1; text=$(printf "a\nPWD=x"); cd() { command cd "$1" && ls; }' >/dev/null
is "a session of bash keeps all that is its user's" "$(in_session "$SOURCE" 'echo "$EPOCHS $OPTS $FUNC $A $text"')" "10 o f 1 a
PWD=x"
is "of one command alone is what it is given" "$(in_session -e A=2 "$SOURCE" 'echo $A'; in_session "$SOURCE" 'echo $A')" "2
1"
in_session "$SOURCE" 'A=3; kill -TERM $$'
is "one that a signal ends leaves the session as it was" "$? $(in_session "$SOURCE" 'echo $A')" "143 1"
is "another shell has the directory" "$(in_session "$SOURCE" 'command cd /tmp'; in_session --shell sh "$SOURCE" pwd)" /tmp
in_session --shell sh "$SOURCE" 'x=$(printf "a\nPWD=x"); y=1'
is "a session of sh keeps lines that look like others" "$(in_session --shell sh "$SOURCE" 'echo "$x $y"')" "a
PWD=x 1"
in_session "$SOURCE" 'mkdir -p ~/gone && command cd ~/gone && rmdir ~/gone'
is "a directory that is gone is told" "$(in_session "$SOURCE" 'echo on' 2>&1 >/dev/null)" \
	"sandboxfs: the directory of the session is gone"
ctl session end "$SOURCE" work
is "code has a session's directory" "$(in_session "$SOURCE" "cd \"it's a dir\"; export C=1"; in_session --lang python "$SOURCE" \
	'import os; print(os.path.basename(os.getcwd()), os.environ["C"])')" "it's a dir 1"
ctl session end "$SOURCE" work
says "one that is not there cannot be ended" 1 \
	"sandboxctl: $SOURCE: no session 'work'; sandboxctl session list $SOURCE shows those there are" ctl session end "$SOURCE" work
says "no name of a session" 2 \
	"sandboxctl: exec: option '--session=a/b': a name of letters, digits, '-', '_' and '.', as in --session=build" \
	ctl exec --session a/b "$SOURCE" true

# ---- Input ---------------------------------------------------------------------------------------

is "standard input" "$(printf 'a\0b' | ctl exec "$SOURCE" cat | od -An -c | tr -d ' ')" 'a\0b'
head -c 3000000 /dev/urandom >bytes
is "3 MB there and back" "$(ctl exec "$SOURCE" cat <bytes | cksum)" "$(cksum <bytes)"
is "none" "$(ctl exec "$SOURCE" cat </dev/null)" ""
is "closed" "$(ctl exec "$SOURCE" 'cat; echo ran' <&-)" ran

# ---- Input while it runs ---------------------------------------------------------------------------

# talks NAME: one of tests/mount/ctl_input.py, with what is given it.
talks() {
	deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" "$@" "$SANDBOXCTL" exec "$SOURCE"
}
ok "what comes later is answered at once" talks lines
ok "also what never stops coming" talks steady
ok "a command that needs no input does not wait for it" talks unneeded
ok "nor does one wait that has had enough of it" talks enough
ok "a terminal's lines come as they are typed" talks typed
ok "in the background nothing is stopped by a terminal" talks background
is "any byte may come" "$({ wait_until "$PATIENCE" test -e begun; printf 'a\0b'; } |
	ctl exec "$SOURCE" 'echo begun; od -An -c' | while read -r line; do
		touch begun
		printf '%s\n' "$line"
	done | tr -d ' ')" 'begun
a\0b'
is "variables are the command's" "$({ wait_until "$PATIENCE" test -s told; } | ctl exec -e base=1 -e dir=2 -e mask=3 "$SOURCE" \
	'echo "$base,$dir,$mask"' | tee told)" "1,2,3"
is "exit codes are the command's" "$(for end in 'exit 0' 'exit 7' 'kill -KILL $$' 'kill -TERM $$'; do
	talks status "$end"
done | tr '\n' ' ')" "0 7 137 143 "
mkfifo named
is "a named pipe" "$(printf word >named & ctl exec "$SOURCE" cat <named)" word
head -c 20000000 /dev/urandom >bytes
is "more than one call carries" "$(cat bytes | ctl exec "$SOURCE" cat | cksum)" "$(cksum <bytes)"
is "also of a file" "$(ctl exec "$SOURCE" cat <bytes | cksum)" "$(cksum <bytes)"
if [ "$PROVIDER" = local ]; then
	ok "in constant memory" talks much
fi
ok "a directory is no input" sh -c '"$1" exec "$2" cat <. 2>&1 | grep -q "^sandboxctl: standard input: "' - "$SANDBOXCTL" "$SOURCE"

# ---- Time ----------------------------------------------------------------------------------------

# ended_by SIGNAL [INPUT]: how it ended, and what of the command is left in the sandbox, soon.
ended_by() {
	deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" ended "$1" "${2:-none}" "$SANDBOXCTL" exec "$SOURCE"
}
for name in INT TERM HUP; do
	is "$name ends it, and what it started" "$(ended_by $name)" "$name
nothing is left"
done
is "also while it has input" "$(ended_by INT open)" "INT
nothing is left"
nothing_stays() {
	[ -z "$(find "$SCRATCH" -name 'fed-*')" ]
}
ok "no pipe stays" wait_until "$PATIENCE" nothing_stays
says "its time is over" 124 "so far" limited exec "$SOURCE" 'echo so far; sleep 1000'
is "also while its input is not" \
	"$(deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" status 'sleep 1000' "$SANDBOXCTL" exec --timeout 1 "$SOURCE")" 124
is "and its command ignores that" "$(deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" status \
	'trap "" TERM; sleep 1000; sleep 1000' "$SANDBOXCTL" exec --timeout 1 "$SOURCE")" 124
ok "no pipe stays then" wait_until "$PATIENCE" nothing_stays
ok "output comes as it is printed" python3 -c '
import subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
assert p.stdout.readline() == b"first\n"
p.terminate()
sys.exit(0 if p.wait(60) else 1)' "$SANDBOXCTL" exec "$SOURCE" 'echo first; sleep 1000'
is "whoever reads a part of it ends it" "$(ctl exec "$SOURCE" yes | head -n 1)" y
done_testing
