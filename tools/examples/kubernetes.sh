#!/bin/sh
# kubernetes.sh NAMESPACE/POD: the working directory of a pod that runs.
[ $# -eq 1 ] || { echo "usage: kubernetes.sh NAMESPACE/POD" >&2; exit 2; }
exec "$(dirname "$0")/quickstart.sh" "kubernetes:$1"
