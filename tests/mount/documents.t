#!/bin/sh
# Documents say what the programs and the sources say: options, commands, files, figures. README.md
# stays short.
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"
needs_mount
needs python3
export PYTHONDONTWRITEBYTECODE=1

PAGES=$TOP/build/man
# says CHECK: what is wrong, a line each.
says() {
	python3 "$TOP/tests/mount/documents.py" "$1" "${SANDBOXFS%/*}" 2>&1
}

# ---- Providers -----------------------------------------------------------------------------------

is "the tables of figures are those of the sources (make table writes them)" \
	"$(python3 "$TOP/tests/support/tables.py" check 2>&1)" ""
is "the matrix of vendors and conditions names tests that there are" "$(python3 -B "$TOP/tests/support/matrix.py" --names 2>&1)" ""
providers=$("$SANDBOXFS" --help | sed -n 's/^Providers: //p' | tr -d ,)
for provider in $providers; do
	is "README.md has one row of $provider" "$(grep -c "^| \`$provider:\`" "$TOP/README.md")" 1
	ok "sandboxfs-providers(7) says what $provider takes and can do" grep -q "^\.It Cm $provider: Pq" "$PAGES/sandboxfs-providers.7"
	ok "and how long its sandboxes live" grep -qx "\.It $provider:" "$PAGES/sandboxfs-providers.7"
done
ok "what a vendor cannot do stands there as an errno" grep -qx "Pause: EOPNOTSUPP\." "$PAGES/sandboxfs-providers.7"

# ---- README.md -----------------------------------------------------------------------------------

ok "README.md has at most 8 KB" test "$(wc -c <"$TOP/README.md")" -le 8192
is "and no sentence of more than 40 words" "$(says sentences)" ""

# ---- What is named is there ----------------------------------------------------------------------

is "the sources of manual pages have at most 100 columns" "$(says columns)" ""
is "every option of a mount that a document names is one" "$(says mount_options)" ""
is "every command of sandboxctl, and every option of one" "$(says commands)" ""
is "every target of make" "$(says targets)" ""
is "every file" "$(says files)" ""
is "every suite of tests" "$(says suites)" ""
is "the layers of DESIGN.md are those that the build holds" "$(says layers)" ""
is "every lock and thread of the cache is in the tables of DESIGN.md" "$(says locks)" ""
is "every figure that follows from a constant" "$(says figures)" ""
is "what is shown when something fails is what the programs print" "$(says failures)" ""
is "what bounds a vendor's costs is what that vendor takes" "$(says bounds)" ""
is "the table of what each vendor can do is that of the source" "$(says verbs)" ""
is "each provider that makes sandboxes has an example" "$(says examples)" ""
is "no word of before the glossary" "$(says words)" ""

# ---- The control directory -----------------------------------------------------------------------

mount_sandbox read
# undescribed BEFORE FILE: what a mount has that the file does not have behind these words.
undescribed() {
	ls "$MNT/.sandbox" | while read -r name; do
		grep -qF -- "$1$name" "$2" || echo "$name"
	done
}
is "sandboxfs(7) describes all of the control directory" "$(undescribed '.It Pa ' "$PAGES/sandboxfs.7")" ""
is "and every field of a response" "$(says fields)" ""
mkdir other
if [ "$PROVIDER" = local ]; then
	ok "a second mount of a sandbox on this machine is taken" deadline "$PATIENCE" "$SANDBOXFS" "$SOURCE" other
	ok "and unmounted" deadline "$PATIENCE" fusermount3 -u other
fi
unmount
done_testing
