#!/bin/sh
# A devbox of Runloop from its beginning to its end, with RUNLOOP_API_KEY. Should this script be
# killed, Runloop suspends the devbox after 600 s without use.
exec "$(dirname "$0")/quickstart.sh" runloop --idle 600 "$@"
