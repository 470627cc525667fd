/* Messages in a stream of bytes, in any pieces, and messages that are refused. */
#include "providers/base/cleanup.h"
#include "providers/modal/grpc_frames.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(modal_frames, .timeout = 300);

#define AUTO_FRAMES __attribute__((cleanup(grpc_frames_release)))

static enum err add(struct grpc_frames *f, const char *bytes, size_t len)
{
	return grpc_frames_add(f, bytes, len, NULL);
}
#define ADD(f, literal) add(f, literal, sizeof(literal) - 1)

static void expect_message(struct grpc_frames *f, const char *want)
{
	const unsigned char *bytes;
	struct error e = { 0 };
	size_t len;

	cr_assert(eq(int, grpc_frames_next(f, &bytes, &len, &e), ERR_OK), "%s", e.text);
	cr_assert(ne(ptr, (void *)bytes, NULL), "%s is not there", want);
	cr_assert(eq(sz, len, strlen(want)));
	cr_expect(eq(int, memcmp(bytes, want, len), 0), "%s", want);
}

static void expect_none(struct grpc_frames *f)
{
	const unsigned char *bytes;
	struct error e = { 0 };
	size_t len;

	cr_expect(not(grpc_frames_has(f)));
	cr_assert(eq(int, grpc_frames_next(f, &bytes, &len, &e), ERR_OK), "%s", e.text);
	cr_expect(eq(ptr, (void *)bytes, NULL));
}

static void expect_refused(struct grpc_frames *f, const char *why)
{
	const unsigned char *bytes;
	struct error e = { 0 };
	size_t len;

	cr_expect(grpc_frames_has(f), "whoever waits for it is not told");
	cr_expect(eq(int, grpc_frames_next(f, &bytes, &len, &e), ERR_PROTOCOL));
	cr_expect(ne(ptr, strstr(e.text, why), NULL), "%s", e.text);
	cr_expect(eq(ptr, (void *)bytes, NULL));
}

Test(modal_frames, several_in_one_piece_and_one_in_several)
{
	AUTO_FRAMES struct grpc_frames f = GRPC_FRAMES_INIT("it");

	expect_none(&f);
	cr_assert(eq(int, ADD(&f, "\0\0\0\0\3one\0\0\0\0\0\0\0\0\0\3t"), ERR_OK));
	expect_message(&f, "one");
	expect_message(&f, "");
	expect_none(&f);
	cr_expect(grpc_frames_is_cut(&f));
	cr_assert(eq(int, ADD(&f, "wo"), ERR_OK));
	expect_message(&f, "two");
	expect_none(&f);
	cr_expect(not(grpc_frames_is_cut(&f)));
}

Test(modal_frames, a_compressed_one_is_refused_also_behind_another)
{
	AUTO_FRAMES struct grpc_frames f = GRPC_FRAMES_INIT("it");

	cr_assert(eq(int, ADD(&f, "\0\0\0\0\3one\1\0\0\0\3two"), ERR_OK));
	expect_message(&f, "one");
	expect_refused(&f, "compressed");
}

/* 100 MiB are 0x6400000. */
Test(modal_frames, a_length_beyond_the_limit_is_refused_before_its_bytes_come)
{
	AUTO_FRAMES struct grpc_frames most = GRPC_FRAMES_INIT("it");
	AUTO_FRAMES struct grpc_frames more = GRPC_FRAMES_INIT("it");
	AUTO_FRAMES struct grpc_frames behind = GRPC_FRAMES_INIT("it");

	cr_assert(eq(int, ADD(&most, "\0\x06\x40\0\0"), ERR_OK));
	expect_none(&most);
	cr_assert(eq(int, ADD(&more, "\0\x06\x40\0\1"), ERR_OK));
	expect_refused(&more, "more than 100 MiB");
	cr_expect(lt(sz, more.in.room, 4096));
	cr_assert(eq(int, ADD(&behind, "\0\0\0\0\1a\0\xff\xff\xff\xff"), ERR_OK));
	expect_message(&behind, "a");
	expect_refused(&behind, "more than 100 MiB");
}
