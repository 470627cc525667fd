# shellcheck shell=sh disable=SC2034
key=E2B_API_KEY
address=E2B_API_URL
