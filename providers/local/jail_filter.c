#include "providers/local/jail_filter.h"

#include "providers/spawn.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/* The bit that marks a call of x32, whose numbers are otherwise those of x86-64. */
#define X32_BIT 0x40000000u

#define LOAD(field)                                                                                \
	{                                                                                          \
		.code = BPF_LD | BPF_W | BPF_ABS, .k = offsetof(struct seccomp_data, field)        \
	}
#define CLEAR(bits)                                                                                \
	{                                                                                          \
		.code = BPF_ALU | BPF_AND | BPF_K, .k = ~(bits)                                    \
	}
#define ANSWER(what)                                                                               \
	{                                                                                          \
		.code = BPF_RET | BPF_K, .k = (what)                                               \
	}
/* Jumps count instructions from the next one. */
#define IF_IS(value, then, otherwise)                                                              \
	{                                                                                          \
		.code = BPF_JMP | BPF_JEQ | BPF_K, .jt = (then), .jf = (otherwise), .k = (value)   \
	}

/* Nine instructions for an architecture, all skipped by the others. */
#define WITHOUT_KEYS(arch_wanted, add_key, request_key, keyctl)                                    \
	LOAD(arch), IF_IS(arch_wanted, 0, 7), LOAD(nr), CLEAR(X32_BIT), IF_IS(add_key, 2, 0),      \
		IF_IS(request_key, 1, 0), IF_IS(keyctl, 0, 1), ANSWER(SECCOMP_RET_ERRNO | ENOSYS), \
		ANSWER(SECCOMP_RET_ALLOW)

/* A jail may run programs of every architecture that the processor supports. */
static const struct sock_filter program[] = {
	WITHOUT_KEYS(AUDIT_ARCH_X86_64, 248, 249, 250),
	WITHOUT_KEYS(AUDIT_ARCH_I386, 286, 287, 288),
	WITHOUT_KEYS(AUDIT_ARCH_AARCH64, 217, 218, 219),
	WITHOUT_KEYS(AUDIT_ARCH_ARM, 309, 310, 311),
	WITHOUT_KEYS(AUDIT_ARCH_RISCV64, 217, 218, 219),
	ANSWER(SECCOMP_RET_ALLOW),
};

enum err jail_filter_open(int *out, struct error *e)
{
	return spawn_memory(program, sizeof program, "a command's filter", out, e);
}
