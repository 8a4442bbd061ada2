// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory: a directory plays the hierarchy of control groups.
 */
#include "scheduler/scstepd/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/tap.h"

static char root[] = "/tmp/memory-XXXXXX";
static char path[200];

static const char *in_root(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", root, name);
	return path;
}

static void put(const char *name, const char *before, const char *after)
{
	FILE *out = fopen(in_root(name), "w");

	if (!ok(out != NULL))
		return;
	fprintf(out, "%s%s", before, after);
	fclose(out);
}

static int64_t peak(void)
{
	char mounts[200], group[200];

	snprintf(mounts, sizeof(mounts), "%s/mounts", root);
	snprintf(group, sizeof(group), "%s/group", root);
	return memory_peak(mounts, group);
}

TAP_TEST(memory_peak__of_the_jobs_group)
{
	char line[200];

	must(mkdtemp(root));
	is_int(peak(), -ENOENT);
	snprintf(line, sizeof(line), "cgroup2 %s cgroup2 rw 0 0\n", root);
	put("mounts", "tmpfs /tmp tmpfs rw 0 0\ncgroup /c cgroup rw,freezer 0 0\n", line);
	put("group", "5:freezer:/x/y\n", "0::/job-7/step\n");
	is_int(peak(), -ENOENT);
	is_int(mkdir(in_root("job-7"), 0700), 0);
	put("job-7/memory.peak", "123456789012", "\n");
	is_int(peak(), 123456789012);
	put("job-7/memory.peak", "none", "\n");
	is_int(peak(), -EINVAL);
	put("group", "0::/", "\n");
	is_int(peak(), -ENOENT);
	put("group", "5:freezer:/x", "\n");
	is_int(peak(), -ENOENT);
	put("mounts", "tmpfs /tmp tmpfs rw 0 0", "\n");
	is_int(peak(), -ENOENT);
	unlink(in_root("job-7/memory.peak"));
	rmdir(in_root("job-7"));
	unlink(in_root("group"));
	unlink(in_root("mounts"));
	rmdir(root);
}
