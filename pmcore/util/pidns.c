// SPDX-License-Identifier: BSD-3-Clause
#include "pmcore/util/pidns.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define LINE 512 /* of /proc/PID/status; a namespace may lie 32 deep */

static uint64_t namespace_at(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : st.st_ino;
}

uint64_t pidns_self(void)
{
	return namespace_at("/proc/self/ns/pid");
}

uint64_t pidns_of(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return namespace_at(path);
}

pid_t pidns_last(const char *numbers)
{
	long last = 0;
	char *end;

	for (;;) {
		long n = strtol(numbers, &end, 10);

		if (end == numbers)
			break;
		last = n;
		numbers = end;
	}
	return last > 0 && last <= INT_MAX ? (pid_t)last : 0;
}

/* The last number of a line of /proc/PID/status. The list of groups there may be very long. */
static pid_t status_number(pid_t pid, const char *key)
{
	char path[64], line[LINE];
	bool is_begin = true;
	pid_t number = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		if (is_begin && !strncmp(line, key, strlen(key))) {
			number = pidns_last(line + strlen(key));
			break;
		}
		is_begin = strchr(line, '\n') != NULL;
	}
	fclose(file);
	return number;
}

pid_t pidns_inner(pid_t pid)
{
	return status_number(pid, "NSpid:");
}

pid_t pidns_parent(pid_t pid)
{
	return status_number(pid, "PPid:");
}

static int add(struct pidns_table *table, const struct pidns_process *process)
{
	if (table->n == table->room) {
		size_t room = table->room ? 2 * table->room : 64;
		struct pidns_process *all = reallocarray(table->all, room, sizeof(*all));

		if (!all)
			return -ENOMEM;
		table->all = all;
		table->room = room;
	}
	table->all[table->n++] = *process;
	return 0;
}

int pidns_add(struct pidns_table *table, pid_t pid)
{
	struct pidns_process process = {
		.ns = pidns_of(pid), .inner = pidns_inner(pid), .outer = pid};

	return process.ns && process.inner ? add(table, &process) : 0;
}

int pidns_add_all(struct pidns_table *table)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	uint64_t ours = pidns_self();
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
		uint64_t ns = pid ? pidns_of(pid) : 0;

		if (ns && ns != ours)
			err = pidns_add(table, pid);
	}
	closedir(dir);
	return err;
}

pid_t pidns_find(const struct pidns_table *table, uint64_t ns, pid_t inner)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->all[i].inner == inner && table->all[i].ns == ns)
			return table->all[i].outer;
	return 0;
}

void pidns_fini(struct pidns_table *table)
{
	free(table->all);
	*table = (struct pidns_table){0};
}
