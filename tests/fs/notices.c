#include "fs/notices.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>

static struct notices queue;

static void teardown(void)
{
	notices_release(&queue);
}

TestSuite(notices, .fini = teardown, .timeout = 60);

/* Whether that made the queue longer. */
static bool add(const struct notice *notice)
{
	bool is_new;

	cr_assert(notices_add(&queue, notice, &is_new));
	return is_new;
}

static bool add_inode(fuse_ino_t ino, bool pages)
{
	return add(&(struct notice){ .kind = NOTICE_INODE, .ino = ino, .pages = pages });
}

static bool add_name(fuse_ino_t dir, const char *name, bool is_gone)
{
	return add(&(struct notice){
		.kind = NOTICE_NAME, .ino = dir, .name = strdup(name), .is_gone = is_gone });
}

Test(notices, an_inode_is_in_the_queue_once_and_with_its_pages_if_anybody_asked_for_them)
{
	cr_expect(add_inode(7, false));
	cr_expect(not(add_inode(7, true)));
	cr_expect(not(add_inode(7, false)));
	cr_expect(eq(sz, queue.len, 1));
	cr_expect(queue.all[0].pages);
}

Test(notices, a_name_is_in_the_queue_once_for_each_directory)
{
	cr_expect(add_name(7, "a", false));
	cr_expect(add_name(8, "a", false));
	cr_expect(add_name(7, "b", false));
	cr_expect(not(add_name(7, "a", true)));
	cr_expect(eq(sz, queue.len, 3));
	cr_expect(queue.all[0].is_gone);
	cr_expect(not(queue.all[1].is_gone));
}

Test(notices, a_directory_and_a_name_in_it_are_two)
{
	cr_expect(add_inode(7, false));
	cr_expect(add_name(7, "", false));
	cr_expect(add(&(struct notice){ .kind = NOTICE_ALL }));
	cr_expect(not(add(&(struct notice){ .kind = NOTICE_ALL })));
	cr_expect(eq(sz, queue.len, 3));
}

Test(notices, who_polls_is_woken_each_time)
{
	cr_expect(add(&(struct notice){ .kind = NOTICE_POLL }));
	cr_expect(add(&(struct notice){ .kind = NOTICE_POLL }));
}

Test(notices, many_names_stay_in_order_each_once)
{
	char name[32];

	for (int round = 0; round < 3; round++)
		for (int n = 0; n < 10000; n++) {
			snprintf(name, sizeof name, "f%d", n);
			cr_assert(eq(int, add_name(1, name, false), round == 0));
		}
	cr_assert(eq(sz, queue.len, 10000));
	cr_expect(eq(str, queue.all[0].name, "f0"));
	cr_expect(eq(str, queue.all[9999].name, "f9999"));
}
