#!/bin/sh
# A sandbox of Modal from its beginning to its end, with MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or
# a profile of ~/.modal.toml. Should this script be killed, Modal ends the sandbox 1800 s after
# its making.
exec "$(dirname "$0")/quickstart.sh" modal --timeout 1800 "$@"
