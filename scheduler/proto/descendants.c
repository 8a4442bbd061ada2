// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/proto/descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROUNDS 8 /* a process that forks while it is signalled is found in the next round */

struct process {
	pid_t pid, parent;
	char state;
	uint64_t cpu_ns;
};

struct table {
	struct process *all;
	size_t n, room;
};

/* proc(5): the name stands in parentheses and may contain anything. */
static bool read_process(pid_t pid, struct process *ret)
{
	char path[64], line[512];
	unsigned long user, system;
	const char *at;
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fgets(line, sizeof(line), file) != NULL;
	fclose(file);
	at = is_read ? strrchr(line, ')') : NULL;
	*ret = (struct process){.pid = pid};
	if (!at || sscanf(at, ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &ret->state,
			  &ret->parent, &user, &system) != 4)
		return false;
	ret->cpu_ns = (user + system) * (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

static void read_table(struct table *t)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;

	*t = (struct table){0};
	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (t->n == t->room) {
			size_t room = t->room ? 2 * t->room : 256;
			struct process *all = realloc(t->all, room * sizeof(*all));

			if (!all)
				break;
			t->all = all;
			t->room = room;
		}
		t->n += read_process(atoi(entry->d_name), &t->all[t->n]);
	}
	if (dir)
		closedir(dir);
}

static const struct process *find(const struct table *t, pid_t pid)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->all[i].pid == pid)
			return &t->all[i];
	return NULL;
}

static bool is_below(const struct table *t, pid_t ancestor, const struct process *p)
{
	for (size_t depth = 0; p && p->parent > 0 && depth < t->n; depth++) {
		if (p->parent == ancestor)
			return true;
		p = find(t, p->parent);
	}
	return false;
}

/* Sums over all living descendants of a process. */
struct census {
	size_t n, n_stopped;
	uint64_t cpu_ns;
};

static struct census count(pid_t ancestor)
{
	struct census c = {0};
	struct table t;

	if (ancestor <= 0)
		return c;
	read_table(&t);
	for (size_t i = 0; i < t.n; i++) {
		const struct process *p = &t.all[i];

		if (p->state == 'Z' || !is_below(&t, ancestor, p))
			continue;
		c.n++;
		c.n_stopped += p->state == 'T' || p->state == 't';
		c.cpu_ns += p->cpu_ns;
	}
	free(t.all);
	return c;
}

void descendants_each(pid_t ancestor, bool (*each)(pid_t pid, void *owner), void *owner)
{
	struct table t;

	read_table(&t);
	for (size_t i = 0; i < t.n; i++)
		if (is_below(&t, ancestor, &t.all[i]) && !each(t.all[i].pid, owner))
			break;
	free(t.all);
}

size_t descendants_count(pid_t ancestor)
{
	return count(ancestor).n;
}

bool descendants_is_stopped(pid_t ancestor)
{
	struct census c = count(ancestor);

	return c.n == c.n_stopped;
}

uint64_t descendants_cpu_ns(pid_t ancestor)
{
	return count(ancestor).cpu_ns;
}

static size_t signal_once(pid_t ancestor, int signal, size_t known, int *err)
{
	struct table t;
	size_t n = 0;

	read_table(&t);
	for (size_t i = 0; i < t.n; i++)
		if (t.all[i].state != 'Z' && is_below(&t, ancestor, &t.all[i])) {
			n++;
			if (kill(t.all[i].pid, signal) && errno != ESRCH)
				*err = -errno;
		}
	free(t.all);
	return n > known ? n : 0;
}

int descendants_signal(pid_t ancestor, int signal)
{
	size_t known = 0, more;
	int err = 0;

	if (ancestor <= 0)
		return -ESRCH;
	for (int round = 0; round < ROUNDS && (more = signal_once(ancestor, signal, known, &err));
	     round++)
		known = more;
	return err;
}
