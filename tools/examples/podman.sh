#!/bin/sh
# podman.sh CONTAINER: the working directory of a container that runs.
[ $# -eq 1 ] || { echo "usage: podman.sh CONTAINER" >&2; exit 2; }
exec "$(dirname "$0")/quickstart.sh" "podman:$1"
