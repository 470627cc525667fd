#include "providers/shell.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/helper/version_text.h"
#include "providers/shell_functions.h"
#include "providers/shell_script.h"

#include <inttypes.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* ---- Arguments ---- */

static void add_flag(struct script *s, bool is_set)
{
	buf_add_string(&s->text, is_set ? " 1" : " ''");
}

static void add_handle(struct script *s, const struct change *c)
{
	add_flag(s, c->flags & CHANGE_BY_HANDLE);
}

static void add_number(struct script *s, uint64_t number)
{
	buf_printf(&s->text, " %" PRIu64, number);
}

static void add_id(struct script *s, uint32_t id)
{
	if (id == CHANGE_NO_OWNER)
		buf_add_string(&s->text, " ''");
	else
		buf_printf(&s->text, " %" PRIu32, id);
}

/* ` MASK MODE UID GID` of something new. The umask gives it its mode, but for what is left to chmod(1): MODE. */
static void add_new(struct script *s, const struct change *c, const char *mode)
{
	buf_printf(&s->text, " %04o '%s'", ~c->mode & 0777, mode);
	add_id(s, c->uid);
	add_id(s, c->gid);
}

/* ---- New names ---- */

/* mkdir(2) knows no set-ID bits, and inherits the set-group-ID bit that a numeric mode would take away. */
static void add_mkdir(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_mkdir");
	add_new(s, c, c->mode & S_ISVTX ? "+t" : "");
}

/* Files and nodes are made with 0666 at most. */
static const char *exact_mode(const struct change *c, char out[8])
{
	out[0] = 0;
	if (c->mode & 07777 & ~0666)
		snprintf(out, 8, "0%04o", c->mode & 07777);
	return out;
}

static void add_create(struct script *s, const struct change *c)
{
	char mode[8];

	buf_add_string(&s->text, "op_create");
	add_new(s, c, exact_mode(c, mode));
	add_flag(s, c->flags & CHANGE_EXCL);
}

static void add_mknod(struct script *s, const struct change *c)
{
	char mode[8];

	if (!(c->mode & S_IFMT) || S_ISREG(c->mode)) {
		buf_add_string(&s->text, "op_create");
		add_new(s, c, exact_mode(c, mode));
		add_flag(s, true);
		return;
	}
	buf_add_string(&s->text, "op_mknod");
	add_new(s, c, exact_mode(c, mode));
	if (S_ISFIFO(c->mode))
		buf_add_string(&s->text, " p");
	else
		buf_printf(&s->text, " %c %u %u", S_ISBLK(c->mode) ? 'b' : 'c', major(c->rdev),
			minor(c->rdev));
}

static void add_symlink(struct script *s, const struct change *c)
{
	AUTO_FREE char *text = strndup(c->data_len ? c->data : "", c->data_len);

	buf_add_string(&s->text, "op_symlink");
	if (text)
		script_quote(&s->text, text);
	else
		s->text.failed = true;
	add_id(s, c->uid);
	add_id(s, c->gid);
}

static void add_link(struct script *s, const struct change *c)
{
	(void)c;
	buf_add_string(&s->text, "op_link");
}

/* ---- Names that go or move ---- */

static void add_unlink(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, c->path2 ? "op_keep" : "op_unlink");
}

static void add_rmdir(struct script *s, const struct change *c)
{
	(void)c;
	buf_add_string(&s->text, "op_rmdir");
}

static void add_rename(struct script *s, const struct change *c)
{
	if (c->flags & CHANGE_NOREPLACE)
		buf_add_string(&s->text, "op_rename_new");
	else if (c->flags & CHANGE_EXCHANGE)
		buf_add_string(&s->text, "op_exchange");
	else {
		buf_add_string(&s->text, "op_rename");
		script_quote(&s->text, c->keep ? c->keep + 1 : "");
	}
}

/* ---- Attributes ---- */

static void add_owner(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, " && op_owner ");
	if (c->set & SET_UID)
		buf_printf(&s->text, "%" PRIu32, c->uid);
	if (c->set & SET_GID)
		buf_printf(&s->text, ":%" PRIu32, c->gid);
}

