// SPDX-License-Identifier: BSD-3-Clause
/*
 * memory - files of the kernel only.
 */
#include "scheduler/scstepd/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

/* Where the v2 hierarchy is mounted. */
static int find_mount(const char *mounts, char *ret, size_t size)
{
	FILE *in = setmntent(mounts, "re");
	struct mntent entry;
	char buffer[PATH_MAX];
	int rc = -ENOENT;

	if (!in)
		return -errno;
	while (rc && getmntent_r(in, &entry, buffer, sizeof(buffer)))
		if (!strcmp(entry.mnt_type, "cgroup2") && strlen(entry.mnt_dir) < size) {
			strcpy(ret, entry.mnt_dir);
			rc = 0;
		}
	endmntent(in);
	return rc;
}

/* The path of the v2 group that @group tells: "0::/openscore/job-7/step". */
static int find_group(const char *group, char *ret, size_t size)
{
	FILE *in = fopen(group, "re");
	char line[PATH_MAX];
	int rc = -ENOENT;

	if (!in)
		return -errno;
	while (rc && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4) && strlen(line + 3) < size) {
			strcpy(ret, line + 3);
			rc = 0;
		}
	}
	fclose(in);
	return rc;
}

int64_t memory_peak(const char *mounts, const char *group)
{
	char mount[PATH_MAX], path[PATH_MAX], file[2 * PATH_MAX + 16];
	int64_t bytes = -EINVAL;
	char *last;
	FILE *in;
	int rc = find_mount(mounts, mount, sizeof(mount));

	if (!rc)
		rc = find_group(group, path, sizeof(path));
	if (rc)
		return rc;
	last = strrchr(path, '/');
	*last = '\0';
	/* Our group is the hierarchy's root: it is not the job's. */
	if (!*path)
		return -ENOENT;
	snprintf(file, sizeof(file), "%s%s/memory.peak", mount, path);
	in = fopen(file, "re");
	if (!in)
		return -errno;
	if (fscanf(in, "%" SCNd64, &bytes) != 1)
		bytes = -EINVAL;
	fclose(in);
	return bytes;
}

bool memory_was_exceeded(const char *kills)
{
	FILE *in = fopen(kills, "re");
	unsigned long long n = 0;
	char line[128];

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "oom_kill %llu", &n) == 1)
			break;
	if (in)
		fclose(in);
	return n;
}
