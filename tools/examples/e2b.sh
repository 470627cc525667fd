#!/bin/sh
# A sandbox of E2B from its beginning to its end, with E2B_API_KEY. Should this script be killed,
# E2B ends the sandbox 600 s after it was last given time.
exec "$(dirname "$0")/quickstart.sh" e2b --timeout 600 "$@"
