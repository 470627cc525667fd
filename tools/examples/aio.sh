#!/bin/sh
# A directory of the Agent Infra Sandbox at SANDBOX_HOST and SANDBOX_PORT, without them at port
# 8080 of this machine, where `sandboxctl start aio` starts one. SANDBOX_API_KEY where it wants a
# key. The container stays.
exec "$(dirname "$0")/quickstart.sh" aio --session quickstart "$@"
