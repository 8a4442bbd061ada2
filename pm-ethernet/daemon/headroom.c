// SPDX-License-Identifier: BSD-3-Clause
/*
 * A limit may be at any of the groups above ours. It is read anew each time: people change limits,
 * and move processes.
 */
#include "pm-ethernet/daemon/headroom.h"

#include <inttypes.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Of version 2 and of version 1. */
static const char *const limits[] = {"memory.max", "memory.limit_in_bytes"};
static const char *const usages[] = {"memory.current", "memory.usage_in_bytes"};

/* "max" is no number, and no limit. */
static bool read_number(const char *group, const char *const names[2], uint64_t *ret)
{
	bool is_there = false;

	for (int i = 0; i < 2 && !is_there; i++) {
		char path[PATH_MAX];
		FILE *file;

		if (snprintf(path, sizeof(path), "%s/%s", group, names[i]) >= (int)sizeof(path))
			return false;
		file = fopen(path, "re");
		is_there = file && fscanf(file, "%" SCNu64, ret) == 1;
		if (file)
			fclose(file);
	}
	return is_there;
}

/*
 * Its pages of files can be read again, and caches of the kernel be made again. In version 1 sums
 * have names of their own, and such caches none.
 */
static uint64_t reclaimable(const char *group)
{
	uint64_t own = 0, all = 0, n;
	char path[PATH_MAX], name[64];
	FILE *file;

	if (snprintf(path, sizeof(path), "%s/memory.stat", group) >= (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	while (file && fscanf(file, "%63s %" SCNu64, name, &n) == 2) {
		if (!strcmp(name, "inactive_file") || !strcmp(name, "active_file") ||
		    !strcmp(name, "slab_reclaimable"))
			own += n;
		if (!strcmp(name, "total_inactive_file") || !strcmp(name, "total_active_file"))
			all += n;
	}
	if (file)
		fclose(file);
	return all ? all : own;
}

static uint64_t of_one(const char *group)
{
	uint64_t max, used, files;

	if (!read_number(group, limits, &max) || !read_number(group, usages, &used))
		return UINT64_MAX;
	files = reclaimable(group);
	used -= files < used ? files : used;
	return used < max ? max - used : 0;
}

uint64_t ethd_headroom_of(const char *root, const char *group)
{
	uint64_t least = UINT64_MAX;
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s%s", root, group);
	size_t top = strlen(root);

	if (length >= (int)sizeof(path))
		return UINT64_MAX;
	for (;;) {
		uint64_t room = of_one(path);
		char *end = strrchr(path, '/');

		least = room < least ? room : least;
		if (!end || (size_t)(end - path) < top)
			return least;
		*end = 0;
	}
}

static bool find_mount(const char *type, const char *option, char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *entry;
	bool is_found = false;

	while (mounts && !is_found && (entry = getmntent(mounts)))
		is_found = !strcmp(entry->mnt_type, type) &&
			   (!option || hasmntopt(entry, option)) &&
			   snprintf(path, size, "%s", entry->mnt_dir) < (int)size;
	if (mounts)
		endmntent(mounts);
	return is_found;
}

/* The group of this process in the hierarchy that counts memory. */
static bool find_group(char *group, size_t size, bool *ret_is_old)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX + 256];
	bool is_found = false;

	*ret_is_old = false;
	while (file && !*ret_is_old && fgets(line, sizeof(line), file)) {
		char *kinds = strchr(line, ':'), *path = kinds ? strchr(++kinds, ':') : NULL;

		if (!path)
			continue;
		*path++ = 0;
		path[strcspn(path, "\n")] = 0;
		*ret_is_old = !strcmp(kinds, "memory") || strstr(kinds, "memory,") == kinds ||
			      strstr(kinds, ",memory");
		/* that of version 2 has no kind */
		if (*ret_is_old || !*kinds)
			is_found = snprintf(group, size, "%s", path) < (int)size;
	}
	if (file)
		fclose(file);
	return is_found;
}

uint64_t ethd_headroom(void)
{
	char root[PATH_MAX], group[PATH_MAX];
	bool is_old;

	if (!find_group(group, sizeof(group), &is_old) ||
	    !find_mount(is_old ? "cgroup" : "cgroup2", is_old ? "memory" : NULL, root,
			sizeof(root)))
		return UINT64_MAX;
	return ethd_headroom_of(root, strcmp(group, "/") != 0 ? group : "");
}
