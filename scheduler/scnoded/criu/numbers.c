// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/criu/numbers.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "numbers"
#define FIRST 300       /* the kernel begins there again after the highest one */
#define USUAL_MAX 32768 /* kernel.pid_max of a small host: another host may be one */
#define KERNEL_MAX 4194304

struct list {
	pid_t *all;
	size_t n, room;
};

static bool add(struct list *list, pid_t pid)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 256;
		pid_t *all = reallocarray(list->all, room, sizeof(*all));

		if (!all)
			return false;
		list->all = all;
		list->room = room;
	}
	list->all[list->n++] = pid;
	return true;
}

static int compare(const void *a, const void *b)
{
	const pid_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Between two that are taken, from above. */
static pid_t choose_below(const pid_t *taken, size_t n, pid_t limit)
{
	pid_t end = limit;

	for (size_t i = n; i-- > 0;) {
		if (taken[i] >= limit)
			continue;
		if (end - taken[i] > NUMBERS_FREE)
			break;
		end = taken[i];
	}
	return end - NUMBERS_FREE > FIRST ? end - NUMBERS_FREE : 0;
}

pid_t numbers_choose(pid_t *taken, size_t n)
{
	pid_t first;

	if (n)
		qsort(taken, n, sizeof(*taken), compare);
	first = choose_below(taken, n, USUAL_MAX);
	return first ? first : choose_below(taken, n, KERNEL_MAX);
}

/* A group or session has its number still when the process of that number has ended. */
static bool add_groups(struct list *list, const char *pid)
{
	char path[64], line[512], *at;
	int group, session;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	at = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	if (!at || sscanf(at, ") %*c %*d %d %d", &group, &session) != 2)
		return true;
	return add(list, group) && add(list, session);
}

static bool add_threads(struct list *list, const char *pid)
{
	const struct dirent *each;
	char path[64];
	bool is_good = true;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	dir = opendir(path);
	while (dir && is_good && (each = readdir(dir)))
		if (isdigit((unsigned char)each->d_name[0]))
			is_good = add(list, atoi(each->d_name));
	if (dir)
		closedir(dir);
	return is_good;
}

static int list_taken(struct list *ret)
{
	const struct dirent *each;
	DIR *dir = opendir("/proc");
	bool is_good = true;

	if (!dir)
		return -errno;
	while (is_good && (each = readdir(dir)))
		if (isdigit((unsigned char)each->d_name[0]))
			is_good = add_threads(ret, each->d_name) && add_groups(ret, each->d_name);
	closedir(dir);
	return is_good ? 0 : -ENOMEM;
}

int numbers_write(int dir)
{
	struct list taken = {0};
	int err = list_taken(&taken), fd;
	pid_t first = err ? 0 : numbers_choose(taken.all, taken.n);

	free(taken.all);
	if (err || !first)
		return err ? err : -EAGAIN;
	fd = openat(dir, FILE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = dprintf(fd, "%d\n", first) < 0 ? -errno : 0;
	close(fd);
	return err;
}

pid_t numbers_read(int dir)
{
	int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[16] = "";
	long number;

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	number = atol(text);
	return number > FIRST && number < KERNEL_MAX ? (pid_t)number : 0;
}
