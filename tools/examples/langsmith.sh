#!/bin/sh
# A sandbox of LangSmith from its beginning to its end, with LANGSMITH_API_KEY. Should this script
# be killed, LangSmith stops the sandbox after 600 s without use, and deletes it an hour later.
exec "$(dirname "$0")/quickstart.sh" langsmith --idle 600 --delete-after 3600 "$@"
