#include "tests/relay/connection.h"

#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <sys/socket.h>

#define CHUNK_MAX 65536
/* How soon to check again whether earlier bytes have been received. */
#define RETRY_NS 1000000

static struct endpoint *sender(struct connection *c, enum direction d)
{
	return &c->ends[d];
}

static struct endpoint *receiver(struct connection *c, enum direction d)
{
	return &c->ends[!d];
}

/*
 * The client's first byte goes with the handshake's last packet, after one and a half round trips.
 */
static int64_t handshake_ns(const struct link *l)
{
	return l->without_handshake ? 0 : 3 * l->delay_ns;
}

struct connection *connection_new(struct common *common, int client, int64_t now)
{
	struct connection *c = calloc(1, sizeof *c);

	if (!c)
		err(2, "a connection");
	c->ends[TO_CLIENT].fd = -1;
	c->last_sent = TO_CLIENT;
	c->moved_at = now;
	c->reaches_server_at = now + handshake_ns(&common->link);
	flow_init(&c->flows[TO_SERVER]);
	flow_init(&c->flows[TO_CLIENT]);
	endpoint_open(&c->ends[TO_SERVER], &common->loop, client);
	common->counters.connections++;
	return c;
}

void connection_free(struct connection *c, struct common *common, enum connection_state why)
{
	for (int d = 0; d < DIRECTIONS; d++) {
		endpoint_close(&c->ends[d], why == CONNECTION_RESET);
		flow_release(&c->flows[d]);
	}
	common->counters.resets += why == CONNECTION_RESET;
	free(c);
}

void connection_silence(struct connection *c)
{
	c->is_ghost = true;
	/* A client that had ended its direction before is not gone. */
	c->ends[TO_SERVER].is_hung_up = false;
}

void connection_lose(struct connection *c)
{
	connection_silence(c);
	c->is_lost = true;
}

/* The kernel drops the client's bytes before TCP gets them. */
static void drop_what_comes(const struct endpoint *client)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = { .len = 1, .filter = &nothing };

	if (setsockopt(client->fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program))
		err(2, "a filter that drops what comes");
}

/*
 * TCP would send unacknowledged data to the client again, and show that the client can be reached.
 */
static void lose_client(struct connection *c, int64_t now, int64_t *next)
{
	if (endpoint_unsent(&c->ends[TO_SERVER])) {
		*next = earlier(*next, now + RETRY_NS);
		return;
	}
	drop_what_comes(&c->ends[TO_SERVER]);
	c->is_lost = false;
}

/* ---- Towards the server ---- */

/*
 * Does not wait. A refusal of the server is read from the socket later, and travels to the client
 * as a reset.
 */
static bool call_server(struct connection *c, const struct common *common)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return false;
	endpoint_open(&c->ends[TO_CLIENT], &common->loop, fd);
	return !connect(fd, (const struct sockaddr *)&common->server, sizeof common->server) ||
		errno == EINPROGRESS;
}

static bool has_server(const struct connection *c)
{
	return c->ends[TO_CLIENT].fd >= 0;
}

/* ---- From the sender onto the link ---- */

static uint64_t remaining(uint64_t limit, uint64_t sent)
{
	if (!limit)
		return UINT64_MAX;
	return limit > sent ? limit - sent : 0;
}

/* How many bytes may still pass in this direction before the connection is to be reset. */
static uint64_t allowed(const struct connection *c, const struct common *common, enum direction d)
{
	uint64_t sent = c->bytes[TO_SERVER] + c->bytes[TO_CLIENT];
	uint64_t both = remaining(common->reset_after, sent), own = UINT64_MAX;

	if (d == TO_CLIENT)
		own = remaining(common->reset_after_from_server, c->bytes[TO_CLIENT]);
	return own < both ? own : both;
}

static void count(
	struct connection *c, struct counters *counters, enum direction d, size_t len, int64_t now)
{
	c->moved_at = now;
	c->bytes[d] += len;
	counters->bytes[d] += len;
	counters->reads[d]++;
	counters->turns += d == TO_SERVER && c->last_sent == TO_CLIENT;
	c->last_sent = d;
}

/*
 * Loses a connection on which nothing has moved for `forget_ns`, as a NAT forgets it. A ghost never
 * moves, and stays.
 */
static void forget_idle(struct connection *c, const struct link *l, int64_t now, int64_t *next)
{
	int64_t due = c->moved_at + l->forget_ns;

	if (!l->forget_ns || c->is_ghost)
		return;
	if (due <= now)
		connection_lose(c);
	else
		*next = earlier(*next, due);
}

