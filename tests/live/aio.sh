# shellcheck shell=sh disable=SC2034
# Keys are optional there, an address is not.
key=SANDBOX_HOST
