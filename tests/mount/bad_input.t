#!/bin/sh
# What is wrong with a call is said in one line that names the thing and the way out, with mount(8)'s exit status, and
# nothing is left mounted.

# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"

needs_mount
needs_local

mounted() {
	cut -d ' ' -f 2 /proc/self/mounts | grep -F "$SCRATCH/"
}

# says NAME STATUS LINE COMMAND...: the command fails with that status; LINE is all that it says, and it says it on stderr.
says() {
	name=$1 status=$2 line=$3
	shift 3
	"$@" >out 2>err </dev/null
	got=$?
	is "$name: exit status" $got "$status"
	is "$name: the line" "$(cat err)" "$line"
	is "$name: nothing on stdout" "$(cat out)" ""
	is "$name: nothing is mounted" "$(mounted)" ""
	for left in $(mounted); do
		umount -i -l "$left" 2>/dev/null || fusermount3 -uz "$left"
	done
}

refused() { # NAME STATUS LINE ARGUMENT...
	what=$1 with=$2 saying=$3
	shift 3
	says "$what" "$with" "sandboxfs: $saying" "$SANDBOXFS" "$@"
}

# Runs a script as root in a mount namespace of its own, where the devices and files of the system can be covered.
# There every user may open /dev/fuse, as on most systems.
# shellcheck disable=SC2016
apart() { # SCRIPT ARGUMENT...
	"$TOP/tests/support/apart" sh -c '
		mount -t tmpfs -o mode=755 none "$SCRATCH/cover" &&
			mknod "$SCRATCH/cover/fuse" c 10 229 && chmod 666 "$SCRATCH/cover/fuse" &&
			mount --bind "$SCRATCH/cover/fuse" /dev/fuse || exit 99
		umount -l "$SCRATCH/cover"
		as_user() {
			setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all "$@"
		}
		'"$1" apart "$SANDBOXFS" "$@"
}
export TEST_UID

mkdir empty full cover own
[ "$(id -u)" -ne 0 ] || chown "$TEST_UID:$TEST_UID" own
touch full/file file
FORM='a source is PROVIDER:[ID][:PATH], as in local:demo'

# ---- The words -----------------------------------------------------------------------------------

refused "no source" 1 \
	"the source is missing: sandboxfs SOURCE DIRECTORY [-o OPTIONS], as in sandboxfs local:demo /mnt; see --help"
refused "no directory" 1 \
	"the directory to mount on is missing: sandboxfs SOURCE DIRECTORY [-o OPTIONS], as in sandboxfs local:demo /mnt; see --help" \
	local:x
refused "a word too many" 1 "'more': one word too many after SOURCE and DIRECTORY; see --help" local:x empty more
refused "an unknown option" 1 "unknown option 'allow_othr'; did you mean 'allow_other'? --help lists those there are" \
	local:x empty -o ro,allow_othr
refused "an option like no other" 1 "unknown option 'xyzzyplugh'; --help lists those there are" \
	local:x empty -o xyzzyplugh
refused "a value that is none" 1 \
	"option 'attr_timeout=soon': SECONDS is a number of seconds, as in attr_timeout=1.5" \
	-o attr_timeout=soon local:x empty
refused "a word that is no choice" 1 "option 'symlinks=follow': use one of rewrite|refuse|raw" \
	-o symlinks=follow local:x empty
refused "an unknown log component" 1 \
	"log 'nothing=debug': use error, warn, info or debug, alone or as COMPONENT=LEVEL (tools, fs, control, cache, lease, write, provider, helper, http)" \
	-o log=nothing=debug local:x empty

refused "a template for a sandbox that is there" 1 \
	"option 'template=': local:made exists already; leave one of the two out" local:made empty -f -o template=base
for asked in template=base env=A=b label=team=red name=box gpu=T4 region=eu idle=60 delete_after=60 lifetime=60; do
	refused "$asked for a new embedded sandbox" 32 \
		"local: a new sandbox cannot be given '${asked%%=*}='; leave it out" local: empty -f -o "$asked"
done
refused "a list of hosts for a new embedded sandbox" 32 \
	"local: a new sandbox cannot be given 'allow='; leave it out" local: empty -f -o allow=pypi.org
refused "two networks" 1 "local: 'block_network' and 'network=host': one of them" \
	local: empty -f -o block_network,network=host
refused "a number of processes that no command needs so few of" 1 "option 'pids=7': NUMBER is 8 to 4194304" \
	local: empty -o pids=7
refused "a variable and a GPU for a sandbox that is there" 1 \
	"option 'env=, gpu=': local:made exists already; leave one of the two out" local:made empty -f -o gpu=T4,env=A=b
refused "a lifetime for the embedded sandbox" 32 \
	"local: its sandboxes cannot be given 'lifetime='; leave it out" local:made empty -f -o lifetime=60
refused "a variable without a value" 1 \
	"option 'env=A': a variable's name is of letters, digits and _, as in env=NAME=VALUE" local: empty -o env=A
refused "a label without a value" 1 "option 'label=red': use label=KEY=VALUE" local: empty -o label=red
refused "a size without a unit" 1 "option 'memory=512': SIZE is a number with K, M or G behind it, as in memory=512M" \
	local: empty -o memory=512
refused "no processors" 1 "option 'cpus=0': NUMBER is a number of processors, as in cpus=0.5" local: empty -o cpus=0

