#include "providers/base/buf.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(buf, .timeout = 300);

/* For memory that is not zero by chance: the text before was longer. */
Test(buf, text_ends_where_what_was_reserved_is_filled)
{
	AUTO_BUF struct buf b = BUF_INIT(100);
	unsigned char *room;

	buf_add_string(&b, "something longer");
	buf_reset(&b);
	buf_add_string(&b, "so ");
	room = buf_reserve(&b, 50);
	cr_assert(ne(ptr, room, NULL));
	memcpy(room, "much?", 5);
	buf_filled(&b, 4);
	cr_expect(eq(str, (char *)buf_text(&b), "so much"));
	cr_expect(eq(sz, b.len, 7));
}

Test(buf, nothing_is_reserved_above_the_ceiling)
{
	AUTO_BUF struct buf b = BUF_INIT(8);

	buf_add_string(&b, "12345");
	cr_expect(eq(ptr, buf_reserve(&b, 4), NULL));
	cr_expect(b.failed);
	cr_expect(eq(str, (char *)buf_text(&b), "12345"), "what it held stays");
}

Test(buf, what_failed_once_takes_no_more)
{
	AUTO_BUF struct buf b = BUF_INIT(8);

	buf_add_string(&b, "12345");
	cr_expect(not(buf_add_string(&b, "6789")));
	cr_expect(not(buf_add_string(&b, "6")));
	cr_expect(not(buf_add(&b, "", 0)));
	cr_expect(eq(int, buf_check(&b, "it", NULL), ERR_TOO_LARGE));
	cr_expect(eq(str, (char *)buf_text(&b), "12345"));
}

/* The NUL behind a text has its place, too. */
Test(buf, a_full_buffer_has_room_for_its_end)
{
	AUTO_BUF struct buf b = BUF_INIT(100000);

	for (size_t i = 0; i < 256; i++)
		buf_add_byte(&b, 'x');
	cr_expect(eq(sz, b.len, 256));
	cr_expect(lt(sz, 256, b.room));
}
