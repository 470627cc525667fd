#include "providers/e2b/envelope.h"
#include "providers/gzip.h"

#include "providers/base/cleanup.h"
#include "tests/e2b/envd_words.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

/* The messages received, each with a mark behind it. */
static struct buf received = BUF_INIT(16 * 1024 * 1024);
static struct envelopes reader = ENVELOPES_INIT;
static struct buf stream = BUF_INIT(32 * 1024 * 1024);
static struct error e;

static void tear_down(void)
{
	buf_release(&received);
	buf_release(&stream);
	envelopes_release(&reader);
}

TestSuite(connect_envelope, .fini = tear_down, .timeout = 300);

static enum err receive(
	void *context, bool is_end, const void *message, size_t len, struct error *error)
{
	(void)context;
	buf_add(&received, message, len);
	buf_add_string(&received, is_end ? "END" : "|");
	return buf_check(&received, "what was heard", error);
}

static enum err feed(const void *bytes, size_t len)
{
	return envelopes_feed(&reader, bytes, len, receive, NULL, &e);
}

static void say_packed(unsigned flags, const void *message, size_t len)
{
	AUTO_BUF struct buf packed = BUF_INIT(64 * 1024 * 1024);

	cr_assert(gzip_deflate(&packed, message, len));
	say(&stream, flags, packed.bytes, packed.len);
}

Test(connect_envelope, chunk_boundaries_have_nothing_to_do_with_envelopes)
{
	reader.is_gzip = true;
	say(&stream, 0, "first", 5);
	say(&stream, 0, "", 0);
	say_packed(1, "packed", 6);
	say_end_of_stream(&stream, "{}");
	for (size_t size = 1; size <= stream.len; size++) {
		buf_reset(&received);
		reader.is_over = false;
		for (size_t at = 0; at < stream.len; at += size)
			cr_assert(eq(int,
				feed(stream.bytes + at,
					stream.len - at < size ? stream.len - at : size),
				ERR_OK));
		cr_assert(eq(str, (char *)received.bytes, "first||packed|{}END"), "pieces of %zu",
			size);
		cr_assert(reader.is_over);
	}
}

Test(connect_envelope, a_message_in_one_piece_is_not_copied)
{
	say(&stream, 0, "whole", 5);
	cr_assert(eq(int, feed(stream.bytes, stream.len), ERR_OK));
	cr_expect(eq(sz, reader.packed.room, 0));
}

Test(connect_envelope, an_envelope_longer_than_any_of_envd_is_refused_before_it_comes)
{
	cr_expect(eq(int, feed("\x00\x00\x80\x00\x01", 5), ERR_PROTOCOL));
	cr_expect(reader.packed.room < 1024);
}

Test(connect_envelope, a_bomb_is_refused_when_it_is_full)
{
	AUTO_BUF struct buf zeros = BUF_INIT(64 * 1024 * 1024);

	memset(buf_reserve(&zeros, ENVELOPE_MAX + 1), 0, ENVELOPE_MAX + 1);
	reader.is_gzip = true;
	say_packed(1, zeros.bytes, ENVELOPE_MAX + 1);
	cr_assert(stream.len < 100000);
	cr_expect(eq(int, feed(stream.bytes, stream.len), ERR_PROTOCOL));
	cr_expect(eq(sz, received.len, 0));
}

Test(connect_envelope, damaged_and_unannounced_compression_is_refused)
{
	static const struct {
		const char *bytes, *why;
		size_t len;
		bool is_gzip;
	} rows[] = {
		{ "\x01\x00\x00\x00\x01x", "unannounced", 6, false },
		{ "\x01\x00\x00\x00\x05hello", "no gzip", 10, true },
		{ "\x01\x00\x00\x00\x0a\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", "cut off", 15,
			true },
		{ "\x01\x00\x00\x00\x15"
		  "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"
		  "x",
			"bytes behind it", 26, true },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		reader.prefix_len = 0;
		buf_reset(&reader.packed);
		reader.is_gzip = rows[i].is_gzip;
		cr_expect(
			eq(int, feed(rows[i].bytes, rows[i].len), ERR_PROTOCOL), "%s", rows[i].why);
	}
}

Test(connect_envelope, an_empty_message_may_be_flagged_compressed)
{
	reader.is_gzip = true;
	cr_assert(eq(int, feed("\x01\x00\x00\x00\x00", 5), ERR_OK));
	cr_expect(eq(str, (char *)received.bytes, "|"));
}

Test(connect_envelope, unknown_flags_and_bytes_after_the_end_are_refused)
{
	cr_expect(eq(int, feed("\x04\x00\x00\x00\x00", 5), ERR_PROTOCOL));
	reader.prefix_len = 0;
	say_end_of_stream(&stream, "{}");
	buf_add_byte(&stream, 0);
	cr_expect(eq(int, feed(stream.bytes, stream.len), ERR_PROTOCOL));
	cr_expect(eq(str, (char *)received.bytes, "{}END"));
}

Test(connect_envelope, what_is_written_is_read)
{
	cr_assert(envelope_add(&stream, 0, "mine", 4));
	cr_expect(eq(int, memcmp(stream.bytes, "\x00\x00\x00\x00\x04mine", 9), 0));
}
