#include "tests/providers/outside_there.h"

#include "providers/base/cleanup.h"

static void add_name(struct buf *command, const char *name)
{
	buf_add_string(command, " '");
	for (; *name; name++)
		if (*name == '\'')
			buf_add_string(command, "'\\''");
		else
			buf_add_byte(command, (unsigned char)*name);
	buf_add_string(command, "'");
}

struct ran there_with(const struct subject *s, const char *script, const char *one, const char *two,
	const void *input, size_t len)
{
	AUTO_BUF struct buf command = BUF_INIT(65536);
	struct execute_request request = { .input = input, .input_len = len };

	buf_add_string(&command, "export LC_ALL=C; set --");
	add_name(&command, one);
	add_name(&command, two);
	buf_printf(&command, "\n%s", script);
	cr_assert(not(command.failed));
	request.command = buf_text(&command);
	return run_request(s, NULL, &request);
}

void must_have_run(const struct ran *r, const char *script)
{
	cr_assert(eq(int, r->err, ERR_OK), "%s: %s", script, r->why.text);
	cr_assert(eq(int, r->result.exit_code, 0), "%s: %s", script, buf_text(&r->err_out));
}

char *say_there(const struct subject *s, const char *script, const char *path, size_t *len)
{
	AUTO_RAN struct ran r = there_with(s, script, path, "", NULL, 0);
	char *said;

	must_have_run(&r, script);
	said = malloc(r.out.len + 1);
	cr_assert(said != NULL);
	memcpy(said, buf_text(&r.out), r.out.len);
	said[r.out.len] = 0;
	if (len)
		*len = r.out.len;
	return said;
}

void do_there(const struct subject *s, const char *script, const char *one, const char *two)
{
	AUTO_RAN struct ran r = there_with(s, script, one, two, NULL, 0);

	must_have_run(&r, script);
}

bool is_so_there(const struct subject *s, const char *script, const char *path)
{
	AUTO_RAN struct ran r = there_with(s, script, path, "", NULL, 0);

	cr_assert(eq(int, r.err, ERR_OK), "%s: %s", script, r.why.text);
	return r.result.exit_code == 0;
}
