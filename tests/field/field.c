/*
 * Prints a value of the JSON on standard input, for scripts that ask hundreds of times: an
 * interpreter takes twenty times as long to begin.
 *
 *	field NAME    the object's value: a text as it is, others as JSON. Exit status 1: no value
 *	field         how many values an array has
 */
#include <json-c/json.h>
#include <stdio.h>
#include <unistd.h>

#define ROOM (64 << 10)

/* NULL: the input is no JSON, or does not end. */
static struct json_object *read_all(void)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *all = NULL;
	char text[ROOM];
	ssize_t got;

	while (!all && (got = read(STDIN_FILENO, text, sizeof text)) > 0)
		all = json_tokener_parse_ex(tokener, text, (int)got);
	json_tokener_free(tokener);
	return all;
}

static int print_field(struct json_object *all, const char *name)
{
	struct json_object *value = NULL;
	const char *text;

	if (!json_object_object_get_ex(all, name, &value))
		return 1;
	text = value ? json_object_get_string(value) : "null";
	if (json_object_is_type(value, json_type_string))
		fwrite(text, 1, (size_t)json_object_get_string_len(value), stdout);
	else
		fputs(text, stdout);
	putchar('\n');
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct json_object *all = read_all();
	int status = 1;

	if (argc == 2 && json_object_is_type(all, json_type_object))
		status = print_field(all, argv[1]);
	else if (argc == 1 && json_object_is_type(all, json_type_array))
		status = printf("%zu\n", json_object_array_length(all)) < 0;
	json_object_put(all);
	if (status)
		fprintf(stderr, "field %s: not in the input\n", argc > 1 ? argv[1] : "");
	return status;
}
