// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

bool limit_has_memory(const char *root)
{
	return has(root, "cgroup.subtree_control", "memory");
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

static bool write_file(const char *group, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/ranks/%s", group, file);
	return write_text(path, text);
}

int limit_set_memory(const char *group, uint64_t bytes)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	hand_on(group, "memory");
	if (write_file(group, "memory.max", text)) {
		/*
		 * A rank that swaps is no faster than one that is not there. Not all kernels count
		 * swap.
		 */
		write_file(group, "memory.swap.max", "0");
		write_file(group, "memory.oom.group", "1");
		return 0;
	}
	if (!write_file(group, "memory.limit_in_bytes", text))
		return -EOPNOTSUPP;
	write_file(group, "memory.memsw.limit_in_bytes", text);
	return 0;
}

bool limit_kills_path(const char *group, char *path, size_t size)
{
	static const char *const files[] = {"memory.events", "memory.oom_control"};

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, size, "%s/ranks/%s", group, files[i]);
		if (!access(path, R_OK))
			return true;
	}
	return false;
}

uint64_t limit_kills(const char *path)
{
	char line[128];
	uint64_t n = 0;
	FILE *in = fopen(path, "re");

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "oom_kill %" SCNu64, &n) == 1)
			break;
	if (in)
		fclose(in);
	return n;
}

uint32_t limit_of(uint32_t said, uint32_t ranks)
{
	uint64_t each = (uint64_t)ranks * EACH_RANK;

	if (said)
		return said;
	return each < LEAST ? LEAST : each > INT_MAX ? INT_MAX : (uint32_t)each;
}
