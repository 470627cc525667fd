#include "fs/errmap.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>

TestSuite(errmap, .timeout = 300);

Test(errmap, success_is_no_errno)
{
	cr_assert(eq(int, errmap_errno(ERR_OK), 0));
}

Test(errmap, every_kind_has_an_errno)
{
	static const struct {
		enum err kind;
		const char *words;
	} rows[] = {
#define X(kind, number, words) { ERR_##kind, words },
		ERR_KINDS(X)
#undef X
	};

	for (size_t i = 1; i < sizeof rows / sizeof *rows; i++)
		cr_expect(errmap_errno(rows[i].kind) > 0, "%s", rows[i].words);
}

/* Kinds that several errnos or none of a local call lead to are not among these. */
Test(errmap, an_errno_of_the_sandbox_comes_back_as_itself)
{
	static const int numbers[] = { ENOENT, EEXIST, EACCES, EPERM, ENOTDIR, EISDIR, ENOTEMPTY,
		EINVAL, ENAMETOOLONG, ELOOP, EXDEV, EMLINK, EFBIG, ENOSPC, EDQUOT, EROFS, ETXTBSY,
		EBUSY, ENODATA, ERANGE, ENXIO, EOPNOTSUPP, ESTALE, EIO, ENOMEM, ETIMEDOUT, EINTR,
		E2BIG, EMFILE, EOVERFLOW };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		cr_expect(eq(int, errmap_errno(error_from_errno(numbers[i])), numbers[i]));
}

Test(errmap, a_number_that_is_no_kind_is_an_io_error)
{
	cr_assert(eq(int, errmap_errno((enum err)9999), EIO));
}
