// SPDX-License-Identifier: BSD-3-Clause
/* v2 and hybrid lie below the cgroup2 mount, v1 below the freezer hierarchy. */
#include "scheduler/scnoded/hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool hierarchy_mount(const char *type, const char *option, char *path, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "r");
	struct mntent *entry;
	bool is_found = false;

	while (mounts && !is_found && (entry = getmntent(mounts)))
		if (!strcmp(entry->mnt_type, type) && (!option || hasmntopt(entry, option)))
			is_found = snprintf(path, size, "%s", entry->mnt_dir) < (int)size;
	if (mounts)
		endmntent(mounts);
	return is_found;
}

bool hierarchy_root(enum cgroup_form form, const char *parent, char *path, size_t size)
{
	char mount[PATH_MAX / 4];

	if (!(form == CGROUP_V1 ? hierarchy_mount("cgroup", "freezer", mount, sizeof(mount))
				: hierarchy_mount("cgroup2", NULL, mount, sizeof(mount))))
		return false;
	return snprintf(path, size, "%s/%s", mount, parent) < (int)size;
}

int hierarchy_make(const char *path)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%s", path);
	for (char *at = strchr(part + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		if (mkdir(part, 0755) && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*at = '/';
	}
	return mkdir(part, 0755) && errno != EEXIST ? -errno : 0;
}

int hierarchy_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

void hierarchy_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = 0;
	if (fd >= 0)
		close(fd);
}

void hierarchy_each_pid(const char *group, bool (*each)(pid_t pid, void *owner), void *owner)
{
	char path[PATH_MAX];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		if (!each(pid, owner))
			break;
	if (file)
		fclose(file);
}

static bool kill_one(pid_t pid, void *owner)
{
	(void)owner;
	/* A process of another pid namespace is listed as 0. kill(0) means our own group. */
	if (pid > 0)
		kill(pid, SIGKILL);
	return true;
}

void hierarchy_kill(enum cgroup_form form, const char *group)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/cgroup.kill", group);
	/* cgroup.kill is there since Linux 5.14. */
	if (form == CGROUP_V1 || hierarchy_write(path, "1"))
		hierarchy_each_pid(group, kill_one, NULL);
}

static bool note_somebody(pid_t pid, void *owner)
{
	(void)pid;
	*(bool *)owner = true;
	return false;
}

/*
 * In v2, processes that are about to end are not listed any more, but keep the group from being
 * removed.
 */
bool hierarchy_is_empty(enum cgroup_form form, const char *group)
{
	bool is_somebody = false;
	char path[PATH_MAX], text[256];

	if (form != CGROUP_V1) {
		snprintf(path, sizeof(path), "%s/cgroup.events", group);
		hierarchy_read(path, text, sizeof(text));
		return !strstr(text, "populated 1");
	}
	hierarchy_each_pid(group, note_somebody, &is_somebody);
	return !is_somebody;
}
