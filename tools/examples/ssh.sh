#!/bin/sh
# ssh.sh [USER@]HOST[:PORT]: the home on a host that ssh(1) reaches.
[ $# -eq 1 ] || { echo "usage: ssh.sh [USER@]HOST[:PORT]" >&2; exit 2; }
exec "$(dirname "$0")/quickstart.sh" "ssh:$1"
