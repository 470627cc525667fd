#!/bin/sh
# How many requests to a sandbox of E2B what users do every day takes: few, or none.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3 git

run_inside() { # COMMAND
	python3 -c '
import json, os, sys
file = os.open(sys.argv[1] + "/.sandbox/exec", os.O_RDWR)
os.write(file, sys.argv[2].encode())
answer = json.loads(os.read(file, 1 << 20))
print(answer["output"], end="")
sys.exit(answer["exit_code"] or 0)' "$MNT" "$1"
}

# ---- A tree --------------------------------------------------------------------------------------

vendor_sandbox tree
python3 - "$STORE/tree" <<'END'
import os, sys
for d in range(200):
    os.makedirs(f"{sys.argv[1]}/dir{d}")
    for f in range(10):
        with open(f"{sys.argv[1]}/dir{d}/file{f}", "w") as file:
            file.write(f"{d} {f}\n")
END
# The freshness is long, for a slow machine must be able to walk the tree within it.
mount_sandbox tree attr_timeout=60,entry_timeout=60
reset
ls -lR "$MNT/tree" >first
is "ls -lR shows everything" "$(grep -c file first)" 2000
at_most "ls -lR of 2000 files in 200 directories" 4
reset
ls -lR "$MNT/tree" >second
is "again: the same" "$(cmp first second)" ""
at_most "again, within the freshness" 0
for name in none dir7/none dir199/none; do
	fails "tree/$name is not there" test -e "$MNT/tree/$name"
done
at_most "names that are missing in listed directories" 0
stat -f "$MNT" >/dev/null
at_most "statfs" 0
run_inside 'echo hello' >said
is "a command runs" "$(cat said)" hello
at_most "a command with nothing pending" 1
unmount

# ---- An agent's batch ------------------------------------------------------------------------------

vendor_sandbox batch
mount_sandbox batch attr_timeout=60,entry_timeout=60
ls "$MNT" >/dev/null
reset
PYTHONPATH="$TOP/tools/examples" python3 -B - "$MNT" >said <<'END'
import collections, sys
import sandbox_backend
backend = sandbox_backend.MountBackend(sys.argv[1])
files = [(f"{backend.root}/src/{n % 7}/file{n}", b"%d\n" % n) for n in range(200)]
print(collections.Counter(result.error for result in backend.upload_files(files)))
END
is "200 files are stored in one call" "$(cat said)" "Counter({None: 200})"
is "in the sandbox" "$(find "$STORE/src" -type f | wc -l) $(cat "$STORE/src/3/file199")" "200 199"
at_most "a batch of 200 files" 4
unmount

# ---- A repository --------------------------------------------------------------------------------

# Its files are older than its index: those of the same second git would read again.

vendor_sandbox repository
mount_sandbox repository attr_timeout=60,entry_timeout=60
run_inside 'git init -q repo && cd repo && git config user.name n && git config user.email e@x &&
	for d in 1 2 3 4 5; do mkdir d$d; for f in 1 2 3 4 5 6 7 8 9; do
		head -c 20000 /dev/urandom | od -A n -t x1 >d$d/f$f; done; done &&
	find d* -type f -exec touch -d "1 hour ago" {} + &&
	git add . && git commit -qm all && git status && git ls-files --debug >/tmp/before &&
	stat -c %y .git/index' >said 2>&1
ok "a repository is made inside" grep -q 'working tree clean' said
index=$(tail -n 1 said)
# Git takes a repository of another user only when told so.
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
reset
is "git status here: clean" "$(git -C "$MNT/repo" status --porcelain 2>&1)" ""
bytes=$(total bytes_out)
is "it fetches no contents of files ($bytes bytes of 2.9 MB)" "$([ "$bytes" -lt 200000 ] && echo yes)" yes || diag "$(counters)"
run_inside 'cd repo && git status --porcelain && git ls-files --debug | cmp - /tmp/before && stat -c %y .git/index' >said 2>&1
is "git inside finds its index as it was, and reads nothing again" "$(cat said)" "$index"
unmount
done_testing
