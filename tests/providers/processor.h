/* processor.h - programs for another processor than this machine's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Processors for which there are helpers; one that is not this machine's runs under qemu-user. */
#define EACH_MACHINE(ROW, ...)                                                                     \
	ROW(aarch64, __VA_ARGS__) ROW(armv7l, __VA_ARGS__) ROW(riscv64, __VA_ARGS__)

/*
 * The qemu-user that runs programs for `machine`, in uname -m's words, here; "": programs run as
 * they are. False: there is none.
 */
bool processor_find_runner(const char *machine, char *out, size_t size);
