/*
 * command.h - a command of sandboxctl: a row of the table in commands.c, and a file of its own
 * here.
 *
 *      sandboxctl NAME [options] ARGUMENTS
 *
 * To add one: write ctl/NAME.c, which defines `const struct ctl_command ctl_NAME`, declare it below
 * and add its line to commands.c. A command parses its words into a struct of its own (ctl_parse),
 * then acts. It returns its error, and the main function prints that in one line.
 */
#pragma once

#include "providers/base/call.h"
#include "tools/exits.h"
#include "tools/option_values.h"
#include "tools/signals.h"

#include <argp.h>

/* The values of the options that commands share. The texts belong to argv. */
struct ctl_common {
	bool json;            /* --json */
	const char *key_file; /* --key-file FILE; NULL: the environment */
	/* --url URL: of the provider's API; NULL: the environment's, or the vendor's */
	const char *url;
	bool insecure_http;  /* --insecure-http: a URL of http may lead to another machine */
	const char *user;    /* --user NAME: in the sandbox; NULL: its default */
	const char *app;     /* --app NAME: as in struct provider_config */
	int64_t ready_ms;    /* --ready-timeout SECONDS, as in base/call.h; 0: the default */
	int64_t progress_ms; /* --progress-timeout SECONDS, as in base/call.h; 0: the default */
	const struct cancel *cancel; /* thrown by INT, TERM and HUP; NULL: CTL_OWN_SIGNALS */
};

enum ctl_flags {
	CTL_JSON = 1,    /* takes --json */
	CTL_ACCOUNT = 2, /* asks a provider: takes --key-file and --progress-timeout */
	CTL_USER = 4,    /* works as a user of the sandbox: takes --user */
	/* The arguments end in a command line, whose own options are not parsed. */
	CTL_COMMAND_LINE = 8,
	/*
	 * The command handles INT, TERM and HUP itself. In all other commands these signals cancel
	 * the call under way (signals.h).
	 */
	CTL_OWN_SIGNALS = 16,
};

/* One run of one command. */
struct ctl_run {
	const struct ctl_command *command;
	int argc;
	char **argv;             /* argv[0] is "sandboxctl NAME" */
	struct signals *signals; /* NULL: CTL_OWN_SIGNALS */
	mode_t file_mask;        /* the umask of the caller (base/inherited.h) */
	/*
	 * The exit status (exits.h). 0 at first, which becomes CTL_FAILED where run() fails. A
	 * command that promises another status sets it before it can fail.
	 */
	int status;
};

struct ctl_command {
	const char *name;
	const char *arguments; /* for the command's --help: "[PROVIDER...]" */
	const char *summary;   /* one line without a full stop */
	/* paragraphs below the options in the command's --help; NULL: none */
	const char *details;
	unsigned flags; /* enum ctl_flags */
	/*
	 * The command's own options, and the parser of these and of its arguments; its input is the
	 * argument of ctl_parse(). Wrong words: ctl_usage(). Neither args_doc nor doc: those are
	 * made from the fields above. NULL: takes no words.
	 */
	const struct argp *argp;
	enum err (*run)(struct ctl_run *run, struct error *e);
};

/* The commands, in the order of --help. */
extern const struct ctl_command ctl_create;
extern const struct ctl_command ctl_list;
extern const struct ctl_command ctl_info;
extern const struct ctl_command ctl_delete;
extern const struct ctl_command ctl_gc;
extern const struct ctl_command ctl_pause;
extern const struct ctl_command ctl_resume;
extern const struct ctl_command ctl_extend;
extern const struct ctl_command ctl_snapshot;
extern const struct ctl_command ctl_fork;
extern const struct ctl_command ctl_logs;
extern const struct ctl_command ctl_exec;
extern const struct ctl_command ctl_run;
extern const struct ctl_command ctl_session;
extern const struct ctl_command ctl_push;
extern const struct ctl_command ctl_pull;
extern const struct ctl_command ctl_url;
extern const struct ctl_command ctl_network;
extern const struct ctl_command ctl_start;
extern const struct ctl_command ctl_status;
extern const struct ctl_command ctl_sync;
extern const struct ctl_command ctl_journal;
extern const struct ctl_command ctl_doctor;
extern const struct ctl_command ctl_with;

/* The command of that name; NULL: there is none. */
const struct ctl_command *ctl_find(const char *name);
/* All commands, from 0 on; NULL: past the last. */
const struct ctl_command *ctl_at(size_t index);

/* Prints the text of `sandboxctl --help`. */
void ctl_print_help(void);

/*
 * The tables of a command's options, its own and the shared ones, ended by an empty table. Also
 * used for documentation.
 */
#define CTL_TABLES_MAX 4
void ctl_tables(const struct ctl_command *command, struct argp_child out[CTL_TABLES_MAX + 1]);

/*
 * Reads the words of `run` into `input`, which the command's parser knows, and into `common`.
 * --help ends the program. ERR_INVALID: wrong words, with a remedy; the run's status is then
 * CTL_WRONG_USAGE.
 */
enum err ctl_parse(struct ctl_run *run, void *input, struct ctl_common *common, struct error *e);

/* An option that has a value. */
struct ctl_value {
	int key;              /* argp's key */
	const char *name;     /* as the user knows it, for messages: "--timeout=" */
	const char *argument; /* the value's name for people: "SECONDS" */
	option_setter *set;
	size_t offset; /* offset of the field in the parser's input */
};

/*
 * For parsers: puts `value` into the field of state->input in the row of `key`; `rows` are ended by
 * a key 0. ARGP_ERR_UNKNOWN: there is no such row.
 */
error_t ctl_take_value(
	const struct ctl_value *rows, int key, const char *value, const struct argp_state *state);

/* For parsers: prints a sentence about wrong words; the parser returns the result. */
__attribute__((format(printf, 2, 3))) error_t ctl_usage(
	const struct argp_state *state, const char *format, ...);
