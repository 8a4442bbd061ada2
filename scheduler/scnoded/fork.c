// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler/scnoded/fork.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pmcore/util/stats.h"
#include "scheduler/proto/files.h"
#include "scheduler/proto/signals.h"
#include "scheduler/scnoded/cores.h"
#include "scheduler/scnoded/init.h"
#include "scheduler/scnoded/record.h"
#include "scheduler/scnoded/spawn.h"

#define INIT_MS 2000 /* its mounts are made by then */

/* As execve() wants it: not constant. */
static char name[] = "scstepd";

/* Of processors; NULL: any. */
struct mask {
	const unsigned long *bits;
	size_t bytes;
};

/* @init: NULL, or what the process needs to have namespaces of its own. */
static _Noreturn void run_child(const struct spawn *spawn, const struct mask *mask,
				const struct init_plan *init, int control, const int go[2])
{
	char *const argv[] = {name, NULL};
	char byte;

	spawn_begin();
	/* Even a job that is not bound keeps to the processors that jobs may use. */
	if (mask->bits)
		sched_setaffinity(0, mask->bytes, (const cpu_set_t *)mask->bits);
	/*
	 * In the job's group before anything of the job runs. A scnoded that dies before lets go by
	 * the pipe's end.
	 */
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(1);
	if (init)
		init_become(init);
	spawn_exec(spawn, argv, control);
}

/* The sentence for what scstepd can't have. */
static char *lack(const struct scnoded *d, const char *what, int error)
{
	return daemon_text("host %s: no %s for scstepd: %s; %s", d->name, what, strerror(error),
			   files_remedy(error,
					"look after memory and control groups of that host"));
}

static const char *namespace_remedy(int error, bool is_mount)
{
	if (error == EPERM || error == EACCES)
		return "run scnoded there as root with CAP_SYS_ADMIN and nothing around it that "
		       "forbids to mount";
	if (error == ENOSPC && is_mount)
		return "raise fs.mount-max there (sysctl)";
	if (error == ENOSPC)
		return "raise user.max_pid_namespaces and user.max_mnt_namespaces there (sysctl)";
	if (error == ENOENT && is_mount)
		return "mount a tmpfs at /dev/shm there";
	return files_remedy(error, "look after memory and limits of that host");
}

/* The sentence for namespaces that can't be had. */
static char *lack_namespace(const struct scnoded *d, const char *what, int error, bool is_mount)
{
	return daemon_text("host %s: a job with -checkpoint needs %s, which fails: %s; %s, or "
			   "leave out -checkpoint",
			   d->name, what, strerror(error), namespace_remedy(error, is_mount));
}

/* Why the host's scnoded can't give a job namespaces at all, NULL: it may try. */
static char *refuse_namespaces(const struct scnoded *d)
{
	char run[PATH_MAX];

	if (geteuid())
		return lack_namespace(d, "namespaces of its own", EPERM, false);
	if (d->form == CGROUP_NONE)
		return daemon_text("host %s: a job with -checkpoint needs control groups, which "
				   "its scnoded has not; see its log, or leave out -checkpoint",
				   d->name);
	if (realpath(d->options.run, run) && !strncmp(run, "/dev/shm", strlen("/dev/shm")))
		return daemon_text("host %s: a job with -checkpoint has a /dev/shm of its own, and "
				   "would not see the run directory %s; give scnoded another one "
				   "with --run",
				   d->name, run);
	return NULL;
}

static void free_hidden(struct init_plan *init)
{
	for (char **at = init->hidden; at && *at; at++)
		free(*at);
	free(init->hidden);
}

/* Directories of the other jobs here. */
static char **list_hidden(const struct step *step)
{
	const struct scnoded *d = step->daemon;
	const struct step *each;
	char path[PATH_MAX], **list;
	size_t n = 1;

	TAILQ_FOREACH(each, &d->steps, all)
		n++;
	list = calloc(n, sizeof(*list));
	n = 0;
	TAILQ_FOREACH(each, &d->steps, all) {
		record_path(d->options.run, each->id, RECORD_TMP, path);
		if (list && each != step && (list[n] = strdup(path)))
			n++;
	}
	return list;
}

static void plan_init(const struct step *step, struct spawn *spawn, struct init_plan *init)
{
	const struct scnoded *d = step->daemon;
	const struct order *order = step->order;

	record_path(d->options.run, step->id, RECORD_TMP, init->tmp);
	init_plan(init, order->uid, order->gid, step->memory);
	record_path(d->options.run, step->id, RECORD_SHM, init->shm);
	init->hidden = list_hidden(step);
	snprintf(init->stats, sizeof(init->stats), STATS_VARIABLE "=%s", init->shm);
	spawn_set(spawn, init->stats);
}

/*
 * Once it was let go: whether it has its namespaces. Mounts in memory are all that it makes, so
 * that is soon; but it runs on the processors of jobs, and our loop waits for it.
 */
