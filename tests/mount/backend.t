#!/bin/sh
# The examples that serve a mount to those who want a sandbox as three calls, held to what they expect.
# shellcheck source=tests/support/tap.sh disable=SC2016,SC2317
. "${0%/*}/../support/tap.sh"

needs_mount
needs python3

# As JavaScript, where Node does not take the types away itself: by the compiler, which has to be there.
untyped() { # FILE
	if node -e 'process.exit(process.features.typescript ? 0 : 1)' 2>/dev/null; then
		cp "$1" "${2%.*}.mts"
	else
		NODE_PATH=$NODE_PATH:/usr/share/nodejs node -e '
			const ts = require("typescript"), fs = require("fs"), [from, to] = process.argv.slice(1);
			const compilerOptions = { module: "esnext", target: "es2022" };
			fs.writeFileSync(to, ts.transpileModule(fs.readFileSync(from, "utf8"), { compilerOptions }).outputText);
		' "$1" "$2" 2>/dev/null
	fi
}

holds() { # PROGRAM...
	may_all=no
	[ "$MOUNT_AS" -ne 0 ] || may_all=yes
	mount_sandbox "$SANDBOX_NAME$MOUNT_AS"
	[ -z "${SHOWN:-}" ] || ok "all of it is shown" as_owner test -d "$MNT/usr/bin"
	as_owner python3 "$TOP/tests/mount/backend.py" "$MNT" "$may_all" "$@" >results 2>&1
	ok "all calls were made" grep -q '^1\.\.[1-9]' results
	sed -n "s/^ok [0-9]* - //p" results >names
	while read -r name; do
		ok "$name" true
	done <names
	is "what is not so" "$(grep -A 2 '^not ok' results)" ""
	unmount
}

in_python() {
	SANDBOX_NAME=python holds
}

in_typescript() {
	SANDBOX_NAME=typescript holds node "$SCRIPT"
}

NODE_PATH=${NODE_PATH:-}
for_each_user in_python
SHOWN=/
for_each_user in_python
SHOWN=
if untyped "$TOP/tools/examples/sandbox_backend.mts" "$SCRATCH/backend.mjs"; then
	SCRIPT=$(ls "$SCRATCH"/backend.m?s)
	for_each_user in_typescript
	SHOWN=/
	in_typescript
else
	skip "the same in TypeScript" "neither Node 22.18 nor node-typescript is installed"
fi

done_testing
