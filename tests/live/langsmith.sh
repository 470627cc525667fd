# shellcheck shell=sh disable=SC2034
key=LANGSMITH_API_KEY
address=LANGSMITH_ENDPOINT