static char *await_init(const struct scnoded *d, int fd)
{
	struct init_told told = {.error = EIO};
	struct pollfd file = {.fd = fd, .events = POLLIN};
	ssize_t n;

	do
		n = poll(&file, 1, INIT_MS);
	while (n < 0 && errno == EINTR);
	if (!n)
		return daemon_text(
			"host %s: process 1 of the job's namespaces has not mounted within %d s; "
			"look after the load of that host",
			d->name, INIT_MS / 1000);
	do
		n = read(fd, &told, sizeof(told));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(told))
		return daemon_text(
			"host %s: process 1 of the job's namespaces has ended; look after "
			"memory of that host",
			d->name);
	return told.step < 0 ? NULL
			     : lack_namespace(d, init_step_name(told.step), told.error, true);
}

static char *let_go(const struct step *step, pid_t pid, int go)
{
	int err = cgroup_put_step(step->group, pid);

	if (err)
		return lack(step->daemon, "way into its cgroup", -err);
	if (write(go, "g", 1) != 1)
		return daemon_text("host %s: scstepd cannot be let go: %m", step->daemon->name);
	return NULL;
}

static char *spawn_step(struct step *step, const struct spawn *spawn, const int control[2],
			const int go[2])
{
	struct mask mask = {NULL, 0};
	pid_t pid;

	mask.bits = cores_mask(step->daemon->cores, &mask.bytes);
	pid = signals_fork();
	if (!pid)
		run_child(spawn, &mask, NULL, control[1], go);
	if (pid < 0)
		return daemon_text("host %s: no process for scstepd: %s; end some there, or raise "
				   "kernel.pid_max",
				   step->daemon->name, strerror(-pid));
	step->pid = pid;
	return let_go(step, pid, go[1]);
}

/* The same below an init. *@ret_told: the pipe by which that tells more; NULL: it does not. */
static char *spawn_init(struct step *step, const struct spawn *spawn, struct init_plan *init,
			int control, const int go[2], int *ret_told)
{
	const struct scnoded *d = step->daemon;
	struct mask mask = {NULL, 0};
	char *text = NULL;
	int told[2];
	pid_t pid;

	if (pipe2(told, O_CLOEXEC))
		return lack(d, "pipe", errno);
	init->told = told[1];
	mask.bits = cores_mask(d->cores, &mask.bytes);
	pid = init_fork();
	if (!pid)
		run_child(spawn, &mask, init, control, go);
	close(told[1]);
	if (pid < 0) {
		text = lack_namespace(d, "namespaces of its own", -pid, false);
	} else {
		step->pid = pid;
		text = let_go(step, pid, go[1]);
	}
	if (!text)
		text = await_init(d, told[0]);
	if (!text && ret_told)
		*ret_told = told[0];
	else
		close(told[0]);
	return text;
}

static char *spawn_apart(struct step *step, struct spawn *spawn, const int control[2],
			 const int go[2])
{
	struct init_plan *init = calloc(1, sizeof(*init));
	char *text = init ? refuse_namespaces(step->daemon) : lack(step->daemon, "memory", ENOMEM);

	if (!text) {
		plan_init(step, spawn, init);
		text = spawn_init(step, spawn, init, control[1], go, NULL);
		free_hidden(init);
	}
	free(init);
	return text;
}

char *fork_step(struct step *step, int *control)
{
	const struct scnoded *d = step->daemon;
	const struct order *order = step->order;
	struct spawn spawn;
	int pair[2], go[2];
	char *text =
		spawn_prepare(&spawn, d, name, d->options.scstepd, order->uid, order->gid, "jobs");

	if (!text && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		text = lack(d, "socket pair", errno);
	if (text) {
		spawn_fini(&spawn);
		return text;
	}
	if (pipe2(go, O_CLOEXEC)) {
		text = lack(d, "pipe", errno);
	} else {
		text = order->job->wants_checkpoint ? spawn_apart(step, &spawn, pair, go)
						    : spawn_step(step, &spawn, pair, go);
		close(go[0]);
		close(go[1]);
	}
	close(pair[1]);
	spawn_fini(&spawn);
	if (text)
		close(pair[0]);
	else
		*control = pair[0];
	return text;
}

static char *restore_apart(struct step *step, const struct restore_order *order, int *ret_told,
			   struct init_plan *init, struct restore *restore)
{
	struct spawn none = {.in = -1, .err = -1};
	char *text = refuse_namespaces(step->daemon);
	int go[2];

	if (!text)
		text = restore_prepare(restore, order);
	if (text)
		return text;
	if (pipe2(go, O_CLOEXEC))
		return lack(step->daemon, "pipe", errno);
	plan_init(step, &none, init);
	init->helper = &restore->helper;
	text = spawn_init(step, &none, init, -1, go, ret_told);
	free_hidden(init);
	close(go[0]);
	close(go[1]);
	return text;
}

char *fork_restored(struct step *step, const struct restore_order *order, int *ret_told)
{
	struct init_plan *init = calloc(1, sizeof(*init));
	struct restore *restore = calloc(1, sizeof(*restore));
	char *text = init && restore ? restore_apart(step, order, ret_told, init, restore)
				     : lack(step->daemon, "memory", ENOMEM);

	free(init);
	free(restore);
	return text;
}
