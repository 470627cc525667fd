/*
 * Answers of Modal's control plane and its workers: messages of every type that is read, field by
 * field as the input says or as any bytes, in pieces, one, none or several in an answer, with any
 * end. They pass through all that sandboxfs does with them, from the list of sandboxes to the
 * output of a program. The input's first byte says which call is made.
 */
#include "tests/fuzz/scripted_exchange.h"

#include "providers/base/cleanup.h"
#include "providers/modal/modal.pb-c.h"
#include "providers/modal/sandbox.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DEPTH_MAX 4

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- Messages ---- */

static void put_varint(struct buf *out, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		buf_add_byte(out, (unsigned char)(value | 0x80));
	buf_add_byte(out, (unsigned char)value);
}

static void put_run(struct buf *out, const void *bytes, size_t len)
{
	put_varint(out, len);
	buf_add(out, bytes, len);
}

static uint64_t any_number(void)
{
	static const uint64_t numbers[] = { 0, 1, 2, 8080, 255, INT32_MAX, UINT32_MAX, UINT64_MAX };
	uint64_t number = 0;
	uint8_t which = script_byte();

	if (which < 200)
		return numbers[which % 8];
	for (int n = 0; n < 8; n++)
		number = number << 8 | script_byte();
	return number;
}

static void put_text(struct buf *out)
{
	static const char *const texts[] = { "", "sb-0123456789abcdefABCDEF", "ta-0123456789abcdef",
		"https://localhost:1/x", "http://127.0.0.1:1", "localhost", "127.0.0.1",
		"eyJhbGciOiJub25lIn0.eyJleHAiOjE4MDAwMDAwMDB9.x", "a\x1b[2J\xff", "sandboxfs" };
	uint8_t which = script_byte();
	size_t len;

	if (which < 200)
		return put_run(out, texts[which % 10], strlen(texts[which % 10]));
	const uint8_t *bytes = script_bytes(which - 200, &len);

	put_run(out, bytes, len);
}

static void put_message(struct buf *out, const ProtobufCMessageDescriptor *type, unsigned depth);

static void put_value(struct buf *out, const ProtobufCFieldDescriptor *field, unsigned depth)
{
	struct buf inner = BUF_INIT((size_t)1 << 16);
	uint64_t number;

	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		put_varint(out, field->id << 3 | 2);
		if (depth)
			put_message(&inner, field->descriptor, depth - 1);
		put_run(out, inner.bytes, inner.len);
		buf_release(&inner);
		break;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		put_varint(out, field->id << 3 | 2);
		put_text(out);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		put_varint(out, field->id << 3 | 1);
		number = any_number();
		buf_add(out, &number, 8);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		put_varint(out, field->id << 3 | 5);
		number = any_number();
		buf_add(out, &number, 4);
		break;
	default: put_varint(out, field->id << 3); put_varint(out, any_number());
	}
}

static void put_message(struct buf *out, const ProtobufCMessageDescriptor *type, unsigned depth)
{
	for (unsigned n = 0; n < type->n_fields; n++) {
		const ProtobufCFieldDescriptor *field = &type->fields[n];
		uint8_t how = script_byte();
		unsigned times = how < 40 ? 0 : how < 220 ? 1 : how % 4;

		while (times--)
			put_value(out, field, depth);
	}
}

static const struct {
	const char *method;
	const ProtobufCMessageDescriptor *type;
} answers[] = {
	{ "AuthTokenGet", &modal__auth_token_get_response__descriptor },
	{ "AppGetOrCreate", &modal__app_get_or_create_response__descriptor },
	{ "EnvironmentGetOrCreate", &modal__environment_get_or_create_response__descriptor },
	{ "ImageGetOrCreate", &modal__image_get_or_create_response__descriptor },
	{ "ImageJoinStreaming", &modal__image_join_streaming_response__descriptor },
	{ "SecretGetOrCreate", &modal__secret_get_or_create_response__descriptor },
	{ "SandboxCreate", &modal__sandbox_create_response__descriptor },
	{ "SandboxGetTaskId", &modal__sandbox_get_task_id_response__descriptor },
	{ "SandboxWait", &modal__sandbox_wait_response__descriptor },
	{ "SandboxGetTunnels", &modal__sandbox_get_tunnels_response__descriptor },
	{ "SandboxGetFromName", &modal__sandbox_get_from_name_response__descriptor },
	{ "SandboxList", &modal__sandbox_list_response__descriptor },
	{ "CommandRouterAccess", &modal__access__descriptor },
	{ "TaskExecStdioRead", &modal__exec_stdio_read_response__descriptor },
	{ "TaskExecStdinStatus", &modal__exec_stdin_status_response__descriptor },
	{ "TaskExecWait", &modal__exec_wait_response__descriptor },
	{ "TaskExecPoll", &modal__exec_wait_response__descriptor },
};

static void put_answer(struct buf *out, const char *url)
{
	size_t len;

	for (size_t n = 0; n < sizeof answers / sizeof *answers; n++)
		if (strstr(url, answers[n].method))
			return put_message(out, answers[n].type, DEPTH_MAX);
	const uint8_t *bytes = script_bytes(8, &len);

	buf_add(out, bytes, len);
}

