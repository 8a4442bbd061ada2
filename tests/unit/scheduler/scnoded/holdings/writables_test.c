// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/holdings/writables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/harness/tap.h"

static struct holdings h;

static struct held_file *file(uint32_t flags, uint64_t inode, const char *name)
{
	struct held_file *f = holdings_add_file(&h);

	*f = (struct held_file){.mode = S_IFREG,
				.flags = flags,
				.inode = inode,
				.device = 9,
				.links = 1,
				.is_mounted = true,
				.name = holdings_text(&h, name)};
	return f;
}

static struct held_mapping *mapping(bool is_shared_writable, uint64_t inode, const char *name)
{
	struct held_mapping *m = holdings_add_mapping(&h);

	*m = (struct held_mapping){.mode = S_IFREG,
				   .is_shared_writable = is_shared_writable,
				   .inode = inode,
				   .device = 9,
				   .links = 1,
				   .name = holdings_text(&h, name)};
	return m;
}

static void begin(void)
{
	holdings_free(&h);
	holdings_add_process(&h, 4711)->rank = 3;
}

TAP_TEST(writables_list__not_these)
{
	struct writable *list = NULL;

	begin();
	file(O_RDONLY, 1, "/a");
	file(O_WRONLY, 2, "/b (deleted)")->links = 0;
	file(O_WRONLY, 3, "/memfd:c (deleted)")->is_mounted = false;
	file(O_RDWR, 4, "/dev/null")->mode = S_IFCHR;
	file(O_RDWR, 5, "socket:[5]")->mode = S_IFSOCK;
	file(O_RDWR, 6, "anon_inode:[eventfd]");
	mapping(false, 7, "/usr/lib/libc.so.6");
	mapping(true, 8, "/memfd:d (deleted)")->links = 0;
	mapping(true, 9, "/dev/zero")->mode = S_IFCHR;
	is_int(writables_list(&h, &list), 0);
	free(list);
}

TAP_TEST(writables_list__each_once)
{
	struct writable *list = NULL;
	struct held_file *f;

	begin();
	f = file(O_WRONLY, 7, "/log");
	f->offset = 100;
	f->size = 500;
	f = file(O_RDWR | O_APPEND, 7, "/log");
	f->offset = 400;
	f->size = 510;
	file(O_WRONLY, 6, "/other")->size = 1;
	file(O_WRONLY, 7, "/another")->device = 8;
	mapping(true, 6, "/other")->size = 1;
	mapping(true, 12, "/dev/shm/x")->size = 4096;
	must(writables_list(&h, &list) == 4);
	is_str(list[0].path, "/another");
	is_int(list[0].device, 8);
	is_str(list[1].path, "/other");
	ok(list[1].is_mapped && !list[1].is_append);
	is_str(list[2].path, "/log");
	is_int(list[2].inode, 7);
	is_int(list[2].size, 510);
	is_int(list[2].offset, 400);
	ok(list[2].is_append && !list[2].is_mapped);
	is_int(list[2].pid, 4711);
	is_int(list[2].rank, 3);
	is_str(list[3].path, "/dev/shm/x");
	is_int(list[3].size, 4096);
	free(list);
	holdings_free(&h);
}
