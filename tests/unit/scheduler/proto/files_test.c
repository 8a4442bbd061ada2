// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/files.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/harness/tap.h"

#define MAX 2048

static struct rlimit before;

static void limit(rlim_t soft)
{
	getrlimit(RLIMIT_NOFILE, &before);
	is_int(setrlimit(RLIMIT_NOFILE, &(struct rlimit){soft, before.rlim_max}), 0);
}

static void unlimit(void)
{
	is_int(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TAP_TEST(files_raise__to_the_hard_limit)
{
	struct rlimit now;

	limit(64);
	is_int(files_raise(), before.rlim_max);
	is_int(getrlimit(RLIMIT_NOFILE, &now), 0);
	is_int(now.rlim_cur, before.rlim_max);
	unlimit();
}

TAP_TEST(files_full__a_part_of_few)
{
	limit(80);
	ok(!files_full(0, MAX));
	ok(!files_full(9, MAX));
	ok(files_full(10, MAX));
	ok(!files_full(2, 3));
	ok(files_full(3, 3));
	unlimit();
}

TAP_TEST(files_full__the_bound_where_there_are_many)
{
	limit(8 * MAX);
	if (before.rlim_max >= 8 * MAX) {
		ok(!files_full(MAX - 1, MAX));
		ok(files_full(MAX, MAX));
	}
	unlimit();
}

TAP_TEST(files_remedy__by_what_is_full)
{
	ok(strstr(files_remedy(EMFILE, "x"), "LimitNOFILE="));
	ok(strstr(files_remedy(ENFILE, "x"), "fs.file-max"));
	is_str(files_remedy(EACCES, "x"), "x");
}
