/*
 * variables.h - the environment variables that say where a vendor is and with which key.
 * sandboxfs-providers(7) is made of this table.
 *
 * The names, and which of two counts first, are those of the vendor's own SDK. A variable that is
 * empty is not set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum variable_role {
	VARIABLE_OTHER,
	VARIABLE_KEY,   /* a key, or one of its halves */
	VARIABLE_TOKEN, /* what takes the place of a key */
	VARIABLE_URL,   /* the base URL of the vendor's API */
};

struct variable {
	const char *provider; /* as in provider_ops.name; "": all of them */
	const char *name;
	enum variable_role role;
	const char *otherwise; /* what counts where the variable is not set; NULL: nothing does */
	const char *help;      /* sandboxfs-providers(7) has `otherwise` behind it */
};

/* All of them, from 0 on; NULL: past the last. */
const struct variable *variable_at(size_t index);
/* Those of one role, in the order in which they count. */
const struct variable *variable_of(const char *provider, enum variable_role role, size_t index);

/*
 * Takes the values of the whole table out of the environment and overwrites them there, so that
 * /proc/PID/environ and programs that this process starts have no key. What follows finds the
 * values as before. Before threads start; once.
 */
void variables_hide(void);

/*
 * Gives it a value in place of the one that it has: for what follows here and, unless the table is hidden, for programs
 * that this process starts. Before threads start. false: no memory.
 */
bool variable_choose(const struct variable *v, const char *value);
/* `name` stands in the table. */
bool variable_choose_named(const char *name, const char *value);

/* NULL: not set. */
const char *variable_value(const struct variable *v);
/* `name` stands in the table. NULL: not set; variable(): and nothing counts otherwise. */
const char *variable_set(const char *name);
const char *variable(const char *name);
/* The first of that role which is set. NULL: none is. */
const struct variable *variable_chosen(const char *provider, enum variable_role role);
/* Its value, else what counts otherwise. */
const char *variable_first(const char *provider, enum variable_role role);
