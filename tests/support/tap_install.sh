# tap_install.sh - for the tests of what `make install` brings. Sourced after tap.sh.

# What is installed is what the compiler makes by itself, not what a sanitizer watches.
needs_installable() {
	case $SANDBOXFS in
	"$TOP"/build/bin/*) ;;
	*) skip_all "is about the plain build" ;;
	esac
}

# Variables are given as to make. It does not share the jobs of the make that runs the tests.
tap_make() { # TARGET VARIABLE=VALUE...
	env -u MAKEFLAGS -u MAKELEVEL make -s -C "$TOP" "$@"
}

make_install() {
	tap_make install "$@"
}

make_uninstall() {
	tap_make uninstall "$@"
}
