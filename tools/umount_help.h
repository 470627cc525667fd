/*
 * umount_help.h - what umount.fuse.sandboxfs --help prints.
 */
#pragma once

#include <stdio.h>

void umount_print_help(FILE *to);
