/*
 * umount_help.h - the text of umount.fuse.sandboxfs --help.
 */
#pragma once

#include <stdio.h>

void umount_print_help(FILE *to);
