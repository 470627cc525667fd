#include "providers/shell.h"

#include "providers/base/cleanup.h"
#include "providers/base/path.h"
#include "providers/shell_functions.h"
#include "providers/shell_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * find(1) goes depth first and the answer is breadth first, so what lies below the starts' own entries is gathered
 * before it is told; the starts' own entries are asked first and told at once. So much is gathered, names and all, before
 * the rest is left out as if entries_max were reached.
 */
#define GATHERED_MAX ((size_t)256 * 1024 * 1024)
/* As many as the wire carries for one file. */
#define XATTRS_MAX 1024

/* Past PATH_MAX no path reaches anything: a depth of that many is everything. */
#define DEPTH_MAX 4096

/* One entry that find met. Its path tells it from all others. */
struct entry {
	uint32_t start, depth; /* depth 1: the start's own */
	size_t path, link;     /* offsets in the texts; link 0: none */
	size_t parent;         /* the path of the directory it is in; 0: the start */
	bool is_closed;        /* a directory that we may not read or enter */
	bool is_cut;           /* a directory whose entries were perhaps not all met */
	struct attr attr;
};

/* What is known of a start. */
struct start {
	bool is_dir;
	enum err err; /* why its entries could not be listed */
	bool is_troubled; /* something below could not be looked at: nothing is promised to be complete */
	size_t closed; /* directories met that cannot be read: why find may have failed */
	struct attr attr;
};

struct listing {
	const struct list_request *request;
	list_sink sink;
	void *context;
	struct start *starts;
	struct buf entries, texts; /* of struct entry, of strings */
	size_t way[DEPTH_MAX +
		1]; /* the entry (from 1) last met at each depth: the way down to the present one */
	uint64_t count; /* entries told or gathered */
	char *staging;  /* where staging lies in the tree; NULL: elsewhere */
	size_t present; /* the start that is spoken of */
	size_t told;    /* starts told */
	bool is_deep;   /* the second look, at everything below */
	bool is_full;   /* entries_max was reached */
	struct timespec now;
	struct space space;
	struct xattr xattrs[XATTRS_MAX]; /* of the start being told */
};

static struct entry *entries(const struct listing *l)
{
	return (struct entry *)(void *)l->entries.bytes;
}

static size_t entries_count(const struct listing *l)
{
	return l->entries.len / sizeof(struct entry);
}

static const char *text_at(const struct listing *l, size_t offset)
{
	return (const char *)l->texts.bytes + offset;
}

static enum err tell(struct listing *l, const struct list_item *item, struct error *e)
{
	return l->sink(l->context, item, e);
}

/* ---- What is asked ---- */

static void ask_start(struct script *s, const struct list_request *r, size_t i)
{
	buf_printf(&s->text, "start %zu", i);
	script_place(s, r->starts[i]);
	buf_printf(&s->text, " '%s'\n", r->flags & LIST_XATTRS ? "1" : "");
}

/* `letter`: T for the first look, D for the second. */
static void ask_tree(
	struct script *s, const struct list_request *r, char letter, size_t i, uint32_t depth)
{
	buf_printf(&s->text, "tree %c%zu", letter, i);
	script_dir(s, r->starts[i]);
	buf_printf(&s->text, " %u %s\n", depth < DEPTH_MAX ? depth : DEPTH_MAX,
		r->flags & LIST_CROSS_DEVICES ? "" : "-xdev");
}

/* The commands for find to run stand in a variable, as they are the same for all. */
static void define_show(struct script *s)
{
	AUTO_BUF struct buf show = BUF_INIT(64 * 1024);

	script_tools(&show, s->provider);
	buf_add_string(&show, shell_show_text);
	script_define(s, "show", buf_text(&show));
	script_define(s, "sh", s->provider->shell);
}

static bool is_asked(const struct list_request *r, size_t i)
{
	return path_check(r->starts[i], NULL) == ERR_OK;
}

