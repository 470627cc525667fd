#!/bin/sh
# The table of providers by options that sandboxctl(1) prints: what it says is taken makes a sandbox,
# and what is not is refused in its words, before anything is made.
# shellcheck disable=SC2086
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs python3
[ "$PROVIDER" != local ] || needs bwrap
[ "$PROVIDER" = local ] || vendor_start

# words_of OPTION: how it is given; some are taken together with others alone.
words_of() {
	case $PROVIDER:$1 in
	runloop:cpus | runloop:memory) echo "--cpus 2 --memory 4G" ;;
	runloop:disk) echo "--cpus 2 --memory 4G --disk 8G" ;;
	daytona:cpus | daytona:memory | daytona:disk) echo "--image python:3.11-slim --$1 $(value_of "$1")" ;;
	*:reuse) echo "--reuse --label a=b" ;;
	*:block-network) echo --block-network ;;
	*) echo "--$1 $(value_of "$1")" ;;
	esac
}

value_of() {
	case $1 in
	label | env) echo A=b ;;
	name) echo box ;;
	cpus) echo 2 ;;
	memory | disk) echo 4G ;;
	gpu) echo T4 ;;
	region) echo us ;;
	language) echo python ;;
	pids) echo 100 ;;
	network) echo none ;;
	allow) echo pypi.org ;;
	port) echo 8000 ;;
	image) echo python:3.11-slim ;;
	template) echo no-such-template ;;
	*) echo 3600 ;;
	esac
}

count() {
	ctl list "$PROVIDER" --json | field_of
}

# What a template is made of is the vendor's: that the vendor is asked for it is enough.
takes() { # OPTION
	name=$(ctl create "$PROVIDER" $(words_of "$1") 2>err)
	status=$?
	[ $status -ne 0 ] || ctl delete "$name"
	[ $status -eq 0 ] || { [ "$1" = template ] && ! grep -q 'leave it out' err; } || {
		cat err
		return 1
	}
}

tab=$(printf '\t')
grep "^new$tab$PROVIDER$tab" "$TOP/build/man/facts" >rows
ok "there is a row for each option" test "$(wc -l <rows)" -ge 20
before=$(count)
while IFS=$tab read -r _ _ option sentence; do
	[ -z "$sentence" ] || says "--$option is refused" 1 "sandboxctl: $sentence" ctl create "$PROVIDER" $(words_of "$option")
	# No sandbox of this machine has processors where there is no cgroup, or a disk without root: local_limits.t.
	case $PROVIDER:$option in local:cpus | local:disk) continue ;; esac
	[ -n "$sentence" ] || ok "--$option is taken" takes "$option"
done <rows
is "nothing is left" "$(count)" "$before"
done_testing
