#!/bin/sh
# What make does with what it is given: compilers of several words, a compiler for another machine, a .proto that changed.
# shellcheck source=tests/support/tap.sh disable=SC2016
. "${0%/*}/../support/tap.sh"
# shellcheck source=tests/support/tap_install.sh
. "$TOP/tests/support/tap_install.sh"

needs make gcc protoc-c
needs_installable

program() { # NAME LINE...
	printf '#!/bin/sh\n%s\n' "$2" >"$1"
	chmod +x "$1"
}
program ccache 'exec "$@"'
program other-gcc '[ "$*" = -dumpmachine ] && echo other-linux-gnu'
PATH=$SCRATCH:$PATH

# would_run VARIABLE=VALUE... TARGET: the commands of a make that compiles, as if all sources had changed.
would_run() {
	tap_make -n -B "$@" 2>&1
}

# ---- Compilers -----------------------------------------------------------------------------------

is "what ccache compiles lies where gcc's does" \
	"$(would_run CC='ccache gcc' build/gcc-plain/providers/base/buf.o | grep -c ';ccache gcc .*-o build/gcc-plain/')" 1
is "the programs as well" "$(would_run CC='ccache gcc' programs | grep -c ';ccache gcc .* -o build/bin/sandboxfs ')" 1
is "options of a compiler are part of its name" \
	"$(would_run CC='gcc -m=x' build/gcc-m-x-plain/providers/base/buf.o | grep -c ';gcc -m=x .*-o build/gcc-m-x-plain/')" 1
is "the manual pages of another machine's programs are made by a program of this machine" \
	"$(would_run CC=other-gcc pages | grep -o '[^;]*describe >build/man/facts')" "build/gcc-plain/describe >build/man/facts"
is "which this machine's compiler makes" "$(would_run CC=other-gcc pages | grep -c ';other-gcc ')" 0
is "so does it this machine's helper" "$(would_run CC=other-gcc helper | grep -c ';other-gcc ')" 0

# ---- Layers --------------------------------------------------------------------------------------

is "the build looks at the direction of includes" \
	"$(would_run programs | grep -cF "grep -nE '^#include \"(cache|fs|tools|tests)/' -r providers")" 1

# ---- A .proto that changed -----------------------------------------------------------------------

# A folder of objects that no other run has.
COMPILER="gcc -DTEST=$$"
OBJECTS=build/gcc-DTEST-$$-plain
trap 'rm -rf "${TOP:?}/$OBJECTS"; tap_cleanup' EXIT
of_it() {
	tap_make CC="$COMPILER" CFLAGS=-O0 "$@"
}

for proto in "$TOP"/providers/*/*.proto; do
	name=${proto#"$TOP/"}
	header=${name%.proto}.pb-c.h
	(cd "$TOP" && grep -lF "\"$header\"" -r providers --include='*.c') | sort >sources
	sed "s|^\\(.*\\)\\.c\$|$OBJECTS/\\1.o|" sources >objects
	# shellcheck disable=SC2046 # names without spaces
	set -- $(cat objects)
	ok "what includes $header is compiled" of_it "$@"
	is "and nothing of it a second time" "$(of_it -n "$@")" ""
	is "a $name that changed is made into another one" "$(of_it -n -W "$name" "$@" | grep -c ';protoc-c ')" 1
	is "and with that all is compiled again" \
		"$(of_it -n -W "build/generated/$header" "$@" | sed -n 's/.*;gcc .* -o [^ ]* \([^ ]*\.c\)$/\1/p' | sort)" "$(cat sources)"
done

done_testing
