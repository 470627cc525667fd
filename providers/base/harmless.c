#include "providers/base/harmless.h"

#include "providers/base/utf8.h"

#include <string.h>

static const struct {
	uint32_t first, last;
} harmful[] = {
	{ 0x00, 0x1f },     /* C0 */
	{ 0x7f, 0x9f },     /* DEL and C1 */
	{ 0x61c, 0x61c },   /* Arabic letter mark */
	{ 0x200e, 0x200f }, /* marks of direction */
	{ 0x2028, 0x202e }, /* separators of lines and paragraphs, embeddings, overrides */
	{ 0x2066, 0x206f }, /* isolates, and the deprecated controls of shaping */
};

bool harmless_point(uint32_t point)
{
	for (size_t i = 0; i < sizeof harmful / sizeof *harmful; i++)
		if (point >= harmful[i].first && point <= harmful[i].last)
			return false;
	return true;
}

bool harmless_next(const unsigned char *text, size_t len, size_t *step)
{
	bool valid = true;

	*step = *text < 0x80 ? 1 : utf8_next(text, len, &valid);
	return valid && harmless_point(utf8_point(text, *step));
}

size_t harmless_run(const void *text, size_t len)
{
	const unsigned char *bytes = text;
	size_t at = 0, step;

	while (at < len && harmless_next(bytes + at, len - at, &step))
		at += step;
	return at;
}

size_t harmless_make(char *text, size_t len)
{
	size_t made = 0, step;

	for (size_t at = 0; at < len; at += step) {
		if (harmless_next((unsigned char *)text + at, len - at, &step)) {
			memmove(text + made, text + at, step);
			made += step;
		} else {
			text[made++] = '?';
		}
	}
	return made;
}

void harmless_make_string(char *text)
{
	text[harmless_make(text, strlen(text))] = '\0';
}

#define GAP "..."

void harmless_fit(char *out, size_t room, const char *sentence)
{
	size_t len = strlen(sentence), kept = room - sizeof GAP;
	size_t head = kept / 3, tail = kept - head;

	if (len < room) {
		memcpy(out, sentence, len + 1);
	} else {
		memcpy(out, sentence, head);
		memcpy(out + head, GAP, sizeof GAP - 1);
		memcpy(out + room - 1 - tail, sentence + len - tail, tail + 1);
	}
	harmless_make_string(out);
}
