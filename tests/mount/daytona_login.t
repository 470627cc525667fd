#!/bin/sh
# Who is logged in with the vendor's own program needs no key here, and the key goes to that login's server alone.
# shellcheck disable=SC2016,SC2317
PROVIDER=daytona
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_ctl.sh
. "$TOP/tests/support/tap_ctl.sh"

needs_mount
needs node python3

vendor_start
export DAYTONA_CONFIG_DIR="$SCRATCH/login"
mkdir "$DAYTONA_CONFIG_DIR"
cat >"$DAYTONA_CONFIG_DIR/config.json" <<END
{"activeProfile": "mine", "profiles": [
	{"id": "other", "api": {"url": "https://other.example", "key": "dtn_other"}},
	{"id": "mine", "activeOrganizationId": null, "api": {"url": "$DAYTONA_API_URL", "key": "$VENDOR_KEY", "token": null}}]}
END
unset DAYTONA_API_KEY
server=$DAYTONA_API_URL

(unset DAYTONA_API_URL && ctl create daytona >source 2>err)
is "a sandbox is made with a login alone" "$? $(cat err)" "0 "
mkdir dir
(unset DAYTONA_API_URL && "$SANDBOXFS" "$(cat source)" dir 2>err)
is "and mounted" "$? $(cat err)" "0 "
echo text >dir/file
is "and written" "$(cat dir/file)" text
umount dir
(unset DAYTONA_API_URL && ctl doctor >out)
like "doctor names the file" "$(tr -s ' ' <out | grep -E '^(ok|fail) daytona ')" \
	"^ok daytona answers, and takes the key: the login in $DAYTONA_CONFIG_DIR/config.json\$"
fails "and not the key" grep -qF "$VENDOR_KEY" out

export DAYTONA_API_URL="http://127.0.0.1:9"
says "another server is not told the key" 1 \
	"sandboxctl: daytona: the login in $DAYTONA_CONFIG_DIR/config.json is for $server and its key goes nowhere else; for http://127.0.0.1:9 set a key in the environment, or give -o key_file=FILE" \
	ctl list daytona
unset DAYTONA_API_URL
chmod 666 "$DAYTONA_CONFIG_DIR/config.json"
says "a file that others may write is refused" 1 \
	"sandboxctl: daytona: $DAYTONA_CONFIG_DIR/config.json: mode 0666 lets others change where the key goes; chmod go-w $DAYTONA_CONFIG_DIR/config.json" \
	ctl list daytona
(umask 077 && echo "$VENDOR_KEY" >key)
export DAYTONA_API_URL="$server"
ok "and is not looked at where a key file is given" ctl list daytona --key-file key
done_testing
