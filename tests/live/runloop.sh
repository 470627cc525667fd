# shellcheck shell=sh disable=SC2034
key=RUNLOOP_API_KEY
address=RUNLOOP_BASE_URL
