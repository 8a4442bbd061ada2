// SPDX-License-Identifier: BSD-3-Clause
/*
 * Tests of pm-ethernet/daemon/headroom.c: directories with the files that a hierarchy of control
 * groups has.
 */
#include "pm-ethernet/daemon/headroom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/harness/tap.h"

static char root[64];

static void begin(void)
{
	char path[128];

	strcpy(root, "/tmp/headroom-XXXXXX");
	if (!mkdtemp(root))
		abort();
	snprintf(path, sizeof(path), "%s/a", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/a/b", root);
	mkdir(path, 0700);
}

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	is_int(system(command), 0);
}

static void put(const char *group, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s/%s", root, group, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

TAP_TEST(ethd_headroom_of__no_limit)
{
	begin();
	ok(ethd_headroom_of(root, "/a/b") == UINT64_MAX);
	put("/a/b", "memory.max", "max\n");
	put("/a/b", "memory.current", "1000\n");
	ok(ethd_headroom_of(root, "/a/b") == UINT64_MAX);
	ok(ethd_headroom_of(root, "") == UINT64_MAX);
	end();
}

TAP_TEST(ethd_headroom_of__files_are_given_up)
{
	begin();
	put("/a/b", "memory.max", "1000\n");
	put("/a/b", "memory.current", "900\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 100);
	put("/a/b", "memory.stat", "anon 500\nfile 400\ninactive_file 30\nactive_file 20\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 150);
	put("/a/b", "memory.stat", "inactive_file 30\nslab_reclaimable 8\nslab_unreclaimable 4\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 138);
	put("/a/b", "memory.current", "1001\n");
	put("/a/b", "memory.stat", "anon 1001\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 0);
	end();
}

TAP_TEST(ethd_headroom_of__least_of_all_above)
{
	begin();
	put("/a/b", "memory.max", "1000\n");
	put("/a/b", "memory.current", "100\n");
	put("/a", "memory.max", "2000\n");
	put("/a", "memory.current", "1500\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 500);
	put("", "memory.max", "10000\n");
	put("", "memory.current", "9990\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 10);
	is_int((long long)ethd_headroom_of(root, ""), 10);
	end();
}

TAP_TEST(ethd_headroom_of__version_1)
{
	begin();
	put("/a", "memory.limit_in_bytes", "1000\n");
	put("/a", "memory.usage_in_bytes", "900\n");
	put("/a", "memory.stat",
	    "inactive_file 1\nactive_file 1\ntotal_inactive_file 40\ntotal_active_file 2\n");
	is_int((long long)ethd_headroom_of(root, "/a/b"), 142);
	end();
}