static void send_bytes(struct connection *c, struct common *common, enum direction d,
	const char *bytes, size_t len, int64_t now)
{
	uint64_t left = allowed(c, common, d);
	size_t passed = len < left ? len : (size_t)left;
	int64_t arrival = link_carry(&common->link, d, passed, now);

	if (d == TO_SERVER && arrival < c->reaches_server_at)
		arrival = c->reaches_server_at;
	count(c, &common->counters, d, passed, now);
	flow_send(&c->flows[d], bytes, passed, arrival);
	if (common->link.slow_start)
		window_sent(&c->flows[d].window, &common->link, passed, now, arrival);
	if (passed == left)
		flow_end(&c->flows[d], SEGMENT_RESET, arrival);
}

/*
 * When the flow may take more from its sender: now or earlier, later, or NEVER if only an event can
 * change it.
 */
static int64_t sends_at(
	struct connection *c, const struct common *common, enum direction d, int64_t now)
{
	struct flow *f = &c->flows[d];

	if (!sender(c, d)->is_readable || f->is_ended)
		return NEVER;
	if (!flow_room(f, &common->link, now))
		return common->link.slow_start ? window_opens_at(&f->window) : NEVER;
	return link_admits_at(&common->link, d);
}

static void take_from_sender(
	struct connection *c, struct common *common, enum direction d, int64_t now)
{
	char bytes[CHUNK_MAX];
	size_t room = flow_room(&c->flows[d], &common->link, now);
	size_t chunk = link_chunk(&common->link, d);
	ssize_t got = endpoint_read(sender(c, d), bytes, room < chunk ? room : chunk);
	int64_t arrival = now + common->link.delay_ns;

	if (got > 0)
		send_bytes(c, common, d, bytes, (size_t)got, now);
	else if (got == 0)
		flow_end(&c->flows[d], SEGMENT_END, arrival);
	else if (errno != EAGAIN && errno != EINTR)
		flow_end(&c->flows[d], SEGMENT_RESET, arrival);
}

/* ---- From the link to the receiver ---- */

/* Bytes from before a reset must be received first, or the reset would destroy them. */
static bool reset_is_due(struct connection *c, enum direction d, struct segment *reset, int64_t now)
{
	if (!endpoint_unsent(receiver(c, d)))
		return true;
	reset->arrives_at = now + RETRY_NS;
	return false;
}

/* false: the receiver is gone. */
static bool pass_bytes(struct connection *c, enum direction d, struct segment *s)
{
	ssize_t put = endpoint_write(receiver(c, d), s->data + s->taken, s->len - s->taken);

	if (put < 0)
		return errno == EAGAIN || errno == EINTR;
	flow_took(&c->flows[d], s, (size_t)put);
	return true;
}

static enum connection_state pass_on(
	struct connection *c, enum direction d, struct segment *s, int64_t now)
{
	switch (s->kind) {
	case SEGMENT_DATA: return pass_bytes(c, d, s) ? CONNECTION_OPEN : CONNECTION_RESET;
	case SEGMENT_RESET: return reset_is_due(c, d, s, now) ? CONNECTION_RESET : CONNECTION_OPEN;
	case SEGMENT_END: break;
	}
	endpoint_end(receiver(c, d));
	c->flows[d].has_arrived = true;
	return CONNECTION_OPEN;
}

static enum connection_state give_to_receiver(struct connection *c, enum direction d, int64_t now)
{
	struct flow *f = &c->flows[d];

	while (receiver(c, d)->is_writable && flow_arrives_at(f) <= now) {
		struct segment *s = flow_first(f);
		enum connection_state state = pass_on(c, d, s, now);

		if (state != CONNECTION_OPEN)
			return state;
		if (s->taken == s->len && s->arrives_at <= now)
			flow_drop(f, s);
	}
	return CONNECTION_OPEN;
}

/* ---- Both directions ---- */

static enum connection_state advance_flow(
	struct connection *c, struct common *common, enum direction d, int64_t now, int64_t *next)
{
	enum connection_state state;

	if (sends_at(c, common, d, now) <= now)
		take_from_sender(c, common, d, now);
	state = give_to_receiver(c, d, now);
	*next = earlier(*next, sends_at(c, common, d, now));
	if (receiver(c, d)->is_writable)
		*next = earlier(*next, flow_arrives_at(&c->flows[d]));
	return state;
}

enum connection_state connection_advance(
	struct connection *c, struct common *common, int64_t now, int64_t *next)
{
	enum connection_state state = CONNECTION_OPEN;

	forget_idle(c, &common->link, now, next);
	if (c->is_lost)
		lose_client(c, now, next);
	if (c->is_ghost)
		return c->ends[TO_SERVER].is_hung_up ? CONNECTION_RESET : CONNECTION_OPEN;
	if (!has_server(c)) {
		*next = earlier(*next, c->reaches_server_at);
		if (c->reaches_server_at <= now && !call_server(c, common))
			return CONNECTION_RESET;
	}
	for (int d = 0; d < DIRECTIONS && state == CONNECTION_OPEN; d++)
		state = advance_flow(c, common, d, now, next);
	if (c->flows[TO_SERVER].has_arrived && c->flows[TO_CLIENT].has_arrived)
		return CONNECTION_ENDED;
	return state;
}