/* ` TIME WHOLE-SECONDS`, '' for now. Before 1970 the fraction of a decimal number counts the other way. */
static void add_time(struct script *s, const struct timespec *t)
{
	long long seconds = t->tv_sec, whole = seconds;
	long ns = t->tv_nsec;
	const char *sign = "";

	if (ns == UTIME_NOW) {
		buf_add_string(&s->text, " '' ''");
		return;
	}
	if (seconds < 0) {
		sign = "-";
		seconds = -(seconds + (ns > 0));
		ns = ns > 0 ? 1000000000 - ns : 0;
	}
	if (ns)
		buf_printf(&s->text, " @%s%lld.%09ld @%lld", sign, seconds, ns, whole);
	else
		buf_printf(&s->text, " @%lld @%lld", whole, whole);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	bool is_now = a->tv_nsec == UTIME_NOW && b->tv_nsec == UTIME_NOW;

	return is_now || (a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec);
}

static void add_touch(struct script *s, const char *which, const struct timespec *t)
{
	buf_printf(&s->text, " && op_times %s", which);
	add_time(s, t);
}

static void add_times(struct script *s, const struct change *c)
{
	bool both = c->set & SET_ATIME && c->set & SET_MTIME;

	if (both && is_same_time(&c->atime, &c->mtime)) {
		add_touch(s, "am", &c->atime);
		return;
	}
	if (c->set & SET_ATIME)
		add_touch(s, "a", &c->atime);
	if (c->set & SET_MTIME)
		add_touch(s, "m", &c->mtime);
}

/* Owner before mode, since chown(2) drops set-ID bits. */
static void add_setattr(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "may_set");
	add_flag(s, c->set & SET_MODE);
	if (c->set & SET_SIZE) {
		buf_printf(&s->text, " && op_size %" PRIu64, c->size);
		add_handle(s, c);
	}
	if (c->set & (SET_UID | SET_GID))
		add_owner(s, c);
	if (!c->set)
		buf_add_string(&s->text, " && op_nothing");
	/* Of a directory, five digits also take away set-ID bits. */
	if (c->set & SET_MODE)
		buf_printf(&s->text, " && op_mode 0%04o", c->mode & 07777);
	add_times(s, c);
}

/* ---- Contents ---- */

static void add_write(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_write");
	add_number(s, c->offset);
	add_handle(s, c);
	buf_add(&s->input, c->data, c->data_len);
	if (c->set & SET_MTIME) {
		buf_add_string(&s->text, " && { op_times m");
		add_time(s, &c->mtime);
		buf_add_string(&s->text, " || E=; }");
	}
}

static void add_append(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_write end");
	add_handle(s, c);
	buf_add(&s->input, c->data, c->data_len);
}

/* The modes that fallocate(1) of util-linux has a word for; BusyBox knows the first. */
static const char *fallocate_options(uint32_t mode)
{
	switch (mode) {
	case 0: return "";
	case FALLOC_FL_KEEP_SIZE: return " -n";
	case FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE: return " -p";
	case FALLOC_FL_ZERO_RANGE: return " -z";
	case FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE: return " -z -n";
	case FALLOC_FL_COLLAPSE_RANGE: return " -c";
	case FALLOC_FL_INSERT_RANGE: return " -i";
	default: return NULL;
	}
}

static void add_fallocate(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_fallocate");
	add_handle(s, c);
	buf_printf(&s->text, "%s -o %" PRIu64 " -l %" PRIu64, fallocate_options(c->mode), c->offset,
		c->length);
}

/* The length cut to what offsets can name. */
static uint64_t copy_length(const struct change *c)
{
	uint64_t furthest = c->offset > c->offset2 ? c->offset : c->offset2;
	uint64_t most = INT64_MAX - furthest;

	return c->length < most ? c->length : most;
}

static void add_copy(struct script *s, const struct change *c)
{
	uint64_t length = copy_length(c);
	uint64_t distance =
		c->offset > c->offset2 ? c->offset - c->offset2 : c->offset2 - c->offset;

	buf_add_string(&s->text, "op_copy");
	add_handle(s, c);
	add_number(s, c->offset);
	add_number(s, c->offset2);
	add_number(s, length);
	add_flag(s, distance < length);
}

