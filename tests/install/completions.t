#!/bin/sh
# What bash, zsh and fish complete: typed into each on a terminal.
# shellcheck source=tests/support/tap.sh disable=SC2016,SC2317
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local
needs python3
SANDBOXCTL=${SANDBOXFS%/*}/sandboxctl

# ---- What sandboxctl knows -----------------------------------------------------------------------

# knows NAME CANDIDATES WORD...: the candidates, with blanks between, and nothing else is said.
knows() {
	knows_name=$1 knows_wanted=$2
	shift 2
	is "$knows_name" "$(deadline "$PATIENCE" "$SANDBOXCTL" --complete "$@" 2>&1 | cut -f 1 | tr '\n' ' ' | sed 's/ $//')" \
		"$knows_wanted"
}

mount_sandbox mine
mkdir -p "$XDG_DATA_HOME/sandboxfs/other"
commands=$("$SANDBOXCTL" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' | tr '\n' ' ')
knows "the commands" "$commands--help --version" sandboxctl ""
knows "those that begin so" list sandboxctl li
knows "providers, which go on" "local: langsmith:" sandboxfs l
knows "providers alone" "local langsmith" sandboxctl list l
is "ids" "$("$SANDBOXCTL" --complete sandboxfs local: | cut -f 1 | sort | tr '\n' ' ')" "local:mine local:other "
knows "an id" "local:other" sandboxctl exec local:o
mkdir -p .ssh empty
printf '%s\n' 'Host web-1 web-2 *.example.org' ' HostName web' 'host = "far"' 'Match host web-9' >.ssh/config
# A program that is asked has two seconds at a time.
knows_hosts() { # WORD CANDIDATES
	[ "$(HOME=$PWD "$SANDBOXCTL" --complete sandboxfs "$1" | cut -f 1 | tr '\n' ' ')" = "$2" ]
}
ok "hosts of ssh, without patterns" wait_until "$PATIENCE" knows_hosts ssh: "ssh:web-1 ssh:web-2 ssh:far "
ok "one of them" wait_until "$PATIENCE" knows_hosts ssh:f "ssh:far "
is "no containers where there is no docker" "$(PATH=$PWD/empty:/nowhere "$SANDBOXCTL" --complete sandboxfs docker: 2>&1)" ""
knows "nothing of what is not known" "" sandboxctl nothing ""
knows "no ids of a provider whose key is not there, nor a complaint" "" sandboxfs e2b:
knows "a command's options" "--json" sandboxctl list --j
knows "an option that has a value" "--key-file=" sandboxctl list --ke
knows "files for it" ":files" sandboxctl list --key-file ""
knows "after it, the command's own" local sandboxctl list --key-file FILE lo
knows "what is copied" ":files" sandboxctl push ""
knows "and where to" "local:other" sandboxctl push FILE local:o
knows "words to choose from" "list export discard" sandboxctl journal ""
knows "a mount for what is about mounts" "$MNT" sandboxctl sync "$SCRATCH/"
knows "mount options" "keep keep_failed" sandboxfs local:x /mnt -o kee
knows "after a comma" "ro,keep ro,keep_failed" mount.fuse.sandboxfs local:x /mnt -o ro,kee
knows "their values" "ro,resume=access ro,resume=never" sandboxfs -o ro,resume=
knows "letters" "-l -f -v -N -h -V -o" umount.fuse.sandboxfs -
knows "a directory for the mount" ":directories" sandboxfs local:x ""
knows "nothing more" "" sandboxfs local:x /mnt ""
knows "mounts" "$MNT" umount.fuse.sandboxfs "$SCRATCH/"

# Somebody who takes a request and says nothing.
python3 -c '
import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(600)' >port &
silent=$!
wait_until "$PATIENCE" test -s port
E2B_API_KEY=e2b_0000000000000000000000000000000000000000 E2B_API_URL=http://127.0.0.1:$(cat port)
export E2B_API_KEY E2B_API_URL
knows "nothing of a server that does not answer, and soon" "" sandboxfs e2b:
unset E2B_API_KEY E2B_API_URL
kill $silent

# ---- In the shells -------------------------------------------------------------------------------

# What is typed is not run, but told.
mkdir bin
cat >bin/sandboxctl <<END
#!/bin/sh
[ "\$1" != --complete ] || exec "$SANDBOXCTL" "\$@"
echo "GOT \$*"
END
chmod +x bin/sandboxctl
for program in sandboxfs umount.fuse.sandboxfs; do
	cp bin/sandboxctl bin/$program
done
mkdir folder
touch keys

COMPLETIONS=$TOP/tools/completions
setup_of() { # SHELL
	case $1 in
	zsh) echo "fpath=($COMPLETIONS \$fpath); autoload -Uz compinit; compinit -u -D" ;;
	*) echo "source $COMPLETIONS/sandboxctl.$1" ;;
	esac
}

types() { # SHELL NAME KEYS WANTED
	is "$1: $2" "$(env PATH="$SCRATCH/bin:$PATH" HOME="$SCRATCH/home" \
		python3 "$TOP/tests/install/typing.py" "$1" "$(setup_of "$1")" "$3")" "$4"
}

for shell in bash zsh fish; do
	if ! command -v $shell >/dev/null; then
		skip "$shell" "it is not installed"
		continue
	fi
	types $shell "a command and a provider" 'sandboxctl li\tloc\t' "list local"
	types $shell "an id" 'sandboxfs local:ot\t' "local:other"
	types $shell "an id of a provider that is completed itself" 'sandboxfs loc\tot\t' "local:other"
	types $shell "an option and its file" 'sandboxctl list --key-f\tke\t' "list --key-file=keys"
	types $shell "an option whose file is a word of its own" 'sandboxctl list --key-file ke\t' "list --key-file keys"
	types $shell "a mount option and its value" 'sandboxfs -o ro,resu\tnev\t' "-o ro,resume=never"
	types $shell "a mount option that is a file" 'sandboxfs -o ro,key_file=ke\t' "-o ro,key_file=keys"
	types $shell "a directory" 'sandboxfs local:other fold\tx' "local:other folder/x"
	types $shell "a mount" "umount.fuse.sandboxfs $SCRATCH/mn\\t" "$MNT"
done

unmount
done_testing
