/*
 * Answers to a client: every decoder of an answer, and whole answers to a client's calls.
 *
 * A record has one spelling, so a decoded record must encode to the same bytes again. Of the
 * input's first byte, bits 0, 1 and 3 choose the verb of the request, and bit 2 whether the rest is
 * a stream of frames or the records of one.
 */
#include "providers/base/base64.h"
#include "providers/base/cleanup.h"
#include "providers/client/client.h"

#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- Single records ---- */

static void must_be(const struct buf *in, size_t from, size_t to, const struct buf *again)
{
	if (again->failed || again->len != to - from ||
		(to > from && memcmp(again->bytes, in->bytes + from, to - from)))
		abort();
}

static bool take_list_item(const struct buf *in, size_t *at, struct buf *again)
{
	struct list_decoded decoded;

	return wire_get_list_item(in, at, &decoded, NULL) == ERR_OK &&
		wire_put_list_item(again, &decoded.item);
}

static bool take_fetch_piece(const struct buf *in, size_t *at, struct buf *again)
{
	struct fetch_piece piece;

	return wire_get_fetch_piece(in, at, &piece, NULL) == ERR_OK &&
		wire_put_fetch_piece(again, &piece);
}

static bool take_change_result(const struct buf *in, size_t *at, struct buf *again)
{
	struct change_result result;

	return wire_get_change_result(in, at, &result, NULL) == ERR_OK &&
		wire_put_change_result(again, &result);
}

static bool take_watch_event(const struct buf *in, size_t *at, struct buf *again)
{
	static struct list_decoded item;
	struct watch_event event;

	return wire_get_watch_event(in, at, &event, &item, NULL) == ERR_OK &&
		wire_put_watch_event(again, &event);
}

static bool take_command_piece(const struct buf *in, size_t *at, struct buf *again)
{
	struct command_piece piece;

	return wire_get_command_piece(in, at, &piece, NULL) == ERR_OK &&
		wire_put_command_piece(again, &piece);
}

static bool take_hello(const struct buf *in, size_t *at, struct buf *again)
{
	struct hello hello;

	*at = in->len;
	return wire_get_hello(in, &hello, NULL) == ERR_OK && wire_put_hello(again, &hello);
}

static bool (*const takers[])(const struct buf *, size_t *, struct buf *) = { take_list_item,
	take_fetch_piece, take_change_result, take_watch_event, take_command_piece, take_hello };

static void try_records(const struct buf *in)
{
	for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
		AUTO_BUF struct buf again = BUF_INIT(FRAME_PAYLOAD_MAX);
		size_t at = 0, from = 0;

		for (; at < in->len && takers[i](in, &at, &again); from = at) {
			must_be(in, from, at, &again);
			buf_reset(&again);
		}
	}
}

static void try_text(const struct buf *in)
{
	AUTO_BUF struct buf bytes = BUF_INIT(FRAME_PAYLOAD_MAX);
	AUTO_BUF struct buf again = BUF_INIT(2 * FRAME_PAYLOAD_MAX);

	if (base64_decode(&bytes, (const char *)in->bytes, in->len, NULL) != ERR_OK)
		return;
	base64_encode(&again, bytes.bytes, bytes.len);
	must_be(in, 0, in->len, &again);
}

/* ---- Answers to calls ---- */

struct player {
	int fd;
	const struct buf *answer;
	bool is_records;
};

static bool receive_request(int fd, struct frame *f)
{
	unsigned char header[FRAME_HEADER_SIZE];
	char dropped[4096];

	if (recv(fd, header, sizeof header, MSG_WAITALL) != sizeof header)
		return false;
	/* The requests below fit one read. A read of no bytes would wait for the next request. */
	return frame_decode(header, f, NULL) == ERR_OK && f->len <= sizeof dropped &&
		(!f->len || recv(fd, dropped, f->len, MSG_WAITALL) == (ssize_t)f->len);
}

static void say(int fd, enum frame_type type, uint32_t id, const struct buf *payload)
{
	unsigned char header[FRAME_HEADER_SIZE];

	frame_encode(header, &(struct frame){ type, id, (uint32_t)payload->len });
	send(fd, header, sizeof header, MSG_NOSIGNAL);
	send(fd, payload->bytes, payload->len, MSG_NOSIGNAL);
}

