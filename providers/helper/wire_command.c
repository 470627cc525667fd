/* Commands and their results. */
#include "providers/base/path.h"
#include "providers/helper/coding.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The size of an empty string. */
#define WORD_MIN 5
/* Longer than a valid marker: the verb checks it. */
#define MARKER_MAX 64
#define TEXT_MAX   WIRE_REQUEST_MAX

static void enc_words(struct buf *out, const char *const *words, size_t count)
{
	if (count > COMMAND_WORDS_MAX)
		out->failed = true;
	enc_u32(out, (uint32_t)count);
	for (size_t i = 0; i < count && !out->failed; i++)
		enc_string(out, words[i]);
}

/* `words` has room for COMMAND_WORDS_MAX. */
static const char *const *dec_words(
	struct decoder *d, const char **words, size_t max, size_t *count)
{
	*count = dec_count(d, COMMAND_WORDS_MAX, WORD_MIN);
	for (size_t i = 0; i < *count && !d->wrong; i++)
		words[i] = dec_string(d, max);
	return words;
}

bool wire_put_command(struct buf *out, const struct command_request *request)
{
	enc_string(out, request->marker);
	enc_optional(out, request->text);
	enc_string(out, request->cwd);
	enc_words(out, request->env, request->env_count);
	enc_data(out, request->input, request->input_len);
	enc_u64(out, request->timeout_ms);
	enc_u64(out, request->from);
	enc_u32(out, request->wait_ms);
	enc_u32(out, request->more_ms);
	enc_u32(out, request->answer_max);
	enc_words(out, request->forget, request->forget_count);
	return !out->failed;
}

static void dec_command(struct decoder *d, struct command_request *out, const char **words)
{
	out->marker = dec_string(d, MARKER_MAX);
	out->text = dec_optional(d, TEXT_MAX);
	out->cwd = dec_string(d, PATH_LENGTH_MAX);
	out->env = dec_words(d, words, TEXT_MAX, &out->env_count);
	out->input = dec_data(d, WIRE_REQUEST_MAX, &out->input_len);
	out->timeout_ms = dec_u64(d);
	out->from = dec_u64(d);
	out->wait_ms = dec_u32(d);
	out->more_ms = dec_u32(d);
	out->answer_max = dec_u32(d);
	out->forget = dec_words(d, words + COMMAND_WORDS_MAX, MARKER_MAX, &out->forget_count);
	if (out->from > INT64_MAX / 2)
		decoder_fail(d, "a place beyond all files");
}

enum err wire_get_command(
	const struct buf *in, struct command_request *request, void **memory, struct error *e)
{
	struct decoder d = decoder_at(in, 0);
	enum err kind;

	*request = (struct command_request){ 0 };
	*memory = calloc(2 * (size_t)COMMAND_WORDS_MAX, sizeof(char *));
	if (!*memory)
		return error_set(e, ERR_NO_MEMORY, "a command");
	dec_command(&d, request, *memory);
	kind = decoder_check_end(&d, "command", e);
	if (kind != ERR_OK) {
		free(*memory);
		*memory = NULL;
	}
	return kind;
}

bool wire_put_stop(struct buf *out, const char *marker, bool now)
{
	enc_string(out, marker);
	enc_u8(out, now);
	return !out->failed;
}

enum err wire_get_stop(const struct buf *in, const char **marker, bool *now, struct error *e)
{
	struct decoder d = decoder_at(in, 0);

	*marker = dec_string(&d, MARKER_MAX);
	*now = dec_bool(&d);
	return decoder_check_end(&d, "stop", e);
}

bool wire_put_command_piece(struct buf *out, const struct command_piece *piece)
{
	enc_u8(out, piece->kind);
	enc_u64(out, piece->next);
	switch (piece->kind) {
	case COMMAND_OUT:
	case COMMAND_ERR: enc_data(out, piece->bytes, piece->len); break;
	case COMMAND_ENDED:
		enc_u32(out, piece->exit_code);
		enc_u8(out, piece->timed_out);
		enc_u8(out, piece->root.mode != 0);
		if (piece->root.mode)
			enc_attr(out, &piece->root);
		break;
	case COMMAND_REFUSED:
		enc_u16(out, piece->err);
		enc_string(out, piece->why);
		break;
	case COMMAND_RUNNING:
	case COMMAND_LOST: break;
	}
	return !out->failed;
}

static void dec_ended(struct decoder *d, struct command_piece *out)
{
	out->exit_code = dec_u32(d);
	out->timed_out = dec_bool(d);
	if (!dec_bool(d))
		return;
	dec_attr(d, &out->root);
	if (!S_ISDIR(out->root.mode))
		decoder_fail(d, "a root that is no directory");
}

static void dec_refusal(struct decoder *d, struct command_piece *out)
{
	out->err = dec_err(d);
	dec_text(d, out->why, sizeof out->why);
	if (out->err == ERR_OK)
		decoder_fail(d, "a refusal without a reason");
}

enum err wire_get_command_piece(
	const struct buf *in, size_t *at, struct command_piece *out, struct error *e)
{
	struct decoder d = decoder_at(in, *at);
	enum err kind;

	*out = (struct command_piece){ .kind = dec_enum(&d, COMMAND_OUT, COMMAND_REFUSED + 1) };
	out->next = dec_u64(&d);
	switch (out->kind) {
	case COMMAND_OUT:
	case COMMAND_ERR: out->bytes = dec_data(&d, VERB_DATA_MAX, &out->len); break;
	case COMMAND_ENDED: dec_ended(&d, out); break;
	case COMMAND_REFUSED: dec_refusal(&d, out); break;
	case COMMAND_RUNNING:
	case COMMAND_LOST: break;
	}
	kind = decoder_check(&d, "what became of a command", e);
	if (kind == ERR_OK)
		*at = d.at;
	return kind;
}
