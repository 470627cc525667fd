#!/bin/sh
# A sandbox of Daytona from its beginning to its end, with DAYTONA_API_KEY. Should this script be
# killed, Daytona stops the sandbox after 600 s without use, and deletes it an hour later.
exec "$(dirname "$0")/quickstart.sh" daytona --idle 600 --delete-after 3600 "$@"
