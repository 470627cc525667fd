#include "tools/setup_script.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>

TestSuite(setup_script, .timeout = 300);

Test(setup_script, names_become_what_is_set_here)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "$NAME", "value" },
		{ "${NAME}", "value" },
		{ "a$NAME.b${NAME}c", "avalue.bvaluec" },
		{ "'$NAME' \"$NAME\"", "'value' \"value\"" },
		{ "$NAME2", "two" },
		{ "$EMPTY|", "|" },
		/* Unknown names, and what is no name, stay. */
		{ "$UNKNOWN ${UNKNOWN}", "$UNKNOWN ${UNKNOWN}" },
		{ "$1 $(NAME) ${NAME:-y} ${NAME ${} $", "$1 $(NAME) ${NAME:-y} ${NAME ${} $" },
		{ "$NAM\xc3\xa9", "$NAM\xc3\xa9" },
		{ "$$NAME $$$NAME $$$$", "$NAME $value $$" },
	};

	setenv("NAME", "value", 1);
	setenv("NAME2", "two", 1);
	setenv("EMPTY", "", 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf out = BUF_INIT(1000);

		setup_expand(rows[i].text, strlen(rows[i].text), &out);
		cr_expect(
			eq(str, (char *)buf_text(&out), (char *)rows[i].want), "%s", rows[i].text);
	}
}