static void say_end(int fd, uint32_t id)
{
	AUTO_BUF struct buf end = BUF_INIT(100);

	wire_put_end(&end, ERR_OK, "");
	say(fd, FRAME_END, id, &end);
}

static void *play(void *context)
{
	const struct player *p = context;
	AUTO_BUF struct buf hello = BUF_INIT(FRAME_PAYLOAD_MAX);
	struct frame f;

	wire_put_hello(&hello,
		&(struct hello){ .version = WIRE_VERSION,
			.root = { .attr = { .ino = 2, .mode = S_IFDIR }, .space.block_size = 1 } });
	if (receive_request(p->fd, &f)) {
		say(p->fd, FRAME_ITEMS, f.id, &hello);
		say_end(p->fd, f.id);
	}
	if (receive_request(p->fd, &f)) {
		if (p->is_records) {
			say(p->fd, FRAME_ITEMS, f.id, p->answer);
			say_end(p->fd, f.id);
		} else {
			send(p->fd, p->answer->bytes, p->answer->len, MSG_NOSIGNAL);
		}
	}
	shutdown(p->fd, SHUT_WR);
	return NULL;
}

static enum err drop_item(void *context, const struct list_item *item, struct error *e)
{
	(void)context, (void)item, (void)e;
	return ERR_OK;
}

static enum err drop_piece(void *context, const struct fetch_piece *piece, struct error *e)
{
	(void)context, (void)piece, (void)e;
	return ERR_OK;
}

static enum err drop_command_piece(
	void *context, const struct command_piece *piece, struct error *e)
{
	(void)context, (void)piece, (void)e;
	return ERR_OK;
}

static enum err drop_event(void *context, const struct watch_event *event, struct error *e)
{
	(void)context, (void)event, (void)e;
	return ERR_OK;
}

static void ask(struct helper_client *h, unsigned verb)
{
	static const char *const starts[] = { "", "a" };
	static const struct list_request list = {
		.starts = starts, .starts_count = 2, .depth = LIST_DEPTH_ALL
	};
	static const struct fetch_item items[] = {
		{ .kind = FETCH_BYTES, .path = "a", .length = UINT64_MAX },
		{ .kind = FETCH_HASHES, .path = "b", .length = 100, .block_size = 10 },
	};
	static const struct change changes[2] = { { .op = CHANGE_UNLINK, .path = "a" },
		{ .op = CHANGE_RMDIR, .path = "b" } };
	struct change_result results[2];

	switch (verb) {
	case 0: helper_client_list(h, NULL, &list, drop_item, NULL, NULL); break;
	case 1: helper_client_fetch(h, NULL, items, 2, drop_piece, NULL, NULL); break;
	case 2:
		helper_client_apply(h, NULL,
			&(struct apply_request){ .changes = changes, .changes_count = 2 }, results,
			NULL);
		break;
	case 3:
		helper_client_command(h, NULL,
			&(struct command_request){
				.marker = "0123456789abcdef0123456789abcdef", .cwd = "" },
			drop_command_piece, NULL, NULL);
		break;
	default:
		helper_client_watch(
			h, NULL, &(struct watch_request){ .first = &list }, drop_event, NULL, NULL);
		break;
	}
}

static void try_call(const struct buf *in, unsigned verb, bool is_records)
{
	int ends[2];
	struct player player = { .answer = in, .is_records = is_records };
	struct helper_client *h;
	pthread_t thread;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		abort();
	player.fd = ends[1];
	if (pthread_create(&thread, NULL, play, &player))
		abort();
	if (helper_client_new(&h, ends[0], ends[0], NULL, NULL) != ERR_OK)
		abort();
	ask(h, verb);
	helper_client_free(h);
	pthread_join(thread, NULL);
	close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frame f;
	struct buf in = { .bytes = (unsigned char *)data + 1, .len = size - 1, .max = size };

	if (!size)
		return 0;
	try_records(&in);
	try_text(&in);
	wire_get_end(&in, NULL);
	if (in.len >= FRAME_HEADER_SIZE)
		frame_decode(in.bytes, &f, NULL);
	try_call(&in, (data[0] & 3) | (data[0] & 8), data[0] & 4);
	return 0;
}
