/* SPDX-License-Identifier: BSD-3-Clause */
#include "scheduler/scnoded/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAST 4096
#define EACH_RANK 64

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_written;
}

/* Whether the name of the controller stands in the file. */
static bool has(const char *group, const char *file, const char *controller)
{
	char path[PATH_MAX], line[512], *rest = line, *word;
	FILE *in;
	bool is_there = false;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	in = fopen(path, "re");
	if (in && fgets(line, sizeof(line), in))
		while (!is_there && (word = strsep(&rest, " \n")))
			is_there = !strcmp(word, controller);
	if (in)
		fclose(in);
	return is_there;
}

/* A group has a controller only if the one above hands it on. */
static bool hand_on(const char *group, const char *controller)
{
	char path[PATH_MAX], text[32];

	if (has(group, "cgroup.subtree_control", controller))
		return true;
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", group);
	snprintf(text, sizeof(text), "+%s", controller);
	return has(group, "cgroup.controllers", controller) && write_text(path, text);
}

/* From the mount down to @root. */
static bool hand_down(const char *root, const char *controller)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", root);
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		/* Directories above the mount have no such file. */
		hand_on(path, controller);
		*at = '/';
	}
	return hand_on(path, controller);
}

bool limit_offer(const char *root)
{
	/* Only counted: how much memory a job had at most. Where that cannot be, it is not told. */
	hand_down(root, "memory");
	return hand_down(root, "pids");
}

int limit_group(const char *group, uint32_t tasks)
{
	char path[PATH_MAX], text[16];

	snprintf(path, sizeof(path), "%s/pids.max", group);
	snprintf(text, sizeof(text), "%u", tasks);
	return write_text(path, text) ? 0 : -EOPNOTSUPP;
}

int limit_set(const char *group, uint32_t tasks)
{
	char ranks[PATH_MAX - 16];

	/* v1 has no such file, and needs none. */
	hand_on(group, "pids");
	snprintf(ranks, sizeof(ranks), "%s/ranks", group);
	return limit_group(ranks, tasks);
}

uint32_t limit_of(uint32_t said, uint32_t ranks)
{
	uint64_t each = (uint64_t)ranks * EACH_RANK;

	if (said)
		return said;
	return each < LEAST ? LEAST : each > INT_MAX ? INT_MAX : (uint32_t)each;
}
