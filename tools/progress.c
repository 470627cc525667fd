#include "tools/progress.h"

#include "providers/base/call.h"
#include "tools/bytes_text.h"
#include "tools/duration_text.h"
#include "tools/say.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY_MS   200
#define BAR_LENGTH 20
/* An earlier rate means little. */
#define RATE_AFTER_MS 1000

void progress_line(const char *what, uint64_t bytes, uint64_t total, int64_t elapsed_ms,
	char out[PROGRESS_LINE_SIZE])
{
	static const char bar[] = "####################";
	double part = total && bytes < total ? (double)bytes / (double)total : 1;
	double per_second = elapsed_ms > 0 ? (double)bytes * 1000 / (double)elapsed_ms : 0;
	char done[BYTES_TEXT_SIZE], all[BYTES_TEXT_SIZE], rate[BYTES_TEXT_SIZE];
	char left[DURATION_TEXT_SIZE];
	int len;

	len = snprintf(out, PROGRESS_LINE_SIZE, "%s [%-*.*s] %3.0f %%  %s of %s", what, BAR_LENGTH,
		(int)(part * BAR_LENGTH), bar, part * 100, bytes_text(bytes, done),
		bytes_text(total, all));
	if (elapsed_ms < RATE_AFTER_MS || per_second < 1 || len >= PROGRESS_LINE_SIZE)
		return;
	duration_text(bytes < total ? (int64_t)((double)(total - bytes) / per_second) : 0, left);
	snprintf(out + len, (size_t)(PROGRESS_LINE_SIZE - len), "  %s/s  %s left",
		bytes_text((uint64_t)per_second, rate), left);
}

void progress_begin(struct progress_bar *p, const char *what)
{
	*p = (struct progress_bar){
		.what = what, .is_shown = isatty(STDERR_FILENO), .began_ms = monotonic_ms()
	};
}

void progress_tell(struct progress_bar *p, uint64_t bytes, uint64_t total)
{
	int64_t now_ms = monotonic_ms(), shown_ms = p->shown_ms;
	char line[PROGRESS_LINE_SIZE];

	if (!p->is_shown || now_ms - shown_ms < EVERY_MS ||
		!atomic_compare_exchange_strong(&p->shown_ms, &shown_ms, now_ms))
		return;
	progress_line(p->what, bytes, total, now_ms - p->began_ms, line);
	say_over("%s", line);
}

void progress_clear(struct progress_bar *p)
{
	if (p->is_shown && p->shown_ms)
		say_over("%s", "");
	p->shown_ms = 0;
}
