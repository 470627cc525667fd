#include "tools/umount_help.h"

#include "tools/help.h"
#include "tools/options.h"

const struct opt umount_options[] = {
	{ .name = "-l",
		.help = "lazily: take it from the tree now, also if not everything could be sent" },
	{ .name = "-f",
		.help = "by force: requests that wait fail, also if not everything could be sent" },
	{ .name = "-v", .help = "say what is done" },
	{ .name = "-N ", .argument = "NAMESPACE", .help = "in that mount namespace" },
	{ .name = "timeout=",
		.argument = "SECONDS",
		.help = "wait no longer than this for what is sent; other options are those of "
			"mount(8), without effect" },
	{ .name = "-h", .help = "print this; also --help" },
	{ .name = "-V", .help = "print the version; also --version" },
	{ .name = "-n" },
	{ .name = "-r" },
	{ .name = "-t" },
};

const size_t umount_options_count = sizeof umount_options / sizeof *umount_options;

void umount_print_help(FILE *to)
{
	fprintf(to,
		"Usage: umount.fuse.sandboxfs DIRECTORY [-nlfvr] [-N namespace] [-t type] [-o "
		"options]\n"
		"Sends what a mount of sandboxfs has pending, then unmounts it. umount(8) calls "
		"it.\n\n");
	help_print_options(to, umount_options, umount_options_count);
	fprintf(to, "\nAccepted and without effect:\n");
	help_print_ignored(to, umount_options, umount_options_count);
	fprintf(to, "\nExit status: 0; 1 wrong usage or not permitted; 32 not unmounted.\n");
}