/* Staging has no tree of its own to show. */
static bool has_tree(const struct list_request *r, size_t i)
{
	return is_asked(r, i) && !path_is_staged(r->starts[i]);
}

static void ask(struct script *s, const struct list_request *r)
{
	define_show(s);
	buf_add_string(&s->text, "finish\n");
	for (size_t i = 0; i < r->starts_count; i++)
		if (is_asked(r, i))
			ask_start(s, r, i);
	for (size_t i = 0; i < r->starts_count && r->depth > 0; i++)
		if (has_tree(r, i))
			ask_tree(s, r, 'T', i, 1);
	for (size_t i = 0; i < r->starts_count && r->depth > 1; i++)
		if (has_tree(r, i))
			ask_tree(s, r, 'D', i, r->depth);
}

/* ---- The starts ---- */

/* getfattr(1) writes what is not printable, and '=' and '\', as a backslash and three octal digits. */
static void unescape(char *name)
{
	char *to = name;

	for (const char *from = name; *from; to++) {
		unsigned byte;

		if (from[0] == '\\' && sscanf(from + 1, "%3o", &byte) == 1 && byte < 256) {
			*to = (char)byte;
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = 0;
}

static int hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place; returns how many bytes. */
static size_t unhex(char *text)
{
	size_t len = 0;

	for (const char *at = text; hex_digit(at[0]) >= 0 && hex_digit(at[1]) >= 0; at += 2)
		text[len++] = (char)(hex_digit(at[0]) << 4 | hex_digit(at[1]));
	return len;
}

/* "user.a=0x616263\n" or "user.a\n"; the first line is a comment that names the file. */
static size_t read_xattrs(char *dump, struct xattr *out)
{
	size_t count = 0;
	char *rest = dump;

	for (char *line = strsep(&rest, "\n"); line && count < XATTRS_MAX;
		line = strsep(&rest, "\n")) {
		char *value = strstr(line, "=0x");
		struct xattr x = { .name = line, .value = "" };

		if (strncmp(line, "user.", 5) != 0)
			continue;
		if (value) {
			*value = 0;
			x.value = value + 3;
			x.value_len = unhex(value + 3);
		} else {
			line[strcspn(line, "=")] = 0;
		}
		unescape(line);
		if (x.value_len <= VERB_XATTR_MAX)
			out[count++] = x;
	}
	return count;
}

/* The starts before `end` that were not asked. */
static enum err tell_refused(struct listing *l, size_t end, struct error *e)
{
	enum err k = ERR_OK;

	for (; l->told < end && k == ERR_OK; l->told++) {
		const struct list_item item = { .kind = LIST_SELF,
			.start = (uint32_t)l->told,
			.err = path_check(l->request->starts[l->told], NULL) };

		if (item.err == ERR_OK)
			return error_set(e, ERR_PROTOCOL, "a question without an answer");
		k = tell(l, &item, e);
	}
	return k;
}

/* S, reason, attributes, link, xattrs */
static enum err take_start(struct listing *l, char **records, struct error *e)
{
	struct list_item item = { .kind = LIST_SELF, .start = (uint32_t)l->present };
	char why[160];
	enum err k = tell_refused(l, l->present, e);

	if (k != ERR_OK)
		return k;
	l->told = l->present + 1;
	item.err = script_reason(records[1], why, sizeof why);
	if (item.err == ERR_OK && !script_attr(records[2], &item.attr))
		return error_set(e, ERR_PROTOCOL, "stat: '%.60s'", records[2]);
	if (l->staging && !strcmp(l->request->starts[l->present], l->staging))
		item.err = ERR_NOT_FOUND;
	if (item.err == ERR_OK && strlen(records[3]) >= VERB_LINK_MAX)
		return error_set(e, ERR_PROTOCOL, "readlink: %zu bytes", strlen(records[3]));
	if (item.err == ERR_OK) {
		item.link = S_ISLNK(item.attr.mode) ? records[3] : NULL;
		item.xattrs_count = read_xattrs(records[4], l->xattrs);
		item.xattrs = l->xattrs;
		l->starts[l->present].attr = item.attr;
		l->starts[l->present].is_dir = S_ISDIR(item.attr.mode);
	}
	return tell(l, &item, e);
}

/* ---- Gathering ---- */

static uint32_t depth_of(const char *path)
{
	uint32_t depth = 1;

	for (const char *at = path; *at; at++)
		depth += *at == '/';
	return depth;
}

static bool is_below(const char *path, const char *dir, size_t dir_len)
{
	if (!dir_len)
		return true;
	return !strncmp(path, dir, dir_len) && (!path[dir_len] || path[dir_len] == '/');
}

/* Whether `path`, below the present start, is staging or lies in it. */
static bool is_hidden(const struct listing *l, const char *path)
{
	const char *start = l->request->starts[l->present];
	size_t len = strlen(start);

	if (!l->staging || !is_below(l->staging, start, len))
		return false;
	if (!l->staging[len])
		return true;
	start = l->staging + len + (len > 0);
	return is_below(path, start, strlen(start));
}

/* At 0 stands an empty string, so that 0 can mean none. */
static size_t add_text(struct listing *l, const char *text)
{
	size_t at;

	if (!l->texts.len)
		buf_add_byte(&l->texts, 0);
	at = l->texts.len;
	buf_add(&l->texts, text, strlen(text) + 1);
	return at;
}

/* In the second look a start's own entries come again, and were counted. */
static bool has_room(struct listing *l, uint32_t depth)
{
	if (depth == 1 && l->is_deep)
		return true;
	if (l->request->entries_max && l->count == l->request->entries_max)
		return false;
	l->count++;
	return true;
}

static enum err stop_full(struct listing *l, struct error *e)
{
	l->is_full = true;
	return error_set(e, ERR_INTERRUPTED, "enough entries");
}

/*
 * Finds the directory of an entry on the way down to it. None: it was something else a moment before, so that nobody
 * heard of it.
 */
static bool find_parent(struct listing *l, struct entry *n, const char *path)
{
	const struct entry *parent;
	size_t len = (size_t)(path_name(path) - path);

	if (n->depth == 1)
		return true;
	if (!l->way[n->depth - 1])
		return false;
	parent = &entries(l)[l->way[n->depth - 1] - 1];
	n->parent = parent->path;
	return parent->start == n->start && S_ISDIR(parent->attr.mode) &&
		strlen(text_at(l, parent->path)) == len - 1 &&
		!strncmp(text_at(l, parent->path), path, len - 1);
}

/* `path` is "./a/b"; `extra` is "L" and a link's text, "U" for a closed directory, or "". */
static enum err take_entry(struct listing *l, const struct attr *attr, const char *path,
	const char *extra, struct error *e)
{
	const char *name = path_name(path);
	struct entry n = { .start = (uint32_t)l->present, .attr = *attr };

	if (strncmp(path, "./", 2) != 0 || !path_name_ok(name, strlen(name)) ||
		path_check(path + 2, NULL) != ERR_OK)
		return error_set(e, ERR_PROTOCOL, "find: '%.60s'", path);
	path += 2;
	if (is_hidden(l, path))
		return ERR_OK;
	n.depth = depth_of(path);
	if (n.depth > DEPTH_MAX)
		return error_set(e, ERR_PROTOCOL, "find: too deep");
	if (!find_parent(l, &n, path)) {
		l->starts[l->present].is_troubled = true;
		return ERR_OK;
	}
	if (strlen(extra) > VERB_LINK_MAX)
		return error_set(e, ERR_PROTOCOL, "readlink: %zu bytes", strlen(extra));
	if (!has_room(l, n.depth))
		return stop_full(l, e);
	n.is_closed = extra[0] == 'U' && S_ISDIR(attr->mode);
	n.path = add_text(l, path);
	if (S_ISLNK(attr->mode))
		n.link = add_text(l, extra[0] == 'L' ? extra + 1 : "");
	buf_add(&l->entries, &n, sizeof n);
	if (l->entries.failed || l->texts.failed)
		return stop_full(l, e);
	l->way[n.depth] = entries_count(l);
	l->starts[l->present].closed += n.is_closed;
	return ERR_OK;
}

/* C, lines of attributes, then a path and what else is to be said of it for each */
static enum err take_chunk(struct listing *l, char **records, size_t count, struct error *e)
{
	char *lines = records[0] + 1;
	enum err k = ERR_OK;

	for (size_t i = 1; i + 1 < count && k == ERR_OK; i += 2) {
		const char *line = strsep(&lines, "\n");
		struct attr attr;

		if (!line || !script_attr(line, &attr))
			return error_set(e, ERR_PROTOCOL, "stat: '%.60s'", line ? line : "");
		k = take_entry(l, &attr, records[i], records[i + 1], e);
	}
	return k;
}

/* ---- Telling ---- */

/* Directory by directory: a stable order by depth and start keeps find's, in which siblings follow each other. */
static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* Texts were added in find's order. */
	return x->path < y->path ? -1 : x->path > y->path;
}

static void sort_entries(const struct listing *l)
{
	if (l->entries.len)
		qsort(entries(l), entries_count(l), sizeof(struct entry), compare_entries);
}

static bool is_older(const struct timespec *t, int64_t ns)
{
	const struct timespec since = { .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };

	return t->tv_sec != since.tv_sec ? t->tv_sec < since.tv_sec : t->tv_nsec < since.tv_nsec;
}

/* A directory on its way out. */
struct dir {
	uint32_t start;
	size_t id;        /* what its entries name as their parent */
	const char *path; /* below the start; "" the start itself */
	const struct attr *attr;
	enum err err;
	bool is_whole;
};

static bool is_child(const struct dir *d, const struct entry *n)
{
	return n->start == d->start && n->parent == d->id;
}

static enum err tell_entry(struct listing *l, const struct entry *n, struct error *e)
{
	return tell(l,
		&(struct list_item){ .kind = LIST_ENTRY,
			.start = n->start,
			.name = path_name(text_at(l, n->path)),
			.link = n->link ? text_at(l, n->link) : NULL,
			.attr = n->attr },
		e);
}

/* The entries from *at on that are in `d`. A directory that itself changed is named in full, see changed_since_ns. */
static enum err tell_entries(
	struct listing *l, const struct dir *d, size_t *at, bool *left_out, struct error *e)
{
	int64_t since = l->request->changed_since_ns;
	bool shows_all = !since || !is_older(&d->attr->ctime, since);
	enum err k = ERR_OK;

	for (; *at < entries_count(l) && is_child(d, &entries(l)[*at]) && k == ERR_OK; ++*at) {
		const struct entry *n = &entries(l)[*at];

		if (shows_all || !is_older(&n->attr.ctime, since))
			k = tell_entry(l, n, e);
		else
			*left_out = true;
	}
	return k;
}

static enum err tell_dir(struct listing *l, const struct dir *d, size_t *at, struct error *e)
{
	const char *start = l->request->starts[d->start];
	AUTO_FREE char *path = *d->path ? path_join(start, d->path) : strdup(start);
	bool left_out = false;
	enum err k;

	if (!path)
		return error_set(e, ERR_NO_MEMORY, "%s", d->path);
	k = tell(l, &(struct list_item){ .kind = LIST_DIR, .start = d->start, .path = path }, e);
	if (k == ERR_OK)
		k = tell_entries(l, d, at, &left_out, e);
	if (k != ERR_OK)
		return k;
	return tell(l,
		&(struct list_item){ .kind = LIST_DIR_END,
			.start = d->start,
			.err = d->err,
			.complete = d->err == ERR_OK && d->is_whole && !left_out },
		e);
}

static void drop_gathered(struct listing *l)
{
	memset(l->way, 0, sizeof l->way);
	buf_reset(&l->entries);
	buf_reset(&l->texts);
}

/* The first look at a start: its own entries, told at once. */
static enum err tell_start(struct listing *l, struct error *e)
{
	const struct start *start = &l->starts[l->present];
	const struct dir d = { .start = (uint32_t)l->present,
		.path = "",
		.attr = &start->attr,
		.err = start->err,
		.is_whole = !start->is_troubled && !l->is_full };
	size_t at = 0;
	enum err k = start->is_dir ? tell_dir(l, &d, &at, e) : ERR_OK;

	drop_gathered(l);
	return k;
}

static bool is_entered(const struct listing *l, const struct entry *n)
{
	if (!S_ISDIR(n->attr.mode) || n->depth >= l->request->depth)
		return false;
	return l->request->flags & LIST_CROSS_DEVICES ||
		n->attr.dev == l->starts[n->start].attr.dev;
}

/* Where the second look was cut short, the directories on the way to the last entry were not left. */
static void mark_cut(struct listing *l)
{
	const struct entry *last = entries_count(l) ? &entries(l)[entries_count(l) - 1] : NULL;

	for (size_t i = 0; last && i < entries_count(l); i++) {
		struct entry *n = &entries(l)[i];
		const char *path = text_at(l, n->path);

		if (n->start == last->start)
			n->is_cut = is_below(text_at(l, last->path), path, strlen(path));
	}
}

static enum err tell_gathered(struct listing *l, struct error *e)
{
	size_t at = 0;
	enum err k = ERR_OK;

	if (l->is_full)
		mark_cut(l);
	sort_entries(l);
	while (at < entries_count(l) && entries(l)[at].depth == 1)
		at++;
	for (size_t i = 0; i < entries_count(l) && k == ERR_OK; i++) {
		const struct entry *n = &entries(l)[i];
		const struct dir d = { .start = n->start,
			.id = n->path,
			.path = text_at(l, n->path),
			.attr = &n->attr,
			.err = n->is_closed ? ERR_DENIED : ERR_OK,
			.is_whole = !n->is_cut && !l->starts[n->start].is_troubled };

		if (is_entered(l, n))
			k = tell_dir(l, &d, &at, e);
		while (at < entries_count(l) && is_child(&d, &entries(l)[at]) && k == ERR_OK)
			at++;
	}
	drop_gathered(l);
	return k;
}

/* Z and find's status, why the start could not be entered. An unreadable directory explains find's complaint. */
static enum err end_tree(struct listing *l, char **records, struct error *e)
{
	struct start *start = &l->starts[l->present];
	char why[160];

	start->is_troubled = start->is_troubled || (records[0][1] != '0' && !start->closed);
	if (l->is_deep)
		return ERR_OK;
	start->err = script_reason(records[1], why, sizeof why);
	return tell_start(l, e);
}

static enum err tell_end(struct listing *l, struct error *e)
{
	return tell(
		l, &(struct list_item){ .kind = LIST_END, .now = l->now, .space = l->space }, e);
}

/* ---- Messages ---- */

static size_t count_lines(const char *text)
{
	size_t count = *text ? 1 : 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static size_t follow(void *context, const char *record)
{
	(void)context;
	switch (record[0]) {
	case 'C': return 2 * count_lines(record + 1);
	case 'E': return 2;
	case 'S': return 4;
	case 'Z': return 1;
	case 'D':
	case 'T':
	case 'X': return 0;
	default: return SIZE_MAX;
	}
}

/* E1600000000.123456789, statvfs, where staging lies. BusyBox's date(1) leaves %N as it is. */
static enum err take_facts(struct listing *l, char **records, struct error *e)
{
	long long seconds;
	long ns = 0;
	struct space *s = &l->space;

	if (sscanf(records[0], "E%lld.%9ld", &seconds, &ns) < 1 || ns < 0)
		return error_set(e, ERR_PROTOCOL, "date: '%.40s'", records[0]);
	l->now = (struct timespec){ .tv_sec = (time_t)seconds, .tv_nsec = ns };
	if (sscanf(records[1],
		    "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNu32,
		    &s->block_size, &s->blocks, &s->free, &s->available, &s->files, &s->files_free,
		    &s->name_max) != 7)
		return error_set(e, ERR_PROTOCOL, "stat -f: '%.60s'", records[1]);
	if (!*records[2])
		return ERR_OK;
	free(l->staging);
	l->staging = strdup(records[2]);
	return l->staging ? ERR_OK : error_set(e, ERR_NO_MEMORY, "staging");
}

/* S, T and D name the start that they and what follows them speak of. */
static enum err begin_start(struct listing *l, const char *record, struct error *e)
{
	size_t index = (size_t)strtoull(record + 1, NULL, 10);

	if (index >= l->request->starts_count || (record[0] == 'S' && index < l->told))
		return error_set(e, ERR_PROTOCOL, "an answer to no question");
	l->present = index;
	l->is_deep = record[0] == 'D';
	memset(l->way, 0, sizeof l->way);
	return record[0] == 'S' ? ERR_OK : tell_refused(l, l->request->starts_count, e);
}

static enum err message(void *context, char **records, size_t count, uint64_t *raw, struct error *e)
{
	struct listing *l = context;
	char letter = records[0][0];
	enum err k = ERR_OK;

	(void)raw;
	if (letter == 'S' || letter == 'T' || letter == 'D')
		k = begin_start(l, records[0], e);
	else if (letter != 'E' && !l->told)
		k = error_set(e, ERR_PROTOCOL, "an answer to no question");
	if (k != ERR_OK)
		return k;
	switch (letter) {
	case 'C': return take_chunk(l, records, count, e);
	case 'E': return take_facts(l, records, e);
	case 'S': return take_start(l, records, e);
	case 'X': l->starts[l->present].is_troubled = true; return ERR_OK;
	case 'Z': return end_tree(l, records, e);
	default: return ERR_OK;
	}
}

/* After the script's end, or when it was stopped because that was enough. */
static enum err tell_rest(struct listing *l, struct error *e)
{
	enum err k = tell_refused(l, l->request->starts_count, e);

	if (k == ERR_OK && l->is_full && !l->is_deep)
		k = tell_start(l, e);
	if (k == ERR_OK)
		k = tell_gathered(l, e);
	return k == ERR_OK ? tell_end(l, e) : k;
}

static enum err run(struct listing *l, struct provider *p, const struct call *call, struct error *e)
{
	const struct script_reader reader = { .follow = follow, .message = message, .context = l };
	AUTO_SCRIPT struct script s;
	enum err k;

	script_init(&s, p, shell_list_functions);
	ask(&s, l->request);
	k = script_run(&s, p, call, &reader, e);
	return k == ERR_OK || l->is_full ? tell_rest(l, e) : k;
}

enum err shell_list(struct provider *p, const struct call *call, const struct list_request *request,
	list_sink sink, void *context, struct error *e)
{
	AUTO_FREE struct listing *l = calloc(1, sizeof *l);
	AUTO_FREE struct start *starts = calloc(request->starts_count + 1, sizeof *starts);
	enum err k;

	if (!l || !starts)
		return error_set(e, ERR_NO_MEMORY, "list");
	l->request = request;
	l->sink = sink;
	l->context = context;
	l->starts = starts;
	l->entries.max = l->texts.max = GATHERED_MAX;
	k = run(l, p, call, e);
	buf_release(&l->entries);
	buf_release(&l->texts);
	free(l->staging);
	return k;
}