/* What is to be placed is made before that begins: of one that is begun again it is there. */
static void add_make(struct script *s, const struct change *c)
{
	struct change ours = *c;
	char mode[8];

	/* Whoever makes a file writes to it, whatever its mode. */
	ours.flags |= CHANGE_BY_HANDLE;

	buf_add_string(&s->text, " && { [ \"$old\" ] || { at");
	script_place(s, c->path);
	buf_add_string(&s->text, " && { ! to_make || { op_make");
	add_new(s, c, exact_mode(c, mode));
	buf_add_string(&s->text, " && ");
	add_write(s, &ours);
	buf_add_string(&s->text, "; }; }; }; }");
}

static void add_place(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_place");
	add_handle(s, c);
	add_flag(s, c->flags & CHANGE_EXCL);
	add_flag(s, c->flags & CHANGE_REPLACE);
	add_flag(s, c->flags & CHANGE_EXCHANGE);
}

static void add_sync(struct script *s, const struct change *c)
{
	(void)c;
	buf_add_string(&s->text, "op_sync");
}

/* ---- Extended attributes ---- */

/* ` 0sBASE64`, as setfattr(1) takes any bytes. */
static void add_base64(struct script *s, const unsigned char *bytes, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	buf_add_string(&s->text, " 0s");
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t word = (uint32_t)bytes[i] << 16 |
			(left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
			(left > 2 ? bytes[i + 2] : 0);
		const char four[4] = { digits[word >> 18], digits[word >> 12 & 63],
			left > 1 ? digits[word >> 6 & 63] : '=',
			left > 2 ? digits[word & 63] : '=' };

		buf_add(&s->text, four, sizeof four);
	}
}

static void add_setxattr(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_setxattr");
	script_quote(&s->text, c->name);
	if (c->data_len)
		add_base64(s, c->data, c->data_len);
	else
		buf_add_string(&s->text, " ''");
	if (c->flags & CHANGE_EXCL)
		buf_add_string(&s->text, " new");
	else if (c->flags & CHANGE_REPLACE)
		buf_add_string(&s->text, " old");
}

static void add_removexattr(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, "op_removexattr");
	script_quote(&s->text, c->name);
}

/* ---- The kinds ---- */

static const struct kind {
	void (*add)(struct script *s, const struct change *c);
	bool has_second, takes_data;
	bool needs_look;   /* at what is there, also without a precondition */
	bool is_new;       /* what the name means before is none of its business */
	const char *again; /* what tells that it was done before: the shell's settled() */
} kinds[CHANGE_OP_END] = {
	[CHANGE_MKDIR] = { .add = add_mkdir, .is_new = true },
	[CHANGE_CREATE] = { .add = add_create },
	[CHANGE_MKNOD] = { .add = add_mknod, .is_new = true },
	[CHANGE_SYMLINK] = { .add = add_symlink, .is_new = true },
	[CHANGE_LINK] = { .add = add_link, .has_second = true, .again = "linked" },
	[CHANGE_UNLINK] = { .add = add_unlink, .needs_look = true },
	[CHANGE_RMDIR] = { .add = add_rmdir, .again = "removed" },
	[CHANGE_RENAME] = { .add = add_rename,
		.has_second = true,
		.needs_look = true,
		.again = "moved" },
	[CHANGE_SETATTR] = { .add = add_setattr },
	[CHANGE_WRITE] = { .add = add_write, .takes_data = true },
	[CHANGE_APPEND] = { .add = add_append, .takes_data = true },
	[CHANGE_FALLOCATE] = { .add = add_fallocate },
	[CHANGE_COPY] = { .add = add_copy, .has_second = true, .needs_look = true },
	[CHANGE_PLACE] = { .add = add_place,
		.has_second = true,
		.needs_look = true,
		.again = "placed" },
	[CHANGE_SETXATTR] = { .add = add_setxattr },
	[CHANGE_REMOVEXATTR] = { .add = add_removexattr },
	[CHANGE_SYNC] = { .add = add_sync },
};

