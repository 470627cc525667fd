#!/bin/sh
# A sandbox that failed, one that is not persistent, a key of several workspaces, and every spelling of the endpoint.
# shellcheck disable=SC2317
PROVIDER=langsmith
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3 curl
WORKSPACE=0c9bd3a6-5e0a-4b0c-8f4d-1f2a3b4c5d6e
VENDOR_OPTIONS="--workspace $WORKSPACE"
vendor_start

told() { # FIELD
	ctl info "$SOURCE" --json | field_of "$1"
}

# ---- The account ---------------------------------------------------------------------------------

like "a key of several workspaces wants one named, and the way out is told" "$(ctl list langsmith 2>&1)" \
	"org-scoped and requires workspace specification.*LANGSMITH_TENANT_ID"
is "by one name" "$(LANGSMITH_WORKSPACE_ID=$WORKSPACE ctl list langsmith --json 2>&1)" "[]"
export LANGSMITH_TENANT_ID=$WORKSPACE
is "or the other" "$(LANGSMITH_WORKSPACE_ID=another ctl list langsmith --json 2>&1)" "[]"
root=$LANGSMITH_ENDPOINT
for endpoint in "$root" "$root/" "$root/api" "$root/api/v1"; do
	is "the endpoint may be ${endpoint#"$root"}" "$(LANGSMITH_ENDPOINT=$endpoint ctl list langsmith --json 2>&1)" "[]"
done

# ---- The working directory -----------------------------------------------------------------------

a_sandbox homeless
is "commands run in the home" "$(ctl exec --user user "$SOURCE" pwd </dev/null)" /home/user
chmod 555 "$VENDOR_DIR/sandboxes/$SANDBOX/home/user"
is "or where that takes no files in /tmp" "$(ctl exec --user user "$SOURCE" pwd </dev/null)" /tmp

# ---- Failed --------------------------------------------------------------------------------------

a_sandbox broken
echo kept >"$STORE/file"
vendor_request POST "$ADMIN/fail/$SANDBOX?why=no+space+left" >/dev/null
is "a sandbox that failed is shown as that" "$(told state)" failed
is "and says why" "$(told warning)" "no space left; sandboxctl resume starts it again"
MNT=$SCRATCH/mnt.broken
as_owner mkdir -p "$MNT"
is "it is not mounted" "$(deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE" "$MNT" 2>&1)" \
	"sandboxfs: sandbox $SOURCE has failed: no space left; sandboxctl resume starts it again"
says "it is started again" 0 "" ctl resume "$SOURCE"
is "then it runs" "$(told state)" running
is "and has its files" "$(ctl exec "$SOURCE" cat file </dev/null)" kept

# ---- Not persistent ------------------------------------------------------------------------------

a_sandbox disposable
vendor_request POST "$ADMIN/dispose/$SANDBOX" >/dev/null
mount_sandbox disposable
is "the mount says what a stop discards" "$(grep -c "^sandboxfs: $SOURCE: it is not persistent: what is written is lost" "$LOG")" 1
echo written >"$MNT/file"
like "it is not paused" "$(ctl pause "$SOURCE" 2>&1)" "is not persistent: to stop it discards what was written\$"
is "and so keeps what was written" "$(cat "$MNT/file")" written
unmount
done_testing
