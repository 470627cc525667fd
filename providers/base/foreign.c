#include "providers/base/foreign.h"

#include "providers/base/call.h"
#include "providers/base/log.h"

#include <string.h>

void foreign_note(struct foreign_answers *f, const char *text)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->count++;
	f->last_ms = monotonic_ms();
	error_set(&f->last, ERR_UNREACHABLE, "%s", text);
	pthread_mutex_unlock(&f->lock);
	log_info(LOG_HTTP, "%s", text);
}

void foreign_read(struct foreign_answers *f, struct foreign_report *out)
{
	*out = (struct foreign_report){ 0 };
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	out->count = f->count;
	out->age_ms = f->count ? monotonic_ms() - f->last_ms : 0;
	memcpy(out->text, f->last.text, sizeof out->text);
	pthread_mutex_unlock(&f->lock);
}