static bool has_second(const struct change *c)
{
	return kinds[c->op].has_second || (c->op == CHANGE_UNLINK && c->path2);
}

/* ---- What can be refused here ---- */

static bool is_staged(const char *path)
{
	return path && path_is_staged(path);
}

static bool is_user_xattr(const char *name)
{
	return name && !strncmp(name, "user.", 5) && name[5];
}

static enum err check_symlink(const struct change *c)
{
	if (c->data_len >= VERB_LINK_MAX)
		return ERR_NAME_TOO_LONG;
	return c->data_len && memchr(c->data, 0, c->data_len) ? ERR_INVALID : ERR_OK;
}

static enum err check_fallocate(const struct change *c)
{
	if (!c->length || c->length > INT64_MAX)
		return ERR_INVALID;
	return fallocate_options(c->mode) ? ERR_OK : ERR_UNSUPPORTED;
}

static enum err check_rename(const struct change *c)
{
	if (c->flags & CHANGE_NOREPLACE && c->flags & CHANGE_EXCHANGE)
		return ERR_INVALID;
	return c->keep && (!is_staged(c->keep) || path_check(c->keep, NULL) != ERR_OK) ? ERR_INVALID
										       : ERR_OK;
}

static enum err check_kind(const struct change *c)
{
	switch (c->op) {
	case CHANGE_MKNOD: return S_ISSOCK(c->mode) ? ERR_UNSUPPORTED : ERR_OK;
	case CHANGE_SYMLINK: return check_symlink(c);
	case CHANGE_UNLINK: return c->path2 && !is_staged(c->path2) ? ERR_INVALID : ERR_OK;
	case CHANGE_RENAME: return check_rename(c);
	case CHANGE_PLACE: return is_staged(c->path) ? ERR_OK : ERR_INVALID;
	case CHANGE_SETATTR:
		return c->set & SET_SIZE && c->size > INT64_MAX ? ERR_TOO_LARGE : ERR_OK;
	case CHANGE_FALLOCATE: return check_fallocate(c);
	case CHANGE_SETXATTR:
	case CHANGE_REMOVEXATTR: return is_user_xattr(c->name) ? ERR_OK : ERR_UNSUPPORTED;
	default: return ERR_OK;
	}
}

static enum err check_change(const struct change *c)
{
	enum err k;

	if (c->op < CHANGE_MKDIR || c->op >= CHANGE_OP_END || !c->path)
		return ERR_INVALID;
	if (c->flags & CHANGE_MAKES && c->op != CHANGE_PLACE)
		return ERR_INVALID;
	if ((kinds[c->op].has_second && !c->path2) || c->data_len > VERB_DATA_MAX ||
		c->offset > INT64_MAX || c->offset2 > INT64_MAX)
		return ERR_INVALID;
	k = path_check(c->path, NULL);
	if (k == ERR_OK && has_second(c))
		k = path_check(c->path2, NULL);
	return k == ERR_OK ? check_kind(c) : k;
}

/* ---- The batch ---- */

struct applying {
	const struct apply_request *request;
	struct change_result *results;
	size_t next; /* the change that is answered */
};

static bool is_unset(const struct expect *x)
{
	return !x->dev && !x->ino && !x->btime_ns;
}

/* The root's own directory is none of ours. */
static struct expect parent_of(const char *path, const struct expect *x)
{
	return *path ? *x : (struct expect){ 0 };
}

static bool is_no_version(const struct version *v)
{
	return !v->size && !v->mtime.tv_sec && !v->mtime.tv_nsec && !v->ctime.tv_sec &&
		!v->ctime.tv_nsec;
}

/* ` && based ...` of what judge() found and keeps in the variable `found`. */
static void add_based(struct script *s, const struct version *v, const char *found)
{
	if (!is_no_version(v))
		buf_printf(&s->text, " && based %" PRIu64 " %lld %09ld %lld %09ld $%s", v->size,
			(long long)v->mtime.tv_sec, v->mtime.tv_nsec, (long long)v->ctime.tv_sec,
			v->ctime.tv_nsec, found);
}

