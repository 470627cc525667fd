#!/bin/sh
# How many requests reading many small files in a sandbox of E2B takes, and what is not read with them.
# shellcheck disable=SC2016,SC2317
PROVIDER=e2b
# shellcheck source=tests/support/tap.sh
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_counters.sh
. "$TOP/tests/support/tap_counters.sh"

needs_mount
needs node python3 git

fetches_less() { # NAME BYTES
	got=$(total bytes_out)
	is "$1: less than $2 bytes ($got)" "$([ "$got" -lt "$2" ] && echo yes)" yes || diag "$(counters)"
}

# The freshness is long, for a slow machine must be able to read the tree within it.
mount_fresh() { # SANDBOX
	mount_sandbox "$1" attr_timeout=60,entry_timeout=60
	reset
}

peak_kb() {
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$DAEMON/status"
}

# ---- A tree --------------------------------------------------------------------------------------

vendor_sandbox tree
python3 - "$STORE/tree" <<'END'
import os, sys
words = [b"%x" % (n * 2654435761 % 2**32) for n in range(4096)]
for d in range(200):
    os.makedirs(f"{sys.argv[1]}/dir{d}")
    for f in range(10):
        with open(f"{sys.argv[1]}/dir{d}/file{f}", "wb") as file:
            file.write(b"NEEDLE\n" if f == 7 else b"hay\n")
            file.write(b"\n".join(words[(d * 31 + f * 7 + n) % 4096] for n in range(900)))
END
mount_fresh tree
grep -rc NEEDLE "$MNT/tree" >first
is "grep -r finds everything" "$(grep -c ':1$' first) $(wc -l <first)" "200 2000"
at_most "grep -r of 2000 files in 200 directories" 3
fetches_less "compressed on the way" 12000000
reset
grep -rc NEEDLE "$MNT/tree" >second
is "again: the same" "$(cmp first second)" ""
at_most "again" 0
is "the mount took at most 100 MB ($(peak_kb) KiB)" "$([ "$(peak_kb)" -lt 100000 ] && echo yes)" yes
unmount

# ---- A large file --------------------------------------------------------------------------------

vendor_sandbox large
python3 -c '
import random, sys
with open(sys.argv[1], "wb") as file:
    for n in range(100):
        file.write(random.Random(n).randbytes(1000000))' "$STORE/large"
mount_fresh large
head -c 1 "$MNT/large" >/dev/null
at_most "the first byte of 100 MB, and its name" 2
is "100 MB are read in sequence" "$(cksum <"$MNT/large")" "$(cksum <"$STORE/large")"
at_most "the name, the first byte and all of 100 MB" 4
is "and take at most 100 MB of memory ($(peak_kb) KiB)" "$([ "$(peak_kb)" -lt 100000 ] && echo yes)" yes
reset
is "again" "$(cksum <"$MNT/large")" "$(cksum <"$STORE/large")"
at_most "100 MB again" 0
unmount

# ---- A repository --------------------------------------------------------------------------------

vendor_sandbox repository
mkdir -p "$STORE/repo"
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
python3 - "$STORE/repo" <<'END'
import os, random, sys
chance = random.Random(3)
for d in range(20):
    os.makedirs(f"{sys.argv[1]}/d{d}")
    for f in range(10):
        path = f"{sys.argv[1]}/d{d}/f{f}"
        with open(path, "w") as file:
            file.write("%x\n" % chance.getrandbits(80000))
        os.utime(path, (1700000000, 1700000000))
END
(cd "$STORE/repo" && git init -q && git add . && git -c user.name=n -c user.email=e@x commit -qm all) >said 2>&1
chown -hR --reference="$STORE" "$STORE/repo"
git -C "$STORE/repo" status --porcelain >said 2>&1
mount_fresh repository
is "git status: clean" "$(git -C "$MNT/repo" --no-optional-locks status --porcelain 2>&1)" ""
at_most "git status on a cold mount" 2
fetches_less "git status fetches no contents of files" 200000
unmount
git -C "$STORE/repo" repack -adq >said 2>&1
chown -hR --reference="$STORE" "$STORE/repo/.git"
mount_fresh repository
is "git status of what is packed: clean" "$(git -C "$MNT/repo" --no-optional-locks status --porcelain 2>&1)" ""
at_most "the pack's index and both ends of the pack come with the repository's own files" 1
fetches_less "and not all of it" 600000
unmount

# ---- Programs ------------------------------------------------------------------------------------

vendor_sandbox programs
python3 - "$STORE" <<'END'
import os, sys
def write(path, text):
    path = f"{sys.argv[1]}/{path}"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
write("lib/package/__init__.py", "".join(f"from . import m{n}\n" for n in range(100)))
for n in range(100):
    write(f"lib/package/m{n}.py", f"value = {n}\n" + "# a comment\n" * 200)
write("web/index.js", "require('p7')\n")
for n in range(300):
    write(f"web/node_modules/p{n}/index.js", f"module.exports = {n}\n" + "// a comment\n" * 1000)
END
mount_fresh programs
is "python imports a package" \
	"$(PYTHONPATH="$MNT/lib" python3 -B -c 'import package; print(package.m99.value)' 2>&1)" 99
at_most "a package of 100 modules" 4
reset
ok "a program is read" cat "$MNT/web/index.js" "$MNT/web/node_modules/p7/index.js"
fetches_less "no other packages come with it" 100000
unmount
done_testing
