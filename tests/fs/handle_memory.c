/* The units of fs run with the handles of a debug build: a freed one is poisoned. */
#ifndef FAULT_POINTS
#define FAULT_POINTS
#endif
#include "fs/handle_memory.c" /* NOLINT: in place of the library's */