static bool needs_judge(const struct change *c)
{
	if (kinds[c->op].needs_look || !is_no_version(&c->version))
		return true;
	return has_second(c) && (c->op == CHANGE_UNLINK || !is_no_version(&c->version2));
}

static void add_judge(struct script *s, const struct change *c)
{
	const struct expect none = { 0 };
	const struct expect parent = parent_of(c->path, &c->parent);
	const struct expect target = kinds[c->op].is_new ? none : c->target;
	const struct expect parent2 = has_second(c) ? parent_of(c->path2, &c->parent2) : none;
	const struct expect target2 = has_second(c) ? c->target2 : none;

	if (!needs_judge(c) && is_unset(&parent) && is_unset(&target) && is_unset(&parent2) &&
		is_unset(&target2))
		return;
	buf_add_string(&s->text, c->op == CHANGE_CREATE ? " && judge_found" : " && judge");
	script_expect(s, &parent);
	script_expect(s, &target);
	script_expect(s, &parent2);
	script_expect(s, &target2);
	add_based(s, &c->version, "v1");
	if (has_second(c))
		add_based(s, &c->version2, "v2");
}

/* FALLOC_FL_COLLAPSE_RANGE or FALLOC_FL_INSERT_RANGE: doing it again would do more. */
static bool shifts_bytes(const struct change *c)
{
	return c->op == CHANGE_FALLOCATE &&
		c->mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
}

static const char *how_settled(const struct change *c)
{
	if (c->op == CHANGE_UNLINK)
		return c->path2 ? "kept" : "removed";
	return shifts_bytes(c) ? "resized" : kinds[c->op].again;
}

/* Of a recorded change: whether it was done before; and, when nothing more can be refused beforehand, that it begins. */
static void add_settled(struct script *s, const struct change *c)
{
	if (how_settled(c))
		buf_printf(&s->text, " && ! settled %s", how_settled(c));
}

static void add_intent(struct script *s, const struct change *c)
{
	buf_add_string(&s->text, c->op == CHANGE_LINK ? " && intend \"$N2\"" : " && intend \"$N\"");
}

static void add_steps(struct script *s, const struct change *c, bool recorded)
{
	if (c->flags & CHANGE_MAKES)
		add_make(s, c);
	buf_add_string(&s->text, has_second(c) ? " && both" : " && at");
	script_place(s, c->path);
	if (has_second(c))
		script_place(s, c->path2);
	if (recorded)
		add_settled(s, c);
	add_judge(s, c);
	if (recorded)
		add_intent(s, c);
	buf_add_string(&s->text, " && ");
	kinds[c->op].add(s, c);
}

static bool is_recorded(const struct apply_request *r)
{
	static const unsigned char none[JOURNAL_ID_SIZE];

	return !r->is_plain && memcmp(r->journal, none, sizeof none) != 0;
}

/* What is refused here is said in its turn all the same, so that it is recorded and what needs it skipped. */
static void add_change(struct script *s, const struct apply_request *r, size_t i)
{
	const struct change *c = &r->changes[i];
	bool is_good = check_change(c) == ERR_OK;
	bool has_data = is_good && (kinds[c->op].takes_data || c->flags & CHANGE_MAKES);

	buf_printf(&s->text, "begin %zu %zu ", i, has_data ? c->data_len : 0);
	if (c->needs)
		buf_printf(&s->text, "%" PRIu32, c->needs - 1);
	else
		buf_add_string(&s->text, "''");
	if (is_good)
		add_steps(s, c, is_recorded(r));
	else
		buf_add_string(&s->text, " && fail @INVALID");
	buf_add_string(&s->text, "; say\n");
}

static void add_journal(struct script *s, const struct apply_request *r)
{
	buf_add_string(&s->text, "journal seq-");
	for (size_t i = 0; i < JOURNAL_ID_SIZE; i++)
		buf_printf(&s->text, "%02x", r->journal[i]);
	buf_printf(&s->text, " %" PRIu64 "\n", r->first_sequence);
}

static void add_end(struct script *s, const struct apply_request *r)
{
	buf_printf(&s->text, "ended %" PRIu64 "\n", r->first_sequence + r->changes_count - 1);
}

/* ---- What is answered ---- */

