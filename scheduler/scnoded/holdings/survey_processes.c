// SPDX-License-Identifier: BSD-3-Clause
/*
 * The tree is followed by /proc/PID/task/TID/children, as CRIU does it: so only the job's own
 * processes are read, however many others there are.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "scheduler/scnoded/holdings/survey_inside.h"

#define DEPTH_MAX 64 /* from a stranger up to the tree */

static const char *const namespaces[HELD_NAMESPACES] = {"pid", "mnt",  "net",    "ipc",
							"uts", "user", "cgroup", "time"};

/* A process or thread may go at any moment: these say that it has. */
static bool is_gone(int err)
{
	return err == ENOENT || err == ESRCH;
}

static bool read_stat(pid_t pid, struct procline_stat *ret)
{
	char line[1024];

	if (!survey_read(pid, "stat", line, sizeof(line)))
		return false;
	errno = EIO;
	return procline_stat(line, ret);
}

/* 0: the kernel has none of the kind, or the process is gone. */
static ino_t namespace_of(pid_t pid, const char *name)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
	return stat(path, &st) ? 0 : st.st_ino;
}

static bool is_apart(pid_t pid, pid_t other, const char *name)
{
	ino_t here = namespace_of(pid, name), there = namespace_of(other, name);

	return here && there && here != there;
}

static uint32_t namespaces_apart(pid_t pid, pid_t root)
{
	uint32_t apart = 0;

	for (int i = 0; i < HELD_NAMESPACES; i++)
		apart |= (uint32_t)is_apart(pid, root, namespaces[i]) << i;
	return apart;
}

/* kcmp(2) says 0 for two processes without memory, too: zombies. */
static bool shares_memory(const struct held_process *p, pid_t parent)
{
	return p->state != 'Z' && p->state != 'X' && !p->err &&
	       syscall(SYS_kcmp, p->pid, parent, KCMP_VM, 0, 0) == 0;
}

static void read_thread(struct survey *s, struct held_process *p, pid_t tid, unsigned *n_stopped,
			unsigned *n_other)
{
	struct procline_status status;
	char file[64], text[4096];

	snprintf(file, sizeof(file), "task/%d/status", tid);
	if (!survey_read(p->pid, file, text, sizeof(text)) || !procline_status(text, &status))
		return;
	s->holdings->n_threads++;
	if (status.tracer)
		p->tracer = status.tracer;
	if (status.state == 'Z' || status.state == 'X')
		p->has_dead_thread = true;
	else
		*(status.state == 'T' ? n_stopped : n_other) += 1;
}

static void read_threads(struct survey *s, struct held_process *p)
{
	unsigned n_stopped = 0, n_other = 0;
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && survey_goes_on(s)) {
		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		if (s->holdings->n_threads >= HOLDINGS_THREADS_MAX) {
			holdings_trouble(s->holdings,
					 "there are more than %d threads; make it smaller",
					 HOLDINGS_THREADS_MAX);
			break;
		}
		read_thread(s, p, atoi(entry->d_name), &n_stopped, &n_other);
	}
	if (dir)
		closedir(dir);
	p->is_partly_stopped = n_stopped && n_other;
	p->has_dead_thread &= n_stopped || n_other;
}

static uint32_t rank_of(const struct survey_order *order, pid_t pid, uint32_t inherited)
{
	for (size_t i = 0; i < order->n_ranks; i++)
		if (order->ranks[i].pid == pid)
			return order->ranks[i].rank;
	return inherited;
}

/* Adds it to the tree; false: it is gone, or there is trouble. */
static bool read_process(struct survey *s, pid_t pid, pid_t parent, size_t above, uint32_t rank)
{
	struct procline_stat stat = {.state = '?'};
	struct held_process *p;
	int err = read_stat(pid, &stat) ? 0 : errno;

	if (is_gone(err) || !survey_goes_on(s) || holdings_has(s->holdings, pid))
		return false;
	p = holdings_add_process(s->holdings, pid);
	if (!p)
		return false;
	p->rank = rank_of(s->order, pid, rank);
	p->above = above;
	p->err = err;
	p->state = stat.state;
	p->parent = stat.parent;
	p->session = stat.session;
	p->terminal = stat.terminal;
	memcpy(p->name, stat.name, sizeof(p->name));
	p->apart = namespaces_apart(pid, s->order->root);
	read_threads(s, p);
	p->shares_memory = parent && shares_memory(p, parent);
	return true;
}

/* The file is the same for all threads of the kernel: there, or not compiled in. */
static bool is_children_missing(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)gettid());
	return access(path, F_OK) != 0;
}

/* The list of processes may move when it grows, so the parent is told by its place. */
static void read_children_of(struct survey *s, size_t parent, pid_t tid)
{
	const struct held_process p = s->holdings->processes[parent];
	char path[64];
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", p.pid, tid);
	file = fopen(path, "re");
	while (file && survey_goes_on(s) && fscanf(file, "%d", &pid) == 1)
		read_process(s, pid, p.pid, parent, p.rank);
	if (file)
		fclose(file);
}

static void read_children(struct survey *s, size_t parent)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", s->holdings->processes[parent].pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) && survey_goes_on(s))
		if (isdigit((unsigned char)*entry->d_name))
			read_children_of(s, parent, atoi(entry->d_name));
	if (dir)
		closedir(dir);
}

int survey_processes(struct survey *s)
{
	struct holdings *h = s->holdings;
	pid_t root = s->order->root;

	if (root <= 0 || (!read_process(s, root, 0, 0, HOLDINGS_NO_RANK) && !*h->trouble))
		return -ESRCH;
	if (is_children_missing())
		holdings_trouble(h, "this kernel has no /proc/PID/task/TID/children, that is, "
				    "CONFIG_PROC_CHILDREN; boot one that has it");
	h->has_own_ipc = is_apart(root, getpid(), "ipc");
	h->has_other_net = is_apart(root, getpid(), "net");
	for (size_t i = 0; i < h->n_processes && survey_goes_on(s); i++)
		read_children(s, i);
	return 0;
}

bool survey_is_below(const struct holdings *h, pid_t pid)
{
	struct procline_stat stat;

	for (int depth = 0; depth < DEPTH_MAX; depth++) {
		if (holdings_has(h, pid) || !read_stat(pid, &stat))
			return true;
		if (stat.state == 'Z' || stat.state == 'X')
			return true;
		if (stat.parent <= 1)
			return false;
		pid = stat.parent;
	}
	return false;
}

void survey_strangers(struct survey *s)
{
	for (size_t i = 0; i < s->order->n_members && survey_goes_on(s); i++) {
		pid_t pid = s->order->members[i];
		struct procline_stat stat;
		struct held_stranger *stranger;

		if (survey_is_below(s->holdings, pid) || !read_stat(pid, &stat))
			continue;
		stranger = holdings_add_stranger(s->holdings);
		if (!stranger)
			return;
		stranger->pid = pid;
		memcpy(stranger->name, stat.name, sizeof(stranger->name));
	}
}
