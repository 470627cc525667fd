# shellcheck shell=sh disable=SC2034
key=DAYTONA_API_KEY
address=DAYTONA_API_URL