static size_t follow(void *context, const char *record)
{
	(void)context;
	switch (record[0]) {
	case 'R': return 5;
	case 'L': return 0;
	default: return SIZE_MAX;
	}
}

static bool take_attr(const char *line, struct attr *out)
{
	return line && *line && script_attr(line, out);
}

/* `lines`: the directory of path, then what the change left behind. `second`: the directory of path2, if another. */
static void describe(
	struct change_result *r, const struct change *c, char *lines, const char *second)
{
	const char *parent = strsep(&lines, "\n");

	r->has_parent = !is_staged(c->path) && take_attr(parent, &r->parent);
	r->has_attr = take_attr(strsep(&lines, "\n"), &r->attr);
	r->has_parent2 = !is_staged(c->path2) && take_attr(second, &r->parent2);
	if (r->has_parent && r->has_parent2 && r->parent.dev == r->parent2.dev &&
		r->parent.ino == r->parent2.ino)
		r->has_parent2 = false;
}

/* Of a copy that is over already nothing is counted: all of it. */
static void count_bytes(struct change_result *r, const struct change *c, const char *counted)
{
	if (c->op == CHANGE_WRITE || c->op == CHANGE_APPEND || c->flags & CHANGE_MAKES)
		r->count = c->data_len;
	else if (c->op == CHANGE_COPY && !*counted)
		r->count = c->length;
	else
		r->count = strtoull(counted, NULL, 10);
	if (c->op == CHANGE_COPY && r->count > c->length)
		r->count = c->length;
	if (c->op == CHANGE_APPEND && r->has_attr && r->attr.size >= r->count)
		r->offset = r->attr.size - r->count;
}

/* "over=SIZE MTIME CTIME" of one that was done before, where that is known. */
static void take_over(struct change_result *r, const char *text)
{
	r->was_over = !strncmp(text, "over", 4);
	if (r->was_over)
		version_read(text + 4, &r->left);
}

/* L: the lock was not to be had. R, reason, bytes copied, whether it was over, attributes, those of the second directory */
static enum err message(void *context, char **records, size_t count, uint64_t *raw, struct error *e)
{
	struct applying *a = context;
	const struct change *c = &a->request->changes[a->next];
	struct change_result *r = &a->results[a->next];
	enum err refused;

	(void)count, (void)raw;
	if (records[0][0] == 'L')
		return error_set(
			e, ERR_TIMEOUT, "an earlier run of the same journal is still at work");
	if (a->next == a->request->changes_count || strtoull(records[0] + 1, NULL, 10) != a->next)
		return error_set(e, ERR_PROTOCOL, "an answer to no question");
	a->next++;
	r->err = script_reason(records[1], r->why, sizeof r->why);
	refused = r->err == ERR_INVALID ? check_change(c) : ERR_OK;
	if (refused != ERR_OK) {
		r->err = refused;
		snprintf(r->why, sizeof r->why, "%s", error_words(refused));
	}
	if (r->err != ERR_OK)
		return ERR_OK;
	take_over(r, records[3]);
	describe(r, c, records[4], records[5]);
	count_bytes(r, c, records[2]);
	return ERR_OK;
}

enum err shell_apply(struct provider *p, const struct call *call,
	const struct apply_request *request, struct change_result *results, struct error *e)
{
	struct applying a = { .request = request, .results = results };
	const struct script_reader reader = { .follow = follow, .message = message, .context = &a };
	AUTO_SCRIPT struct script s;
	enum err k;

	for (size_t i = 0; i < request->changes_count; i++)
		results[i] = (struct change_result){ .err = ERR_SKIPPED };
	script_init(&s, p, shell_apply_functions);
	if (is_recorded(request))
		add_journal(&s, request);
	for (size_t i = 0; i < request->changes_count; i++)
		add_change(&s, request, i);
	if (is_recorded(request) && request->changes_count)
		add_end(&s, request);
	k = script_run(&s, p, call, &reader, e);
	if (k == ERR_OK && a.next != request->changes_count)
		return error_set(e, ERR_PROTOCOL, "%zu of %zu changes answered", a.next,
			request->changes_count);
	return k;
}
