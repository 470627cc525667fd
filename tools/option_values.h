/*
 * option_values.h - what the value of an option may be: the setters of the table (options.h). `field` is of the type that
 * is named here. A text replaces the one before and is allocated.
 */
#pragma once

#include "tools/options.h"

enum err option_set_flag(
	const struct option *o, const char *value, void *field, struct error *e); /* int */
enum err option_set_text(
	const struct option *o, const char *value, void *field, struct error *e); /* char * */
enum err option_set_dir(
	const struct option *o, const char *value, void *field, struct error *e); /* char * */
enum err option_set_log(
	const struct option *o, const char *value, void *field, struct error *e); /* char * */
enum err option_set_seconds(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t: ms */
enum err option_set_progress(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t: ms */
enum err option_set_threads(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t */
enum err option_set_uid(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t */
enum err option_set_gid(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t */
enum err option_set_choice(
	const struct option *o, const char *value, void *field, struct error *e); /* int */
enum err option_refuse(
	const struct option *o, const char *value, void *field, struct error *e); /* none */

/* char **, ended by NULL: each value is added, allocated. A word is any text. */
enum err option_set_word(const struct option *o, const char *value, void *field, struct error *e);
enum err option_set_variable(
	const struct option *o, const char *value, void *field, struct error *e);
enum err option_set_label(const struct option *o, const char *value, void *field, struct error *e);
enum err option_set_port(const struct option *o, const char *value, void *field,
	struct error *e); /* uint16_t *, ended by 0: added */
enum err option_set_cpus(
	const struct option *o, const char *value, void *field, struct error *e); /* double */
enum err option_set_size(
	const struct option *o, const char *value, void *field, struct error *e); /* int64_t: MiB */
