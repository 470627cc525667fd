#include "providers/helper/apply.h"

#include <errno.h>
#include <unistd.h>

/* The length of one copy_file_range(2): no less than the kernel copies in one call. */
#define KERNEL_PIECE ((size_t)1 << 30)
/* The buffer of a copy by read(2) and write(2), on the stack: musl gives threads 128 KiB. */
#define HAND_PIECE 16384

static size_t smaller(uint64_t a, size_t b)
{
	return a < b ? (size_t)a : b;
}

static ssize_t copy_by_kernel(
	int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len)
{
	off_t in = (off_t)from_offset, out = (off_t)to_offset;

	return copy_file_range(from, &in, to, &out, smaller(len, KERNEL_PIECE), 0);
}

static ssize_t copy_by_hand(
	int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len)
{
	char bytes[HAND_PIECE];
	ssize_t got = pread(from, bytes, smaller(len, sizeof bytes), (off_t)from_offset);

	return got > 0 ? pwrite(to, bytes, (size_t)got, (off_t)to_offset) : got;
}

static bool cannot_by_kernel(int number)
{
	return number == EXDEV || number == ENOSYS || number == EOPNOTSUPP || number == EINVAL ||
		number == EPERM || number == EIO;
}

int copy_bytes(
	int from, uint64_t from_offset, int to, uint64_t to_offset, uint64_t len, uint64_t *count)
{
	bool by_kernel = true;

	*count = 0;
	while (*count < len) {
		ssize_t n = (by_kernel ? copy_by_kernel : copy_by_hand)(
			from, from_offset + *count, to, to_offset + *count, len - *count);

		if (n > 0) {
			*count += (uint64_t)n;
		} else if (n < 0 && errno == EINTR) {
			continue;
		} else if (by_kernel && (n == 0 || cannot_by_kernel(errno))) {
			/*
			 * Some file systems return 0 for "unsupported": a read finds the real end.
			 */
			by_kernel = false;
		} else {
			return n < 0 ? -1 : 0;
		}
	}
	return 0;
}
