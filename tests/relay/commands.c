#include "tests/relay/commands.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECOND      1e9
#define MILLISECOND 1e6
/* Larger numbers are of no use, and times of nanoseconds must not overflow. */
#define NUMBER_MAX 1e9

static int64_t seconds_from_now(double seconds)
{
	return loop_now() + (int64_t)(seconds * SECOND);
}

static void cut(struct relay *r, double unused)
{
	(void)unused;
	relay_cut(r);
}

static void refuse(struct relay *r, double seconds)
{
	relay_refuse(r, seconds_from_now(seconds));
}

static void stall(struct relay *r, double seconds)
{
	relay_stall(r, seconds > 0 ? seconds_from_now(seconds) : NEVER);
}

static void resume(struct relay *r, double unused)
{
	(void)unused;
	relay_stall(r, 0);
	r->refusing_until = 0;
}

static void ghost(struct relay *r, double unused)
{
	(void)unused;
	relay_ghost(r);
}

static void lose(struct relay *r, double unused)
{
	(void)unused;
	relay_lose(r);
}

static void set_delay(struct relay *r, double ms)
{
	r->common.link.delay_ns = (int64_t)(ms * MILLISECOND);
}

static void set_bandwidth(struct relay *r, double mbit_per_s)
{
	r->common.link.mbit_per_s[TO_SERVER] = mbit_per_s;
	r->common.link.mbit_per_s[TO_CLIENT] = mbit_per_s;
}

static void set_reset_after(struct relay *r, double bytes)
{
	r->common.reset_after = (uint64_t)bytes;
}

static void set_reset_after_from_server(struct relay *r, double bytes)
{
	r->common.reset_after_from_server = (uint64_t)bytes;
}

static void zero(struct relay *r, double unused)
{
	(void)unused;
	r->common.counters = (struct counters){ 0 };
}

static void tell_counters(struct relay *r, double unused)
{
	(void)r;
	(void)unused;
}

static const struct command {
	const char *name;
	bool takes_number;
	void (*run)(struct relay *r, double number);
} table[] = {
	{ "cut", false, cut },
	{ "refuse", true, refuse },
	{ "stall", true, stall },
	{ "resume", false, resume },
	{ "ghost", false, ghost },
	{ "lose", false, lose },
	{ "delay", true, set_delay },
	{ "bandwidth", true, set_bandwidth },
	{ "reset-after", true, set_reset_after },
	{ "reset-after-from-server", true, set_reset_after_from_server },
	{ "zero", false, zero },
	{ "counters", false, tell_counters },
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

static bool parse_number(const char *word, double *number)
{
	char *end;

	if (!word)
		return false;
	*number = strtod(word, &end);
	return end != word && !*end && isfinite(*number) && *number >= 0 && *number <= NUMBER_MAX;
}

const char *command_run(struct relay *r, char *line)
{
	char *rest = NULL, *name = strtok_r(line, " ", &rest);
	char *word = strtok_r(NULL, " ", &rest);
	const struct command *command = name ? find(name) : NULL;
	double number = 0;

	if (!command)
		return "no such command";
	if (command->takes_number ? !parse_number(word, &number) : word != NULL)
		return command->takes_number ? "takes a number from 0 to 1e9" : "takes no number";
	if (strtok_r(NULL, " ", &rest))
		return "takes one number";
	command->run(r, number);
	return NULL;
}