# ---- The source ----------------------------------------------------------------------------------

known=$("$SANDBOXFS" --help | sed -n '/^Providers:$/{n;s/^ *//p;}')
refused "an unknown provider" 1 "'nobody:x': unknown provider 'nobody'; known: $known" nobody:x empty
refused "no colon" 1 "'demo': $FORM" demo empty
refused "no provider" 1 "':demo': $FORM; SANDBOX_PROVIDER is not set" :demo empty
refused "an id that leads out" 1 \
	"'local:../x': an id is letters, digits, '.', '_' and '-', starting with none of '.' and '-'" local:../x empty
refused "an empty path" 1 \
	"'local:x:': no path after the second colon; leave the colon out for the working directory" local:x: empty
refused "a path that leads out" 1 "'local:x:/a/../..': '..' in the path; name the directory itself" \
	local:x:/a/../.. empty
refused "a terminal escape in the source" 1 "'?[31mx': $FORM" "$(printf '\033[31mx')" empty

# ---- The mount point -----------------------------------------------------------------------------

refused "a mount point that is missing" 32 "$SCRATCH/none: no such directory; make it with: mkdir -p $SCRATCH/none" \
	local:x "$SCRATCH/none"
refused "a file" 32 "$SCRATCH/file: not a directory; mount on one, made with mkdir" local:x file
refused "below a file" 32 "file/dir: not a directory; mount on one, made with mkdir" local:x file/dir
refused "a directory that is not empty" 32 \
	"$SCRATCH/full: not empty; choose an empty directory, or hide what is in it with -o nonempty" local:x full
refused "a mount point that is one already" 32 \
	"/proc: already a mount point; unmount it ($(
		[ "$(id -u)" -eq 0 ] && echo umount || echo fusermount3 -u
	) /proc), or mount over it with -o nonempty" local:x /proc

# ---- The key file --------------------------------------------------------------------------------

echo secret >key
chmod 644 key
refused "a key file that others can read" 1 \
	"key_file $SCRATCH/key: mode 0644 lets others at the key; chmod 600 $SCRATCH/key" local:x empty -o key_file=key
refused "a key file that is missing" 1 \
	"key_file nokey: No such file or directory; put the key into a file of mode 0600" local:x empty -o key_file=nokey
refused "a key file that is none" 1 "key_file /dev/null: not a regular file" local:x empty -o key_file=/dev/null

# ---- What the sandbox refuses --------------------------------------------------------------------

"$SANDBOXFS" local:x:/home/user/none empty >out 2>err
is "a directory that the sandbox does not have: exit status" $? 32
is "and one line" "$(wc -l <err)" 1

# ---- The system ----------------------------------------------------------------------------------

if [ "$(id -u)" -ne 0 ] || ! apart : 2>/dev/null; then
	skip "what the system lacks" "needs root and mount namespaces"
	done_testing
fi

no_fuse='no /dev/fuse; load the kernel'"'"'s module as root: modprobe fuse (in a container: --device /dev/fuse --cap-add SYS_ADMIN)'
says "no /dev/fuse" 32 "sandboxfs: $no_fuse" \
	apart 'mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && exec "$1" local:x empty'
says "a /dev/fuse that is closed to us" 1 \
	"sandboxfs: /dev/fuse: permission denied; let everyone in as root: chmod 666 /dev/fuse" \
	apart 'chmod 600 /dev/fuse && as_user "$1" local:x own'

says "a directory of somebody else" 1 \
	"sandboxfs: $SCRATCH/empty: you may not mount on it, since you may not change it; choose a directory of your own" \
	apart 'as_user "$1" local:x empty'
says "a sticky directory of somebody else" 1 \
	"sandboxfs: $SCRATCH/home: you may not mount on it, since you may not change it; choose a directory of your own" \
	apart 'as_user "$1" local:x home'
says "no fusermount3" 32 \
	"sandboxfs: no fusermount3, which mounts for ordinary users; as root: apt install fuse3" \
	apart 'mount --bind /dev/null "$(command -v fusermount3)" && as_user "$1" local:x own'
for option in allow_other allow_root; do
	says "$option without user_allow_other" 1 \
		"sandboxfs: option '$option': not for ordinary users here; root can allow it with a line user_allow_other in /etc/fuse.conf" \
		apart 'echo "# user_allow_other" >fuse.conf && mount --bind fuse.conf /etc/fuse.conf &&
			as_user "$1" local:x own -o '$option
done

# A warning only: files work without it.
says "no bubblewrap" 7 \
	"sandboxfs: tools: warn: no bubblewrap (bwrap): files work, commands (.sandbox/exec) do not; as root: apt install bubblewrap" \
	apart 'mount --bind /dev/null "$(command -v bwrap)" && "$1" local:x empty && echo x >empty/file &&
		umount -i empty && exit 7'

says "a dead mount" 32 \
	"sandboxfs: $SCRATCH/empty: a dead mount is still on it; take it off with: umount -l $SCRATCH/empty" \
	apart '"$1" -f local:x empty & daemon=$!
		timeout 60 sh -c "until grep -q /empty.fuse /proc/self/mounts; do sleep 0.05; done"
		kill -KILL $daemon; wait $daemon 2>/dev/null
		"$1" local:x empty; status=$?
		umount -i -l empty; exit $status'

done_testing
