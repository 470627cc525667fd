#include "providers/remote/loader.h"

#include <stddef.h>
#include <string.h>

/*
 * The scripts end as a shell does: 127 where the helper is not there, 126 where it cannot be
 * executed.
 */
const char remote_loader_python[] = "import os, sys\n"
				    "try:\n"
				    "    with open(sys.argv[1], 'rb') as file:\n"
				    "        rest = file.read()\n"
				    "except OSError as why:\n"
				    "    sys.stderr.write('%s\\n' % why)\n"
				    "    sys.exit(127)\n"
				    "try:\n"
				    "    memory = os.memfd_create('sandboxfs-helper')\n"
				    "    while rest:\n"
				    "        rest = rest[os.write(memory, rest):]\n"
				    "    os.execve(memory, sys.argv[1:], os.environ)\n"
				    "except (OSError, AttributeError) as why:\n"
				    "    sys.stderr.write('%s\\n' % why)\n"
				    "    sys.exit(126)\n";

/* memfd_create has a number of its own for each processor; 1: closed by exec. */
const char remote_loader_perl[] =
	"use POSIX ();\n"
	"my %numbers = (x86_64 => 319, aarch64 => 279, riscv64 => 279, armv7l => 385, armv8l => "
	"385);\n"
	"my ($name, $rest, $at) = ('sandboxfs-helper', '', 0);\n"
	"open(my $file, '<:raw', $ARGV[0]) or do { print STDERR \"$!\\n\"; exit 127 };\n"
	"{ local $/; $rest = <$file>; }\n"
	"my $memory = syscall($numbers{(POSIX::uname())[4]} || -1, $name, 1);\n"
	"open(my $out, '>&=', $memory) or do { print STDERR \"$!\\n\"; exit 126 };\n"
	"while ($at < length $rest) {\n"
	"	my $n = syswrite($out, $rest, length($rest) - $at, $at) or exit 126;\n"
	"	$at += $n;\n"
	"}\n"
	"exec { \"/proc/self/fd/$memory\" } @ARGV or do { print STDERR \"$!\\n\"; exit 126 };\n";

static const struct {
	const char *name;
	const char *words[REMOTE_LOADER_ARGC + 1];
} loaders[] = {
	{ "", { NULL } },
	{ "python3",
		{ "/bin/sh", "-c", "exec python3 -IS -c \"$0\" \"$@\"", remote_loader_python,
			NULL } },
	{ "perl", { "/bin/sh", "-c", "exec perl -e \"$0\" \"$@\"", remote_loader_perl, NULL } },
};

const char *const *remote_loader_find(const char *name)
{
	for (size_t i = 0; i < sizeof loaders / sizeof *loaders; i++)
		if (!strcmp(loaders[i].name, name))
			return loaders[i].words;
	return NULL;
}