/* Makes a number of messages, each behind its length; or any bytes. */
static void script_answer(const char *url, struct buf *body)
{
	uint8_t how = script_byte();
	unsigned count = how < 200 ? 1 : how % 4;
	size_t len;

	if (how > 250) {
		const uint8_t *bytes = script_bytes(64, &len);

		buf_add(body, bytes, len);
		return;
	}
	while (count--) {
		AUTO_BUF struct buf message = BUF_INIT((size_t)1 << 18);

		put_answer(&message, url);
		const unsigned char prefix[5] = { 0, 0, (unsigned char)(message.len >> 16),
			(unsigned char)(message.len >> 8), (unsigned char)message.len };

		buf_add(body, prefix, sizeof prefix);
		buf_add(body, message.bytes, message.len);
	}
}

/* ---- Calls ---- */

static char server_url[] = "https://localhost:1", id[] = "ak-0", secret[] = "as-0", none[] = "",
	    version[] = "2025.06";
static const struct modal_settings settings = { .server_url = server_url,
	.token_id = id,
	.token_secret = secret,
	.environment = none,
	.builder_version = version,
	.signing_key = none };
static const struct call impatient = { .progress_ms = 1000 };
#define SANDBOX "sb-0123456789abcdefABCDEF"

static enum err take_entry(void *context, const struct sandbox_entry *entry, struct error *e)
{
	(void)e;
	must(entry->unread || (entry->id && strlen(entry->id) < SANDBOX_ID_MAX));
	return ++*(size_t *)context > 100000 ? ERR_INTERRUPTED : ERR_OK;
}

static void list(struct modal_control *c)
{
	size_t count = 0;

	sandbox_list(c, &impatient, "ap-0", take_entry, &count, NULL);
	sandbox_list_all(c, &impatient, "", take_entry, &count, NULL);
}

static void find(struct modal_control *c)
{
	char found[SANDBOX_ID_MAX] = "";
	AUTO_FREE char *task = NULL;

	if (sandbox_find_named(c, &impatient, "", SANDBOX_APP, "name", found, NULL) == ERR_OK)
		must(sandbox_check_id(found, NULL) == ERR_OK);
	if (sandbox_task(c, &impatient, SANDBOX, &task, NULL) == ERR_OK)
		must(task && *task);
	sandbox_check_runs(c, &impatient, SANDBOX, NULL, NULL);
	sandbox_terminate(c, &impatient, SANDBOX, NULL);
}

static void ask_url(struct modal_control *c)
{
	AUTO_BUF struct buf url = BUF_INIT(65536);

	sandbox_port_url(c, &impatient, SANDBOX, 8080, &url, NULL);
	must(!url.failed);
}

static void create(struct modal_control *c)
{
	const struct provider_config plain = { 0 }, pulled = { .image = "debian:12" };
	char made[SANDBOX_ID_MAX] = "";

	if (!sandbox_create(
		    c, &impatient, &settings, script_byte() & 1 ? &plain : &pulled, made, NULL))
		must(sandbox_check_id(made, NULL) == ERR_OK);
}

static enum err take_output(
	void *context, enum stream stream, const void *bytes, size_t len, struct error *e)
{
	size_t *sum = context;

	(void)e;
	must(bytes && len && (stream == STREAM_OUT || stream == STREAM_ERR));
	*sum += len;
	return ERR_OK;
}

static void follow_all(struct worker_exec *x)
{
	enum follow_kind kinds[] = { FOLLOW_OUT, FOLLOW_ERR, FOLLOW_EXIT };

	for (size_t n = 0; n < 3; n++) {
		struct follower f = { .exec = x, .kind = kinds[n] };
		enum grpc_status status;
		size_t sum = 0;

		for (int times = 0; times < 20 && !f.is_over; times++)
			if (follow(&f, &impatient, take_output, &sum, &status, NULL))
				break;
		must(f.kind == FOLLOW_EXIT || f.offset == sum);
		follow_end(&f);
	}
}

static enum err renew(
	void *context, const struct call *call, struct worker_access *out, struct error *e)
{
	return sandbox_access(context, call, SANDBOX, "ta-0", out, e);
}

static void run(struct modal_control *c, struct http *http)
{
	static const char *const argv[] = { "true", NULL };
	struct worker_access access = { 0 };
	struct worker_exec x;
	struct worker *w;
	enum grpc_status status;
	bool has_ended;

	enum err kind = renew(c, &impatient, &access, NULL);

	if (!kind)
		kind = worker_new(
			&w, http, modal_control_clock(c), "ta-0", &access, renew, c, NULL);
	worker_access_release(&access);
	if (kind)
		return;
	if (!exec_start(&x, w, &impatient, argv, &status, NULL)) {
		follow_all(&x);
		exec_write(&x, &impatient, "in", 2, true, NULL);
		exec_end_input(&x, &impatient, NULL);
		exec_poll(&x, &impatient, &has_ended, &status, NULL);
	}
	worker_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http *http;
	struct modal_control *c;

	script = (struct script){ .bytes = data, .left = size };
	if (!http && http_new(&http, "fuzz", NULL))
		abort();
	must(modal_control_new(&c, http, &settings, NULL) == ERR_OK);
	switch (script_byte() % 6) {
	case 0: list(c); break;
	case 1: find(c); break;
	case 2: ask_url(c); break;
	case 3: create(c); break;
	default: run(c, http); break;
	}
	modal_control_free(c);
	return 0;
}
