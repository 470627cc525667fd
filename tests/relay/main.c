/*
 * main.c - a link between a client and a server on this machine: slow, narrow, and failing on
 * command.
 *
 *	relay [--delay=MS] [--bandwidth=MBIT] [--control=PATH] ... SERVER_PORT
 *	relay --tell=PATH COMMAND [NUMBER]
 *
 * The first prints {"port": N} when it accepts connections on that port of the loopback interface,
 * and ends with TERM or INT. The second gives a running one a command (commands.h) and prints its
 * answer, which has the counters.
 *
 * A round trip costs twice the delay, a new connection one round trip more, and 8 bits need their
 * time at the bandwidth (link.h). The kernel's own buffers add nothing to that, but they take up to
 * some megabytes from a sender at once.
 */
#include "tests/relay/control.h"

#include <argp.h>
#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MILLISECOND 1e6

struct options {
	struct link link;
	in_port_t port, server;
	const char *control, *tell;
	char **words;
};

enum {
	OPTION_QUEUE = 256,
	OPTION_WINDOW,
	OPTION_SLOW_START,
	OPTION_NO_HANDSHAKE,
	OPTION_UP,
	OPTION_DOWN,
	OPTION_FORGET
};

static const struct argp_option option_table[] = {
	{ "listen", 'l', "PORT", 0, "Where clients connect (0: a free port)", 0 },
	{ "delay", 'd', "MS", 0, "One way (0)", 0 },
	{ "bandwidth", 'b', "MBIT", 0, "Per second in each direction (0: no limit)", 0 },
	{ "up", OPTION_UP, "MBIT", 0, "Per second to the server", 0 },
	{ "down", OPTION_DOWN, "MBIT", 0, "Per second to the client", 0 },
	{ "forget", OPTION_FORGET, "SECONDS", 0,
		"Connections on which nothing moves for so long are lost (0: none)", 0 },
	{ "queue", OPTION_QUEUE, "MS", 0, "How long bytes may wait for the wire (10)", 0 },
	{ "window", OPTION_WINDOW, "BYTES", 0,
		"Most under way per connection and direction (0: as the link needs)", 0 },
	{ "slow-start", OPTION_SLOW_START, NULL, 0, "Model TCP's slow start", 0 },
	{ "no-handshake", OPTION_NO_HANDSHAKE, NULL, 0, "New connections cost nothing", 0 },
	{ "control", 'c', "PATH", 0, "A unix socket for commands", 0 },
	{ "tell", 't', "PATH", 0, "Give the relay with this control socket a command", 0 },
	{ 0 },
};

static double number(const char *arg, double max, struct argp_state *state)
{
	char *end;
	double value = strtod(arg, &end);

	if (end == arg || *end || !isfinite(value) || value < 0 || value > max)
		argp_error(state, "%s: not a number from 0 to %.0f", arg, max);
	return value;
}

static in_port_t port(const char *arg, struct argp_state *state)
{
	return (in_port_t)number(arg, UINT16_MAX, state);
}

static int64_t milliseconds(const char *arg, struct argp_state *state)
{
	return (int64_t)(number(arg, 1e6, state) * MILLISECOND);
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'l': o->port = port(arg, state); break;
	case 'd': o->link.delay_ns = milliseconds(arg, state); break;
	case 'b':
		o->link.mbit_per_s[TO_SERVER] = number(arg, 1e6, state);
		o->link.mbit_per_s[TO_CLIENT] = o->link.mbit_per_s[TO_SERVER];
		break;
	case OPTION_UP: o->link.mbit_per_s[TO_SERVER] = number(arg, 1e6, state); break;
	case OPTION_DOWN: o->link.mbit_per_s[TO_CLIENT] = number(arg, 1e6, state); break;
	case OPTION_FORGET: o->link.forget_ns = milliseconds(arg, state) * 1000; break;
	case 'c': o->control = arg; break;
	case 't': o->tell = arg; break;
	case OPTION_QUEUE: o->link.queue_ns = milliseconds(arg, state); break;
	case OPTION_WINDOW: o->link.window = (size_t)number(arg, 1e9, state); break;
	case OPTION_SLOW_START: o->link.slow_start = true; break;
	case OPTION_NO_HANDSHAKE: o->link.without_handshake = true; break;
	case ARGP_KEY_ARGS: o->words = state->argv + state->next; break;
	case ARGP_KEY_END:
		if (!o->words || (!o->tell && o->words[1]))
			argp_usage(state);
		if (!o->tell)
			o->server = port(o->words[0], state);
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

/* ---- Ending ---- */

struct ending {
	struct source source;
	int fd;
	bool is_wanted;
};

static void note_signal(struct source *s, uint32_t events)
{
	(void)events;
	((struct ending *)s)->is_wanted = true;
}

static void ending_init(struct ending *e, const struct loop *loop)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	*e = (struct ending){ .source.ready = note_signal };
	e->fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (e->fd < 0)
		err(2, "signalfd");
	loop_add(loop, e->fd, EPOLLIN, &e->source);
}

static int run(const struct options *o)
{
	struct relay relay;
	struct control control;
	struct ending ending;

	relay_init(&relay, &o->link, o->port, o->server);
	ending_init(&ending, &relay.common.loop);
	if (o->control)
		control_init(&control, &relay, o->control);
	printf("{\"port\": %u}\n", relay.listener.port);
	fflush(stdout);
	while (!ending.is_wanted)
		loop_wait(&relay.common.loop, relay_advance(&relay));
	if (o->control)
		control_release(&control);
	close(ending.fd);
	relay_release(&relay);
	return 0;
}

int main(int argc, char **argv)
{
	const struct argp argp = { option_table, take_option,
		"SERVER_PORT\n--tell=PATH COMMAND [NUMBER]",
		"Relays connections to a server on this machine through a link with a delay, a "
		"bandwidth and faults.",
		NULL, NULL, NULL };
	struct options o = { .link.queue_ns = (int64_t)(10 * MILLISECOND) };

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &o))
		return 2;
	return o.tell ? control_tell(o.tell, o.words) : run(&o);
}
