#!/bin/sh
# sandboxctl doctor --live: a sandbox is made, tried in all that it can do, and deleted.
# shellcheck disable=SC2016
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs python3

[ "$PROVIDER" = local ] || vendor_start

listed() {
	ctl list "$PROVIDER" --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)))'
}

# found STEP: its result.
found() {
	python3 -c 'import json, sys
print(*[row["result"] for row in json.load(open("out")) if row["check"] == sys.argv[1]])' "$1"
}

# The files of the sandbox that is there, which has names like those of the check already.
left() {
	find "$VENDOR_DIR/sandboxes" -name 'sandboxfs-doctor*' -type f -size -9k -exec cat {} +
	find "$VENDOR_DIR/sandboxes" -name 'sandboxfs-doctor*' | wc -l
}

if [ "$PROVIDER" = aio ]; then
	STORE=$(vendor_home "$(echo "$VENDOR_DIR/sandboxes"/*)")
	echo theirs >"$STORE/sandboxfs-doctor"
	echo theirs >"$STORE/sandboxfs-doctor-event"
fi
before=$(listed)
ctl doctor --live "$PROVIDER" --json >out 2>err
is "nothing fails" "$? $(cat err)" "0 "
for step in make attach info list "round trip" write read command stream remove; do
	is "$step" "$(found "$step")" ok
done
case $PROVIDER in
local) is "there is no link to cut" "$(found cut)" unused ;;
*) is "a link that is cut in a download is no failure" "$(found cut)" ok ;;
esac
case $PROVIDER in
aio)
	is "the one that is there stays" "$(found delete)" unused
	is "and its files" "$(left)" "theirs
theirs
2"
	# A shell has what it starts with & ignore the signal.
	python3 - "$SANDBOXCTL" "$STORE" "$PATIENCE" <<-'END' >out
		import glob, json, signal, subprocess, sys, time
		program, store, patience = sys.argv[1:]
		end = time.monotonic() + float(patience)
		made = store + "/sandboxfs-doctor-" + 16 * "[0-9a-f]"
		# On a busy machine the check may be over before the signal.
		failed = False
		while not failed and time.monotonic() < end:
		    doctor = subprocess.Popen([program, "doctor", "--live", "aio", "--json"], stdout=subprocess.PIPE,
		                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
		    while not glob.glob(made) and doctor.poll() is None and time.monotonic() < end:
		        time.sleep(0.01)
		    doctor.send_signal(signal.SIGINT)
		    told = doctor.communicate(timeout=float(patience))[0].decode()
		    failed = any(row["result"] == "fail" for row in json.loads(told))
		print(told)
	END
	ok "an interrupt ends it" grep -q '"result": "fail"' out
	is "and leaves nothing of it" "$(found remove) $(left)" "ok theirs
theirs
2"
	;;
*) is "the sandbox is deleted" "$(found delete)" ok ;;
esac
is "and none is left" "$(listed)" "$before"

if [ "$PROVIDER" = local ]; then
	ctl doctor --live local >out
	is "one table tells it" "$(sed -n '1p;s/^ok *round trip .*/a round trip/p' out | tr -s ' ')" "RESULT CHECK FINDING
a round trip"
	like "a provider that makes none says so" "$(ctl doctor --live ssh 2>&1)" "^sandboxctl: ssh"
	says "a key is that of one provider" 2 \
		"sandboxctl: doctor: --key-file is the key of one provider: name that, as in sandboxctl doctor --live e2b" \
		ctl doctor --key-file key
	like "without a key nothing is made" "$(env -u E2B_API_KEY HOME="$SCRATCH" "$SANDBOXCTL" doctor --live e2b 2>&1)" \
		"^sandboxctl: e2b: no key"
	cat >bwrap <<-'END'
		#!/bin/sh
		echo "bwrap: no" >&2
		exit 1
	END
	chmod 755 bwrap
	PATH=$PWD:$PATH ctl doctor --live local --json >out
	is "what fails makes it fail" "$? $(found command)" "1 fail"
	is "and the sandbox goes all the same" "$(found delete) $(listed)" "ok $before"
fi
done_testing
