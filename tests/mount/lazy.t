#!/bin/sh
# `-o lazy`: the sandbox of a mount is made at its first use.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
[ "$PROVIDER" != local ] || needs bwrap
[ "$PROVIDER" != aio ] || skip_all "is about sandboxes that are made"
mkdir lazy

count() {
	ctl list "$PROVIDER" --json | field_of
}

# In the background, as most mounts are.
begin() { # OPTIONS
	deadline "$PATIENCE" "$SANDBOXFS" "$PROVIDER:" lazy -o "lazy$1" >said 2>&1
	status=$?
	tap_mounts="$tap_mounts $SCRATCH/lazy"
	return $status
}

is_gone() {
	! tap_is_mounted "$SCRATCH/lazy"
}

end() {
	deadline "$PATIENCE" umount "$SCRATCH/lazy" 2>/dev/null || deadline "$PATIENCE" fusermount3 -u "$SCRATCH/lazy"
	wait_until "$PATIENCE" is_gone
}

[ "$PROVIDER" = local ] || vendor_sandbox other # the server begins with it
before=$(count)
none_is_made() {
	[ "$(count)" -eq "$before" ]
}

ok "a mount begins" begin ""
is "no sandbox is made" "$(count)" "$before"
ok "its root has attributes" stat lazy
ok "its room is told" stat -f lazy
like "sandboxctl status lists it" "$(ctl status)" 'lazy +unused'
ok "sandboxctl sync has nothing to send" ctl sync "$SCRATCH/lazy"
is "still none is made" "$(count)" "$before"
ok "unmounting needs none" end
is "none was made" "$(count)" "$before"

ok "another begins" begin ""
for n in 1 2 3 4; do
	cat "lazy/file.$n" >/dev/null 2>&1 &
	eval "reader$n=$!"
done
ok "the first use is served" sh -c 'echo text >lazy/file && cat lazy/file'
for n in 1 2 3 4; do
	eval "wait \$reader$n"
done
is "one sandbox was made" "$(count)" $((before + 1))
is "it has what was written" "$(ctl exec "$PROVIDER:$(cat lazy/.sandbox/id)" cat file)" text
is "a command runs in it" "$(cd lazy && ctl run -- cat file)" text
like "status has it" "$(ctl status)" 'lazy +mounted'
ok "it is unmounted" end
ok "and the sandbox is gone" wait_until "$PATIENCE" none_is_made

ok "a mount where one is to run first" begin ""
is "a command is the first use" "$(cd lazy && ctl run -- echo well)" well
ok "it goes" end
ok "with its sandbox" wait_until "$PATIENCE" none_is_made

like "one that is there cannot be made" "$("$SANDBOXFS" "$PROVIDER:some" lazy -o lazy 2>&1)" \
	"^sandboxfs: option 'lazy': $PROVIDER:some has an ID; leave one of the two out"

if [ "$PROVIDER" != local ]; then
	ok "one by its label begins" begin ,reuse,label=thread_id=one
	is "none is looked for" "$(count)" "$before"
	echo text >lazy/kept
	ok "and ends" end
	is "it is kept" "$(count)" $((before + 1))
	ok "the next one" begin ,reuse,label=thread_id=one
	is "shows the same" "$(cat lazy/kept)" text
	id=$(cat lazy/.sandbox/id)
	end
	ctl delete "$PROVIDER:$id"
else
	# The store is no directory: what is to be made cannot be.
	XDG_DATA_HOME=$SCRATCH/no.store
	export XDG_DATA_HOME
	touch no.store
	ok "one that cannot be made begins" begin ""
	fails "its first use fails" ls lazy
	rm no.store
	ok "the next one tries again" ls lazy
	ok "and it is unmounted" end
fi
done_testing
