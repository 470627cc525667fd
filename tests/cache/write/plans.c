#include "tests/cache/write/plans.h"

#include <stdio.h>

static const char *const deed_names[DEEDS_END] = { "nothing", "append", "overwrite", "cut", "chmod",
	"touch", "save", "unlink", "make", "move", "move over", "exchange", "link", "copy",
	"copy over", "mv dir", "lose link", "be replaced" };

static const char *const ending_names[ENDINGS] = { "connected", "outage", "kill", "outage and kill",
	"two kills" };

void plan_text(const struct plan *plan, char *out, size_t room)
{
	static const char *const names[NAMES] = { "A", "B", "A2" };
	static const char *const rewrites[FILES + 1] = { ", others rewrite A", ", others rewrite B",
		"" };
	size_t len = 0;

	for (unsigned n = 0; n < STEPS && plan->deeds[n]; n++)
		len += (size_t)snprintf(out + len, room - len, "%s %s; ",
			deed_names[plan->deeds[n]], names[plan->names[n]]);
	snprintf(out + len, room - len, "%s%s", ending_names[plan->ending],
		rewrites[plan->rewritten]);
}

/* ---- By number ---- */

static unsigned take_digit(unsigned *rest, unsigned below)
{
	unsigned taken = *rest % below;

	*rest /= below;
	return taken;
}

struct plan plan_of(unsigned number)
{
	unsigned fate = take_digit(&number, FATES);
	struct plan plan = { .ending = KEEPS_UP, .rewritten = FILES };

	if (fate) {
		plan.ending = (enum ending)(1 + (fate - 1) % (KILLED_TWICE - 1));
		plan.rewritten = (fate - 1) / (KILLED_TWICE - 1);
	}
	plan.deeds[0] = APPENDS + take_digit(&number, DEEDS);
	for (unsigned n = 1; n < 3; n++) {
		plan.deeds[n] = APPENDS + take_digit(&number, DEEDS);
		plan.names[n] = take_digit(&number, 2);
	}
	plan.has_two_names = number;
	for (unsigned n = 0; n < STEPS; n++)
		plan.names[n] *= plan.has_two_names ? A2 : B;
	return plan;
}

bool plan_is_chosen(unsigned number, unsigned stride)
{
	return (number / FATES + number % FATES) % stride == 0;
}

/* ---- Which are cases ---- */

struct named {
	unsigned files[NAMES]; /* the file that has each of the names; 0: none has it */
	/* A bit for each file: that a step has changed, or a name of it; whose size was set last. */
	unsigned changed, cut;
};

static void give(struct named *named, unsigned from, unsigned to)
{
	named->files[to] = named->files[from];
	named->files[from] = 0;
}

static void exchange(struct named *named, unsigned one, unsigned two)
{
	unsigned file = named->files[one];

	named->files[one] = named->files[two];
	named->files[two] = file;
}

static bool needs_other(enum deed deed)
{
	return deed == MOVES_OVER || deed == EXCHANGES || deed == COPIES_OVER ||
		deed == LOSES_LINK || deed == IS_REPLACED;
}

static bool is_copy(enum deed deed)
{
	return deed == COPIES || deed == COPIES_OVER;
}

static bool can_be_done(const struct named *named, enum deed deed, unsigned name)
{
	unsigned file = named->files[name], other = named->files[name == B ? A : B];

	if (deed == MOVES_DIR || deed == NOTHING)
		return true;
	if (!file != (deed == MAKES))
		return false;
	return !needs_other(deed) || (other && (other != file || deed == LOSES_LINK));
}

static void note_cut(struct named *named, enum deed deed, unsigned name)
{
	unsigned file = 1U << named->files[deed == COPIES_OVER ? (name == B ? A : B) : name];

	if (deed == CUTS)
		named->cut |= file;
	else if (deed == APPENDS || deed == OVERWRITES || deed == COPIES_OVER)
		named->cut &= ~file;
}

static void note_changes(struct named *named, enum deed deed, unsigned name)
{
	unsigned other = name == B ? A : B;

	if (deed != MOVES_DIR && !is_copy(deed))
		named->changed |= 1U << named->files[name];
	if (needs_other(deed))
		named->changed |= 1U << named->files[other];
}

/* `made`: the file that is new where the deed makes one. */
static void take(struct named *named, enum deed deed, unsigned name, unsigned made)
{
	unsigned other = name == B ? A : B, *file = &named->files[name];

	note_changes(named, deed, name);
	note_cut(named, deed, name);
	switch (deed) {
	case SAVES:
	case MAKES: *file = made; break;
	case REMOVES: *file = 0; break;
	case MOVES_OVER: give(named, name, other); break;
	case IS_REPLACED: give(named, other, name); break;
	case EXCHANGES: exchange(named, name, other); break;
	/* A rename of one name of a file to another one of it leaves both. */
	case LOSES_LINK: named->files[other] *= named->files[other] == *file; break;
	default: break;
	}
	note_changes(named, deed, name);
}

/* Whether a mount takes the step without the sandbox. */
static bool needs_nobody(const struct named *named, enum deed deed, unsigned name)
{
	unsigned file = 1U << named->files[name];

	if (deed == LOSES_LINK || (is_copy(deed) && named->changed & file))
		return false;
	return deed != CUTS || !(named->cut & file);
}

bool plan_can_be_done(const struct plan *plan)
{
	struct named named = { .files = { 1, 2, plan->has_two_names } };

	for (unsigned n = 0; n < STEPS; n++) {
		enum deed deed = (enum deed)plan->deeds[n];
		unsigned name = plan->names[n];

		if (!can_be_done(&named, deed, name))
			return false;
		if (plan->ending != KEEPS_UP && !needs_nobody(&named, deed, name))
			return false;
		take(&named, deed, name, 3 + n);
	}
	return true;
}

bool plan_concerns(const struct plan *plan, unsigned file)
{
	bool concerns = false;

	for (unsigned n = 0; n < STEPS; n++) {
		enum deed deed = (enum deed)plan->deeds[n];

		concerns |= (plan->names[n] == B) == (file == B) || needs_other(deed) ||
			deed == MOVES_DIR;
	}
	return concerns;
}

bool plan_is_case(const struct plan *plan)
{
	return plan_can_be_done(plan) &&
		(plan->rewritten == FILES || plan_concerns(plan, plan->rewritten));
}
