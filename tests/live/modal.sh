# shellcheck shell=sh disable=SC2034
key=MODAL_TOKEN_ID
address=MODAL_SERVER_URL
