#include "tools/source.h"

#include "providers/base/cleanup.h"
#include "providers/provider.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

static bool says(const char *text, const char *part)
{
	return strstr(text, part) != NULL;
}

TestSuite(source, .timeout = 300);

Test(source, is_a_provider_an_id_and_a_path)
{
	static const struct {
		const char *text, *id, *path;
	} rows[] = {
		{ "local:", NULL, NULL },
		{ "local:demo", "demo", NULL },
		{ "local:demo:/home/user", "demo", "/home/user" },
		{ "local::/home/user", NULL, "/home/user" },
		{ "local:a.b_C-9:sub/dir", "a.b_C-9", "sub/dir" },
		{ "local:x:/a:b", "x", "/a:b" },
		{ "local:x:/..a/b..", "x", "/..a/b.." },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_SOURCE struct source s = { 0 };
		struct error e = { 0 };

		cr_assert(eq(int, source_parse(&s, rows[i].text, &e), ERR_OK), "%s: %s",
			rows[i].text, e.text);
		cr_expect(eq(str, (char *)s.ops->name, "local"));
		cr_expect(eq(int, !s.id, !rows[i].id), "%s", rows[i].text);
		cr_expect(eq(int, !s.path, !rows[i].path), "%s", rows[i].text);
		if (s.id)
			cr_expect(eq(str, s.id, (char *)rows[i].id));
		if (s.path)
			cr_expect(eq(str, s.path, (char *)rows[i].path));
	}
}

Test(source, has_the_id_that_its_provider_knows)
{
	static const struct {
		const char *text, *id, *path;
	} rows[] = {
		{ "ssh:", NULL, NULL },
		{ "ssh:host", "host", NULL },
		{ "ssh:host:/srv", "host", "/srv" },
		{ "ssh:host:work", "host", "work" },
		{ "ssh:host:2222", "host:2222", NULL },
		{ "ssh:host:./2222", "host", "./2222" },
		{ "ssh:host:2222x", "host", "2222x" },
		{ "ssh:me@host.example:22:/a:b", "me@host.example:22", "/a:b" },
		{ "ssh:[::1]:/srv", "[::1]", "/srv" },
		{ "ssh:me@[fe80::1%eth0]:22:/srv", "me@[fe80::1%eth0]:22", "/srv" },
		{ "docker:c.1:/srv", "c.1", "/srv" },
		{ "command:ssh host", "ssh host", NULL },
		{ "command:a:b /c:/srv/x", "a:b /c", "/srv/x" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_SOURCE struct source s = { 0 };
		struct error e = { 0 };

		cr_assert(eq(int, source_parse(&s, rows[i].text, &e), ERR_OK), "%s: %s",
			rows[i].text, e.text);
		cr_expect(eq(str, s.id ? s.id : "", (char *)(rows[i].id ? rows[i].id : "")), "%s",
			rows[i].text);
		cr_expect(eq(str, s.path ? s.path : "", (char *)(rows[i].path ? rows[i].path : "")),
			"%s", rows[i].text);
	}
}

Test(source, that_is_malformed_is_named_with_the_way_out)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "'': a source is PROVIDER:[ID][:PATH], as in local:demo" },
		{ "demo", "'demo': a source is PROVIDER:[ID][:PATH], as in local:demo" },
		{ ":demo", "':demo': a source is PROVIDER:[ID][:PATH], as in local:demo" },
		{ "local:x:", "no path after the second colon; leave the colon out" },
		{ "local:..", "an id is letters, digits" },
		{ "local:.hidden", "an id is letters, digits" },
		{ "local:-rf", "an id is letters, digits" },
		{ "local:a/b", "an id is letters, digits" },
		{ "local:a b", "an id is letters, digits" },
		{ "local:a,b", "an id is letters, digits" },
		{ "local:x:..", "'..' in the path" },
		{ "local:x:/a/../b", "'..' in the path" },
		{ "local:x:/a/..", "'..' in the path" },
		{ "ssh:-oProxyCommand=x", "a source is ssh:[USER@]HOST[:PORT][:PATH]" },
		{ "ssh:-l@host", "a source is ssh:[USER@]HOST" },
		{ "ssh:me@-host", "a source is ssh:[USER@]HOST" },
		{ "ssh:@host", "a source is ssh:[USER@]HOST" },
		{ "ssh:me@", "a source is ssh:[USER@]HOST" },
		{ "ssh:a b", "a source is ssh:[USER@]HOST" },
		{ "ssh:[::1", "a source is ssh:[USER@]HOST" },
		{ "ssh:host:", "no path after the second colon" },
		{ "ssh:host:/..", "'..' in the path" },
		{ "command:a\nb", "a command is a line of text" },
		{ ":x", "SANDBOX_PROVIDER is not set" },
		{ "nobody:x", "'nobody:x': unknown provider 'nobody'; known: local" },
		{ "loca:x", "unknown provider 'loca'" },
		{ "locals:x", "unknown provider 'locals'" },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_SOURCE struct source s = { 0 };
		struct error e = { 0 };

		cr_expect(eq(int, source_parse(&s, rows[i].text, &e), ERR_INVALID), "%s",
			rows[i].text);
		cr_expect(says(e.text, rows[i].says), "%s: %s", rows[i].text, e.text);
		cr_expect(eq(ptr, s.id, NULL));
		cr_expect(eq(ptr, s.path, NULL));
	}
}

Test(source, has_an_id_and_a_path_that_fit)
{
	char text[2000];
	AUTO_SOURCE struct source s = { 0 };
	struct error e = { 0 };

	memset(text, 'a', sizeof text);
	memcpy(text, "local:", 6);
	text[6 + 127] = '\0';
	cr_assert(eq(int, source_parse(&s, text, &e), ERR_OK), "%s", e.text);
	source_release(&s);

	text[6 + 127] = 'a';
	text[6 + 128] = '\0';
	cr_expect(eq(int, source_parse(&s, text, &e), ERR_INVALID));
	cr_expect(says(e.text, "128 bytes, at most 127"), "%s", e.text);

	memset(text, 'a', sizeof text);
	memcpy(text, "local:x:/", 9);
	text[9 + 1023] = '\0';
	cr_expect(eq(int, source_parse(&s, text, &e), ERR_INVALID));
	cr_expect(says(e.text, "1024 bytes, at most 1023"), "%s", e.text);
}

Test(source, reads_back_with_the_id_that_was_made)
{
	AUTO_SOURCE struct source bare = { 0 }, with_path = { 0 };

	cr_assert(eq(int, source_parse(&bare, "local:", NULL), ERR_OK));
	cr_assert(eq(int, source_parse(&with_path, "local::/work", NULL), ERR_OK));

	AUTO_FREE char *bare_text = source_text(&bare, "new-1");
	AUTO_FREE char *path_text = source_text(&with_path, "new-1");

	cr_expect(eq(str, bare_text, "local:new-1"));
	cr_expect(eq(str, path_text, "local:new-1:/work"));
}
