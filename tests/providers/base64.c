#include "providers/base/base64.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

TestSuite(base64, .timeout = 300);

static const struct {
	const char *bytes, *text;
} spellings[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "+/+/" },
};

Test(base64, spells_as_the_rfc_does)
{
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		AUTO_BUF struct buf text = BUF_INIT(100);
		AUTO_BUF struct buf bytes = BUF_INIT(100);
		const char *want = spellings[i].text;

		cr_expect(base64_encode(&text, spellings[i].bytes, strlen(spellings[i].bytes)));
		cr_expect(eq(str, (char *)buf_text(&text), (char *)want));
		cr_expect(eq(int, base64_decode(&bytes, want, strlen(want), NULL), ERR_OK));
		cr_expect(eq(str, (char *)buf_text(&bytes), (char *)spellings[i].bytes));
	}
}

Test(base64, carries_any_byte_at_any_length)
{
	unsigned char all[256 + 2];

	for (size_t i = 0; i < sizeof all; i++)
		all[i] = (unsigned char)(i * 7);
	for (size_t len = 0; len <= sizeof all; len++) {
		AUTO_BUF struct buf text = BUF_INIT(1000);
		AUTO_BUF struct buf bytes = BUF_INIT(1000);
		struct error e = { 0 };

		cr_assert(base64_encode(&text, all, len));
		base64_decode(&bytes, buf_text(&text), text.len, &e);
		cr_assert(eq(int, e.kind, ERR_OK), "%s", e.text);
		cr_assert(bytes.len == len && (!len || memcmp(bytes.bytes, all, len) == 0));
	}
}

static const char *const nonsense[] = { "A", "AA", "AAA", "A===", "====", "AA=A", "AA==AAAA",
	"AB==", "AAB=", "AA A", "AAA\n", "AA-_", "\xc3\xa4\x41\x41", "AAAAA===" };

Test(base64, refuses_what_is_not_base64_and_adds_nothing)
{
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
		AUTO_BUF struct buf bytes = BUF_INIT(100);
		enum err kind;

		buf_add_string(&bytes, "kept");
		kind = base64_decode(&bytes, nonsense[i], strlen(nonsense[i]), NULL);
		cr_expect(eq(int, kind, ERR_PROTOCOL), "'%s'", nonsense[i]);
		cr_expect(eq(str, (char *)buf_text(&bytes), "kept"), "'%s'", nonsense[i]);
		cr_expect(eq(sz, bytes.len, 4), "'%s'", nonsense[i]);
	}
}

Test(base64, keeps_below_the_ceiling)
{
	AUTO_BUF struct buf text = BUF_INIT(7);
	AUTO_BUF struct buf bytes = BUF_INIT(5);

	cr_expect(not(base64_encode(&text, "foobar", 6)));
	cr_expect(eq(int, base64_decode(&bytes, "Zm9vYmFy", 8, NULL), ERR_TOO_LARGE));
}
