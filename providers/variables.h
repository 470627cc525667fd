/*
 * variables.h - the environment variables with a vendor's address and key. sandboxfs-providers(7)
 * is made from this table.
 *
 * The names, and their precedence, are those of the vendor's own SDK. An empty variable counts as
 * not set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum variable_role {
	VARIABLE_OTHER,
	VARIABLE_KEY,   /* a key, or one of its halves */
	VARIABLE_TOKEN, /* replaces a key */
	VARIABLE_URL,   /* the base URL of the vendor's API */
	VARIABLE_PORT,  /* a port for that URL, where it has none */
};

struct variable {
	const char *provider; /* as in provider_ops.name; "": all providers */
	const char *name;
	enum variable_role role;
	const char *otherwise; /* the value where the variable is not set; NULL: none */
	const char *help;      /* `otherwise` follows it in sandboxfs-providers(7) */
};

/* All variables, from 0 on; NULL: past the last. */
const struct variable *variable_at(size_t index);
/* The variables of one role, in the order in which they count. */
const struct variable *variable_of(const char *provider, enum variable_role role, size_t index);

/*
 * Takes the values of the whole table out of the environment and overwrites them there, so that
 * /proc/PID/environ and programs that this process starts have no key. The functions below still
 * find the values. To be called once, before threads start.
 */
void variables_hide(void);

/*
 * Replaces the variable's value: for the functions below and, unless the table is hidden, for
 * programs that this process starts. To be called before threads start. false: no memory.
 */
bool variable_choose(const struct variable *v, const char *value);
/* `name` stands in the table. */
bool variable_choose_named(const char *name, const char *value);

/* Whether the value of `name`, of the table, was chosen in this process. */
bool variable_is_chosen(const char *name);

/* NULL: not set. */
const char *variable_value(const struct variable *v);
/* `name` stands in the table. NULL: not set; for variable(): and `otherwise` is NULL. */
const char *variable_set(const char *name);
const char *variable(const char *name);
/* The first variable of that role which is set. NULL: none is. */
const struct variable *variable_chosen(const char *provider, enum variable_role role);
/* The value of that variable, or `otherwise` of the first variable of the role. */
const char *variable_first(const char *provider, enum variable_role role);
