#include "fs/control/text.h"

#include "fs/errmap.h"
#include "fs/handle_memory.h"
#include "fs/request.h"
#include "providers/base/harmless.h"
#include "providers/base/log.h"

/* The longest text is `status`, whose lists are short. */
#define TEXT_MAX ((size_t)64 * 1024)

struct control_handle *text_open(struct control *c, uint64_t number)
{
	struct text_handle *h = handle_memory_new(sizeof *h);

	(void)c;
	if (!h)
		return NULL;
	*h = (struct text_handle){ .number = number, .text = BUF_INIT(TEXT_MAX) };
	pthread_mutex_init(&h->lock, NULL);
	return &h->base;
}

void text_close(struct control_handle *base)
{
	struct text_handle *h = (struct text_handle *)base;

	buf_release(&h->text);
	pthread_mutex_destroy(&h->lock);
	handle_memory_free(h);
}

void text_add_line(struct buf *out, const char *line)
{
	size_t before = out->len;

	if (buf_add_string(out, line))
		out->len = before + harmless_make((char *)out->bytes + before, out->len - before);
	buf_add_byte(out, '\n');
}

static bool is_continued(struct text_handle *h, off_t off)
{
	bool is_continued;

	pthread_mutex_lock(&h->lock);
	is_continued = off != 0 && h->text.len;
	pthread_mutex_unlock(&h->lock);
	return is_continued;
}

/* Takes `text`. */
static void set_text(struct text_handle *h, struct buf *text)
{
	struct buf former;

	pthread_mutex_lock(&h->lock);
	former = h->text;
	h->text = *text;
	pthread_mutex_unlock(&h->lock);
	*text = former;
}

static void copy_part(struct text_handle *h, size_t size, off_t off, struct buf *out)
{
	pthread_mutex_lock(&h->lock);
	control_copy_part(&h->text, size, off, out);
	pthread_mutex_unlock(&h->lock);
}

void text_read(struct control_handle *base, fuse_req_t req, size_t size, off_t off, text_tell tell)
{
	struct text_handle *h = (struct text_handle *)base;
	AUTO_REQUEST struct request r = REQUEST_NONE;
	AUTO_BUF struct buf text = BUF_INIT(TEXT_MAX);
	AUTO_BUF struct buf part = BUF_INIT(TEXT_MAX);
	struct error e = { 0 };
	enum err kind = ERR_OK;

	request_begin(&r, req);
	if (!is_continued(h, off)) {
		kind = tell(base->control, h->number, &r.call, &text, &e);
		if (!kind)
			kind = buf_check(&text, base->file->name ? base->file->name : "text", &e);
		if (!kind)
			set_text(h, &text);
	}
	if (kind) {
		log_warn(LOG_CONTROL, "%s", e.text);
		fuse_reply_err(request_end(&r), errmap_errno(kind));
		return;
	}
	copy_part(h, size, off, &part);
	control_reply_part(request_end(&r), &part);
}
