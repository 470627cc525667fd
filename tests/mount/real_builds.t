#!/bin/sh
# Builds on a mount: make and a compiler, a python environment, npm.
. "${0%/*}/../support/tap.sh"
needs make cc python3

write_c_project() {
	as_owner sh -c 'mkdir -p "$1/src" && cd "$1" || exit
	for i in 1 2 3 4 5; do echo "int f$i(void); int f$i(void) { return $i; }" >src/f$i.c; done
	cat >src/main.c <<C
#include <stdio.h>
int f1(void); int f2(void); int f3(void); int f4(void); int f5(void);
int main(void) { printf("%d\n", f1() + f2() + f3() + f4() + f5()); return 0; }
C
	printf "OBJ := \$(patsubst src/%%.c,build/%%.o,\$(wildcard src/*.c))\nprogram: \$(OBJ)\n\tcc -o \$@ \$^\nbuild/%%.o: src/%%.c\n\t@mkdir -p build\n\tcc -O1 -c -o \$@ \$<\n" >Makefile' - "$MNT/c"
}

# Not with the flags of the make that runs the tests: after `make -s` nothing would be told.
make_here() {
	as_owner timeout -k 5 600 env -u MAKEFLAGS -u MFLAGS make -C "$MNT/c" "$@"
}

c_project() {
	ok "a C project" write_c_project
	ok "make -j4" make_here -s -j4
	is "the program runs" "$(as_owner "$MNT/c/program")" 15
	ok "nothing is to be made again" make_here -q
	as_owner touch "$MNT/c/src/f3.c"
	is "one changed file is compiled, and the program linked" "$(make_here --no-print-directory | grep -c '^cc')" 2
}

python_project() {
	ok "python3 -m venv" as_owner timeout -k 5 300 "$PYTHON" -m venv --without-pip "$MNT/venv"
	is "its python runs" "$(as_owner "$MNT/venv/bin/python" -c 'print(6 * 7)')" 42
	as_owner sh -c 'mkdir -p "$1/pkg/sub" && for i in $(seq 30); do echo "def f(): return $i" >"$1/pkg/m$i.py"; done
		touch "$1/pkg/__init__.py" "$1/pkg/sub/__init__.py"' - "$MNT"
	ok "compileall" as_owner timeout 120 "$PYTHON" -m compileall -q -j 2 "$MNT/pkg"
	is "every module was compiled" "$(as_owner find "$MNT/pkg" -name '*.pyc' | wc -l)" 32
	is "and is imported" "$(as_owner sh -c 'cd "$1" && "$2" -c "import pkg.m7; print(pkg.m7.f())"' - "$MNT" "$PYTHON")" 7
}

npm_project() {
	if ! command -v npm >/dev/null || ! as_owner npm --version >/dev/null 2>&1; then
		skip "npm install" "npm does not run here as this user"
		return
	fi
	as_owner sh -c 'mkdir -p "$1/lib" "$1/app" && cd "$1" || exit
		echo "{\"name\":\"lib\",\"version\":\"1.0.0\",\"main\":\"index.js\",\"bin\":{\"lib\":\"index.js\"}}" >lib/package.json
		printf "#!/usr/bin/env node\nmodule.exports = 11;\n" >lib/index.js
		echo "{\"name\":\"app\",\"version\":\"1.0.0\"}" >app/package.json' - "$MNT"
	ok "npm pack" as_owner sh -c 'cd "$1/lib" && timeout 120 npm pack --silent --offline --cache "$1/cache"' - "$MNT"
	ok "npm install of a local package" as_owner sh -c '
		cd "$1/app" && timeout 120 npm install --silent --offline --no-audit --no-fund --cache "$1/cache" ../lib/lib-1.0.0.tgz' - "$MNT"
	is "the package is found" "$(as_owner sh -c 'cd "$1/app" && node -p "require(\"lib\")"' - "$MNT")" 11
	ok "npm ls agrees" as_owner sh -c 'cd "$1/app" && timeout 300 npm ls --offline' - "$MNT"
}

builds() {
	mount_sandbox "builds$MOUNT_AS"
	as_owner mkdir -p "$MNT/cache"
	c_project
	python_project
	npm_project
	unmount
}

# The system's own: a version manager's may not be open to other users.
PYTHON=python3
[ ! -x /usr/bin/python3 ] || PYTHON=/usr/bin/python3
"$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || skip_all "python3-venv is not installed"
export HOME="$SCRATCH/home"
for_each_user builds
done_testing
