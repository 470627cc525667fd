#!/bin/sh
# sandboxctl run: a command in the sandbox whose mount one is in.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"
needs_mount
needs python3 make cc

exec </dev/null
mount_sandbox run
cd "$MNT" || exit 1

says "no command" 2 "sandboxctl: run: the command is missing, as in sandboxctl run -- make" ctl run
says "nowhere" 125 "sandboxctl: $SCRATCH: no mount of yours; sandboxctl status tells where they are" \
	sh -c 'cd "$SCRATCH" && "$1" run true' - "$SANDBOXCTL"

# ---- Where and when ------------------------------------------------------------------------------

is "it runs in the sandbox" "$(ctl run 'cat /proc/$$/cmdline | tr "\0" " "; pwd' | grep -c "$MNT")" 0
mkdir -p "sub/deep er"
echo written >"sub/deep er/file"
is "in the directory that one is in, after what was written" "$(cd "sub/deep er" && ctl run -- cat file)" written
is "or in another" "$(cd sub && ctl run -w 'deep er' -- cat file)" written
ctl run 'echo changed >"sub/deep er/file"; mkdir made; mv sub/deep\ er/file moved'
is "what it changed is seen at once" "$(cat moved)" changed
ok "so is what it made" test -d made
fails "and what it moved is gone" test -e "sub/deep er/file"
is "standard input" "$(printf 'a\nb\n' | ctl run -- sort -r | tr '\n' ' ')" "b a "
is "code" "$(ctl run --lang python 'import os; print(os.path.basename(os.getcwd()) != "", 6 * 7)')" "True 42"
ok "which is answered as it comes" deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" lines "$SANDBOXCTL" run
ok "also from a terminal" deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" typed "$SANDBOXCTL" run
is "its streams are apart" "$(ctl run 'echo out; echo err >&2' 2>err; cat err)" "out
err"
for code in 0 3 124 127; do
	ctl run "exit $code"
	is "exit code $code" $? $code
done
says "its time is over" 124 "so far" limited run 'echo so far; sleep 1000'
mkdir here
mv here there
is "a directory with another name by now" "$(cd there && ctl run 'basename "$PWD"')" there

# ---- A project -----------------------------------------------------------------------------------

mkdir project
cd project || exit 1
for name in a b c d; do
	echo "int $name(void) { return 1; }" >$name.c
done
echo 'int a(void), b(void), c(void), d(void); int main(void) { return a() + b() + c() + d(); }' >main.c
printf 'all: program\n\nprogram: main.o a.o b.o c.o d.o\n\tcc -o $@ $^\n\nfails:\n\t@exit 7\n\nwaits: one other\n\none other:\n\tsleep $(SECONDS)\n' >Makefile
ctl run -- make -j2 >said 2>&1
is "make -j2" $? 0
is "says what it does" "$(grep -c '\.o\b' said)" 6
./program
is "what it made is here and runs" $? 4
ctl run -- make fails >said 2>&1
is "a failure is make's own" "$? $(grep -c 'Error 7' said)" "2 1"
echo 'int a(void) { return 5; }' >a.c
is "a change here makes it build again" "$(ctl run -- make 2>&1 | grep -c 'a\.o\b')" 2
is "and again nothing is to be done" "$(ctl run -- make 2>&1 | grep -cE "Nothing to be done|up to date")" 1
is "its output comes as it is printed, and Ctrl-C ends all of it" \
	"$(deadline "$PATIENCE" python3 "$TOP/tests/mount/ctl_input.py" make INT "$SANDBOXCTL" run)" "INT
nothing is left"
is "the mount goes on" "$(cat a.c)" 'int a(void) { return 5; }'
cd "$SCRATCH" || exit 1
unmount

# ---- A dead one ----------------------------------------------------------------------------------

mount_sandbox dead
cd "$MNT" || exit 1
kill -KILL "$DAEMON"
wait_until "$PATIENCE" ended "$DAEMON"
ctl run true >"$SCRATCH/said" 2>&1
is "a dead mount is named, with the way out" \
	"$? $(grep -c "^sandboxctl: $MNT: its process is dead; take it off with" "$SCRATCH/said")" "125 1"
cd "$SCRATCH" || exit 1
done_testing
