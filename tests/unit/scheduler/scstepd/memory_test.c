// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory: a directory plays the hierarchy of control groups.
 */
#include "scheduler/scstepd/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

TAP_TEST(memory_was_exceeded__by_both_files)
{
	char file[] = "/tmp/memory-kills-XXXXXX";
	static const struct {
		const char *text;
		bool is_exceeded;
	} cases[] = {{"low 0\nhigh 7\nmax 40\noom 2\noom_kill 0\noom_group_kill 0\n", false},
		     {"low 0\nhigh 7\nmax 40\noom 2\noom_kill 3\noom_group_kill 1\n", true},
		     {"oom_kill_disable 1\nunder_oom 1\noom_kill 0\n", false},
		     {"oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", true},
		     {"", false},
		     {"oom_kill many\n", false}};
	int fd = mkstemp(file);

	must(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		is_int(ftruncate(fd, 0), 0);
		is_int(pwrite(fd, cases[i].text, strlen(cases[i].text), 0), strlen(cases[i].text));
		okf(memory_was_exceeded(file) == cases[i].is_exceeded, "%s", cases[i].text);
	}
	close(fd);
	unlink(file);
	ok(!memory_was_exceeded(file));
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
